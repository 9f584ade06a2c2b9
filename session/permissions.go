package session

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"

	"countersign/approvals"
)

// This file is about the modes of a Session: which one it is in, which one it
// shall be in, and which one it must not be looser than.
//
// Three things are kept apart, all in the agent's words. word is what the agent
// that runs reported last. granted is the mode that the person has asked for or
// agreed to last, by a setting, a command, or an allow that sets one: a bound
// that no report may exceed without being told and set right. lost is what the
// agent before this one reported last: whoever goes on starts no looser.

// ErrNoMode is the error of an agent that has no such mode; agents wrap it.
// Starting it again in that mode would not help.
var ErrNoMode = errors.New("the agent has no such mode")

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
	s.change(func(*Info) { s.requested = m })
	return nil
}

// SetMode is SetPermissions, applied at once where an agent runs and takes it.
// Info.NextMode says that it did not, and that the next Send applies it. An
// agent that does not take a tighter mode is ended rather than left running in
// a looser one than was asked for.
func (s *Session) SetMode(name string) (Info, error) {
	s.turnstile <- struct{}{}
	defer func() { <-s.turnstile }()
	// Only now: it is for the conversation that there is after what others do.
	if err := s.SetPermissions(name); err != nil {
		return s.Info(), err
	}
	s.mu.Lock()
	r, closed := s.live, s.closed
	s.mu.Unlock()
	if closed {
		return s.Info(), ErrClosed
	}
	if r == nil {
		return s.Info(), nil
	}
	next, err := s.applyMode(r)
	if busy(err) {
		s.o.Report(false, err.Error(), "")
		return s.Info(), nil
	}
	if err == nil && next == nil {
		s.o.Report(false, fmt.Sprintf("the agent has to be started again to be in mode %s: the next prompt does that, in the same conversation", name), "")
	}
	return s.Info(), err
}

// applyMode brings a running agent into the mode that SetPermissions asked for:
// live where the agent takes it, otherwise by ending it, so that Send starts it
// again in that mode, with the same session. It returns the run to go on with,
// nil for a new one. The caller has the turnstile.
func (s *Session) applyMode(r *run) (*run, error) {
	s.mu.Lock()
	requested, before := s.requested, s.word
	if requested.IsZero() {
		s.mu.Unlock()
		return r, nil
	}
	word := s.wordOf(requested)
	needed := ModeChange{Live: s.liveMode()}.RequiresRestart(requested)
	tighter := before == "" || s.looser(before, word)
	r.asked[word] = true
	if word != "" && (!needed || tighter) {
		s.granted = word // nothing looser from now on, whatever becomes of the change
	}
	starting := !r.checked && word != ""
	if starting { // it is asked for before the first prompt leaves
		r.wanted, s.granted = word, word
	}
	s.mu.Unlock()
	switch {
	case starting:
		return r, nil
	case word == "":
		s.change(func(*Info) { s.requested = Mode{} })
		return r, fmt.Errorf("this agent has no mode %v", requested)
	case !needed:
		s.change(func(*Info) { s.requested = Mode{} })
		return r, nil
	}
	err := r.agent.SetMode(word)
	if err == nil {
		s.change(func(*Info) {
			s.granted, s.requested = word, Mode{}
			if s.word == before { // else it has reported meanwhile
				s.word = word
			}
		})
		return r, nil
	}
	info := s.Info()
	working := info.State == StateRunning || info.Pending > 0
	switch {
	case tighter && working:
		s.o.Report(true, fmt.Sprintf("the agent did not take the tighter mode %v and was ended in the middle of its turn: %v", requested, err), "")
	case tighter:
	case errors.Is(err, ErrNoMode):
		s.change(func(*Info) { s.requested = Mode{} })
		return r, fmt.Errorf("the mode stays %s: %w", info.Mode, err)
	case working:
		return r, busyError{fmt.Errorf("the mode cannot become %v while a turn runs, it is taken with the first prompt after that: %w", requested, err)}
	}
	return nil, s.end()
}

// observed is told of every mode that an agent reports; hello says that the
// agent introduces itself by it, and the first time it does so the prompts are
// let through that were held back until then.
func (s *Session) observed(r *run, word string, hello bool) {
	s.mu.Lock()
	first, bound := hello && !r.checked, s.bound(r)
	same := bound == "" || word != "" && s.sameMode(word, bound)
	loose := !same && word != "" && s.looser(word, bound)
	fix := !r.fixing && (loose || first && !same)
	r.fixing = r.fixing || fix
	odd := ""
	if r.checked && !r.asked[word] {
		odd = word
	}
	s.mu.Unlock()
	s.change(func(*Info) {
		if word != "" {
			s.word = word
		}
		if m := s.requested; !m.IsZero() && m == s.liveMode() {
			s.requested = Mode{}
		}
	})
	switch {
	case fix:
		s.tasks.Go(func() { s.insist(r, odd) })
	case first && same:
		s.tasks.Go(func() {
			if !s.release(r, bound) && s.fix(r) {
				s.insist(r, "")
			}
		})
	}
}

// fix says that whoever calls it is to call insist, and that nobody else does.
func (s *Session) fix(r *run) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	fix := !r.fixing
	r.fixing = true
	return fix
}

