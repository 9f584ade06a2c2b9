package rpc

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"countersign/session/nowait"
)

var errQueueClosed = errors.New("the connection is closed")

// A queue holds frames until one goroutine has written them, so that whoever
// sends never waits for the peer to read. What the stream takes at once is
// written by the sender itself: waking the goroutine costs more than the write,
// and both lie between an agent's question and the person.
type queue struct {
	w     io.Writer
	now   func([]byte) (int, error) // writes without waiting, if only a part; nil: the stream cannot
	limit int                       // bytes; more than that waiting ends the connection

	wake    chan struct{} // capacity 1: there is something to do
	drained chan struct{} // closed when run has returned
	failed  func(error)   // called at most once, without the lock

	mu      sync.Mutex
	frames  [][]byte
	size    int
	writing bool // run is at it: nobody else may write
	closed  bool
}

func newQueue(w io.Writer, limit int, failed func(error)) *queue {
	return &queue{w: w, now: nowait.Writer(w), limit: limit, wake: make(chan struct{}, 1), drained: make(chan struct{}), failed: failed}
}

// put takes a frame over. It never blocks.
func (q *queue) put(frame []byte) error {
	q.mu.Lock()
	if q.closed {
		q.mu.Unlock()
		return errQueueClosed
	}
	if q.size+len(frame) > q.limit && q.size > 0 {
		waiting := q.size
		q.closed = true
		q.frames, q.size = nil, 0
		q.mu.Unlock()
		q.failed(fmt.Errorf("the peer does not read: %d bytes wait for it", waiting))
		q.stir()
		return errQueueClosed
	}
	if q.now != nil && !q.writing && len(q.frames) == 0 {
		n, err := q.now(frame)
		if err == nil && n == len(frame) {
			q.mu.Unlock()
			return nil
		}
		frame = frame[n:] // an error is met again by run
	}
	q.frames = append(q.frames, frame)
	q.size += len(frame)
	q.mu.Unlock()
	q.stir()
	return nil
}

// close lets no more frames in; those already here are still written.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.stir()
}

func (q *queue) stir() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run writes until the queue is closed and empty, or a write fails.
func (q *queue) run() {
	defer close(q.drained)
	for {
		q.mu.Lock()
		frames, closed := q.frames, q.closed
		q.frames, q.writing = nil, len(q.frames) > 0
		q.mu.Unlock()
		if len(frames) == 0 {
			if closed {
				return
			}
			<-q.wake
			continue
		}
		for i, frame := range frames {
			_, err := q.w.Write(frame)
			frames[i] = nil
			if err != nil {
				q.mu.Lock()
				q.closed = true
				q.frames, q.size = nil, 0
				q.mu.Unlock()
				q.failed(fmt.Errorf("writing to the peer: %w", err))
				return
			}
			q.mu.Lock()
			q.size = max(0, q.size-len(frame))
			q.mu.Unlock()
		}
	}
}
