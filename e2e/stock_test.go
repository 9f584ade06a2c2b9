//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"countersign/e2e/mockmodel"
)

// Neovim with nothing but what its manual says about any language server: each
// file's server is the one of that file's root, so that a proposal, which lies
// outside the project, may get a process of its own.
const stock = `
local settings = vim.json.decode([==[%s]==])
vim.api.nvim_create_autocmd({ 'BufReadPost', 'BufNewFile' }, { callback = function(ev)
  vim.lsp.start({ name = 'countersign', cmd = { '%s', 'serve' }, root_dir = %s, init_options = settings }, { bufnr = ev.buf })
end })
`

func stockNeovim(root string) option {
	return func(w *world) {
		settings, err := json.Marshal(w.settings, json.Deterministic(true))
		if err != nil {
			w.t.Fatal(err)
		}
		w.own = fmt.Sprintf(stock, settings, parts.countersign, root)
	}
}

func TestStockNeovim(t *testing.T) {
	for name, root := range map[string]string{
		"root of the folder": "vim.fn.getcwd()",
		"root of each file":  "vim.fs.root(ev.buf, '.git')",
	} {
		t.Run(name, func(t *testing.T) {
			inEditorsOf(t, "nvim", func(t *testing.T, w *world) {
				w.file("a.txt", original)
				w.play(
					w.edit("a.txt", "two", "TWO"),
					bash("echo made > made.txt"),
					ask(question("Which colour?", false)),
					w.edit("a.txt", "one", "ONE"),
					mockmodel.Say("Done."),
				)
				w.editor.start("a.txt")
				w.prompt("Work.")
				w.awaitOpened(w.next("Edit"))
				w.editor.append("four")
				w.editor.save()
				w.reads(0, false)
				if got := w.disk("a.txt"); got != "one\nTWO\nthree\nfour\n" {
					t.Errorf("a.txt is %q", got)
				}
				w.next("Bash")
				w.editor.open(w.path("a.txt"))
				w.editor.action("Countersign: allow")
				w.reads(1, false)
				a := w.next("AskUserQuestion")
				w.awaitOpened(a)
				w.editor.replace("[ ] Blue", "[x] Blue")
				w.editor.save()
				w.reads(2, false, `"Which colour?"="Blue"`)
				a = w.next("Edit")
				w.awaitOpened(a)
				w.waitsFor(a) // so long that its close is no replaced tab
				w.editor.closeDocument()
				w.reads(3, true)
				if said := w.editor.(*neovim).expr("execute('messages')"); strings.Contains(said, "Nothing was decided") {
					t.Errorf("every gesture decided, and Neovim was told: %s", said)
				}
				if got := w.disk("a.txt"); got != "one\nTWO\nthree\nfour\n" {
					t.Errorf("a.txt is %q", got)
				}
			}, stockNeovim(root))
		})
	}
}
