package lsp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/lsp/lsptest"
)

// one is a world with an editor, a running agent and one proposal to change
// a.txt from "one\ntwo\n" to "ONE\ntwo\n", opened and armed.
func one(t *testing.T, kind lsptest.Kind, settings string, f func(w *world)) {
	inWorld(t, func(w *world) {
		w.write("a.txt", "one\ntwo\n")
		w.start(kind, settings)
		w.begin()
		w.agent.ask("r1", "Edit", fmt.Sprintf(`{"file_path":%q,"old_string":"one","new_string":"ONE"}`, w.root+"/a.txt"))
		w.settle()
		if err := w.editor.Open(w.path("@r1")); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Second)
		f(w)
	})
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

// is checks where the approval of r1 stands, and what a.txt holds.
func (w *world) is(state approvals.State, file string) {
	w.t.Helper()
	a := w.approval("r1")
	if a.State != state {
		w.t.Errorf("r1 is %s (%s, %s), want %s\n%s", a.State, a.By.How, a.By.Rule, state, strings.Join(w.take(), "\n"))
	}
	if got := w.read("a.txt"); got != file {
		w.t.Errorf("a.txt holds %q, want %q", got, file)
	}
}

const (
	before  = "one\ntwo\n"
	after   = "ONE\ntwo\n"
	amended = "ONE\nTWO\n"
)

// TestGesturesOfEveryKind plays every rule with every editor, in the order of
// messages that this editor was seen to send.
func TestGesturesOfEveryKind(t *testing.T) {
	for _, kind := range lsptest.Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			for _, c := range kindCases {
				t.Run(c.name, func(t *testing.T) {
					one(t, kind, c.settings, func(w *world) { c.play(w, w.path("@r1")) })
				})
			}
		})
	}
}

