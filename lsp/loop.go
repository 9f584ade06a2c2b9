package lsp

import (
	"context"
	"sync"
)

// A loop runs functions one after the other, in the order in which they were
// pushed. Its queue has no bound: whoever pushes never waits.
type loop struct {
	wake chan struct{} // capacity 1

	mu     sync.Mutex
	queue  []func()
	closed bool
}

func newLoop() *loop { return &loop{wake: make(chan struct{}, 1)} }

// push hands f to the loop. After the end it is dropped, and push says so.
func (l *loop) push(f func()) bool {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return false
	}
	l.queue = append(l.queue, f)
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
	return true
}

// run runs what is pushed until ctx ends; after each batch it calls rest.
func (l *loop) run(ctx context.Context, rest func()) {
	defer func() {
		l.mu.Lock()
		l.closed, l.queue = true, nil
		l.mu.Unlock()
	}()
	for {
		l.mu.Lock()
		batch := l.queue
		l.queue = nil
		l.mu.Unlock()
		if len(batch) == 0 {
			select {
			case <-l.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		for i, f := range batch {
			batch[i] = nil
			f()
		}
		rest()
	}
}
