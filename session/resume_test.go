package session

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Resume says whether the agent could go on, and says it once.
func TestResumeWaitsForTheAgent(t *testing.T) {
	for name, c := range map[string]struct {
		then  func(b *bench, a *fakeAgent) // what becomes of the agent
		state State
		err   string
		told  string
	}{
		"it is up":        {func(_ *bench, a *fakeAgent) { a.events <- Initialized{Mode: "default"} }, StateIdle, "", ""},
		"it knows it not": {func(_ *bench, a *fakeAgent) { a.end(Exited{Code: 1, UnknownSession: true, Explanation: "no s-1 here"}) }, StateEnded, "no s-1 here", ""},
		"it ends":         {func(_ *bench, a *fakeAgent) { a.end(Exited{Code: 3, Explanation: "not logged in"}) }, StateEnded, "not logged in", ""},
		"it is stopped":   {func(b *bench, _ *fakeAgent) { b.Stop() }, StateNone, "", ""},
		"it says nothing": {func(*bench, *fakeAgent) { time.Sleep(upWithin) }, StateStarting, "", ""},
		"it ends when up": {func(_ *bench, a *fakeAgent) {
			a.events <- Initialized{Mode: "default"}
			synctest.Wait()
			a.end(Exited{Code: 3, Explanation: "crashed"})
		}, StateIdle, "", "crashed"},
		"it ends too late": {func(_ *bench, a *fakeAgent) {
			time.Sleep(upWithin)
			synctest.Wait()
			a.end(Exited{Code: 3, Explanation: "crashed"})
		}, StateStarting, "", "crashed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				b.start(t).end(Exited{Expected: true, Explanation: "ended"})
				synctest.Wait()
				b.reports = nil

				type answer struct {
					info Info
					err  error
				}
				answered := make(chan answer, 1)
				go func() {
					i, err := b.Resume(Past{}, nil, DefaultSettings())
					answered <- answer{i, err}
				}()
				synctest.Wait()
				if len(answered) != 0 {
					t.Fatal("answered before the agent said anything")
				}
				c.then(b, b.agents.last(t))
				got := <-answered
				synctest.Wait()
				if got.info.State != c.state || got.info.ID != "s-1" {
					t.Errorf("%+v", got.info)
				}
				if c.err == "" && got.err != nil || c.err != "" && (got.err == nil || got.err.Error() != c.err) {
					t.Errorf("error %v, want %q", got.err, c.err)
				}
				if b.told() != c.told {
					t.Errorf("told %q, want %q", b.told(), c.told)
				}
			})
		})
	}
}

// An agent that is gone before Resume looks for it was not gone on with.
func TestResumeOfAnAgentThatEndsAtOnce(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			defer b.Close()
			b.start(t).end(Exited{Expected: true, Explanation: "ended"})
			synctest.Wait()
			b.reports = nil
			b.agents.dead = &Exited{Code: 1, Explanation: "no s-1 here"}
			if i, err := b.Resume(Past{}, nil, DefaultSettings()); err == nil || err.Error() != "no s-1 here" || i.State != StateEnded {
				t.Fatalf("%+v, %v", i, err)
			}
			if b.told() != "" {
				t.Fatalf("told %q beside the answer", b.told())
			}
		})
	}
}

// What an agent leaves open is withdrawn with words that end in a reason.
func TestWithdrawnForAReason(t *testing.T) {
	for name, end := range map[string]func(b *bench, a *fakeAgent){
		"stopped":         func(b *bench, _ *fakeAgent) { b.Stop() },
		"without a word":  func(_ *bench, a *fakeAgent) { a.end(Exited{}) },
		"with a reason":   func(_ *bench, a *fakeAgent) { a.end(Exited{Code: 1, Explanation: "killed"}) },
		"another session": func(b *bench, _ *fakeAgent) { b.Renew() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				a := b.start(t)
				a.events <- request("r-1", "Bash")
				synctest.Wait()
				end(b, a)
				synctest.Wait()
				got := b.desk.get("a-r-1").Reason
				if before, why, ok := strings.Cut(got, "gone: "); !ok || before == "" || why == "" {
					t.Errorf("withdrawn because %q", got)
				}
			})
		})
	}
}

// An agent that says nothing is told of once, and can be stopped.
func TestASilentAgentIsToldOf(t *testing.T) {
	for name, c := range map[string]struct {
		before func(b *bench, a *fakeAgent)
		told   int
	}{
		"silent":  {func(*bench, *fakeAgent) {}, 1},
		"up":      {func(_ *bench, a *fakeAgent) { a.events <- Initialized{Mode: "default"} }, 0},
		"stopped": {func(b *bench, _ *fakeAgent) { b.Stop() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				if _, err := b.Send("go", nil, DefaultSettings()); err != nil {
					t.Fatal(err)
				}
				c.before(b, b.agents.last(t))
				time.Sleep(3 * silentAfter)
				synctest.Wait()
				if n := strings.Count(b.told(), "said nothing"); n != c.told {
					t.Errorf("told %d times: %q", n, b.told())
				}
				if i, err := b.Stop(); err != nil || i.State != StateNone {
					t.Errorf("%+v, %v", i, err)
				}
			})
		})
	}
}

// A session is gone on with in the mode that it was in, but that nothing is asked
// has to be asked for anew.
func TestResumeInTheModeOfBefore(t *testing.T) {
	for was, word := range map[string]string{"plan": "plan", "auto_edit": "acceptEdits", "dontAsk": "dontAsk", "bypass": ""} {
		t.Run(was, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				go b.Resume(Past{ID: "s-old", Mode: was}, nil, DefaultSettings())
				synctest.Wait()
				if got := b.agents.last(t).o.Mode; got != word {
					t.Errorf("started in %q, not in %q", got, word)
				}
			})
		})
	}
}
