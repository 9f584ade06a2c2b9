package lsp_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session"
)

// Agents are started for the sessions of a world; the last one started is the
// one that the steps of a test are about.
type agents struct {
	w *world

	mu   sync.Mutex
	runs []*agent
	last *agent
	next approvals.Request // what the next request has besides
}

func (as *agents) Start(o session.StartOptions) (session.Agent, error) {
	as.mu.Lock()
	defer as.mu.Unlock()
	a := &agent{w: as.w, id: o.Resume, mode: o.Mode, events: make(chan session.Event, 1000), calls: map[string]approvals.Request{}, open: true}
	if a.id == "" {
		a.id = fmt.Sprintf("session-%d", len(as.runs)+1)
	}
	if a.mode == "" {
		a.mode = "default"
	}
	as.runs = append(as.runs, a)
	as.last = a
	a.emit(session.Initialized{Mode: a.mode, Version: "0"})
	return a, nil
}

// The words of the agents for modes, as the CLI has them.
var modeWords = map[session.Mode]string{
	session.Plan: "plan", session.AskBeforeEdit: "default", session.AutoEdit: "acceptEdits", session.Auto: "auto", session.Bypass: "bypassPermissions",
}

func (as *agents) WordOf(m session.Mode) string { return modeWords[m] }

func (as *agents) ModeOf(word string) (session.Mode, bool) {
	for m, w := range modeWords {
		if w == word {
			return m, true
		}
	}
	return session.Mode{}, false
}

// choose has the steps be about the agent of another session, by its number.
func (as *agents) choose(n int) error {
	as.mu.Lock()
	defer as.mu.Unlock()
	if n < 1 || n > len(as.runs) {
		return fmt.Errorf("there are %d agents", len(as.runs))
	}
	as.last = as.runs[n-1]
	return nil
}

// ask sends a request, with what was put in next.
func (as *agents) ask(id, tool, input string) {
	as.mu.Lock()
	q, a := as.next, as.last
	as.next = approvals.Request{}
	as.mu.Unlock()
	q.ID, q.Tool, q.ToolUseID, q.Input = id, tool, "use-"+id, jsontext.Value(input)
	a.mu.Lock()
	a.calls[id] = q
	a.mu.Unlock()
	a.emit(session.Requested{Request: q})
}

// cancel takes a request back.
func (as *agents) cancel(id string) { as.emit(session.Cancelled{RequestID: id}) }

func (as *agents) turnEnds() { as.emit(session.TurnEnded{Subtype: "success", Turns: 1}) }

// emit has the agent do something.
func (as *agents) emit(e session.Event) {
	as.mu.Lock()
	a := as.last
	as.mu.Unlock()
	a.emit(e)
}

// dies is the end of the agent's process that nobody wanted.
func (as *agents) dies() {
	as.mu.Lock()
	a := as.last
	as.mu.Unlock()
	a.end(session.Exited{Code: 1, Explanation: "the agent ended with exit code 1"})
}

// An agent asks what it is told to ask and runs what it was allowed.
type agent struct {
	w      *world
	id     string
	events chan session.Event

	mu    sync.Mutex
	mode  string
	calls map[string]approvals.Request
	open  bool
}

func (a *agent) Events() <-chan session.Event { return a.events }

func (a *agent) emit(e session.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open {
		a.events <- e
	}
}

// name is how the agent is called in what a test observes.
func (a *agent) name() string {
	if a.id == "session-1" {
		return "agent"
	}
	return "agent of " + a.id
}

func (a *agent) Send(text string) error {
	a.w.note("%s reads %q", a.name(), text)
	a.mu.Lock()
	mode := a.mode
	a.mu.Unlock()
	a.emit(session.Initialized{SessionID: a.id, Mode: mode, Version: "0"})
	return nil
}

// Answer takes the answer to a request, and does what was allowed.
func (a *agent) Answer(id string, r approvals.Result) error {
	answer, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return err
	}
	a.w.note("%s gets %s %s", a.name(), id, answer)
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
	for _, p := range r.UpdatedPermissions {
		var u struct {
			Type string `json:"type"`
			Mode string `json:"mode"`
		}
		if json.Unmarshal(p, &u, json.RejectUnknownMembers(false)) == nil && u.Type == "setMode" {
			a.turnTo(u.Mode)
		}
	}
	a.emit(session.ToolReturned{ToolUseID: call.ToolUseID, IsError: failed, Text: text})
	return nil
}

// turnTo has the agent be in another mode, and say so.
func (a *agent) turnTo(mode string) {
	a.mu.Lock()
	a.mode = mode
	a.mu.Unlock()
	a.emit(session.ModeReported{Mode: mode})
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

func (a *agent) Interrupt() error {
	a.w.note("%s is interrupted", a.name())
	a.emit(session.TurnEnded{Subtype: "error_during_execution", Interrupted: true, Turns: 1})
	return nil
}

func (a *agent) SetMode(mode string) error {
	a.w.note("%s is set to %s", a.name(), mode)
	a.turnTo(mode)
	return nil
}

func (a *agent) Close() error {
	a.end(session.Exited{Expected: true})
	return nil
}

func (a *agent) end(e session.Exited) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open {
		a.open = false
		a.events <- e
		close(a.events)
	}
}
