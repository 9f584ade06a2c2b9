package lsp

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"countersign/session/hub"
	"countersign/staging"
)

// A talk is the document of a session in this editor: what happened in it, live,
// and below a marked line the place to write the next prompt.
//
// The hub's transcript grows on disk all the time. A document that a person
// writes in must not change on disk meanwhile: Neovim then asks before it writes
// it, Helix refuses to. So the document is a copy of this front end's own, which
// nobody writes but the editor while it is open; what is new comes in by edits,
// above the marked line.

const (
	talksName = "talks"
	talkName  = "session.md"
	talkMark  = "<!-- Write the next prompt below this line and save: saving sends it. -->"
	// talkLabel goes with the edits. Countersign's own editor snippets save a
	// document that had no unsaved changes before.
	talkLabel = "Countersign: the transcript goes on"

	// maxTalk bounds what a talk shows of what was before, in bytes.
	maxTalk = 256 << 10
	// talkSpan is how long news are gathered.
	talkSpan = 300 * time.Millisecond
	// talkPatience is how long an edit may take to come back as a change.
	talkPatience = 5 * time.Second
)

type talk struct {
	uri     string
	link    *link
	session string // short name, or id

	path   string // of the hub's transcript
	offset int64  // of what the document has of it, in bytes
	seen   bool   // path and offset are known
	news   bool   // there may be more
	next   time.Time
	sent   string // a prompt that was sent and is still to be taken out
	text   string // of the document after the edit under way; "" for none
	// busy: until an edit under way has come back as a change, or this has
	// passed. The editor's word that it applied an edit may come before that.
	busy time.Time
}

// below is what stands below the last marked line of a text.
func (t *talk) below(text string) string {
	if i := markAt(text); i >= 0 {
		_, rest, _ := strings.Cut(text[i:], "\n")
		return rest
	}
	return ""
}

func (t *talk) marked(text string) bool { return markAt(text) >= 0 }

// markAt is where the marked line begins: the last one, since what an agent says
// is above it. It is -1 where there is none.
func markAt(text string) int {
	for end := len(text); ; {
		i := strings.LastIndex(text[:end], talkMark)
		if i < 0 {
			return -1
		}
		line, _, _ := strings.Cut(text[i+len(talkMark):], "\n")
		if (i == 0 || text[i-1] == '\n') && strings.TrimSpace(line) == "" {
			return i
		}
		end = i
	}
}

// talkText is a document of what happened so far.
func talkText(happened string) string {
	if happened != "" && !strings.HasSuffix(happened, "\n") {
		happened += "\n"
	}
	return happened + "\n" + talkMark + "\n\n"
}

// readTranscript reads a transcript from an offset on, up to the end of its last
// whole line; at most max bytes of it, the last ones.
func readTranscript(path string, offset, max int64) (text string, end int64, err error) {
	f, err := staging.OpenPrivate(path, os.O_RDONLY)
	if err != nil {
		return "", offset, err
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", offset, err
	}
	from := max0(offset, size-max)
	if offset > size { // another file by that name
		from = max0(0, size-max)
	}
	raw := make([]byte, size-from)
	n, err := f.ReadAt(raw, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", offset, err
	}
	text = string(raw[:n])
	whole := strings.LastIndexByte(text, '\n') + 1
	text = text[:whole]
	end = from + int64(whole)
	if from > offset || offset > size { // not from the middle of a line
		_, text, _ = strings.Cut(text, "\n")
		text = "… what was before is left out\n\n" + text
	}
	return strings.ToValidUTF8(text, "\uFFFD"), end, nil
}

func max0(a, b int64) int64 { return max(a, b, 0) }

// transcriptCommand opens the document of a session.
func (s *server) transcriptCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	var tr hub.Transcript
	var u string
	err := s.call(ctx, s.root(), func(ctx context.Context, h Hub) (err error) {
		tr, err = h.Transcript(ctx, hub.SessionParams{Session: a.session})
		return err
	}, func(err error) {
		if err != nil {
			return
		}
		if sn.client.virtual {
			u = virtualURI(tr.Session)
			s.bringLine(u, 0, "the transcript")
			return
		}
		u, err = s.openTalk(s.rootLink(), tr)
		if err != nil {
			s.showError("The session's document cannot be made: %s", sentence(err))
		}
	})
	if err != nil {
		return nil, err
	}
	return marshal(map[string]string{"uri": u, "path": tr.Path, "session": tr.Session})
}

