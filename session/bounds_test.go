package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
)

var errRefused = errors.New("it does not want to")

// A prompt leaves only once the agent is known to run in no looser mode than
// asked for.
func TestNoPromptBeforeTheModeIsRight(t *testing.T) {
	for _, c := range []struct {
		name, asked, reported string // in the agent's words; "" reports none
		refuse                error
		modes                 []string // asked for live
		sent                  bool
		told                  string
	}{
		{"as asked", "plan", "plan", nil, nil, true, ""},
		{"another word for it", "default", "manual", nil, nil, true, ""},
		{"looser, and put right", "plan", "default", nil, []string{"plan"}, true, ""},
		{"looser, and stays so", "plan", "default", errRefused, []string{"plan"}, false, "looser than"},
		{"unknown to us", "acceptEdits", "yolo", errRefused, []string{"acceptEdits"}, false, "looser than"},
		{"tighter, and put right", "bypassPermissions", "default", nil, []string{"bypassPermissions"}, true, ""},
		{"tighter, and stays so", "bypassPermissions", "default", errRefused, []string{"bypassPermissions"}, true, `runs in mode "default", not in "bypassPermissions" as asked: it does not want to`},
		{"denies what it would ask", "default", "dontAsk", errRefused, []string{"default"}, true, "not in"},
		{"says nothing, agrees", "plan", "", nil, []string{"plan"}, true, ""},
		{"says nothing, refuses", "plan", "", errRefused, []string{"plan"}, false, "does not say in which mode"},
		{"none asked", "", "bypassPermissions", nil, nil, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				settings := DefaultSettings()
				settings.PermissionMode = c.asked
				if _, err := b.Send("go", nil, settings); err != nil {
					t.Fatal(err)
				}
				a := b.agents.last(t)
				a.refuse = c.refuse
				synctest.Wait()
				if got := a.messages(); (len(got) > 0) != (c.asked == "") {
					t.Errorf("sent before the agent said anything: %q", got)
				}
				b.Send("and", nil, settings) // behind it
				a.events <- Initialized{Version: "1", Mode: c.reported}
				synctest.Wait()
				want := []string{"go", "and"}
				if !c.sent {
					want = nil
				}
				if got := a.messages(); !slices.Equal(got, want) {
					t.Errorf("sent %q", got)
				}
				if !slices.Equal(a.modes, c.modes) {
					t.Errorf("asked for %q", a.modes)
				}
				if (c.told == "") != (b.told() == "") || !strings.Contains(b.told(), c.told) {
					t.Errorf("told %q", b.told())
				}
				if i := b.Info(); !c.sent && (i.State != StateEnded || !strings.Contains(i.Error, c.told) || !strings.Contains(i.Error, "not sent: \"")) {
					t.Errorf("%+v", i)
				}
			})
		})
	}
}

func TestTheModeAfterACrash(t *testing.T) {
	for _, c := range []struct {
		name, setting string
		set           string // by the person, live
		reported      string // by the agent itself, last
		want          string // the new agent is started in
	}{
		{"nothing established, nothing reported", "", "", "", ""},
		{"nothing established", "", "", "acceptEdits", "acceptEdits"},
		{"as set up", "auto_edit", "", "acceptEdits", "acceptEdits"},
		{"the agent tightened", "auto_edit", "", "plan", "plan"},
		{"the person tightened", "auto_edit", "plan", "", "plan"},
		{"the person loosened", "plan", "auto_edit", "", "acceptEdits"},
		{"the person loosened, the agent tightened", "plan", "auto_edit", "default", "default"},
		{"it denies", "auto_edit", "", "dontAsk", "dontAsk"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				settings := DefaultSettings()
				settings.PermissionMode = c.setting
				b.Send("go", nil, settings)
				a := b.agents.last(t)
				a.events <- Initialized{SessionID: "s-1", Mode: a.o.Mode}
				synctest.Wait()
				if c.set != "" {
					if i, err := b.SetMode(c.set); err != nil || i.Mode != c.set {
						t.Errorf("%+v, %v", i, err)
					}
				}
				if c.reported != "" {
					a.events <- ModeReported{Mode: c.reported}
				}
				a.end(Exited{Code: 1, Explanation: "killed"})
				synctest.Wait()
				b.Send("go on", nil, settings)
				if a2 := b.agents.last(t); a2 == a || a2.o.Mode != c.want || a2.o.Resume != "s-1" {
					t.Errorf("started in %q with %q", a2.o.Mode, a2.o.Resume)
				}
			})
		})
	}
}

func TestALooserModeOfItsOwnIsPutBack(t *testing.T) {
	for _, refuse := range []error{nil, errRefused} {
		t.Run(fmt.Sprint(refuse), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				a := b.start(t)
				synctest.Wait()
				b.SetMode("plan")
				a.refuse = refuse
				a.events <- ModeReported{Mode: "acceptEdits"}
				synctest.Wait()
				if !slices.Equal(a.modes, []string{"plan", "plan"}) {
					t.Errorf("asked for %q", a.modes)
				}
				if i := b.Info(); refuse == nil && (i.Mode != "plan" || !strings.Contains(b.told(), "it was put back")) {
					t.Errorf("%+v, told %q", i, b.told())
				} else if refuse != nil && (i.State != StateEnded || !i.Resumable || !strings.Contains(b.told(), "was ended")) {
					t.Errorf("%+v, told %q", i, b.told())
				}
			})
		})
	}
}

