package lsp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"go.lsp.dev/protocol"

	"countersign/approvals"
	"countersign/session/hub"
)

// What does not show in a staged document (characters without width or that
// turn text around, padding, lines without end) is marked where it is, from the
// moment the document is there, and follows what the person changes.

// maxHidden bounds the marks of one document; the rest is a number.
const maxHidden = 20

// ofHidden are the marks of a document.
func (s *server) ofHidden(c *card) []protocol.Diagnostic {
	places, text := s.hiddenPlaces(c)
	var ds []protocol.Diagnostic
	for i, p := range places {
		if i == maxHidden {
			ds = append(ds, s.diagnostic(c.ID, 0, c.staged, protocol.DiagnosticSeverityWarning, "hidden",
				fmt.Sprintf("%d more places of this document do not show what they hold.", len(places)-i)))
			break
		}
		words := upper(approvals.Visible(p.Words)) + "."
		if strings.HasPrefix(p.Words, "is ") {
			words = "This line " + approvals.Visible(p.Words) + "."
		}
		d := s.diagnostic(c.ID, uint32(max(0, p.Line-1)), c.staged, protocol.DiagnosticSeverityWarning, "hidden", words)
		if text != nil && p.Column > 0 && p.Offset+p.Length <= text.Len() {
			d.Range = text.Range(p.Offset, p.Offset+max(1, p.Length), s.documents.Encoding())
		}
		ds = append(ds, d)
	}
	return ds
}

// hiddenPlaces are the places of a document as it now reads, and that text; nil
// where it is not open here, and the places are those of the staged text.
func (s *server) hiddenPlaces(c *card) ([]approvals.HiddenPlace, *Text) {
	doc, open := s.documents.Get(c.staged)
	if !open || c.Staged == nil {
		return c.Hidden, nil
	}
	text := doc.Text.String()
	kind := approvals.TextKindOf(c.Surface, filepath.Base(c.Staged.Path))
	switch {
	case c.Surface == approvals.SurfaceQuestion:
		return c.Hidden, nil // of whole lines, which stay where they are
	case asStaged(c, text):
		return c.Hidden, doc.Text
	case c.Surface != approvals.SurfaceProposal:
		return approvals.Hidden(text, "", kind), doc.Text
	case len(c.Hidden) == 0 && strings.IndexFunc(text, approvals.Invisible) < 0:
		return nil, doc.Text
	}
	// What the file had before is not the request's doing. Until that is known,
	// better too much is marked than too little.
	original := ""
	if d, known := s.detail(c).known(); known {
		original = d.Original
	}
	return approvals.Hidden(text, original, kind), doc.Text
}

// asStaged tells whether a text is the one that was staged.
func asStaged(c *card, text string) bool {
	if c.Staged == nil || int64(len(text)) != c.Staged.Print.Size {
		return false
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:]) == c.Staged.Print.Hash
}

// hiddenMoved has the marks of a document looked at again after a change.
func (s *server) hiddenMoved(uri string) {
	for _, c := range s.board.of(uri) {
		if c.staged == uri && c.pending() {
			s.stale[uri] = true
		}
	}
}

// notesOf are the notes on a request without those that are marks of their own.
func notesOf(c *card) []approvals.Note {
	marked := make(map[string]bool, len(c.Hidden))
	for _, p := range c.Hidden {
		marked[p.String()+"."] = true
	}
	var notes []approvals.Note
	for _, n := range c.Notes {
		if !marked[n.Text] {
			notes = append(notes, n)
		}
	}
	return notes
}

// detail is the approval in full: from memory, or fetched from now on. Only the
// event loop calls it. It is nil while there is no hub.
func (s *server) detail(c *card) *detail {
	if d := s.details[c.ID]; d != nil || c.link.hub == nil {
		return d
	}
	d := &detail{ready: make(chan struct{})}
	if !c.pending() || len(s.details) < 16 {
		s.details[c.ID] = d
	}
	h := c.link.hub
	s.work(func(ctx context.Context) {
		d.text, d.err = h.Show(ctx, hub.ShowParams{ID: c.ID})
		close(d.ready)
		s.push(func() {
			if d.err == nil && s.details[c.ID] == d { // else it would be asked for again and again
				s.touched(c.staged)
			}
		})
	})
	return d
}

// known is the detail if it is there by now.
func (d *detail) known() (hub.Detail, bool) {
	if d == nil {
		return hub.Detail{}, false
	}
	select {
	case <-d.ready:
		return d.text, d.err == nil
	default:
		return hub.Detail{}, false
	}
}
