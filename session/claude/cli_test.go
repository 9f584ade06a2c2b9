//go:build unix

package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/e2e/mockmodel"
	"countersign/e2e/realcli"
	"countersign/session"
	"countersign/staging"
)

// These tests run the real CLI, where there is one (realcli.Path says which).

// realCLI are the options to start the real CLI with, in a clean environment
// with a model on loopback.
func realCLI(t *testing.T, script mockmodel.Script) (session.StartOptions, *mockmodel.Server) {
	t.Helper()
	cli, env, model := realcli.Start(t, script)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := session.StartOptions{Settings: session.DefaultSettings(), Dir: dir, Env: env, Marker: "m-1"}
	o.Settings.Agent.Command = []string{cli}
	return o, model
}

func TestRealCLIExits(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*session.StartOptions)
		want string
	}{
		{"mode", func(o *session.StartOptions) { o.Mode = "nonsense" }, `does not take the mode "nonsense"`},
		{"resume", func(o *session.StartOptions) { o.Resume = "00000000-0000-4000-8000-000000000000" }, "knows no session 00000000"},
		{"option", func(o *session.StartOptions) { o.Settings.Agent.Args = []string{"--no-such-option"} }, "does not know one of its options"},
		{"bypass as root", func(o *session.StartOptions) { o.Mode = "bypassPermissions" }, "as root"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, _ := realCLI(t, mockmodel.Script{})
			c.set(&o)
			if o.Mode == "bypassPermissions" && os.Getuid() != 0 {
				t.Skip("not root")
			}
			a := started(t, o)
			a.Send("hi") // it may be gone already
			exit, _ := until[session.Exited](t, a)
			if exit.Expected || !strings.Contains(exit.Explanation, c.want) || exit.UnknownSession != (c.name == "resume") {
				t.Errorf("%+v", exit)
			}
		})
	}
}

func TestRealCLINotLoggedIn(t *testing.T) {
	o, _ := realCLI(t, mockmodel.Script{})
	for i, v := range o.Env {
		if strings.HasPrefix(v, "ANTHROPIC_API_KEY=") {
			o.Env[i] = "NO=1"
		}
	}
	a := started(t, o)
	if err := a.Send("hi"); err != nil {
		t.Fatal(err)
	}
	end, _ := until[session.TurnEnded](t, a)
	if !end.IsError || !strings.Contains(end.Text, "is not logged in: run") {
		t.Errorf("%+v", end)
	}
}

func TestRealCLIModesAndStart(t *testing.T) {
	o, _ := realCLI(t, mockmodel.Script{})
	a := started(t, o)
	hello, _ := until[session.Initialized](t, a)
	if hello.Mode != "default" || hello.Version == "" {
		t.Errorf("initialize: %+v", hello)
	}
	go func() {
		for range a.Events() {
		}
	}()
	for _, m := range session.Modes() {
		err := a.SetMode(Starter{}.WordOf(m))
		var refused *RefusedError
		if m == session.Bypass {
			if !errors.As(err, &refused) || refused.Code != "bypass_not_launched" {
				t.Errorf("%v: %v", m, err)
			}
		} else if err != nil {
			t.Errorf("%v: %v", m, err)
		}
	}
	start := time.Now()
	a.Close()
	t.Logf("closing an idle CLI took %v", time.Since(start))
}

