package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session/hub"
	"countersign/staging"
)

// allowAllCommand opens the list of the pending requests of a kind; without an
// id, of the kind of the oldest one. Nothing is decided by that.
func (s *server) allowAllCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	if a.uri != "" {
		return s.allowList(ctx, sn, canonical(a.uri))
	}
	var first *card
	if a.id == "" {
		for _, c := range sn.pending {
			if aggregates(c) {
				first = c
				break
			}
		}
		if first == nil {
			return nil, errors.New("nothing is pending that can be allowed together with others")
		}
	} else {
		var err error
		if first, err = sn.pick(a.id); err != nil {
			return nil, err
		}
		if !aggregates(first) {
			return nil, fmt.Errorf("%s is answered by itself", sn.label(first))
		}
	}
	var cs []candidate
	for _, c := range sn.pending {
		if akin(c, first) {
			cs = append(cs, candidate{card: c, label: sn.label(c)})
		}
	}
	var l *list
	err := s.call(ctx, func() *link { return first.link }, func(ctx context.Context, h Hub) (err error) {
		l, err = s.gather(ctx, sn, h, cs)
		return err
	}, func(err error) {
		if err != nil {
			return
		}
		s.lists[l.id] = l
		s.gesture(Event{Kind: EventStaged, URI: l.uri, ID: l.id, Aside: true})
		s.touched(l.uri)
		s.bring(l.uri, 3, "the list of requests")
	})
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(l.items))
	for _, it := range l.items {
		ids = append(ids, it.id)
	}
	return marshal(map[string]any{"uri": l.uri, "ids": ids})
}

// gather fetches the requests of a list and writes its document.
func (s *server) gather(ctx context.Context, sn *snapshot, h Hub, cs []candidate) (*list, error) {
	var link *link
	known := cs[:0:0]
	for _, c := range cs {
		d, err := h.Show(ctx, hub.ShowParams{ID: c.card.ID})
		if err != nil || d.Approval.State != approvals.Pending {
			continue // settled meanwhile
		}
		c.detail, c.text, link = d, d.Text, c.card.link
		if text := sn.editorText(c.card); text != nil {
			c.text = *text
		} else if st := d.Approval.Staged; st != nil {
			found, err := staging.Look(*st, maxStaged(sn.settings))
			if err != nil {
				continue
			}
			c.text = found.Text
		}
		if c.card.Surface == approvals.SurfaceProposal {
			c.text = approvals.TakeBackNewline(d.Text, c.text)
		}
		known = append(known, c)
	}
	if len(known) == 0 {
		return nil, errors.New("nothing of this kind is pending any more")
	}
	l := newList(known)
	if len(l.items) == 0 {
		return nil, errors.New("none of them can be shown in a list; review them one by one")
	}
	l.id, l.link = staging.NewID("list-"+known[0].card.ID), link
	return l, l.write(filepath.Join(link.storage, listsName, l.id))
}

// listVerdict does what a gesture on a list asks for; false where that is the
// same as for other documents.
func (s *server) listVerdict(v Verdict) bool {
	l := s.lists[v.ID]
	if l == nil {
		if v.Kind == VerdictInert && s.listID(v.URI) != "" {
			s.showError("Nothing was decided by saving this list: it is of another time. Ask for a new one.")
			return true
		}
		return false
	}
	switch v.Kind {
	case VerdictAllow:
		s.allowListed(l, v.Text, "save")
	case VerdictDeny: // closed: nothing is decided
		s.endList(l)
	case VerdictInert:
		s.showWarning("This list was dealt with; saving it again decides nothing.")
	default:
		return false
	}
	return true
}

// allowList allows what an open list says now, saved or not.
func (s *server) allowList(ctx context.Context, sn *snapshot, u string) (any, error) {
	doc, open := sn.texts[u]
	if _, ok := sn.lists[u]; !ok || !open {
		return nil, fmt.Errorf("there is no list %s that waits", oneLine(u, 120))
	}
	return nil, s.within(ctx, func() {
		if l := s.listAt(u); l != nil && !l.done {
			s.allowListed(l, doc.String(), "command")
		}
	})
}

// allowListed allows what a list says, each request being checked again.
func (s *server) allowListed(l *list, text, how string) {
	if l.busy {
		return
	}
	chosen, err := l.read(text)
	if err == nil && len(chosen) == 0 {
		err = &placeError{4, "no request is ticked"}
	}
	var place *placeError
	if errors.As(err, &place) {
		s.refused[l.uri] = refusal{line: place.line, words: place.reason}
		s.touched(l.uri)
		s.showError("Nothing was decided by the list: line %d: %s.", place.line, place.reason)
		s.gesture(Event{Kind: EventUnsettled, ID: l.id})
		return
	}
	l.busy = true
	for _, it := range chosen {
		s.ours[it.id] = true
	}
	s.need(l.link, func(ctx context.Context, h Hub, err error) {
		settled := make([]hub.Settled, len(chosen))
		errs := make([]error, len(chosen))
		for i, it := range chosen {
			if errs[i] = err; err == nil {
				settled[i], errs[i] = h.Settle(ctx, hub.SettleParams{ID: it.id, Allow: true, Text: &it.text, How: how, Rule: "listed"})
			}
		}
		s.push(func() { s.listSettled(l, chosen, settled, errs) })
	})
}

// listSettled tells what the decisions of a list came to.
func (s *server) listSettled(l *list, chosen []listed, settled []hub.Settled, errs []error) {
	allowed := 0
	var failed []string
	for i, it := range chosen {
		if err := errs[i]; err != nil {
			he := s.notSettled(l.link, it.id, err)
			why := sentence(err)
			switch {
			case he == nil:
				why = "nothing is known to be decided: " + why
			case he.Code == hub.CodeSettled && he.Approval != nil:
				why = ended(he.Approval)
			case he.Code == hub.CodeStale:
				why = "the file changed since; look at it again"
			default:
				why = refusalWords(he)
			}
			failed = append(failed, it.title+": "+why)
		} else {
			allowed++
			s.learn(l.link, settled[i].Approval)
		}
		delete(s.ours, it.id)
	}
	s.log.Info("a list was allowed", zap.Int("allowed", allowed), zap.Int("failed", len(failed)))
	s.endList(l)
	if len(failed) == 0 {
		s.showInfo("Allowed %s of the list.", requests(allowed))
		return
	}
	s.showError("Allowed %d of %s. Not allowed: %s.", allowed, requests(len(chosen)), strings.Join(failed, "; "))
}

// requests is a number of them.
func requests(n int) string {
	if n == 1 {
		return "1 request"
	}
	return fmt.Sprintf("%d requests", n)
}

// endList has a list decide nothing any more.
func (s *server) endList(l *list) {
	l.done = true
	s.gesture(Event{Kind: EventSettled, URI: l.uri, ID: l.id})
	s.unrefused(l.uri)
	s.touched(l.uri)
	if !s.isOpen(l.uri) {
		s.dropList(l)
	}
}

// listClosed removes a list that is of no more use.
func (s *server) listClosed(uri string) {
	if l := s.listAt(uri); l != nil && l.done {
		s.dropList(l)
	}
}

func (s *server) dropList(l *list) {
	delete(s.lists, l.id)
	s.removeOwn(pathOf(l.uri), listsName)
}
