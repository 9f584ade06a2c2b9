package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"countersign/approvals"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

// An agent that has its answer may ask under the same id at once, before whoever
// decided has done the rest: that is a request like any other.
func TestAskedAgainUnderTheSameID(t *testing.T) {
	for name, c := range map[string]struct{ first, want string }{
		"decided":                 {"Bash", "register r-1\nsettle r-1 allowed\nregister r-1\nanswered a-r-1 <nil>"},
		"refused at registration": {"Odd", "register r-1\nregister r-1\nanswered a-r-1 <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				b.desk.refuse = "Odd"
				a := b.start(t)
				a.onAnswer = func() {
					a.onAnswer = nil
					a.events <- request("r-1", "Bash")
					a.events <- Reported{} // taken when the request is on the desk
				}
				a.events <- request("r-1", c.first)
				synctest.Wait()
				if c.first != "Odd" {
					if _, _, err := b.Settle("a-r-1", approvals.Decision{Allow: true}); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				if got := b.desk.done(); got != c.want {
					t.Errorf("the desk saw:\n%s\nwant:\n%s", got, c.want)
				}
				if i := b.Info(); i.Pending != 1 {
					t.Errorf("%d pending", i.Pending)
				}
			})
		})
	}
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

// An agent that ends well in the middle of a turn leaves a person waiting who
// must be told; one that ends while idle does not.
func TestAnAgentThatEndsByItselfIsToldOnlyWhileItWorks(t *testing.T) {
	for _, idle := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			defer b.Close()
			a := b.start(t)
			if idle {
				a.events <- TurnEnded{}
			}
			synctest.Wait()
			a.end(Exited{Expected: true, Explanation: "the agent ended by itself"})
			synctest.Wait()
			if told := strings.Contains(b.told(), "ended by itself"); told == idle {
				t.Errorf("idle %v: the person was told %q", idle, b.told())
			}
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

// A turn may be over before Send comes back from writing its prompt: the session
// is idle then, and does not run for ever.
func TestATurnQuickerThanItsSend(t *testing.T) {
	for name, events := range map[string][]Event{
		"a turn of its own":        {Initialized{SessionID: "s-1", Mode: "default"}, TurnEnded{}},
		"folded into the last one": {TurnEnded{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				a := b.start(t)
				if len(events) > 1 {
					a.events <- TurnEnded{}
				}
				synctest.Wait()
				a.onSend = func() {
					for _, e := range events {
						a.events <- e
					}
					synctest.Wait()
				}
				if _, err := b.Send("quick", nil, DefaultSettings()); err != nil {
					t.Fatal(err)
				}
				if i := b.Info(); i.State != StateIdle {
					t.Errorf("after the turn: %+v", i)
				}
			})
		})
	}
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
		a3.events <- Initialized{Mode: "default"} // the mode of the one that was lost
		synctest.Wait()
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
