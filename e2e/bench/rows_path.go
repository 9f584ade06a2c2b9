package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"
)

// The rows about the path of a request: from the agent to the editor, and back.

const fileSize = 200_000 // bytes of the file that the agent edits

// saveSpan is the least time between saves of two documents: saves in the same
// breath (Save All) decide nothing.
const saveSpan = 160 * time.Millisecond

// request is a sample of the first row: from the agent's line to the first byte
// of what tells the person. The request is left pending.
func (c *chain) request(q question) (int64, error) {
	c.drain()
	if err := c.agent.say(q.line); err != nil {
		return 0, err
	}
	m, err := c.await("an announcement", announces)
	if err != nil {
		return 0, err
	}
	said, err := c.agent.said()
	if err != nil {
		return 0, err
	}
	if m.At < said {
		return 0, errors.New("an announcement came before the request")
	}
	return m.At - said, nil
}

// edited is a whole Edit, allowed by command; it gives a sample of the first row.
func (c *chain) edited(t *target) (int64, error) {
	input, text := t.edit()
	return c.allowed(c.question("Edit", "big.go", input), t.path, text)
}

// allowed asks, and allows by command.
func (c *chain) allowed(q question, path, text string) (int64, error) {
	took, err := c.request(q)
	if err != nil {
		return 0, err
	}
	id, err := c.pendingID()
	if err != nil {
		return 0, err
	}
	if err := c.command("countersign.allow", map[string]any{"id": id}, nil); err != nil {
		return 0, err
	}
	if _, err := c.hear(q.id); err != nil {
		return 0, err
	}
	return took, c.returned(q, path, text)
}

// pendingID is the id of the one request that is pending.
func (c *chain) pendingID() (string, error) {
	var all []struct {
		ID string `json:"id"`
	}
	if err := c.command("countersign.pending", nil, &all); err != nil {
		return "", err
	}
	if len(all) != 1 {
		return "", fmt.Errorf("%d requests are pending, not one", len(all))
	}
	return all[0].ID, nil
}

// A saving is a document that lies saved on disk, before the editor says so.
type saving struct {
	q    question
	doc  stagedDocument
	text string
	path string
	note []byte // the didSave, ready to be sent
}

// prepare brings a request to where the person saves: asked, announced, opened,
// and, if amended, changed; the file is written.
func (c *chain) prepare(t *target, amended bool) (*saving, error) {
	c.drain()
	input, text := t.edit()
	s := &saving{q: c.question("Edit", "small.go", input), path: t.path, text: text}
	if err := c.agent.say(s.q.line); err != nil {
		return nil, err
	}
	var err error
	if s.doc, err = c.staged(); err != nil {
		return nil, err
	}
	lies, err := os.ReadFile(s.doc.path)
	if err != nil {
		return nil, err
	}
	if string(lies) != text {
		return nil, fmt.Errorf("%s does not hold what the request comes to", s.doc.path)
	}
	c.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": s.doc.uri, "languageId": "go", "version": 1, "text": text,
	}})
	if amended {
		line := fmt.Sprintf("\tamended%d := compute(0, 0)\n", t.edits)
		s.text = line + text
		t.lines = append([]string{line}, t.lines...)
		c.notify("textDocument/didChange", map[string]any{
			"textDocument":   map[string]any{"uri": s.doc.uri, "version": 2},
			"contentChanges": []any{map[string]any{"range": map[string]any{"start": position{}, "end": position{}}, "text": line}},
		})
	}
	if err := os.WriteFile(s.doc.path, []byte(s.text), 0o600); err != nil {
		return nil, err
	}
	s.note = notification("textDocument/didSave", map[string]any{"textDocument": map[string]any{"uri": s.doc.uri}, "text": s.text})
	// Until the server has seen the opening, and is at rest.
	if _, err := c.pendingID(); err != nil {
		return nil, err
	}
	time.Sleep(5 * time.Millisecond)
	return s, nil
}

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

