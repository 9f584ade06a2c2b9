//go:build unix

package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/e2e/mockmodel"
	"countersign/session"
	"countersign/staging"
)

// A life is a session with the real CLI that a test talks to step by step.
type life struct {
	*session.Session
	t     *testing.T
	o     session.StartOptions
	model *mockmodel.Server
	desk  *approvals.Desk
	asked chan approvals.Approval
	ended chan session.TurnEnded

	mu      sync.Mutex
	reports []string
	events  []session.Event
}

func newLife(t *testing.T, script mockmodel.Script) *life {
	t.Helper()
	l := &life{t: t, asked: make(chan approvals.Approval, 100), ended: make(chan session.TurnEnded, 100)}
	l.o, l.model = realCLI(t, script)
	store, err := staging.Open(filepath.Join(t.TempDir(), "storage"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	l.desk = approvals.NewDesk(approvals.DeskOptions{Now: time.Now, Stage: store.Stage, Notify: func(a approvals.Approval) {
		if a.State == approvals.Pending {
			l.asked <- a
		}
	}})
	l.Session = session.New(session.Options{
		Desk: l.desk, Starter: Starter{}, Dir: l.o.Dir, Marker: l.o.Marker, Name: "1",
		Report: func(_ bool, text, _ string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.reports = append(l.reports, text)
		},
		Observe: func(e session.Event) {
			l.mu.Lock()
			l.events = append(l.events, e)
			l.mu.Unlock()
			if e, ok := e.(session.TurnEnded); ok {
				l.ended <- e
			}
		},
	})
	t.Cleanup(func() { l.Close() })
	return l
}

func (l *life) send(text string) {
	l.t.Helper()
	if _, err := l.Send(text, l.o.Env, l.o.Settings); err != nil {
		l.t.Fatal(err)
	}
}

func next[T any](l *life, what string, from <-chan T) T {
	l.t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(time.Minute):
		var waits []string
		for _, a := range l.desk.Pending() {
			waits = append(waits, fmt.Sprintf("%s in mode %s: %s; %s", a.Title, a.Request.Mode, a.Request.DecisionReason, a.Request.Suggestions))
		}
		l.t.Fatalf("%s: waited in vain; told %q, waits %q, %+v", what, l.told(), waits, l.Info())
	}
	panic("not reached")
}

func (l *life) approval() approvals.Approval {
	l.t.Helper()
	return next(l, "an approval", l.asked)
}

func (l *life) end() session.TurnEnded { l.t.Helper(); return next(l, "the end of the turn", l.ended) }

func (l *life) settle(a approvals.Approval, d approvals.Decision) {
	l.t.Helper()
	if _, _, err := l.Settle(a.ID, d); err != nil {
		l.t.Fatal(err)
	}
}

func (l *life) told() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.reports, "\n")
}

// kill ends the agent as the system might.
func (l *life) kill() {
	l.t.Helper()
	owned.mu.Lock()
	for pid := range owned.pids {
		p, _ := os.FindProcess(pid)
		p.Kill()
	}
	owned.mu.Unlock()
	await(l.t, "the agent counts as ended", func() bool { return l.Info().State == session.StateEnded })
}

// write is a turn that makes a file in the working directory.
func write(name string) mockmodel.Turn {
	return mockmodel.Use("Write", map[string]any{"file_path": name, "content": name + "\n"})
}

