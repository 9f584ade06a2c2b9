package lsp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session/hub"
	"countersign/staging"
)

// act does what a verdict on a gesture asks for.
func (s *server) act(v Verdict) {
	if s.listVerdict(v) {
		return
	}
	c := s.board.cards[v.ID]
	title := "this document"
	if c != nil {
		title = s.title(c)
	}
	s.log.Info("gesture", zap.String("verdict", string(v.Kind)), zap.String("rule", string(v.Rule)),
		zap.String("approval", v.ID), zap.String("uri", v.URI))
	switch v.Kind {
	case VerdictAllow, VerdictDeny:
		if c == nil {
			return
		}
		p := hub.SettleParams{ID: v.ID, Allow: v.Kind == VerdictAllow, How: "close", Rule: string(v.Rule)}
		if p.Allow {
			p.How, p.Text = "save", &v.Text
		} else if text, ok := s.left[v.URI]; ok {
			// Whoever closes a plan has said in it why; saving it would approve it.
			p.Text = unlikeFile(c, text, s.settings)
		}
		s.settle(c, p)
	case VerdictKept:
		if !v.Again {
			s.showInfo("Kept your text of %s; nothing is decided: %s.", title, v.Rule.Sentence())
		}
	case VerdictRefused:
		if v.Again || v.Rule.Quiet() {
			return
		}
		why := v.Rule.Sentence()
		if v.Text != "" {
			why += ": " + oneLine(v.Text, 200)
		}
		tell := func() { s.showWarning("Nothing was decided about %s: %s (rule %s).", title, why, v.Rule) }
		if v.Rule == RuleOpenedHere {
			s.unlessSettled(v.ID, tell)
			return
		}
		tell()
	case VerdictInert:
		s.inert(v, c, title)
	case VerdictSuspect:
		s.showWarning("Countersign: %s.", v.Rule.Sentence())
	}
}

// twinSpan is how long after one of two servers of an editor the other may hear
// of the same save.
const twinSpan = 2 * time.Second

// unlessSettled tells something a little later, if the approval is pending then:
// Neovim 0.12 tells each of its servers of a save, and the one that has the
// document open is at it.
func (s *server) unlessSettled(id string, tell func()) {
	s.work(func(ctx context.Context) {
		select {
		case <-time.After(twinSpan):
		case <-ctx.Done():
			return
		}
		s.push(func() {
			if c := s.board.cards[id]; !s.ended && (c == nil || c.pending()) {
				tell()
			}
		})
	})
}

// twinSaved tells whether the approval was settled just now by a save that the
// same editor told another server of ours.
func (s *server) twinSaved(a *hub.Approval) bool {
	return a.By.How == "save" && a.By.FrontEnd == s.client.name && a.By.PID != s.client.pid && s.now().Sub(a.Settled) < twinSpan
}

// inert says loudly that a save came too late, and keeps its text.
func (s *server) inert(v Verdict, c *card, title string) {
	why := v.Rule.Sentence()
	l := s.linkOf(v.URI)
	switch {
	case c != nil && !c.pending() && s.twinSaved(&c.Approval):
		return
	case c != nil && !c.pending():
		why = ended(&c.Approval)
	case c == nil && (l == nil || l.hub == nil || s.asking[v.ID]):
		// It may well be pending: the hub that knows is not there, or not yet.
		s.showError("Nothing was decided by saving this document: its hub is not reached yet. Save it again in a moment.")
		if l != nil {
			s.attach(l, true)
		}
		return
	}
	if v.Text == "" || v.ID == "" || l == nil {
		s.showError("Nothing was decided by saving %s: %s. Your text stays in the file.", title, why)
		return
	}
	s.showError("Nothing was decided by saving %s: %s. Your text stays in the file and in the journal.", title, why)
	s.keep(l, v.ID, v.Text)
}

// keep hands a text that came too late to the journal.
func (s *server) keep(l *link, id, text string) {
	s.need(l, func(ctx context.Context, h Hub, err error) {
		if err == nil {
			err = h.Keep(ctx, hub.KeepParams{ID: id, Text: text})
		}
		if err != nil {
			s.log.Warn("a late text was not kept", zap.String("approval", id), zap.Error(err))
			s.push(func() {
				s.showWarning("Your text for %s is not in the journal, only in its file: %s", oneLine(id, maxTitle), sentence(err))
			})
		}
	})
}

