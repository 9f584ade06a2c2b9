package lsp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/hub"
)

// The mode of a session says how far it may go without asking. It is shown
// wherever the session is, and every change of it is told, because agents change
// it by themselves.

// modeMeans says what a mode lets through.
func modeMeans(name string) string {
	switch m, _ := session.ModeNamed(name); m {
	case session.Plan:
		return "plan only, edit nothing"
	case session.AskBeforeEdit:
		return "ask before every edit"
	case session.AutoEdit:
		return "edits pass, other tools ask"
	case session.Auto:
		return "the agent judges what to ask"
	case session.Bypass:
		return "nothing is asked"
	}
	return ""
}

// modeOf is a session's mode for a title: "plan", "plan, then auto_edit".
func modeOf(i session.Info) string {
	switch {
	case i.NextMode != "" && i.Mode != "" && i.NextMode != i.Mode:
		return oneLine(i.Mode, 24) + ", then " + oneLine(i.NextMode, 24)
	case i.NextMode != "":
		return oneLine(i.NextMode, 24)
	}
	return oneLine(i.Mode, 24)
}

// modeActions offer every mode but the one in force.
func (sn *snapshot) modeActions() []action {
	var as []action
	now := sn.session.Mode
	if sn.session.NextMode != "" {
		now = sn.session.NextMode
	}
	for _, m := range session.Modes() {
		if m.String() == now {
			continue
		}
		title := fmt.Sprintf("mode %s (%s)", m, modeMeans(m.String()))
		if now != "" {
			title += ", now " + oneLine(now, 24)
		}
		as = append(as, action{kindMode, title, "countersign.setMode", modeArgument{m.String()}})
	}
	return as
}

type modeArgument struct {
	Mode string `json:"mode"`
}

// setModeCommand asks for a mode.
func (s *server) setModeCommand(ctx context.Context, _ *snapshot, a arguments) (any, error) {
	m, ok := session.ModeNamed(a.mode)
	if !ok {
		return nil, fmt.Errorf("there is no mode %q; the modes are %v", oneLine(a.mode, 40), session.Modes())
	}
	var info session.Info
	var l *link
	pick := func() *link {
		l = s.rootLink()
		if l.asked == nil {
			l.asked = map[string]string{}
		}
		l.asked[l.nameOf(a.session)] = m.String()
		return l
	}
	err := s.call(ctx, pick, func(ctx context.Context, h Hub) (err error) {
		info, err = h.SetMode(ctx, hub.ModeParams{Mode: m.String(), Session: a.session})
		return err
	}, func(err error) {
		if err != nil {
			delete(l.asked, l.nameOf(a.session))
			return
		}
		s.sessionHeard(l, info)
		switch {
		case info.Mode == m.String():
			s.showInfo("Mode %s: %s.", m, modeMeans(m.String()))
		default:
			delete(l.asked, l.nameOf(a.session))
			s.showInfo("Mode %s (%s) from the next prompt on.", m, modeMeans(m.String()))
		}
	})
	if err != nil {
		return nil, err
	}
	return marshal(info)
}

// nameOf is the short name of the session that is meant: by that name, by its
// id, or the current one.
func (l *link) nameOf(ref string) string {
	if ref == "" {
		return l.info.Name
	}
	for name, i := range l.sessions {
		if i.ID == ref {
			return name
		}
	}
	return ref
}

// anyMode stands for the mode that a decision of this front end leads to: after a
// plan, or by a rule.
const anyMode = "*"

// expectMode notes that a decision of this front end changes the mode of the
// session that asked. The change is then told, but is no warning.
func (s *server) expectMode(c *card, p hub.SettleParams) {
	words := ""
	switch {
	case !p.Allow:
		return
	case p.ForSession:
		words = c.SessionWords
	case p.Suggestion != nil && *p.Suggestion < len(c.Rules):
		words = c.Rules[*p.Suggestion]
	}
	if c.Surface != approvals.SurfacePlan && !strings.Contains(words, "(mode ") {
		return
	}
	if c.link.asked == nil {
		c.link.asked = map[string]string{}
	}
	c.link.asked[c.Session] = anyMode
}

// tellMode tells of a change of mode that nobody here asked for. A looser one is
// a warning.
func (s *server) tellMode(l *link, before, now session.Info) {
	if now.Mode == "" || now.Mode == before.Mode {
		return
	}
	asked, ours := l.asked[now.Name]
	delete(l.asked, now.Name)
	if before.Mode == "" || ours && asked == now.Mode {
		return
	}
	which := ""
	if s.several() {
		which = upper(named(now, true)) + ": "
	}
	text := fmt.Sprintf("%sthe mode is now %s", which, oneLine(now.Mode, 24))
	if means := modeMeans(now.Mode); means != "" {
		text += " (" + means + ")"
	}
	if looser(before.Mode, now.Mode) && asked != anyMode {
		s.showWarning("%s.", upper(text))
	} else {
		s.showInfo("%s.", upper(text))
	}
}

// looser tells whether a mode lets more through than another. A word that names
// no mode may let anything through.
func looser(before, now string) bool {
	rank := func(name string) int {
		return slices.IndexFunc(session.Modes(), func(m session.Mode) bool { return m.String() == name })
	}
	b, n := rank(before), rank(now)
	return n < 0 || b >= 0 && n > b
}
