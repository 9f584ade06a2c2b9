package session

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
)

// A Desk is what a session needs of the desk of approvals.
type Desk interface {
	Register(approvals.Request) approvals.Approval
	Settle(id string, d approvals.Decision) (approvals.Approval, []approvals.Note, error)
	Answered(id string, err error)
	WithdrawIn(session, requestID, reason string) (approvals.Approval, bool)
	Ran(toolUseID string, input jsontext.Value)
	Returned(toolUseID string, isError bool, text string) (approvals.Approval, bool)
}

// Options are what a session is made of.
type Options struct {
	Desk    Desk
	Starter Starter
	Dir     string // absolute: the workspace root
	Marker  string // marks the agent's environment
	Name    string // what the session's owner calls it, among others side by side
	// Notify is told how the session does after each change, in order, never
	// under a lock that Info needs. It must not call any other method.
	Notify func(Info)
	// Report tells the person something; id is the approval concerned, or "".
	Report func(warning bool, text, id string)
	// Observe sees every event of the agent, in order, after the session has
	// dealt with it. It may be nil, and must not block for long.
	Observe func(Event)
	// Clear is called when a new session replaces the old one: what lies
	// staged for settled approvals can go. It may be nil.
	Clear func()
}

// A Session is one conversation with an agent: its process, its mode, its id.
// It owns at most one Agent at a time. Its methods are safe for concurrent use.
//
// For each agent one goroutine, started with it, reads its events until the
// channel is closed; it blocks on the agent and on the desk, and whoever ends
// the agent waits for it. Answers to requests that the desk refuses by itself
// are written by short-lived goroutines, so that the reading never waits for
// an agent that does not read.
type Session struct {
	o Options

	// turnstile lets one at a time start or end an agent: a one-slot channel
	// and no mutex, because starting and ending wait for a process. Nothing
	// that settles, withdraws or reads events ever takes it.
	turnstile chan struct{}

	mu sync.Mutex
	// guarded by mu; never held while the agent, the desk or a callback is
	// called:
	info       Info
	live       *run
	resume     string  // session id to go on with after the agent was lost
	requested  Mode    // set by SetPermissions, applied by the next Send
	word       string  // the mode last reported, in the agent's words; "" unknown
	granted    string  // the mode that the person asked for or agreed to last; "" for none
	lost       string  // the mode that the agent before was in; "" unknown
	spent      float64 // cost of the conversation when the agent was started
	toldDenied bool    // the person was told that something was denied unasked
	toldPassed bool    // … and that something passed unasked
	settings   Settings
	env        []string
	background int
	closed     bool
	queue      []waiting // prompts that wait for the end of the turn
	sending    bool      // sendQueue is at it

	notifying sync.Mutex // orders the calls of Notify; taken before mu

	// tasks are what must not keep the events from being read: prompts that
	// are let through or sent again, and modes that are insisted on.
	tasks sync.WaitGroup
}

// ErrNoAgent is the answer to what needs a running agent when there is none.
var ErrNoAgent = errors.New("no agent runs")

// ErrClosed is the answer to everything after Close.
var ErrClosed = errors.New("the session is closed")

// New makes a session without an agent; the first Send starts one.
func New(o Options) *Session {
	if o.Notify == nil {
		o.Notify = func(Info) {}
	}
	if o.Report == nil {
		o.Report = func(bool, string, string) {}
	}
	return &Session{
		o:         o,
		turnstile: make(chan struct{}, 1),
		info:      Info{State: StateNone, Name: o.Name},
		settings:  DefaultSettings(),
	}
}

// Info says how the session does now.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// change mutates the state under the lock, keeps what follows from it true, and
// notifies.
func (s *Session) change(mutate func(*Info)) Info {
	s.notifying.Lock()
	defer s.notifying.Unlock()
	s.mu.Lock()
	before := s.info
	mutate(&s.info)
	s.info.Name, s.info.Pending = s.o.Name, 0
	if s.live != nil {
		s.info.Pending = len(s.live.pending)
	}
	s.info.Mode = s.modeName()
	s.info.NextMode = ""
	if m := s.requested; !m.IsZero() && m != s.liveMode() {
		s.info.NextMode = m.String()
	}
	s.info.Resumable = s.live == nil && s.resume != ""
	s.info.Queued = len(s.queue)
	after, due := s.info, s.due()
	s.mu.Unlock()
	if after != before {
		s.o.Notify(after)
	}
	if due {
		s.tasks.Go(s.sendQueue)
	}
	return after
}

// Send hands the agent a prompt, and starts an agent if none runs, with this
// environment and these settings. While a turn runs the prompt goes straight to
// the agent, which takes it up in that turn; where the mode that was asked for
// needs another agent, it waits for the end of the turn instead (Info.Queued).
// An error says why nothing was sent.
func (s *Session) Send(text string, env []string, settings Settings) (Info, error) {
	s.turnstile <- struct{}{}
	defer func() { <-s.turnstile }()
	p := waiting{text, env, settings}
	s.mu.Lock()
	behind := len(s.queue) > 0 && !s.closed
	s.mu.Unlock()
	if behind {
		return s.enqueue(p), nil
	}
	info, err := s.send(p)
	if busy(err) {
		s.o.Report(false, fmt.Sprintf("the prompt waits for the end of the turn, since the agent has to be started again to be in mode %s", info.NextMode), "")
		return s.enqueue(p), nil
	}
	return info, err
}

