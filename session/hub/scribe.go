package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"
)

// maxNotes is how many notes wait for the scribe. A disk that is slower than
// that for long loses some of a transcript, and never holds up an agent.
const maxNotes = 20_000

// A scribe writes the transcripts and the history of a hub. Whoever has
// something to write down only puts it in line; one goroutine, started by
// newScribe, does the writing, blocks on the disk, and ends with close. What
// the transcripts and the history hold belongs to that goroutine alone.
type scribe struct {
	dir  string // <storage>/sessions
	root *os.Root
	now  func() time.Time
	log  *zap.Logger
	told func(TranscriptChange) // what was appended
	past *history

	done chan struct{}
	wake chan struct{} // capacity 1

	mu sync.Mutex
	// guarded by mu:
	queue  []func()
	lost   int // notes that found no room
	closed bool

	// The goroutine's own:
	dirty  []*transcript // with something to append
	failed bool          // that something cannot be written was logged
}

// newScribe starts a scribe that keeps its files in a storage.
func newScribe(storage string, now func() time.Time, log *zap.Logger, told func(TranscriptChange)) (*scribe, error) {
	dir := filepath.Join(storage, "sessions")
	if err := privateFolder(dir); err != nil {
		return nil, fmt.Errorf("the transcripts have no place: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("the transcripts have no place: %w", err)
	}
	s := &scribe{
		dir: dir, root: root, now: now, log: log, told: told,
		done: make(chan struct{}), wake: make(chan struct{}, 1),
	}
	s.past = openHistory(filepath.Join(storage, "sessions.jsonl"), s.dropped, s.warn)
	go s.run()
	return s, nil
}

// put puts something to do in line. It never waits.
func (s *scribe) put(do func()) {
	s.mu.Lock()
	switch {
	case s.closed:
	case len(s.queue) >= maxNotes:
		s.lost++
	default:
		s.queue = append(s.queue, do)
	}
	s.mu.Unlock()
	s.nudge()
}

func (s *scribe) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// ask has do done after everything that is in line has been written, and waits
// for it. It is not done when the scribe has been closed.
func (s *scribe) ask(do func()) {
	ready := make(chan struct{})
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.queue = append(s.queue, func() {
			defer close(ready)
			s.flush()
			do()
		})
	}
	s.mu.Unlock()
	if !closed {
		s.nudge()
		<-ready
	}
}

func (s *scribe) run() {
	defer close(s.done)
	for range s.wake {
		for {
			s.mu.Lock()
			batch, lost, closed := s.queue, s.lost, s.closed
			s.queue, s.lost = nil, 0
			s.mu.Unlock()
			if len(batch) == 0 {
				if closed {
					return
				}
				break
			}
			for _, do := range batch {
				do()
			}
			if lost > 0 {
				s.log.Warn("notes for the transcripts were dropped: the disk is too slow", zap.Int("notes", lost))
			}
			s.flush()
		}
	}
}

// flush appends what was written since: several notes at once, if they came
// faster than the disk takes them.
func (s *scribe) flush() {
	dirty := s.dirty
	s.dirty = nil
	for _, t := range dirty {
		if err := t.append(); err != nil {
			s.warn(err)
		}
	}
}

// close writes what is in line, and ends the scribe.
func (s *scribe) close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.nudge()
	<-s.done
	return s.root.Close()
}

// warn logs, once, that something cannot be written.
func (s *scribe) warn(err error) {
	if !s.failed {
		s.log.Warn("the transcripts or the list of sessions cannot be written", zap.Error(err))
	}
	s.failed = true
}

// dropped removes the transcript of a session that is not listed any more.
func (s *scribe) dropped(folder string) {
	if err := s.root.RemoveAll(folder); err != nil {
		s.warn(err)
	}
}