// setsMode answers an allow with a mode, as the desk does for plans and rules.
func (b *bench) setsMode(mode string) {
	b.desk.result = func(r *approvals.Result) {
		r.UpdatedPermissions = append(r.UpdatedPermissions, jsontext.Value(`{"type":"setMode","mode":"`+mode+`","destination":"session"}`))
	}
}

func TestAModeThatAnAllowSetsIsThePersonsWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		synctest.Wait()
		b.SetMode("plan")
		a.events <- request("r-1", "ExitPlanMode")
		synctest.Wait()
		b.setsMode("acceptEdits")
		b.Settle("a-r-1", approvals.Decision{Allow: true})
		a.events <- ModeReported{Mode: "acceptEdits"}
		synctest.Wait()
		if i := b.Info(); i.Mode != "auto_edit" || len(a.modes) != 1 || b.told() != "" {
			t.Errorf("%+v, asked for %q, told %q", i, a.modes, b.told())
		}
		// The next prompt does not lead back into plan mode.
		b.Send("go on", nil, DefaultSettings())
		if len(a.modes) != 1 || b.agents.count() != 1 {
			t.Errorf("asked for %q", a.modes)
		}
	})
}

func TestAfterADeniedPlanItIsPlanMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.events <- ModeReported{Mode: "plan"} // the model's own wish
		a.events <- request("r-1", "ExitPlanMode")
		synctest.Wait()
		b.Settle("a-r-1", approvals.Decision{Message: "keep planning"})
		a.events <- ToolReturned{ToolUseID: "t-r-1", IsError: true}
		a.events <- Initialized{SessionID: "s-1", Mode: "default"} // it lost the mode
		synctest.Wait()
		if i := b.Info(); i.Mode != "plan" || !slices.Equal(a.modes, []string{"plan"}) {
			t.Errorf("%+v, asked for %q", i, a.modes)
		}
	})
}

func TestAModeIsChangedWhileSomethingIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.events <- request("r-1", "Edit")
		synctest.Wait()
		if i, err := b.SetMode("auto_edit"); err != nil || i.Mode != "auto_edit" || i.Pending != 1 {
			t.Errorf("%+v, %v", i, err)
		}
		// What was asked is not settled unseen.
		if b.desk.get("a-r-1").State != approvals.Pending || len(a.answers) != 0 {
			t.Error("it was settled")
		}
	})
}

func TestATighterModeThatIsRefusedEndsTheAgent(t *testing.T) {
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprint("running ", running), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				a := b.start(t)
				a.events <- ModeReported{Mode: "acceptEdits"}
				if running {
					a.events <- request("r-1", "Bash")
				} else {
					a.events <- TurnEnded{}
				}
				synctest.Wait()
				a.refuse = ErrNoMode
				i, err := b.SetMode("plan")
				if err != nil || i.State != StateNone || !i.Resumable || i.NextMode != "plan" || i.ID != "s-1" {
					t.Errorf("%+v, %v", i, err)
				}
				if running && (b.desk.get("a-r-1").State != approvals.Withdrawn || !strings.Contains(b.told(), "in the middle of its turn")) {
					t.Errorf("%v, told %q", b.desk.get("a-r-1").State, b.told())
				}
				if len(a.answers) != 0 {
					t.Errorf("answered %v", a.answers)
				}
				b.Send("go on", nil, DefaultSettings())
				if a2 := b.agents.last(t); a2.o.Mode != "plan" || a2.o.Resume != "s-1" {
					t.Errorf("started with %+v", a2.o)
				}
			})
		})
	}
}

func TestALooserModeThatIsRefused(t *testing.T) {
	for _, c := range []struct {
		name    string
		refuse  error
		running bool
		err     string
		told    string
		ended   bool // for the restart
		next    string
	}{
		{"running", errRefused, true, "", "it is taken with the first prompt after that", false, "bypass"},
		{"idle", errRefused, false, "", "the next prompt does that", true, "bypass"},
		{"no such mode", ErrNoMode, false, "the mode stays ask_before_edit", "", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				a := b.start(t)
				if !c.running {
					a.events <- TurnEnded{}
				}
				synctest.Wait()
				a.refuse = c.refuse
				i, err := b.SetMode("bypass")
				if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v", err)
				}
				if !strings.Contains(b.told(), c.told) {
					t.Errorf("told %q", b.told())
				}
				if i.Resumable != c.ended || i.NextMode != c.next {
					t.Errorf("%+v", i)
				}
				// Until then the agent stays as tight as it was.
				if !c.ended {
					a.events <- ModeReported{Mode: "default"}
					synctest.Wait()
					if got := b.Info().Mode; got != "ask_before_edit" {
						t.Errorf("in mode %s", got)
					}
				}
			})
		})
	}
}

func TestAModeThatIsSetWhileTheAgentStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		settings := DefaultSettings()
		settings.PermissionMode = "auto_edit"
		b.Send("go", nil, settings)
		a := b.agents.last(t)
		if _, err := b.SetMode("plan"); err != nil {
			t.Fatal(err)
		}
		a.events <- Initialized{Mode: "acceptEdits"}
		synctest.Wait()
		if i := b.Info(); !slices.Equal(a.modes, []string{"plan"}) || i.Mode != "plan" || i.NextMode != "" || !slices.Equal(a.messages(), []string{"go"}) {
			t.Errorf("asked for %q, sent %q, %+v", a.modes, a.messages(), i)
		}
	})
}

func TestAModeThatTheAgentDoesNotStartIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		b.start(t).end(Exited{Code: 1, Explanation: "killed"})
		synctest.Wait()
		b.SetMode("bypass")
		b.Send("go", nil, DefaultSettings())
		a := b.agents.last(t)
		a.end(Exited{Code: 1, RefusedMode: true, Explanation: "the agent does not run in mode bypass as root"})
		synctest.Wait()
		if i := b.Info(); i.NextMode != "" || !strings.Contains(i.Error, "as root") || !strings.Contains(i.Error, "not sent: \"") {
			t.Errorf("%+v", i)
		}
		b.Send("go", nil, DefaultSettings())
		if a2 := b.agents.last(t); a2.o.Mode != "default" || a2.o.Resume != "s-1" {
			t.Errorf("started in %q, with %q", a2.o.Mode, a2.o.Resume)
		}
	})
}

// An agent that ends before its first turn has taken up nothing, so that the
// conversation it was to go on with is still there to go on with.
func TestAnAgentThatNeverBeganKeepsTheConversation(t *testing.T) {
	for name, c := range map[string]struct {
		exit Exited
		want string
	}{
		"refused mode":    {Exited{Code: 1, RefusedMode: true, Explanation: "not as root"}, "s-1"},
		"another reason":  {Exited{Code: 1, Explanation: "no licence"}, "s-1"},
		"unknown session": {Exited{Code: 1, UnknownSession: true, Explanation: "there is no s-1"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				defer b.Close()
				b.start(t).end(Exited{Explanation: "crashed"})
				synctest.Wait()
				failed := make(chan error)
				go func() {
					_, err := b.Resume(Past{}, nil, DefaultSettings())
					failed <- err
				}()
				synctest.Wait()
				b.agents.last(t).end(c.exit)
				if err := <-failed; err == nil || err.Error() != c.exit.Explanation {
					t.Errorf("resumed: %v", err)
				}
				if i := b.Info(); i.Resumable != (c.want != "") {
					t.Errorf("%+v", i)
				}
				b.Send("go on", nil, DefaultSettings())
				if a := b.agents.last(t); a.o.Resume != c.want {
					t.Errorf("resumes %q, want %q", a.o.Resume, c.want)
				}
			})
		})
	}
}

func TestWhatIsDecidedUnaskedIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		for i := range 3 {
			id := fmt.Sprint("t-", i)
			a.events <- ToolUsed{ToolUseID: id, Tool: "Bash"}
			a.events <- ToolReturned{ToolUseID: id, Unasked: "a rule"}
			a.events <- ToolReturned{ToolUseID: id, Unasked: OwnRules}
			a.events <- DeniedUnasked{Tool: "Edit", Text: "Edit was denied without asking: plan mode."}
		}
		synctest.Wait()
		if got := b.told(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "Bash ran without asking, because a rule lets it") || !strings.Contains(got, "Edit was denied") {
			t.Errorf("told %q", got)
		}
	})
}

// The mode after a plan may be named as people name it; the desk gets the
// agent's word.
func TestTheModeAfterAPlanByItsName(t *testing.T) {
	for name, want := range map[string]string{"auto-edit": "acceptEdits", "ask_before_edit": "default", "acceptEdits": "acceptEdits", "yolo": "yolo"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t)
			defer b.Close()
			a := b.start(t)
			a.events <- request("r-1", "ExitPlanMode")
			synctest.Wait()
			b.Settle("a-r-1", approvals.Decision{Allow: true, Mode: name})
			if !slices.Contains(b.desk.log, "mode "+want) {
				t.Errorf("%s: %q", name, b.desk.log)
			}
		})
	}
}

func TestAPromptThatIsHeldCanBeTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		settings := DefaultSettings()
		settings.PermissionMode = "plan"
		b.Send("go", nil, settings)
		a := b.agents.last(t)
		if err := b.Interrupt(); err != nil || b.Info().State != StateIdle {
			t.Errorf("%v, %+v", err, b.Info())
		}
		a.events <- Initialized{Mode: "plan"}
		synctest.Wait()
		if got := a.messages(); len(got) > 0 || b.Info().State != StateIdle {
			t.Errorf("sent %q, %+v", got, b.Info())
		}
		b.Send("something else", nil, settings)
		if got := a.messages(); !slices.Equal(got, []string{"something else"}) {
			t.Errorf("sent %q", got)
		}
	})
}
