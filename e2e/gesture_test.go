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

func TestAutosaveInTheArmDelayDecidesNothing(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, staged := w.proposed()
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
