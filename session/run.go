package session

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// silentAfter is how long an agent may take to say that it is up before the
// person is told what is waited for.
const silentAfter = 30 * time.Second

// A run is one agent from start to end.
type run struct {
	agent Agent
	up    chan struct{} // closed when it has said that it is up
	done  chan struct{} // closed when its last event has been dealt with

	// guarded by Session.mu:
	pending  map[string]string // request id → id of the session at that time; what waits for a decision
	names    map[string]string // subagents by id
	tools    map[string]string // names of the tools that are used now; the reading goroutine's own
	started  bool              // a turn has begun: the session exists for the agent
	prompted bool              // a prompt was sent that no turn has taken up yet
	resumes  string            // the session it was to go on with
	prompts  []string          // sent before its first turn began
	afresh   bool              // these are sent again, to another agent
	silent   *time.Timer       // tells that the agent says nothing
	isUp     bool              // up is closed; the reading goroutine's own
	awaited  bool              // Resume waits for up, and tells if it ends instead
	gone     string            // how it ended, if that was told by Resume
	ending   bool              // Close, Renew, Stop or a change of mode ends it
	failed   string            // why it was ended, for people, if not at their wish
	wanted   string            // the mode it was started in; "" if it was not told any
	before   string            // Session.granted before its start
	checked  bool              // its mode was found to be right: prompts are let through
	fixing   bool              // insist is at it
	asked    map[string]bool   // the modes that it was asked for since
	held     []string          // prompts that wait for that
	over     bool              // its last event has come: it is handed no prompts any more

	// sending orders prompts; held while the agent takes one, and taken
	// before Session.mu.
	sending sync.Mutex

	answers sync.WaitGroup
}

// start starts an agent; awaited says that the caller tells how that went. The
// caller has the turnstile.
func (s *Session) start(env []string, settings Settings, awaited bool) (*run, error) {
	s.mu.Lock()
	resume := s.resume
	word := s.startWord(settings)
	s.settings, s.env = settings, env
	before := s.granted
	if !s.requested.IsZero() || s.granted == "" {
		s.granted = word
	}
	s.mu.Unlock()
	s.change(func(i *Info) { *i = Info{State: StateStarting, ID: resume, CostUSD: i.CostUSD, Turns: i.Turns} })

	agent, err := s.o.Starter.Start(StartOptions{
		Settings: settings, Dir: s.o.Dir, Env: env, Mode: word, Resume: resume, Marker: s.o.Marker,
	})
	if err != nil {
		s.change(func(i *Info) {
			*i = Info{State: StateEnded, ID: resume, Error: err.Error(), CostUSD: i.CostUSD, Turns: i.Turns}
			s.granted = before
		})
		return nil, err
	}
	r := &run{
		agent: agent, up: make(chan struct{}), done: make(chan struct{}), wanted: word, before: before, checked: word == "", resumes: resume,
		pending: make(map[string]string), names: make(map[string]string), tools: make(map[string]string), asked: map[string]bool{word: true}, awaited: awaited,
	}
	s.change(func(*Info) {
		s.live = r
		s.word = "" // nobody has observed it yet
		s.background = 0
		s.spent = s.info.CostUSD
	})
	r.silent = time.AfterFunc(silentAfter, func() {
		select {
		case <-r.up:
		case <-r.done:
		default:
			s.o.Report(true, fmt.Sprintf("the agent has said nothing since it was started %v ago; stop the session if it stays so, and see whether its command works in a terminal", silentAfter), "")
		}
	})
	go s.follow(r)
	return r, nil
}

// hand gives a prompt to the agent, or keeps it until the agent's mode has been
// checked: a prompt that is read in a looser mode than asked for cannot be
// taken back.
func (s *Session) hand(r *run, text string) error {
	r.sending.Lock()
	defer r.sending.Unlock()
	s.mu.Lock()
	if r.over {
		s.mu.Unlock()
		return ErrGone
	}
	hold := !r.checked
	if hold {
		r.held = append(r.held, text)
	}
	s.mu.Unlock()
	if hold {
		return nil
	}
	return r.agent.Send(text)
}

// release lets the prompts through that hand has kept, now that the agent is in
// the mode that it was bound to, or in a tighter one. It does not where another
// one was asked for meanwhile.
func (s *Session) release(r *run, bound string) bool {
	r.sending.Lock()
	defer r.sending.Unlock()
	s.mu.Lock()
	if !r.checked && s.bound(r) != bound {
		s.mu.Unlock()
		return false
	}
	held := r.held
	r.checked, r.held = true, nil
	s.mu.Unlock()
	for i, text := range held {
		err := r.agent.Send(text)
		if errors.Is(err, ErrGone) {
			<-r.done
			s.mu.Lock()
			afresh := r.afresh
			s.mu.Unlock()
			if !afresh {
				s.o.Report(true, notSent(held[i:]), "")
			}
			return true
		}
		if err != nil {
			s.o.Report(true, fmt.Sprintf("%s: %v", notSent(held[i:i+1]), err), "")
		}
	}
	return true
}

// end ends the agent, if one runs, and waits until its last event has been
// dealt with. The caller has the turnstile.
func (s *Session) end() error {
	s.mu.Lock()
	r := s.live
	if r != nil {
		r.ending = true
	}
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	err := r.agent.Close()
	<-r.done
	return err
}
