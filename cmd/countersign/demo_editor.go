package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/uri"

	"countersign/session/rpc"
)

// A scriptedEditor is the demo's editor: a small but real LSP client that
// opens, changes, saves and closes files as a person would. It knows nothing
// of Countersign but what the server tells it over LSP.
type scriptedEditor struct {
	conn *rpc.Conn

	mu       sync.Mutex // guards what follows
	changed  chan struct{}
	open     map[string]*buffer // by path
	shown    []string           // paths that the server asked to show, oldest first
	messages []string
}

// A buffer is an open document of the scripted editor.
type buffer struct {
	path    string
	text    string
	version int
}

type object = map[string]any

func newScriptedEditor(ctx context.Context, rwc io.ReadWriteCloser) *scriptedEditor {
	e := &scriptedEditor{changed: make(chan struct{}), open: map[string]*buffer{}}
	e.conn = rpc.NewConn(ctx, rwc, e, rpc.Options{})
	return e
}

// initialize starts the conversation with the server.
func (e *scriptedEditor) initialize(ctx context.Context, root string, options object) error {
	folder := string(uri.File(root))
	params := object{
		"processId":             os.Getpid(),
		"clientInfo":            object{"name": "scripted editor", "version": "1"},
		"rootUri":               folder,
		"workspaceFolders":      []object{{"uri": folder, "name": "demo"}},
		"initializationOptions": options,
		"capabilities": object{
			"general":      object{"positionEncodings": []string{"utf-8", "utf-16"}},
			"window":       object{"showDocument": object{"support": true}, "workDoneProgress": true},
			"workspace":    object{"applyEdit": true, "executeCommand": object{}},
			"textDocument": object{"synchronization": object{"didSave": true, "willSave": true}, "codeAction": object{"codeActionLiteralSupport": object{"codeActionKind": object{"valueSet": []string{""}}}}},
		},
	}
	if err := e.conn.Call(ctx, "initialize", params, nil); err != nil {
		return fmt.Errorf("initialize: %w", err)
	}
	return e.conn.Notify("initialized", object{})
}

// Notify takes the server's notifications.
func (e *scriptedEditor) Notify(method string, params jsontext.Value) {
	if method != "window/showMessage" {
		return
	}
	var p struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(params, &p) == nil {
		e.update(func() { e.messages = append(e.messages, p.Message) })
	}
}

// Request takes the server's requests.
func (e *scriptedEditor) Request(method string, params jsontext.Value) func(context.Context) (any, error) {
	params = params.Clone()
	return func(context.Context) (any, error) {
		switch method {
		case "window/showDocument":
			var p struct {
				URI uri.URI `json:"uri"`
			}
			if err := json.Unmarshal(params, &p); err != nil {
				return nil, err
			}
			e.update(func() { e.shown = append(e.shown, p.URI.FsPath()) })
			return object{"success": true}, nil
		case "workspace/applyEdit":
			return object{"applied": true}, nil
		case "workspace/configuration":
			return []any{nil}, nil
		}
		return nil, nil
	}
}

// update changes the editor's state and wakes whoever waits for it.
func (e *scriptedEditor) update(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
	close(e.changed)
	e.changed = make(chan struct{})
}

// await returns once cond holds. cond runs under the editor's lock.
func (e *scriptedEditor) await(ctx context.Context, what string, cond func() bool) error {
	for {
		e.mu.Lock()
		ok, changed := cond(), e.changed
		e.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-e.conn.Done():
			return fmt.Errorf("the server ended while waiting for %s", what)
		case <-ctx.Done():
			return fmt.Errorf("%s did not come", what)
		}
	}
}

