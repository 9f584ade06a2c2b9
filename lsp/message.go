package lsp

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session/hub"
)

// Messages are short, and never a question: what is typed while one is up must
// not answer it.

func (s *server) showInfo(format string, args ...any) {
	s.show(protocol.MessageTypeInfo, fmt.Sprintf(format, args...))
}

func (s *server) showWarning(format string, args ...any) {
	s.show(protocol.MessageTypeWarning, fmt.Sprintf(format, args...))
}

func (s *server) showError(format string, args ...any) {
	s.show(protocol.MessageTypeError, fmt.Sprintf(format, args...))
}

// show shows a message, unless the editor is going away.
func (s *server) show(kind protocol.MessageType, text string) {
	if s.ended {
		s.log.Info("not shown", zap.String("text", text))
		return
	}
	_ = s.conn.Notify("window/showMessage", &protocol.ShowMessageParams{Type: kind, Message: text})
}

func (s *server) showNote(n approvals.Note) {
	if n.Warning {
		s.showWarning("%s", oneLine(n.Text, 400))
	} else {
		s.showInfo("%s", oneLine(n.Text, 400))
	}
}

// hubMessage shows what a hub says to everybody.
func (s *server) hubMessage(m hub.Message) {
	kind := protocol.MessageTypeInfo
	switch m.Severity {
	case "error":
		kind = protocol.MessageTypeError
	case "warning":
		kind = protocol.MessageTypeWarning
	}
	s.show(kind, oneLine(m.Text, 600))
}

// announceSpan is how long announcements are gathered after one was made, so
// that a flood of requests is not a flood of messages.
const announceSpan = 400 * time.Millisecond

// An announcer gathers what people are to be told about approvals.
type announcer struct {
	new   []*card   // registered
	over  []*card   // settled by somebody else
	quiet time.Time // nothing is announced before
	next  time.Time // when the gathered are announced; zero when there are none
}

// forget takes an approval out that was settled before it was announced.
func (a *announcer) forget(id string) { a.new = without(a.new, &card{Approval: hub.Approval{ID: id}}) }

// announce tells of what was gathered.
func (s *server) announce() {
	t := &s.tell
	t.next = time.Time{}
	if len(t.new)+len(t.over) == 0 || !s.begun {
		return
	}
	now := s.clock()
	if now.Before(t.quiet) {
		t.next = t.quiet
		return
	}
	t.quiet = now.Add(announceSpan)
	if text := s.settledWords(t.over); text != "" {
		s.showInfo("%s", text)
	}
	if text := s.waitingWords(t.new); text != "" {
		s.showInfo("%s", text)
	}
	t.new, t.over = nil, nil
}

// waitingWords announce requests that have come.
func (s *server) waitingWords(cs []*card) string {
	switch len(cs) {
	case 0:
		return ""
	case 1:
		c := cs[0]
		how := "decide by code action"
		switch {
		case len(c.Hidden) > 0:
			how = "hides text: review it"
		case c.staged != "" && opensItself(c) && s.settings.Open != "manual" && s.client.showDocument:
			how = s.client.keys(s.settings.Gestures, c.Surface)
		case c.staged != "" && opensItself(c), shortened(c), utf8.RuneCountInString(titleOf(&c.Approval)) > maxNamed:
			how = "review by code action"
		}
		return fmt.Sprintf("%s asks: %s (%s)", s.asker(c), oneLine(titleOf(&c.Approval), maxNamed), how)
	}
	var names []string
	for _, c := range cs[:min(3, len(cs))] {
		names = append(names, oneLine(titleOf(&c.Approval), maxNamed/2))
	}
	if more := len(cs) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d requests wait: %s (review by code action)", len(cs), strings.Join(names, "; "))
}

// settledWords tell what others settled.
func (s *server) settledWords(cs []*card) string {
	if len(cs) == 0 {
		return ""
	}
	last := cs[len(cs)-1]
	said := fmt.Sprintf("%s: %s", oneLine(titleOf(&last.Approval), maxNamed), strings.TrimPrefix(ended(&last.Approval), "it was "))
	if len(cs) == 1 {
		return said
	}
	return fmt.Sprintf("%d requests were settled elsewhere, the last one %s", len(cs), said)
}

// maxNamed is the length, in characters, that a title may have in a message that
// nobody waited for: where such a message does not fit on one line, Neovim stops
// at a prompt that swallows the next key.
const maxNamed = 36

// maxTitle is the length, in characters, that a title may have in a menu.
const maxTitle = 60

// titleOf is a request in a few words, on one line, with nothing invisible.
func titleOf(a *hub.Approval) string {
	t := a.Title
	if t == "" {
		t = a.Tool
	}
	if t == "" {
		t = a.ID
	}
	return oneLine(t, maxTitle)
}

// shortened tells whether a title does not show the whole request.
func shortened(c *card) bool {
	return utf8.RuneCountInString(approvals.Visible(c.Title)) > maxTitle || strings.ContainsAny(c.Title, "\n\r")
}

// fileOf names the file of an approval for people.
func fileOf(a *hub.Approval) string {
	if a.Path == "" {
		return titleOf(a)
	}
	return oneLine(filepath.Base(a.Path), maxTitle)
}

// oneLine makes text fit for one line of at most max characters, with
// everything visible.
func oneLine(text string, max int) string {
	text = approvals.Visible(strings.Join(strings.Fields(text), " "))
	if utf8.RuneCountInString(text) <= max {
		return text
	}
	rs := []rune(text)
	return string(rs[:max-1]) + "…"
}

// upper makes the first letter of a sentence a capital.
func upper(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:]
}
