package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// patience is how long anything is waited for before the measuring is given up.
const patience = 20 * time.Second

// A message is one of a language server's, with the moment at which its first
// byte had been read.
type message struct {
	At     int64
	Size   int
	Method string         `json:"method"`
	ID     jsontext.Value `json:"id"`
	Params jsontext.Value `json:"params"`
	Result jsontext.Value `json:"result"`
	Error  jsontext.Value `json:"error"`
}

// An editor is the least of one: it opens, saves and closes what it is told to,
// shows every document that it is asked to show, and stamps what it reads.
type editor struct {
	cmd     *exec.Cmd
	started int64
	inbox   chan message // all but responses
	ended   chan struct{}

	mu      sync.Mutex
	in      io.WriteCloser
	replies map[string]chan message
	last    int
}

// startEditor starts a language server.
func startEditor(cmd *exec.Cmd) (*editor, error) {
	e := &editor{cmd: cmd, inbox: make(chan message, 1<<16), ended: make(chan struct{}), replies: map[string]chan message{}}
	var err error
	if e.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	e.started = clock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(e.ended)
		_ = eachMessage(out, e.take)
	}()
	return e, nil
}

// eachMessage reads frames until the stream ends.
func eachMessage(r io.Reader, f func(message)) error {
	buf := make([]byte, 256<<10)
	start, end := 0, 0
	var first int64 // when the first byte at start had been read
	for {
		n, err := r.Read(buf[end:])
		at := clock()
		if start == end {
			first = at
		}
		end += n
		for start < end {
			head := bytes.Index(buf[start:end], []byte("\r\n\r\n"))
			if head < 0 {
				break
			}
			length := -1
			for line := range bytes.Lines(buf[start : start+head]) {
				if value, ok := bytes.CutPrefix(line, []byte("Content-Length:")); ok {
					length, _ = strconv.Atoi(string(bytes.TrimSpace(value)))
				}
			}
			if length < 0 {
				return errors.New("a frame without a length")
			}
			body := start + head + 4
			if end < body+length {
				break
			}
			m := message{At: first, Size: length}
			if err := json.Unmarshal(bytes.Clone(buf[body:body+length]), &m, jsontext.AllowInvalidUTF8(true)); err != nil {
				return fmt.Errorf("a message that cannot be read: %w", err)
			}
			f(m)
			start, first = body+length, at
		}
		switch {
		case start == end:
			start, end = 0, 0
		case end == len(buf) && start > 0:
			end = copy(buf, buf[start:end])
			start = 0
		case end == len(buf):
			buf = append(buf, make([]byte, len(buf))...)
		}
		if err != nil {
			return err
		}
	}
}

// take deals with a message on the reading goroutine.
func (e *editor) take(m message) {
	switch {
	case m.Method == "":
		e.mu.Lock()
		reply := e.replies[string(m.ID)]
		delete(e.replies, string(m.ID))
		e.mu.Unlock()
		if reply != nil {
			reply <- m
		}
		return
	case len(m.ID) > 0:
		result := "null"
		if m.Method == "window/showDocument" {
			result = `{"success":true}`
		}
		e.send(framed(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)))
	}
	e.inbox <- m
}

// framed puts the header in front of a body.
func framed(body []byte) []byte {
	return append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...)
}

// send sends a frame and says when that began.
func (e *editor) send(frame []byte) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := clock()
	_, _ = e.in.Write(frame) // a server that is gone answers nothing, which is noticed
	return at
}

// notification makes the frame of one.
func notification(method string, params any) []byte {
	return framed(encoded(struct {
		V      string `json:"jsonrpc"`
		Method string `json:"method"`
		Params any    `json:"params"`
	}{"2.0", method, params}))
}

// encoded is v as JSON; v is of the bench's own making.
func encoded(v any) []byte {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return raw
}

func (e *editor) notify(method string, params any) { e.send(notification(method, params)) }

// call sends a request and waits for its answer; it says when the request was
// sent.
func (e *editor) call(method string, params any) (sent int64, answer message, err error) {
	e.mu.Lock()
	e.last++
	id := strconv.Itoa(e.last)
	reply := make(chan message, 1)
	e.replies[id] = reply
	e.mu.Unlock()
	sent = e.send(framed(encoded(struct {
		V      string         `json:"jsonrpc"`
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
		Params any            `json:"params,omitzero"`
	}{"2.0", jsontext.Value(id), method, params})))
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case answer = <-reply:
	case <-e.ended:
		return sent, answer, fmt.Errorf("%s: the server is gone", method)
	case <-timer.C:
		return sent, answer, fmt.Errorf("%s: no answer", method)
	}
	if len(answer.Error) > 0 {
		return sent, answer, fmt.Errorf("%s: %s", method, answer.Error)
	}
	return sent, answer, nil
}

// command executes a command of the server and decodes its result into v.
func (e *editor) command(name string, argument map[string]any, v any) error {
	arguments := []any{}
	if argument != nil {
		arguments = append(arguments, argument)
	}
	_, m, err := e.call("workspace/executeCommand", map[string]any{"command": name, "arguments": arguments})
	if err != nil || v == nil {
		return err
	}
	return json.Unmarshal(m.Result, v)
}

// await waits for the first message that fits.
func (e *editor) await(what string, fits func(message) bool) (message, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case m := <-e.inbox:
			if fits(m) {
				return m, nil
			}
		case <-e.ended:
			return message{}, fmt.Errorf("waiting for %s: the server is gone", what)
		case <-timer.C:
			return message{}, fmt.Errorf("waiting for %s: it does not come", what)
		}
	}
}

// drain forgets what has come.
func (e *editor) drain() {
	for {
		select {
		case <-e.inbox:
		default:
			return
		}
	}
}

// quit ends the server in order.
func (e *editor) quit() error {
	_, _, err := e.call("shutdown", nil)
	e.notify("exit", nil)
	e.mu.Lock()
	e.in.Close()
	e.mu.Unlock()
	<-e.ended
	return errors.Join(err, e.cmd.Wait())
}

// initialize introduces an editor that can do what Neovim can, as far as it
// matters here, and gives its settings.
func initializeParams(root string, settings map[string]any) map[string]any {
	return map[string]any{
		"processId":  os.Getpid(),
		"clientInfo": map[string]any{"name": "bench", "version": "1"},
		"rootUri":    fileURI(root),
		"workspaceFolders": []any{
			map[string]any{"uri": fileURI(root), "name": "bench"},
		},
		"capabilities": map[string]any{
			"general": map[string]any{"positionEncodings": []string{"utf-8", "utf-16"}},
			"textDocument": map[string]any{
				"codeAction": map[string]any{"codeActionLiteralSupport": map[string]any{
					"codeActionKind": map[string]any{"valueSet": []string{"", "quickfix", "source"}},
				}},
				"codeLens": map[string]any{},
			},
			"window": map[string]any{
				"workDoneProgress": true,
				"showDocument":     map[string]any{"support": true},
			},
			"workspace": map[string]any{"applyEdit": true, "configuration": true},
		},
		"initializationOptions": map[string]any{"countersign": settings},
	}
}

func fileURI(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

func filePath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", err
	}
	return u.Path, nil
}