func TestRealCLIModeChanges(t *testing.T) {
	l := newLife(t, mockmodel.Script{Turns: []mockmodel.Turn{
		write("a.txt"), write("b.txt"), mockmodel.Say("one"),
		mockmodel.Use("EnterPlanMode", map[string]any{}), mockmodel.Say("two"),
		mockmodel.Say("three"), mockmodel.Say("four"), mockmodel.Say("five"),
	}})
	l.o.Settings.PermissionMode = "plan"
	l.send("go")
	// In plan mode edits are asked, and an allow would write.
	a := l.approval()
	if a.Request.Mode != "plan" || a.Request.MayBypass {
		t.Errorf("asked in mode %q, may bypass %v", a.Request.Mode, a.Request.MayBypass)
	}
	if i, err := l.SetMode("auto-edit"); err != nil || i.Mode != "auto_edit" || i.Pending != 1 || i.NextMode != "" {
		t.Fatalf("live, while pending: %+v, %v", i, err)
	}
	if got, _ := l.desk.Get(a.ID); got.State != approvals.Pending {
		t.Errorf("what was pending is %s", got.State)
	}
	l.settle(a, approvals.Decision{Message: "not that one"})
	// On a very busy machine the CLI 2.1.332 was seen to ask once more, in the mode
	// of before, after it had said that it is in the new one.
	asked := false
	var end session.TurnEnded
	select {
	case b := <-l.asked:
		t.Logf("asked all the same: %s in mode %s", b.Title, b.Request.Mode)
		asked = true
		l.settle(b, approvals.Decision{Allow: true})
		end = l.end()
	case end = <-l.ended:
	case <-time.After(time.Minute):
		t.Fatalf("neither asked nor done: %+v", l.Info())
	}
	if end.IsError {
		t.Errorf("%+v", end)
	}
	if fileExists(filepath.Join(l.o.Dir, "a.txt")) || !fileExists(filepath.Join(l.o.Dir, "b.txt")) {
		t.Error("the modes did not hold: a.txt was declined, b.txt passes unasked")
	}
	if !asked && !strings.Contains(l.told(), "Write ran without asking, because its mode lets it") {
		t.Errorf("told %q", l.told())
	}
	// The agent goes over to planning by itself, and that is seen.
	l.send("plan")
	l.end()
	if i := l.Info(); i.Mode != "plan" {
		t.Errorf("%+v", i)
	}
	// Back, and then to what this process cannot be put into.
	if i, err := l.SetMode("ask_before_edit"); err != nil || i.Mode != "ask_before_edit" {
		t.Errorf("%+v, %v", i, err)
	}
	id := l.Info().ID
	i, err := l.SetMode("bypass")
	if err != nil || i.NextMode != "bypass" || !i.Resumable || i.ID != id {
		t.Errorf("%+v, %v", i, err)
	}
	if os.Getuid() == 0 { // which it does not take at its start either
		l.send("restarted")
		await(t, "it does not start", func() bool { return l.Info().State == session.StateEnded })
		if i := l.Info(); !strings.Contains(i.Error, "as root") || !strings.Contains(i.Error, "not sent: \"") || i.NextMode != "" || !i.Resumable {
			t.Errorf("%+v", i)
		}
	} else if _, err := l.SetMode("ask_before_edit"); err != nil {
		t.Error(err)
	}
	l.send("in the mode before")
	if end := l.end(); end.IsError {
		t.Errorf("%+v", end)
	}
	if i := l.Info(); i.Mode != "ask_before_edit" || i.ID != id {
		t.Errorf("%+v", i)
	}
}

func TestRealCLIModeThatDeniesUnasked(t *testing.T) {
	l := newLife(t, mockmodel.Script{Turns: []mockmodel.Turn{write("a.txt"), write("b.txt"), mockmodel.Say("done")}})
	l.o.Settings.PermissionMode = "dontAsk"
	l.send("go")
	l.end()
	if i := l.Info(); i.Mode != "dontAsk" {
		t.Errorf("shown as %q", i.Mode)
	}
	if got := l.told(); strings.Count(got, "was denied without asking") != 1 {
		t.Errorf("told %q", got)
	}
	denied := 0
	l.mu.Lock()
	for _, e := range l.events {
		if _, ok := e.(session.DeniedUnasked); ok {
			denied++
		}
	}
	l.mu.Unlock()
	if denied != 2 {
		t.Errorf("%d denials seen", denied)
	}
}

func TestRealCLIGoesOnAfterAKill(t *testing.T) {
	l := newLife(t, mockmodel.Script{Turns: []mockmodel.Turn{
		mockmodel.Say("the first answer"), write("a.txt"),
		mockmodel.Say("after the kill"), write("b.txt"), mockmodel.Say("done"), mockmodel.Say("and done"),
	}})
	l.send("the first prompt")
	l.end()
	before := l.Info()
	if before.CostUSD <= 0 || before.Turns != 1 {
		t.Errorf("%+v", before)
	}
	if _, err := l.SetMode("auto_edit"); err != nil {
		t.Fatal(err)
	}
	if _, err := l.SetMode("ask_before_edit"); err != nil {
		t.Fatal(err)
	}
	l.send("write")
	a := l.approval()
	l.kill()
	if got, _ := l.desk.Get(a.ID); got.State != approvals.Withdrawn {
		t.Errorf("what was pending is %s", got.State)
	}
	if i := l.Info(); !i.Resumable || i.ID != before.ID {
		t.Errorf("%+v", i)
	}
	l.send("go on")
	for done := false; !done; {
		select {
		case a := <-l.asked: // in the mode of the one that was lost
			if a.Request.Mode != "default" {
				t.Errorf("asked in mode %q", a.Request.Mode)
			}
			l.settle(a, approvals.Decision{Allow: true})
		case end := <-l.ended:
			if end.IsError {
				t.Errorf("%+v", end)
			}
			done = true
		case <-time.After(time.Minute):
			t.Fatalf("the turn does not end: %q", l.told())
		}
	}
	if i := l.Info(); i.ID != before.ID || i.Mode != "ask_before_edit" || i.CostUSD < before.CostUSD {
		t.Errorf("%+v, before %+v", i, before)
	}
	var last mockmodel.Request
	for _, r := range l.model.Requests() {
		last = r
	}
	if !last.Said("the first prompt") || !last.Said("go on") {
		t.Error("the model does not know what was said before")
	}
	// Stopped and resumed by its id, as by another hub.
	if i, err := l.Stop(); err != nil || !i.Resumable {
		t.Errorf("%+v, %v", i, err)
	}
	i, err := l.Resume(session.Past{ID: before.ID, Mode: "plan"}, l.o.Env, l.o.Settings)
	if err != nil || i.ID != before.ID {
		t.Errorf("%+v, %v", i, err)
	}
	await(t, "it is back", func() bool { return l.Info().State == session.StateIdle })
}

