package lsp

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"countersign/session"
	"countersign/session/hub"
)

// This file is the commands about sessions, and the document that lists them.

func (s *server) interruptCommand(ctx context.Context, _ *snapshot, a arguments) (any, error) {
	return nil, s.call(ctx, s.root(), func(ctx context.Context, h Hub) error {
		return h.InterruptSession(ctx, hub.SessionParams{Session: a.session})
	}, nil)
}

func (s *server) newSessionCommand(ctx context.Context, _ *snapshot, a arguments) (any, error) {
	return s.sessionCall(ctx, func(ctx context.Context, h Hub) (session.Info, error) {
		return h.NewSessionWith(ctx, hub.NewSessionParams{Beside: a.beside})
	})
}

func (s *server) resumeCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	return s.sessionCall(ctx, func(ctx context.Context, h Hub) (session.Info, error) {
		return h.Resume(ctx, hub.ResumeParams{Session: a.session, Env: os.Environ(), Settings: &sn.settings.Session})
	})
}

func (s *server) stopCommand(ctx context.Context, _ *snapshot, a arguments) (any, error) {
	return s.sessionCall(ctx, func(ctx context.Context, h Hub) (session.Info, error) {
		return h.StopSession(ctx, hub.SessionParams{Session: a.session})
	})
}

// sessionCall is a call whose result is how a session does.
func (s *server) sessionCall(ctx context.Context, f func(context.Context, Hub) (session.Info, error)) (any, error) {
	var info session.Info
	var l *link
	err := s.call(ctx, func() *link { l = s.rootLink(); return l }, func(ctx context.Context, h Hub) (err error) {
		info, err = f(ctx, h)
		return err
	}, func(err error) {
		if err == nil {
			s.sessionHeard(l, info)
		}
	})
	if err != nil {
		return nil, err
	}
	return marshal(info)
}

func (s *server) sessionsCommand(ctx context.Context, _ *snapshot, _ arguments) (any, error) {
	entries, err := s.listSessions(ctx)
	if err != nil {
		return nil, err
	}
	return marshal(entries)
}

func (s *server) listSessions(ctx context.Context) ([]hub.SessionEntry, error) {
	entries := []hub.SessionEntry{}
	err := s.call(ctx, s.root(), func(ctx context.Context, h Hub) error {
		got, err := h.Sessions(ctx)
		entries = append(entries, got...)
		return err
	}, nil)
	return entries, err
}

// showSessionsCommand shows the sessions of the workspace in a document, one a
// line; a code action on its line goes on with one.
func (s *server) showSessionsCommand(ctx context.Context, sn *snapshot, _ arguments) (any, error) {
	entries, err := s.listSessions(ctx)
	if err != nil {
		return nil, err
	}
	if sn.storage == "" {
		return nil, fmt.Errorf("there is no hub")
	}
	dir := filepath.Join(sn.storage, viewsName, "sessions-"+strconv.Itoa(sn.client.pid))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the list of sessions cannot be made: %w", err)
	}
	path := filepath.Join(dir, sessionsDocument)
	text := sessionsText(entries)
	u := fileURI(path)
	err = s.within(ctx, func() {
		if doc, open := s.documents.Get(u); open {
			s.rewrite(u, doc, text)
		} else if err := writePrivate(path, text); err != nil {
			s.showError("The list of sessions cannot be made: %s", sentence(err))
			return
		}
		s.bringLine(u, min(2, lastLine(text)), "the list of sessions")
	})
	if err != nil {
		return nil, err
	}
	return marshal(map[string]any{"uri": u, "sessions": entries})
}

// rewrite gives an open document of ours another text.
func (s *server) rewrite(u string, doc Document, text string) {
	if !s.client.applyEdit || doc.Text.String() == text {
		return
	}
	edit := replaceAll(doc, text, s.client.versioned, s.documents.Encoding())
	s.gesture(Event{Kind: EventEdited, URI: u})
	s.work(func(ctx context.Context) {
		if err := s.applyEdit(ctx, talkLabel, edit); err != nil {
			s.push(func() { s.showError("The list of sessions was not changed: %s", sentence(err)) })
		}
	})
}

const sessionsDocument = "sessions.md"

// isSessionsDocument tells whether a document lists sessions.
func isSessionsDocument(u string) bool {
	path := pathOf(u)
	dir := filepath.Dir(path)
	return filepath.Base(path) == sessionsDocument && strings.HasPrefix(filepath.Base(dir), "sessions-") && filepath.Base(filepath.Dir(dir)) == viewsName
}

// sessionsText is the document that lists sessions. The name by which a session
// is meant ends its line.
func sessionsText(entries []hub.SessionEntry) string {
	var b strings.Builder
	b.WriteString("<!-- The sessions of this workspace. A code action on a line goes on with that session. -->\n\n")
	for _, e := range entries {
		b.WriteString("- ")
		if e.Current {
			b.WriteString("now: ")
		}
		b.WriteString(entryWords(e))
		ref := e.Name
		if ref == "" {
			ref = e.ID
		}
		fmt.Fprintf(&b, " `%s`\n", strings.ReplaceAll(oneLine(ref, 80), "`", ""))
	}
	if len(entries) == 0 {
		b.WriteString("There is none yet.\n")
	}
	return b.String()
}

// entryWords say what a session is and does.
func entryWords(e hub.SessionEntry) string {
	words := "“" + oneLine(e.Title, maxTitle) + "”"
	if e.Title == "" {
		words = "no prompt yet"
	}
	switch e.State {
	case session.StateStarting:
		words += ", starts"
	case session.StateRunning:
		words += ", works"
	case session.StateIdle:
		words += ", waits for a prompt"
	case session.StateEnded:
		words += ", ended"
	}
	if e.Mode != "" {
		words += ", mode " + oneLine(e.Mode, 24)
	}
	if !e.Last.IsZero() {
		words += ", " + e.Last.Local().Format("2006-01-02 15:04")
	}
	return words
}

// sessionOnLine is the session that a line of that document is of.
func sessionOnLine(line string) (ref, words string, ok bool) {
	line = strings.TrimSpace(line)
	rest, ok := strings.CutSuffix(line, "`")
	i := strings.LastIndexByte(rest, '`')
	if !ok || i < 0 || !strings.HasPrefix(line, "- ") {
		return "", "", false
	}
	words = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(rest[:i], "- "), "now: "))
	if end := strings.LastIndex(words, "”"); end >= 0 {
		words = words[:end+len("”")]
	}
	return rest[i+1:], words, rest[i+1:] != ""
}
