//go:build linux

package e2e

import (
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

type object = map[string]any

const original = "one\ntwo\nthree\n"

// willEdit lays a.txt and has the model change it; it returns the id of the call.
func (w *world) willEdit() string {
	w.file("a.txt", original)
	w.model.Play(mockmodel.Script{Turns: []mockmodel.Turn{
		mockmodel.Use("Edit", object{"file_path": w.path("a.txt"), "old_string": "two", "new_string": "TWO"}),
		mockmodel.Say("Done."),
	}})
	return mockmodel.CallID("", 0, 0)
}

// proposed starts the editor and a session, and waits for the proposal of
// willEdit. It returns the id of the call and the path of the staged document.
func (w *world) proposed() (call, staged string) {
	w.t.Helper()
	call = w.willEdit()
	w.editor.start("a.txt")
	w.prompt("Please edit a.txt.")
	return call, w.awaitStaged("a.txt")
}

// allowed waits for the answer to a call that was allowed, and checks the file.
func (w *world) allowed(call, name, content string, amended bool) {
	w.t.Helper()
	b := w.told(call)
	if b.IsError || strings.Contains(b.Text, "user modified your proposed") != amended {
		w.t.Errorf("the model was told (amended %v, error %v): %s", amended, b.IsError, b.Text)
	}
	if got := w.disk(name); got != content {
		w.t.Errorf("%s is %q, want %q", name, got, content)
	}
}

// denied waits for the answer to a call that was denied, and checks that the
// file is as it was.
func (w *world) denied(call, name, content string) mockmodel.Block {
	w.t.Helper()
	b := w.told(call)
	if !b.IsError || b.Text == "" {
		w.t.Errorf("the model was told (error %v): %q", b.IsError, b.Text)
	}
	if got := w.disk(name); got != content {
		w.t.Errorf("%s is %q, want %q", name, got, content)
	}
	return b
}

// waits checks that nothing is decided for longer than a close has grace.
func (w *world) waits(name, content string) {
	w.t.Helper()
	remains(w.t, "one approval waits and "+name+" is as it was", 3*closeGrace, func() (bool, string) {
		list, seen := w.pending()
		return len(list) == 1 && w.disk(name) == content, seen + w.disk(name)
	})
}

func TestEditAmendedAndSaved(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.editor.append("four")
		w.editor.save()
		w.allowed(call, "a.txt", "one\nTWO\nthree\nfour\n", true)
		w.hears("+four") // the wire tells only that something changed
		w.awaitPending(0)
	})
}

func TestEditSavedUnamended(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.editor.save()
		w.allowed(call, "a.txt", "one\nTWO\nthree\n", false)
		if !w.model.Requests()[0].Said("Please edit a.txt.") {
			t.Error("the model never read the prompt")
		}
	})
}

func TestEditClosed(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.editor.closeDocument()
		w.denied(call, "a.txt", original)
		w.awaitPending(0)
	})
}

func TestWriteOfANewFile(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.model.Play(mockmodel.Script{Turns: []mockmodel.Turn{
			mockmodel.Use("Write", object{"file_path": w.path("docs/new.md"), "content": "# New\n\ntext\n"}),
		}})
		w.editor.start("a.txt")
		w.prompt("Please write.")
		w.awaitStaged("new.md")
		w.editor.append("more")
		w.editor.save()
		b := w.told(mockmodel.CallID("", 0, 0))
		if b.IsError {
			t.Errorf("the model was told: %s", b.Text)
		}
		if got, want := w.disk("docs/new.md"), "# New\n\ntext\nmore\n"; got != want {
			t.Errorf("new.md is %q, want %q", got, want)
		}
	})
}

func TestTwoOpenAnsweredInReverse(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.file("b.txt", "bee\n")
		agent := func(name string) mockmodel.Call {
			return mockmodel.Call{Name: "Agent", Input: object{
				"description": "edit " + name, "prompt": "you are " + name, "subagent_type": "general-purpose", "run_in_background": false,
			}}
		}
		edit := func(file, from, to string) []mockmodel.Turn {
			return []mockmodel.Turn{
				mockmodel.Use("Edit", object{"file_path": w.path(file), "old_string": from, "new_string": to}),
				mockmodel.Say("Edited."),
			}
		}
		w.model.Play(mockmodel.Script{
			Turns: []mockmodel.Turn{{Calls: []mockmodel.Call{agent("alpha"), agent("beta")}}, mockmodel.Say("Both done.")},
			Conversations: []mockmodel.Conversation{
				{Match: "you are alpha", Turns: edit("a.txt", "two", "TWO")},
				{Match: "you are beta", Turns: edit("b.txt", "bee", "BEE")},
			},
		})
		calls := map[string]string{
			"a.txt": mockmodel.CallID("you are alpha", 0, 0),
			"b.txt": mockmodel.CallID("you are beta", 0, 0),
		}
		w.editor.start("a.txt")
		w.prompt("Please edit both.")
		both := w.awaitPending(2)
		first, second := both[0], both[1]

		untouched := map[string]string{"a.txt": original, "b.txt": "bee\n"}
		amended := map[string]string{"a.txt": "one\nTWO\nthree\nof the second\n", "b.txt": "BEE\nof the second\n"}
		w.editor.open(second.staged())
		w.editor.append("of the second")
		w.editor.save()
		w.allowed(calls[second.file()], second.file(), amended[second.file()], true)

		w.waits(first.file(), untouched[first.file()]) // also so long that its close is no replaced tab
		w.editor.open(first.staged())
		w.editor.closeDocument()
		w.denied(calls[first.file()], first.file(), untouched[first.file()])
		w.told(mockmodel.CallID("", 0, 0)) // the subagents came back to the one that sent them
	})
}
