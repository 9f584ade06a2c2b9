package session

import "errors"

// ErrNothingToResume is the answer to Resume where no earlier session is known.
var ErrNothingToResume = errors.New("there is no earlier session to go on with")

// A Past names a conversation that can be gone on with.
type Past struct {
	ID   string // the agent's; "" is the one that the session was in before its agent ended
	Mode string // as Info had it last; "" unknown

	CostUSD float64 // as Info had them last
	Turns   int
}

// Resume goes on with an earlier conversation. An agent is started at once, so
// that it shows whether it still knows it. What runs already under that id goes
// on as it is; another conversation is ended first.
//
// The agent is started in no looser mode than the conversation was in last.
// That it may ask for nothing at all has to be asked for anew.
func (s *Session) Resume(was Past, env []string, settings Settings) (Info, error) {
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
		return s.Info(), ErrClosed
	case same:
		return s.Info(), nil
	case id == "":
		return s.Info(), ErrNothingToResume
	}
	if err := s.end(); err != nil {
		return s.Info(), err
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
	_, err := s.start(env, settings)
	return s.Info(), err
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
	err := s.end()
	return s.Info(), err
}