// A conversation is a session with a real desk, whose approvals are decided by
// a function.
func conversation(t *testing.T, o session.StartOptions, decide func(s *session.Session, a approvals.Approval)) (*session.Session, *approvals.Desk, <-chan session.TurnEnded) {
	t.Helper()
	store, err := staging.Open(filepath.Join(t.TempDir(), "storage"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	ended := make(chan session.TurnEnded, 10)
	var s *session.Session
	var deciding sync.WaitGroup
	desk := approvals.NewDesk(approvals.DeskOptions{
		Now: time.Now, Stage: store.Stage,
		Notify: func(a approvals.Approval) {
			if a.State == approvals.Pending {
				deciding.Go(func() { decide(s, a) })
			}
		},
	})
	s = session.New(session.Options{
		Desk: desk, Starter: Starter{}, Dir: o.Dir, Marker: o.Marker,
		Report: func(_ bool, text, _ string) { t.Log("reported: ", text) },
		Observe: func(e session.Event) {
			if e, ok := e.(session.TurnEnded); ok {
				ended <- e
			}
		},
	})
	t.Cleanup(func() {
		s.Close()
		deciding.Wait()
	})
	return s, desk, ended
}

func TestRealCLIAmendedEditIsWrittenAndTold(t *testing.T) {
	file := ""
	o, model := realCLI(t, mockmodel.Script{Turns: []mockmodel.Turn{
		{Make: func(mockmodel.Request) mockmodel.Turn {
			return mockmodel.Use("Edit", map[string]any{"file_path": file, "old_string": "two", "new_string": "TWO"})
		}},
		mockmodel.Say("one"), mockmodel.Say("two"), mockmodel.Say("three"),
	}})
	file = filepath.Join(o.Dir, "a.txt")
	if err := os.WriteFile(file, []byte("one\r\ntwo\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, desk, ended := conversation(t, o, func(s *session.Session, a approvals.Approval) {
		text := "one\r\nzwei\r\n"
		if _, notes, err := s.Settle(a.ID, approvals.Decision{Allow: true, Text: &text}); err != nil || len(notes) > 0 {
			t.Errorf("settle: %v, %v", notes, err)
		}
	})
	if _, err := s.Send("go", o.Env, o.Settings); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	r, err := model.Await(ctx, func(r mockmodel.Request) bool {
		_, result := r.Told(mockmodel.CallID("", 0, 0))
		return result
	})
	if err != nil {
		t.Fatal(err)
	}
	// In the very call that tells the tool's result, so no turn is lost on it.
	if !r.Said("The user changed your proposal") || !r.Said("\n-TWO\n+zwei\n") {
		t.Error("the model was not told of the amendment with the result")
	}
	if end := <-ended; end.IsError {
		t.Errorf("%+v", end)
	}
	if got, _ := os.ReadFile(file); string(got) != "one\r\nzwei\r\n" {
		t.Errorf("the file is %q", got)
	}
	if len(desk.Pending()) != 0 {
		t.Errorf("%d pending", len(desk.Pending()))
	}
}

func TestRealCLIInterruptWithdraws(t *testing.T) {
	var dir atomic.Value // the model is asked on a goroutine of its server
	o, _ := realCLI(t, mockmodel.Script{Turns: []mockmodel.Turn{
		{Make: func(mockmodel.Request) mockmodel.Turn {
			return mockmodel.Use("Write", map[string]any{"file_path": filepath.Join(dir.Load().(string), "new.txt"), "content": "x\n"})
		}},
		mockmodel.Say("after"),
	}})
	dir.Store(o.Dir)
	withdrawn := make(chan string, 1)
	s, desk, ended := conversation(t, o, func(s *session.Session, a approvals.Approval) {
		if err := s.Interrupt(); err != nil {
			t.Error(err)
		}
		withdrawn <- a.ID
	})
	if _, err := s.Send("go", o.Env, o.Settings); err != nil {
		t.Fatal(err)
	}
	if end := <-ended; !end.Interrupted || end.IsError {
		t.Errorf("%+v", end)
	}
	a, ok := desk.Get(<-withdrawn)
	if !ok || a.State != approvals.Withdrawn {
		t.Errorf("%v, %v", a.State, ok)
	}
	if fileExists(filepath.Join(o.Dir, "new.txt")) {
		t.Error("the file was written")
	}
	if i := s.Info(); i.State != session.StateIdle || i.Mode != "ask_before_edit" || i.Pending != 0 {
		t.Errorf("%+v", i)
	}
	// The session stays usable.
	if _, err := s.Send("and now", o.Env, o.Settings); err != nil {
		t.Fatal(err)
	}
	if end := <-ended; end.IsError || end.Text != "after" {
		t.Errorf("%+v", end)
	}
}

func TestRealCLIKilledWithAPendingApproval(t *testing.T) {
	var dir atomic.Value // the model is asked on a goroutine of its server
	o, _ := realCLI(t, mockmodel.Script{Turns: []mockmodel.Turn{
		{Make: func(mockmodel.Request) mockmodel.Turn {
			return mockmodel.Use("Write", map[string]any{"file_path": filepath.Join(dir.Load().(string), "new.txt"), "content": "x\n"})
		}},
	}})
	dir.Store(o.Dir)
	asked := make(chan string, 1)
	s, desk, ended := conversation(t, o, func(s *session.Session, a approvals.Approval) {
		select {
		case asked <- a.ID:
		default: // in a conversation begun afresh the model asks again
			s.Settle(a.ID, approvals.Decision{Message: "no"})
		}
	})
	if _, err := s.Send("go", o.Env, o.Settings); err != nil {
		t.Fatal(err)
	}
	await(t, "it asks", func() bool { return len(asked) == 1 })
	id := <-asked
	asked <- "" // keeps it full
	first := s.Info().ID
	owned.mu.Lock()
	for pid := range owned.pids {
		p, _ := os.FindProcess(pid)
		p.Kill()
	}
	owned.mu.Unlock()
	await(t, "the agent counts as ended", func() bool { return s.Info().State == session.StateEnded })
	if a, _ := desk.Get(id); a.State != approvals.Withdrawn || !strings.Contains(a.Reason, "signal") {
		t.Errorf("%v: %s", a.State, a.Reason)
	}
	// The conversation goes on in a new process, or begins afresh.
	if _, err := s.Send("still there?", o.Env, o.Settings); err != nil {
		t.Fatal(err)
	}
	if end := <-ended; end.IsError && end.Subtype != "error_during_execution" {
		t.Errorf("%+v", end)
	} else if end.IsError { // killed too early to have been written down: begun afresh
		if end = <-ended; end.IsError {
			t.Errorf("%+v", end)
		}
	} else if got := s.Info().ID; got != first {
		t.Errorf("session %s became %s", first, got)
	}
	if fileExists(filepath.Join(o.Dir, "new.txt")) {
		t.Error("the file was written")
	}
}
