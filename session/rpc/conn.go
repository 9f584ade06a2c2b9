package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"
)

// A Handler is what a connection does with the messages of its peer. Both
// methods are called by the reader, one after the other, in the order of the
// wire: they must not wait for anything, and never Call the same connection.
// The parameters are JSON, nil when absent, and the handler's to keep.
type Handler interface {
	// Notify takes a notification. It should do no more than push it on.
	Notify(method string, params jsontext.Value)
	// Request takes a request: what it looks at now is a snapshot in wire
	// order. The function returned is run concurrently; ctx ends when the peer
	// cancels the request and when the connection ends. A nil function means
	// that there is no such method.
	Request(method string, params jsontext.Value) (run func(ctx context.Context) (any, error))
}

// Options of a connection. The zero value works.
type Options struct {
	Name      string        // of the connection, for the log
	Log       *zap.Logger   // nil: nothing is logged
	MaxBody   int           // bytes of a frame's body that are taken; 0: 64 MiB
	MaxQueued int           // bytes that may wait for the peer to read; 0: 256 MiB
	Grace     time.Duration // how long the end waits for handlers and the peer; 0: 2 s
}

// A Conn is one connection. Its methods are safe for concurrent use.
type Conn struct {
	opts    Options
	log     *zap.Logger
	stream  io.ReadWriteCloser
	handler Handler
	frames  *frameReader
	out     *queue
	ctx     context.Context // ends with the connection
	end     context.CancelCauseFunc
	done    chan struct{}

	mu      sync.Mutex
	running int                               // requests taken and not yet answered
	ending  bool                              // no further request is taken
	idle    chan struct{}                     // closed at running == 0, if somebody waits for that
	working map[jsonrpc2.ID]*request          // for $/cancelRequest
	calls   map[int64]chan *jsonrpc2.Response // our requests that wait for an answer
	lastID  int64
	err     error
}

// A request is one of the peer's in work.
type request struct{ cancel context.CancelFunc }

// errEnded is the cause of an end that is no failure.
var errEnded = errors.New("the connection has ended")

// NewConn starts a connection over stream and owns it from then on.
func NewConn(ctx context.Context, stream io.ReadWriteCloser, h Handler, opts Options) *Conn {
	if opts.MaxBody <= 0 {
		opts.MaxBody = defaultMaxBody
	}
	if opts.MaxQueued <= 0 {
		opts.MaxQueued = 256 << 20
	}
	if opts.Grace <= 0 {
		opts.Grace = 2 * time.Second
	}
	if opts.Log == nil {
		opts.Log = zap.NewNop()
	}
	c := &Conn{
		opts:    opts,
		log:     opts.Log.With(zap.String("conn", opts.Name)),
		stream:  stream,
		handler: h,
		frames:  newFrameReader(stream, opts.MaxBody),
		done:    make(chan struct{}),
		working: make(map[jsonrpc2.ID]*request),
		calls:   make(map[int64]chan *jsonrpc2.Response),
	}
	c.ctx, c.end = context.WithCancelCause(ctx)
	c.out = newQueue(stream, opts.MaxQueued, c.fail)
	go c.out.run()
	go c.read()
	go c.windUp()
	return c
}

// Context ends with the connection: what works for this peer belongs under it.
func (c *Conn) Context() context.Context { return c.ctx }

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says what ended the connection: nil while it lives, and when the peer
// ended its side between two frames, Close was called or the context ended.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection and waits until it has ended, at most
// Options.Grace. A handler calls End instead: Close would wait for it.
func (c *Conn) Close() error {
	c.end(errEnded)
	<-c.done
	return c.Err()
}

// End begins the end of the connection and does not wait for it. The answers of
// requests in work are still sent.
func (c *Conn) End() { c.end(errEnded) }

// Notify sends a notification. It does not wait for the peer; notifications
// and answers go out in the order in which they were handed over.
func (c *Conn) Notify(method string, params any) error {
	raw, err := encode(params)
	if err != nil {
		return fmt.Errorf("encoding the parameters of %s: %w", method, err)
	}
	return c.send(func(b []byte) []byte { return jsonrpc2.AppendNotification(b, method, raw) })
}

