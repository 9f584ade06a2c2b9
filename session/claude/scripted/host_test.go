package scripted

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A line is what the tests look at in a line of the stand-in.
type line struct {
	Type           string `json:"type"`
	Subtype        string `json:"subtype"`
	RequestID      string `json:"request_id"`
	PermissionMode string `json:"permissionMode"`
	Result         string `json:"result"`
	TerminalReason string `json:"terminal_reason"`
	Request        struct {
		Tool    string         `json:"tool_name"`
		Input   jsontext.Value `json:"input"`
		AgentID string         `json:"agent_id"`
		Own     bool           `json:"requires_user_interaction"`
	} `json:"request"`
	Response struct {
		Subtype   string `json:"subtype"`
		ErrorCode string `json:"error_code"`
	} `json:"response"`
	Message jsontext.Value `json:"message"`
	raw     string
}

// toolResult is the text of the tool result in a line, and whether it is an error.
func (l line) toolResult(t *testing.T) (string, bool) {
	t.Helper()
	var m struct {
		Content []struct {
			Content string `json:"content"`
			IsError bool   `json:"is_error"`
		} `json:"content"`
	}
	if err := json.Unmarshal(l.Message, &m); err != nil || len(m.Content) != 1 {
		t.Fatalf("no tool result: %s", l.raw)
	}
	return m.Content[0].Content, m.Content[0].IsError
}

// A host talks to a stand-in that runs in this process.
type host struct {
	t     *testing.T
	dir   string
	in    *io.PipeWriter
	lines *bufio.Reader
	log   lockedBuffer
	end   chan error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func play(t *testing.T, script string) *host {
	t.Helper()
	s, err := Parse([]byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return playScript(t, s)
}

func playScript(t *testing.T, s Script) *host {
	h := &host{t: t, dir: t.TempDir(), end: make(chan error, 1)}
	hostIn, in := io.Pipe()
	out, agentOut := io.Pipe()
	h.in, h.lines = in, bufio.NewReaderSize(out, 1<<20)
	s.Log = &h.log
	go func() {
		err := Run(t.Context(), hostIn, agentOut, s, h.dir)
		agentOut.Close()
		hostIn.Close()
		h.end <- err
	}()
	t.Cleanup(func() {
		in.Close()
		io.Copy(io.Discard, h.lines)
	})
	return h
}

func (h *host) write(format string, args ...any) {
	h.t.Helper()
	if _, err := fmt.Fprintf(h.in, format+"\n", args...); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) prompt(text string) {
	h.t.Helper()
	h.write(`{"type":"user","message":{"role":"user","content":%q},"parent_tool_use_id":null,"session_id":""}`, text)
}

func (h *host) answer(l line, result string) {
	h.t.Helper()
	h.write(`{"type":"control_response","response":{"subtype":"success","request_id":%q,"response":%s}}`, l.RequestID, result)
}

// until reads lines up to the first that is as wanted: "result", or
// "control_request", or "system/status".
func (h *host) until(kind string) line {
	h.t.Helper()
	for {
		raw, err := h.lines.ReadString('\n')
		if err != nil {
			h.t.Fatalf("ended before %s: %v", kind, err)
		}
		l := line{raw: raw}
		if err := json.Unmarshal([]byte(raw), &l, jsontext.AllowInvalidUTF8(true)); err != nil {
			if kind == "broken" {
				return l
			}
			h.t.Fatalf("%v: %s", err, raw)
		}
		if l.Type == kind || l.Type+"/"+l.Subtype == kind {
			return l
		}
	}
}

func (h *host) file(name, content string) string {
	h.t.Helper()
	path := filepath.Join(h.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		h.t.Fatal(err)
	}
	return path
}

func (h *host) holds(name, want string) {
	h.t.Helper()
	if got, _ := os.ReadFile(filepath.Join(h.dir, name)); string(got) != want {
		h.t.Errorf("%s is %q, want %q", name, got, want)
	}
}

// one is a script with one call.
func one(call string) string { return `{"turns":[{"steps":[{"call":` + call + `}]}]}` }
