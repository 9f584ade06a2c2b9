package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// handler is a Handler made of functions; a nil one does nothing.
type handler struct {
	notify  func(method string, params jsontext.Value)
	request func(method string, params jsontext.Value) func(context.Context) (any, error)
}

func (h handler) Notify(method string, params jsontext.Value) {
	if h.notify != nil {
		h.notify(method, params)
	}
}

func (h handler) Request(method string, params jsontext.Value) func(context.Context) (any, error) {
	if h.request == nil {
		return nil
	}
	return h.request(method, params)
}

// answering runs f for every request.
func answering(f func(ctx context.Context, method string, params jsontext.Value) (any, error)) handler {
	return handler{request: func(method string, params jsontext.Value) func(context.Context) (any, error) {
		return func(ctx context.Context) (any, error) { return f(ctx, method, params) }
	}}
}

// A wire is the raw other end of a connection.
type wire struct {
	t    *testing.T
	conn net.Conn
	in   *frameReader
}

func pair(t *testing.T, h Handler, opts Options) (*Conn, *wire) {
	t.Helper()
	ours, theirs := net.Pipe()
	c := NewConn(t.Context(), ours, h, opts)
	w := &wire{t: t, conn: theirs, in: newFrameReader(theirs, 1<<30)}
	t.Cleanup(func() { theirs.Close(); c.Close() })
	return c, w
}

func (w *wire) send(bodies ...string) {
	w.t.Helper()
	var b strings.Builder
	for _, body := range bodies {
		fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	if _, err := io.WriteString(w.conn, b.String()); err != nil {
		w.t.Fatalf("sending: %v", err)
	}
}

func (w *wire) receive() string {
	w.t.Helper()
	w.conn.SetReadDeadline(time.Now().Add(time.Minute)) // a failing test, not a timing
	body, err := w.in.read()
	if err != nil {
		w.t.Fatalf("receiving: %v", err)
	}
	return string(body)
}

func (w *wire) want(body string) {
	w.t.Helper()
	if got := w.receive(); got != body {
		w.t.Fatalf("received %s\nwant     %s", got, body)
	}
}

func wait(t *testing.T, what string, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(time.Minute):
		t.Fatalf("%s does not happen", what)
	}
}