func TestRealCLIResumeStartsNoLooserThanBefore(t *testing.T) {
	l := newLife(t, mockmodel.Script{Turns: []mockmodel.Turn{mockmodel.Say("one"), mockmodel.Say("two"), mockmodel.Say("three")}})
	l.send("go")
	l.end()
	id := l.Info().ID
	l.Renew()
	for _, c := range []struct{ setting, was, want string }{
		{"", "plan", "plan"}, {"auto_edit", "ask_before_edit", "ask_before_edit"}, {"ask_before_edit", "auto_edit", "ask_before_edit"}, {"auto", "dontAsk", "dontAsk"},
	} {
		l.o.Settings.PermissionMode = c.setting
		if _, err := l.Resume(session.Past{ID: id, Mode: c.was}, l.o.Env, l.o.Settings); err != nil {
			t.Fatal(err)
		}
		await(t, "it is back", func() bool { return l.Info().State == session.StateIdle })
		if i := l.Info(); i.Mode != c.want || i.ID != id {
			t.Errorf("setting %q, was %q: %+v", c.setting, c.was, i)
		}
		l.Renew()
	}
	if got := l.told(); got != "" {
		t.Errorf("told %q", got)
	}
	i, err := l.Resume(session.Past{ID: "00000000-0000-4000-8000-000000000000"}, l.o.Env, l.o.Settings)
	if err == nil || !strings.Contains(err.Error(), "knows no session") || i.State != session.StateEnded || i.Resumable {
		t.Errorf("%+v, %v", i, err)
	}
	if got := l.told(); got != "" {
		t.Errorf("told %q beside the answer", got)
	}
}

func TestRealCLITwoSubagentsAskAtOnce(t *testing.T) {
	sub := func(name string) mockmodel.Conversation {
		return mockmodel.Conversation{Match: "WORK-" + name, Turns: []mockmodel.Turn{write(name + ".txt"), mockmodel.Say(name + " is done")}}
	}
	call := func(name string) mockmodel.Call {
		return mockmodel.Call{Name: "Agent", Input: map[string]any{"description": "do " + name, "prompt": "WORK-" + name, "subagent_type": "general-purpose", "run_in_background": false}}
	}
	l := newLife(t, mockmodel.Script{
		Turns:         []mockmodel.Turn{{Calls: []mockmodel.Call{call("alpha"), call("beta")}}, mockmodel.Say("both done")},
		Conversations: []mockmodel.Conversation{sub("alpha"), sub("beta")},
	})
	l.send("go")
	a, b := l.approval(), l.approval()
	names := map[string]bool{a.Request.AgentName: true, b.Request.AgentName: true}
	if !names["do alpha"] || !names["do beta"] {
		t.Errorf("asked by %v", names)
	}
	await(t, "both are counted", func() bool { return l.Info().Pending == 2 })
	l.settle(b, approvals.Decision{Allow: true})
	l.settle(a, approvals.Decision{Message: "no"})
	if end := l.end(); end.IsError || end.Text != "both done" {
		t.Errorf("%+v", end)
	}
	if fileExists(a.Path) || !fileExists(b.Path) {
		t.Errorf("%s was declined, %s allowed", a.Path, b.Path)
	}
	// What is written of them can be told apart.
	parents := map[string]string{}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		switch e := e.(type) {
		case session.AgentStarted:
			parents[e.ToolUseID] = e.Name
		case session.ToolUsed:
			if e.Tool == "Write" && parents[e.ParentToolUseID] == "" {
				t.Errorf("nobody uses %+v", e)
			}
		}
	}
}
