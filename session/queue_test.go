package session

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"countersign/approvals"
)

// queued is a session whose turn runs and asks, with prompts that wait for its
// end, since the mode that was asked for needs another agent.
func queued(t *testing.T, b *bench) *fakeAgent {
	t.Helper()
	a := b.start(t)
	a.events <- request("r-1", "Bash")
	synctest.Wait()
	a.refuse = errors.New("bypass_not_launched")
	b.SetPermissions("bypass")
	for i, text := range []string{"one", "two"} {
		if info, err := b.Send(text, []string{"B=2"}, DefaultSettings()); err != nil || info.Queued != i+1 || info.NextMode != "bypass" {
			t.Errorf("%+v, %v", info, err)
		}
	}
	if !strings.Contains(b.told(), "waits for the end of the turn") {
		t.Errorf("told %q", b.told())
	}
	if b.desk.get("a-r-1").State != approvals.Pending || b.agents.count() != 1 || len(a.messages()) != 1 || b.Info().Mode == "bypass" {
		t.Error("the turn was touched")
	}
	return a
}

func TestAPromptWaitsForTheTurnAndItsMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := queued(t, b)
		if _, _, err := b.Settle("a-r-1", approvals.Decision{Allow: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if b.agents.count() != 1 {
			t.Error("the turn was cut off")
		}
		a.events <- TurnEnded{}
		synctest.Wait()
		a2 := b.agents.last(t)
		if a2 == a || a2.o.Mode != "bypassPermissions" || a2.o.Resume != "s-1" || !slices.Equal(a2.o.Env, []string{"B=2"}) {
			t.Fatalf("restart: %+v", a2.o)
		}
		if len(a2.messages()) != 0 {
			t.Error("sent before the mode was seen")
		}
		b.Send("three", nil, DefaultSettings())
		a2.events <- Initialized{Mode: "bypassPermissions"}
		synctest.Wait()
		if got := a2.messages(); !slices.Equal(got, []string{"one", "two", "three"}) {
			t.Errorf("the new agent got %q", got)
		}
		if i := b.Info(); i.Queued != 0 || i.NextMode != "" || i.Mode != "bypass" {
			t.Errorf("%+v", i)
		}
	})
}

// A mode that the running agent takes after all needs no restart.
func TestAPromptWaitsAndTheModeIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := queued(t, b)
		a.refuse = nil
		if _, err := b.SetMode("plan"); err != nil {
			t.Fatal(err)
		}
		a.events <- Cancelled{RequestID: "r-1"}
		a.events <- TurnEnded{}
		synctest.Wait()
		if got := a.messages(); b.agents.count() != 1 || !slices.Equal(got, []string{"go", "one", "two"}) {
			t.Errorf("%d agents, the first got %q", b.agents.count(), got)
		}
		if i := b.Info(); i.Queued != 0 || i.Mode != "plan" {
			t.Errorf("%+v", i)
		}
	})
}

// Background agents may still work after a turn: that is no end.
func TestAPromptWaitsForBackgroundAgentsToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := queued(t, b)
		a.events <- Cancelled{RequestID: "r-1"}
		a.events <- BackgroundChanged{Running: 1}
		a.events <- TurnEnded{}
		synctest.Wait()
		if b.agents.count() != 1 || b.Info().Queued != 2 {
			t.Errorf("%d agents, %+v", b.agents.count(), b.Info())
		}
		a.events <- BackgroundChanged{}
		synctest.Wait()
		if b.agents.count() != 2 {
			t.Errorf("%+v", b.Info())
		}
	})
}

// What waits is told and not sent when the person or the agent ends things.
func TestWhatWaitsIsTakenBack(t *testing.T) {
	for name, end := range map[string]func(b *bench, a *fakeAgent){
		"interrupt":   func(b *bench, _ *fakeAgent) { b.Interrupt() },
		"stop":        func(b *bench, _ *fakeAgent) { b.Stop() },
		"new session": func(b *bench, _ *fakeAgent) { b.Renew() },
		"close":       func(b *bench, _ *fakeAgent) { b.Close() },
		"crash":       func(_ *bench, a *fakeAgent) { a.end(Exited{Code: 1, Explanation: "crashed"}) },
		"quiet end":   func(_ *bench, a *fakeAgent) { a.end(Exited{Expected: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				a := queued(t, b)
				end(b, a)
				synctest.Wait()
				if told := b.told(); strings.Count(told, `not sent: "one", "two"`) != 1 {
					t.Errorf("told %q", told)
				}
				if i := b.Info(); i.Queued != 0 || b.agents.count() != 1 || len(a.messages()) != 1 {
					t.Errorf("%+v, %d agents, the first got %q", i, b.agents.count(), a.messages())
				}
			})
		})
	}
}

// What is being sent already cannot be taken back, and is not told to be.
func TestWhatIsBeingSentIsNotTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := queued(t, b)
		a.onMode = func() { b.Interrupt() } // sending the first one asks for the mode
		a.events <- Cancelled{RequestID: "r-1"}
		a.events <- TurnEnded{}
		synctest.Wait()
		a2 := b.agents.last(t)
		a2.events <- Initialized{Mode: "bypassPermissions"}
		synctest.Wait()
		if told := b.told(); !strings.Contains(told, `not sent: "two"`) || strings.Contains(told, `not sent: "one"`) {
			t.Errorf("told %q", told)
		}
		if got := a2.messages(); a2 == a || !slices.Equal(got, []string{"one"}) || b.Info().Queued != 0 {
			t.Errorf("the new agent got %q, %+v", got, b.Info())
		}
	})
}
