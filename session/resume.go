package session

import "errors"

// ErrNothingToResume is the answer to Resume where no earlier session is known.
var ErrNothingToResume = errors.New("there is no earlier session to go on with")

// Resume goes on with a session of the agent's by its id; with "", with the one
// that this session was before its agent ended. An agent is started at once, so
// that it shows whether it still knows that session. What runs already under
// that id goes on as it is; another conversation is ended first.
func (s *Session) Resume(id string, env []string, settings Settings) (Info, error) {
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
			*i = Info{State: StateNone, ID: id}
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