// openTalk makes and shows the document of a session.
func (s *server) openTalk(l *link, tr hub.Transcript) (string, error) {
	t := s.talkOf(l, tr.Session)
	if t != nil && s.isOpen(t.uri) {
		s.caughtUp(t, tr)
		doc, _ := s.documents.Get(t.uri)
		s.bring(t.uri, lastLine(doc.Text.String()), "the session's document")
		return t.uri, nil
	}
	dir := filepath.Join(l.storage, talksName, plainName(tr.Session)+"-"+strconv.Itoa(s.client.pid))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	happened, end, err := readTranscript(tr.Path, 0, maxTalk)
	if err != nil {
		happened, end = tr.Text, int64(len(tr.Text))
		s.log.Info("the transcript's own file cannot be read", zap.Error(err))
	}
	path, text := filepath.Join(dir, talkName), talkText(happened)
	if err := writePrivate(path, text); err != nil {
		return "", err
	}
	u := fileURI(path)
	t = &talk{uri: u, link: l, session: tr.Session, path: tr.Path, offset: end, seen: true}
	s.addTalk(t)
	s.bringLine(u, lastLine(text), "the session's document")
	return u, nil
}

func (s *server) addTalk(t *talk) {
	if s.talks == nil {
		s.talks = map[string]*talk{}
	}
	s.talks[t.uri] = t
	s.newPrompt(t.uri, &promptDoc{link: t.link, talk: t})
	s.touched(t.uri)
}

func (s *server) talkOf(l *link, session string) *talk {
	for _, t := range s.talks {
		if t.link == l && t.session == session {
			return t
		}
	}
	return nil
}

// plainName makes a file name of a session's.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}

// transcriptChanged takes the news that a transcript has grown.
func (s *server) transcriptChanged(l *link, c hub.TranscriptChange) {
	if s.client.virtual {
		s.refreshVirtual(c.Session)
		return
	}
	if t := s.talkOf(l, c.Session); t != nil {
		t.news = true
		if t.seen && t.path != c.Path { // another conversation has begun
			t.path, t.offset = c.Path, 0
		}
	}
}

// feedTalks brings what is new into the open documents, and tells when the next
// one is due; zero for none.
func (s *server) feedTalks() (next time.Time) {
	now := s.clock()
	for _, t := range s.talks {
		doc, open := s.documents.Get(t.uri)
		if !open || !s.client.applyEdit || t.sent == "" && !(t.news && t.seen) {
			continue
		}
		due := t.busy
		if t.sent == "" && t.next.After(due) {
			due = t.next
		}
		if now.Before(due) {
			if next.IsZero() || due.Before(next) {
				next = due
			}
			continue
		}
		if t.sent != "" {
			s.takeOut(t, doc)
			continue
		}
		t.next, t.news = now.Add(talkSpan), false
		text, end, err := readTranscript(t.path, t.offset, maxTalk)
		if err != nil {
			s.log.Info("the transcript's own file cannot be read", zap.Error(err))
			continue
		}
		t.offset = end
		s.addToTalk(t, doc, text)
	}
	return next
}

// addToTalk puts what is new above the marked line of an open document.
func (s *server) addToTalk(t *talk, doc Document, more string) {
	at := markAt(doc.Text.String())
	if more == "" || at < 0 {
		return
	}
	if at > 0 && doc.Text.String()[at-1] == '\n' && (at == 1 || doc.Text.String()[at-2] == '\n') {
		at-- // above the blank line before the mark
	}
	s.editTalk(t, doc, at, at, more, talkLabel)
}

// takeOut takes a prompt that was sent out of the document of its session,
// unless the person has written on.
func (s *server) takeOut(t *talk, doc Document) {
	text, sent := doc.Text.String(), t.sent
	t.sent = ""
	i := markAt(text)
	if i < 0 || promptText(t.below(text)) != sent {
		return
	}
	from := i + len(text[i:]) - len(t.below(text))
	s.editTalk(t, doc, from, len(text), "\n", sentLabel)
}

