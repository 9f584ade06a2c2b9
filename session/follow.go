package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"countersign/approvals"
)

// follow is the goroutine of one agent: it deals with its events in order,
// until the last.
func (s *Session) follow(r *run) {
	defer close(r.done)
	gone := Exited{Code: -1, Explanation: "the agent was lost"}
	for e := range r.agent.Events() {
		switch e := e.(type) {
		case Exited:
			gone = e // when the channel is closed, so that nothing can come after it
			continue
		default:
			s.take(r, e)
		}
		if s.o.Observe != nil {
			s.o.Observe(e)
		}
	}
	gone = s.exited(r, gone)
	if s.o.Observe != nil {
		s.o.Observe(gone)
	}
	r.answers.Wait()
}

// take deals with one event other than Exited.
func (s *Session) take(r *run, e Event) {
	switch e := e.(type) {
	case Initialized:
		s.observed(r, e.Mode, true)
		s.change(func(i *Info) {
			if e.Version != "" {
				i.Version = e.Version
			}
			if e.Model != "" {
				i.Model = e.Model
			}
			if e.SessionID == "" {
				// The reply to initialize: the process is up. A turn begins
				// with a session id.
				if i.State == StateStarting && !r.prompted {
					i.State = StateIdle
				}
				return
			}
			i.ID = e.SessionID
			i.State = StateRunning
			i.Error = ""
			r.started, r.prompted, r.prompts = true, false, nil
		})
		if !r.isUp {
			r.isUp = true
			r.silent.Stop()
			close(r.up)
		}
	case ModeReported:
		s.observed(r, e.Mode, false)
	case Requested:
		s.register(r, e.Request)
	case Cancelled:
		s.withdraw(r, e.RequestID, "the agent withdrew its request")
	case ToolUsed:
		r.tools[e.ToolUseID] = e.Tool
		s.change(func(i *Info) {
			i.State = StateRunning
			i.Activity = e.Tool
		})
	case Said:
		s.change(func(i *Info) { i.Activity = "" })
	case ToolRan:
		s.o.Desk.Ran(e.ToolUseID, e.Input)
	case DeniedUnasked:
		s.tellUnasked(&s.toldDenied, true, e.Text)
	case ToolReturned:
		s.o.Desk.Returned(e.ToolUseID, e.IsError, e.Text) // compares what was done with what was approved
		if e.Unasked != "" && e.Unasked != OwnRules && !e.IsError {
			s.tellUnasked(&s.toldPassed, false, fmt.Sprintf("%s ran without asking, because %s lets it", cmp.Or(r.tools[e.ToolUseID], "a tool"), e.Unasked))
		}
		delete(r.tools, e.ToolUseID)
		s.change(func(i *Info) { i.Activity = "" })
	case AgentStarted:
		s.mu.Lock()
		r.names[e.AgentID] = e.Name
		s.mu.Unlock()
	case BackgroundChanged:
		s.change(func(i *Info) {
			s.background = e.Running
			if e.Running == 0 && i.Activity == inBackground {
				i.State, i.Activity = StateIdle, ""
			}
		})
	case TurnEnded:
		began := false
		s.change(func(i *Info) {
			i.State, i.Activity = StateIdle, ""
			r.prompted = false // what was sent while it ran was folded into it
			if s.background > 0 {
				// A result is not the end: they ask later, and start turns.
				i.State, i.Activity = StateRunning, inBackground
			}
			i.Error = ""
			if e.IsError {
				i.Error = e.Text
			}
			if began = r.started; began {
				i.Turns++
			}
			// An agent that goes on with a conversation reckons with what that
			// has cost before, if it knows.
			i.CostUSD = e.CostUSD
			if e.CostUSD < s.spent {
				i.CostUSD += s.spent
			}
		})
		if e.IsError && e.Text != "" && began { // else its end explains it
			s.o.Report(true, e.Text, "")
		}
	case Reported:
		s.o.Report(e.Warning, e.Text, "")
	}
}

// tellUnasked tells the person, once in a conversation, that the agent or its
// rules decide by themselves. All of it is in the transcript.
func (s *Session) tellUnasked(told *bool, warning bool, text string) {
	s.mu.Lock()
	before := *told
	*told = true
	s.mu.Unlock()
	if !before {
		s.o.Report(warning, text+"; what else goes like this is only in the transcript", "")
	}
}

// inBackground is the activity while only background agents work.
const inBackground = "background agents"

