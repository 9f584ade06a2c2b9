//go:build unix

package claude

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/e2e/mockmodel"
	"countersign/session"
)

// told runs a conversation in which the model uses tools one after the other,
// and gives what the model was told by each. Each approval is decided by decide.
func told(t *testing.T, o session.StartOptions, model *mockmodel.Server, tools int, decide func(approvals.Approval) approvals.Decision) (*session.Session, []approvals.Approval, []string) {
	t.Helper()
	ids := make(chan string, 100)
	s, desk, ended := conversation(t, o, func(s *session.Session, a approvals.Approval) {
		if _, _, err := s.Settle(a.ID, decide(a)); err != nil {
			t.Errorf("settle %s: %v", a.Title, err)
			s.Settle(a.ID, approvals.Decision{Message: "refused"})
		}
		ids <- a.ID
	})
	if o.Mode != "" {
		if m, ok := (Starter{}).ModeOf(o.Mode); ok {
			s.SetPermissions(m.String())
		}
	}
	if _, err := s.Send("go", o.Env, o.Settings); err != nil {
		t.Fatal(err)
	}
	select {
	case end := <-ended:
		if end.IsError {
			t.Fatalf("%+v", end)
		}
	case <-time.After(time.Minute):
		t.Fatal("the turn does not end")
	}
	var texts []string
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	for i := range tools {
		if _, err := model.Await(ctx, func(r mockmodel.Request) bool {
			text, ok := r.Told(mockmodel.CallID("", i, 0))
			if ok {
				texts = append(texts, text.Text)
			}
			return ok
		}); err != nil {
			t.Fatal(err)
		}
	}
	var settled []approvals.Approval
	for len(ids) > 0 {
		a, _ := desk.Get(<-ids)
		if a.Outcome.State == approvals.OutcomeMismatch || a.State == approvals.Allowed && a.Outcome.State == "" {
			t.Errorf("%s came to %+v", a.Title, a.Outcome)
		}
		settled = append(settled, a)
	}
	return s, settled, texts
}

func TestRealCLICommandsAreVerified(t *testing.T) {
	o, model := realCLI(t, mockmodel.Script{Turns: []mockmodel.Turn{
		mockmodel.Use("Bash", map[string]any{"command": "touch a", "description": "make a"}),
		mockmodel.Use("Bash", map[string]any{"command": "touch b"}),
		mockmodel.Use("Bash", map[string]any{"command": "touch c; exit 3"}),
		mockmodel.Say("done"),
	}})
	_, settled, texts := told(t, o, model, 3, func(a approvals.Approval) approvals.Decision {
		d := approvals.Decision{Allow: true}
		if strings.Contains(a.Title, "touch a") {
			text := "echo amended\n"
			d.Text = &text
		}
		return d
	})
	want := []string{approvals.OutcomeVerified, approvals.OutcomeVerified, approvals.OutcomeFailed}
	for i, a := range settled {
		if i < len(want) && a.Outcome.State != want[i] {
			t.Errorf("%s: %+v", a.Title, a.Outcome)
		}
	}
	if len(settled) != 3 || !strings.Contains(texts[0], "amended") || fileExists(o.Dir+"/a") || !fileExists(o.Dir+"/b") {
		t.Errorf("%d settled, the model was told %q", len(settled), texts)
	}
}

func TestRealCLIQuestions(t *testing.T) {
	ask := func(multi bool, questions ...string) mockmodel.Turn {
		var all []any
		for _, q := range questions {
			all = append(all, map[string]any{
				"question": q, "header": "H", "multiSelect": multi,
				"options": []any{map[string]any{"label": "Red", "description": "warm"}, map[string]any{"label": "Blue", "description": "cold"}},
			})
		}
		return mockmodel.Use("AskUserQuestion", map[string]any{"questions": all})
	}
	o, model := realCLI(t, mockmodel.Script{Turns: []mockmodel.Turn{
		ask(false, "One?"), ask(true, "Many?"), ask(false, "First?", "Second?"), ask(false, "Free?"), ask(false, "Decline?"), mockmodel.Say("done"),
	}})
	_, settled, texts := told(t, o, model, 5, func(a approvals.Approval) approvals.Decision {
		text := a.Document.Text()
		tick := func(label string, n int) { text = strings.Replace(text, "[ ] "+label, "[x] "+label, n) }
		switch {
		case strings.Contains(a.Title, "One?"):
			q := approvals.QuickAnswers(a.Document)[1]
			return approvals.Decision{Allow: true, Answers: map[string]string{q.Question: q.Label}}
		case strings.Contains(a.Title, "Many?"):
			tick("Red", 1)
			tick("Blue", 1)
		case strings.Contains(a.Title, "First?"):
			tick("Red", 1)
			i := strings.LastIndex(text, "Notes:") + len("Notes:")
			text = text[:i] + " not sure" + text[i:]
		case strings.Contains(a.Title, "Free?"):
			text = strings.Replace(text, "Other:\n", "Other: a dark\ngreen\n", 1)
		default:
			return approvals.Decision{Message: "ask me later"}
		}
		return approvals.Decision{Allow: true, Text: &text}
	})
	for i, want := range []string{`"One?"="Blue"`, `"Many?"="Red, Blue"`, `"First?"="Red"`, "a dark\ngreen", "ask me later"} {
		if !strings.Contains(texts[i], want) {
			t.Errorf("told %q, want %q", texts[i], want)
		}
	}
	if !strings.Contains(texts[2], "not sure") {
		t.Errorf("the note on a question without an answer is not read: %q", texts[2])
	}
	if len(settled) != 5 {
		t.Errorf("%d settled", len(settled))
	}
}

