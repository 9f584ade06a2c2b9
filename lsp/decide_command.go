package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"countersign/approvals"
	"countersign/session/hub"
	"countersign/session/rpc"
	"countersign/staging"
)

// This file is the commands that decide about one request.

func (s *server) allowCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	c, err := sn.pick(a.id)
	if err != nil {
		return nil, err
	}
	if a.suggestion != nil && *a.suggestion >= len(c.Rules) {
		return nil, rpc.Errorf(rpc.InvalidParams, `"suggestion" is %d, but %s has %d`, *a.suggestion, titleOf(&c.Approval), len(c.Rules))
	}
	p := hub.SettleParams{ID: c.ID, Allow: true, Suggestion: a.suggestion, Destination: a.destination, Mode: a.mode, How: "command"}
	return s.settleNow(ctx, sn, c, p)
}

func (s *server) allowForSessionCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	c, err := sn.pick(a.id)
	if err != nil {
		return nil, err
	}
	return s.settleNow(ctx, sn, c, hub.SettleParams{ID: c.ID, Allow: true, ForSession: true, How: "command"})
}

func (s *server) denyCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	c, err := sn.pick(a.id)
	if err != nil {
		return nil, err
	}
	p := hub.SettleParams{ID: c.ID, Message: a.message, Interrupt: a.interrupt, How: "command"}
	return s.settleNow(ctx, sn, c, p)
}

// denyWithEditsCommand denies and sends the person's changes back: how the text
// differs from the proposal.
func (s *server) denyWithEditsCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	c, err := sn.pick(a.id)
	if err != nil {
		return nil, err
	}
	return s.settleNow(ctx, sn, c, hub.SettleParams{ID: c.ID, WithEdits: true, How: "command"})
}

// answerCommand answers a question without its document.
func (s *server) answerCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	c, err := sn.pick(a.id)
	switch {
	case err != nil:
		return nil, err
	case c.Surface != approvals.SurfaceQuestion:
		return nil, fmt.Errorf("%s is no question: allow or deny it", sn.label(c))
	case len(a.answers) == 0:
		return nil, rpc.Errorf(rpc.InvalidParams, `which answer? Give them by question: {"id": "…", "answers": {"the question": "a label or your words"}}`)
	}
	return s.settleNow(ctx, sn, c, hub.SettleParams{ID: c.ID, Allow: true, Answers: a.answers, Notes: a.notes, How: "command"})
}

// editorText is the text of an open staged document where it says something
// else than the file: an allow by command takes what the person sees.
func (sn *snapshot) editorText(c *card) *string {
	doc, open := sn.texts[c.staged]
	if !open {
		return nil
	}
	return unlikeFile(c, doc.String(), sn.settings)
}

// unlikeFile is an editor's text of a staged document where it says something
// else than the file, else nil.
func unlikeFile(c *card, text string, settings Settings) *string {
	if c.Staged == nil {
		return nil
	}
	found, err := staging.Look(*c.Staged, maxStaged(settings))
	if err == nil {
		if SameText(found.Text, text) {
			return nil
		}
		// Emacs reports the lines of a CRLF file without their carriage returns.
		if strings.Contains(found.Text, "\r\n") && !strings.Contains(text, "\r") && strings.Count(found.Text, "\n") == strings.Count(found.Text, "\r\n") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		if bom := "\uFEFF"; strings.HasPrefix(found.Text, bom) && !strings.HasPrefix(text, bom) {
			text = bom + text
		}
	}
	return &text
}

// errUnseen is the answer to an allow of what this editor has not shown.
var errUnseen = errors.New("its document was changed, and not in this editor: review it first")

// seen has an allow by command count for what this editor has shown or saved, and
// for nothing that its file becomes meanwhile: other programs can write there. A
// file that cannot be read is left to the hub.
func (sn *snapshot) seen(c *card, p *hub.SettleParams) error {
	found, err := staging.Look(*c.Staged, maxStaged(sn.settings))
	if err != nil {
		return nil
	}
	_, open := sn.texts[c.staged]
	switch hash := found.Print.Hash; {
	case hash == c.Staged.Print.Hash:
		p.Staged = hash
	case open || hash == sn.prints[c.staged].Hash:
		p.Text = &found.Text
	default:
		return errUnseen
	}
	return nil
}

// settleNow hands a command's decision to the hub and waits for its word.
func (s *server) settleNow(ctx context.Context, sn *snapshot, c *card, p hub.SettleParams) (any, error) {
	// What the person sees counts; remarks on a plan go along with its deny, and
	// other text that a deny leaves unsent is kept in the journal.
	if p.Answers == nil && c.staged != "" {
		p.Text = sn.editorText(c)
	}
	if p.Allow && p.Answers == nil && p.Text == nil && c.Staged != nil {
		if err := sn.seen(c, &p); err != nil {
			return nil, fmt.Errorf("nothing was decided about %s: %w", titleOf(&c.Approval), err)
		}
	}
	var res hub.Settled
	err := s.call(ctx, func() *link {
		s.ours[c.ID] = true
		s.expectMode(c, p)
		return c.link
	}, func(ctx context.Context, h Hub) (err error) {
		res, err = h.Settle(ctx, p)
		return err
	}, func(err error) {
		if err == nil {
			s.learn(c.link, res.Approval)
			s.showInfo("%s.", outcomeWords(&res.Approval, s.title(c), p))
			for _, n := range res.Notes {
				s.showNote(n)
			}
		} else {
			s.notSettled(c.link, c.ID, err)
		}
		delete(s.ours, c.ID)
	})
	var he *hub.Error
	switch {
	case err == nil:
		return marshal(res)
	case errors.As(err, &he) && he.Code == hub.CodeSettled && he.Approval != nil:
		return nil, fmt.Errorf("nothing was decided about %s: %s", titleOf(&c.Approval), ended(he.Approval))
	case errors.As(err, &he):
		return nil, fmt.Errorf("nothing was decided about %s: %s", titleOf(&c.Approval), refusalWords(he))
	}
	return nil, fmt.Errorf("nothing is known to be decided about %s: %s", titleOf(&c.Approval), sentence(err))
}
