//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/e2e/mockmodel"
)

// The test binary is an MCP server of its own when it is started so.
const mcpVariable = "COUNTERSIGN_E2E_MCP"

// serveMCP speaks as much of the Model Context Protocol as an agent needs to
// use one tool over stdin and stdout: greet answers with the name it was given.
func serveMCP(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var m struct {
			ID     jsontext.Value `json:"id"`
			Method string         `json:"method"`
			Params struct {
				ProtocolVersion string `json:"protocolVersion"`
				Arguments       struct {
					Name  string `json:"name"`
					Times int    `json:"times"`
				} `json:"arguments"`
			} `json:"params"`
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return err
		}
		if len(m.ID) == 0 {
			continue // a notification
		}
		var result any = object{}
		switch m.Method {
		case "initialize":
			result = object{
				"protocolVersion": m.Params.ProtocolVersion,
				"capabilities":    object{"tools": object{}},
				"serverInfo":      object{"name": "greeter", "version": "1"},
			}
		case "tools/list":
			result = object{"tools": []object{{
				"name": "greet", "description": "Greets somebody.",
				"inputSchema": object{
					"type": "object", "required": []string{"name", "times"},
					"properties": object{"name": object{"type": "string"}, "times": object{"type": "integer"}},
				},
			}}}
		case "tools/call":
			a := m.Params.Arguments
			result = object{"content": []object{{"type": "text", "text": strings.Repeat("hello "+a.Name+"; ", a.Times)}}}
		}
		answer, err := json.Marshal(object{"jsonrpc": "2.0", "id": m.ID, "result": result}, json.Deterministic(true))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n", answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// withMCP has the agent started with the MCP server, by its own option.
func withMCP(w *world) {
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	config, err := json.Marshal(object{"mcpServers": object{"greeter": object{
		"type": "stdio", "command": self, "args": []string{}, "env": object{mcpVariable: "1"},
	}}}, json.Deterministic(true))
	if err != nil {
		w.t.Fatal(err)
	}
	path := w.dir + "/mcp.json"
	w.write(path, string(config))
	w.settings["agent"] = object{"command": []string{parts.claude}, "args": []string{"--mcp-config", path}}
}

const greet = "mcp__greeter__greet"

// A tool that Countersign knows nothing of: its input is a document, and runs
// as that then reads.
func TestMCPToolAmended(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(mockmodel.Use(greet, object{"name": "world", "times": 2}), mockmodel.Say("Done."))
		w.editor.start("a.txt")
		w.prompt("Greet.")
		a := w.next(greet)
		if !w.editor.turnTo("/proposed/*/input.json") || !strings.HasSuffix(w.editor.shown(), "/input.json") {
			w.editor.action("Countersign: review")
		}
		w.awaitStaged("input.json")
		w.editor.replace(`"times": 2`, `"times": 3,,`)
		w.editor.save() // no JSON
		w.awaitTold(3, "not valid JSON")
		w.still(a.ID)
		w.editor.replace(`3,,`, `3`)
		w.editor.replace(`world`, `moon`)
		w.editor.save()
		if text := w.reads(0, false, "hello moon; hello moon; hello moon; "); strings.Contains(text, "world") {
			t.Errorf("the model was told %q", text)
		}
		w.hears("moon")
	}, withMCP)
}