// inShort leaves a text out that the hub has: the one that it staged. The hash
// is of what the person decided on, so that nothing can take its place.
func inShort(c *card, p hub.SettleParams) hub.SettleParams {
	if p.Text == nil || c.Staged == nil || int64(len(*p.Text)) != c.Staged.Print.Size {
		return p
	}
	if h := staging.Hash(*p.Text); h == c.Staged.Print.Hash {
		p.Text, p.Staged = nil, h
	}
	return p
}

// settle hands a gesture's decision to the hub and shows what it came to.
func (s *server) settle(c *card, p hub.SettleParams) {
	l := c.link
	s.ours[c.ID] = true
	s.expectMode(c, p)
	s.need(l, func(ctx context.Context, h Hub, err error) {
		var res hub.Settled
		if err == nil {
			res, err = h.Settle(ctx, inShort(c, p))
		}
		s.push(func() { s.settled(l, c, p, res, err) })
	})
}

// settled takes the answer to a decision of this front end.
func (s *server) settled(l *link, c *card, p hub.SettleParams, res hub.Settled, err error) {
	// The hub's news of it may come before this answer or after; until the answer
	// has been dealt with it is ours, and nobody need be told twice.
	defer delete(s.ours, c.ID)
	if err == nil {
		s.learn(l, res.Approval)
		s.showInfo("%s.", outcomeWords(&res.Approval, s.title(c), p))
		for _, n := range res.Notes {
			s.showNote(n)
		}
		return
	}
	title := s.title(c)
	he := s.notSettled(l, c.ID, err)
	switch {
	case he == nil:
		s.showError("Nothing is known to be decided about %s: %s. Try again.", title, sentence(err))
	case he.Code == hub.CodeSettled && he.Approval != nil && p.How == "save" && s.twinSaved(he.Approval):
		return
	case he.Code == hub.CodeSettled && he.Approval != nil:
		s.showError("Nothing was decided about %s: %s.", title, ended(he.Approval))
	case he.Code == hub.CodeStale && he.Approval != nil:
		s.showWarning("%s changed since it was proposed: nothing was decided. Look at the proposal on its new content.", fileOf(he.Approval))
	case he.Code == hub.CodeUnknown:
		s.showError("Nothing was decided about %s: %s.", title, sentence(err))
	default:
		s.showError("Nothing was decided about %s: %s.", title, refusalWords(he))
	}
	if p.Text != nil && he != nil && (he.Code == hub.CodeSettled || he.Code == hub.CodeUnknown) {
		s.keep(l, c.ID, *p.Text)
	}
}

// notSettled learns from the error of a decision; the result is the hub's own
// error, nil when the hub did not answer.
func (s *server) notSettled(l *link, id string, err error) *hub.Error {
	if c := s.board.cards[id]; c != nil && l.asked[c.Session] == anyMode {
		delete(l.asked, c.Session) // it leads to no mode
	}
	var he *hub.Error
	if !errors.As(err, &he) {
		s.gesture(Event{Kind: EventUnsettled, ID: id})
		return nil
	}
	switch he.Code {
	case hub.CodeSettled:
		if he.Approval != nil {
			s.learn(l, *he.Approval)
		}
	case hub.CodeStale:
		if c := s.board.cards[id]; c != nil && c.pending() && he.Approval != nil && he.Approval.ID != id {
			old := c.Approval
			old.State, old.Replaced, old.Settled = approvals.Withdrawn, he.Approval.ID, s.now()
			old.Reason = "the file changed, so it was proposed anew"
			old.By = approvals.By{FrontEnd: "countersign", How: "replaced"}
			s.learn(l, old)
		}
		if he.Approval != nil {
			s.learn(l, *he.Approval)
		}
	case hub.CodeUnknown:
		s.forgotten(l, id)
	default:
		s.refusedAt(id, he)
		s.gesture(Event{Kind: EventUnsettled, ID: id})
	}
	return he
}

// learn takes what a hub tells of an approval: the one way in which approvals
// change here.
func (s *server) learn(l *link, a hub.Approval) {
	c := newCard(a, l)
	before, changed := s.board.put(c)
	if !changed {
		return
	}
	docs := s.board.documents(c)
	if before != nil {
		docs = append(docs, s.board.documents(before)...)
	}
	s.touched(docs...)
	s.lensStale = true
	switch {
	case c.pending() && before == nil:
		if c.staged != "" {
			s.gesture(Event{Kind: EventStaged, URI: c.staged, ID: c.ID, Aside: !opensItself(c)})
		}
		s.tell.new = append(s.tell.new, c)
	case c.pending():
		if c.staged != "" && c.staged != before.staged {
			s.gesture(Event{Kind: EventStaged, URI: c.staged, ID: c.ID, Aside: !opensItself(c)})
		}
	default:
		if before == nil || before.pending() {
			s.over(c, before)
		}
		s.outcome(c, before)
		s.forget()
	}
}

