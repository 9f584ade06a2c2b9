package lsp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"countersign/approvals"
	"countersign/lsp"
	"countersign/session"
	"countersign/session/hub"
	"countersign/staging"
)

// A witnessHub has one approval pending and remembers whether anybody asked it
// to decide, to send a prompt or to do anything else that an editor's garbage
// must not lead to.
type witnessHub struct {
	at     hub.AttachResult
	events chan hub.Event
	once   sync.Once

	mu   sync.Mutex
	acts []string
}

func (h *witnessHub) act(format string, args ...any) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acts = append(h.acts, fmt.Sprintf(format, args...))
	return &hub.Error{Code: hub.CodeRefused, Message: "not here"}
}

func (h *witnessHub) acted() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.acts
}

func (h *witnessHub) Configure(context.Context, session.Settings) error { return nil }
func (h *witnessHub) Send(_ context.Context, p hub.SendParams) (session.Info, error) {
	return session.Info{}, h.act("send %q", p.Text)
}

func (h *witnessHub) Show(_ context.Context, p hub.ShowParams) (hub.Detail, error) {
	if p.ID != h.at.Approvals[0].ID {
		return hub.Detail{}, &hub.Error{Code: hub.CodeUnknown, Message: "unknown"}
	}
	return hub.Detail{Approval: h.at.Approvals[0], Original: "a\n", Text: "b\n"}, nil
}

func (h *witnessHub) Settle(_ context.Context, p hub.SettleParams) (hub.Settled, error) {
	return hub.Settled{}, h.act("settle %+v", p)
}
func (h *witnessHub) Keep(context.Context, hub.KeepParams) error { return nil }
func (h *witnessHub) InterruptSession(context.Context, hub.SessionParams) error {
	return h.act("interrupt")
}

func (h *witnessHub) NewSessionWith(context.Context, hub.NewSessionParams) (session.Info, error) {
	return session.Info{}, h.act("new session")
}

func (h *witnessHub) SetMode(_ context.Context, p hub.ModeParams) (session.Info, error) {
	return session.Info{}, h.act("mode %s", p.Mode)
}

func (h *witnessHub) Resume(context.Context, hub.ResumeParams) (session.Info, error) {
	return session.Info{}, h.act("resume")
}

func (h *witnessHub) StopSession(context.Context, hub.SessionParams) (session.Info, error) {
	return session.Info{}, h.act("stop")
}
func (h *witnessHub) Sessions(context.Context) ([]hub.SessionEntry, error) { return nil, nil }
func (h *witnessHub) Transcript(context.Context, hub.SessionParams) (hub.Transcript, error) {
	return hub.Transcript{}, &hub.Error{Code: hub.CodeSession, Message: "none"}
}
func (h *witnessHub) Status(context.Context) (hub.Status, error) { return hub.Status{}, nil }
func (h *witnessHub) Events() <-chan hub.Event                   { return h.events }
func (h *witnessHub) Close() error                               { h.once.Do(func() { close(h.events) }); return nil }

// A target is a server with that hub, introduced to an editor that has the
// pending document open.
type target struct {
	t      *testing.T
	hub    *witnessHub
	uri    string
	conn   net.Conn
	served chan error
	log    *observer.ObservedLogs
	read   chan struct{} // closed when everything the server sent was read
}

func newTarget(t *testing.T) *target {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	store, err := staging.Open(filepath.Join(dir, "storage"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	id := staging.NewID("r1")
	st, err := store.Stage(id, "a.txt", "b\n")
	if err != nil {
		t.Fatal(err)
	}
	core, log := observer.New(zapcore.DebugLevel)
	g := &target{t: t, uri: "file://" + st.Path, served: make(chan error, 1), log: log, read: make(chan struct{})}
	g.hub = &witnessHub{events: make(chan hub.Event), at: hub.AttachResult{
		Root: dir, Storage: store.Dir(),
		Approvals: []hub.Approval{{
			ID: id, Tool: "Edit", Title: "Edit a.txt", Path: filepath.Join(dir, "a.txt"), Staged: &st, StagedURI: g.uri,
			Surface: approvals.SurfaceProposal, State: approvals.Pending, Since: time.Now(),
		}},
	}}
	ours, theirs := net.Pipe()
	g.conn = ours
	connect := func(context.Context, hub.ConnectOptions) (lsp.Hub, hub.AttachResult, error) {
		return g.hub, g.hub.at, nil
	}
	go func() {
		g.served <- lsp.Serve(context.Background(), theirs, lsp.Options{
			Connect: connect, Log: zap.New(core), Version: "test", Dir: dir,
			ConnectStorage: func(context.Context, string, hub.ConnectOptions) (lsp.Hub, hub.AttachResult, error) {
				return nil, hub.AttachResult{}, errors.New("none")
			},
		})
	}()
	go func() { _, _ = io.Copy(io.Discard, ours); close(g.read) }()
	g.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"rootUri":%q,"capabilities":{"window":{"workDoneProgress":true},"workspace":{"applyEdit":true}}}}`, "file://"+dir))
	g.send(`{"jsonrpc":"2.0","method":"initialized","params":{}}`)
	g.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":%q,"languageId":"x","version":1,"text":"b\n"}}}`, g.uri))
	return g
}

