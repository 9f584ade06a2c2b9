//go:build linux

package e2e

import (
	"os/exec"
	"strings"
	"testing"
)

// Approvals outlive editors and servers.

func TestQuitAndReturn(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, staged := w.proposed()
		w.editor.quit()
		w.waits("a.txt", original)
		w.editor.start("a.txt")
		if again := w.awaitStaged("a.txt"); again != staged {
			t.Errorf("%s opens, and was %s", again, staged)
		}
		w.editor.append("four")
		w.editor.save()
		w.allowed(call, "a.txt", "one\nTWO\nthree\nfour\n", true)
	})
}

// The last save of an editor that quits with it is a save like any other. Not so in
// Helix, which kills its servers in that moment: there it may go on waiting.
func TestWriteAndQuit(t *testing.T) {
	inEditorsOf(t, "nvim", func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.editor.append("four")
		n := w.editor.(*neovim)
		n.command("only")
		n.await("one window", "winnr('$')", "1")
		w.run(exec.Command(n.program, "--server", n.socket, "--remote-send", `<C-\><C-n>ZZ`))
		awaitEnded(w, n.term)
		w.allowed(call, "a.txt", "one\nTWO\nthree\nfour\n", true)
	})
}

func TestServerRestart(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, staged := w.proposed()
		w.editor.restartServer() // with the proposal in focus: Helix then tells no root
		w.waits("a.txt", original)
		w.editor.open(staged)
		w.editor.append("four")
		w.editor.save()
		w.allowed(call, "a.txt", "one\nTWO\nthree\nfour\n", true)
	})
}

func TestWithdrawnByInterrupt(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.editor.action("Countersign: interrupt")
		w.awaitPending(0)
		w.editor.append("four")
		w.editor.save() // of a document whose approval is gone
		w.prompt("Go on without.")
		w.denied(call, "a.txt", original)
		w.hears("Go on without.")
	})
}

func TestAllowedFromTheCommandLine(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		id := w.awaitPending(1)[0].ID
		w.editor.append("too late") // typed, not yet saved
		if out, err := w.command("allow", id); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		w.allowed(call, "a.txt", "one\nTWO\nthree\n", false)
		w.editor.save()
		// What was saved too late changes nothing, and is not lost.
		eventually(t, "the journal keeps the late text", func() (bool, string) {
			out, err := w.command("log", "--json")
			return err == nil && strings.Contains(out, "too late"), out
		})
		if got := w.disk("a.txt"); got != "one\nTWO\nthree\n" {
			t.Errorf("a.txt is %q", got)
		}
		if out, err := w.command("deny", id); err == nil {
			t.Errorf("denied what was allowed: %s", out)
		}
		if out, err := w.command("log", "--verify"); err != nil {
			t.Errorf("the journal does not verify: %v: %s", err, out)
		}
	})
}
