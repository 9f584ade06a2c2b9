//go:build linux

package e2e

import (
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// mayBypass lets an agent that runs as root ask for nothing, as it may in a container.
func mayBypass(w *world) { w.env = append(w.env, "IS_SANDBOX=1") }

// A running agent that was not started so refuses to ask for nothing from now on. It
// is started again in the same conversation, once its turn has ended: a prompt
// sent meanwhile waits for that, and what waits for a decision is not touched.
func TestModeByRestart(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.file("b.txt", original)
		w.play(
			w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."),
			w.edit("b.txt", "two", "DUE"), mockmodel.Say("Done again."),
		)
		w.must("send", "Edit a.")
		a := w.next("Edit")
		before, _ := w.session()
		if out := w.must("mode", "bypass"); !strings.Contains(out, "follows") {
			t.Errorf("countersign mode says %q", out)
		}
		w.must("send", "Edit b.")
		if out := w.must("status"); !strings.Contains(out, "then bypass, prompts that wait for the end of the turn: 1") {
			t.Errorf("countersign status says %q", out)
		}
		w.still(a.ID)
		w.awaitMode("ask_before_edit")
		w.must("allow", a.ID)
		w.reads(0, false)
		w.hearsBoth("Edit a.", "Edit b.")
		w.reads(2, false) // unasked
		w.awaitMode("bypass")
		if got := w.disk("b.txt"); got != "one\nDUE\nthree\n" {
			t.Errorf("b.txt is %q", got)
		}
		if after, _ := w.session(); after.ID != before.ID {
			t.Errorf("the session was %s and is %s", before.ID, after.ID)
		}
	}, mayBypass)
}

// A plan that is approved for asking nothing, where the session may: it is
// offered only there.
func TestPlanApprovedForBypass(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(writesPlan(w, plan), mockmodel.Use(exitPlan, object{}), w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."), bash("echo made > made.txt"), mockmodel.Say("Done."))
		w.editor.start("a.txt")
		w.prompt("Plan it.")
		a := w.next(exitPlan)
		w.awaitOpened(a)
		w.editor.action("Countersign: approve Plan: Change the word, then ask for nothing")
		w.reads(1, false, "approved")
		w.reads(2, false) // unasked
		w.awaitMode("bypass")
		w.awaitIdle(1)
		w.must("send", "And run.")
		w.reads(4, false) // the next turn is in that mode, too
		if a, m := w.disk("a.txt"), w.disk("made.txt"); a != "one\nTWO\nthree\n" || m != "made\n" {
			t.Errorf("a.txt is %q, made.txt %q", a, m)
		}
	}, mayBypass, with("permissionMode", "plan"), with("agent", map[string]any{
		"command": []string{parts.claude}, "args": []string{"--allow-dangerously-skip-permissions"},
	}))
}
