package lsp

import (
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// at asks for code actions at a range.
func (b *bench) at(uri, span, diagnostics string) string {
	b.t.Helper()
	return b.request("textDocument/codeAction", `{"textDocument":{"uri":"`+uri+`"},"range":`+span+`,"context":{"diagnostics":[`+diagnostics+`]}}`)
}

const cursor = `{"start":{"line":1,"character":0},"end":{"line":1,"character":0}}`

func TestAskActions(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		uri := fileURI(b.dir + "/lib/a.go")
		b.openWith(uri, "package a\n\nfunc f() {}\n")
		lacks(t, "without a selection", b.at(uri, cursor, ""), "ask about")
		lacks(t, "with one character, as Helix has it", b.at(uri, `{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}`, ""), "ask about")
		got := b.at(uri, `{"start":{"line":0,"character":8},"end":{"line":3,"character":0}}`, "")
		contains(t, "with a selection", got, `"Countersign: ask about this selection (lines 1-3)"`)

		mine := `{"range":` + cursor + `,"message":"The agent asks","source":"countersign"}`
		theirs := `{"range":` + cursor + `,"severity":2,"message":{"kind":"markdown","value":"x is\nunused"},"source":null}`
		lacks(t, "with what we say ourselves", b.at(uri, cursor, mine), "ask about")
		got = b.at(uri, cursor, mine+","+theirs)
		contains(t, "with a diagnostic", got, `"Countersign: ask about this diagnostic: line 2: warning: x is unused"`)
		got = b.at(uri, cursor, theirs+","+theirs)
		contains(t, "with two", got, `"Countersign: ask about these 2 diagnostics"`)

		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		lacks(t, "in a staged document", b.at(a.StagedURI, `{"start":{"line":0,"character":0},"end":{"line":1,"character":0}}`, ""), "ask about")
	})
}

// The prompt is begun with what was selected, after what stands in it already.
func TestAskBeginsThePrompt(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		uri := fileURI(b.dir + "/lib/a.go")
		b.openWith(uri, "package a\n\nfunc f() {}\r\n")
		ask := func(span string) {
			t.Helper()
			var actions []struct {
				Command struct {
					Command   string           `json:"command"`
					Arguments []jsontext.Value `json:"arguments"`
				} `json:"command"`
			}
			if err := json.Unmarshal([]byte(b.at(uri, span, "")), &actions); err != nil {
				t.Fatal(err)
			}
			for _, a := range actions {
				if a.Command.Command == "countersign.ask" {
					b.mustCommand("countersign.ask", string(a.Command.Arguments[0]))
					return
				}
			}
			t.Fatal("no such action")
		}
		ask(`{"start":{"line":2,"character":3},"end":{"line":2,"character":9}}`)
		prompt := promptURI(b.hub.store.Dir())
		text, err := os.ReadFile(pathOf(prompt))
		want := promptHint + "About lib/a.go, line 3:\n\n```go\nfunc f() {}\n```\n\n"
		if err != nil || string(text) != want {
			t.Fatalf("the prompt: %q %v", text, err)
		}
		shown := b.sent("window/showDocument")
		contains(t, "shown at the end", shown[len(shown)-1], `"selection":{"start":{"line":7,"character":0}`)

		b.open(prompt)
		b.edit(prompt, want+"Why?\n")
		ask(`{"start":{"line":0,"character":0},"end":{"line":1,"character":0}}`)
		edits := b.sent("workspace/applyEdit")
		if len(edits) != 1 || !strings.Contains(edits[0], quoteJSON(want+"Why?\n\nAbout lib/a.go, line 1:\n\n```go\npackage a\n```\n\n")) {
			t.Errorf("edits: %v", edits)
		}
		if len(b.prompts()) != 0 {
			t.Error("something was sent")
		}
	})
}
