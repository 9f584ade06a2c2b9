package hub

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"countersign/approvals"
	"countersign/session"
)

// Bounds of a transcript, in bytes.
const (
	maxTranscript = 2 << 20  // of a file, before it is put aside; two are kept
	maxAdded      = 64 << 10 // of what front ends are told at once
	maxShown      = 1 << 20  // of what is answered at once
)

const (
	transcriptName = "session.md"
	transcriptOld  = "session.1.md"
)

// A transcript is what happens in one open session, as a file for people. It
// is not the journal: nothing is proved by it, and it is not synced to disk.
type transcript struct {
	scribe *scribe
	name   string // of the session
	about  string // the workspace

	// The scribe's own, from here on:
	page   page
	folder string // "" until something is written
	file   *os.File
	size   int64
	buf    strings.Builder // not appended yet
	info   session.Info    // as the session said last
	entry  past            // as the history has it
}

func (s *scribe) begin(name, about string) *transcript {
	return &transcript{scribe: s, name: name, about: about, page: newPage()}
}

// note has something written, with the time at which it was put.
func (t *transcript) note(write func(p *page, at time.Time)) {
	at := t.scribe.now()
	t.scribe.put(func() { t.render(func(p *page) { write(p, at) }) })
}

func (t *transcript) render(write func(p *page)) {
	clean := t.buf.Len() == 0
	write(&t.page)
	t.buf.WriteString(t.page.take())
	if clean && t.buf.Len() > 0 {
		t.scribe.dirty = append(t.scribe.dirty, t)
	}
}

// prompt is told of what a person sends.
func (t *transcript) prompt(text, by string) {
	at := t.scribe.now()
	t.scribe.put(func() {
		if t.entry.Title == "" {
			t.entry.Title = titleOf(text)
		}
		if t.entry.Started.IsZero() {
			t.entry.Started = at.UTC()
		}
		t.render(func(p *page) { p.prompt(at, text, by) })
	})
}

// event is told of what the agent does.
func (t *transcript) event(e session.Event) {
	switch e.(type) {
	case session.Requested, session.Cancelled, session.ToolRan, session.Initialized, session.ModeReported, session.BackgroundChanged:
		return // told by the desk, or by how the session then does
	}
	t.note(func(p *page, at time.Time) { p.event(at, e, t.info) })
}

// approval is told of every change of an approval.
func (t *transcript) approval(a approvals.Approval) {
	t.note(func(p *page, at time.Time) { p.approval(at, a) })
}

// remark is told of what the person is told.
func (t *transcript) remark(warning bool, text string) {
	t.note(func(p *page, at time.Time) { p.remark(at, warning, text) })
}

// changed is told how the session does now.
func (t *transcript) changed(i session.Info) {
	at := t.scribe.now()
	t.scribe.put(func() {
		before := t.info
		t.info = i
		if i.Mode != "" && i.Mode != before.Mode {
			t.render(func(p *page) { p.mode(at, before.Mode, i.Mode) })
		}
		if i.Mode == "" {
			t.info.Mode = before.Mode // unknown while no agent runs, not another one
		}
		t.keep(at, i)
	})
}

// keep writes into the history what has become of the session.
func (t *transcript) keep(at time.Time, i session.Info) {
	if !validID(i.ID) || !active(i) && i.Turns <= t.entry.Turns {
		return
	}
	if err := t.open(); err != nil { // it is found again by its folder
		t.scribe.warn(err)
	}
	now := t.entry
	if now.ID != i.ID && now.ID != "" { // begun afresh
		now = past{Title: now.Title, Folder: now.Folder}
	}
	now.ID, now.CostUSD, now.Turns, now.Folder = i.ID, i.CostUSD, i.Turns, t.folder
	if i.Mode != "" {
		now.Mode = i.Mode
	}
	if i.Model != "" {
		now.Model = i.Model
	}
	if now.Started.IsZero() {
		now.Started = at.UTC()
	}
	now.Last = t.entry.Last
	if now != t.entry {
		now.Last = at.UTC()
		t.entry = now
		t.scribe.past.put(now)
	}
}

// renew is the end of a conversation; another one takes its place.
func (t *transcript) renew() { t.scribe.put(func() { t.reset(past{}) }) }

// resume goes on with an earlier conversation, and with its transcript.
func (t *transcript) resume(p past) {
	at := t.scribe.now()
	t.scribe.put(func() {
		t.reset(p)
		t.folder = p.Folder
		t.render(func(g *page) { g.resumed(at, p) })
	})
}

