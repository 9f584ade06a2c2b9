package session

import (
	"fmt"
)

// RequiresRestartFor says whether the agent must be started again to be in the
// requested mode, were the mode a thing of its start only. It compares with the
// mode that the agent last reported, not with the one it was started in: agents
// change mode by themselves, when a plan is approved for example.
func (s *Session) RequiresRestartFor(requested Mode) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ModeChange{Live: s.liveMode()}.RequiresRestart(requested)
}

// SetPermissions records the mode that the session shall have from the next
// Send on. It fails on a name that is no mode.
func (s *Session) SetPermissions(name string) error {
	m, ok := ModeNamed(name)
	if !ok {
		return fmt.Errorf("there is no permission mode %q; the modes are %v", name, Modes())
	}
	s.mu.Lock()
	s.requested = m
	s.mu.Unlock()
	return nil
}

// SetMode is SetPermissions, applied at once to an agent that runs and takes it.
func (s *Session) SetMode(name string) (Info, error) {
	if err := s.SetPermissions(name); err != nil {
		return s.Info(), err
	}
	s.turnstile <- struct{}{}
	defer func() { <-s.turnstile }()
	s.mu.Lock()
	r, closed := s.live, s.closed
	s.mu.Unlock()
	if closed {
		return s.Info(), ErrClosed
	}
	if r != nil {
		if _, err := s.applyMode(r); err != nil {
			return s.Info(), err
		}
	}
	return s.change(func(*Info) {}), nil
}

// applyMode brings a running agent into the mode that SetPermissions asked for:
// live where the agent takes it, otherwise by ending it, so that Send starts it
// again in that mode, with the same session. It returns the run to go on with,
// nil for a new one. The caller has the turnstile.
func (s *Session) applyMode(r *run) (*run, error) {
	s.mu.Lock()
	requested := s.requested
	word := s.wordOf(requested)
	s.mu.Unlock()
	if !s.RequiresRestartFor(requested) {
		return r, nil
	}
	if word == "" {
		return r, fmt.Errorf("this agent has no mode %v", requested)
	}
	err := r.agent.SetMode(word)
	if err == nil {
		s.change(func(*Info) { s.word = word })
		return r, nil
	}
	if info := s.Info(); info.State == StateRunning || info.Pending > 0 {
		return r, fmt.Errorf("the mode cannot become %v while a turn runs: %w", requested, err)
	}
	return nil, s.end()
}

// checkMode compares the first mode that an agent reports with the one that it
// was started in, and tells the person when they differ.
func (s *Session) checkMode(r *run, word string) {
	if word == "" {
		return
	}
	s.mu.Lock()
	wanted := r.wanted
	r.wanted = ""
	s.mu.Unlock()
	if wanted == "" || wanted == word {
		return
	}
	if w, ok := s.o.Starter.(ModeWords); ok {
		a, knownA := w.ModeOf(wanted)
		b, knownB := w.ModeOf(word)
		if knownA && knownB && a == b {
			return
		}
	}
	s.o.Report(true, fmt.Sprintf("the agent runs in mode %q, not in %q as asked", word, wanted), "")
}

// liveMode is the mode last reported, no mode where it is unknown or has no
// name here. Call with mu held.
func (s *Session) liveMode() Mode {
	if w, ok := s.o.Starter.(ModeWords); ok && s.word != "" {
		m, _ := w.ModeOf(s.word)
		return m
	}
	return Mode{}
}

// modeName is what people are shown: the mode's name, or the agent's own word
// for what is no mode here. Call with mu held.
func (s *Session) modeName() string {
	if m := s.liveMode(); !m.IsZero() {
		return m.String()
	}
	return s.word
}

func (s *Session) wordOf(m Mode) string {
	if w, ok := s.o.Starter.(ModeWords); ok && !m.IsZero() {
		return w.WordOf(m)
	}
	return ""
}

// startWord is the mode to start in, in the agent's words: the one that was
// asked for, else the one of the settings, which may be a mode's name or a word
// of the agent. Empty means that the flag is left out, and the agent follows
// the person's own settings. Call with mu held.
func (s *Session) startWord(settings Settings) string {
	m := s.requested
	if m.IsZero() {
		var ok bool
		if m, ok = ModeNamed(settings.PermissionMode); !ok {
			return settings.PermissionMode
		}
	}
	if word := s.wordOf(m); word != "" {
		return word
	}
	return m.String()
}
