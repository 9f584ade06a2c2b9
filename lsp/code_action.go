package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"go.lsp.dev/protocol"

	"countersign/approvals"
	"countersign/session"
)

// Kinds of code actions. None is below source., which some editors run by
// themselves on save, and none below quickfix, which some apply unseen.
const (
	kindReview    = "countersign.review"
	kindAllow     = "countersign.allow"
	kindSession   = "countersign.allowForSession"
	kindDeny      = "countersign.deny"
	kindReason    = "countersign.denyWithReason"
	kindPrompt    = "countersign.prompt"
	kindSend      = "countersign.send"
	kindInterrupt = "countersign.interrupt"
)

func codeActionKinds() []protocol.CodeActionKind {
	return []protocol.CodeActionKind{
		kindReview, kindAllow, kindSession, kindDeny, kindReason, kindPrompt, kindSend, kindInterrupt,
	}
}

// maxInFull is how many requests are offered with all their actions.
const maxInFull = 3

// An action is one code action or code lens: a title, and a command that
// carries nothing but an approval's id. Each command checks again what became
// of the approval, so an action that is stale decides nothing.
type action struct {
	kind    string
	title   string
	command string
	id      string
}

// codeActions answers from memory: some editors ask on every cursor move.
func (s *server) codeActions(_ context.Context, sn *snapshot, p codeActionParams) (any, error) {
	out := []protocol.CommandOrCodeAction{}
	for _, a := range sn.actions(canonical(p.TextDocument.URI)) {
		if !wanted(a.kind, p.Context.Only) {
			continue
		}
		cmd := a.lspCommand("Countersign: " + a.title)
		if !sn.client.literal {
			out = append(out, &cmd)
			continue
		}
		kind := protocol.CodeActionKind(a.kind)
		out = append(out, &protocol.CodeAction{Title: cmd.Title, Kind: &kind, Command: cmd})
	}
	return out, nil
}

// lspCommand is an action as a command with that title.
func (a action) lspCommand(title string) protocol.Command {
	cmd := protocol.Command{Title: title, Command: a.command}
	if a.id != "" {
		if raw, err := json.Marshal(idArgument{ID: a.id}); err == nil {
			cmd.Arguments = []protocol.LSPAny{raw}
		}
	}
	return cmd
}

// wanted tells whether a kind is among those asked for.
func wanted(kind string, only []string) bool {
	if len(only) == 0 {
		return true
	}
	return slices.ContainsFunc(only, func(o string) bool {
		return o == "" || kind == o || strings.HasPrefix(kind, o+".")
	})
}

// actions are what is offered in a document: for its own requests first, then
// for those that belong to no document, at most a handful in full.
func (sn *snapshot) actions(uri string) []action {
	var as []action
	if id, ok := sn.reasons[uri]; ok {
		if c := sn.cards[id]; c != nil && c.pending() {
			as = append(as, action{kindReason, "deny " + titleOf(&c.Approval) + " with this reason", "countersign.denyWithReason", id})
		}
	}
	if sn.prompt != "" && uri == sn.prompt {
		as = append(as, action{kindSend, "send this prompt", "countersign.send", ""})
	}
	full := 0
	offered := map[string]bool{}
	offer := func(c *card) {
		if full == maxInFull || offered[c.ID] || !c.pending() {
			return
		}
		full++
		offered[c.ID] = true
		as = append(as, c.actions(uri)...)
	}
	for _, c := range sn.byURI[uri] {
		if full == maxInFull || !c.pending() {
			break // pending ones come first
		}
		offer(c)
	}
	for i, c := range sn.pending {
		if full == maxInFull || i == 200 {
			break
		}
		// In other documents: what has no document of its own to be decided in.
		if !opensItself(c) || c.staged == "" {
			offer(c)
		}
	}
	if rest := len(sn.pending) - full; rest > 0 {
		as = append(as, action{kindReview, fmt.Sprintf("review pending (%d)…", rest), "countersign.review", ""})
	}
	as = append(as, action{kindPrompt, "new prompt", "countersign.prompt", ""})
	if sn.session.State == session.StateRunning || sn.session.State == session.StateStarting {
		as = append(as, action{kindInterrupt, "interrupt", "countersign.interrupt", ""})
	}
	return as
}

// actions are what can be done about one pending request from a document.
func (c *card) actions(uri string) []action {
	title := titleOf(&c.Approval)
	var as []action
	review := action{kindReview, "review " + title, "countersign.review", c.ID}
	if c.Surface == approvals.SurfaceQuestion {
		review.title = "answer " + title
	}
	// What a title cannot show in full is to be looked at first.
	first := uri != c.staged && (c.staged != "" || shortened(c))
	if first {
		as = append(as, review)
	}
	switch c.Surface {
	case approvals.SurfaceQuestion:
		// A bare allow is no answer.
	case approvals.SurfacePlan:
		as = append(as, action{kindAllow, "allow " + title, "countersign.allow", c.ID})
	default:
		as = append(as, action{kindAllow, "allow " + title, "countersign.allow", c.ID})
		if c.SessionWords != "" {
			as = append(as, action{kindSession, "allow for session " + sessionWords(c), "countersign.allowForSession", c.ID})
		}
	}
	as = append(as,
		action{kindDeny, "deny " + title, "countersign.deny", c.ID},
		action{kindReason, "deny " + title + " with a reason", "countersign.denyWithReason", c.ID})
	return as
}

// sessionWords say what "for the session" would let through, in brackets.
func sessionWords(c *card) string {
	words, _, _ := strings.Cut(c.SessionWords, ", for this session")
	return "(" + oneLine(strings.TrimPrefix(words, "allow without asking "), 2*maxTitle) + ")"
}