// insist asks an agent for the mode that it should be in. One that stays in a
// looser one is ended: it would decide by itself what should be asked. odd is a
// mode that it went into although nobody asked for it.
func (s *Session) insist(r *run, odd string) {
	for {
		s.mu.Lock()
		bound, before := s.bound(r), s.word
		s.mu.Unlock()
		err := r.agent.SetMode(bound)

		s.mu.Lock()
		if s.bound(r) != bound {
			s.mu.Unlock()
			continue // another one was asked for meanwhile
		}
		if err == nil && s.word == before {
			s.word = bound // it agrees and reports nothing
		}
		now := s.word
		loose, same := now == "" || s.looser(now, bound), s.sameMode(now, bound)
		r.fixing = false
		s.mu.Unlock()
		s.change(func(*Info) {
			if !loose {
				s.requested = Mode{} // more cannot be had
			}
		})
		switch {
		case errors.Is(err, ErrGone):
		case loose:
			s.endLoose(r, now, bound)
		case same:
			if odd != "" {
				s.o.Report(true, fmt.Sprintf("the agent went into mode %q by itself, which is looser than %q as asked; it was put back", odd, bound), "")
			}
			if !s.release(r, bound) && s.fix(r) {
				continue
			}
		default:
			s.o.Report(true, fmt.Sprintf("the agent runs in mode %q, not in %q as asked%s", now, bound, because(err)), "")
			if !s.release(r, bound) && s.fix(r) {
				continue
			}
		}
		return
	}
}

// bound is the mode that an agent must not be looser than: until it has shown
// its own, the one that it was started in. Call with mu held.
func (s *Session) bound(r *run) string {
	if r.checked {
		return s.granted
	}
	return r.wanted
}

// endLoose ends an agent that stays in a looser mode than it may.
func (s *Session) endLoose(r *run, now, bound string) {
	s.turnstile <- struct{}{}
	defer func() { <-s.turnstile }()
	why := fmt.Sprintf("the agent was ended: it runs in mode %q, which is looser than %q as asked", now, bound)
	if now == "" {
		why = fmt.Sprintf("the agent was ended: it does not say in which mode it runs, and %q was asked for", bound)
	}
	s.mu.Lock()
	gone := s.live != r
	r.failed = why
	s.mu.Unlock()
	if !gone {
		_ = s.end() // its last event says it all
	}
}

func because(err error) string {
	if err == nil {
		return ""
	}
	return ": " + err.Error()
}

// agreed is told of a decision before its answer leaves. An allow that sets a
// mode is the person's word for it; a plan that was declined is the person's
// word for planning on.
func (s *Session) agreed(a approvals.Approval) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.Surface == approvals.SurfacePlan && a.State == approvals.Denied {
		if m, ok := s.modeOf(a.Request.Mode); ok && m == Plan {
			s.granted = a.Request.Mode
		}
		return
	}
	for _, u := range a.Result.UpdatedPermissions {
		var set struct {
			Type string `json:"type"`
			Mode string `json:"mode"`
		}
		if json.Unmarshal(u, &set) == nil && set.Type == "setMode" && set.Mode != "" {
			s.granted, s.requested = set.Mode, Mode{}
			if s.live != nil {
				s.live.asked[set.Mode] = true
			}
		}
	}
}

// startWord is the mode to start in, in the agent's words: the one that was
// asked for; else the one that holds for the conversation already, or that of
// the settings, which may be a mode's name or a word of the agent, but nothing
// looser than the agent was in when it was lost. Empty means that nothing is
// established: the flag is left out, and the agent follows the person's own
// settings. Call with mu held.
func (s *Session) startWord(settings Settings) string {
	if m := s.requested; !m.IsZero() {
		return cmp.Or(s.wordOf(m), m.String()) // the agent will say that it has no such mode
	}
	word := s.granted
	if word == "" {
		word = settings.PermissionMode
		if m, ok := ModeNamed(word); ok {
			word = cmp.Or(s.wordOf(m), m.String())
		}
	}
	if word == "" || s.lost != "" && s.looser(word, s.lost) {
		return s.lost
	}
	return word
}

// looser says whether more passes without asking in mode a than in mode b, both
// in the agent's words. What nobody here knows counts as the loosest. Call with
// mu held.
func (s *Session) looser(a, b string) bool { return !s.sameMode(a, b) && s.rank(a) > s.rank(b) }

func (s *Session) rank(word string) int {
	if m, ok := s.modeOf(word); ok {
		return int(m.n)
	}
	if t, ok := s.o.Starter.(interface{ Tight(word string) bool }); ok && t.Tight(word) {
		return int(AskBeforeEdit.n)
	}
	return len(modeNames)
}

func (s *Session) sameMode(a, b string) bool {
	if a == b {
		return true
	}
	ma, oka := s.modeOf(a)
	mb, okb := s.modeOf(b)
	return oka && okb && ma == mb
}

// liveMode is the mode last reported, no mode where it is unknown or has no
// name here. Call with mu held.
func (s *Session) liveMode() Mode {
	m, _ := s.modeOf(s.word)
	return m
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

func (s *Session) modeOf(word string) (Mode, bool) {
	if w, ok := s.o.Starter.(ModeWords); ok && word != "" {
		return w.ModeOf(word)
	}
	return Mode{}, false
}
