//go:build unix

package claude

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/claude/scripted"
)

// TestConversation: process, wire, session and desk together, on the script of
// the demonstration.
func TestConversation(t *testing.T) {
	o := options(t, "")
	log := filepath.Join(t.TempDir(), "log.jsonl")
	o.Settings.Agent.Command = []string{o.Settings.Agent.Command[0], "--log", log}
	for name, content := range scripted.DemoFiles() {
		if err := os.WriteFile(filepath.Join(o.Dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var mu sync.Mutex
	ids := map[string]string{}
	s, desk, ended := conversation(t, o, func(s *session.Session, a approvals.Approval) {
		mu.Lock()
		ids[a.Request.Tool] = a.ID
		mu.Unlock()
		d := approvals.Decision{Allow: true}
		switch a.Request.Tool {
		case "Edit":
			text := strings.ReplaceAll(a.Document.Text(), "How are you?", "Good day.")
			d.Text = &text
		case "Write":
			d = approvals.Decision{Message: "Leave the notes alone."}
		}
		if _, notes, err := s.Settle(a.ID, d); err != nil || len(notes) > 0 {
			t.Errorf("%s: %v, %v", a.Title, notes, err)
		}
	})
	if _, err := s.Send("make it friendlier", o.Env, o.Settings); err != nil {
		t.Fatal(err)
	}
	if end := <-ended; end.IsError || end.Text != "That is all." {
		t.Errorf("%+v", end)
	}
	for tool, want := range map[string]approvals.Approval{
		"Edit":  {State: approvals.Allowed, Amended: true, Outcome: approvals.Outcome{State: approvals.OutcomeVerified}},
		"Write": {State: approvals.Denied},
		"Bash":  {State: approvals.Allowed, Outcome: approvals.Outcome{State: approvals.OutcomeVerified}},
	} {
		if got, ok := desk.Get(ids[tool]); !ok || got.State != want.State || got.Amended != want.Amended || got.Outcome.State != want.Outcome.State {
			t.Errorf("%s: %v, amended %v, outcome %+v", tool, got.State, got.Amended, got.Outcome)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(o.Dir, "greet.go")); !strings.Contains(string(got), "! Good day.") {
		t.Errorf("greet.go:\n%s", got)
	}
	if got, _ := os.ReadFile(filepath.Join(o.Dir, "notes.md")); string(got) != scripted.DemoFiles()["notes.md"] {
		t.Errorf("notes.md:\n%s", got)
	}
	told, _ := os.ReadFile(log)
	for _, want := range []string{"The user modified your proposed changes", "Leave the notes alone.", `+\treturn \"Hello, \" + name + \"! Good day.\"`, `greet.go\nnotes.md`} {
		if !strings.Contains(string(told), want) {
			t.Errorf("the model was not told %q:\n%s", want, told)
		}
	}
	if i := s.Info(); i.State != session.StateIdle || i.Mode != "ask_before_edit" || i.Version != "scripted" {
		t.Errorf("%+v", i)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
