//go:build linux

package e2e

import (
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// subagent is the prompt of the subagent that edits a file.
func subagent(file string) string { return "you edit " + file }

// asBoth has the model send a subagent for each file, all at once, each of which
// changes the word two in its file.
func (w *world) asBoth(files ...string) {
	var s mockmodel.Script
	var first mockmodel.Turn
	for _, f := range files {
		first.Calls = append(first.Calls, mockmodel.Call{Name: "Agent", Input: object{
			"description": "edit " + f, "prompt": subagent(f), "subagent_type": "general-purpose", "run_in_background": false,
		}})
		s.Conversations = append(s.Conversations, mockmodel.Conversation{
			Match: subagent(f), Turns: []mockmodel.Turn{w.edit(f, "two", "TWO"), mockmodel.Say("Edited.")},
		})
	}
	s.Turns = []mockmodel.Turn{first, mockmodel.Say("All done.")}
	w.model.Play(s)
}

// Two subagents ask at once: each is named, and each is answered its own.
func TestTwoSubagentsAtOnce(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.file("b.txt", original)
		w.asBoth("a.txt", "b.txt")
		w.must("send", "Edit both.")
		for _, a := range w.awaitPending(2) {
			if a.Agent == "" {
				t.Errorf("nobody knows which subagent asks: %+v", a)
			}
		}
		for _, a := range w.awaitPending(2) {
			if a.file() == "b.txt" {
				w.must("deny", a.ID, "-m", "b stays")
			}
		}
		if b := w.denied(mockmodel.CallID(subagent("b.txt"), 0, 0), "b.txt", original); !strings.Contains(b.Text, "b stays") {
			t.Errorf("the model was told %q", b.Text)
		}
		a := w.next("Edit")
		w.amend(a, "three", "tres")
		w.must("allow", a.ID)
		w.allowed(mockmodel.CallID(subagent("a.txt"), 0, 0), "a.txt", "one\nTWO\ntres\n", true)
		w.told(mockmodel.CallID("", 0, 1))
	})
}

// Two sessions ask at once: what one is told the other never reads.
func TestTwoSessionsAtOnce(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.file("b.txt", original)
		const one, two = "I am the first.", "I am the second."
		w.model.Play(mockmodel.Script{Conversations: []mockmodel.Conversation{
			{Match: one, Turns: []mockmodel.Turn{w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done.")}},
			{Match: two, Turns: []mockmodel.Turn{w.edit("b.txt", "two", "DUE"), mockmodel.Say("Done.")}},
		}})
		w.must("send", one)
		first := w.next("Edit")
		w.must("new", "--beside")
		w.must("send", two)
		var second approval
		for _, a := range w.awaitPending(2) {
			if a.ID != first.ID {
				second = a
			}
		}
		if first.Session == second.Session || first.Session == "" || second.Session == "" {
			t.Errorf("the sessions are called %q and %q", first.Session, second.Session)
		}
		w.amend(second, "three", "tre")
		w.must("allow", second.ID)
		w.allowed(mockmodel.CallID(two, 0, 0), "b.txt", "one\nDUE\ntre\n", true)
		w.still(first.ID)
		w.must("deny", first.ID, "-m", "only the second")
		if b := w.denied(mockmodel.CallID(one, 0, 0), "a.txt", original); !strings.Contains(b.Text, "only the second") {
			t.Errorf("the model was told %q", b.Text)
		}
		for _, r := range w.model.Requests() {
			if r.Conversation == one && (r.Said(two) || r.Said("+tre")) {
				t.Errorf("the first session reads what is the second's")
			}
		}
		// Each is spoken to by its name.
		w.must("send", "--session", first.Session, "Back to you.")
		w.hears("Back to you.")
		for _, r := range w.model.Requests() {
			if r.Said("Back to you.") && r.Conversation != one {
				t.Errorf("conversation %q reads what was meant for %q", r.Conversation, one)
			}
		}
		w.must("stop", "--session", second.Session)
		w.must("stop", "--session", first.Session)
	})
}
