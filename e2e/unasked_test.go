//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// What the agent or its rules decide by themselves does not pass unseen.

// messages are what the editor was shown so far, as far as it keeps them: Helix
// shows the last one.
func (w *world) messages() string {
	if n, ok := w.editor.(*neovim); ok {
		return n.expr("execute('messages')")
	}
	return w.editor.screen()
}

// The first denial that nobody was asked about is a message, all of them are in
// the transcript, and what asks nobody runs nothing.
func TestDeniedUnaskedIsTold(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		for _, name := range []string{"first.txt", "second.txt"} { // the agent refuses to edit through links
			if err := os.Symlink("/etc/"+name, w.path(name)); err != nil {
				t.Fatal(err)
			}
		}
		write := func(name string) []mockmodel.Call {
			return []mockmodel.Call{{Name: "Write", Input: object{"file_path": w.path(name), "content": "changed\n"}}}
		}
		w.play(
			mockmodel.Turn{Calls: write("first.txt")},
			mockmodel.Turn{Calls: write("second.txt"), Hold: "second"},
			mockmodel.Turn{Text: "Done.", Hold: "done"},
		)
		w.editor.start("a.txt")
		w.prompt("Write.")
		w.reads(0, true)
		eventually(t, "the denial is told", func() (bool, string) {
			m := w.messages()
			return strings.Contains(m, "denied without asking"), m
		})
		w.model.Release("second")
		w.reads(1, true)
		w.model.Release("done")
		w.awaitIdle(1)
		eventually(t, "the transcript has both", func() (bool, string) {
			out := w.must("transcript")
			return strings.Count(out, "denied, and nobody was asked") == 2, out
		})
		if n := strings.Count(w.messages(), "without asking"); n > 1 {
			t.Errorf("told %d times: %s", n, w.messages())
		}
	})
}

// The agent goes into plan mode by itself: every list of actions says so. Its
// plan is approved for asking about each edit, whatever its mode was before, and
// that holds in the next turn too.
func TestModeOfTheAgentsOwn(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(
			mockmodel.Use("EnterPlanMode", object{}),
			writesPlan(w, plan),
			mockmodel.Use(exitPlan, object{}),
			w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."),
			w.edit("a.txt", "three", "THREE"), mockmodel.Say("Done again."),
		)
		w.editor.start("a.txt")
		w.prompt("Plan it by yourself.")
		a := w.next(exitPlan)
		w.editor.open(w.path("a.txt"))
		w.editor.action("Countersign: session (mode plan)")
		w.shows("Plan it by yourself.")
		w.editor.open(w.path("a.txt"))
		w.editor.action("Countersign: review")
		w.awaitOpened(a)
		w.editor.action("Countersign: approve Plan: Change the word, then ask before each edit")
		w.reads(2, false, "approved")
		w.awaitMode("ask_before_edit")
		w.next("Edit")
		w.editor.open(w.path("a.txt"))
		w.editor.action("Countersign: allow Edit a.txt")
		w.reads(3, false)
		w.awaitIdle(1)
		w.must("send", "And the third.")
		a = w.next("Edit") // asked still
		if got := w.disk("a.txt"); got != "one\nTWO\nthree\n" {
			t.Errorf("a.txt is %q", got)
		}
		w.must("deny", a.ID, "-m", "not the third")
		w.reads(5, true, "not the third")
		w.awaitMode("ask_before_edit")
		if got := w.disk("a.txt"); got != "one\nTWO\nthree\n" {
			t.Errorf("a.txt is %q", got)
		}
	}, with("permissionMode", "auto_edit"), with("open", "manual"))
}

// A plan approved for the mode in which the agent judges by itself is followed
// by that mode, also in the next turn.
func TestPlanApprovedForAuto(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		a := w.plans(w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."), w.edit("a.txt", "three", "THREE"), mockmodel.Say("Done again."))
		w.must("allow", a.ID, "--mode", "auto")
		w.reads(1, false, "approved")
		w.reads(2, false) // unasked
		w.awaitMode("auto")
		w.awaitIdle(1)
		w.must("send", "And the third.")
		w.reads(4, false)
		w.awaitMode("auto")
		if got := w.disk("a.txt"); got != "one\nTWO\nTHREE\n" {
			t.Errorf("a.txt is %q", got)
		}
	})
}
