//go:build linux

package e2e

import (
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// A command that is amended before it is allowed: its own output proves what ran.
func TestCommandAmendedFromTheShell(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.play(bash("echo proposed > out.txt; cat out.txt"), mockmodel.Say("Done."))
		w.must("send", "Run it.")
		a := w.next("Bash")
		w.amend(a, "proposed", "amended")
		if out := w.must("show", a.ID); !strings.Contains(out, "amended") {
			t.Errorf("show tells of no amendment: %s", out)
		}
		if out := w.must("allow", a.ID); !strings.Contains(out, "allowed as amended") {
			t.Errorf("allow says %s", out)
		}
		if text := w.reads(0, false, "amended"); strings.Contains(text, "proposed") {
			t.Errorf("what was proposed ran: %q", text)
		}
		if got := w.disk("out.txt"); got != "amended\n" {
			t.Errorf("out.txt is %q", got)
		}
		w.hears("+echo amended")
		eventually(t, "what ran is compared with what was approved", func() (bool, string) {
			got := w.show(a.ID).Approval.Outcome.State
			return got == "verified", got
		})
		w.awaitIdle(1)
		if told := w.model.Requests(); count(told, "+echo amended") > 1 {
			t.Errorf("the amendment is told more than once")
		}
	})
}

// count is how often the last request has a text in what its user said.
func count(all []mockmodel.Request, text string) (n int) {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Helper || all[i].Path != "/v1/messages" {
			continue
		}
		for _, m := range all[i].Messages {
			if m.Role == "user" {
				n += strings.Count(m.Text(), text)
			}
		}
		return n
	}
	return 0
}

// Two amendments, of one turn each, are told once each.
func TestAmendmentsAreTold(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.file("b.txt", original)
		w.play(
			mockmodel.Turn{Calls: []mockmodel.Call{
				{Name: "Edit", Input: object{"file_path": w.path("a.txt"), "old_string": "two", "new_string": "TWO"}},
				{Name: "Edit", Input: object{"file_path": w.path("b.txt"), "old_string": "two", "new_string": "DUE"}},
			}},
			mockmodel.Say("Done."),
		)
		w.must("send", "Edit both.")
		for _, to := range []string{"zwei", "deux"} {
			a := w.next("Edit")
			w.amend(a, "three", to)
			w.must("allow", a.ID)
			w.awaitSettled(a.ID)
		}
		w.hears("+zwei")
		w.hears("+deux")
		w.awaitIdle(1)
		all := w.model.Requests()
		for _, text := range []string{"+zwei", "+deux"} {
			if n := count(all, text); n != 1 {
				t.Errorf("%s is told %d times", text, n)
			}
		}
		if a, b := w.disk("a.txt"), w.disk("b.txt"); a != "one\nTWO\nzwei\n" || b != "one\nDUE\ndeux\n" {
			t.Errorf("a.txt is %q, b.txt is %q", a, b)
		}
	})
}

// awaitSettled waits until an approval no longer waits.
func (w *world) awaitSettled(id string) {
	w.t.Helper()
	eventually(w.t, id+" is settled", func() (bool, string) {
		list, seen := w.pending()
		for _, a := range list {
			if a.ID == id {
				return false, seen
			}
		}
		return list != nil, seen
	})
}

func TestDeniedWithAReason(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(bash("touch made"), w.edit("a.txt", "two", "TWO"), bash("touch made"), mockmodel.Say("Done."))
		w.must("send", "Work.")

		a := w.next("Bash")
		w.must("deny", a.ID, "-m", "the folder is not ours")
		w.reads(0, true, "the folder is not ours")
		w.refuses(exitRefused, "denied", "allow", a.ID) // says what became of it

		// What a person changed in the proposal goes back as a diff, and nothing is written.
		a = w.next("Edit")
		w.refuses(exitRefused, "nothing was changed", "deny", a.ID, "--edits")
		w.still(a.ID)
		w.amend(a, "TWO", "Two")
		w.must("deny", a.ID, "--edits", "-m", "not so loud")
		w.reads(1, true, "not so loud", "-TWO", "+Two")
		if got := w.disk("a.txt"); got != original {
			t.Errorf("a.txt is %q", got)
		}

		// Deny and stop ends the turn.
		a = w.next("Bash")
		w.must("deny", a.ID, "--stop")
		w.awaitIdle(1)
		if got := w.disk("made"); !strings.HasPrefix(got, "(") {
			t.Errorf("made is %q", got)
		}
		w.must("send", "Go on.") // the session goes on
		w.hears("Go on.")
	})
}

// The reason is written in a document of its own.
func TestDeniedWithAReasonInItsDocument(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.editor.action("Countersign: deny Edit a.txt with a reason")
		eventually(t, "reason.md opens", func() (bool, string) {
			w.editor.turnTo("/reason.md")
			path := w.editor.shown()
			return strings.HasSuffix(path, "/reason.md"), path + "\n" + w.editor.screen()
		})
		w.editor.append("the word is right as it is")
		w.editor.save()
		if b := w.denied(call, "a.txt", original); !strings.Contains(b.Text, "the word is right as it is") {
			t.Errorf("the model was told %q", b.Text)
		}
	})
}
