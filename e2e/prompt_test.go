//go:build linux

package e2e

import (
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// A prompt that was sent leaves nothing over which an editor would not close or
// quit, no later save of its document fails or sends it again, and the next
// prompt begins with an empty document.
func TestPromptAfterItWasSent(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.model.Play(mockmodel.Script{Turns: []mockmodel.Turn{mockmodel.Say("Hello."), mockmodel.Say("Again.")}})
		w.editor.start("a.txt")
		w.prompt("Say hello.")
		prompt := w.editor.shown()
		w.hears("Say hello.")
		eventually(t, "the prompt is out of the way", func() (bool, string) {
			if w.editor.kind() == "hx" {
				text := w.editor.text()
				return w.editor.shown() == prompt && !strings.Contains(text, "Say hello."), text
			}
			return w.editor.shown() == w.path("a.txt"), w.editor.shown() + "\n" + w.editor.screen()
		})
		if w.editor.kind() == "hx" {
			w.editor.save()                // emptied by an edit, so it is to be saved once
			w.editor.open(w.path("a.txt")) // so that the document is seen to open
		}
		w.openPrompt()
		w.editor.append("Say it again.")
		w.editor.save()
		w.hears("Say it again.")
		if n := len(w.model.Requests()); n != 2 {
			t.Errorf("the model was called %d times", n)
		}
	})
}

// The windows around a prompt stay as they were.
func TestPromptLeavesTheWindows(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		n, ok := w.editor.(*neovim)
		if !ok {
			t.Skip("Helix leaves the document where it is")
		}
		w.file("a.txt", original)
		w.file("b.txt", original)
		w.model.Play(mockmodel.Script{Turns: []mockmodel.Turn{mockmodel.Say("Hello.")}})
		w.editor.start("a.txt")
		n.command("vsplit b.txt")
		n.await("two windows", "winnr('$') .. expand('%:t')", "2b.txt")
		w.prompt("Say hello.")
		w.hears("Say hello.")
		n.await("both windows show what they showed", "join(map(range(1, winnr('$')), 'expand(\"#\" .. winbufnr(v:val) .. \":t\")'))", "b.txt a.txt")
		n.quit() // nothing is unsaved
	})
}
