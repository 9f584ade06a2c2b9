//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// A session's document shows what happens while it is open, and the next prompt
// is written in it: its saves never fail, and each sends at most once.
func TestSessionDocument(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.model.Play(mockmodel.Script{Turns: []mockmodel.Turn{mockmodel.Say("First answer."), mockmodel.Say("Second answer."), mockmodel.Say("Third answer.")}})
		w.editor.start("a.txt")
		w.prompt("First prompt.")
		w.hears("First prompt.")
		w.editor.open(w.path("a.txt"))
		w.openSession()
		w.shows("First answer.")

		w.editor.append("Second prompt.")
		w.editor.save()
		w.hears("Second prompt.")
		w.shows("Second answer.")
		text := w.editor.text()
		if below := text[strings.LastIndex(text, "-->"):]; strings.Contains(below, "Second prompt.") {
			t.Errorf("what was sent stands there still: %q", below)
		}

		w.editor.save() // with nothing written
		w.editor.append("Third prompt.")
		w.editor.save()
		w.hears("Third prompt.")
		w.shows("Third answer.")
		if n := len(w.model.Requests()); n != 3 {
			t.Errorf("the model was called %d times", n)
		}
		if n, ok := w.editor.(*neovim); ok {
			n.await("nothing is unsaved", "&modified", "0")
			n.quit()
		}
	})
}

// openSession opens the document of the session.
func (w *world) openSession() {
	w.t.Helper()
	w.editor.action("Countersign: session")
	eventually(w.t, "session.md opens", func() (bool, string) {
		path := w.editor.shown()
		return filepath.Base(path) == "session.md", path + "\n" + w.editor.screen()
	})
}

// shows waits until the document in focus holds a text.
func (w *world) shows(text string) {
	w.t.Helper()
	eventually(w.t, "the document shows "+text, func() (bool, string) {
		got := w.editor.text()
		return strings.Contains(got, text), got + "\n" + w.editor.screen()
	})
}
