package lsp

import (
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/uri"

	"countersign/approvals"
	"countersign/session/hub"
)

// keptSettled is how many settled approvals a front end remembers beside those
// whose documents are open: enough to tell a late decision what happened.
const keptSettled = 50

// A card is one approval as this front end knows it. A card is replaced, never
// changed, so that snapshots can share it.
type card struct {
	hub.Approval
	link   *link
	staged string // canonical URI of the staged document; empty when there is none
	target string // canonical URI of the file concerned; empty when there is none
	file   string // target without symlinks: what it has in common with other names of the file
}

// pending tells whether the approval still waits.
func (c *card) pending() bool { return c.State == approvals.Pending }

// newCard makes a card of an approval that came from a hub.
func newCard(a hub.Approval, l *link) *card {
	c := &card{Approval: a, link: l}
	switch {
	case a.Staged != nil && a.Staged.Path != "":
		c.staged = fileURI(a.Staged.Path)
	case a.StagedURI != "":
		c.staged = canonical(a.StagedURI)
	}
	if a.Path != "" {
		c.target = fileURI(a.Path)
		c.file = withoutLinks(c.target)
	}
	return c
}

// withoutLinks is the URI of a file by the way that has no symlink in it: an
// editor may know a workspace by another path than the agent does. A file that
// is not there yet has its folder's.
func withoutLinks(u string) string {
	path := pathOf(u)
	if path == "" {
		return u
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		dir, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return u
		}
		real = filepath.Join(dir, filepath.Base(path))
	}
	return fileURI(real)
}

// fileURI is the canonical URI of an absolute path; empty for any other path,
// because the path comes from the agent and the URI package panics on some.
func fileURI(path string) string {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) {
		return ""
	}
	return string(uri.File(path))
}

// canonical gives a URI the one spelling that this package compares. What
// cannot be parsed stays as it is: it then equals only itself.
func canonical(raw string) string {
	u, err := uri.Parse(raw)
	if err != nil {
		return raw
	}
	return strings.Clone(string(u))
}

// pathOf is the file path of a canonical URI; empty when it names no file.
func pathOf(raw string) string {
	if !strings.HasPrefix(raw, "file://") {
		return ""
	}
	u, err := uri.Parse(raw)
	if err != nil {
		return ""
	}
	p := u.FsPath()
	if !filepath.IsAbs(p) {
		return ""
	}
	return p
}

// A board holds the approvals that this front end knows, by id and by the
// documents they concern. Only the event loop touches it; what it hands out in
// slices is never changed afterwards.
type board struct {
	cards   map[string]*card
	pending []*card            // oldest first
	byURI   map[string][]*card // staged documents and targets; pending first, oldest first
	settled []string           // ids, the oldest settled first
	askers  map[askerKey]int   // pending ones by session
	names   map[string]string  // open documents: URI → the file's without symlinks
}

// An askerKey is a session of a hub.
type askerKey struct {
	link    *link
	session string
}

func askerOf(c *card) askerKey { return askerKey{c.link, c.Session} }

func newBoard() *board {
	return &board{cards: map[string]*card{}, byURI: map[string][]*card{}, askers: map[askerKey]int{}, names: map[string]string{}}
}

// opened notes an open document: what concerns its file concerns it too, by
// whatever name the editor has it.
func (b *board) opened(uri string) {
	b.closed(uri)
	file := withoutLinks(uri)
	b.names[uri] = file
	for _, c := range b.cards {
		if c.file == file && !slices.Contains(c.documents(), uri) {
			b.byURI[uri] = insert(b.byURI[uri], c)
		}
	}
}

// closed is the end of opened.
func (b *board) closed(uri string) {
	delete(b.names, uri)
	for _, c := range b.byURI[uri] {
		if !slices.Contains(c.documents(), uri) {
			b.drop(uri, c)
		}
	}
}

// documents are the URIs that an approval concerns, those of open documents
// that are its file by another name included.
func (b *board) documents(c *card) []string {
	us := c.documents()
	for uri, file := range b.names {
		if c.file != "" && file == c.file && !slices.Contains(us, uri) {
			us = append(us, uri)
		}
	}
	return us
}

// put records an approval and returns the card that it replaces, if any, and
// whether it changed anything: a settled approval never becomes pending again,
// and a known outcome is not forgotten, however messages cross.
func (b *board) put(c *card) (before *card, changed bool) {
	before = b.cards[c.ID]
	if before != nil {
		if !before.pending() && c.pending() {
			return before, false
		}
		if before.Outcome.State != "" && c.Outcome.State == "" {
			return before, false
		}
		b.unlink(before)
	}
	b.cards[c.ID] = c
	b.link(c)
	if !c.pending() && (before == nil || before.pending()) {
		b.settled = append(b.settled, c.ID)
	}
	return before, true
}

// prune forgets the settled approvals that are neither recent nor open, and
// returns their cards.
func (b *board) prune(open func(uri string) bool) []*card {
	over := len(b.settled) - keptSettled
	if over <= 0 {
		return nil
	}
	var gone []*card
	kept := b.settled[:0:0]
	for i, id := range b.settled {
		c := b.cards[id]
		if c == nil {
			continue
		}
		if i < over && (c.staged == "" || !open(c.staged)) {
			gone = append(gone, c)
			b.remove(c)
			continue
		}
		kept = append(kept, id)
	}
	b.settled = kept
	return gone
}

// remove takes an approval off the board.
func (b *board) remove(c *card) {
	b.unlink(c)
	delete(b.cards, c.ID)
}

// of returns the cards of a document, pending ones first.
func (b *board) of(uri string) []*card { return b.byURI[uri] }

func (b *board) link(c *card) {
	if c.pending() {
		b.pending = insert(b.pending, c)
		b.askers[askerOf(c)]++
	}
	for _, u := range b.documents(c) {
		b.byURI[u] = insert(b.byURI[u], c)
	}
}

func (b *board) unlink(c *card) {
	if c.pending() {
		b.pending = without(b.pending, c)
		if b.askers[askerOf(c)]--; b.askers[askerOf(c)] <= 0 {
			delete(b.askers, askerOf(c))
		}
	}
	for _, u := range b.documents(c) {
		b.drop(u, c)
	}
}

func (b *board) drop(uri string, c *card) {
	if rest := without(b.byURI[uri], c); len(rest) > 0 {
		b.byURI[uri] = rest
	} else {
		delete(b.byURI, uri)
	}
}

// documents are the URIs that an approval names.
func (c *card) documents() []string {
	var us []string
	if c.staged != "" {
		us = append(us, c.staged)
	}
	if c.target != "" && c.target != c.staged {
		us = append(us, c.target)
	}
	return us
}

// insert returns a new slice with c in its place: pending ones first, then by
// age. It never writes to the slice it is given, which snapshots may share.
func insert(cs []*card, c *card) []*card {
	i, _ := slices.BinarySearchFunc(cs, c, func(a, b *card) int {
		if a.pending() != b.pending() {
			if a.pending() {
				return -1
			}
			return 1
		}
		if d := a.Since.Compare(b.Since); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	out := make([]*card, 0, len(cs)+1)
	out = append(out, cs[:i]...)
	out = append(out, c)
	return append(out, cs[i:]...)
}

// without returns a new slice without c.
func without(cs []*card, c *card) []*card {
	out := make([]*card, 0, len(cs))
	for _, x := range cs {
		if x.ID != c.ID {
			out = append(out, x)
		}
	}
	return out
}
