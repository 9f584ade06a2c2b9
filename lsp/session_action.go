package lsp

import (
	"countersign/session"
)

// This file is the code actions about sessions and their modes. All of them are
// offered in the documents of a session (the prompt, the session's own, the list
// of sessions) and to whoever asks for these kinds by name; elsewhere there is
// one that opens the session's document, so that lists stay short.

type sessionArgument struct {
	Session string `json:"session,omitzero"`
	Beside  bool   `json:"beside,omitzero"`
}

// documentActions are what only one document offers.
func (sn *snapshot) documentActions(uri string, p *codeActionParams) []action {
	var as []action
	if sn.prompt != "" && uri == sn.prompt {
		as = append(as, action{kindSend, "send this prompt", "countersign.send", nil})
	}
	if _, ok := sn.talks[uri]; ok {
		as = append(as, action{kindSend, "send what is written below the line", "countersign.send", sendArgument{URI: uri}})
	}
	if _, ok := sn.lists[uri]; ok {
		as = append(as, action{kindAll, "allow what is ticked in this list", "countersign.allowAll", sendArgument{URI: uri}})
	}
	if doc, open := sn.texts[uri]; open && isSessionsDocument(uri) {
		line := int(p.Range.Start.Line)
		if line >= doc.Lines() {
			return as
		}
		ref, words, ok := sessionOnLine(doc.Line(line))
		if !ok {
			return as
		}
		as = append(as,
			action{kindTalk, "go on with the session " + words, "countersign.resume", sessionArgument{Session: ref}},
			action{kindTalk, "show the session " + words, "countersign.transcript", sessionArgument{Session: ref}})
		for _, i := range sn.sessions {
			if (i.Name == ref || i.ID == ref) && hasAgent(i) {
				as = append(as, action{kindTalk, "stop the session " + words, "countersign.stop", sessionArgument{Session: ref}})
			}
		}
	}
	return as
}

type sendArgument struct {
	URI string `json:"uri"`
}

// sessionActions are what can be done with the sessions.
func (sn *snapshot) sessionActions(uri string, p *codeActionParams) []action {
	var as []action
	for _, i := range sn.sessions {
		if !works(i) {
			continue
		}
		a := action{kindInterrupt, "interrupt", "countersign.interrupt", nil}
		if sn.several {
			a.title, a.args = "interrupt "+named(i, true), sessionArgument{Session: i.Name}
		}
		as = append(as, a)
	}
	_, talk := sn.talks[uri]
	home := talk || sn.prompt != "" && uri == sn.prompt || isSessionsDocument(uri)
	now := sn.session
	if !home && !asks(p, kindTalk) && !asks(p, kindMode) {
		if now.ID != "" || hasAgent(now) {
			title := "session"
			if mode := modeOf(now); mode != "" {
				title += " (mode " + mode + ")"
			}
			as = append(as, action{kindTalk, title + "…", "countersign.transcript", nil})
		}
		return as
	}
	if !talk {
		as = append(as, action{kindTalk, "what happened in " + named(now, sn.several), "countersign.transcript", nil})
	}
	as = append(as, sn.modeActions()...)
	if hasAgent(now) {
		as = append(as, action{kindTalk, "stop " + named(now, sn.several) + " (it can be resumed)", "countersign.stop", nil})
	} else {
		as = append(as, action{kindTalk, "resume the last session", "countersign.resume", nil})
	}
	if now.ID != "" || now.State != session.StateNone {
		as = append(as, action{kindTalk, "new session", "countersign.newSession", nil})
	}
	if hasAgent(now) {
		as = append(as, action{kindTalk, "new session beside this one", "countersign.newSession", sessionArgument{Beside: true}})
	}
	return append(as, action{kindTalk, "sessions…", "countersign.showSessions", nil})
}

// asks tells whether the editor asks for a kind by name.
func asks(p *codeActionParams, kind string) bool {
	return len(p.Context.Only) > 0 && wanted(kind, p.Context.Only)
}
