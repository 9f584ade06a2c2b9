//go:build linux

package e2e

import (
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// Whatever a gesture decides can be chosen from the list of code actions too,
// and there is more there than gestures can say.

func TestQuestionAnsweredByCodeAction(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(ask(question("Which colour?", false)), mockmodel.Say("Done."))
		w.editor.start("a.txt")
		w.prompt("Ask me.")
		w.next("AskUserQuestion")
		w.editor.action("Countersign: answer Blue") // no document needed
		w.reads(0, false, `"Which colour?"="Blue"`)
	}, with("open", "manual"))
}

// The mode that follows a plan is chosen with the action, over what is ticked.
func TestPlanApprovedByCodeAction(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(writesPlan(w, plan), mockmodel.Use(exitPlan, object{}), w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."))
		w.editor.start("a.txt")
		w.prompt("Plan it.")
		w.awaitOpened(w.next(exitPlan))
		w.editor.action("Countersign: approve Plan: Change the word, then accept edits")
		w.reads(1, false, "approved")
		w.reads(2, false) // unasked
		w.awaitMode("auto_edit")
	}, with("permissionMode", "plan"))
}

// What was changed in the proposal goes back as a diff; the file stays.
func TestEditsSentBackByCodeAction(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.editor.append("four")
		w.editor.action("Countersign: deny Edit a.txt, and send back my edits")
		if b := w.denied(call, "a.txt", original); !strings.Contains(b.Text, "+four") {
			t.Errorf("the model was told %q", b.Text)
		}
	})
}

// A rule is named in full by its action, and the next request of its kind is
// not asked.
func TestRuleByCodeAction(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(bash("git init one"), bash("git init two"), mockmodel.Say("Done."))
		w.editor.start("a.txt")
		w.prompt("Run.")
		w.next("Bash")
		w.editor.action("Countersign: always allow (.claude/settings.local.json) ") // the agent's own suggestion comes first
		w.reads(0, false)
		w.reads(1, false)
		if got := w.disk(".claude/settings.local.json"); !strings.Contains(got, "git init *") {
			t.Errorf("settings.local.json is %q", got)
		}
	})
}

// The mode is changed while a request waits; that is decided by a person still.
func TestModeByCodeAction(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.openPrompt()
		w.editor.action("Countersign: mode auto_edit")
		w.awaitMode("auto_edit")
		w.waits("a.txt", original)
		id := w.awaitPending(1)[0].ID
		w.must("allow", id)
		w.allowed(call, "a.txt", "one\nTWO\nthree\n", false)
	})
}