func TestRequestsAreAnswered(t *testing.T) {
	type result struct {
		Words []string `json:"words"`
	}
	long := strings.Repeat("x", 200_000)
	_, w := pair(t, answering(func(_ context.Context, method string, params jsontext.Value) (any, error) {
		switch method {
		case "echo":
			return params, nil
		case "nothing":
			return nil, nil
		case "struct":
			return result{Words: []string{"a"}}, nil
		case "long":
			return long, nil
		case "plain":
			return nil, errors.New("it did not work")
		case "coded":
			return nil, fmt.Errorf("on the way: %w", &Error{Code: -32001, Message: "unknown", Data: []byte(`{"a":1}`)})
		case "cancelled":
			return nil, fmt.Errorf("waiting: %w", context.Canceled)
		case "panic":
			panic("oops")
		case "unencodable":
			return make(chan int), nil
		}
		return nil, NoMethod(method)
	}), Options{})

	for _, test := range []struct{ name, send, want string }{
		{"number id", `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"b":1.0,"a":1e400}}`, `{"jsonrpc":"2.0","id":1,"result":{"b":1.0,"a":1e400}}`},
		{"string id", `{"jsonrpc":"2.0","id":"x\"y","method":"echo","params":[1]}`, `{"jsonrpc":"2.0","id":"x\"y","result":[1]}`},
		{"large id", `{"jsonrpc":"2.0","id":9007199254740993,"method":"nothing"}`, `{"jsonrpc":"2.0","id":9007199254740993,"result":null}`},
		{"no parameters", `{"jsonrpc":"2.0","id":2,"method":"echo"}`, `{"jsonrpc":"2.0","id":2,"result":null}`},
		{"struct", `{"jsonrpc":"2.0","id":3,"method":"struct"}`, `{"jsonrpc":"2.0","id":3,"result":{"words":["a"]}}`},
		{"long result", `{"jsonrpc":"2.0","id":3,"method":"long"}`, `{"jsonrpc":"2.0","id":3,"result":"` + long + `"}`},
		{"plain error", `{"jsonrpc":"2.0","id":4,"method":"plain"}`, `{"jsonrpc":"2.0","id":4,"error":{"code":-32803,"message":"it did not work"}}`},
		{"coded error", `{"jsonrpc":"2.0","id":5,"method":"coded"}`, `{"jsonrpc":"2.0","id":5,"error":{"code":-32001,"message":"on the way: unknown","data":{"a":1}}}`},
		{"cancelled", `{"jsonrpc":"2.0","id":6,"method":"cancelled"}`, `{"jsonrpc":"2.0","id":6,"error":{"code":-32800,"message":"the request was cancelled"}}`},
		{"panic", `{"jsonrpc":"2.0","id":7,"method":"panic"}`, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"panic failed unexpectedly: oops"}}`},
		{"unknown method", `{"jsonrpc":"2.0","id":8,"method":"x"}`, `{"jsonrpc":"2.0","id":8,"error":{"code":-32601,"message":"there is no method \"x\""}}`},
		{"not JSON", `{"jsonrpc"`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"JSON-RPC parse error"}}`},
		{"no version", `{"id":1,"method":"echo"}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"JSON-RPC invalid request"}}`},
		{"empty batch", `[]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"an empty batch"}}`},
		{"batch", ` [{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":9,"method":"nothing"}]`, `[{"jsonrpc":"2.0","id":9,"result":null}]`},
		{"after all that", `{"jsonrpc":"2.0","id":10,"method":"nothing"}`, `{"jsonrpc":"2.0","id":10,"result":null}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			w.t = t
			w.send(test.send)
			w.want(test.want)
		})
	}
	w.t = t
	w.send(`{"jsonrpc":"2.0","id":11,"method":"unencodable"}`)
	if got := w.receive(); !strings.Contains(got, `"code":-32603`) {
		t.Errorf("an unencodable result is answered with %s", got)
	}
}

// Notifications of every unfortunate kind leave the connection alone, and what
// they are followed by still works.
func TestNotificationsNeverEndTheConnection(t *testing.T) {
	got := make(chan string, 100)
	h := answering(func(context.Context, string, jsontext.Value) (any, error) { return 1, nil })
	h.notify = func(method string, params jsontext.Value) {
		if method == "panic" {
			panic("oops")
		}
		got <- method + " " + string(params)
	}
	_, w := pair(t, h, Options{})
	w.send(
		`{"jsonrpc":"2.0","method":"panic"}`,
		`{"jsonrpc":"2.0","method":"unknown/method"}`,
		`{"jsonrpc":"2.0","method":"$/setTrace","params":{"value":"off"}}`,
		`{"jsonrpc":"2.0","method":"initialized"}`,
		`{"jsonrpc":"2.0","method":"x","params":null}`,
		`{"jsonrpc":"2.0","method":"x","id":null}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest"}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":null}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1.5}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":99999999999999999999}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":4294967296}}`,
		`{"jsonrpc":"2.0","method":"$/cancelRequest","params":[1]}`,
		`{"jsonrpc":"2.0","id":77,"result":"an answer that nobody asked for"}`,
		`{"jsonrpc":"2.0","id":"s","result":null}`,
		`{"jsonrpc":"2.0","id":1,"method":"works"}`,
	)
	w.want(`{"jsonrpc":"2.0","id":1,"result":1}`)
	want := []string{"unknown/method ", `$/setTrace {"value":"off"}`, "initialized ", "x ", "x "}
	for _, want := range want {
		if got := <-got; got != want {
			t.Errorf("notified %q, want %q", got, want)
		}
	}
}

// The inline parts see the order of the wire, also when they are mixed with
// requests that take long and when they come in batches.
func TestOrderOfTheWire(t *testing.T) {
	const n = 2000
	var mu sync.Mutex
	var order []string
	note := func(method string) {
		mu.Lock()
		order = append(order, method)
		mu.Unlock()
	}
	release := make(chan struct{})
	h := handler{
		notify: func(method string, _ jsontext.Value) { note(method) },
		request: func(method string, _ jsontext.Value) func(context.Context) (any, error) {
			note(method)
			return func(context.Context) (any, error) { <-release; return nil, nil }
		},
	}
	_, w := pair(t, h, Options{})
	var want []string
	for i := range n {
		method := fmt.Sprint("m", i)
		want = append(want, method)
		switch i % 10 {
		case 3:
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q}`, i, method))
		case 4:
			w.send(fmt.Sprintf(`[{"jsonrpc":"2.0","id":%d,"method":%q}]`, i, method))
		default:
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method))
		}
	}
	close(release)
	for range n / 5 {
		w.receive()
	}
	mu.Lock()
	defer mu.Unlock()
	for i := range want {
		if i >= len(order) || order[i] != want[i] {
			t.Fatalf("message %d is out of order", i)
		}
	}
}

