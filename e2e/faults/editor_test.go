//go:build linux

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/uri"

	"countersign/session/rpc"
)

// An editor is a bare LSP client with a countersign serve of its own.
type editor struct {
	w     *world
	cmd   *exec.Cmd
	stdin io.WriteCloser
	conn  *rpc.Conn
	errs  *output
	ended chan struct{} // closed when the server's process has ended

	mu          sync.Mutex // guards what follows
	messages    []string
	diagnostics map[string][]string // URI → texts
	shown       []string            // paths that were to be shown
}

type object = map[string]any

// output collects what a process writes.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer // guarded by mu
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// pipes are a server's stdin and stdout as one stream.
type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipes) Close() error { return errors.Join(p.WriteCloser.Close(), p.ReadCloser.Close()) }

// edit starts a server and initializes it. root is the folder that the editor
// names as its workspace.
func (w *world) edit(root string, settings object) *editor {
	w.t.Helper()
	e := w.serve()
	e.initialize(root, settings)
	return e
}

// initialize does what an editor does first.
func (e *editor) initialize(root string, settings object) {
	w := e.w
	w.t.Helper()
	options := object{"open": "manual", "armDelayMs": 1, "closeGraceMs": 50}
	for k, v := range settings {
		options[k] = v
	}
	folder := string(uri.File(root))
	params := object{
		"processId": os.Getpid(), "clientInfo": object{"name": "bare editor", "version": "1"},
		"rootUri": folder, "workspaceFolders": []object{{"uri": folder, "name": "w"}}, "initializationOptions": options,
		"capabilities": object{
			"general": object{"positionEncodings": []string{"utf-8"}},
			"window":  object{"showDocument": object{"support": true}},
			"textDocument": object{
				"synchronization": object{"didSave": true, "willSave": true},
				"codeAction":      object{"codeActionLiteralSupport": object{"codeActionKind": object{"valueSet": []string{""}}}},
			},
		},
	}
	if err := e.call("initialize", params, nil); err != nil {
		w.t.Fatalf("initialize: %v\n%s", err, e.errs)
	}
	e.tell("initialized", object{})
}

// serve starts a server and says nothing to it.
func (w *world) serve() *editor {
	w.t.Helper()
	e := &editor{w: w, errs: &output{}, ended: make(chan struct{}), diagnostics: map[string][]string{}}
	e.cmd = w.process(context.Background(), "serve")
	e.cmd.Stderr = e.errs
	e.cmd.WaitDelay = 5 * time.Second
	var err error
	if e.stdin, err = e.cmd.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	e.conn = rpc.NewConn(context.Background(), pipes{out, e.stdin}, e, rpc.Options{})
	go func() {
		defer close(e.ended)
		<-e.conn.Done() // Wait closes the pipe that is still being read
		_ = e.cmd.Wait()
	}()
	w.t.Cleanup(func() {
		w.t.Logf("the server's stderr:\n%.3000s\nmessages:\n%s", e.errs, strings.Join(e.said(), "\n"))
		_ = e.cmd.Process.Kill()
		_ = e.conn.Close()
		<-e.ended
		w.noCrash("the server's stderr", e.errs.String())
	})
	return e
}

// Notify takes the server's notifications.
func (e *editor) Notify(method string, params jsontext.Value) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch method {
	case "window/showMessage":
		var p struct{ Message string }
		_ = json.Unmarshal(params, &p, json.MatchCaseInsensitiveNames(true))
		e.messages = append(e.messages, p.Message)
	case "textDocument/publishDiagnostics":
		var p struct {
			URI         string
			Diagnostics []struct{ Message string }
		}
		_ = json.Unmarshal(params, &p, json.MatchCaseInsensitiveNames(true))
		var texts []string
		for _, d := range p.Diagnostics {
			texts = append(texts, d.Message)
		}
		e.diagnostics[p.URI] = texts
	}
}

// Request takes the server's requests.
func (e *editor) Request(method string, params jsontext.Value) func(context.Context) (any, error) {
	switch method {
	case "window/showDocument":
		var p struct{ URI string }
		_ = json.Unmarshal(params, &p, json.MatchCaseInsensitiveNames(true))
		e.mu.Lock()
		e.shown = append(e.shown, uri.URI(p.URI).FsPath())
		e.mu.Unlock()
		return func(context.Context) (any, error) { return object{"success": true}, nil }
	case "workspace/configuration":
		return func(context.Context) (any, error) { return []any{nil}, nil }
	}
	return func(context.Context) (any, error) { return nil, nil }
}