var kindCases = []struct {
	name     string
	settings string
	play     func(w *world, doc string)
}{
	{"amended and saved", "", func(w *world, doc string) {
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.must(w.editor.Save(doc))
		w.is(approvals.Allowed, amended)
	}},
	{"saved as it is", "", func(w *world, doc string) {
		w.must(w.editor.Save(doc))
		if w.kind.Name == lsptest.Eglot.Name { // an unchanged buffer is not saved there
			w.is(approvals.Pending, before)
			return
		}
		w.is(approvals.Allowed, after)
	}},
	{"the final newline that the person removed", "", func(w *world, doc string) {
		w.must(w.editor.SetText(doc, "ONE\ntwo"))
		w.must(w.editor.Save(doc))
		switch w.kind.Name {
		case lsptest.VSCode.Name, lsptest.VSCodeExtension.Name:
			w.is(approvals.Allowed, "ONE\ntwo")
		default: // these put it back
			w.is(approvals.Allowed, after)
		}
	}},
	{"restored and saved: denied", "", func(w *world, doc string) {
		w.must(w.editor.SetText(doc, before))
		w.must(w.editor.Save(doc))
		w.is(approvals.Denied, before)
	}},
	{"saved within the arm delay", "", func(w *world, doc string) {
		w.must(w.editor.Reload(doc))
		w.pass(300 * time.Millisecond)
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.must(w.editor.Save(doc))
		switch w.kind.Name {
		case lsptest.Neovim.Name, lsptest.Neovim010.Name, lsptest.Eglot.Name: // a reload opens anew
			w.is(approvals.Pending, before)
			w.pass(time.Second)
			w.must(w.editor.Edit(doc, "TWO", "2"))
			w.must(w.editor.Save(doc))
			w.is(approvals.Allowed, "ONE\n2\n")
		default:
			w.is(approvals.Allowed, amended)
		}
	}},
	{"closed", "", func(w *world, doc string) {
		w.must(w.editor.Close(doc))
		w.is(approvals.Pending, before)
		w.passClose()
		w.is(approvals.Denied, before)
	}},
	{"closed with changes", "", func(w *world, doc string) {
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.pass(100 * time.Millisecond)
		w.must(w.editor.Close(doc))
		w.passClose()
		w.is(approvals.Denied, before)
	}},
	{"closing means nothing", `{"closeMeans": "nothing"}`, func(w *world, doc string) {
		w.must(w.editor.Close(doc))
		w.pass(time.Hour)
		w.is(approvals.Pending, before)
	}},
	{"reloaded", "", func(w *world, doc string) {
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.must(w.editor.Reload(doc))
		w.pass(time.Hour)
		w.is(approvals.Pending, before)
	}},
	{"another language", "", func(w *world, doc string) {
		w.must(w.editor.SetLanguage(doc, "go"))
		w.pass(time.Hour)
		w.is(approvals.Pending, before)
	}},
	{"its window is closed, another one stays", "", func(w *world, doc string) {
		if !w.editorHides() {
			return
		}
		w.must(w.editor.Hide(doc))
		w.pass(time.Hour)
		w.is(approvals.Pending, before)
	}},
	{"saved under another name", "", func(w *world, doc string) {
		w.must(w.editor.SaveAs(doc, w.root+"/other.txt"))
		w.is(approvals.Pending, before)
	}},
	{"saved and closed by one command", "", func(w *world, doc string) {
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.must(w.editor.SaveAndClose(doc))
		w.pass(time.Minute)
		w.is(approvals.Allowed, amended)
	}},
	{"opened, saved and closed unseen", "", func(w *world, doc string) {
		w.agent.ask("r2", "Write", fmt.Sprintf(`{"file_path":%q,"content":"new\n"}`, w.root+"/new.txt"))
		w.settle()
		w.must(w.editor.FlashSaveClose(w.path("@r2"), false))
		w.pass(time.Hour)
		if a := w.approval("r2"); a.State != approvals.Pending {
			w.t.Errorf("r2 is %s", a.State)
		}
	}},
	{"opened, closed and saved unseen", "", func(w *world, doc string) {
		w.agent.ask("r2", "Write", fmt.Sprintf(`{"file_path":%q,"content":"new\n"}`, w.root+"/new.txt"))
		w.settle()
		w.must(w.editor.FlashSaveClose(w.path("@r2"), true))
		w.pass(time.Hour)
		if a := w.approval("r2"); a.State != approvals.Pending {
			w.t.Errorf("r2 is %s", a.State)
		}
	}},
	{"all documents saved at once", "", func(w *world, doc string) {
		w.write("b.txt", "b\n")
		w.must(w.editor.Open(w.root + "/b.txt"))
		w.must(w.editor.Edit(w.root+"/b.txt", "", "more\n"))
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.pass(2 * time.Second)
		w.must(w.editor.SaveAll())
		w.pass(time.Minute)
		w.is(approvals.Pending, before)
	}},
	{"saves mean amend", `{"saveMeans": "amend"}`, func(w *world, doc string) {
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.must(w.editor.Save(doc))
		w.pass(time.Minute)
		w.is(approvals.Pending, before)
		w.act(doc, "Allow")
		w.is(approvals.Allowed, amended)
	}},
	{"autosaved by a timer", "", func(w *world, doc string) {
		if w.kind.Name == lsptest.VSCode.Name || w.kind.Name == lsptest.VSCodeExtension.Name {
			w.must(w.editor.Edit(doc, "two", "TWO"))
			w.pass(time.Second)
			w.must(w.editor.Autosave(doc))
			w.must(w.editor.Edit(doc, "TWO", "2"))
			w.must(w.editor.FocusOut(doc))
			w.is(approvals.Pending, before)
			return
		}
		// These do not say it: the rhythm does.
		w.write("b.txt", "b\n")
		w.must(w.editor.Open(w.root + "/b.txt"))
		for range 2 {
			w.must(w.editor.Edit(w.root+"/b.txt", "", "more\n"))
			w.pass(time.Second)
			w.must(w.editor.Autosave(w.root + "/b.txt"))
			w.pass(700 * time.Millisecond)
		}
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.pass(time.Second)
		w.must(w.editor.Autosave(doc))
		w.is(approvals.Pending, before)
	}},
	{"quit", "", func(w *world, doc string) {
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.editor.Quit()
		w.await()
		w.editor = nil
		w.pass(time.Hour)
		w.is(approvals.Pending, before)
	}},
	{"killed while a close waits", "", func(w *world, doc string) {
		w.must(w.editor.Close(doc))
		w.editor.Kill()
		w.await()
		w.editor = nil
		w.pass(time.Hour)
		w.is(approvals.Pending, before)
	}},
	{"the server is restarted, then saved", "", func(w *world, doc string) {
		w.restart()
		w.is(approvals.Pending, before)
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.must(w.editor.Save(doc)) // within the arm delay of the new server
		w.is(approvals.Pending, before)
		w.pass(time.Second)
		w.must(w.editor.Edit(doc, "TWO", "2"))
		w.must(w.editor.Save(doc))
		w.is(approvals.Allowed, "ONE\n2\n")
	}},
	{"the server crashes, comes back, then closed", "", func(w *world, doc string) {
		w.reconnect()
		w.pass(time.Second)
		w.must(w.editor.Close(doc))
		w.passClose()
		w.is(approvals.Denied, before)
	}},
	{"settled elsewhere, then saved", "", func(w *world, doc string) {
		w.settleElsewhere("r1", false)
		w.pass(time.Second)
		if _, open := w.editor.Buffer(doc); open {
			_ = w.editor.Edit(doc, "two", "TWO")
			_ = w.editor.Save(doc) // the file may be gone
			w.settle()
		}
		w.is(approvals.Denied, before)
	}},
	{"settled elsewhere while a close waits", "", func(w *world, doc string) {
		w.must(w.editor.Close(doc))
		w.settleElsewhere("r1", true)
		w.pass(time.Hour)
		w.is(approvals.Allowed, after)
	}},
	{"allowed by code action, amended and not saved", "", func(w *world, doc string) {
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.act(doc, "Allow")
		w.is(approvals.Allowed, amended)
	}},
	{"denied by code action", "", func(w *world, doc string) {
		w.act(doc, "Deny")
		w.is(approvals.Denied, before)
	}},
	{"the target changes meanwhile", "", func(w *world, doc string) {
		w.write("a.txt", "zero\none\ntwo\n")
		w.must(w.editor.Edit(doc, "two", "TWO"))
		w.must(w.editor.Save(doc))
		w.pass(time.Second)
		if a := w.approval("r1"); a.State != approvals.Pending {
			w.t.Fatalf("r1 is %s", a.State)
		}
		again := w.path("@r1")
		if again == doc {
			w.t.Fatal("the proposal was not made anew")
		}
		w.must(w.editor.Open(again))
		w.pass(time.Second)
		w.must(w.editor.Edit(again, "TWO", "2"))
		w.must(w.editor.Save(again))
		w.is(approvals.Allowed, "zero\nONE\n2\n")
	}},
}