// A context is derived from a handler's over and over while requests come and
// go: with contexts tied to recycled requests this ends the process.
func TestContextsMayBeDerivedFrom(t *testing.T) {
	_, w := pair(t, answering(func(ctx context.Context, _ string, _ jsontext.Value) (any, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Hour)
		context.AfterFunc(ctx, func() {})
		go func() { <-ctx.Done(); cancel() }()
		defer cancel()
		return nil, ctx.Err()
	}), Options{})
	for i := range 2000 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"x"}`, i))
		w.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":null}`, i))
	}
}

func TestCancelRequest(t *testing.T) {
	started := make(chan struct{})
	_, w := pair(t, answering(func(ctx context.Context, _ string, _ jsontext.Value) (any, error) {
		started <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}), Options{})
	for _, id := range []string{`1`, `"text"`, `9007199254740993`} {
		w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"wait"}`)
		<-started
		w.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":` + id + `}}`)
		w.want(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32800,"message":"the request was cancelled"}}`)
	}
}

// Both sides call each other from their handlers, at once and nested.
func TestCallsBothWays(t *testing.T) {
	a, b := net.Pipe()
	var left, right *Conn
	ready := make(chan struct{})
	down := func(other **Conn) handler {
		return answering(func(ctx context.Context, _ string, params jsontext.Value) (any, error) {
			<-ready
			var n int
			if err := Params(params, &n); err != nil || n == 0 {
				return 0, err
			}
			var below int
			err := (*other).Call(ctx, "down", n-1, &below)
			return below + 1, err
		})
	}
	left = NewConn(t.Context(), a, down(&left), Options{Name: "left"})
	right = NewConn(t.Context(), b, down(&right), Options{Name: "right"})
	close(ready)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			var got int
			if err := left.Call(t.Context(), "down", 20, &got); err != nil || got != 20 {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
	all.Wait()
	if err := left.Close(); err != nil {
		t.Error(err)
	}
	wait(t, "the end of the other side", right.Done())
	if err := right.Err(); err != nil {
		t.Errorf("a clean end is reported as %v", err)
	}
	if err := right.Call(t.Context(), "down", 1, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("calling after the end: %v", err)
	}
	if err := right.Notify("n", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("notifying after the end: %v", err)
	}
}

func TestCallIsCancelledAtThePeer(t *testing.T) {
	c, w := pair(t, handler{}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Call(ctx, "ask", nil, nil) }()
	w.want(`{"jsonrpc":"2.0","method":"ask","id":1}`)
	cancel()
	w.want(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	w.send(`{"jsonrpc":"2.0","id":1,"result":"late"}`)
	go func() { ended <- c.Call(t.Context(), "ask", nil, nil) }()
	w.want(`{"jsonrpc":"2.0","method":"ask","id":2}`)
	w.send(`{"jsonrpc":"2.0","id":2,"error":{"code":5,"message":"no"}}`)
	var coded *Error
	if err := <-ended; !errors.As(err, &coded) || coded.Code != 5 {
		t.Errorf("the call ended with %v", err)
	}
}

// The end of input ends handlers in flight and the connection.
func TestEndOfInput(t *testing.T) {
	started, ended := make(chan struct{}), make(chan struct{})
	c, w := pair(t, answering(func(ctx context.Context, _ string, _ jsontext.Value) (any, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	}), Options{})
	w.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	<-started
	w.conn.Close()
	wait(t, "the handler's end", ended)
	wait(t, "Done", c.Done())
	if err := c.Err(); err != nil {
		t.Errorf("the end of input is reported as %v", err)
	}
}

// A handler that does not look at its context cannot keep the connection.
func TestStubbornHandler(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	started := make(chan struct{})
	c, w := pair(t, answering(func(context.Context, string, jsontext.Value) (any, error) {
		close(started)
		<-release
		return nil, nil
	}), Options{Grace: 10 * time.Millisecond})
	w.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`)
	<-started
	w.conn.Close()
	wait(t, "Done", c.Done())
}

