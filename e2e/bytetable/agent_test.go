package bytetable

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/e2e/mockmodel"
)

// A line is what the agent says, as far as it matters here.
type line struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype   string         `json:"subtype"`
		Tool      string         `json:"tool_name"`
		Input     jsontext.Value `json:"input"`
		ToolUseID string         `json:"tool_use_id"`
	} `json:"request"`
	Message struct {
		Content jsontext.Value `json:"content"`
	} `json:"message"`
}

// A toolResult is what became of one tool call.
type toolResult struct {
	ID      string
	IsError bool
	Text    string
}

func (l line) results() []toolResult {
	var blocks []struct {
		Type    string         `json:"type"`
		ID      string         `json:"tool_use_id"`
		IsError bool           `json:"is_error"`
		Content jsontext.Value `json:"content"`
	}
	if l.Type != "user" || l.Message.Content.Kind() != '[' || json.Unmarshal(l.Message.Content, &blocks) != nil {
		return nil
	}
	var out []toolResult
	for _, b := range blocks {
		if b.Type == "tool_result" {
			out = append(out, toolResult{ID: b.ID, IsError: b.IsError, Text: string(b.Content)})
		}
	}
	return out
}

// play runs the agent on a script until its turn is over. decide answers each
// permission request with the complete updatedInput, or an error to deny;
// returned hears each tool's result.
func play(t *testing.T, path, dir string, script mockmodel.Script, decide func(line) (jsontext.Value, error), returned func(toolResult)) {
	t.Helper()
	model, err := mockmodel.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-p", "--input-format", "stream-json", "--output-format", "stream-json",
		"--verbose", "--permission-prompt-tool", "stdio", "--permission-mode", "default")
	cmd.Dir, cmd.Env = dir, model.Env(os.Getenv("PATH"), home)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the agent: %v\n%s", err, stderr.String())
		}
	}()
	say(t, in, `{"type":"user","message":{"role":"user","content":"go"},"parent_tool_use_id":null,"session_id":""}`)
	lines := bufio.NewReaderSize(out, 1<<20)
	for {
		raw, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatalf("the agent ended early: %v\n%s", err, stderr.String())
		}
		var l line
		if err := json.Unmarshal(raw, &l, jsontext.AllowInvalidUTF8(true)); err != nil {
			t.Fatalf("line of the agent: %v\n%.500s", err, raw)
		}
		for _, r := range l.results() {
			returned(r)
		}
		switch {
		case l.Type == "result":
			return
		case l.Type == "control_request" && l.Request.Subtype == "can_use_tool":
			answer, err := decide(l)
			body := `{"behavior":"allow","updatedInput":` + string(answer) + `}`
			if err != nil {
				m, _ := json.Marshal(err.Error())
				body = `{"behavior":"deny","message":` + string(m) + `}`
			}
			say(t, in, `{"type":"control_response","response":{"subtype":"success","request_id":"`+l.RequestID+`","response":`+body+`}}`)
		}
	}
}

func say(t *testing.T, w io.Writer, s string) {
	t.Helper()
	if strings.ContainsRune(s, '\n') {
		t.Fatal("a line for the agent has a newline in it")
	}
	if _, err := io.WriteString(w, s+"\n"); err != nil {
		t.Fatal(err)
	}
}

var errDeclined = errors.New("not in this test")

// lenient reads what JavaScript reads.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