// awaitShown waits until the server asked to show a file that matches, and
// opens it, as an editor does.
func (e *scriptedEditor) awaitShown(ctx context.Context, what string, match func(path string) bool) (*buffer, error) {
	var path string
	err := e.await(ctx, what, func() bool {
		for i, p := range e.shown {
			if match(p) {
				path, e.shown = p, append(e.shown[:i:i], e.shown[i+1:]...)
				return true
			}
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	return e.openFile(path)
}

func (e *scriptedEditor) openFile(path string) (*buffer, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("open in the editor: %w", err)
	}
	b := &buffer{path: path, text: string(content), version: 1}
	e.update(func() { e.open[path] = b })
	language := strings.TrimPrefix(path[strings.LastIndexByte(path, '.')+1:], ".")
	return b, e.conn.Notify("textDocument/didOpen", object{"textDocument": object{
		"uri": string(uri.File(path)), "languageId": language, "version": b.version, "text": b.text,
	}})
}

// change replaces the buffer's text, as typing would.
func (e *scriptedEditor) change(b *buffer, text string) error {
	b.text, b.version = text, b.version+1
	return e.conn.Notify("textDocument/didChange", object{
		"textDocument":   object{"uri": string(uri.File(b.path)), "version": b.version},
		"contentChanges": []object{{"text": text}},
	})
}

// save writes the buffer to its file and tells the server.
func (e *scriptedEditor) save(b *buffer) error {
	id := object{"uri": string(uri.File(b.path))}
	if err := e.conn.Notify("textDocument/willSave", object{"textDocument": id, "reason": 1}); err != nil {
		return err
	}
	if err := os.WriteFile(b.path, []byte(b.text), 0o600); err != nil {
		return fmt.Errorf("save in the editor: %w", err)
	}
	return e.conn.Notify("textDocument/didSave", object{"textDocument": id, "text": b.text})
}

func (e *scriptedEditor) close(b *buffer) error {
	e.update(func() { delete(e.open, b.path) })
	return e.conn.Notify("textDocument/didClose", object{"textDocument": object{"uri": string(uri.File(b.path))}})
}

// An action is one code action that the server offers.
type action struct {
	Title   string `json:"title"`
	Command struct {
		Command   string         `json:"command"`
		Arguments jsontext.Value `json:"arguments"`
	} `json:"command"`
}

// awaitAction waits until the server offers, for a buffer, a code action whose
// title begins with title, and runs it.
func (e *scriptedEditor) awaitAction(ctx context.Context, b *buffer, title string) error {
	var chosen action
	var offered []string
	err := poll(ctx, "the code action "+title, func() (bool, error) {
		actions, err := e.actions(ctx, b)
		offered = nil
		for _, a := range actions {
			if strings.HasPrefix(a.Title, title) {
				chosen = a
				return true, nil
			}
			offered = append(offered, a.Title)
		}
		return false, err
	})
	if err != nil {
		return fmt.Errorf("%w (offered: %q)", err, offered)
	}
	params := object{"command": chosen.Command.Command}
	if len(chosen.Command.Arguments) > 0 {
		params["arguments"] = chosen.Command.Arguments
	}
	if err := e.conn.Call(ctx, "workspace/executeCommand", params, nil); err != nil {
		return fmt.Errorf("run %q: %w", chosen.Title, err)
	}
	return nil
}

// actions asks for the code actions at the top of a buffer.
func (e *scriptedEditor) actions(ctx context.Context, b *buffer) ([]action, error) {
	var actions []action
	at := object{"line": 0, "character": 0}
	err := e.conn.Call(ctx, "textDocument/codeAction", object{
		"textDocument": object{"uri": string(uri.File(b.path))},
		"range":        object{"start": at, "end": at},
		"context":      object{"diagnostics": []any{}},
	}, &actions)
	if err != nil {
		return nil, fmt.Errorf("ask for code actions: %w", err)
	}
	return actions, nil
}

// lastWords are the messages that the server showed, for a failed demo.
func (e *scriptedEditor) lastWords() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.messages) == 0 {
		return "the server showed no message"
	}
	last := e.messages[max(0, len(e.messages)-5):]
	return "the server's last messages:\n  " + strings.Join(last, "\n  ")
}

// quit ends the conversation as an editor that quits does.
func (e *scriptedEditor) quit(ctx context.Context) error {
	if err := e.conn.Call(ctx, "shutdown", nil, nil); err != nil {
		return fmt.Errorf("shutdown: %w", err)
	}
	return e.conn.Notify("exit", nil)
}
