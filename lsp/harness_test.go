package lsp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/session/hub"
	"countersign/session/rpc"
)

// A bench is a server between a test's editor and a fake hub. Everything on it
// runs in one synctest bubble, so that its time is the test's.
type bench struct {
	t      *testing.T
	dir    string
	hub    *fakeHub
	silent bool
	conn   *rpc.Conn

	mu       sync.Mutex
	connects []hub.ConnectOptions
	storages []string
	log      []message                             // what the server sent
	answer   map[string]func(params string) string // results of the server's requests
	served   chan error
	stop     context.CancelFunc // as a signal would
	versions map[string]int32
	texts    map[string]string
}

// A message is a notification or a request of the server.
type message struct {
	method string
	params string
	call   bool
}

type benchOptions struct {
	client  string // clientInfo and capabilities; "" stands for neovim
	noRoot  bool
	options string // initializationOptions
	connect func(b *bench, n int) (Hub, hub.AttachResult, error)
	silent  bool // the editor does not answer workspace/configuration
}

// neovim is enough of what Neovim 0.10 says of itself.
const neovim = `"clientInfo":{"name":"Neovim","version":"0.10.4"},"capabilities":{
	"general":{"positionEncodings":["utf-16"]},
	"window":{"workDoneProgress":true,"showDocument":{"support":true}},
	"workspace":{"applyEdit":true,"workspaceEdit":{"documentChanges":true,"resourceOperations":["rename","create","delete"]}},
	"textDocument":{"hover":{"contentFormat":["markdown","plaintext"]},"codeLens":{"dynamicRegistration":true},
		"codeAction":{"codeActionLiteralSupport":{"codeActionKind":{"valueSet":["quickfix"]}}}}}`

// run runs f on a bench whose server is initialized and attached.
func run(t *testing.T, o benchOptions, f func(t *testing.T, b *bench)) {
	t.Helper()
	dir := t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, dir, o)
		defer b.end()
		f(t, b)
	})
}

func newBench(t *testing.T, dir string, o benchOptions) *bench {
	b := &bench{
		t: t, dir: dir, silent: o.silent, served: make(chan error, 1), versions: map[string]int32{}, texts: map[string]string{},
		answer: map[string]func(string) string{
			"window/showDocument":            func(string) string { return `{"success":true}` },
			"workspace/applyEdit":            func(string) string { return `{"applied":true}` },
			"window/workDoneProgress/create": func(string) string { return `null` },
			"workspace/codeLens/refresh":     func(string) string { return `null` },
			"client/registerCapability":      func(string) string { return `null` },
		},
	}
	b.hub = newFakeHub(t, dir)
	connect := func(storage string, co hub.ConnectOptions) (Hub, hub.AttachResult, error) {
		b.mu.Lock()
		n := len(b.connects)
		b.connects = append(b.connects, co)
		if storage != "" {
			b.storages = append(b.storages, storage)
		}
		b.mu.Unlock()
		h, res, err := Hub(b.hub), b.hub.attached(), error(nil)
		if o.connect != nil {
			h, res, err = o.connect(b, n)
		}
		if h == Hub(b.hub) && err == nil {
			b.hub.mu.Lock()
			b.hub.opened++
			b.hub.mu.Unlock()
		}
		return h, res, err
	}
	mine, theirs := net.Pipe()
	opts := Options{
		Version: "test", Dir: dir,
		Connect: func(_ context.Context, co hub.ConnectOptions) (Hub, hub.AttachResult, error) {
			return connect("", co)
		},
		ConnectStorage: func(_ context.Context, storage string, co hub.ConnectOptions) (Hub, hub.AttachResult, error) {
			return connect(storage, co)
		},
	}
	ctx, stop := context.WithCancel(context.Background())
	b.stop = stop
	go func() { b.served <- Serve(ctx, theirs, opts) }()
	b.conn = rpc.NewConn(context.Background(), mine, (*benchHandler)(b), rpc.Options{Name: "test"})

	client, root, options := o.client, `"rootUri":"`+fileURI(dir)+`",`, o.options
	if client == "" {
		client = neovim
	}
	if o.noRoot {
		root = `"rootUri":null,`
	}
	if options == "" {
		options = "null"
	}
	b.request("initialize", `{"processId":null,`+root+`"initializationOptions":`+options+`,`+client+`}`)
	b.notify("initialized", `{}`)
	synctest.Wait()
	return b
}

// end ends the server in the orderly way and checks that it does.
func (b *bench) end() {
	b.t.Helper()
	if b.conn.Context().Err() == nil {
		_, _ = b.try("shutdown", "") // may have been before
		_ = b.conn.Notify("exit", nil)
	}
	if err := <-b.served; err != nil && !errors.Is(err, ErrNoShutdown) {
		b.t.Errorf("Serve: %v", err)
	}
	_ = b.conn.Close()
	if b.hub.opened != b.hub.closed {
		b.t.Errorf("of %d connections to the hub %d were closed", b.hub.opened, b.hub.closed)
	}
}

// benchHandler is the bench as the editor's end of the connection.
type benchHandler bench

func (h *benchHandler) Notify(method string, params jsontext.Value) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, message{method: method, params: string(params)})
}

func (h *benchHandler) Request(method string, params jsontext.Value) func(context.Context) (any, error) {
	h.mu.Lock()
	h.log = append(h.log, message{method: method, params: string(params), call: true})
	answer := h.answer[method]
	h.mu.Unlock()
	if h.silent && method == "workspace/configuration" {
		return func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() }
	}
	if answer == nil {
		return nil
	}
	return func(context.Context) (any, error) {
		return jsontext.Value(answer(string(params))), nil
	}
}

