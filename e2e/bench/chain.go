package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// A chain is the real thing at work: an editor, its countersign serve, the hub
// and an agent in a turn.
type chain struct {
	*editor
	agent *stand
	root  string
	hub   int // pid
	asked int // lines with an id of their own

	requests int       // that were asked, answered and done
	lastSave time.Time // of a staged document
}

// settings are a person's, but for the agent, and for what keeps a machine's
// saves from counting as a person's: the bench knows what it saves.
func settings(agent []string) map[string]any {
	return map[string]any{"agent": map[string]any{"command": agent}, "armDelayMs": 0, "saveMeans": "allow"}
}

// newChain starts one in a workspace.
func (r *rig) newChain(name string) (*chain, error) {
	root, err := r.workspace(name)
	if err != nil {
		return nil, err
	}
	stage, err := newStage(filepath.Join(r.dir, name+".a"))
	if err != nil {
		return nil, err
	}
	defer stage.listener.Close()
	agent, err := stage.command()
	if err != nil {
		return nil, err
	}
	e, err := startEditor(r.command("serve"))
	if err != nil {
		return nil, err
	}
	if _, _, err := e.call("initialize", initializeParams(root, settings(agent))); err != nil {
		return nil, err
	}
	e.notify("initialized", map[string]any{})
	prompted := make(chan error, 1)
	go func() { prompted <- e.command("countersign.send", map[string]any{"text": "go on"}, nil) }()
	c := &chain{editor: e, root: root}
	if c.agent, err = stage.enter(); err != nil {
		select {
		case perr := <-prompted:
			return nil, errors.Join(err, perr)
		default:
			return nil, err
		}
	}
	var status hubStatus
	if err := c.command("countersign.status", nil, &status); err != nil {
		return nil, err
	}
	c.hub = status.PID
	r.closing = append(r.closing, func() error {
		c.agent.close()
		return errors.Join(c.quit(), r.stopHub(root, c.hub))
	})
	if err := c.begin(); err != nil {
		return nil, err
	}
	if err := <-prompted; err != nil {
		return nil, err
	}
	return c, nil
}

// hubStatus is of what countersign.status answers.
type hubStatus struct {
	PID int `json:"pid"`
}

