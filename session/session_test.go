package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"countersign/approvals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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
	closing  bool
	stopped  sync.Once
	exit     Exited
	interupt int
}

func (a *fakeAgent) Send(text string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return a.broken
	}
	a.sent = append(a.sent, text)
	return nil
}

func (a *fakeAgent) Answer(id string, r approvals.Result) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return a.broken
	}
	a.answers[id] = r
	return nil
}

func (a *fakeAgent) Interrupt() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.interupt++
	return nil
}

func (a *fakeAgent) SetMode(mode string) error {
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
}

func (s *fakeAgents) Start(o StartOptions) (Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return nil, s.fail
	}
	a := &fakeAgent{o: o, events: make(chan Event), answers: make(map[string]approvals.Result)}
	s.started = append(s.started, a)
	return a, nil
}

func (s *fakeAgents) WordOf(m Mode) string {
	return map[Mode]string{Plan: "plan", AskBeforeEdit: "default", AutoEdit: "acceptEdits", Bypass: "bypassPermissions"}[m]
}

func (s *fakeAgents) ModeOf(word string) (Mode, bool) {
	m, ok := map[string]Mode{"plan": Plan, "default": AskBeforeEdit, "manual": AskBeforeEdit, "acceptEdits": AutoEdit, "bypassPermissions": Bypass}[word]
	return m, ok
}

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
	refuse   string // tool that is refused at registration
	onSettle func()
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
	if q.Tool == d.refuse {
		a.State = approvals.Denied
		a.Result = approvals.Result{Behavior: "deny", Message: "cannot be shown"}
	}
	d.table[a.ID] = a
	d.note("register %s", q.ID)
	return *a
}

func (d *fakeDesk) Settle(id string, dec approvals.Decision) (approvals.Approval, []approvals.Note, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.table[id]
	if a == nil || a.State != approvals.Pending {
		return approvals.Approval{}, nil, errors.New("unknown or settled")
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

func (d *fakeDesk) Withdraw(requestID, reason string) (approvals.Approval, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.table["a-"+requestID]
	if a == nil || a.State != approvals.Pending {
		return approvals.Approval{}, false
	}
	a.State, a.Reason = approvals.Withdrawn, reason
	d.note("withdraw %s", requestID)
	return *a, true
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

func TestStartAskAllow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		settings := DefaultSettings()
		settings.PermissionMode = "auto-edit"
		info, err := b.Send("go", []string{"A=1"}, settings)
		if err != nil || info.State != StateStarting {
			t.Fatalf("Send: %+v, %v", info, err)
		}
		a := b.agents.last(t)
		if a.o.Dir != "/w" || a.o.Marker != "m" || a.o.Mode != "acceptEdits" || a.o.Resume != "" || !slices.Equal(a.o.Env, []string{"A=1"}) {
			t.Errorf("started with %+v", a.o)
		}
		a.events <- Initialized{Version: "1", Mode: "acceptEdits"} // reply to initialize
		synctest.Wait()
		if i := b.Info(); i.State != StateStarting || i.Version != "1" {
			t.Errorf("before the first turn: %+v", i)
		}
		a.events <- Initialized{SessionID: "s-1", Mode: "acceptEdits"}
		a.events <- request("r-1", "Bash")
		synctest.Wait()
		if i := b.Info(); i.State != StateRunning || i.Pending != 1 || i.ID != "s-1" || i.Mode != "auto_edit" {
			t.Errorf("while asking: %+v", i)
		}
		q := b.desk.get("a-r-1").Request
		if q.Session != "s-1" || q.Dir != "/w" || q.Mode != "acceptEdits" {
			t.Errorf("registered as %+v", q)
		}
		got, notes, err := b.Settle("a-r-1", approvals.Decision{Allow: true})
		if err != nil || got.State != approvals.Allowed || len(notes) != 0 {
			t.Fatalf("Settle: %+v, %v, %v", got, notes, err)
		}
		if r, ok := a.answerTo("r-1"); !ok || r.Behavior != "allow" || string(r.UpdatedInput) != `{"command":"ls"}` {
			t.Errorf("the agent got %+v", r)
		}
		if want := "register r-1\nsettle r-1 allowed\nanswered a-r-1 <nil>"; b.desk.done() != want {
			t.Errorf("the desk saw:\n%s", b.desk.done())
		}
		a.events <- TurnEnded{}
		synctest.Wait()
		if i := b.Info(); i.State != StateIdle || i.Pending != 0 {
			t.Errorf("after the turn: %+v", i)
		}
		if _, _, err := b.Settle("a-r-1", approvals.Decision{}); err == nil {
			t.Error("a settled approval was settled again")
		}
	})
}

func TestRefusedAtRegistrationIsAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		b.desk.refuse = "Odd"
		a := b.start(t)
		a.events <- request("r-1", "Odd")
		synctest.Wait()
		if r, ok := a.answerTo("r-1"); !ok || r.Behavior != "deny" || r.Message == "" {
			t.Errorf("the agent got %+v, %v", r, ok)
		}
		if i := b.Info(); i.Pending != 0 {
			t.Errorf("%+v", i)
		}
		if !strings.Contains(b.desk.done(), "answered a-r-1 <nil>") {
			t.Error(b.desk.done())
		}
	})
}

func TestCancelledIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.events <- request("r-1", "Bash")
		a.events <- request("r-2", "Bash")
		a.events <- Cancelled{RequestID: "r-1"}
		synctest.Wait()
		if got := b.desk.get("a-r-1"); got.State != approvals.Withdrawn {
			t.Errorf("withdrawn request is %v", got.State)
		}
		if b.desk.get("a-r-2").State != approvals.Pending || b.Info().Pending != 1 {
			t.Errorf("the other one went too: %+v", b.Info())
		}
	})
}

func TestLostAgentWithdrawsAndDecidesNothing(t *testing.T) {
	for _, how := range []string{"exit", "close", "renew", "channel closed without a word"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				a := b.start(t)
				a.events <- request("r-1", "Bash")
				a.events <- request("r-2", "Write")
				synctest.Wait()
				switch how {
				case "exit":
					a.end(Exited{Code: 1, Explanation: "the agent failed with exit status 1"})
				case "close":
					b.Close()
				case "renew":
					if i, err := b.Renew(); err != nil || i.State != StateNone || i.ID != "" || b.cleared != 1 {
						t.Errorf("Renew: %+v, %v, cleared %d", i, err, b.cleared)
					}
				default:
					a.stopped.Do(func() { close(a.events) })
				}
				synctest.Wait()
				for _, id := range []string{"a-r-1", "a-r-2"} {
					got := b.desk.get(id)
					if got.State != approvals.Withdrawn || !strings.Contains(got.Reason, "gone") {
						t.Errorf("%s is %v: %s", id, got.State, got.Reason)
					}
				}
				if len(a.answers) != 0 {
					t.Errorf("the agent got answers: %v", a.answers)
				}
				if i := b.Info(); i.Pending != 0 || i.State == StateRunning {
					t.Errorf("%+v", i)
				}
				if how == "exit" && (b.Info().Error == "" || !strings.Contains(b.told(), "exit status 1")) {
					t.Errorf("the person was not told: %q, %+v", b.told(), b.Info())
				}
				if how == "close" && b.told() != "" {
					t.Errorf("a close was reported: %s", b.told())
				}
			})
		})
	}
}

func TestAnswerThatDoesNotReachTheAgentIsSaidSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.events <- request("r-1", "Bash")
		synctest.Wait()
		a.broken = ErrGone
		_, notes, err := b.Settle("a-r-1", approvals.Decision{Allow: true})
		if err != nil || len(notes) != 1 || !notes[0].Warning {
			t.Errorf("Settle: %v, %v", notes, err)
		}
		if !strings.Contains(b.desk.done(), "answered a-r-1 the agent is gone") {
			t.Error(b.desk.done())
		}
	})
}

func TestSendWhileRunningGoesStraightToTheAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.events <- request("r-1", "Bash")
		synctest.Wait()
		if i, err := b.Send("and this", nil, DefaultSettings()); err != nil || i.State != StateRunning {
			t.Fatalf("%+v, %v", i, err)
		}
		if got := a.messages(); !slices.Equal(got, []string{"go", "and this"}) {
			t.Errorf("the agent got %q", got)
		}
		if b.agents.count() != 1 {
			t.Error("a second agent was started")
		}
	})
}

func TestStartThatFailsIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		b.agents.fail = errors.New(`the agent "claude" was not found in PATH`)
		if i, err := b.Send("go", nil, DefaultSettings()); err == nil || i.State != StateEnded || i.Error == "" {
			t.Errorf("%+v, %v", i, err)
		}
		b.agents.fail = nil
		if _, err := b.Send("go", nil, DefaultSettings()); err != nil {
			t.Errorf("the next try: %v", err)
		}
	})
}

func TestAfterACrashTheSessionGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.end(Exited{Code: 1, Signal: "killed", Explanation: "killed"})
		synctest.Wait()
		if i := b.Info(); i.State != StateEnded || i.ID != "s-1" {
			t.Errorf("%+v", i)
		}
		if _, err := b.Send("go on", []string{"B=2"}, DefaultSettings()); err != nil {
			t.Fatal(err)
		}
		a2 := b.agents.last(t)
		if a2 == a || a2.o.Resume != "s-1" {
			t.Errorf("started with %+v", a2.o)
		}
		// The agent does not know that session: the prompt goes to a fresh one.
		a2.end(Exited{Code: 1, UnknownSession: true, Explanation: "unknown"})
		synctest.Wait()
		a3 := b.agents.last(t)
		if a3 == a2 || a3.o.Resume != "" || !slices.Equal(a3.messages(), []string{"go on"}) || !slices.Equal(a3.o.Env, []string{"B=2"}) {
			t.Errorf("afresh with %+v: %q", a3.o, a3.messages())
		}
		if !strings.Contains(b.told(), "a new one was started") {
			t.Errorf("told %q", b.told())
		}
	})
}

func TestAResultIsNotTheEndWhileAgentsWorkInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.events <- AgentStarted{AgentID: "sub-1", Name: "tidy up"}
		a.events <- BackgroundChanged{Running: 1}
		a.events <- TurnEnded{}
		synctest.Wait()
		if i := b.Info(); i.State != StateRunning {
			t.Errorf("after the result: %+v", i)
		}
		q := request("r-1", "Bash")
		q.Request.AgentID = "sub-1"
		a.events <- q
		synctest.Wait()
		if got := b.desk.get("a-r-1").Request.AgentName; got != "tidy up" {
			t.Errorf("the subagent is called %q", got)
		}
		if _, _, err := b.Settle("a-r-1", approvals.Decision{Message: "no"}); err != nil {
			t.Fatal(err)
		}
		a.events <- BackgroundChanged{Running: 0}
		synctest.Wait()
		// The agent starts a turn by itself.
		a.events <- Initialized{SessionID: "s-1", Mode: "default"}
		synctest.Wait()
		if i := b.Info(); i.State != StateRunning {
			t.Errorf("in the turn of its own: %+v", i)
		}
		a.events <- TurnEnded{}
		synctest.Wait()
		if i := b.Info(); i.State != StateIdle {
			t.Errorf("at last: %+v", i)
		}
	})
}

func TestModeIsWhatTheAgentReportedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		if !b.RequiresRestartFor(Plan) || b.RequiresRestartFor(Mode{}) {
			t.Error("the two special cases do not hold without an agent")
		}
		b.SetPermissions("plan")
		a := b.start(t) // reports default, whatever it was started in
		synctest.Wait()
		if a.o.Mode != "plan" {
			t.Errorf("started in %q", a.o.Mode)
		}
		if !b.RequiresRestartFor(Plan) || b.RequiresRestartFor(AskBeforeEdit) {
			t.Error("the start flag counts, not what was reported")
		}
		if !strings.Contains(b.told(), `"default"`) {
			t.Errorf("the difference was not told: %q", b.told())
		}
		a.events <- ModeReported{Mode: "acceptEdits"}
		synctest.Wait()
		if b.Info().Mode != "auto_edit" || b.RequiresRestartFor(AutoEdit) {
			t.Errorf("after a change of its own: %+v", b.Info())
		}
		a.events <- ModeReported{Mode: "dontAsk"}
		synctest.Wait()
		if b.Info().Mode != "dontAsk" || !b.RequiresRestartFor(AutoEdit) {
			t.Errorf("a word of the agent's own: %+v", b.Info())
		}
	})
}

func TestSetPermissionsIsAppliedByTheNextSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		if err := b.SetPermissions("nonsense"); err == nil {
			t.Error("an unknown mode was taken")
		}
		a := b.start(t)
		a.events <- TurnEnded{}
		synctest.Wait()

		b.SetPermissions("auto-edit")
		if len(a.modes) != 0 {
			t.Error("applied before Send")
		}
		b.Send("live", nil, DefaultSettings())
		if !slices.Equal(a.modes, []string{"acceptEdits"}) || b.agents.count() != 1 || b.Info().Mode != "auto_edit" {
			t.Errorf("live change: %q, %d agents, %+v", a.modes, b.agents.count(), b.Info())
		}
		a.events <- TurnEnded{}
		synctest.Wait()

		a.refuse = errors.New("bypass_not_launched")
		b.SetPermissions("bypass")
		b.Send("restarted", nil, DefaultSettings())
		a2 := b.agents.last(t)
		if a2 == a || a2.o.Mode != "bypassPermissions" || a2.o.Resume != "s-1" || a2.o.Dir != "/w" {
			t.Errorf("restart: %+v", a2.o)
		}
		if got := a2.messages(); !slices.Equal(got, []string{"restarted"}) {
			t.Errorf("the new agent got %q", got)
		}
	})
}

func TestARefusedModeDoesNotTearDownARunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.events <- request("r-1", "Bash")
		synctest.Wait()
		a.refuse = errors.New("bypass_not_launched")
		b.SetPermissions("bypass")
		if _, err := b.Send("x", nil, DefaultSettings()); err == nil {
			t.Error("no error")
		}
		if b.desk.get("a-r-1").State != approvals.Pending || b.agents.count() != 1 || len(a.messages()) != 1 {
			t.Error("the turn was touched")
		}
	})
}

func TestAmendmentIsToldOnceRightBehindTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.events <- request("r-1", "Bash")
		a.events <- request("r-2", "Bash")
		synctest.Wait()
		text := `{"command":"ls -l"}`
		b.Settle("a-r-1", approvals.Decision{Allow: true, Text: &text})
		b.Settle("a-r-2", approvals.Decision{Allow: true})
		got := a.messages()
		if len(got) != 2 || !strings.Contains(got[1], "+"+text) {
			t.Fatalf("told %q", got)
		}
		a.events <- ToolReturned{ToolUseID: "t-r-1"}
		a.events <- ToolReturned{ToolUseID: "t-r-2"}
		a.events <- TurnEnded{}
		synctest.Wait()
		if got := a.messages(); len(got) != 2 {
			t.Errorf("told again: %q", got)
		}
	})
}

func TestAmendmentIsNotTold(t *testing.T) {
	for _, c := range []struct {
		name, tool string
		tell       bool
	}{{"switched off", "Bash", false}, {"an answered question", "AskUserQuestion", true}} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				settings := DefaultSettings()
				settings.TellAmendments = c.tell
				b.Send("go", nil, settings)
				a := b.agents.last(t)
				a.events <- request("r-1", c.tool)
				synctest.Wait()
				text := `{"command":"ls -l"}`
				b.Settle("a-r-1", approvals.Decision{Allow: true, Text: &text})
				a.events <- ToolReturned{ToolUseID: "t-r-1", IsError: false}
				a.events <- TurnEnded{}
				synctest.Wait()
				if got := a.messages(); len(got) != 1 {
					t.Errorf("told: %q", got[1:])
				}
			})
		})
	}
}

func TestFailedTurnAndReportsReachThePerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.events <- Reported{Warning: true, Text: "odd line"}
		a.events <- TurnEnded{IsError: true, Text: "not logged in"}
		synctest.Wait()
		if b.told() != "odd line\nnot logged in" || b.Info().Error != "not logged in" || b.Info().State != StateIdle {
			t.Errorf("%q, %+v", b.told(), b.Info())
		}
	})
}

func TestClosedSessionTakesNothing(t *testing.T) {
	b := newBench(t)
	b.Close()
	if _, err := b.Send("x", nil, DefaultSettings()); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if _, err := b.Renew(); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
	if err := b.Interrupt(); !errors.Is(err, ErrNoAgent) {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func TestNotifyIsInOrderAndEndsWithTheLastState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		a := b.start(t)
		for i := range 20 {
			a.events <- request(fmt.Sprint("r-", i), "Bash")
		}
		synctest.Wait()
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() { b.Settle(fmt.Sprint("a-r-", i), approvals.Decision{Message: "no"}) })
		}
		wg.Wait()
		b.Close()
		b.mu.Lock()
		defer b.mu.Unlock()
		if last := b.infos[len(b.infos)-1]; last != b.Info() || last.State != StateNone {
			t.Errorf("last notified %+v, now %+v", last, b.Info())
		}
		if len(a.answers) != 20 {
			t.Errorf("%d answers", len(a.answers))
		}
	})
}
