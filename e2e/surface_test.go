//go:build linux

package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// What the lists of code actions offer beside deciding about one request.

// Requests of one kind are allowed together, after all of them were shown; the
// one whose tick is taken away waits on.
func TestAllOfAKindByItsList(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		files := []string{"a.txt", "b.txt", "c.txt"}
		for _, f := range files {
			w.file(f, original)
		}
		w.asBoth(files...)
		w.editor.start("a.txt")
		w.prompt("Edit all.")
		w.awaitPending(len(files))
		w.editor.open(w.path("a.txt"))
		w.editor.action("Countersign: allow all pending of this kind")
		eventually(t, "the list opens", func() (bool, string) {
			path := w.editor.shown()
			return filepath.Base(path) == "allow.md", path + "\n" + w.editor.screen()
		})
		w.editor.replace("[x] 2.", "[ ] 2.")
		w.editor.save()
		left := w.awaitPending(1)[0]
		for _, f := range files {
			want := "one\nTWO\nthree\n"
			if w.path(f) == left.Path {
				want = original
			}
			if call := mockmodel.CallID(subagent(f), 0, 0); want != original {
				w.allowed(call, f, want, false)
			} else if got := w.disk(f); got != want {
				t.Errorf("%s is %q", f, got)
			}
		}
		w.must("deny", left.ID, "-m", "not that one")
		w.denied(mockmodel.CallID(subagent(filepath.Base(left.Path)), 0, 0), filepath.Base(left.Path), original)
	}, with("open", "manual"))
}

// What does not show is marked in the document before anybody can allow it.
func TestHiddenTextIsMarked(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(bash("echo one\nto\u200buch a\u202eb.txt\necho one"+strings.Repeat(" ", 60)+"; touch made"), mockmodel.Say("Done."))
		w.editor.start("a.txt")
		w.prompt("Run.")
		a := w.next("Bash")
		w.editor.action("Countersign: review")
		w.awaitOpened(a)
		h, inHelix := w.editor.(*helix)
		if inHelix {
			h.normal()
			h.term.press("Space", "d") // lists what its status only counts
		}
		eventually(t, "the hidden characters are marked", func() (bool, string) {
			told := w.editor.told()
			for _, want := range []string{"U+200B", "U+202E", "Text after 60 blanks"} {
				if !strings.Contains(told, want) {
					return false, want + " is not in\n" + told
				}
			}
			return true, told
		})
		if inHelix {
			h.term.press("Escape")
		}
		w.waitsFor(a) // also so long that its close is no replaced tab
		w.editor.closeDocument()
		w.reads(0, true)
	})
}

// Deny and stop: the turn ends, nothing is done, and nothing more is asked.
func TestDenyAndStopByCodeAction(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(w.edit("a.txt", "two", "TWO"), mockmodel.Say("Never said."), mockmodel.Say("Here again."))
		w.editor.start("a.txt")
		w.prompt("Edit.")
		w.awaitOpened(w.next("Edit"))
		w.editor.action("Countersign: deny Edit a.txt and stop the turn")
		w.awaitPending(0)
		w.awaitSession("waits", func(s sessionInfo) bool { return s.State == "idle" })
		if n := len(w.model.Requests()); n != 1 {
			t.Errorf("the model was called %d times", n)
		}
		if got := w.disk("a.txt"); got != original {
			t.Errorf("a.txt is %q", got)
		}
		w.must("send", "Go on.")
		w.hears("Go on.")
	})
}

// What is selected, or found wrong, is put into the prompt with its place.
func TestAskAboutASelection(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(mockmodel.Say("It means two."))
		w.editor.start("a.txt")
		switch e := w.editor.(type) {
		case *neovim:
			e.command("2,2lua vim.lsp.buf.code_action({ range = { ['start'] = { 2, 0 }, ['end'] = { 2, 3 } } })")
			e.choose("Countersign: ask about this selection")
		case *helix:
			e.command("goto 2")
			e.normal()
			e.term.press("x")
			e.action("Countersign: ask about this selection")
		}
		eventually(t, "prompt.md opens", func() (bool, string) {
			path := w.editor.shown()
			return filepath.Base(path) == "prompt.md", path + "\n" + w.editor.screen()
		})
		w.editor.append("What is this?")
		w.editor.save()
		w.hears("What is this?")
		for _, want := range []string{"a.txt", "two"} {
			if !w.model.Requests()[0].Said(want) {
				t.Errorf("the model did not read %q", want)
			}
		}
	})
}

