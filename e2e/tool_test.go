//go:build linux

package e2e

import (
	"os"
	"path/filepath"
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

// A command is looked at in full, changed, and run as it then reads.
func TestBashAmended(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call := w.willRun()
		if !w.editor.turnTo("/proposed/*/command.sh") || filepath.Base(w.editor.shown()) != "command.sh" {
			w.editor.action("Countersign: review")
		}
		w.awaitStaged("command.sh")
		w.editor.append("echo more > more.txt")
		w.editor.save()
		if b := w.told(call); b.IsError {
			t.Errorf("the model was told: %s", b.Text)
		}
		for name, want := range map[string]string{"made.txt": "made\n", "more.txt": "more\n"} {
			if got := w.disk(name); got != want {
				t.Errorf("%s is %q", name, got)
			}
		}
	})
}

func TestBashAllowedForTheSession(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		run := func(command string) mockmodel.Turn {
			return mockmodel.Use("Bash", object{"command": command, "description": "make a folder"})
		}
		// The agent suggests a rule for the first two words.
		w.model.Play(mockmodel.Script{Turns: []mockmodel.Turn{run("mkdir first"), run("mkdir first -p second"), mockmodel.Say("Done.")}})
		w.editor.start("a.txt")
		w.prompt("Please run.")
		w.awaitPending(1)
		w.editor.action("Countersign: allow for session")
		for turn := range 2 { // the second unasked
			if b := w.told(mockmodel.CallID("", turn, 0)); b.IsError {
				t.Errorf("the model was told: %s", b.Text)
			}
		}
		for _, name := range []string{"first", "second"} {
			if info, err := os.Stat(w.path(name)); err != nil || !info.IsDir() {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
