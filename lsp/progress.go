package lsp

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"countersign/session"
	"countersign/session/hub"
	"countersign/session/rpc"
)

// A spin is the work-done progress of a running turn.
type spin struct {
	token   string // empty when none runs
	created bool   // the editor took the token, and begin was sent
	message string // last sent
}

// progress follows the sessions: a turn that runs is work in progress, with a
// few words on what the agent does, and a cancel button that interrupts it.
func (s *server) progress() {
	if !s.begun || s.ended || !s.client.progress {
		return
	}
	sessions := map[string]session.Info{}
	if l := s.links[""]; l != nil && l.hub != nil {
		sessions = l.sessions
	}
	for name, p := range s.spins {
		if !works(sessions[name]) {
			if p.created {
				s.report(p.token, &protocol.WorkDoneProgressEnd{Kind: "end"})
			}
			delete(s.spins, name)
		}
	}
	for name, info := range sessions {
		p := s.spins[name]
		switch {
		case !works(info):
		case p == nil:
			s.turns++
			p = &spin{token: fmt.Sprintf("countersign/turn/%d", s.turns)}
			s.spins[name] = p
			s.work(func(ctx context.Context) {
				err := s.conn.Call(ctx, "window/workDoneProgress/create",
					&protocol.WorkDoneProgressCreateParams{Token: protocol.String(p.token)}, nil)
				s.push(func() { s.progressCreated(name, p, err) })
			})
		case p.created:
			if text := s.activity(info); text != p.message {
				p.message = text
				s.report(p.token, &protocol.WorkDoneProgressReport{Kind: "report", Message: &text})
			}
		}
	}
}

// progressCreated begins the progress once the editor has taken its token.
func (s *server) progressCreated(name string, p *spin, err error) {
	if err != nil {
		s.log.Info("no progress", zap.Error(err))
		return // the spin stays, so that this turn is not asked for again
	}
	cancellable := true
	begin := &protocol.WorkDoneProgressBegin{Kind: "begin", Title: "Countersign", Cancellable: &cancellable}
	if s.spins[name] != p { // the turn has ended meanwhile
		s.report(p.token, begin)
		s.report(p.token, &protocol.WorkDoneProgressEnd{Kind: "end"})
		return
	}
	if l := s.links[""]; l != nil {
		p.message = s.activity(l.sessions[name])
	}
	text := p.message
	begin.Message = &text
	p.created = true
	s.report(p.token, begin)
}

func (s *server) report(token string, value any) {
	raw, err := rpc.Encode(value)
	if err != nil {
		return
	}
	_ = s.conn.Notify("$/progress", &protocol.ProgressParams{Token: protocol.String(token), Value: jsontext.Value(raw)})
}

// activity is what a session does, in a few words.
func (s *server) activity(info session.Info) string {
	text := info.Activity
	if text == "" {
		text = "the agent works"
		if info.State == session.StateStarting {
			text = "the agent starts"
		}
	}
	if info.Queued > 0 {
		text += fmt.Sprintf(", then %d more", info.Queued)
	}
	if info.Pending > 0 {
		text = fmt.Sprintf("%d waiting; %s", info.Pending, text)
	}
	if s.several() && info.Name != "" {
		text = "session " + info.Name + ": " + text
	}
	if mode := modeOf(info); mode != "" {
		text += " (" + mode + ")"
	}
	return oneLine(text, 80)
}

// progressCancelled: the person pressed the cancel button of a turn.
func (s *server) progressCancelled(p progressCancelParams) {
	var token string
	if read(p.Token, &token) != nil || token == "" {
		return
	}
	l := s.links[""]
	for name, p := range s.spins {
		if p.token != token || l == nil || l.hub == nil {
			continue
		}
		s.need(l, func(ctx context.Context, h Hub, err error) {
			if err == nil {
				err = h.InterruptSession(ctx, hub.SessionParams{Session: name})
			}
			if err != nil {
				s.push(func() { s.showError("Countersign: the turn was not interrupted: %s", sentence(err)) })
			}
		})
	}
}