// begin answers the hub's greeting and takes up the prompt.
func (c *chain) begin() error {
	for {
		r, err := c.agent.hear()
		if err != nil {
			return err
		}
		var m struct {
			Type      string `json:"type"`
			RequestID string `json:"request_id"`
		}
		if err := json.Unmarshal([]byte(r.Line), &m); err != nil {
			return err
		}
		switch m.Type {
		case "control_request":
			err = c.agent.say(fmt.Sprintf(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":{"commands":[],"claude_code_version":"bench","current_permission_mode":"default"},"pending_permission_requests":[]}}`, m.RequestID))
		case "user":
			if err = c.agent.say(`{"type":"system","subtype":"init","cwd":"/","session_id":"bench","tools":[],"model":"none","permissionMode":"default","claude_code_version":"bench"}`); err == nil {
				return c.fence()
			}
		}
		if err != nil {
			return err
		}
	}
}

// fence waits until the hub has read all that the agent wrote, and a moment
// longer, so that nothing is under way any more.
func (c *chain) fence() error {
	c.asked++
	id := fmt.Sprintf("fence-%d", c.asked)
	if err := c.agent.say(`{"type":"control_request","request_id":"` + id + `","request":{"subtype":"bench_fence"}}`); err != nil {
		return err
	}
	if _, err := c.hear(id); err != nil {
		return err
	}
	time.Sleep(5 * time.Millisecond)
	c.drain()
	return nil
}

// hear waits for the answer to a request.
func (c *chain) hear(id string) (report, error) {
	for {
		r, err := c.agent.hear()
		if err != nil || strings.Contains(r.Line, id) {
			return r, err
		}
	}
}

// A question is one can_use_tool of the agent.
type question struct {
	id, use string
	line    string
}

// question makes the line that asks to use a tool.
func (c *chain) question(tool, description string, input map[string]any) question {
	c.asked++
	q := question{id: fmt.Sprintf("4c402042-0000-4000-8000-%012d", c.asked), use: fmt.Sprintf("toolu_bench%08d", c.asked)}
	type suggestion struct {
		Type        string `json:"type"`
		Mode        string `json:"mode"`
		Destination string `json:"destination"`
	}
	q.line = string(encoded(struct {
		Type      string `json:"type"`
		RequestID string `json:"request_id"`
		Request   any    `json:"request"`
	}{"control_request", q.id, struct {
		Subtype     string         `json:"subtype"`
		Tool        string         `json:"tool_name"`
		Name        string         `json:"display_name"`
		Input       map[string]any `json:"input"`
		Description string         `json:"description"`
		Suggestions []suggestion   `json:"permission_suggestions"`
		Use         string         `json:"tool_use_id"`
	}{"can_use_tool", tool, tool, input, description, []suggestion{{"setMode", "acceptEdits", "session"}}, q.use}}))
	return q
}

// returned has the agent do what was allowed, and say so.
func (c *chain) returned(q question, path, text string) error {
	if path != "" {
		if err := c.agent.order(order{Apply: path, Text: text}); err != nil {
			return err
		}
	}
	err := c.agent.say(`{"type":"user","message":{"role":"user","content":[{"tool_use_id":"` + q.use + `","type":"tool_result","content":"The file has been updated successfully."}]},"parent_tool_use_id":null,"session_id":"bench"}`)
	if err != nil {
		return err
	}
	c.requests++
	return c.fence()
}

// announces says whether a message tells the person of a request: what a turn's
// progress says does not.
func announces(m message) bool {
	switch m.Method {
	case "window/showDocument", "window/showMessage":
		return true
	case "textDocument/publishDiagnostics":
		return strings.Contains(string(m.Params), `"pending"`)
	}
	return false
}

// A staged document, as its diagnostic names it.
type stagedDocument struct{ uri, path, id string }

// staged waits for the staged document of the one request that is pending.
func (c *chain) staged() (stagedDocument, error) {
	var found stagedDocument
	_, err := c.await("a staged document", func(m message) bool {
		var p struct {
			URI         string `json:"uri"`
			Diagnostics []struct {
				Code string `json:"code"`
				Data struct {
					ID string `json:"id"`
				} `json:"data"`
			} `json:"diagnostics"`
		}
		if m.Method != "textDocument/publishDiagnostics" || json.Unmarshal(m.Params, &p) != nil || !strings.Contains(p.URI, "/proposed/") {
			return false
		}
		if len(p.Diagnostics) == 0 || p.Diagnostics[0].Code != "pending" {
			return false
		}
		found.uri, found.id = p.URI, p.Diagnostics[0].Data.ID
		return true
	})
	if err != nil {
		return found, err
	}
	found.path, err = filePath(found.uri)
	return found, err
}

// A target is a file that the agent edits again and again, one line at a time.
type target struct {
	path  string
	lines []string
	edits int
}

// newTarget writes a file of about size bytes, as of a program.
func newTarget(dir, name string, size int) (*target, error) {
	t := &target{path: filepath.Join(dir, name)}
	for n := 0; n < size; {
		line := fmt.Sprintf("\tvalue%d := compute(%d, 0)\n", len(t.lines), len(t.lines)*7919%1000)
		t.lines = append(t.lines, line)
		n += len(line)
	}
	return t, os.WriteFile(t.path, []byte(t.text()), 0o600)
}

func (t *target) text() string { return strings.Join(t.lines, "") }

// edit is the next Edit and the text that comes of it.
func (t *target) edit() (input map[string]any, text string) {
	t.edits++
	i := t.edits * 997 % len(t.lines)
	before := t.lines[i]
	head := before[:strings.LastIndexByte(before, ' ')+1]
	t.lines[i] = head + strconv.Itoa(t.edits) + ")\n"
	return map[string]any{
		"file_path": t.path, "old_string": strings.TrimSuffix(before, "\n"), "new_string": strings.TrimSuffix(t.lines[i], "\n"), "replace_all": false,
	}, t.text()
}
