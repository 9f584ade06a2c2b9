package lsp

import (
	"context"

	"go.lsp.dev/protocol"

	"countersign/approvals"
)

// codeLenses offers the decisions at the top of staged documents and targets,
// in editors that show such things.
func (s *server) codeLenses(_ context.Context, sn *snapshot, p documentParams) (any, error) {
	out := []protocol.CodeLens{}
	if !sn.client.lenses {
		return out, nil
	}
	uri := canonical(p.TextDocument.URI)
	for i, c := range sn.byURI[uri] {
		if !c.pending() || i == maxInFull {
			break
		}
		for _, a := range c.lenses(uri) {
			out = append(out, protocol.CodeLens{Command: a.lspCommand(a.title)})
		}
	}
	return out, nil
}

// lenses are the actions of a request in as few words as possible.
func (c *card) lenses(uri string) []action {
	title := titleOf(&c.Approval)
	if uri != c.staged {
		if c.staged == "" {
			return []action{{kindAllow, "Allow " + title, "countersign.allow", c.ID}, {kindDeny, "Deny", "countersign.deny", c.ID}}
		}
		return []action{{kindReview, "Review " + title, "countersign.review", c.ID}, {kindDeny, "Deny", "countersign.deny", c.ID}}
	}
	var as []action
	if c.Surface != approvals.SurfaceQuestion {
		as = append(as, action{kindAllow, "Allow as it reads", "countersign.allow", c.ID})
	}
	if c.SessionWords != "" {
		as = append(as, action{kindSession, "Allow for session " + sessionWords(c), "countersign.allowForSession", c.ID})
	}
	return append(as,
		action{kindDeny, "Deny", "countersign.deny", c.ID},
		action{kindReason, "Deny with a reason", "countersign.denyWithReason", c.ID})
}

// refreshLenses asks the editor to fetch the code lenses again after a change.
func (s *server) refreshLenses() {
	if !s.lensStale {
		return
	}
	s.lensStale = false
	if !s.begun || !s.client.lenses || !s.client.refreshes || s.refreshing {
		return
	}
	s.refreshing = true
	s.work(func(ctx context.Context) {
		_ = s.conn.Call(ctx, "workspace/codeLens/refresh", nil, nil)
		s.push(func() { s.refreshing = false })
	})
}