func TestRealCLIPlan(t *testing.T) {
	for name, c := range map[string]struct {
		decide func(text string) approvals.Decision
		told   []string
		mode   session.Mode
	}{
		"approved": {
			func(text string) approvals.Decision { return approvals.Decision{Allow: true, Text: &text} },
			[]string{"approved"},
			session.AskBeforeEdit,
		},
		"edits accepted": {func(text string) approvals.Decision {
			text = strings.NewReplacer("[x] ask", "[ ] ask", "[ ] accept", "[x] accept").Replace(text)
			return approvals.Decision{Allow: true, Text: &text}
		}, []string{"approved"}, session.AutoEdit},
		"edited": {func(text string) approvals.Decision {
			text = strings.Replace(text, "<!-- The plan begins here -->\n", "<!-- The plan begins here -->\nMine instead.\n", 1)
			return approvals.Decision{Allow: true, Text: &text}
		}, []string{"Mine instead."}, session.AskBeforeEdit},
		"remarks": {func(text string) approvals.Decision {
			text += "More tests, please.\n"
			return approvals.Decision{Text: &text}
		}, []string{"keep planning", "More tests, please."}, session.Plan},
		"ticked": {func(text string) approvals.Decision {
			text = strings.NewReplacer("[x] ask", "[ ] ask", "[ ] keep", "[x] keep").Replace(text) + "More tests, please.\n"
			return approvals.Decision{Allow: true, Text: &text}
		}, []string{"keep planning", "More tests, please."}, session.Plan},
	} {
		t.Run(name, func(t *testing.T) {
			o, model := realCLI(t, mockmodel.Script{Turns: []mockmodel.Turn{
				mockmodel.Use("ExitPlanMode", map[string]any{"plan": "# The plan"}), mockmodel.Say("done"),
			}})
			o.Mode = "plan"
			s, settled, texts := told(t, o, model, 1, func(a approvals.Approval) approvals.Decision { return c.decide(a.Document.Text()) })
			for _, want := range c.told {
				if !strings.Contains(texts[0], want) {
					t.Errorf("told %q, want %q", texts[0], want)
				}
			}
			if len(settled) != 1 || settled[0].State == approvals.Allowed && settled[0].Outcome.State != approvals.OutcomeVerified {
				t.Errorf("%+v", settled)
			}
			if got := s.Info().Mode; got != c.mode.String() {
				t.Errorf("mode %s, want %v", got, c.mode)
			}
		})
	}
}

// Each destination writes the file that its words name, and no other.
func TestRealCLIRulesAndTheirFiles(t *testing.T) {
	for destination, file := range map[string]string{
		"session": "", "localSettings": ".claude/settings.local.json", "projectSettings": ".claude/settings.json", "userSettings": "~/.claude/settings.json",
	} {
		t.Run(destination, func(t *testing.T) {
			o, model := realCLI(t, mockmodel.Script{Turns: []mockmodel.Turn{
				mockmodel.Use("Bash", map[string]any{"command": "touch a"}),
				mockmodel.Use("Bash", map[string]any{"command": "touch a b"}), mockmodel.Say("done"),
			}})
			home := ""
			for _, v := range o.Env {
				if rest, ok := strings.CutPrefix(v, "HOME="); ok {
					home = rest
				}
			}
			words := ""
			_, settled, _ := told(t, o, model, 2, func(a approvals.Approval) approvals.Decision {
				for _, c := range approvals.RuleChoices(a.Request) {
					if c.Destination == destination && strings.Contains(c.Words, "Bash(touch") {
						words = c.Words
						return approvals.Decision{Allow: true, Suggestion: &c.Suggestion, Destination: c.Destination}
					}
				}
				t.Errorf("no such choice for %s: %v", a.Title, approvals.RuleChoices(a.Request))
				return approvals.Decision{Message: "no"}
			})
			if !strings.Contains(words, cmp.Or(file, "writes no file")) {
				t.Errorf("the words are %q", words)
			}
			for _, f := range []string{".claude/settings.local.json", ".claude/settings.json", "~/.claude/settings.json"} {
				path := filepath.Join(o.Dir, f)
				if rest, ok := strings.CutPrefix(f, "~/"); ok {
					path = filepath.Join(home, rest)
				}
				data, _ := os.ReadFile(path)
				if has := strings.Contains(string(data), "Bash(touch"); has != (f == file) {
					t.Errorf("%s has %q", f, data)
				}
			}
			// A project's own rules hold only in a folder that is trusted.
			if want := map[string]int{"projectSettings": 2}[destination]; len(settled) != max(want, 1) {
				t.Errorf("asked %d times", len(settled))
			}
		})
	}
}

func TestRealCLIEditsAsFeedback(t *testing.T) {
	o, model := realCLI(t, mockmodel.Script{Turns: []mockmodel.Turn{
		mockmodel.Use("Bash", map[string]any{"command": "touch a"}), mockmodel.Say("done"),
	}})
	_, _, texts := told(t, o, model, 1, func(approvals.Approval) approvals.Decision {
		text := "touch b\n"
		return approvals.Decision{WithEdits: true, Text: &text, Message: "another name"}
	})
	if !strings.Contains(texts[0], "says: another name") || !strings.Contains(texts[0], "-touch a\n+touch b\n") || fileExists(o.Dir+"/a") || fileExists(o.Dir+"/b") {
		t.Errorf("told %q", texts[0])
	}
}
