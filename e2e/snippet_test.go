//go:build linux

package e2e

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"countersign/editors"
)

// The snippets of editors/ themselves, in the real editors but without an agent.

// TestHelixKeepsItsServers: a list of servers in languages.toml replaces Helix's own,
// so the snippet has to name every usual one.
func TestHelixKeepsItsServers(t *testing.T) {
	languages, err := editors.FS.ReadFile("helix/languages.toml")
	if err != nil {
		t.Fatal(err)
	}
	if len(regexp.MustCompile(`(?m)^name = "(.+)"$`).FindAllString(string(languages), -1)) < 40 {
		t.Error("languages are missing")
	}
	names := []string{"rust", "go", "python", "c-sharp", "ruby", "bash", "html", "json", "yaml", "toml", "markdown", "dockerfile", "cmake", "elixir", "protobuf"}
	inEditorsOf(t, "hx", func(t *testing.T, w *world) {
		h := w.editor.(*helix)
		servers := func(language string) []string {
			out := w.run(exec.Command(h.program, "--health", language))
			var list []string
			for _, m := range regexp.MustCompile(`(?m)^  (?:\x1b\[[0-9;]*m)*\S(?:\x1b\[[0-9;]*m)* (.+?):`).FindAllStringSubmatch(out, -1) {
				list = append(list, m[1])
			}
			return list
		}
		own := map[string][]string{}
		for _, n := range names {
			own[n] = servers(n)
		}
		w.write(filepath.Join(w.dir, "config/helix/languages.toml"), string(languages))
		for _, n := range names {
			got := servers(n)
			for _, usual := range own[n] {
				if !slices.Contains(got, usual) {
					t.Errorf("%s: %q lacks %s", n, got, usual)
				}
			}
			if len(own[n]) == 0 || got[len(got)-1] != "countersign" {
				t.Errorf("%s: servers %q, usually %q", n, got, own[n])
			}
		}
	})
}

// TestNeovimWithoutAFile: the commands start the server from an empty Neovim.
func TestNeovimWithoutAFile(t *testing.T) {
	inEditorsOf(t, "nvim", func(t *testing.T, w *world) {
		n := w.editor.(*neovim)
		n.launch()
		n.await("Neovim is up", "mode()", "n")
		n.command("Countersign prompt")
		eventually(t, "prompt.md opens", func() (bool, string) {
			path := n.shown()
			return filepath.Base(path) == "prompt.md", path + "\n" + n.screen()
		})
		if got := w.servers(); len(got) != 1 {
			t.Errorf("servers: %s", strings.Join(got, " "))
		}
		n.quit()
	})
}

// TestNeovimBufferGoesWhileLensesAreFetched: what was asked for a buffer that is
// wiped out before the answer comes troubles nobody.
func TestNeovimBufferGoesWhileLensesAreFetched(t *testing.T) {
	inEditorsOf(t, "nvim", func(t *testing.T, w *world) {
		n := w.editor.(*neovim)
		w.file("a.txt", original)
		w.file("b.txt", original)
		n.start("a.txt")
		n.open(w.path("b.txt"))
		n.command(`lua if vim.fn.has('nvim-0.12') == 1 then vim.lsp.handlers['workspace/codeLens/refresh'](nil, nil, { client_id = vim.lsp.get_clients()[1].id }) else vim.lsp.codelens.refresh({ bufnr = 0 }) end vim.cmd('bwipeout!')`)
		w.openPrompt() // comes after the answer
		n.quiet()
	})
}

// TestOneServerForEveryBuffer: a file outside the project, one without a type
// and one of the project talk to the same process.
func TestOneServerForEveryBuffer(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		outside := filepath.Join(w.dir, "elsewhere", "b.txt")
		w.write(outside, original)
		w.editor.start("a.txt")
		w.openPrompt()
		w.editor.open(outside)
		w.editor.append("something")
		if n, ok := w.editor.(*neovim); ok {
			w.file("no-type-at-all", original)
			n.open(w.path("no-type-at-all"))
			n.await("attached", `luaeval("#vim.lsp.get_clients({ name = 'countersign', bufnr = 0 })")`, "1")
		}
		if got := w.servers(); len(got) != 1 {
			t.Errorf("servers: %s", strings.Join(got, " "))
		}
	})
}
