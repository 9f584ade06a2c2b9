package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
)

// A fakeAgent does what the test tells it to.
type fakeAgent struct {
	o      StartOptions
	events chan Event

	mu       sync.Mutex
	sent     []string
	answers  map[string]approvals.Result
	modes    []string
	refuse   error // of SetMode
	broken   error // of Send and Answer
	stopped  sync.Once
	interupt int
	onSend   func() // runs before Send returns
	onAnswer func() // runs before Answer returns
	onMode   func() // runs when SetMode is called
}

func (a *fakeAgent) Send(text string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return a.broken
	}
	a.sent = append(a.sent, text)
	if a.onSend != nil {
		a.onSend()
	}
	return nil
}

func (a *fakeAgent) Answer(id string, r approvals.Result) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return a.broken
	}
	a.answers[id] = r
	if a.onAnswer != nil {
		a.mu.Unlock()
		a.onAnswer()
		a.mu.Lock()
	}
	return nil
}

func (a *fakeAgent) Interrupt() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.interupt++
	return nil
}

func (a *fakeAgent) SetMode(mode string) error {
	if a.onMode != nil {
		a.onMode()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.modes = append(a.modes, mode)
	return a.refuse
}

func (a *fakeAgent) Events() <-chan Event { return a.events }

func (a *fakeAgent) Close() error {
	a.end(Exited{Expected: true, Explanation: "the agent was ended"})
	return nil
}

// end is the agent's end, by Close or by itself.
func (a *fakeAgent) end(e Exited) {
	a.stopped.Do(func() {
		a.mu.Lock()
		a.broken = ErrGone
		a.mu.Unlock()
		a.events <- e
		close(a.events)
	})
}

func (a *fakeAgent) messages() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.sent)
}

func (a *fakeAgent) answerTo(id string) (approvals.Result, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r, ok := a.answers[id]
	return r, ok
}

// fakeAgents start fake agents, and know two modes.
type fakeAgents struct {
	mu      sync.Mutex
	started []*fakeAgent
	fail    error
	dead    *Exited // agents end with it at once
}

func (s *fakeAgents) Start(o StartOptions) (Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, s.fail
	}
	a := &fakeAgent{o: o, events: make(chan Event), answers: make(map[string]approvals.Result)}
	s.started = append(s.started, a)
	if s.dead != nil {
		a.events = make(chan Event, 1) // it is gone before anybody looks
		a.end(*s.dead)
	}
	return a, nil
}

func (s *fakeAgents) WordOf(m Mode) string {
	return map[Mode]string{Plan: "plan", AskBeforeEdit: "default", AutoEdit: "acceptEdits", Bypass: "bypassPermissions"}[m]
}

func (s *fakeAgents) ModeOf(word string) (Mode, bool) {
	m, ok := map[string]Mode{"plan": Plan, "default": AskBeforeEdit, "manual": AskBeforeEdit, "acceptEdits": AutoEdit, "bypassPermissions": Bypass}[word]
	return m, ok
}

func (s *fakeAgents) Tight(word string) bool { return word == "dontAsk" }

// last is the agent that runs now.
func (s *fakeAgents) last(t *testing.T) *fakeAgent {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.started) == 0 {
		t.Fatal("no agent was started")
	}
	return s.started[len(s.started)-1]
}

func (s *fakeAgents) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.started)
}

// A fakeDesk keeps approvals and what was done to them.
type fakeDesk struct {
	mu       sync.Mutex
	table    map[string]*approvals.Approval // by id, which is "a-" and the request's id
	log      []string
	refuse   string                  // tool that is refused at registration
	result   func(*approvals.Result) // changes the answer of an allow
	onSettle func()
	settled  func() // runs when Settle is at its end
}

func newDesk() *fakeDesk { return &fakeDesk{table: make(map[string]*approvals.Approval)} }

