package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"go.lsp.dev/protocol"
)

// Kinds of code actions. None is below source., which some editors run by
// themselves on save, and none below quickfix, which some apply unseen.
const (
	kindReview    = "countersign.review"
	kindAllow     = "countersign.allow"
	kindRule      = "countersign.allowByRule"
	kindAll       = "countersign.allowAll"
	kindSession   = "countersign.allowForSession"
	kindAnswer    = "countersign.answer"
	kindDeny      = "countersign.deny"
	kindStop      = "countersign.denyAndStop"
	kindReason    = "countersign.denyWithReason"
	kindEdits     = "countersign.denyWithEdits"
	kindPrompt    = "countersign.prompt"
	kindAsk       = "countersign.ask"
	kindSend      = "countersign.send"
	kindInterrupt = "countersign.interrupt"
	kindTalk      = "countersign.session"
	kindMode      = "countersign.mode"
)

func codeActionKinds() []protocol.CodeActionKind {
	return []protocol.CodeActionKind{
		kindReview, kindAllow, kindRule, kindAll, kindSession, kindAnswer, kindDeny, kindStop, kindReason, kindEdits,
		kindPrompt, kindAsk, kindSend, kindInterrupt, kindTalk, kindMode,
	}
}

// maxInFull is how many requests are offered with all their actions.
const maxInFull = 3

// An action is one code action or code lens: a title, and a command that
// carries an approval's id and what was chosen. Each command checks again what
// became of the approval, so an action that is stale decides nothing.
type action struct {
	kind    string
	title   string
	command string
	args    any // the command's object; nil: none
}

// of names a request to a command.
func of(c *card) any { return idArgument{ID: c.ID} }

// codeActions answers from memory: some editors ask on every cursor move.
func (s *server) codeActions(_ context.Context, sn *snapshot, p codeActionParams) (any, error) {
	out := []protocol.CommandOrCodeAction{}
	for _, a := range sn.actions(canonical(p.TextDocument.URI), &p) {
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
	if a.args != nil {
		if raw, err := json.Marshal(a.args, json.Deterministic(true)); err == nil {
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
// for those that belong to no document, at most a handful in full; then what can
// be done with the session, in the documents of the session or where such kinds
// are asked for by name, so that the list of any other document stays short.
func (sn *snapshot) actions(uri string, p *codeActionParams) []action {
	var as []action
	if id, ok := sn.reasons[uri]; ok {
		if c := sn.cards[id]; c != nil && c.pending() {
			as = append(as, action{kindReason, "deny " + sn.label(c) + " with this reason", "countersign.denyWithReason", of(c)})
		}
	}
	as = append(as, sn.documentActions(uri, p)...)
	full := 0
	offered := map[string]bool{}
	var kinds []*card // one of each kind
	offer := func(c *card) {
		if full == maxInFull || offered[c.ID] || !c.pending() {
			return
		}
		full++
		offered[c.ID] = true
		as = append(as, sn.decisions(c, uri)...)
		if aggregates(c) && !slices.ContainsFunc(kinds, func(x *card) bool { return akin(x, c) }) {
			kinds = append(kinds, c)
		}
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
		// In other documents: what has no document of its own to be decided in, and
		// what one keystroke answers.
		if !opensItself(c) || c.staged == "" || len(c.QuickAnswers) > 0 {
			offer(c)
		}
	}
	for _, c := range kinds {
		if n := sn.kindred(c); n > 1 {
			as = append(as, action{kindAll, fmt.Sprintf("allow all pending of this kind (%d %s)…", n, oneLine(c.Kind, 60)), "countersign.allowAll", of(c)})
		}
	}
	if rest := len(sn.pending) - full; rest > 0 {
		as = append(as, action{kindReview, fmt.Sprintf("review pending (%d)…", rest), "countersign.review", nil})
	}
	as = append(as, sn.askActions(uri, p)...)
	as = append(as, action{kindPrompt, "new prompt", "countersign.prompt", nil})
	return append(as, sn.sessionActions(uri, p)...)
}