// saved is a sample of the second row: from the editor's didSave to the answer
// at the agent.
func (c *chain) saved(s *saving) (int64, error) {
	time.Sleep(time.Until(c.lastSave.Add(saveSpan)))
	c.drain()
	began := c.send(s.note)
	answer, err := c.hear(s.q.id)
	c.lastSave = time.Now()
	if err != nil {
		return 0, errors.Join(err, c.complaint())
	}
	if !strings.Contains(answer.Line, `"behavior":"allow"`) {
		return 0, fmt.Errorf("the save did not allow: %.300s", answer.Line)
	}
	return answer.Read - began, nil
}

// complaint is what the server has told the person, as an error.
func (c *chain) complaint() error {
	var said []error
	for {
		select {
		case m := <-c.inbox:
			if m.Method == "window/showMessage" {
				said = append(said, fmt.Errorf("the server said: %s", m.Params))
			}
		default:
			return errors.Join(said...)
		}
	}
}

// finish has the agent do its edit, and closes the document.
func (c *chain) finish(s *saving) error {
	c.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": s.doc.uri}})
	return c.returned(s.q, s.path, s.text)
}

// editRow measures the first row.
func (b *bench) editRow(c *chain, n int) (*row, error) {
	t, err := newTarget(c.root, "big.go", fileSize)
	if err != nil {
		return nil, err
	}
	floor, err := b.newRelay("edit", len(t.text()), 1<<30)
	if err != nil {
		return nil, err
	}
	defer floor.close()
	input, _ := (&target{path: t.path, lines: append([]string(nil), t.lines...)}).edit()
	line := c.question("Edit", "big.go", input).line
	r := newRow("agent's line → first LSP byte", fmt.Sprintf("Edit, file of %d KB", fileSize/1000), "relay + write + rename")
	r.within(2)
	return r, r.pairs(n,
		func() (int64, error) { return floor.fromAgent(line) },
		func() (int64, error) { return c.edited(t) })
}

// writeRow is the same for a Write: the file comes in the line itself.
func (b *bench) writeRow(c *chain, n int) (*row, error) {
	t, err := newTarget(c.root, "written.go", fileSize)
	if err != nil {
		return nil, err
	}
	floor, err := b.newRelay("write", len(t.text()), 1<<30)
	if err != nil {
		return nil, err
	}
	defer floor.close()
	line := c.question("Write", "written.go", map[string]any{"file_path": t.path, "content": t.text()}).line
	r := newRow("agent's line → first LSP byte", fmt.Sprintf("Write of %d KB", fileSize/1000), "relay + write + rename")
	return r, r.pairs(n,
		func() (int64, error) { return floor.fromAgent(line) },
		func() (int64, error) {
			_, text := t.edit()
			return c.allowed(c.question("Write", "written.go", map[string]any{"file_path": t.path, "content": text}), t.path, text)
		})
}

// saveRow measures the second row, with a file of that size.
func (b *bench) saveRow(c *chain, name string, size, n int, amended bool) (*row, error) {
	t, err := newTarget(c.root, name, size)
	if err != nil {
		return nil, err
	}
	r := newRow("didSave → answer at the agent", fmt.Sprintf("file of %d KB", size/1000), "relay")
	r.within(2)
	if amended {
		r.What += ", amended"
	}
	first := true
	var floor *relay
	var floorLine []byte
	defer func() {
		if floor != nil {
			floor.close()
		}
	}()
	// The floor copies what the editor says, and lets through as much as the
	// agent is told; both are known once a request has been answered.
	one := func() (int64, error) {
		s, err := c.prepare(t, amended)
		if err != nil {
			return 0, err
		}
		took, err := c.saved(s)
		if err != nil {
			return 0, err
		}
		if first {
			first = false
			answer := len(s.q.line) // about: the input goes back
			if amended {
				answer += 2 * len(s.text)
			}
			if floor, err = b.newRelay("save-"+url.PathEscape(name), 0, answer); err != nil {
				return 0, err
			}
			floorLine = append([]byte(strings.Repeat("x", len(s.note)-1)), '\n')
		}
		return took, c.finish(s)
	}
	if _, err := one(); err != nil {
		return nil, err
	}
	return r, r.pairs(n, func() (int64, error) { return floor.fromEditor(floorLine) }, one)
}