func (d *fakeDesk) note(format string, args ...any) {
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

func (d *fakeDesk) Register(q approvals.Request) approvals.Approval {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := &approvals.Approval{ID: "a-" + q.ID, Request: q, State: approvals.Pending, Title: q.Tool, Surface: approvals.SurfacePanel}
	if q.Tool == "AskUserQuestion" {
		a.Surface = approvals.SurfaceQuestion
	}
	if q.Tool == "ExitPlanMode" {
		a.Surface = approvals.SurfacePlan
	}
	if q.Tool == d.refuse {
		a.State = approvals.Denied
		a.Result = approvals.Result{Behavior: "deny", Message: "cannot be shown"}
	}
	d.table[a.ID] = a
	d.note("register %s", q.ID)
	return *a
}

func (d *fakeDesk) Settle(id string, dec approvals.Decision) (approvals.Approval, []approvals.Note, error) {
	if d.settled != nil {
		defer d.settled()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.table[id]
	if a == nil || a.State != approvals.Pending {
		return approvals.Approval{}, nil, errors.New("unknown or settled")
	}
	if dec.Mode != "" {
		d.note("mode %s", dec.Mode)
	}
	a.State = approvals.Denied
	a.Result = approvals.Result{Behavior: "deny", Message: dec.Message}
	if dec.Allow {
		a.State = approvals.Allowed
		a.Result = approvals.Result{Behavior: "allow", UpdatedInput: a.Request.Input}
		if dec.Text != nil {
			a.Amended = true
			a.Amendment = "-" + string(a.Request.Input) + "\n+" + *dec.Text + "\n"
			a.Result.UpdatedInput = jsontext.Value(*dec.Text)
		}
		if d.result != nil {
			d.result(&a.Result)
		}
	}
	if d.onSettle != nil {
		d.onSettle()
	}
	d.note("settle %s %s", a.Request.ID, a.State)
	return *a, nil, nil
}

func (d *fakeDesk) Answered(id string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note("answered %s %v", id, err)
}

func (d *fakeDesk) WithdrawIn(session, requestID, reason string) (approvals.Approval, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.table["a-"+requestID]
	if a == nil || a.State != approvals.Pending || a.Request.Session != session {
		return approvals.Approval{}, false
	}
	a.State, a.Reason = approvals.Withdrawn, reason
	d.note("withdraw %s", requestID)
	return *a, true
}

func (d *fakeDesk) Ran(toolUseID string, input jsontext.Value) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.note("ran %s %s", toolUseID, input)
}

func (d *fakeDesk) Returned(toolUseID string, isError bool, text string) (approvals.Approval, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, a := range d.table {
		if a.Request.ToolUseID == toolUseID {
			a.Outcome.State = "done"
			if isError {
				a.Outcome.State = "failed"
			}
			return *a, true
		}
	}
	return approvals.Approval{}, false
}

func (d *fakeDesk) get(id string) approvals.Approval {
	d.mu.Lock()
	defer d.mu.Unlock()
	if a := d.table[id]; a != nil {
		return *a
	}
	return approvals.Approval{}
}

func (d *fakeDesk) done() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.log, "\n")
}

// A bench is a session with a fake desk and fake agents.
type bench struct {
	*Session
	desk    *fakeDesk
	agents  *fakeAgents
	mu      sync.Mutex
	infos   []Info
	reports []string
	cleared int
}

func newBench(t *testing.T) *bench {
	b := &bench{desk: newDesk(), agents: &fakeAgents{}}
	b.Session = New(Options{
		Desk: b.desk, Starter: b.agents, Dir: "/w", Marker: "m",
		Notify: func(i Info) { b.mu.Lock(); b.infos = append(b.infos, i); b.mu.Unlock() },
		Report: func(warning bool, text, id string) { b.mu.Lock(); b.reports = append(b.reports, text); b.mu.Unlock() },
		Clear:  func() { b.cleared++ },
	})
	return b
}

// start sends a first prompt and begins its turn.
func (b *bench) start(t *testing.T) *fakeAgent {
	t.Helper()
	if _, err := b.Send("go", []string{"A=1"}, DefaultSettings()); err != nil {
		t.Fatal(err)
	}
	a := b.agents.last(t)
	a.events <- Initialized{SessionID: "s-1", Mode: "default", Model: "mock", Version: "1"}
	return a
}

func (b *bench) told() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.reports, "\n")
}

func request(id, tool string) Requested {
	return Requested{approvals.Request{ID: id, Tool: tool, ToolUseID: "t-" + id, Input: jsontext.Value(`{"command":"ls"}`)}}
}
