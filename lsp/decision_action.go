package lsp

import (
	"strings"

	"countersign/approvals"
)

// This file is the code actions that decide about one request, each surface
// having its own.

// decisions are what can be done about a pending request from a document.
func (sn *snapshot) decisions(c *card, uri string) []action {
	var as []action
	title := sn.label(c)
	// What a title cannot show in full is to be looked at first.
	if uri != c.staged && (c.staged != "" || shortened(c)) {
		as = append(as, action{kindReview, "review " + title, "countersign.review", of(c)})
	}
	switch c.Surface {
	case approvals.SurfaceQuestion:
		return append(as, questionActions(c, title, uri)...)
	case approvals.SurfacePlan:
		return append(as, planActions(c, title, uri)...)
	}
	as = append(as, action{kindAllow, "allow " + title, "countersign.allow", of(c)})
	if c.SessionWords != "" {
		as = append(as, action{kindSession, "allow for session " + sessionWords(c), "countersign.allowForSession", of(c)})
	}
	as = append(as, ruleActions(c, title, uri)...)
	as = append(as, action{kindDeny, "deny " + title, "countersign.deny", of(c)})
	if sn.changed(c) {
		as = append(as, action{kindEdits, "deny " + title + ", and send back my edits as feedback", "countersign.denyWithEdits", of(c)})
	}
	as = append(as, action{kindReason, "deny " + title + " with a reason", "countersign.denyWithReason", of(c)})
	return append(as, stopActions(c, "deny "+title, uri)...)
}

// looksAt tells whether a document is the one in which a request is looked at:
// there all that can be decided is offered, elsewhere the usual.
func looksAt(c *card, uri string) bool { return c.staged == "" || uri == c.staged }

// questionActions answer a question with one keystroke, or decline. A bare allow
// is no answer.
func questionActions(c *card, title, uri string) []action {
	var as []action
	for _, q := range c.QuickAnswers {
		as = append(as, action{
			kindAnswer, "answer " + oneLine(q.Words, maxTitle) + " to " + title, "countersign.answer",
			answerArgument{ID: c.ID, Answers: map[string]string{q.Question: q.Label}},
		})
	}
	as = append(as,
		action{kindDeny, "decline to answer " + title, "countersign.deny", of(c)},
		action{kindReason, "decline to answer " + title + " with a reason", "countersign.denyWithReason", of(c)})
	return append(as, stopActions(c, "decline to answer "+title, uri)...)
}

type answerArgument struct {
	ID      string            `json:"id"`
	Answers map[string]string `json:"answers"`
}

// planActions approve a plan with the mode that follows, or keep planning.
func planActions(c *card, title, uri string) []action {
	var as []action
	for _, m := range c.PlanModes {
		as = append(as, action{kindAllow, "approve " + title + ", then " + oneLine(m.Words, maxTitle), "countersign.allow", allowArgument{ID: c.ID, Mode: m.Mode}})
	}
	if len(c.PlanModes) == 0 {
		as = append(as, action{kindAllow, "approve " + title, "countersign.allow", of(c)})
	}
	as = append(as,
		action{kindDeny, "keep planning (deny " + title + ")", "countersign.deny", of(c)},
		action{kindReason, "keep planning, with remarks (deny " + title + ")", "countersign.denyWithReason", of(c)})
	return append(as, stopActions(c, "deny "+title, uri)...)
}

type allowArgument struct {
	ID          string `json:"id"`
	Suggestion  *int   `json:"suggestion,omitzero"`
	Destination string `json:"destination,omitzero"`
	Mode        string `json:"mode,omitzero"`
}

// ruleActions allow and make a rule of it, each saying what that lets through
// and which file it writes: every choice in the document of the request,
// elsewhere those that the agent suggests.
func ruleActions(c *card, title, uri string) []action {
	var as []action
	for _, r := range c.Choices {
		if r.Words == c.SessionWords || !r.Own && !looksAt(c, uri) {
			continue
		}
		words := "allow " + title + " and, from now on, " + oneLine(r.Words, 4*maxTitle)
		if r.Title != "" {
			words = oneLine(r.Title, 4*maxTitle) + ", beginning with " + title
		}
		as = append(as, action{
			kindRule, words, "countersign.allow",
			allowArgument{ID: c.ID, Suggestion: &r.Suggestion, Destination: r.Destination},
		})
	}
	return as
}

// stopActions deny and end the turn. The agent then reads a standard text
// instead of any reason.
func stopActions(c *card, what, uri string) []action {
	if !looksAt(c, uri) {
		return nil
	}
	return []action{{kindStop, what + " and stop the turn (the agent then reads no reason)", "countersign.deny", denyArgument{ID: c.ID, Interrupt: true}}}
}

type denyArgument struct {
	ID        string `json:"id"`
	Interrupt bool   `json:"interrupt,omitzero"`
}

// changed tells whether the person changed a document that is open here: only
// then there are edits to send back.
func (sn *snapshot) changed(c *card) bool {
	doc, open := sn.texts[c.staged]
	return open && c.staged != "" && !asStaged(c, doc.String())
}

// sessionWords say what "for the session" would let through, in brackets.
func sessionWords(c *card) string {
	words, _, _ := strings.Cut(c.SessionWords, ", for this session")
	return "(" + oneLine(strings.TrimPrefix(words, "allow without asking "), 2*maxTitle) + ")"
}
