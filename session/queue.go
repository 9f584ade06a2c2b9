package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// This file is about prompts that wait for the end of a turn. Mostly none does:
// a running agent takes a prompt into its turn. But where the mode that was
// asked for needs the agent to be started again, the turn is not cut off, and
// the prompt is not read in the mode of before.

// A waiting prompt is one that Send has taken and nobody has read.
type waiting struct {
	text     string
	env      []string
	settings Settings
}

// A busyError says that a mode needs a restart while a turn runs.
type busyError struct{ error }

func (e busyError) Unwrap() error { return e.error }

// busy tells whether an error is for the moment only.
func busy(err error) bool { return errors.As(err, new(busyError)) }

// enqueue keeps a prompt until the session is idle.
func (s *Session) enqueue(p waiting) Info {
	return s.change(func(*Info) { s.queue = append(s.queue, p) })
}

// due tells whether what waits can go now, and marks it as under way. Call with
// mu held.
func (s *Session) due() bool {
	due := len(s.queue) > 0 && !s.sending && s.info.State == StateIdle && s.info.Pending == 0
	s.sending = s.sending || due
	return due
}

// sendQueue sends what has waited, in order.
func (s *Session) sendQueue() {
	s.turnstile <- struct{}{}
	defer func() { <-s.turnstile }()
	for {
		p, ok := s.dequeue()
		if !ok {
			return
		}
		_, err := s.send(p)
		if busy(err) { // another turn has begun by itself; it may have ended again
			s.change(func(*Info) { s.queue, s.sending = slices.Insert(s.queue, 0, p), false })
			return
		}
		if err != nil {
			s.o.Report(true, fmt.Sprintf("%s: %v", notSent([]string{p.text}), err), "")
		}
	}
}

// dequeue takes the first prompt that waits: from then on it is being sent, and
// cannot be taken back any more. Without one, nothing is being sent.
func (s *Session) dequeue() (p waiting, ok bool) {
	s.change(func(*Info) {
		if ok = len(s.queue) > 0; ok {
			p, s.queue = s.queue[0], s.queue[1:]
		}
		s.sending = ok
	})
	return p, ok
}

// dropQueue takes back what waits, and says so.
func (s *Session) dropQueue() {
	if text := s.unqueue(); text != "" {
		s.o.Report(false, text, "")
	}
}

// unqueue takes back what waits, and returns it in words: "" if nothing does.
func (s *Session) unqueue() string {
	var queue []waiting
	s.change(func(*Info) { queue, s.queue = s.queue, nil })
	var texts []string
	for _, p := range queue {
		texts = append(texts, p.text)
	}
	return notSent(texts)
}

// notSent says which prompts were not sent: "" if there are none.
func notSent(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	var quoted []string
	for _, text := range texts {
		quoted = append(quoted, fmt.Sprintf("%q", shortened(text, 200)))
	}
	return "not sent: " + strings.Join(quoted, ", ")
}

// shortened is the beginning of a text, of no more than n characters.
func shortened(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n]) + "…"
	}
	return text
}