func (t *transcript) reset(p past) {
	if err := t.append(); err != nil {
		t.scribe.warn(err)
	}
	if t.file != nil {
		t.file.Close()
	}
	t.page, t.file, t.folder, t.size, t.info, t.entry = newPage(), nil, "", 0, session.Info{}, p
}

// ended closes the file; the session is not open any more.
func (t *transcript) ended() { t.renew() }

// path is where the file lies; it is opened, and begun, if it was not.
func (t *transcript) path() (string, error) {
	if err := t.open(); err != nil {
		return "", err
	}
	return t.scribe.pathOf(t.folder), nil
}

// append writes what was rendered to the file, and tells of it.
func (t *transcript) append() error {
	added := t.buf.String()
	t.buf.Reset()
	if added == "" {
		return nil
	}
	if err := t.open(); err != nil {
		return err
	}
	if t.size+int64(len(added)) > maxTranscript && t.size > int64(len(t.page.head(t.name, t.about))) {
		if err := t.rotate(); err != nil {
			return err
		}
	}
	n, err := t.file.WriteString(added)
	t.size += int64(n)
	if err != nil {
		return err
	}
	change := TranscriptChange{Session: t.name, Path: t.scribe.pathOf(t.folder), Added: added}
	if len(added) > maxAdded {
		change.Added, change.Cut = lastText(added, maxAdded), true
	}
	t.scribe.told(change)
	return nil
}

// open opens the file; a new one gets a folder of its own and begins with what
// it is.
func (t *transcript) open() error {
	if t.file != nil {
		return nil
	}
	root := t.scribe.root
	if t.folder == "" {
		base := t.scribe.now().UTC().Format("20060102-150405") + "-" + t.name
		for n := 1; t.folder == ""; n++ {
			name := base
			if n > 1 {
				name = fmt.Sprintf("%s-%d", base, n)
			}
			switch err := root.Mkdir(name, 0o700); {
			case err == nil:
				t.folder = name
			case !errors.Is(err, fs.ErrExist):
				return err
			}
		}
	} else if err := root.Mkdir(t.folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	name := path.Join(t.folder, transcriptName)
	f, err := openPlain(root, name, os.O_WRONLY|os.O_CREATE|os.O_APPEND)
	if err != nil {
		return err
	}
	fi, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	t.file, t.size = f, fi.Size()
	if t.size > 0 {
		return nil
	}
	n, err := f.WriteString(t.page.head(t.name, t.about))
	t.size = int64(n)
	return err
}

// openPlain opens a file that is a file and no link: a transcript must not be
// led to somewhere else.
func openPlain(root *os.Root, name string, flag int) (*os.File, error) {
	before, err := root.Lstat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) || err != nil && flag&os.O_CREATE == 0 {
		return nil, err
	}
	if err == nil && !before.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", filepath.Join(root.Name(), name))
	}
	if err != nil {
		flag |= os.O_EXCL // made by nobody else meanwhile
	}
	f, err := root.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || before != nil && !os.SameFile(before, now) {
		f.Close()
		return nil, fmt.Errorf("%s was replaced while it was opened", filepath.Join(root.Name(), name))
	}
	return f, nil
}

// rotate puts a file that has become long aside, in the place of the one before.
func (t *transcript) rotate() error {
	if err := t.file.Close(); err != nil {
		t.scribe.warn(err)
	}
	t.file = nil
	if err := t.scribe.root.Rename(path.Join(t.folder, transcriptName), path.Join(t.folder, transcriptOld)); err != nil {
		return err
	}
	if err := t.open(); err != nil {
		return err
	}
	n, err := t.file.WriteString("What was before is in " + transcriptOld + ".\n\n")
	t.size += int64(n)
	return err
}

func (s *scribe) pathOf(folder string) string { return filepath.Join(s.dir, folder, transcriptName) }

// readTranscript is the text of a transcript's file, or the end of a long one.
func (s *scribe) readTranscript(folder string) (string, error) {
	f, err := openPlain(s.root, path.Join(folder, transcriptName), os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 2*maxTranscript))
	if err != nil {
		return "", err
	}
	if len(data) <= maxShown {
		return string(data), nil
	}
	return "The beginning is left out here.\n\n" + lastText(string(data), maxShown), nil
}

// lastText is the end of s: at most n bytes, beginning with a whole line where
// there is one.
func lastText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[i+1:]
	}
	for len(s) > 0 && !utf8.RuneStart(s[0]) {
		s = s[1:]
	}
	return s
}
