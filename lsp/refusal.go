package lsp

import (
	"fmt"

	"go.lsp.dev/protocol"

	"countersign/approvals"
	"countersign/session/hub"
)

// A refusal is why a decision on a staged document was not taken, and where in
// its text: an answer with two ticks, input that is no JSON. It is shown at the
// line concerned until the document changes.
type refusal struct {
	line, column int // 1-based, in characters; column 0: the whole line
	words        string
}

// refusedAt notes the place that the hub's error names.
func (s *server) refusedAt(id string, he *hub.Error) {
	c := s.board.cards[id]
	if c == nil || c.staged == "" || he.Line == 0 {
		return
	}
	s.refused[c.staged] = refusal{line: he.Line, column: he.Column, words: he.Reason}
	s.touched(c.staged)
}

// unrefused forgets it: the document changed, or was decided.
func (s *server) unrefused(uri string) {
	if _, ok := s.refused[uri]; ok {
		delete(s.refused, uri)
		s.touched(uri)
	}
}

// ofRefusal is the refusal as a diagnostic of its document.
func (s *server) ofRefusal(c *card) []protocol.Diagnostic {
	r, ok := s.refused[c.staged]
	if !ok {
		return nil
	}
	line := uint32(max(0, r.line-1))
	text := "Nothing was decided: " + approvals.Visible(r.words) + "."
	d := s.diagnostic(c.ID, line, c.staged, protocol.DiagnosticSeverityError, "refused", text)
	if doc, open := s.documents.Get(c.staged); open && r.column > 1 {
		from := doc.Text.Offset(protocol.Position{Line: d.Range.Start.Line}, s.documents.Encoding())
		if at := charsIn(doc.Text.Line(int(d.Range.Start.Line)), r.column-1); at > 0 {
			d.Range.Start = doc.Text.Position(from+at, s.documents.Encoding())
		}
	}
	return []protocol.Diagnostic{d}
}

// charsIn is the length in bytes of the first n characters of a line; 0 where
// it has no more than those.
func charsIn(line string, n int) int {
	for i := range line {
		if n == 0 {
			return i
		}
		n--
	}
	return 0
}

// refusalWords are a hub's error as the end of "nothing was decided about it: ".
func refusalWords(he *hub.Error) string {
	if he.Reason == "" {
		return sentence(he)
	}
	if he.Line > 0 {
		return oneLine(fmt.Sprintf("line %d: %s", he.Line, he.Reason), 300)
	}
	return oneLine(he.Reason, 300)
}
