//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/textproto"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/e2e/mockmodel"
)

// The test binary is a language server of its own when it is started so.
const checkerVariable = "COUNTERSIGN_E2E_CHECKER"

const noWord = "this is no word"

// serveChecker is a language server that finds something in the second line of
// every document.
func serveChecker(in io.Reader, out io.Writer) error {
	r := bufio.NewReader(in)
	send := func(m object) error {
		m["jsonrpc"] = "2.0"
		data, err := json.Marshal(m, json.Deterministic(true))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "Content-Length: %d\r\n\r\n%s", len(data), data)
		return err
	}
	for {
		header, err := textproto.NewReader(r).ReadMIMEHeader()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		n, err := strconv.Atoi(header.Get("Content-Length"))
		if err != nil {
			return err
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return err
		}
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Params struct {
				TextDocument struct {
					URI string `json:"uri"`
				} `json:"textDocument"`
			} `json:"params"`
		}
		if err := json.Unmarshal(body, &m); err != nil {
			return err
		}
		switch {
		case m.Method == "exit":
			return nil
		case m.Method == "initialize":
			err = send(object{"id": m.ID, "result": object{"capabilities": object{"textDocumentSync": 1}}})
		case m.Method == "textDocument/didOpen":
			err = send(object{"method": "textDocument/publishDiagnostics", "params": object{
				"uri": m.Params.TextDocument.URI, "diagnostics": []object{{
					"range":    object{"start": object{"line": 1, "character": 0}, "end": object{"line": 1, "character": 3}},
					"severity": 1, "source": "checker", "message": noWord,
				}},
			}})
		case len(m.ID) > 0 && m.Method != "":
			err = send(object{"id": m.ID, "result": nil})
		}
		if err != nil {
			return err
		}
	}
}

// withChecker has the editor start the checker beside Countersign for text.
func withChecker(w *world) {
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	switch w.editor.kind() {
	case "nvim":
		w.extra += fmt.Sprintf(`
vim.api.nvim_create_autocmd('BufReadPost', { pattern = '*.txt', callback = function(ev)
  vim.lsp.start({ name = 'checker', cmd = { '%s' }, cmd_env = { %s = '1' }, root_dir = vim.fn.getcwd() }, { bufnr = ev.buf })
end })
`, self, checkerVariable)
	case "hx":
		w.languages = func(text string) string {
			head, tail, found := strings.Cut(text, `name = "text"`)
			if !found {
				w.t.Fatal("the snippet has no plain text")
			}
			tail = strings.Replace(tail, `["countersign"]`, `["checker", "countersign"]`, 1)
			return head + `name = "text"` + tail + fmt.Sprintf("\n[language-server.checker]\ncommand = %q\nenvironment = { %s = \"1\" }\n", self, checkerVariable)
		}
	}
}

// What another language server finds is put into the prompt with its place.
// Neovim tells a server of that server's own findings alone, so there it is the
// snippet's command that asks.
func TestAskAboutADiagnostic(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(mockmodel.Say("I see."))
		w.editor.start("a.txt")
		switch e := w.editor.(type) {
		case *neovim:
			w.awaitTold(2, noWord)
			e.command("2Countersign ask")
		case *helix:
			e.command("goto 2")
			e.action("Countersign: ask about this diagnostic: line 2: error: " + noWord)
		}
		eventually(t, "prompt.md opens", func() (bool, string) {
			path := w.editor.shown()
			return filepath.Base(path) == "prompt.md", path + "\n" + w.editor.screen()
		})
		w.editor.append("Why is that?")
		w.editor.save()
		w.hears("Why is that?")
		for _, want := range []string{"About a.txt, line 2:", "two", "- line 2: error: " + noWord + " (checker)"} {
			if !w.model.Requests()[0].Said(want) {
				t.Errorf("the model did not read %q", want)
			}
		}
		if w.model.Requests()[0].Said("three") {
			t.Error("the model read lines that nobody asked about")
		}
	}, withChecker)
}
