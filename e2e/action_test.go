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
		w.play(writesPlan(w, plan), mockmodel.Use(exitPlan, object{}), w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."),
			w.edit("a.txt", "three", "THREE"), mockmodel.Say("Done again."))
		w.editor.start("a.txt")
		w.prompt("Plan it.")
		w.awaitOpened(w.next(exitPlan))
		w.editor.action("Countersign: approve Plan: Change the word, then accept edits")
		w.reads(1, false, "approved")
		w.reads(2, false) // unasked
		w.awaitMode("auto_edit")
		w.awaitIdle(1)
		w.must("send", "And the third.")
		w.reads(4, false) // the next turn is in that mode, too
		w.awaitMode("auto_edit")
		if got := w.disk("a.txt"); got != "one\nTWO\nTHREE\n" {
			t.Errorf("a.txt is %q", got)
		}
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

// Every destination can be chosen in the document of the request. Its rule goes
// into the file that the action names and no other, and the same command is then
// not asked about again.
func TestRuleForEachDestinationByCodeAction(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.trust()
		w.file("a.txt", original)
		w.tool()
		actions := []struct{ at, title string }{
			{"session", "allow for session"},
			{"localSettings", "always allow (.claude/settings.local.json)"},
			{"projectSettings", "always allow (.claude/settings.json)"},
			{"userSettings", "always allow (~/.claude/settings.json)"},
		}
		var turns []mockmodel.Turn
		for _, a := range actions {
			turns = append(turns, bash("./tool "+word(a.at)+" first"), bash("./tool "+word(a.at)+" second"))
		}
		w.play(append(turns, mockmodel.Say("Done."))...)
		w.editor.start("a.txt")
		w.prompt("Run them.")
		want := ""
		for i, a := range actions {
			waits := w.next("Bash")
			w.editor.open(w.path("a.txt"))
			w.editor.action("Countersign: review")
			w.awaitOpened(waits)
			before := w.ruleFiles()
			w.editor.action("Countersign: " + a.title)
			w.reads(2*i, false)
			w.reads(2*i+1, false) // unasked
			want += word(a.at) + " first\n" + word(a.at) + " second\n"
			if got := w.disk("log"); got != want {
				t.Errorf("log is %q, want %q", got, want)
			}
			w.checkRule(a.at, before)
		}
	}, with("open", "manual"))
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

// A mode that needs another agent comes with the next prompt, in the same
// conversation.
func TestModeByRestartByCodeAction(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("b.txt", original)
		call, _ := w.proposed()
		w.editor.save()
		w.allowed(call, "a.txt", "one\nTWO\nthree\n", false)
		w.awaitIdle(1)
		before, _ := w.session()
		agents := w.agents()
		w.model.Play(mockmodel.Script{Turns: []mockmodel.Turn{{}, {}, w.edit("b.txt", "two", "DUE"), mockmodel.Say("Done.")}})
		w.openPrompt()
		w.editor.action("Countersign: mode bypass")
		w.awaitSession("is to be in mode bypass", func(s sessionInfo) bool { return s.NextMode == "bypass" && s.Mode != "bypass" })
		w.editor.append("Edit b.")
		w.editor.save()
		w.hearsBoth("Please edit a.txt.", "Edit b.")
		w.reads(2, false) // unasked
		w.awaitMode("bypass")
		if got := w.disk("b.txt"); got != "one\nDUE\nthree\n" {
			t.Errorf("b.txt is %q", got)
		}
		after, _ := w.session()
		if after.ID != before.ID || strings.Join(agents, " ") == strings.Join(w.agents(), " ") {
			t.Errorf("the session was %s with %v and is %s with %v", before.ID, agents, after.ID, w.agents())
		}
	}, mayBypass)
}