// answerWith says how the editor answers a request of the server from now on.
func (b *bench) answerWith(method string, f func(params string) string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer[method] = f
}

func (b *bench) request(method, params string) string {
	b.t.Helper()
	result, err := b.try(method, params)
	if err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	return result
}

func (b *bench) try(method, params string) (string, error) {
	var raw jsontext.Value
	var p any
	if params != "" {
		p = jsontext.Value(params)
	}
	err := b.conn.Call(context.Background(), method, p, &raw)
	return string(raw), err
}

func (b *bench) notify(method, params string) {
	b.t.Helper()
	var p any
	if params != "" {
		p = jsontext.Value(params)
	}
	if err := b.conn.Notify(method, p); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	synctest.Wait()
}

func quoteJSON(s string) string {
	raw, _ := json.Marshal(s)
	return string(raw)
}

// open opens a document as it lies on disk.
func (b *bench) open(uri string) {
	b.t.Helper()
	text, err := os.ReadFile(pathOf(uri))
	if err != nil {
		b.t.Fatal(err)
	}
	b.openWith(uri, string(text))
}

func (b *bench) openWith(uri, text string) {
	b.t.Helper()
	b.versions[uri], b.texts[uri] = 0, text
	b.notify("textDocument/didOpen", `{"textDocument":{"uri":"`+uri+`","languageId":null,"version":0,"text":`+quoteJSON(text)+`}}`)
}

// edit replaces the whole text in the editor.
func (b *bench) edit(uri, text string) {
	b.t.Helper()
	b.versions[uri]++
	b.texts[uri] = text
	b.notify("textDocument/didChange", fmt.Sprintf(`{"textDocument":{"uri":%q,"version":%d},"contentChanges":[{"text":%s}]}`, uri, b.versions[uri], quoteJSON(text)))
}

// save writes what the editor shows and says so.
func (b *bench) save(uri string) {
	b.t.Helper()
	path := pathOf(uri)
	if err := os.WriteFile(path, []byte(b.texts[uri]), 0o600); err != nil {
		b.t.Fatal(err)
	}
	// Time stands still in the bubble, the file system's does not: make sure the
	// write shows, as it does when a person needs a moment.
	stamp := time.Unix(2_000_000_000+int64(b.versions[uri]), 0)
	b.versions[uri]++
	if err := os.Chtimes(path, stamp, stamp); err != nil {
		b.t.Fatal(err)
	}
	b.notify("textDocument/didSave", `{"textDocument":{"uri":"`+uri+`"},"text":`+quoteJSON(b.texts[uri])+`}`)
}

func (b *bench) close(uri string) {
	b.t.Helper()
	b.notify("textDocument/didClose", `{"textDocument":{"uri":"`+uri+`"}}`)
}

// wait lets time pass.
func (b *bench) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// sent are the messages of a method so far.
func (b *bench) sent(method string) []string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, m := range b.log {
		if m.method == method {
			out = append(out, m.params)
		}
	}
	return out
}

// messages are the texts shown to the person so far.
func (b *bench) messages() string {
	var lines []string
	for _, p := range b.sent("window/showMessage") {
		var m struct {
			Type    int    `json:"type"`
			Message string `json:"message"`
		}
		if err := json.Unmarshal([]byte(p), &m); err != nil {
			b.t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%d %s", m.Type, m.Message))
	}
	return strings.Join(lines, "\n")
}

// diagnostics are the last ones of a document.
func (b *bench) diagnostics(uri string) string {
	last := ""
	for _, p := range b.sent("textDocument/publishDiagnostics") {
		var m struct {
			URI         string         `json:"uri"`
			Diagnostics jsontext.Value `json:"diagnostics"`
		}
		if err := json.Unmarshal([]byte(p), &m); err != nil {
			b.t.Fatal(err)
		}
		if m.URI == uri {
			last = string(m.Diagnostics)
		}
	}
	return last
}

// attempts are the connections to hubs so far, and the storages named.
func (b *bench) attempts() (connects []hub.ConnectOptions, storages []string) {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return append(connects, b.connects...), append(storages, b.storages...)
}

func connects(b *bench) []hub.ConnectOptions { c, _ := b.attempts(); return c }

func storages(b *bench) []string { _, s := b.attempts(); return s }

// settles are the decisions that reached the hub.
func (b *bench) settles() []hub.SettleParams {
	synctest.Wait()
	b.hub.mu.Lock()
	defer b.hub.mu.Unlock()
	return append([]hub.SettleParams(nil), b.hub.settles...)
}

// sameJSON compares two JSON texts, without regard to white space.
func sameJSON(t *testing.T, what, got, want string) {
	t.Helper()
	g, w := compact(t, got), compact(t, want)
	if g != w {
		t.Errorf("%s:\n got  %s\n want %s", what, g, w)
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	v := jsontext.Value(bytes.TrimSpace([]byte(text)))
	if err := v.Canonicalize(); err != nil {
		t.Fatalf("not JSON: %v: %s", err, text)
	}
	return string(v)
}

func contains(t *testing.T, what, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s does not say %q:\n%s", what, part, text)
	}
}

func lacks(t *testing.T, what, text, part string) {
	t.Helper()
	if strings.Contains(text, part) {
		t.Errorf("%s says %q:\n%s", what, part, text)
	}
}