// A second session beside the first, each asking; the list of sessions, from
// which one is stopped and gone on with; and what happened in it.
func TestSessionsByCodeAction(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		const one, two, back = "I am the first.", "I am the second.", "Back to the first."
		w.file("a.txt", original)
		w.file("b.txt", original)
		w.model.Play(mockmodel.Script{Conversations: []mockmodel.Conversation{
			{Match: one, Turns: []mockmodel.Turn{w.edit("a.txt", "two", "TWO"), mockmodel.Say("The first is done."), mockmodel.Say("Here I am.")}},
			{Match: two, Turns: []mockmodel.Turn{w.edit("b.txt", "two", "DUE"), mockmodel.Say("The second is done.")}},
		}})
		w.editor.start("a.txt")
		w.prompt(one)
		first := w.next("Edit")
		w.openPrompt()
		w.editor.action("Countersign: new session beside this one")
		eventually(t, "another session is the current one", func() (bool, string) {
			s, seen := w.session()
			return s.Name != first.Session, seen
		})
		w.editor.append(two)
		w.editor.save()
		var second approval
		for _, a := range w.awaitPending(2) {
			if a.ID != first.ID {
				second = a
			}
		}
		if first.Session == second.Session || second.Session == "" {
			t.Fatalf("the sessions are called %q and %q", first.Session, second.Session)
		}
		w.editor.open(w.path("b.txt"))
		w.editor.action("Countersign: allow Edit b.txt (session " + second.Session + ")")
		w.allowed(mockmodel.CallID(two, 0, 0), "b.txt", "one\nDUE\nthree\n", false)
		w.still(first.ID)
		w.editor.open(w.path("a.txt"))
		w.editor.action("Countersign: allow Edit a.txt")
		w.allowed(mockmodel.CallID(one, 0, 0), "a.txt", "one\nTWO\nthree\n", false)

		w.awaitStates(map[string]string{first.Session: "idle", second.Session: "idle"})
		w.onSession(one, "Countersign: stop the session")
		w.awaitStates(map[string]string{second.Session: "idle"})
		w.onSession(one, "Countersign: go on with the session")
		w.awaitStates(map[string]string{first.Session: "idle", second.Session: "idle"})
		w.must("send", back)
		w.hearsBoth(one, back)
		w.onSession(one, "Countersign: show the session")
		w.shows("Here I am.") // which is in view
	}, with("open", "manual"))
}

// onSession opens the list of sessions, goes to the line that names one, and
// runs an action there.
func (w *world) onSession(title, action string) {
	w.t.Helper()
	w.openPrompt()
	w.editor.action("Countersign: sessions")
	eventually(w.t, "sessions.md opens", func() (bool, string) {
		path := w.editor.shown()
		return filepath.Base(path) == "sessions.md", path + "\n" + w.editor.screen()
	})
	w.shows(title)
	switch e := w.editor.(type) {
	case *neovim:
		e.command("call search('" + title + "', 'w')")
		eventually(w.t, "the line is in focus", func() (bool, string) {
			line := e.expr("getline('.')")
			return strings.Contains(line, title), line
		})
	case *helix:
		e.normal()
		e.term.press("g", "g", "/")
		e.term.enterText(title)
		eventually(w.t, "the search is typed", func() (bool, string) {
			s := e.screen()
			return strings.Contains(s, "search:"+title), s
		})
		e.term.press("Enter")
	}
	w.editor.action(action)
}

// awaitStates waits until these sessions, by their names, have agents that do so.
func (w *world) awaitStates(want map[string]string) {
	w.t.Helper()
	eventually(w.t, "the sessions are as wanted", func() (bool, string) {
		got := map[string]string{}
		for _, s := range w.sessions() {
			if s.State != "none" && s.State != "ended" && s.State != "" {
				got[s.Name] = s.State
			}
		}
		ok := len(got) == len(want)
		for name, state := range want {
			ok = ok && got[name] == state
		}
		return ok, w.must("sessions")
	})
}
