//go:build unix

package hub

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// A clock is an idle timer that tests let go off.
type clock struct {
	mu   sync.Mutex
	f    func()
	d    time.Duration
	sets chan struct{}
}

func (c *clock) after(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.f, c.d = f, d
	select {
	case c.sets <- struct{}{}:
	default:
	}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.f = nil
		return true
	}
}

// fire lets the timer go off, if it runs.
func (c *clock) fire() bool {
	c.mu.Lock()
	f := c.f
	c.f = nil
	c.mu.Unlock()
	if f != nil {
		f()
	}
	return f != nil
}

func (c *clock) running() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.f != nil
}

// inside runs a hub in this process.
func (w *world) inside(o RunOptions) (ended chan error, stop context.CancelFunc) {
	w.Helper()
	ctx, stop := context.WithCancel(context.Background())
	o.Root = w.root
	ready := make(chan error, 1)
	o.Ready = func(err error) { ready <- err }
	ended = make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	if err := <-ready; err != nil {
		w.Fatalf("the hub does not run: %v", err)
	}
	w.Cleanup(stop)
	return ended, stop
}

// The hub ends by itself when nobody watches, nothing runs and nothing waits.
func TestIdleEnd(t *testing.T) {
	w := newWorld(t, writeOne)
	k := &clock{sets: make(chan struct{}, 1)}
	ended, _ := w.inside(RunOptions{after: k.after})
	if !k.running() {
		t.Fatal("an unused hub stays for ever")
	}
	c, _ := w.connect("one")
	if k.running() {
		t.Fatal("the hub would end with a front end attached")
	}
	w.send(c, "go")
	id := w.pendingOf(c).ID
	c.Close()
	o := w.options("not watching")
	o.Watch = false
	b, _, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if k.running() {
		t.Fatal("the hub would end with an approval pending")
	}
	if _, err := b.Settle(t.Context(), SettleParams{ID: id, Allow: true, How: "command"}); err != nil {
		t.Fatal(err)
	}
	w.waitFor("the end of the turn", k.running)
	if k.d != 10*time.Second {
		t.Errorf("the hub would end after %v", k.d)
	}
	b.Close()
	if !k.fire() {
		t.Fatal("the timer does not run")
	}
	if err := <-ended; err != nil {
		t.Errorf("the hub ended with %v", err)
	}
	if !hasEnded(w.places().state) {
		t.Error("hub.json does not tell that the hub has ended")
	}
	if got := w.read("a.txt"); got != "one\n" {
		t.Errorf("the file has %q", got)
	}
}

// A timer that goes off while somebody attaches ends nothing.
func TestIdleRace(t *testing.T) {
	w := newWorld(t, writeOne)
	k := &clock{sets: make(chan struct{}, 1)}
	_, stop := w.inside(RunOptions{after: k.after})
	k.mu.Lock()
	late := k.f
	k.mu.Unlock()
	c, _ := w.connect("one")
	late()
	if _, err := c.Status(t.Context()); err != nil {
		t.Errorf("after a late timer: %v", err)
	}
	stop()
	for range c.Events() {
	}
}

// A peer of another user gets no word out of the hub.
func TestOtherUser(t *testing.T) {
	w := newWorld(t, writeOne)
	_, stop := w.inside(RunOptions{peerOf: func(c *net.UnixConn) (peer, error) {
		p, err := peerOf(c)
		p.uid++
		return p, err
	}})
	defer stop()
	o := w.options("one")
	o.Start = false
	if c, _, err := Connect(t.Context(), o); err == nil {
		c.Close()
		t.Error("another user is attached")
	} else if codeOf(err) != CodeForbidden || !strings.Contains(err.Error(), "another user") {
		t.Errorf("another user is told: %v", err)
	}
}

func TestSecondHub(t *testing.T) {
	w := newWorld(t, writeOne)
	ended, stop := w.inside(RunOptions{})
	if err := Run(t.Context(), RunOptions{Root: w.root}); !IsHeld(err) {
		t.Errorf("a second hub: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Before attaching nothing is answered.
func TestAttachFirst(t *testing.T) {
	w := newWorld(t, writeOne)
	ended, stop := w.inside(RunOptions{})
	rec, err := readRecord(w.places().state)
	if err != nil {
		t.Fatal(err)
	}
	c, err := dial(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Pending(t.Context()); err == nil || !strings.Contains(err.Error(), "before "+MethodAttach) {
		t.Errorf("pending before attaching: %v", err)
	}
	if _, err := c.Settle(t.Context(), SettleParams{ID: "x", Allow: true}); err == nil || !strings.Contains(err.Error(), "before "+MethodAttach) {
		t.Errorf("settling before attaching: %v", err)
	}
	if err := tell(t.Context(), c, "hub/nothing", nil); err == nil {
		t.Error("an unknown method is answered")
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Storage that cannot be used is told, clearly, to the front end that wants it.
func TestUnusableStorage(t *testing.T) {
	w := newWorld(t, writeOne)
	file := w.script // a file where a folder would have to be
	o := w.options("one")
	o.Settings.Storage = file + "/below"
	if _, _, err := Connect(t.Context(), o); err == nil || !strings.Contains(err.Error(), "the storage cannot be used") {
		t.Errorf("connecting: %v", err)
	}
	if err := os.MkdirAll(w.places().state, 0o700); err != nil {
		t.Fatal(err)
	}
	w.waitFor("the lock", func() bool {
		lock, err := takeLock(w.places().lockFile())
		if err == nil {
			lock.Close()
		}
		return err == nil
	})
	var e *Error
	_, _, err := Connect(t.Context(), o)
	if errors.As(err, &e) {
		t.Errorf("a hub answers: %v", e)
	}
}