// editTalk replaces the bytes from start to end of an open document.
func (s *server) editTalk(t *talk, doc Document, start, end int, with, label string) {
	edit := replaceRange(doc, start, end, with, s.client.versioned, s.documents.Encoding())
	t.busy, t.text = s.clock().Add(talkPatience), doc.Text.Replace(start, end, with).String()
	s.gesture(Event{Kind: EventEdited, URI: t.uri})
	s.work(func(ctx context.Context) {
		err := s.applyEdit(ctx, label, edit)
		s.push(func() {
			if err != nil {
				t.busy, t.text = time.Time{}, ""
				s.log.Info("the session's document was not changed", zap.Error(err))
			}
		})
	})
}

// ownChange tells whether a document now reads as an edit of ours has left it:
// that nobody typed.
func (s *server) ownChange(uri string) bool {
	t := s.talks[uri]
	if t == nil {
		return false
	}
	t.busy = time.Time{}
	if t.text == "" {
		return false
	}
	doc, open := s.documents.Get(uri)
	if !open || doc.Text.String() != t.text {
		return false
	}
	t.text = ""
	return true
}

// recallTalks takes note of documents of sessions that are open from before: the
// server was started again, or the hub was.
func (s *server) recallTalks(l *link) {
	for _, t := range s.talks {
		if t.link == l {
			t.seen = false // the transcript may be another one now
		}
	}
	for _, d := range s.documents.All() {
		s.recallTalk(l, d.URI)
	}
}

func (s *server) recallTalk(l *link, uri string) {
	t := s.talks[uri]
	if t == nil {
		path := pathOf(uri)
		dir := filepath.Dir(path)
		if l.storage == "" || filepath.Base(path) != talkName || filepath.Dir(dir) != filepath.Join(l.storage, talksName) {
			return
		}
		name, _, ok := cutLast(filepath.Base(dir), "-")
		if !ok {
			return
		}
		t = &talk{uri: uri, link: l, session: name}
		s.addTalk(t)
	}
	h := l.hub
	if t.link != l || h == nil || t.seen {
		return
	}
	s.work(func(ctx context.Context) {
		tr, err := h.Transcript(ctx, hub.SessionParams{Session: t.session})
		if err != nil {
			s.log.Info("no transcript", zap.String("session", t.session), zap.Error(err))
			return
		}
		s.push(func() { s.caughtUp(t, tr) })
	})
}

func cutLast(text, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// caughtUp finds where in its transcript an open document ends, and has the rest
// brought in.
func (s *server) caughtUp(t *talk, tr hub.Transcript) {
	t.news = true
	if t.seen && t.path == tr.Path {
		return
	}
	t.path = tr.Path
	text, end, err := readTranscript(t.path, 0, maxTalk)
	doc, open := s.documents.Get(t.uri)
	if err != nil || !open {
		return
	}
	have := doc.Text.String()
	if i := markAt(have); i >= 0 {
		have = have[:i]
	}
	have = strings.TrimRight(have, "\n")
	have = have[max(0, len(have)-400):]
	if i := strings.LastIndex(text, have); i >= 0 && have != "" {
		text = strings.TrimPrefix(text[i+len(have):], "\n")
	} // else all of it comes again: better than a gap
	t.seen, t.offset = true, max(0, end-int64(len(text)))
}

// talkClosed: the document may be opened again, by a reload at once, and its
// file must not be gone then. What came meanwhile is found again.
func (s *server) talkClosed(uri string) {
	if t := s.talks[uri]; t != nil {
		t.seen, t.busy, t.text, t.sent = false, time.Time{}, "", ""
	}
}

// tidyTalks removes the documents of sessions that are not open any more.
func (s *server) tidyTalks() {
	for uri := range s.talks {
		if !s.isOpen(uri) {
			s.removeOwn(pathOf(uri), talksName)
		}
	}
}

// replaceRange is the edit that replaces a part of a document. It names no
// version, as replaceAll.
func replaceRange(doc Document, start, end int, text string, versioned bool, enc protocol.PositionEncodingKind) protocol.WorkspaceEdit {
	return workspaceEdit(doc.URI, protocol.TextEdit{Range: doc.Text.Range(start, end, enc), NewText: text}, versioned)
}