// Call sends a request and waits for its answer, which it decodes into result
// (nil: ignored). When ctx ends first the peer is told so. An error that the
// peer answered is an *Error.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	raw, err := encode(params)
	if err != nil {
		return fmt.Errorf("encoding the parameters of %s: %w", method, err)
	}
	answer := make(chan *jsonrpc2.Response, 1)
	c.mu.Lock()
	c.lastID++
	id := c.lastID
	c.calls[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.calls, id)
		c.mu.Unlock()
	}()
	err = c.send(func(b []byte) []byte { return jsonrpc2.AppendCall(b, jsonrpc2.NewNumberID(id), method, raw) })
	if err != nil {
		return err
	}
	select {
	case resp := <-answer:
		return finishCall(method, resp, result)
	case <-c.ctx.Done():
		select { // the answer may have been the last thing that came
		case resp := <-answer:
			return finishCall(method, resp, result)
		default:
		}
		if err := c.Err(); err != nil {
			return fmt.Errorf("%w: %w", ErrClosed, err)
		}
		return ErrClosed
	case <-ctx.Done():
		_ = c.Notify("$/cancelRequest", jsontext.Value(fmt.Sprintf(`{"id":%d}`, id)))
		return ctx.Err()
	}
}

func finishCall(method string, resp *jsonrpc2.Response, result any) error {
	if err := resp.Err(); err != nil {
		return err
	}
	if err := decode(jsontext.Value(resp.Result()), result); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", method, err)
	}
	return nil
}

func (c *Conn) send(appendBody func([]byte) []byte) error {
	if err := c.out.put(appendFrame(appendBody)); err != nil {
		return ErrClosed
	}
	return nil
}

// fail ends the connection because of err.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	// What a stream says when our own end has closed it is not a failure.
	if c.err == nil && c.ctx.Err() == nil {
		c.err = err
	}
	c.mu.Unlock()
	c.end(err)
}

// windUp waits for the end of the connection and winds everything up.
func (c *Conn) windUp() {
	defer close(c.done)
	<-c.ctx.Done()
	timer := time.NewTimer(c.opts.Grace)
	defer timer.Stop()

	// Handlers see their contexts end; their answers are still queued.
	idle := make(chan struct{})
	c.mu.Lock()
	c.ending = true
	if c.running == 0 {
		close(idle)
	} else {
		c.idle = idle
	}
	c.mu.Unlock()
	within(timer, idle)

	c.out.close()
	if !within(timer, c.out.drained) {
		c.log.Warn("the peer did not read the last messages in time")
	}
	closed := make(chan struct{})
	go func() { // a stream's Close may block; nobody waits for it longer than Grace
		defer close(closed)
		if err := c.stream.Close(); err != nil {
			c.log.Debug("closing the stream", zap.Error(err))
		}
	}()
	within(timer, closed)
	if err := c.Err(); err != nil {
		c.log.Info("the connection broke", zap.Error(err))
	}
}

// within waits for ready, but not past the timer; once that has fired it only looks.
func within(timer *time.Timer, ready <-chan struct{}) bool {
	select {
	case <-ready:
		return true
	default:
	}
	select {
	case <-ready:
		return true
	case <-timer.C:
		timer.Reset(0) // it stays fired for those who wait next
		return false
	}
}

// read is the reader: it runs until the stream ends.
func (c *Conn) read() {
	for {
		body, err := c.frames.read()
		switch {
		case errors.Is(err, io.EOF):
			c.end(errEnded)
			return
		case err != nil:
			c.fail(err)
			return
		}
		if c.ctx.Err() != nil {
			return // nothing that comes after the end counts
		}
		c.take(body)
	}
}

// take handles one frame's body, which is valid only during the call.
func (c *Conn) take(body []byte) {
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		c.takeBatch(body)
		return
	}
	msg, err := jsonrpc2.DecodeMessage(body)
	if err != nil {
		c.malformed(err, body, c.reply)
		return
	}
	c.takeMessage(msg, c.reply)
}

// A reply sends one response: at once, or with the others of its batch.
type reply func(id jsonrpc2.ID, result jsontext.Value, err error)

func (c *Conn) reply(id jsonrpc2.ID, result jsontext.Value, err error) {
	_ = c.send(func(b []byte) []byte {
		return jsonrpc2.AppendResponse(b, id, jsonrpc2.RawMessage(result), err)
	})
}

// malformed answers a message that cannot be understood: the frames around it
// are whole, so there is no need to give the connection up.
func (c *Conn) malformed(err error, body []byte, r reply) {
	c.log.Warn("a message cannot be read", zap.Error(err), zap.ByteString("start", body[:min(len(body), 200)]))
	r(jsonrpc2.ID{}, nil, toWire(err))
}

func (c *Conn) takeMessage(msg jsonrpc2.Message, r reply) {
	switch m := msg.(type) {
	case *jsonrpc2.Response:
		c.takeResponse(m)
	case *jsonrpc2.Notification:
		c.takeNotification(strings.Clone(m.Method()), bytes.Clone(m.Params()))
	case *jsonrpc2.Call:
		c.takeRequest(m.ID(), strings.Clone(m.Method()), bytes.Clone(m.Params()), r)
	}
}