func (e *editor) call(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return e.conn.Call(ctx, method, params, result)
}

func (e *editor) tell(method string, params any) {
	e.w.t.Helper()
	if err := e.conn.Notify(method, params); err != nil {
		e.w.t.Fatalf("%s: %v\n%s", method, err, e.errs)
	}
}

// do runs one of Countersign's commands.
func (e *editor) do(command string, argument object, result any) error {
	params := object{"command": "countersign." + command}
	if argument != nil {
		params["arguments"] = []object{argument}
	}
	return e.call("workspace/executeCommand", params, result)
}

// send sends a prompt, which has to work.
func (e *editor) send(text string) {
	e.w.t.Helper()
	if err := e.do("send", object{"text": text}, nil); err != nil {
		e.w.t.Fatalf("send: %v", err)
	}
}

// said are the messages so far.
func (e *editor) said() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.messages)
}

// sees waits for a message that holds all of the words, and checks that it is
// fit for a person.
func (e *editor) sees(words ...string) string {
	e.w.t.Helper()
	var found string
	e.w.eventually(fmt.Sprintf("a message with %q", words), func() (bool, string) {
		all := e.said()
		for _, m := range all {
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(m, word) }) {
				found = m
				return true, ""
			}
		}
		return false, strings.Join(all, "\n")
	})
	e.w.oneSentence(found + "\n")
	return found
}

// marks waits for a diagnostic of a file that holds the words.
func (e *editor) marks(path string, words ...string) {
	e.w.t.Helper()
	u := string(uri.File(path))
	e.w.eventually(fmt.Sprintf("a diagnostic of %s with %q", path, words), func() (bool, string) {
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, m := range e.diagnostics[u] {
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(m, word) }) {
				return true, ""
			}
		}
		return false, fmt.Sprint(e.diagnostics)
	})
}

// actions are the titles of the code actions at the top of a file.
func (e *editor) actions(path string) []string {
	e.w.t.Helper()
	var list []struct{ Title string }
	at := object{"line": 0, "character": 0}
	raw := jsontext.Value(nil)
	err := e.call("textDocument/codeAction", object{
		"textDocument": object{"uri": string(uri.File(path))}, "range": object{"start": at, "end": at},
		"context": object{"diagnostics": []any{}},
	}, &raw)
	if err == nil {
		err = json.Unmarshal(raw, &list, json.MatchCaseInsensitiveNames(true))
	}
	if err != nil {
		e.w.t.Fatalf("code actions: %v", err)
	}
	var titles []string
	for _, a := range list {
		titles = append(titles, a.Title)
	}
	return titles
}

// opens opens a file in the editor and gives its text.
func (e *editor) opens(path string) string {
	e.w.t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		e.w.t.Fatal(err)
	}
	e.tell("textDocument/didOpen", object{"textDocument": object{"uri": string(uri.File(path)), "languageId": "text", "version": 1, "text": string(data)}})
	return string(data)
}

// saves changes a document to text, writes its file and says so.
func (e *editor) saves(path, text string) {
	e.w.t.Helper()
	id := object{"uri": string(uri.File(path))}
	e.tell("textDocument/didChange", object{"textDocument": object{"uri": id["uri"], "version": 2}, "contentChanges": []object{{"text": text}}})
	e.tell("textDocument/willSave", object{"textDocument": id, "reason": 1})
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		e.w.t.Fatal(err)
	}
	e.tell("textDocument/didSave", object{"textDocument": id, "text": text})
}

// quits ends the conversation as an editor that quits does, and gives the exit
// status.
func (e *editor) quits() int {
	e.w.t.Helper()
	if err := e.call("shutdown", nil, nil); err != nil {
		e.w.t.Fatalf("shutdown: %v", err)
	}
	e.tell("exit", nil)
	return e.exited()
}

// exited waits for the end of the server, and gives its exit status; -1 when
// it was killed.
func (e *editor) exited() int {
	e.w.t.Helper()
	select {
	case <-e.ended:
		return e.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		e.w.t.Fatal("the server does not end")
		return 0
	}
}

// kill ends the server in a way that it cannot see coming.
func (e *editor) kill() {
	e.w.t.Helper()
	e.w.kill(e.cmd.Process.Pid)
	<-e.ended
}
