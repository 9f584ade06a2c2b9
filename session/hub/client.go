package hub

import (
	"context"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/session"
	"countersign/session/rpc"
)

// A Client is a front end's connection to a hub. Its methods are safe for
// concurrent use; errors that the hub answered are *Error.
type Client struct {
	conn   *rpc.Conn
	events chan Event
	closed chan struct{}
	once   sync.Once

	wake chan struct{} // capacity 1

	mu         sync.Mutex
	queue      []Event // taken from the wire and not yet delivered
	delivering bool    // deliver has events in hand that come before any other
	gone       bool    // events is closed, or about to be
}

// newClient makes a client of a connected stream.
func newClient(ctx context.Context, stream interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
	Close() error
},
) *Client {
	c := &Client{events: make(chan Event), closed: make(chan struct{}), wake: make(chan struct{}, 1)}
	// The connection outlives the context of the one who made it.
	c.conn = rpc.NewConn(context.WithoutCancel(ctx), stream, (*clientHandler)(c), rpc.Options{Name: "hub"})
	go c.deliver()
	return c
}

// clientHandler is the client as the handler of what the hub sends.
type clientHandler Client

// Notify queues an event: it must not wait for who takes them.
func (h *clientHandler) Notify(method string, params jsontext.Value) {
	c := (*Client)(h)
	var e Event
	var err error
	switch method {
	case NotifyApproval:
		var a Approval
		err = rpc.Decode(params, &a)
		e = a
	case NotifySession:
		var i session.Info
		err = rpc.Decode(params, &i)
		e = i
	case NotifyMessage:
		var m Message
		err = rpc.Decode(params, &m)
		e = m
	case NotifyTranscript:
		var t TranscriptChange
		err = rpc.Decode(params, &t)
		e = t
	default:
		return
	}
	if err != nil {
		e = Message{Severity: "error", Text: "the hub sent something that cannot be read: " + err.Error()}
	}
	if c.handNow(e) {
		return
	}
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// handNow hands an event to somebody who waits for it, which saves a goroutine's
// turn; otherwise it is queued.
func (c *Client) handNow(e Event) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 && !c.delivering && !c.gone {
		select {
		case c.events <- e:
			return true
		default:
		}
	}
	c.queue = append(c.queue, e)
	return false
}

// Request: the hub asks nothing.
func (*clientHandler) Request(string, jsontext.Value) func(context.Context) (any, error) { return nil }

// deliver hands events over in order, and Lost at the end.
func (c *Client) deliver() {
	defer func() {
		c.mu.Lock()
		c.gone = true
		c.mu.Unlock()
		close(c.events)
	}()
	for {
		c.mu.Lock()
		batch := c.queue
		c.queue, c.delivering = nil, len(c.queue) > 0
		c.mu.Unlock()
		for _, e := range batch {
			if !c.hand(e) {
				return
			}
		}
		if len(batch) > 0 {
			continue
		}
		select {
		case <-c.wake:
		case <-c.closed:
			return
		case <-c.conn.Done():
			c.mu.Lock()
			more := len(c.queue) > 0 // the reader has ended: nothing comes after these
			c.mu.Unlock()
			if !more {
				c.hand(Lost{Err: c.conn.Err()})
				return
			}
		}
	}
}

func (c *Client) hand(e Event) bool {
	select {
	case c.events <- e:
		return true
	case <-c.closed:
		return false
	}
}

// Events delivers what changes after the attach result, in order. When the hub
// goes away Lost is the last one. After that, or after Close, the channel is
// closed.
func (c *Client) Events() <-chan Event { return c.events }

// Close leaves the hub. It decides nothing.
func (c *Client) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.conn.Close()
}

func call[R any](ctx context.Context, c *Client, method string, params any) (R, error) {
	var result R
	if err := c.conn.Call(ctx, method, params, &result); err != nil {
		return result, fromWire(err)
	}
	return result, nil
}

func tell(ctx context.Context, c *Client, method string, params any) error {
	return fromWire(c.conn.Call(ctx, method, params, nil))
}

// Configure sets the settings of the session.
func (c *Client) Configure(ctx context.Context, s session.Settings) error {
	return tell(ctx, c, MethodConfigure, s)
}

// Send sends a prompt; a session is started if none runs.
func (c *Client) Send(ctx context.Context, p SendParams) (session.Info, error) {
	return call[session.Info](ctx, c, MethodSend, p)
}

// Pending lists the pending approvals, oldest first.
func (c *Client) Pending(ctx context.Context) ([]Approval, error) {
	return call[[]Approval](ctx, c, MethodPending, nil)
}

// Show tells an approval in full.
func (c *Client) Show(ctx context.Context, p ShowParams) (Detail, error) {
	return call[Detail](ctx, c, MethodShow, p)
}

// Settle asks for a decision.
func (c *Client) Settle(ctx context.Context, p SettleParams) (Settled, error) {
	return call[Settled](ctx, c, MethodSettle, p)
}

// Keep hands over an amendment that came too late.
func (c *Client) Keep(ctx context.Context, p KeepParams) error { return tell(ctx, c, MethodKeep, p) }

// Interrupt ends the running turn of the current session.
func (c *Client) Interrupt(ctx context.Context) error { return tell(ctx, c, MethodInterrupt, nil) }

// NewSession ends the current session; the next Send starts a fresh one.
func (c *Client) NewSession(ctx context.Context) (session.Info, error) {
	return call[session.Info](ctx, c, MethodNewSession, nil)
}

// Status says how the hub does.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return call[Status](ctx, c, MethodStatus, nil)
}

// Log makes sure that the journal is complete on disk.
func (c *Client) Log(ctx context.Context) error { return tell(ctx, c, MethodLog, nil) }

// Stop ends the hub, and its agents.
func (c *Client) Stop(ctx context.Context) error { return tell(ctx, c, MethodStop, nil) }
