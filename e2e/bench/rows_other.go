package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
)

// start is a sample of the third row: from the start of a server's process to
// its reply to initialize. The server is still running.
func (b *bench) start(root string, agent []string) (*editor, int64, error) {
	e, err := startEditor(b.command("serve"))
	if err != nil {
		return nil, 0, err
	}
	_, m, err := e.call("initialize", initializeParams(root, settings(agent)))
	return e, m.At - e.started, err
}

// greeted is its floor: a language server that knows its one answer.
func (b *bench) greeted(size int) (int64, error) {
	e, err := startEditor(exec.Command(b.self, "greet"))
	if err != nil {
		return 0, err
	}
	_, m, err := e.call("initialize", map[string]any{"size": size})
	took := m.At - e.started
	e.mu.Lock()
	e.in.Close()
	e.mu.Unlock()
	<-e.ended
	return took, errors.Join(err, e.cmd.Wait())
}

// initializeSize is about how long the reply to initialize is.
const initializeSize = 1200

// startRows measure the third row: the hub already up, and not; and beside the
// reply, until the server has reached its hub and says how that does.
func (b *bench) startRows(up string, n int) ([]*row, error) {
	var all []*row
	for _, kind := range []struct {
		what  string
		root  func(i int) (string, error)
		limit float64
		stop  bool
	}{
		{"hub already up", func(int) (string, error) { return up, nil }, 10, false},
		{"hub not up", func(i int) (string, error) { return b.workspace(fmt.Sprintf("cold%d", i)) }, 40, true},
	} {
		reply := newRow("start → initialize reply", kind.what, "a server that knows its answer")
		reply.atMost(kind.limit)
		ready := newRow("start → the hub's status", kind.what, "")
		ready.atMost(kind.limit)
		i := 0
		err := reply.pairs(n, func() (int64, error) { return b.greeted(initializeSize) }, func() (int64, error) {
			i++
			root, err := kind.root(i)
			if err != nil {
				return 0, err
			}
			e, took, err := b.start(root, []string{"none"})
			if err != nil {
				return 0, err
			}
			e.notify("initialized", map[string]any{})
			_, m, err := e.call("workspace/executeCommand", map[string]any{"command": "countersign.status"})
			if err != nil {
				return 0, errors.Join(err, e.quit())
			}
			ready.add(0, m.At-e.started)
			if err := e.quit(); err != nil {
				return 0, err
			}
			if !kind.stop {
				return took, nil
			}
			var status hubStatus
			if err := json.Unmarshal(m.Result, &status); err != nil {
				return 0, err
			}
			return took, b.stopHub(root, status.PID)
		})
		all = append(all, reply, ready)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// memoryRows measure the fourth row: what the two processes of a chain hold.
// The floor is a process that has done nothing but answer once.
func (b *bench) memoryRows(c *chain, requests int) ([]*row, error) {
	e, err := startEditor(exec.Command(b.self, "greet"))
	if err != nil {
		return nil, err
	}
	if _, _, err := e.call("initialize", map[string]any{"size": initializeSize}); err != nil {
		return nil, err
	}
	floor, floorMost, err := memoryOf(e.cmd.Process.Pid)
	e.mu.Lock()
	e.in.Close()
	e.mu.Unlock()
	<-e.ended
	if err = errors.Join(err, e.cmd.Wait()); err != nil {
		return nil, err
	}
	var all []*row
	for _, p := range []struct {
		what string
		pid  int
	}{{"front end", c.cmd.Process.Pid}, {"hub", c.hub}} {
		now, most, err := memoryOf(p.pid)
		if err != nil {
			return all, err
		}
		for _, m := range []struct {
			what        string
			floor, ours int64
		}{{"now", floor, now}, {"at most", floorMost, most}} {
			r := newRow("memory of the "+p.what+", "+m.what, fmt.Sprintf("after %d requests", requests), "an idle process")
			r.Unit = "MB"
			r.atMost(30)
			r.add(m.floor, m.ours)
			all = append(all, r)
		}
	}
	return all, nil
}

// floodRows measure the sixth row: code actions while many approvals wait.
func (b *bench) floodRows(waiting, n int) ([]*row, error) {
	c, err := b.newChain("flood")
	if err != nil {
		return nil, err
	}
	const files = 20
	var targets []*target
	for i := range files {
		t, err := newTarget(c.root, fmt.Sprintf("file%d.go", i), 5000)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	notes := fileURI(filepath.Join(c.root, "notes.txt"))
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{"uri": notes, "languageId": "plaintext", "version": 1, "text": "notes\n"}})
	began := clock()
	for i := range waiting {
		var q question
		if i%10 < 7 {
			t := targets[i%files]
			line := t.lines[i%len(t.lines)]
			q = c.question("Edit", filepath.Base(t.path), map[string]any{
				"file_path": t.path, "old_string": line, "new_string": line + "\t// more\n", "replace_all": false,
			})
		} else {
			q = c.question("Bash", "list the folder", map[string]any{"command": fmt.Sprintf("ls -l %d", i), "description": "list the folder"})
		}
		if err := c.agent.say(q.line); err != nil {
			return nil, err
		}
	}
	var staged string
	for {
		var all []struct {
			StagedURI string `json:"stagedUri"`
		}
		if err := c.command("countersign.pending", nil, &all); err != nil {
			return nil, err
		}
		if len(all) == waiting {
			staged = all[waiting/2].StagedURI
			break
		}
		if clock()-began > patience.Nanoseconds() {
			return nil, fmt.Errorf("only %d of %d requests are pending", len(all), waiting)
		}
		time.Sleep(time.Millisecond)
	}
	flood := newRow("all of them announced and known", fmt.Sprintf("%d requests at once", waiting), "")
	flood.add(0, clock()-began)
	time.Sleep(50 * time.Millisecond)

	greet, err := startEditor(exec.Command(b.self, "greet"))
	if err != nil {
		return nil, err
	}
	defer func() {
		greet.in.Close()
		<-greet.ended
		_ = greet.cmd.Wait()
	}()
	rows := []*row{flood}
	for _, place := range []struct{ what, uri string }{
		{"in a target", fileURI(targets[0].path)},
		{"in a staged document", staged},
		{"in another file", notes},
	} {
		r := newRow("code-action reply", fmt.Sprintf("%d pending, %s", waiting, place.what), "a server that knows its answer")
		r.atMost(5)
		size, version := 0, 1
		ours := func() (int64, error) {
			// After a change: nothing that was known for the last reply holds.
			version++
			c.notify("textDocument/didChange", map[string]any{
				"textDocument": map[string]any{"uri": notes, "version": version}, "contentChanges": []any{map[string]any{"text": fmt.Sprintf("notes %d\n", version)}},
			})
			sent, m, err := c.call("textDocument/codeAction", map[string]any{
				"textDocument": map[string]any{"uri": place.uri}, "range": map[string]any{"start": position{}, "end": position{}},
				"context": map[string]any{"diagnostics": []any{}},
			})
			c.drain()
			size = m.Size
			return m.At - sent, err
		}
		if _, err := ours(); err != nil {
			return rows, err
		}
		err := r.pairs(n, func() (int64, error) {
			sent, m, err := greet.call("textDocument/codeAction", map[string]any{"size": size})
			return m.At - sent, err
		}, ours)
		if err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}