func (c *Conn) takeResponse(resp *jsonrpc2.Response) {
	n, ok := resp.ID().Number()
	c.mu.Lock()
	answer := c.calls[n]
	if ok {
		delete(c.calls, n) // a second answer to the same id finds nobody
	}
	c.mu.Unlock()
	if !ok || answer == nil {
		c.log.Debug("an answer to nothing that was asked", zap.String("id", fmt.Sprint(resp.ID())))
		return
	}
	answer <- resp
}

func (c *Conn) takeNotification(method string, params jsontext.Value) {
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a handler panicked", zap.String("method", method), zap.Any("panic", p), zap.Stack("stack"))
		}
	}()
	if method == "$/cancelRequest" {
		c.cancel(params)
		return
	}
	c.handler.Notify(method, params)
}

// cancel ends the context of the request that a $/cancelRequest names. What is
// not an id we know, of whatever form, is nobody's.
func (c *Conn) cancel(params jsontext.Value) {
	var named struct {
		ID jsontext.Value `json:"id"`
	}
	if err := Decode(params, &named); err != nil {
		c.log.Debug("a $/cancelRequest cannot be read", zap.Error(err))
		return
	}
	id, ok := parseID(named.ID)
	c.mu.Lock()
	req := c.working[id]
	c.mu.Unlock()
	if ok && req != nil {
		req.cancel()
	}
}

func parseID(raw jsontext.Value) (jsonrpc2.ID, bool) {
	switch raw.Kind() {
	case '"':
		var s string
		if err := Decode(raw, &s); err != nil {
			return jsonrpc2.ID{}, false
		}
		return jsonrpc2.NewStringID(s), true
	case '0':
		var n int64
		if err := Decode(raw, &n); err != nil {
			return jsonrpc2.ID{}, false
		}
		return jsonrpc2.NewNumberID(n), true
	}
	return jsonrpc2.ID{}, false
}

// takeRequest lets the handler take its snapshot and starts the rest.
func (c *Conn) takeRequest(id jsonrpc2.ID, method string, params jsontext.Value, r reply) {
	run, err := c.prepare(method, params)
	if err == nil && run == nil {
		err = NoMethod(method)
	}
	if err != nil {
		r(id, nil, toWire(err))
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	req := &request{cancel: cancel}
	c.mu.Lock()
	refused := c.ending
	if !refused {
		c.running++
		c.working[id] = req
	}
	c.mu.Unlock()
	if refused {
		cancel()
		r(id, nil, Errorf(ServerCancelled, "the connection is ending"))
		return
	}
	go func() {
		result, err := c.run(ctx, method, run)
		c.mu.Lock()
		if c.working[id] == req { // else the peer has used the id again
			delete(c.working, id)
		}
		c.mu.Unlock()
		cancel()
		if err != nil {
			r(id, nil, toWire(err))
		} else {
			r(id, result, nil)
		}
		c.mu.Lock()
		c.running--
		if c.running == 0 && c.idle != nil {
			close(c.idle)
			c.idle = nil
		}
		c.mu.Unlock()
	}()
}

func (c *Conn) prepare(method string, params jsontext.Value) (run func(context.Context) (any, error), err error) {
	defer func() {
		if p := recover(); p != nil {
			err = c.panicked(method, p)
		}
	}()
	return c.handler.Request(method, params), nil
}

// run runs a handler and encodes its result, on the handler's goroutine.
func (c *Conn) run(ctx context.Context, method string, run func(context.Context) (any, error)) (raw jsontext.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			raw, err = nil, c.panicked(method, p)
		}
	}()
	result, err := run(ctx)
	if err != nil {
		return nil, err
	}
	if raw, err = Encode(result); err != nil {
		c.log.Error("a result cannot be encoded", zap.String("method", method), zap.Error(err))
		return nil, Errorf(InternalError, "the result of %s cannot be encoded: %v", method, err)
	}
	return raw, nil
}

func (c *Conn) panicked(method string, p any) error {
	c.log.Error("a handler panicked", zap.String("method", method), zap.Any("panic", p), zap.Stack("stack"))
	return Errorf(InternalError, "%s failed unexpectedly: %v", method, p)
}

// encode and decode are Encode and Decode for what a peer cannot make panic
// the reader: they run on the caller's goroutine.
func encode(v any) (jsonrpc2.RawMessage, error) {
	raw, err := Encode(v)
	if err != nil {
		return nil, err
	}
	if string(raw) == "null" {
		return nil, nil
	}
	return jsonrpc2.RawMessage(raw), nil
}

func decode(raw jsontext.Value, v any) error {
	if v == nil {
		return nil
	}
	return Decode(raw, v)
}