// send is Send without a queue. The caller has the turnstile.
func (s *Session) send(p waiting) (Info, error) {
	text, env, settings := p.text, p.env, p.settings
	s.mu.Lock()
	r, closed := s.live, s.closed
	s.mu.Unlock()
	if closed {
		return s.Info(), ErrClosed
	}
	if r != nil {
		var err error
		if r, err = s.applyMode(r); err != nil {
			return s.Info(), err
		}
	}
	if r == nil {
		var err error
		if r, err = s.start(env, settings, false); err != nil {
			return s.Info(), err
		}
	}
	s.mu.Lock()
	s.settings.TellAmendments = settings.TellAmendments
	r.prompted = true
	late := r.over // what is sent again is settled by now
	if !r.started && !late {
		r.prompts = append(r.prompts, text)
	}
	s.mu.Unlock()
	if err := s.hand(r, text); err != nil {
		if errors.Is(err, ErrGone) {
			<-r.done // its last event says why
			s.mu.Lock()
			afresh := r.afresh && !late
			s.mu.Unlock()
			if afresh {
				return s.Info(), nil
			}
			if info := s.Info(); info.Error != "" {
				return info, fmt.Errorf("the prompt was not sent: %s", info.Error)
			}
		}
		return s.Info(), fmt.Errorf("the prompt was not sent: %w", err)
	}
	return s.change(func(i *Info) {
		// Its turn may have come and gone by now.
		if s.live == r && i.State == StateIdle && r.prompted {
			i.State = StateRunning
		}
	}), nil
}

// sendAfresh sends prompts again, to a new conversation: the one that they were
// meant for cannot be gone on with. The CLI writes a conversation down with a
// delay, so one that was killed early is unknown to the next process.
func (s *Session) sendAfresh(prompts, env []string, settings Settings) {
	s.o.Report(true, "the earlier conversation cannot be gone on with, because the agent does not know it any more; a new one was started", "")
	for i, text := range prompts {
		if _, err := s.Send(text, env, settings); err != nil {
			s.o.Report(true, fmt.Sprintf("%s: %v", notSent(prompts[i:]), err), "")
			return
		}
	}
}

// Settle decides an approval: the desk checks and records, then the agent gets
// the answer. An error from the desk means that nothing was decided here.
func (s *Session) Settle(id string, d approvals.Decision) (approvals.Approval, []approvals.Note, error) {
	if m, ok := ModeNamed(d.Mode); ok {
		d.Mode = cmp.Or(s.wordOf(m), d.Mode) // the desk knows the agent's words
	}
	d.TellLater = true
	a, notes, err := s.o.Desk.Settle(id, d)
	if err != nil {
		return a, notes, err
	}
	request := a.Request.ID
	s.mu.Lock()
	r := s.live
	if r != nil {
		if _, waits := r.pending[request]; !waits {
			r = nil // another agent's, lost just now
		} else {
			delete(r.pending, request) // answered, it may be asked again
		}
	}
	tell := s.settings.TellAmendments && tellable(a)
	s.mu.Unlock()
	s.agreed(a)

	err = ErrNoAgent
	if r != nil {
		if err = r.agent.Answer(request, a.Result); err == nil && tell {
			s.tellAmendment(r, a)
		}
	}
	s.o.Desk.Answered(a.ID, err)
	s.change(func(*Info) {})
	if err != nil {
		notes = append(notes, approvals.Note{Warning: true, Text: fmt.Sprintf("the answer did not reach the agent: %v", err)})
	}
	return a, notes, nil
}

// Interrupt ends the running turn; what is pending is then withdrawn by the
// agent. A prompt that still waits, for the agent's mode or for the end of the
// turn, is not sent.
func (s *Session) Interrupt() error {
	s.dropQueue()
	s.mu.Lock()
	r := s.live
	text := ""
	if r != nil && len(r.held) > 0 {
		text = notSent(r.held)
		r.held, r.prompts, r.prompted = nil, nil, false
	}
	s.mu.Unlock()
	switch {
	case r == nil:
		return ErrNoAgent
	case text != "":
		s.o.Report(false, text, "")
		s.change(func(i *Info) {
			if s.live == r && i.State == StateStarting {
				i.State = StateIdle
			}
		})
		return nil
	}
	return r.agent.Interrupt()
}

// Renew makes room for a new conversation: the agent is ended, what it asked is
// withdrawn, and the next Send starts a fresh one.
func (s *Session) Renew() (Info, error) {
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
	info := s.change(func(i *Info) {
		*i = Info{State: StateNone}
		s.forget()
	})
	if s.o.Clear != nil {
		s.o.Clear()
	}
	return info, err
}

// forget is the end of a conversation: nothing of it holds for the next. Call
// with mu held.
func (s *Session) forget() {
	s.resume, s.word, s.granted, s.lost, s.requested = "", "", "", "", Mode{}
	s.toldDenied, s.toldPassed = false, false
}

// Close ends the agent for good. What it asked is withdrawn, never decided.
func (s *Session) Close() error {
	defer s.tasks.Wait()
	s.turnstile <- struct{}{}
	defer func() { <-s.turnstile }()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.dropQueue()
	err := s.end()
	s.change(func(i *Info) { *i = Info{State: StateNone, ID: i.ID, CostUSD: i.CostUSD, Turns: i.Turns} })
	return err
}
