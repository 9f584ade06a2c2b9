package lsp

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session/hub"
	"countersign/session/rpc"
)

// quiet is an editor that says nothing by itself.
type quiet struct{}

func (quiet) Notify(string, jsontext.Value)                                     {}
func (quiet) Request(string, jsontext.Value) func(context.Context) (any, error) { return nil }

// serveQuiet starts a server without a hub and returns the editor's end.
func serveQuiet(t *testing.T) (conn *rpc.Conn, served <-chan error) {
	t.Helper()
	mine, theirs := net.Pipe()
	done := make(chan error, 1)
	none := func() (Hub, hub.AttachResult, error) {
		return nil, hub.AttachResult{}, errors.New("no hub in this test")
	}
	go func() {
		done <- Serve(context.Background(), theirs, Options{
			Version: "1.2.3", Dir: t.TempDir(),
			Connect: func(context.Context, hub.ConnectOptions) (Hub, hub.AttachResult, error) { return none() },
			ConnectStorage: func(context.Context, string, hub.ConnectOptions) (Hub, hub.AttachResult, error) {
				return none()
			},
		})
	}()
	conn = rpc.NewConn(context.Background(), mine, quiet{}, rpc.Options{})
	t.Cleanup(func() { _ = conn.Close() })
	return conn, done
}

func codeOf(err error) rpc.Code {
	var e *rpc.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestRequestsOutsideTheLifeCycle(t *testing.T) {
	conn, served := serveQuiet(t)
	call := func(method, params string) error {
		return conn.Call(context.Background(), method, jsontext.Value(params), nil)
	}
	for _, method := range []string{"textDocument/hover", "workspace/executeCommand", "shutdown"} {
		if got := codeOf(call(method, `{}`)); got != rpc.ServerNotInitialized {
			t.Errorf("%s before initialize: code %d", method, got)
		}
	}
	// Notifications before initialize are dropped.
	_ = conn.Notify("textDocument/didOpen", jsontext.Value(`{}`))
	if err := call("initialize", `{"capabilities":{}}`); err != nil {
		t.Fatal(err)
	}
	if got := codeOf(call("initialize", `{}`)); got != rpc.InvalidRequest {
		t.Errorf("second initialize: code %d", got)
	}
	if got := codeOf(call("textDocument/rename", `{}`)); got != rpc.MethodNotFound {
		t.Errorf("unknown method: code %d", got)
	}
	if got := codeOf(call("textDocument/codeAction", `{"context":7}`)); got != rpc.InvalidParams {
		t.Errorf("bad parameters: code %d", got)
	}
	if err := call("shutdown", ``); err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"textDocument/hover", "initialize", "shutdown"} {
		if got := codeOf(call(method, `{}`)); got != rpc.InvalidRequest {
			t.Errorf("%s after shutdown: code %d", method, got)
		}
	}
	_ = conn.Notify("exit", nil)
	if err := <-served; err != nil {
		t.Errorf("Serve: %v", err)
	}
}

func TestTheEndWithoutShutdown(t *testing.T) {
	for _, how := range []string{"exit", "end of input"} {
		t.Run(how, func(t *testing.T) {
			conn, served := serveQuiet(t)
			if err := conn.Call(context.Background(), "initialize", jsontext.Value(`{"capabilities":{}}`), nil); err != nil {
				t.Fatal(err)
			}
			if how == "exit" {
				_ = conn.Notify("exit", nil)
			} else {
				_ = conn.Close()
			}
			if err := <-served; !errors.Is(err, ErrNoShutdown) {
				t.Errorf("Serve: %v", err)
			}
		})
	}
}

func TestCapabilities(t *testing.T) {
	conn, _ := serveQuiet(t)
	var got jsontext.Value
	err := conn.Call(context.Background(), "initialize", jsontext.Value(`{"capabilities":{"general":{"positionEncodings":["utf-16","utf-8"]},
		"textDocument":{"codeAction":{"codeActionLiteralSupport":{"codeActionKind":{"valueSet":[]}}}}}}`), &got)
	if err != nil {
		t.Fatal(err)
	}
	sameJSON(t, "initialize", string(got), `{"serverInfo":{"name":"countersign","version":"1.2.3"},"capabilities":{
		"positionEncoding":"utf-8",
		"textDocumentSync":{"openClose":true,"change":2,"willSave":true,"save":{"includeText":true}},
		"hoverProvider":true,"codeLensProvider":{},
		"codeActionProvider":{"codeActionKinds":["countersign.review","countersign.allow","countersign.allowByRule","countersign.allowAll","countersign.allowForSession",
			"countersign.answer","countersign.deny","countersign.denyAndStop","countersign.denyWithReason","countersign.denyWithEdits",
			"countersign.prompt","countersign.ask","countersign.send","countersign.interrupt","countersign.session","countersign.mode"]},
		"executeCommandProvider":{"commands":["countersign.allow","countersign.allowAll","countersign.allowForSession","countersign.answer","countersign.ask",
			"countersign.deny","countersign.denyWithEdits","countersign.denyWithReason","countersign.interrupt","countersign.newSession",
			"countersign.pending","countersign.prompt","countersign.resume","countersign.review","countersign.send","countersign.sessions",
			"countersign.setMode","countersign.showSessions","countersign.status","countersign.stop","countersign.transcript"]},
		"workspace":{"workspaceFolders":{"supported":true,"changeNotifications":false}}}}`)
}

func TestClients(t *testing.T) {
	for _, c := range []struct{ params, name, root, keys string }{
		{`{}`, "an editor", "", "saving allows, closing denies"},
		{`{"clientInfo":{"name":"Neovim","version":"0.10.4"},"rootUri":"file:///w/a%20b"}`, "Neovim 0.10.4", "/w/a b", ":w allows, :bd denies"},
		{`{"clientInfo":{"name":"helix","version":"25.07.1 (a1b2c3)"},"rootUri":null,"workspaceFolders":[]}`, "Helix 25.07.1", "", ":w allows, :bc denies"},
		{
			`{"clientInfo":{"name":"Visual Studio Code","version":"1.106.3"},"workspaceFolders":[{"uri":"file:///one","name":"one"},{"uri":"file:///two","name":"two"}],"rootUri":"file:///three"}`,
			"Visual Studio Code 1.106.3", "/one", "saving allows, closing denies",
		},
		{
			`{"clientInfo":{"name":"Eglot","version":"1.17.30"},"rootPath":"/w","rootUri":""}`, "Eglot 1.17.30", "/w",
			"saving a change allows, C-x k denies",
		},
		{`{"clientInfo":{"name":"x\u202ey","version":null}}`, "X<U+202E>y", "", "saving allows, closing denies"},
		{`{"rootUri":"untitled:what"}`, "an editor", "", "saving allows, closing denies"},
	} {
		var p initializeParams
		if err := read(jsontext.Value(c.params), &p); err != nil {
			t.Errorf("%s: %v", c.params, err)
			continue
		}
		got := newClient(p)
		if got.name != c.name || got.root != c.root {
			t.Errorf("%s: %q at %q, want %q at %q", c.params, got.name, got.root, c.name, c.root)
		}
		if keys := got.keys(DefaultGestureSettings(), approvals.SurfaceProposal); keys != c.keys {
			t.Errorf("%s: %q, want %q", c.params, keys, c.keys)
		}
	}
}

// A signal ends the server as the end of input does.
func TestTheContextEnds(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(2 * time.Second)
		b.close(a.StagedURI)
		b.stop()
		b.wait(time.Minute)
		if got := b.settles(); len(got) != 0 {
			t.Errorf("settled: %+v", got)
		}
	})
}