// register puts a request on the desk. It is on the desk before anybody is
// shown anything, so that no dismissed message can strand the agent.
func (s *Session) register(r *run, q approvals.Request) {
	s.mu.Lock()
	if _, twice := r.pending[q.ID]; twice {
		s.mu.Unlock()
		return // the agent lists what is open again when it is asked to
	}
	r.pending[q.ID] = s.info.ID
	q.Session, q.SessionName = s.info.ID, s.o.Name
	q.Mode = s.word
	if q.Dir == "" {
		q.Dir = s.o.Dir
	}
	if q.AgentID != "" && q.AgentName == "" {
		q.AgentName = r.names[q.AgentID]
	}
	s.mu.Unlock()

	a := s.o.Desk.Register(q)
	if a.State != approvals.Pending {
		s.change(func(*Info) { delete(r.pending, q.ID) }) // answered, it may be asked again
		r.answers.Add(1)
		go func() {
			defer r.answers.Done()
			s.o.Desk.Answered(a.ID, r.agent.Answer(q.ID, a.Result))
		}()
		return
	}
	s.change(func(i *Info) { i.State = StateRunning })
}

// withdraw takes a request off the desk; no decision is recorded.
func (s *Session) withdraw(r *run, requestID, reason string) {
	s.mu.Lock()
	id := r.pending[requestID]
	s.mu.Unlock()
	s.o.Desk.WithdrawIn(id, requestID, reason)
	s.change(func(*Info) { delete(r.pending, requestID) })
}

// exited is the end of an agent. Everything that it asked is withdrawn: losing
// an agent decides nothing. It returns e as people are told of it.
func (s *Session) exited(r *run, e Exited) Exited {
	r.silent.Stop()
	s.mu.Lock()
	ending := r.ending && r.failed == ""
	s.mu.Unlock()
	queued := ""
	if !ending { // else whoever ends it has told of these
		queued = s.unqueue()
	}
	s.mu.Lock()
	open := maps.Clone(r.pending)
	again, failed := r.prompts, r.failed
	ending = r.ending && failed == ""
	if !e.UnknownSession || r.resumes == "" {
		again = nil
	}
	if ending {
		again = nil
	}
	unsent := ""
	if len(again) == 0 {
		unsent = notSent(r.held)
	}
	r.over, r.held = true, nil
	r.afresh = len(again) > 0
	if e.RefusedMode && s.word == "" {
		s.granted, s.requested = r.before, Mode{} // it cannot be had
	}
	if failed != "" {
		e.Explanation, e.Expected = failed, false
	}
	lost := slices.DeleteFunc([]string{unsent, queued}, func(text string) bool { return text == "" })
	if len(lost) > 0 && !ending && len(again) == 0 { // the explanation is told, in one way or another
		e.Explanation, e.Expected = cmp.Or(e.Explanation, "the agent ended")+"; "+strings.Join(lost, "; "), false
		lost = nil
	}
	awaited := r.awaited && !r.isUp && !ending && len(again) == 0
	if awaited {
		r.gone = e.Explanation
	}
	env, settings := s.env, s.settings
	// An end is quiet only where nobody waited for anything.
	working := s.info.State == StateRunning || s.info.State == StateStarting
	s.mu.Unlock()
	why := "the agent that asked is gone: " + cmp.Or(e.Explanation, "it ended")
	if ending {
		why = "the agent that asked is gone: it was stopped"
	}
	for id, in := range open {
		s.o.Desk.WithdrawIn(in, id, why)
	}
	for _, text := range lost {
		s.o.Report(!ending, text, "")
	}
	if !ending && !awaited && len(again) == 0 && (!e.Expected || working || len(open) > 0) {
		s.o.Report(true, e.Explanation, "")
	}
	s.change(func(i *Info) {
		s.live = nil
		s.lost = cmp.Or(s.word, s.lost)
		s.word = ""
		s.background = 0
		switch {
		case e.UnknownSession:
			s.resume = ""
		case r.started:
			s.resume = i.ID
		default: // it took up nothing: what it was to go on with is as it was
			s.resume = r.resumes
		}
		i.State, i.Activity, i.Error = StateEnded, "", e.Explanation
		if ending {
			i.State, i.Error = StateNone, ""
		}
	})
	if len(again) > 0 {
		s.tasks.Go(func() { s.sendAfresh(again, env, settings) })
	}
	return e
}
