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
		for _, a := range sn.lenses(c, uri) {
			out = append(out, protocol.CodeLens{Command: a.lspCommand(a.title)})
		}
	}
	return out, nil
}

// maxQuick bounds the answers that are offered as lenses.
const maxQuick = 5

// lenses are the actions of a request in as few words as possible.
func (sn *snapshot) lenses(c *card, uri string) []action {
	if uri != c.staged {
		if c.staged == "" {
			return []action{{kindAllow, "Allow " + sn.label(c), "countersign.allow", of(c)}, {kindDeny, "Deny", "countersign.deny", of(c)}}
		}
		return []action{{kindReview, "Review " + sn.label(c), "countersign.review", of(c)}, {kindDeny, "Deny", "countersign.deny", of(c)}}
	}
	var as []action
	deny, reason := "Deny", "Deny with a reason"
	switch c.Surface {
	case approvals.SurfaceQuestion:
		for _, q := range c.QuickAnswers[:min(len(c.QuickAnswers), maxQuick)] {
			as = append(as, action{
				kindAnswer, "Answer " + oneLine(q.Label, maxTitle), "countersign.answer",
				answerArgument{ID: c.ID, Answers: map[string]string{q.Question: q.Label}},
			})
		}
		deny, reason = "Decline to answer", "Decline with a reason"
	case approvals.SurfacePlan:
		as = append(as, action{kindAllow, "Approve as it reads", "countersign.allow", of(c)})
		deny, reason = "Keep planning", "Keep planning, with remarks"
	default:
		as = append(as, action{kindAllow, "Allow as it reads", "countersign.allow", of(c)})
		if c.SessionWords != "" {
			as = append(as, action{kindSession, "Allow for session " + sessionWords(c), "countersign.allowForSession", of(c)})
		}
	}
	return append(as, action{kindDeny, deny, "countersign.deny", of(c)}, action{kindReason, reason, "countersign.denyWithReason", of(c)})
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
