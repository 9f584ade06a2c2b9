//go:build linux

package e2e

import (
	"path/filepath"
	"testing"
)

// What a person does to a proposal that looks like a decision and is none.

func TestReloadAndFileTypeDecideNothing(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.editor.reload()
		w.waits("a.txt", original)
		w.editor.changeLanguage("markdown")
		w.waits("a.txt", original)
		w.editor.append("four")
		w.editor.save()
		w.allowed(call, "a.txt", "one\nTWO\nthree\nfour\n", true)
	})
}

func TestSaveElsewhereDecidesNothing(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, staged := w.proposed()
		w.editor.append("four")
		w.editor.saveAs(filepath.Join(w.dir, "elsewhere.txt"))
		w.waits("a.txt", original)
		w.editor.open(staged)
		w.editor.append("five")
		w.editor.save()
		want := "one\nTWO\nthree\nfour\nfive\n"
		if w.editor.kind() == "hx" { // goes on with the other file, and the staged one is as it lies
			want = "one\nTWO\nthree\nfive\n"
		}
		w.allowed(call, "a.txt", want, true)
	})
}

func TestClosedSplitDecidesNothing(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.editor.splitAndCloseOne()
		w.waits("a.txt", original)
		w.editor.save()
		w.allowed(call, "a.txt", "one\nTWO\nthree\n", false)
	})
}

// Two documents saved at one moment are not looked at one by one.
func TestSaveAllDecidesNothing(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("other.txt", "other\n")
		call, staged := w.proposed()
		w.editor.append("four")
		w.editor.open(w.path("other.txt"))
		w.editor.append("mine")
		before := stamp(staged)
		w.editor.saveAll()
		awaitWritten(w, staged, before)
		w.waits("a.txt", original)
		w.editor.open(staged)
		w.editor.save() // this one alone
		w.allowed(call, "a.txt", "one\nTWO\nthree\nfour\n", true)
		if got := w.disk("other.txt"); got != "other\nmine\n" {
			t.Errorf("other.txt is %q", got)
		}
	})
}

// Nor are two that are saved at one moment that is long, as where the machine is
// busy or a formatter runs in between.
func TestSlowSaveAllDecidesNothing(t *testing.T) {
	for name, otherFirst := range map[string]bool{"the proposal first": false, "the other first": true} {
		t.Run(name, func(t *testing.T) {
			inEditorsOf(t, "nvim", func(t *testing.T, w *world) {
				n := w.editor.(*neovim)
				w.file("other.txt", "other\n")
				mine := func() { n.open(w.path("other.txt")); n.append("mine") }
				call := w.willEdit()
				n.start("a.txt")
				if otherFirst {
					mine()
					n.open(w.path("a.txt"))
				}
				w.prompt("Please edit a.txt.")
				staged := w.awaitStaged("a.txt")
				n.append("four")
				if !otherFirst {
					mine()
				}
				n.expr("execute('autocmd BufWritePost * lua vim.uv.sleep(700)')")
				before := stamp(staged)
				n.saveAll()
				awaitWritten(w, staged, before)
				eventually(t, "the other file is written", func() (bool, string) { got := w.disk("other.txt"); return got == "other\nmine\n", got })
				n.await("Neovim is back", "mode()", "n")
				w.waits("a.txt", original)
				n.open(staged)
				n.save() // this one alone
				w.allowed(call, "a.txt", "one\nTWO\nthree\nfour\n", true)
			})
		})
	}
}

// A save counts, though the editor quits in the same breath. (Helix 25.07 kills
// its servers as it quits; there nothing may be decided.)
func TestSaveAndQuitAllows(t *testing.T) {
	inEditorsOf(t, "nvim", func(t *testing.T, w *world) {
		call, _ := w.proposed()
		w.editor.append("four")
		w.editor.(*neovim).saveAndQuit()
		w.allowed(call, "a.txt", "one\nTWO\nthree\nfour\n", true)
	})
}

// A proposal for a file that was changed meanwhile is made anew, with what the
// person had amended, and only that one can be allowed.
func TestFileChangedWhilePending(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, staged := w.proposed()
		w.editor.append("four")
		w.file("a.txt", "zero\n"+original)
		w.editor.save()
		var again string
		eventually(t, "the proposal is made anew", func() (bool, string) {
			list, seen := w.pending()
			if len(list) != 1 {
				return false, seen
			}
			again = list[0].staged()
			return again != staged, seen
		})
		w.waits("a.txt", "zero\n"+original)
		w.editor.open(again)
		w.editor.save()
		w.allowed(call, "a.txt", "zero\none\nTWO\nthree\nfour\n", true)
	})
}

func TestAutosaveInTheArmDelayDecidesNothing(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		// Not by prompt.md: the editor would save, and so send, that by itself too.
		call := w.willEdit()
		w.editor.start("a.txt")
		if out, err := w.command("send", "Please edit a.txt."); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		staged := w.awaitStaged("a.txt")
		before := stamp(staged)
		w.editor.append("four")
		awaitWritten(w, staged, before) // by the editor, of its own accord
		w.waits("a.txt", original)
		w.editor.action("Countersign: allow")
		w.allowed(call, "a.txt", "one\nTWO\nthree\nfour\n", true)
	},
		with("armDelayMs", 60_000),
		configured("nvim", `vim.api.nvim_create_autocmd({ 'TextChanged', 'InsertLeave' }, { nested = true, command = 'silent! update' })`),
		configured("hx", "[editor.auto-save]\nafter-delay.enable = true\nafter-delay.timeout = 200"),
	)
}
