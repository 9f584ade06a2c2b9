package lsptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"countersign/session/rpc"
)

// Options of an editor.
type Options struct {
	Root string // of the workspace; empty: none
	// Settings are the value of our section: sent as initializationOptions and
	// answered to workspace/configuration.
	Settings jsontext.Value
	// Wrote is called after the editor has written a file, before it says so; it
	// may set the file's times.
	Wrote func(path string)
	// Observe is told what the server sends, and what the editor sends of
	// itself, in order. It must not call the editor.
	Observe func(Observation)
}

// An Observation is one thing that passed between editor and server.
type Observation struct {
	Kind  string // "sent", "message", "show", "edit", "diagnostics", "progress", "log", "ask"
	URI   string // of the document concerned, if any
	Text  string
	Lines []string // of diagnostics
}

// An Editor is one running editor.
type Editor struct {
	kind Kind
	opts Options
	ctx  context.Context // of the connection

	mu sync.Mutex
	// guarded by mu:
	conn        *rpc.Conn
	buffers     map[string]*Buffer // by URI
	order       []string           // URIs in the order of their first opening
	preview     string             // URI in the preview tab
	enc         protocol.PositionEncodingKind
	incremental bool
	wantsWill   bool
	wantsText   bool
	diagnostics map[string][]protocol.Diagnostic
	quitting    bool

	late sync.WaitGroup
}

// A Buffer is a document in the editor.
type Buffer struct {
	URI, Path string
	Text      string
	Disk      string // what the editor last read or wrote
	Language  string
	Version   int32
	Open      bool // the server was told so
	Hidden    bool // loaded, in no window
	Shown     bool // opened by showDocument
	// What is selected, and what the person is told is wrong there: they go with a
	// request for code actions.
	Selection protocol.Range
	Problems  []protocol.Diagnostic
	openedAt  time.Time
}

// Dirty reports whether the buffer has unsaved changes.
func (b *Buffer) Dirty() bool { return b.Text != b.Disk }

// Start connects an editor to a server and introduces it.
func Start(ctx context.Context, kind Kind, stream io.ReadWriteCloser, o Options) (*Editor, error) {
	e := &Editor{
		kind: kind, opts: o, buffers: map[string]*Buffer{},
		diagnostics: map[string][]protocol.Diagnostic{},
	}
	if e.opts.Observe == nil {
		e.opts.Observe = func(Observation) {}
	}
	if e.opts.Wrote == nil {
		e.opts.Wrote = func(string) {}
	}
	return e, e.connect(ctx, stream)
}

// connect introduces the editor to a server and opens there what is open here.
func (e *Editor) connect(ctx context.Context, stream io.ReadWriteCloser) error {
	conn := rpc.NewConn(ctx, stream, (*handler)(e), rpc.Options{Name: "server"})
	e.mu.Lock()
	e.conn, e.ctx, e.quitting = conn, conn.Context(), false
	e.diagnostics = map[string][]protocol.Diagnostic{}
	root := e.opts.Root
	e.mu.Unlock()
	params, err := e.kind.initializeParams(root, e.opts.Settings)
	if err != nil {
		return err
	}
	var res struct {
		Capabilities struct {
			PositionEncoding protocol.PositionEncodingKind `json:"positionEncoding"`
			TextDocumentSync struct {
				Change   int            `json:"change"`
				WillSave bool           `json:"willSave"`
				Save     jsontext.Value `json:"save"`
			} `json:"textDocumentSync"`
		} `json:"capabilities"`
	}
	if err := conn.Call(ctx, "initialize", params, &res); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.enc = res.Capabilities.PositionEncoding
	if e.enc == "" {
		e.enc = protocol.PositionEncodingKindUTF16
	}
	e.incremental = res.Capabilities.TextDocumentSync.Change == 2
	e.wantsWill = res.Capabilities.TextDocumentSync.WillSave && e.kind.willSave
	e.wantsText = strings.Contains(string(res.Capabilities.TextDocumentSync.Save), "true")
	e.notify("initialized", map[string]any{})
	for _, u := range e.order {
		if b := e.buffers[u]; b != nil {
			b.Open = false
			e.didOpen(b)
		}
	}
	return nil
}

// Restart ends the server as the editor does and connects to another one,
// which is told of every open document.
func (e *Editor) Restart(ctx context.Context, stream io.ReadWriteCloser) error {
	e.shutDown([]string{"shutdown", "exit"})
	return e.connect(ctx, stream)
}

// Reconnect connects to another server after the last one was lost.
func (e *Editor) Reconnect(ctx context.Context, stream io.ReadWriteCloser) error {
	e.hangUp()
	return e.connect(ctx, stream)
}

// Quit quits the editor as a person does: the documents go without a didClose.
func (e *Editor) Quit() { e.shutDown(e.kind.quit) }

// Kill ends the editor without a word.
func (e *Editor) Kill() { e.hangUp() }

func (e *Editor) shutDown(messages []string) {
	e.mu.Lock()
	conn := e.conn
	e.quitting = true
	e.mu.Unlock()
	for _, m := range messages {
		e.opts.Observe(Observation{Kind: "sent", Text: m})
		if m == "exit" {
			_ = conn.Notify("exit", nil)
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_ = conn.Call(ctx, m, nil, nil)
		cancel()
	}
	e.hangUp()
}

func (e *Editor) hangUp() {
	e.mu.Lock()
	conn := e.conn
	e.mu.Unlock()
	_ = conn.Close()
	e.late.Wait()
}

// Done is closed when the connection has ended.
func (e *Editor) Done() <-chan struct{} { return e.conn.Done() }

// Kind is the editor's kind.
func (e *Editor) Kind() Kind { return e.kind }

// Buffer is a copy of the buffer of a path, if there is one.
func (e *Editor) Buffer(path string) (Buffer, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.buffers[fileURI(path)]
	if b == nil {
		return Buffer{}, false
	}
	return *b, true
}

// Buffers are copies of all buffers, in the order of their opening.
func (e *Editor) Buffers() []Buffer {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []Buffer
	for _, u := range e.order {
		if b := e.buffers[u]; b != nil {
			all = append(all, *b)
		}
	}
	return all
}

// Diagnostics are the diagnostics last published for a path.
func (e *Editor) Diagnostics(path string) []protocol.Diagnostic {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.diagnostics[fileURI(path)])
}

// notify sends a notification and observes it. The caller holds mu.
func (e *Editor) notify(method string, params any) {
	_ = e.conn.Notify(method, params)
}

func (e *Editor) sent(text, u string) {
	e.opts.Observe(Observation{Kind: "sent", URI: u, Text: text})
}

// later runs f under the lock after d, unless the connection ends first.
func (e *Editor) later(d time.Duration, f func()) {
	ctx := e.ctx
	e.late.Go(func() {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			e.mu.Lock()
			defer e.mu.Unlock()
			if ctx.Err() == nil {
				f()
			}
		case <-ctx.Done():
		}
	})
}

var errNoBuffer = errors.New("there is no such buffer")

func fileURI(path string) string { return string(uri.File(filepath.Clean(path))) }
