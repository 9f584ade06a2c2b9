package lsp

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"countersign/session"
	"countersign/session/rpc"
)

// spin is the work-done progress of a running turn.
type spin struct {
	turns   int    // begun so far
	token   string // of the running turn; empty when none runs
	created bool   // the editor took the token, and begin was sent
	message string // last sent
}

// progress follows the session: a turn that runs is work in progress, with a
// few words on what the agent does, and a cancel button that interrupts it.
func (s *server) progress() {
	if !s.begun || s.ended || !s.client.progress {
		return
	}
	l := s.links[""]
	running := l != nil && l.hub != nil && (l.info.State == session.StateRunning || l.info.State == session.StateStarting)
	p := &s.spin
	switch {
	case running && p.token == "":
		p.turns++
		p.token, p.created, p.message = fmt.Sprintf("countersign/turn/%d", p.turns), false, ""
		token := p.token
		s.work(func(ctx context.Context) {
			err := s.conn.Call(ctx, "window/workDoneProgress/create",
				&protocol.WorkDoneProgressCreateParams{Token: protocol.String(token)}, nil)
			s.push(func() { s.progressCreated(token, err) })
		})
	case running && p.created:
		if text := activity(l.info); text != p.message {
			p.message = text
			s.report(p.token, &protocol.WorkDoneProgressReport{Kind: "report", Message: &text})
		}
	case !running && p.token != "":
		if p.created {
			s.report(p.token, &protocol.WorkDoneProgressEnd{Kind: "end"})
		}
		p.token = ""
	}
}

// progressCreated begins the progress once the editor has taken its token.
func (s *server) progressCreated(token string, err error) {
	p := &s.spin
	if err != nil {
		s.log.Info("no progress", zap.Error(err))
		return // p.token stays, so that this turn is not asked for again
	}
	cancellable := true
	begin := &protocol.WorkDoneProgressBegin{Kind: "begin", Title: "Countersign", Cancellable: &cancellable}
	if p.token != token { // the turn has ended meanwhile
		s.report(token, begin)
		s.report(token, &protocol.WorkDoneProgressEnd{Kind: "end"})
		return
	}
	if l := s.links[""]; l != nil {
		p.message = activity(l.info)
	}
	begin.Message = &p.message
	text := p.message
	begin.Message = &text
	p.created = true
	s.report(token, begin)
}

func (s *server) report(token string, value any) {
	raw, err := rpc.Encode(value)
	if err != nil {
		return
	}
	_ = s.conn.Notify("$/progress", &protocol.ProgressParams{Token: protocol.String(token), Value: jsontext.Value(raw)})
}

// activity is what a session does, in a few words.
func activity(info session.Info) string {
	text := info.Activity
	if text == "" {
		text = "the agent works"
		if info.State == session.StateStarting {
			text = "the agent starts"
		}
	}
	if info.Pending > 0 {
		text = fmt.Sprintf("%d waiting; %s", info.Pending, text)
	}
	if info.Mode != "" {
		text += " (" + info.Mode + ")"
	}
	return oneLine(text, 80)
}

// progressCancelled: the person pressed the cancel button of the turn.
func (s *server) progressCancelled(p progressCancelParams) {
	var token string
	if read(p.Token, &token) != nil || token == "" || token != s.spin.token {
		return
	}
	l := s.links[""]
	if l == nil || l.hub == nil {
		return
	}
	s.need(l, func(ctx context.Context, h Hub, err error) {
		if err == nil {
			err = h.Interrupt(ctx)
		}
		if err != nil {
			s.push(func() { s.showError("Countersign: the turn was not interrupted: %s", sentence(err)) })
		}
	})
}