// over is what follows when an approval is settled, by whomever.
func (s *server) over(c, known *card) {
	if c.staged != "" {
		// Where it was settled before we heard of it, the gestures still have to
		// know that the document is inert.
		s.gesture(Event{Kind: EventStaged, URI: c.staged, ID: c.ID})
	}
	s.gesture(Event{Kind: EventSettled, URI: c.staged, ID: c.ID})
	delete(s.details, c.ID)
	s.unrefused(c.staged)
	if known != nil && !s.ours[c.ID] {
		s.tell.over = append(s.tell.over, c)
		s.keepUnsent(known, c)
	}
	s.tell.forget(c.ID)
	s.dropViews(c.ID)
	if s.ours[c.ID] || known == nil { // settled here, or restored by the editor
		s.closeSettled(c)
	}
}

// keepUnsent keeps what a person changed in a document whose approval was
// settled elsewhere or withdrawn: its file goes, and often it cannot be saved
// any more.
func (s *server) keepUnsent(known, c *card) {
	doc, open := s.documents.Get(known.staged)
	own := c.By.PID == s.client.pid && c.By.FrontEnd == s.client.name
	if !open || known.Staged == nil || c.Replaced != "" || own {
		return
	}
	text := doc.Text.String()
	unsaved := text != s.saved[known.staged]
	p, seen := s.prints[known.staged]
	saved := seen && p.Hash != known.Staged.Print.Hash && c.State != approvals.Allowed // else it was allowed as saved
	if unsaved || saved {
		s.keep(c.link, c.ID, text)
		s.showWarning("Your changes to %s were not sent. They are kept in the journal.", s.title(c))
	}
}

// outcome shows what became of an allowed request when that is not as it should be.
func (s *server) outcome(c, before *card) {
	if before != nil && before.Outcome.State == c.Outcome.State {
		return
	}
	switch c.Outcome.State {
	case "mismatch":
		s.showError("%s is not what was approved: %s", fileOf(&c.Approval), oneLine(c.Outcome.Detail, 300))
	case "failed":
		s.showWarning("%s was allowed but failed: %s", s.title(c), oneLine(c.Outcome.Detail, 300))
	}
}

// opensItself tells whether the server opens this document by itself: what a
// person edits or answers, not a command that a code action settles.
func opensItself(c *card) bool { return c.Surface != approvals.SurfacePanel }

// outcomeWords says what a decision of this front end came to.
func outcomeWords(a *hub.Approval, title string, p hub.SettleParams) string {
	switch {
	case a.State == approvals.Allowed && a.Surface == approvals.SurfaceQuestion:
		return "Answered: " + title
	case a.State == approvals.Allowed:
		done := "Allowed"
		if a.Surface == approvals.SurfacePlan {
			done = "Approved"
		}
		if a.Amended {
			done += ", as you amended it"
		}
		return done + ": " + title
	case a.State == approvals.Denied:
		done := "Denied"
		switch {
		case p.WithEdits:
			done += ", with your changes as feedback"
		case p.Interrupt:
			done += ", and the turn is stopped"
		case a.Surface == approvals.SurfaceQuestion:
			done = "Declined"
		case a.Surface == approvals.SurfacePlan:
			done = "Not approved"
		}
		if a.Reason != "" {
			return fmt.Sprintf("%s: %s (%s)", done, title, oneLine(a.Reason, 120))
		}
		return done + ": " + title
	}
	return "Withdrawn: " + title
}

// ended says what became of an approval, for somebody who comes late.
func ended(a *hub.Approval) string {
	who := a.By.FrontEnd
	if who == "" {
		who = "somebody"
	}
	how := ""
	if a.By.How != "" {
		how = " (" + a.By.How + ")"
	}
	when := ""
	if !a.Settled.IsZero() {
		when = " at " + a.Settled.Local().Format("15:04:05")
	}
	switch a.State {
	case approvals.Allowed:
		as := ""
		if a.Amended {
			as = " with amendments"
		}
		return "it was allowed" + as + " by " + oneLine(who, 60) + how + when
	case approvals.Denied:
		return "it was denied by " + oneLine(who, 60) + how + when
	case approvals.Withdrawn:
		why := ""
		if a.Reason != "" {
			why = ": " + oneLine(a.Reason, 160)
		}
		if a.Replaced != "" {
			return "it was replaced by a newer proposal" + when + why
		}
		return "it was withdrawn" + when + why
	}
	return "it is pending"
}
