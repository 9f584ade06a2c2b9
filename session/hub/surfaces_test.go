//go:build unix

package hub

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/approvals"
)

// What front ends need to offer every tool's own surface crosses the socket:
// rules with every destination, quick answers, the modes after a plan, the kind.
func TestSurfacesOverTheSocket(t *testing.T) {
	w := newWorld(t, `{"turns":[{"steps":[
		{"call":{"tool":"Bash","input":{"command":"echo a\u200bb"},"suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"echo *"}],"behavior":"allow","destination":"localSettings"}]}},
		{"call":{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"H","options":[{"label":"A","description":"a"},{"label":"B","description":"b"}],"multiSelect":false}]}}},
		{"call":{"tool":"Write","input":{"file_path":"${DIR}/a.txt","content":"one\n"}}},
		{"call":{"tool":"ExitPlanMode","input":{"plan":"# P\n1. x"}}},
		{"say":"done"}]}]}`)
	c, _ := w.connect("first")
	w.send(c, "go")

	a := w.pendingOf(c)
	if len(a.Choices) != 4 || a.Choices[0].Words != a.Rules[0] || a.Kind != "Bash commands" || !strings.Contains(a.SessionWords, "Bash(echo *)") || len(a.Hidden) != 1 || a.Hidden[0].Offset != 6 {
		t.Errorf("%+v", a)
	}
	rule := a.Choices[3]
	var refused *Error
	if _, err := c.Settle(t.Context(), SettleParams{ID: a.ID, Allow: true, Suggestion: &rule.Suggestion, Destination: "elsewhere", How: "command"}); !errors.As(err, &refused) || refused.Code != CodeRefused {
		t.Errorf("%v", err)
	}
	if _, err := c.Settle(t.Context(), SettleParams{ID: a.ID, Allow: true, Suggestion: &rule.Suggestion, Destination: rule.Destination, How: "command"}); err != nil {
		t.Fatal(err)
	}

	a = w.pendingOf(c)
	if len(a.QuickAnswers) != 2 || a.QuickAnswers[1].Label != "B" || a.Kind != "" || a.SessionWords != "" {
		t.Errorf("%+v", a)
	}
	if _, err := c.Settle(t.Context(), SettleParams{ID: a.ID, Allow: true, How: "save"}); !errors.As(err, &refused) || refused.Line == 0 {
		t.Errorf("an unanswered question: %v", err)
	}
	if _, err := c.Settle(t.Context(), SettleParams{ID: a.ID, Allow: true, Answers: map[string]string{"Which?": "B"}, How: "command"}); err != nil {
		t.Fatal(err)
	}

	a = w.pendingOf(c)
	edited := "two\n"
	settled, err := c.Settle(t.Context(), SettleParams{ID: a.ID, WithEdits: true, Text: &edited, Message: "better", How: "command"})
	if err != nil || settled.Approval.State != approvals.Denied {
		t.Fatal(settled, err)
	}
	a = w.pendingOf(c)
	if len(a.PlanModes) < 2 || a.PlanModes[0].Mode != "default" {
		t.Errorf("%+v", a)
	}
	if _, err := c.Settle(t.Context(), SettleParams{ID: a.ID, Allow: true, Mode: a.PlanModes[1].Mode, How: "command"}); err != nil {
		t.Fatal(err)
	}

	records, err := approvals.ReadJournal(JournalPath(w.places().state))
	if err != nil {
		t.Fatal(err)
	}
	var rules, messages []string
	for _, r := range records {
		if r.Kind != approvals.RecordSettled {
			continue
		}
		for _, u := range r.Rules {
			rules = append(rules, string(u))
		}
		messages = append(messages, r.Message)
	}
	if len(rules) != 2 || !strings.Contains(rules[0], `"destination":"userSettings"`) || !strings.Contains(rules[1], "acceptEdits") {
		t.Errorf("rules: %s", rules)
	}
	if last := messages[2]; !strings.Contains(last, "says: better") || !strings.Contains(last, "-one\n+two\n") {
		t.Errorf("the agent read %q", last)
	}
	w.waitFor("the end of the turn", func() bool {
		st, err := c.Status(t.Context())
		return err == nil && st.Session.State == "idle"
	})
	if _, err := os.Stat(filepath.Join(w.root, "a.txt")); err == nil {
		t.Error("a.txt was written")
	}
}