// send sends a message in a frame. A server that hung up is fine.
func (g *target) send(body string) {
	_ = g.conn.SetWriteDeadline(time.Now().Add(time.Minute))
	if _, err := fmt.Fprintf(g.conn, "Content-Length: %d\r\n\r\n%s", len(body), body); errors.Is(err, os.ErrDeadlineExceeded) {
		g.t.Error("the server does not read")
	}
}

// finish hangs up and checks that nothing was done and nothing broke.
func (g *target) finish() {
	g.t.Helper()
	_ = g.conn.Close()
	select {
	case <-g.served:
	case <-time.After(time.Minute):
		g.t.Fatal("the server goes on after the end of its input")
	}
	<-g.read
	if acts := g.hub.acted(); len(acts) > 0 {
		g.t.Errorf("the hub was asked to %q", acts)
	}
	for _, e := range g.log.All() {
		if e.Level >= zapcore.ErrorLevel || strings.Contains(e.Message, "panic") {
			g.t.Errorf("logged: %s %v", e.Message, e.ContextMap())
		}
	}
}

// FuzzServe: bytes in place of frames.
func FuzzServe(f *testing.F) {
	for _, s := range []string{
		"Content-Length: 2\r\n\r\n{}", "Content-Length: 4\r\n\r\nnull", "Content-Length: -1\r\n\r\n", "\r\n\r\n", "Content-Length: 99999999999999999999\r\n\r\n",
		"Content-Length: 46\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"exit\",\"params\":null}",
		"Content-Length: 45\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"shutdown\"}\n\n",
		"Content-Length: 66\r\n\r\n[{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"},{\"jsonrpc\":\"2.0\"},[],1,\"\"]",
		"content-length:3\n\n[,]", strings.Repeat("x", 9000),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		g := newTarget(t)
		_ = g.conn.SetWriteDeadline(time.Now().Add(time.Minute))
		if _, err := g.conn.Write(data); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the server does not read")
		}
		g.finish()
	})
}

// fuzzedMethods are the messages that an editor sends.
var fuzzedMethods = []string{
	"textDocument/didOpen", "textDocument/didChange", "textDocument/willSave", "textDocument/didSave", "textDocument/didClose",
	"workspace/didChangeConfiguration", "window/workDoneProgress/cancel", "initialized", "$/cancelRequest", "$/setTrace", "$/x", "",
	"textDocument/codeAction", "textDocument/codeLens", "textDocument/hover", "workspace/executeCommand", "initialize", "nonsense",
}

// FuzzServeParams: well-formed messages with any parameters. $URI in them is
// the open, pending document, which nobody writes: no save can allow it, and no
// close has the time to deny it. The approval's id is known to no command.
func FuzzServeParams(f *testing.F) {
	for _, p := range []string{
		``, `null`, `{}`, `[]`, `1`, `"x"`, `{"textDocument":null}`, `{"textDocument":{"uri":1}}`,
		`{"textDocument":{"uri":"$URI"}}`, `{"textDocument":{"uri":"$URI"},"text":"b\n"}`, `{"textDocument":{"uri":"$URI"},"text":5}`,
		`{"textDocument":{"uri":"$URI","version":2},"contentChanges":[{"range":{"start":{"line":4294967295,"character":9},"end":{"line":0,"character":0}},"text":"x"},{"range":null,"text":"c"},{}]}`,
		`{"textDocument":{"uri":"$URI","version":-5},"contentChanges":[{"text":"\ud800"}]}`,
		`{"textDocument":{"uri":"$URI","languageId":null,"version":null,"text":"b\n"}}`,
		`{"textDocument":{"uri":"$URI"},"reason":99}`, `{"textDocument":{"uri":"file:///C:/x"},"position":{"line":-1}}`,
		`{"textDocument":{"uri":"$URI"},"range":{},"context":{"only":[1],"diagnostics":7}}`, `{"textDocument":{"uri":"$URI"},"position":{"line":1e3,"character":0.5}}`,
		`{"command":"countersign.allow"}`, `{"command":"countersign.allow","arguments":[{"id":"x"},{}]}`, `{"command":"countersign.deny","arguments":[[]]}`,
		`{"command":5,"arguments":{}}`, `{"command":"countersign.pending","arguments":[null]}`, `{"settings":{"countersign":{"saveMeans":[]}}}`,
		`{"settings":[]}`, `{"id":null}`, `{"token":{}}`, `{"uri":"\u0000"}`,
	} {
		for m := range fuzzedMethods {
			f.Add(uint8(m), p, m%2 == 0)
		}
	}
	f.Fuzz(func(t *testing.T, method uint8, params string, call bool) {
		name := fuzzedMethods[int(method)%len(fuzzedMethods)]
		if name == "workspace/executeCommand" && strings.Contains(params, "countersign.") {
			// These do what they say, of their own accord.
			for _, c := range []string{"prompt", "send", "interrupt", "newSession", "allow", "deny"} {
				if strings.Contains(params, c) && !strings.Contains(params, `"x"`) && !strings.Contains(params, "[[]]") {
					t.Skip()
				}
			}
		}
		g := newTarget(t)
		message := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q`, name)
		if call {
			message += `,"id":7`
		}
		if params != "" {
			message += `,"params":` + strings.ReplaceAll(params, "$URI", g.uri)
		}
		for range 2 {
			g.send(message + "}")
		}
		g.finish()
	})
}