// What was answered before the end still goes out.
func TestEndFlushes(t *testing.T) {
	var c *Conn
	ready := make(chan struct{})
	c, w := pair(t, answering(func(context.Context, string, jsontext.Value) (any, error) {
		<-ready
		for i := range 100 {
			_ = c.Notify("n", i)
		}
		c.End()
		return "bye", nil
	}), Options{})
	close(ready)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"stop"}`)
	for i := range 100 {
		w.want(fmt.Sprintf(`{"jsonrpc":"2.0","method":"n","params":%d}`, i))
	}
	w.want(`{"jsonrpc":"2.0","id":1,"result":"bye"}`)
	wait(t, "Done", c.Done())
}

// A peer that never reads blocks nobody, and Close does not wait for it.
func TestPeerThatDoesNotRead(t *testing.T) {
	c, w := pair(t, answering(func(context.Context, string, jsontext.Value) (any, error) { return nil, nil }),
		Options{Grace: 10 * time.Millisecond})
	for i := range 1000 {
		if err := c.Notify("n", strings.Repeat("x", 1000)); err != nil {
			t.Fatal(err)
		}
		if i%10 == 0 {
			w.send(`{"jsonrpc":"2.0","id":1,"method":"x"}`)
		}
	}
	closed := make(chan struct{})
	go func() { c.Close(); close(closed) }()
	wait(t, "Close", closed)
}

func TestQueueLimit(t *testing.T) {
	c, _ := pair(t, handler{}, Options{MaxQueued: 10_000, Grace: 10 * time.Millisecond})
	var err error
	for range 100 {
		if err = c.Notify("n", strings.Repeat("x", 1000)); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrClosed) {
		t.Fatalf("the queue takes everything: %v", err)
	}
	wait(t, "Done", c.Done())
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "does not read") {
		t.Errorf("the end is explained with %v", err)
	}
}

// blockingStream is a standard input that cannot be interrupted: Read returns
// only when more comes, whatever Close did.
type blockingStream struct {
	release chan struct{}
	io.Writer
}

func (s blockingStream) Read([]byte) (int, error) { <-s.release; return 0, io.EOF }
func (s blockingStream) Close() error             { return nil }

func TestCloseWithBlockingInput(t *testing.T) {
	s := blockingStream{release: make(chan struct{}), Writer: io.Discard}
	defer close(s.release)
	c := NewConn(t.Context(), s, handler{}, Options{Grace: time.Hour})
	called := make(chan error)
	go func() { called <- c.Call(t.Context(), "x", nil, nil) }()
	closed := make(chan struct{})
	go func() { c.Close(); close(closed) }()
	wait(t, "Close", closed)
	if err := <-called; !errors.Is(err, ErrClosed) {
		t.Errorf("a call at the end: %v", err)
	}
}

func TestContextEndsTheConnection(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	c := NewConn(ctx, ours, handler{}, Options{})
	cancel()
	wait(t, "Done", c.Done())
	if err := c.Err(); err != nil {
		t.Error(err)
	}
}
