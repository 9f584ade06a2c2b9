package lsp

import (
	"fmt"
	"slices"

	"countersign/session"
	"countersign/session/hub"
)

// A hub keeps several sessions side by side; here is what is known of them. The
// current one is what names no session means.

// attached takes the sessions of a hub that was just reached.
func (l *link) attached(res hub.AttachResult) {
	l.sessions, l.info = map[string]session.Info{}, res.Session
	for _, i := range res.Sessions {
		l.sessions[i.Name] = i
	}
	l.sessions[res.Session.Name] = res.Session
}

// gone forgets them with their hub.
func (l *link) gone() {
	l.sessions, l.info = nil, session.Info{}
	l.asked = nil
}

// heard takes how a session does, and gives what was known of it before.
func (l *link) heard(info session.Info) (before session.Info, known bool) {
	if l.sessions == nil {
		l.sessions = map[string]session.Info{}
	}
	before, known = l.sessions[info.Name]
	l.sessions[info.Name] = info
	if info.Current || info.Name == l.info.Name || len(l.sessions) == 1 {
		l.info = info
	}
	for name, i := range l.sessions {
		if info.Current && i.Current && name != info.Name {
			i.Current = false
			l.sessions[name] = i
		}
	}
	return before, known
}

// hasAgent tells whether a session's agent runs.
func hasAgent(i session.Info) bool {
	return i.State == session.StateStarting || i.State == session.StateRunning || i.State == session.StateIdle
}

// works tells whether a turn of a session runs.
func works(i session.Info) bool {
	return i.State == session.StateStarting || i.State == session.StateRunning
}

// all are the sessions of a link by name, the current one first.
func (l *link) all() []session.Info {
	var all []session.Info
	for _, i := range l.sessions {
		all = append(all, i)
	}
	slices.SortFunc(all, func(a, b session.Info) int {
		switch {
		case a.Name == b.Name:
			return 0
		case a.Name == l.info.Name:
			return -1
		case b.Name == l.info.Name:
			return 1
		case len(a.Name) != len(b.Name):
			return len(a.Name) - len(b.Name)
		case a.Name < b.Name:
			return -1
		}
		return 1
	})
	return all
}

// several tells whether it has to be said which session is meant.
func (s *server) several() bool {
	if len(s.board.askers) > 1 {
		return true
	}
	agents := 0
	for _, l := range s.links {
		for _, i := range l.sessions {
			if hasAgent(i) {
				agents++
			}
		}
	}
	return agents > 1
}

// sessionHeard takes how a session does.
func (s *server) sessionHeard(l *link, info session.Info) {
	before, known := l.heard(info)
	s.touched()
	s.progress()
	if known {
		s.tellMode(l, before, info)
	}
}

// whose says who asks, where that is not the one session itself.
func whose(c *card, several bool) string {
	who := ""
	if c.Agent != "" {
		who = "subagent " + oneLine(c.Agent, 20)
	}
	if several && c.Session != "" {
		if who != "" {
			who += " of "
		}
		who += "session " + oneLine(c.Session, 12)
	}
	return who
}

// label is a request in a few words, with whose it is where that must be said.
func label(c *card, several bool) string {
	title := titleOf(&c.Approval)
	if who := whose(c, several); who != "" {
		title += " (" + who + ")"
	}
	return title
}

func (sn *snapshot) label(c *card) string { return label(c, sn.several) }

// title is a request in a few words, on one line, with nothing invisible.
func (s *server) title(c *card) string { return label(c, s.several()) }

// asker names who asks.
func (s *server) asker(c *card) string {
	if who := whose(c, s.several()); who != "" {
		return upper(who)
	}
	return "The agent"
}

// named is a session by name, where there are several.
func named(i session.Info, several bool) string {
	if !several || i.Name == "" {
		return "the session"
	}
	return fmt.Sprintf("session %s", oneLine(i.Name, 12))
}
