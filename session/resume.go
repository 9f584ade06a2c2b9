package session

import (
	"errors"
	"time"
)

// upWithin is how long Resume waits for the agent to say that it is up. The
// CLI takes a second or two, on a slow machine several.
const upWithin = 20 * time.Second

// ErrNothingToResume is the answer to Resume where no earlier session is known.
var ErrNothingToResume = errors.New("there is no earlier session to go on with")

// A Past names a conversation that can be gone on with.
type Past struct {
	ID   string // the agent's; "" is the one that the session was in before its agent ended
	Mode string // as Info had it last; "" unknown

	CostUSD float64 // as Info had them last
	Turns   int
}

// Resume goes on with an earlier conversation. An agent is started at once, and
// waited for, so that it shows whether it still knows it: an error says that it
// does not, or that it ended for another reason. One that says nothing for 20 s
// is left to start. What runs already under that id goes on as it is; another
// conversation is ended first.
//
// The agent is started in no looser mode than the conversation was in last.
// That it may ask for nothing at all has to be asked for anew.
func (s *Session) Resume(was Past, env []string, settings Settings) (Info, error) {
	r, err := s.startAgain(was, env, settings)
	if r == nil || err != nil {
		return s.Info(), err
	}
	return s.awaitUp(r)
}

// startAgain starts an agent for an earlier conversation, and returns none if
// one is at it already.
func (s *Session) startAgain(was Past, env []string, settings Settings) (*run, error) {
	id := was.ID
	s.turnstile <- struct{}{}
	defer func() { <-s.turnstile }()
	s.mu.Lock()
	closed, running := s.closed, s.live != nil
	if id == "" {
		id = s.resume
	}
	same := running && (id == "" || id == s.info.ID)
	s.mu.Unlock()
	switch {
	case closed:
		return nil, ErrClosed
	case same:
		return nil, nil
	case id == "":
		return nil, ErrNothingToResume
	}
	s.dropQueue()
	if err := s.end(); err != nil {
		return nil, err
	}
	s.change(func(i *Info) {
		if i.ID != id {
			requested := s.requested
			*i = Info{State: StateNone, ID: id, CostUSD: was.CostUSD, Turns: was.Turns}
			s.forget()
			s.requested = requested
			if m, ok := ModeNamed(was.Mode); !ok {
				s.lost = was.Mode // a word of the agent's own
			} else if m != Bypass {
				s.lost = s.wordOf(m)
			}
		}
		s.resume = id
	})
	return s.start(env, settings, true)
}

// awaitUp waits until an agent is up or has ended, or for as long as one may
// take. Whoever ends it meanwhile has their way.
func (s *Session) awaitUp(r *run) (Info, error) {
	late := time.NewTimer(upWithin)
	defer late.Stop()
	select {
	case <-r.up:
	case <-r.done:
	case <-late.C:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.awaited = false
	if r.gone != "" {
		return s.info, errors.New(r.gone)
	}
	return s.info, nil
}

// Stop ends the agent. What it asked is withdrawn, never decided; the next Send
// or Resume goes on with the same session.
func (s *Session) Stop() (Info, error) {
	s.turnstile <- struct{}{}
	defer func() { <-s.turnstile }()
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return s.Info(), ErrClosed
	}
	s.dropQueue()
	err := s.end()
	return s.Info(), err
}
