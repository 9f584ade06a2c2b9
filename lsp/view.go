package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session/hub"
)

// A view is a document that only shows a request, for the requests that have no
// staged document (setting reviewEdits "panel", storage that cannot be staged
// in): the change as a diff, or the tool's input. Saving or closing it means
// nothing; it lies beside the staged documents, not among them.

const viewsName = "views"

// reviewView fetches a request in full and shows it.
func (s *server) reviewView(c *card) {
	dir := placeOf(c, viewsName)
	s.need(c.link, func(ctx context.Context, h Hub, err error) {
		var d hub.Detail
		if err == nil {
			d, err = h.Show(ctx, hub.ShowParams{ID: c.ID})
		}
		path := ""
		if err == nil && dir != "" {
			path, err = writeView(dir, &d)
		}
		s.push(func() {
			if err != nil || path == "" {
				s.reviewInWords(c)
				return
			}
			u := fileURI(path)
			s.views[u] = c.ID
			s.bring(u, 0, "the view of "+s.title(c))
		})
	})
}

// writeView writes the view of a request and returns its path.
func writeView(dir string, d *hub.Detail) (string, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("the view cannot be made: %w", err)
	}
	name, text := viewText(d)
	path := filepath.Join(dir, name)
	return path, writePrivate(path, text)
}

// viewText is what a view shows, and the name that its language goes by.
func viewText(d *hub.Detail) (name, text string) {
	var b strings.Builder
	a := &d.Approval
	fmt.Fprintf(&b, "# %s\n", approvals.Visible(strings.ReplaceAll(a.Title, "\n", " ")))
	if a.Path != "" {
		fmt.Fprintf(&b, "# file: %s\n", approvals.Visible(a.Path))
	}
	if a.Summary != "" && a.Summary != a.Title {
		fmt.Fprintf(&b, "# %s\n", approvals.Visible(strings.ReplaceAll(a.Summary, "\n", " ")))
	}
	for _, n := range a.Notes {
		fmt.Fprintf(&b, "# note: %s\n", approvals.Visible(strings.ReplaceAll(n.Text, "\n", " ")))
	}
	b.WriteString("# This only shows the request: allow or deny it with a code action.\n\n")
	if d.Diff != "" {
		b.WriteString(approvals.Visible(d.Diff))
		return "review.diff", b.String()
	}
	input := jsontext.Value(strings.Clone(string(d.Input)))
	if input.Indent() == nil {
		b.WriteString(approvals.Visible(string(input)))
	} else {
		b.WriteString(approvals.Visible(string(d.Input)))
	}
	b.WriteByte('\n')
	return "review.txt", b.String()
}

// dropViews removes the views of an approval that is settled, unless they are
// open: then when they are closed.
func (s *server) dropViews(id string) {
	for u, of := range s.views {
		if of == id && !s.isOpen(u) {
			s.dropView(u)
		}
	}
}

// viewClosed removes a view that is of no more use.
func (s *server) viewClosed(u string) {
	if id, ok := s.views[u]; ok {
		if c := s.board.cards[id]; c == nil || !c.pending() {
			s.dropView(u)
		}
	}
}

func (s *server) dropView(u string) {
	delete(s.views, u)
	s.removeOwn(pathOf(u), viewsName)
}

// placeOf is the folder of a kind that the storage has for an approval; empty
// when there is none.
func placeOf(c *card, kind string) string {
	if c.link.storage == "" || c.ID == "" || c.ID == "." || c.ID == ".." || filepath.Base(c.ID) != c.ID {
		return ""
	}
	return filepath.Join(c.link.storage, kind, c.ID)
}

// leftoverAge is the age, in time since the last write, from which a view or a
// reason that belongs to no pending request is swept away, and a session's
// document whose editor has ended. Another editor may still have a younger one
// open.
const leftoverAge = 24 * time.Hour

// sweep removes the views and reasons of requests that are settled or forgotten,
// as an editor or a server that was killed leaves them behind.
func sweep(storage string, now time.Time, pending func(id string) bool) {
	for _, kind := range []string{viewsName, reasonsName, listsName, talksName} {
		dir := filepath.Join(storage, kind)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			fi, err := e.Info()
			if err != nil || !fi.IsDir() || pending(e.Name()) || now.Sub(fi.ModTime()) < leftoverAge || kind == talksName && ofRunningEditor(e.Name()) {
				continue
			}
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// ofRunningEditor tells whether the editor still runs whose process id ends a
// name, see openTalk. Where that cannot be told it does.
func ofRunningEditor(name string) bool {
	pid, err := strconv.Atoi(name[strings.LastIndex(name, "-")+1:])
	if err != nil || pid <= 0 {
		return false
	}
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// removeOwn removes a file of ours and its folder, if it lies where files of
// that kind do.
func (s *server) removeOwn(path, kind string) {
	dir := filepath.Dir(path)
	if filepath.Base(filepath.Dir(dir)) != kind {
		return
	}
	_ = os.Remove(path)
	_ = os.Remove(dir)
}
