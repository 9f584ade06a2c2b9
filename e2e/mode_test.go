//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// Modes change as a person asks and as the agent does by itself, and never is
// the mode looser than what was asked for.

func TestModeChangesLive(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(
			w.edit("a.txt", "one", "ONE"), mockmodel.Say("Done."),
			w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."),
			w.edit("a.txt", "three", "THREE"), mockmodel.Say("Done."),
		)
		w.refuses(exitUsage, "there is no mode", "mode", "yolo")
		w.must("send", "First.")
		w.must("allow", w.next("Edit").ID) // asked
		w.reads(0, false)
		w.awaitIdle(1)
		before := w.agents()

		w.must("mode", "auto-edit") // in either spelling
		w.awaitMode("auto_edit")
		w.must("send", "Second.")
		w.reads(2, false) // unasked
		w.awaitIdle(2)

		w.must("mode", "ask_before_edit")
		w.awaitMode("ask_before_edit")
		w.must("send", "Third.")
		w.must("deny", w.next("Edit").ID, "-m", "no") // asked again
		w.reads(4, true, "no")
		if got := w.disk("a.txt"); got != "ONE\nTWO\nthree\n" {
			t.Errorf("a.txt is %q", got)
		}
		if after := w.agents(); strings.Join(after, " ") != strings.Join(before, " ") {
			t.Errorf("the agent was %v and is %v", before, after)
		}
	})
}

// A mode that would let it through decides nothing about what waits already.
func TestModeChangesWhilePending(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(w.edit("a.txt", "two", "TWO"), w.edit("a.txt", "three", "THREE"), mockmodel.Say("Done."))
		w.must("send", "Edit.")
		a := w.next("Edit")
		w.must("mode", "auto_edit")
		w.awaitMode("auto_edit")
		w.still(a.ID)
		if got := w.disk("a.txt"); got != original {
			t.Errorf("a.txt is %q", got)
		}
		w.must("deny", a.ID, "-m", "not this one")
		w.reads(0, true, "not this one")
		w.reads(1, false) // the next one unasked
		if got := w.disk("a.txt"); got != "one\ntwo\nTHREE\n" {
			t.Errorf("a.txt is %q", got)
		}
	})
}

func TestModeChangedByTheAgent(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(
			mockmodel.Use("EnterPlanMode", object{}),
			writesPlan(w, plan),
			mockmodel.Use(exitPlan, object{}),
			mockmodel.Say("Done."),
		)
		w.must("mode", "auto_edit")
		w.must("send", "Plan it by yourself.")
		a := w.next(exitPlan)
		w.awaitMode("plan") // nobody here asked for it
		if out := w.must("mode"); !strings.Contains(out, "mode plan") {
			t.Errorf("countersign mode says %q", out)
		}
		w.must("allow", a.ID) // leaves plan mode, and not for the looser mode of before
		w.reads(2, false, "approved")
		w.awaitMode("ask_before_edit")
	})
}

// A session that was stopped comes back in the mode that was asked for
// meanwhile, and knows what was said.
func TestModeChangedByRestart(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(
			mockmodel.Say("Hello."),
			w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."),
		)
		w.must("send", "Remember me.")
		w.awaitIdle(1)
		before, _ := w.session()
		w.must("stop")
		w.awaitSession("has no agent", func(s sessionInfo) bool { return s.State == "ended" || s.State == "none" })
		w.must("mode", "auto_edit")
		w.must("send", "Edit.")
		w.reads(1, false) // unasked
		w.awaitMode("auto_edit")
		if after, _ := w.session(); after.ID != before.ID {
			t.Errorf("the session was %s and is %s", before.ID, after.ID)
		}
		if got := w.disk("a.txt"); got != "one\nTWO\nthree\n" {
			t.Errorf("a.txt is %q", got)
		}
		w.hearsBoth("Remember me.", "Edit.")
	})
}

// The agent refuses to ask for nothing where it runs as root. The session says
// so, runs nothing in another mode instead, and goes on when asked for less.
func TestModeRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the agent refuses bypass only to root")
	}
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(mockmodel.Say("Hello."), w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."))
		w.must("send", "Begin.")
		w.awaitIdle(1)
		_, _ = w.command("mode", "bypass")
		_, _ = w.command("send", "Edit unasked.") // one of both says that it cannot be
		s := w.awaitSession("says what the agent refuses", func(s sessionInfo) bool { return strings.Contains(s.Error, "root") })
		if s.Mode == "bypass" {
			t.Errorf("the mode is said to be %s", s.Mode)
		}
		if got := w.disk("a.txt"); got != original {
			t.Errorf("a.txt is %q", got)
		}
		w.must("mode", "ask_before_edit")
		w.must("send", "Edit then.")
		a := w.next("Edit")
		w.awaitMode("ask_before_edit")
		w.must("allow", a.ID)
		w.reads(1, false)
	})
}
