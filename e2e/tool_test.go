//go:build linux

package e2e

import (
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// willRun has the model run a command that makes a file.
func (w *world) willRun() (call string) {
	w.file("a.txt", original)
	w.model.Play(mockmodel.Script{Turns: []mockmodel.Turn{
		mockmodel.Use("Bash", object{"command": "echo made > made.txt", "description": "make a file"}),
		mockmodel.Say("Done."),
	}})
	w.editor.start("a.txt")
	w.prompt("Please run.")
	w.awaitPending(1)
	return mockmodel.CallID("", 0, 0)
}

func TestBashAllowed(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call := w.willRun()
		w.editor.action("Countersign: allow")
		if b := w.told(call); b.IsError {
			t.Errorf("the model was told: %s", b.Text)
		}
		if got := w.disk("made.txt"); got != "made\n" {
			t.Errorf("made.txt is %q", got)
		}
	})
}

func TestBashDenied(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call := w.willRun()
		w.editor.action("Countersign: deny")
		if b := w.told(call); !b.IsError || b.Text == "" {
			t.Errorf("the model was told: %s", b.Text)
		}
		if got := w.disk("made.txt"); !strings.HasPrefix(got, "(") {
			t.Errorf("made.txt is %q", got)
		}
	})
}
