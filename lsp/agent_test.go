package lsp_test

import (
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session"
)

// An agent asks what it is told to ask and runs what it was allowed. It is its
// own starter; one runs at a time.
type agent struct {
	w *world

	mu     sync.Mutex
	events chan session.Event
	calls  map[string]approvals.Request
	open   bool
}

func (a *agent) Start(session.StartOptions) (session.Agent, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.events = make(chan session.Event, 1000)
	a.calls, a.open = map[string]approvals.Request{}, true
	a.events <- session.Initialized{SessionID: "session-1", Mode: "default", Version: "0"}
	return a, nil
}

// The words of the agent for modes, as the CLI has them.
var modeWords = map[session.Mode]string{
	session.Plan: "plan", session.AskBeforeEdit: "default", session.AutoEdit: "acceptEdits", session.Auto: "auto", session.Bypass: "bypassPermissions",
}

func (a *agent) WordOf(m session.Mode) string { return modeWords[m] }

func (a *agent) ModeOf(word string) (session.Mode, bool) {
	for m, w := range modeWords {
		if w == word {
			return m, true
		}
	}
	return session.Mode{}, false
}

func (a *agent) Events() <-chan session.Event { return a.events }

func (a *agent) emit(e session.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open {
		a.events <- e
	}
}

// ask sends a request.
func (a *agent) ask(id, tool, input string) {
	q := approvals.Request{ID: id, Tool: tool, ToolUseID: "use-" + id, Input: jsontext.Value(input)}
	a.mu.Lock()
	a.calls[id] = q
	a.mu.Unlock()
	a.emit(session.Requested{Request: q})
}

func (a *agent) Send(text string) error {
	a.w.note("agent reads %q", text)
	a.emit(session.Initialized{SessionID: "session-1", Mode: "default", Version: "0"})
	return nil
}

// Answer takes the answer to a request, and does what was allowed.
func (a *agent) Answer(id string, r approvals.Result) error {
	answer, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return err
	}
	a.w.note("agent gets %s %s", id, answer)
	a.mu.Lock()
	call := a.calls[id]
	a.mu.Unlock()
	text, failed := "denied", true
	if r.Behavior == "allow" {
		text, failed = "done", false
		if err := a.run(call, r.UpdatedInput); err != nil {
			text, failed = err.Error(), true
		}
	}
	a.emit(session.ToolReturned{ToolUseID: call.ToolUseID, IsError: failed, Text: text})
	return nil
}

// run is the tool itself, as far as tests need it.
func (a *agent) run(call approvals.Request, input jsontext.Value) error {
	var in struct {
		Path    string `json:"file_path"`
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
		Content string `json:"content"`
	}
	if err := json.Unmarshal(input, &in); err != nil {
		return err
	}
	switch call.Tool {
	case "Write":
		return os.WriteFile(in.Path, []byte(in.Content), 0o600)
	case "Edit":
		data, err := os.ReadFile(in.Path)
		if err != nil {
			return err
		}
		if !strings.Contains(string(data), in.Old) {
			return errors.New("String to replace not found in file.")
		}
		return os.WriteFile(in.Path, []byte(strings.Replace(string(data), in.Old, in.New, 1)), 0o600)
	}
	return nil
}

// cancel takes a request back.
func (a *agent) cancel(id string) { a.emit(session.Cancelled{RequestID: id}) }

func (a *agent) turnEnds() { a.emit(session.TurnEnded{Subtype: "success", Turns: 1}) }

// dies is the end of the agent's process that nobody wanted.
func (a *agent) dies() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open {
		a.open = false
		a.events <- session.Exited{Code: 1, Explanation: "the agent ended with exit code 1"}
		close(a.events)
	}
}

func (a *agent) Interrupt() error {
	a.w.note("agent is interrupted")
	return nil
}

func (a *agent) SetMode(mode string) error {
	a.w.note("agent is set to %s", mode)
	return nil
}

func (a *agent) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open {
		a.open = false
		a.events <- session.Exited{Expected: true}
		close(a.events)
	}
	return nil
}
