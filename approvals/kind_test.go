package approvals

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// waiting is a bench with one approval of each kind, and titles of some of them.
func waiting(t *testing.T) (b *bench, all map[string]Approval, titles func([]Approval) string) {
	b = newBench(t)
	b.file("a.txt", "one\n")
	other := b.bash("git diff")
	other.Session = "s2"
	all = map[string]Approval{}
	for name, req := range map[string]Request{
		"edit":     b.edit(b.dir+"/a.txt", "one", "two"),
		"write":    b.request("Write", map[string]any{"file_path": b.dir + "/b.txt", "content": "x\n"}),
		"diff":     b.bash("git diff a.txt"),
		"chain":    b.bash("git diff; rm x"),
		"other":    other,
		"fetch":    b.request("WebFetch", `{"url":"a"}`),
		"question": b.request("AskUserQuestion", twoQuestions),
		"plan":     b.request("ExitPlanMode", planInput),
	} {
		all[name] = b.Register(req)
	}
	titles = func(some []Approval) string {
		var s []string
		for _, name := range []string{"edit", "write", "diff", "chain", "other", "fetch", "question", "plan"} {
			for _, a := range some {
				if a.ID == all[name].ID {
					s = append(s, name)
				}
			}
		}
		return strings.Join(s, " ")
	}
	return b, all, titles
}

func TestKind(t *testing.T) {
	_, all, _ := waiting(t)
	for name, want := range map[string]string{
		"edit": "file changes", "write": "file changes", "diff": "Bash commands", "other": "Bash commands", "fetch": "uses of WebFetch", "question": "", "plan": "",
	} {
		if got := Kind(all[name].Surface, all[name].Request.Tool); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestCovered(t *testing.T) {
	b, _, titles := waiting(t)
	rule := func(tool, content, behavior string) string {
		return `{"type":"addRules","rules":[{"toolName":"` + tool + `","ruleContent":"` + content + `"}],"behavior":"` + behavior + `","destination":"session"}`
	}
	for update, want := range map[string]string{
		`{"type":"setMode","mode":"acceptEdits"}`:       "edit write",
		`{"type":"setMode","mode":"bypassPermissions"}`: "edit write diff chain other fetch",
		`{"type":"setMode","mode":"default"}`:           "",
		rule("Bash", "", "allow"):                       "diff chain other",
		rule("Bash", "git diff:*", "allow"):             "diff other",
		rule("Bash", "git diff *", "allow"):             "diff other",
		rule("Bash", "git diff", "allow"):               "other",
		rule("Bash", "git di:*", "allow"):               "",
		rule("Bash", ":*", "allow"):                     "",
		rule("Bash", "", "deny"):                        "",
		rule("Edit", "/src/**", "allow"):                "",
		rule("WebFetch", "", "allow"):                   "fetch",
		rule("AskUserQuestion", "", "allow"):            "",
		`{"type":"addDirectories","directories":["/"]}`: "",
		`1`: "",
	} {
		if got := titles(Covered(jsontext.Value(update), b.Pending())); got != want {
			t.Errorf("%s: %s, want %s", update, got, want)
		}
	}
}

// A new rule or mode settles nothing that nobody has looked at; it is told that
// they wait.
func TestRulesSettleNothingUnseen(t *testing.T) {
	b, all, titles := waiting(t)
	a, notes, err := b.Settle(all["diff"].ID, Decision{Allow: true, ForSession: true, By: me})
	if err != nil || len(a.Result.UpdatedPermissions) != 1 {
		t.Fatal(err)
	}
	if got := titles(b.Pending()); got != "edit write chain other fetch question plan" {
		t.Errorf("pending: %s", got)
	}
	if len(notes) != 1 || !strings.Contains(notes[0].Text, "still wait") || !strings.Contains(notes[0].Text, "Bash: git diff; rm x") || strings.Contains(notes[0].Text, all["other"].ID) {
		t.Errorf("%v", notes)
	}
	if a, notes, err = b.Settle(all["plan"].ID, Decision{Allow: true, Mode: "acceptEdits", By: me}); err != nil {
		t.Fatal(err)
	}
	if got := titles(b.Pending()); got != "edit write chain other fetch question" || len(notes) != 1 || !strings.Contains(notes[0].Text, "2 ") {
		t.Errorf("pending: %s, %v", got, notes)
	}
	if _, notes, err = b.Settle(all["fetch"].ID, Decision{Allow: true, By: me}); err != nil || len(notes) > 0 {
		t.Errorf("%v, %v", notes, err)
	}
}
