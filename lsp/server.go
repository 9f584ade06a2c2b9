package lsp

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"countersign/session/hub"
	"countersign/session/rpc"
)

// Options are what a server is made of. Everything but the two connectors has
// a sensible zero value.
type Options struct {
	// Connect finds or starts the hub of a workspace root and attaches to it.
	Connect func(ctx context.Context, o hub.ConnectOptions) (Hub, hub.AttachResult, error)
	// ConnectStorage attaches to the hub that owns a storage folder.
	ConnectStorage func(ctx context.Context, storage string, o hub.ConnectOptions) (Hub, hub.AttachResult, error)

	Log     *zap.Logger
	Version string
	Now     func() time.Time
	Dir     string // workspace root when the editor names none; empty: the working directory
}

// ErrNoShutdown is what Serve returns when the editor went away without a
// shutdown request; the process should then exit with status 1.
var ErrNoShutdown = errors.New("the editor ended the connection without a shutdown request")

// endGrace is how long decisions that are under way at the end may take.
const endGrace = 2 * time.Second

// Serve speaks LSP with the editor at the other end of rwc until that ends:
// with exit, the end of input, or ctx. None of these decides anything. The
// error is nil after an orderly shutdown.
func Serve(ctx context.Context, rwc io.ReadWriteCloser, o Options) error {
	s := newServer(o)
	s.conn = rpc.NewConn(ctx, rwc, s, rpc.Options{Name: "editor", Log: s.log})

	looped := make(chan struct{})
	loopCtx, stopLoop := context.WithCancel(context.Background())
	go func() {
		defer close(looped)
		s.queue.run(loopCtx, s.rest)
	}()

	select {
	case <-s.exited:
	case <-s.conn.Context().Done():
	}
	// What the editor sent before is still ahead of this in the queue.
	ended := make(chan struct{})
	s.queue.push(func() { s.end(false); close(ended) })
	<-ended
	s.awaitDecisions()
	s.cancel()
	err := s.conn.Close()
	s.workers.Wait()
	stopLoop()
	<-looped
	s.closeLinks()

	switch {
	case err != nil:
		return err
	case !s.shutDown.Load():
		return ErrNoShutdown
	}
	return nil
}

// awaitDecisions lets decisions that have begun reach their hub.
func (s *server) awaitDecisions() {
	if !s.decided(endGrace) {
		s.log.Warn("a decision did not reach the hub before the end; it may not count")
		s.cancel() // makes them return
		s.decisions.Wait()
	}
}

// decided waits until no decision is on its way, for no longer than that.
func (s *server) decided(within time.Duration) bool {
	done := make(chan struct{})
	go func() { s.decisions.Wait(); close(done) }()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

func newServer(o Options) *server {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Dir == "" {
		o.Dir, _ = os.Getwd()
	}
	s := &server{opts: o, log: o.Log, queue: newLoop(), exited: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.state = newState(o.Now)
	return s
}

// work runs f on a goroutine of its own that Serve waits for.
func (s *server) work(f func(ctx context.Context)) { s.start(&s.workers, f) }

// decide is work that carries a person's decision: at the end it is given time.
func (s *server) decide(f func(ctx context.Context)) { s.start(&s.decisions, f) }

func (s *server) start(group *sync.WaitGroup, f func(ctx context.Context)) {
	if s.ctx.Err() != nil {
		return
	}
	group.Add(1)
	go func() {
		defer group.Done()
		defer s.recovered("background work")
		f(s.ctx)
	}()
}

// recovered keeps a mistake of ours from ending the editor's server.
func (s *server) recovered(where string) {
	if p := recover(); p != nil {
		s.log.Error("panic", zap.String("in", where), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
	}
}

// push hands an event to the loop.
func (s *server) push(f func()) {
	s.queue.push(func() {
		defer s.recovered("an event")
		f()
	})
}

// within runs f on the loop and waits for it, unless ctx ends first.
func (s *server) within(ctx context.Context, f func()) error {
	done := make(chan struct{})
	s.push(func() { defer close(done); f() })
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

// A server is one editor's connection.
type server struct {
	opts   Options
	log    *zap.Logger
	conn   *rpc.Conn
	queue  *loop
	exited chan struct{} // closed by exit

	ctx       context.Context // of all work; ends with Serve
	cancel    context.CancelFunc
	workers   sync.WaitGroup
	decisions sync.WaitGroup

	life  // touched by the connection's reader only
	state // touched by the event loop only
}

// Notify takes a notification: it only pushes.
func (s *server) Notify(method string, params jsontext.Value) {
	switch method {
	case "exit":
		s.exit()
		return
	case "initialized":
		if s.initialized() {
			s.push(s.begin)
		}
		return
	}
	if !s.serving() {
		return
	}
	var err error
	switch method {
	case "textDocument/didOpen":
		err = take(s, params, s.didOpen)
	case "textDocument/didChange":
		err = take(s, params, s.didChange)
	case "textDocument/willSave":
		err = take(s, params, s.willSave)
	case "textDocument/didSave":
		err = take(s, params, s.didSave)
	case "textDocument/didClose":
		err = take(s, params, s.didClose)
	case "workspace/didChangeConfiguration":
		err = take(s, params, s.didChangeConfiguration)
	case "window/workDoneProgress/cancel":
		err = take(s, params, s.progressCancelled)
	}
	if err != nil {
		s.log.Warn("a notification cannot be read", zap.String("method", method), zap.Error(err))
	}
}

// take decodes a notification and hands it to the loop. It counts as having
// happened now, however long the loop has other things to do: the delays that
// gestures ask for are delays of the person, not ours.
func take[P any](s *server, params jsontext.Value, event func(P)) error {
	at := s.now()
	var p P
	if err := read(params, &p); err != nil {
		return err
	}
	s.push(func() {
		s.arrived = at
		defer func() { s.arrived = time.Time{} }()
		event(p)
	})
	return nil
}

// Request takes a request: the snapshot is asked for here, in wire order.
func (s *server) Request(method string, params jsontext.Value) func(context.Context) (any, error) {
	switch method {
	case "initialize":
		return s.initialize(params)
	case "shutdown":
		return s.shutdown()
	}
	if refusal := s.refusal(method); refusal != nil {
		return func(context.Context) (any, error) { return nil, refusal }
	}
	switch method {
	case "textDocument/codeAction":
		return answer(s, params, s.codeActions)
	case "textDocument/codeLens":
		return answer(s, params, s.codeLenses)
	case "textDocument/hover":
		return answer(s, params, s.hover)
	case "workspace/textDocumentContent":
		return answer(s, params, s.textDocumentContent)
	case "workspace/executeCommand":
		return answer(s, params, s.executeCommand)
	}
	return nil
}

// answer takes a snapshot now and answers with it later.
func answer[P any](s *server, params jsontext.Value, reply func(context.Context, *snapshot, P) (any, error)) func(context.Context) (any, error) {
	taken := make(chan *snapshot, 1)
	s.push(func() { taken <- s.snapshot() })
	return func(ctx context.Context) (any, error) {
		var p P
		if err := read(params, &p); err != nil {
			return nil, err
		}
		select {
		case sn := <-taken:
			return reply(ctx, sn, p)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.ctx.Done():
			return nil, rpc.Errorf(rpc.RequestFailed, "the server is ending")
		}
	}
}
