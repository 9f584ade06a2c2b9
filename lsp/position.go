package lsp

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"go.lsp.dev/protocol"
)

// Text is the text of a document at one moment, with its lines. It never
// changes, so requests read it while the next change is applied.
//
// Four notations of a place meet here: byte offsets into the text (ours), and
// line plus character in UTF-8, UTF-16 or UTF-32 code units (the client's,
// by negotiation). Lines end at \n, \r\n or a lone \r, as LSP has it, and a
// position never lies inside a \r\n. Bytes that are not UTF-8 count as one
// character each: that is what the client sees in their place.
//
// A client's position is never an error: a line beyond the last is the end of
// the text, a character beyond the line is the end of the line, and one inside
// a code point is the start of it.
type Text struct {
	s     string
	once  sync.Once
	start []int // offset of each line; use lines()
}

// NewText returns the text s.
func NewText(s string) *Text { return &Text{s: s} }

// String is the whole text.
func (t *Text) String() string { return t.s }

// Len is its length in bytes.
func (t *Text) Len() int { return len(t.s) }

func (t *Text) lines() []int {
	t.once.Do(func() {
		if t.start != nil {
			return // spliced by Replace
		}
		t.start = append(make([]int, 0, 1+strings.Count(t.s, "\n")), 0)
		for i := 0; i < len(t.s); i++ {
			switch t.s[i] {
			case '\n':
				t.start = append(t.start, i+1)
			case '\r':
				if i+1 < len(t.s) && t.s[i+1] == '\n' {
					i++
				}
				t.start = append(t.start, i+1)
			}
		}
	})
	return t.start
}

// Lines is the number of lines; an empty text has one, and so has the place
// after a final line end.
func (t *Text) Lines() int { return len(t.lines()) }

// Line is line i (0-based) without its line end; empty beyond the last.
func (t *Text) Line(i int) string {
	if i < 0 || i >= t.Lines() {
		return ""
	}
	from, to := t.lineBounds(i)
	return t.s[from:to]
}

// lineBounds are the offsets of line i without its line end.
func (t *Text) lineBounds(i int) (from, to int) {
	lines := t.lines()
	from, to = lines[i], len(t.s)
	if i+1 < len(lines) {
		to = lines[i+1] - 1
		if t.s[to] == '\n' && to > from && t.s[to-1] == '\r' {
			to--
		}
	}
	return from, to
}

// Offset turns a client's position into a byte offset.
func (t *Text) Offset(p protocol.Position, enc protocol.PositionEncodingKind) int {
	if uint64(p.Line) >= uint64(t.Lines()) {
		return len(t.s)
	}
	from, to := t.lineBounds(int(p.Line))
	return from + unitsToBytes(t.s[from:to], uint64(p.Character), enc)
}

// Position turns a byte offset into a client's position. Offsets outside the
// text are taken for its start or end, offsets inside a line end for the end of
// the line, and offsets inside a code point for its start.
func (t *Text) Position(off int, enc protocol.PositionEncodingKind) protocol.Position {
	off = min(max(off, 0), len(t.s))
	i, exact := slices.BinarySearch(t.lines(), off)
	if !exact {
		i--
	}
	from, to := t.lineBounds(i)
	return protocol.Position{Line: uint32(i), Character: uint32(bytesToUnits(t.s[from:to], off-from, enc))}
}

// Range is the client's range of the bytes from start up to end.
func (t *Text) Range(start, end int, enc protocol.PositionEncodingKind) protocol.Range {
	return protocol.Range{Start: t.Position(start, enc), End: t.Position(end, enc)}
}

// Replace is the text with the bytes from start up to end replaced. Both must
// lie within the text, start first.
func (t *Text) Replace(start, end int, with string) *Text {
	n := &Text{s: t.s[:start] + with + t.s[end:]}
	// Line starts before the replaced bytes stay, those after them move. Only at
	// the seams can line ends form or break up (\r meets \n), so the places from
	// start up to the end of the new bytes are looked at one by one.
	old := t.lines()
	head, _ := slices.BinarySearch(old, start)
	tail, _ := slices.BinarySearch(old, end+1)
	lines := make([]int, 0, head+len(old)-tail+1+strings.Count(with, "\n"))
	lines = append(lines, old[:head]...)
	for p := start; p <= start+len(with); p++ {
		if n.startsLine(p) {
			lines = append(lines, p)
		}
	}
	moved := len(with) - (end - start)
	for _, p := range old[tail:] {
		lines = append(lines, p+moved)
	}
	n.start = lines
	return n
}

func (t *Text) startsLine(p int) bool {
	switch {
	case p == 0:
		return true
	case t.s[p-1] == '\n':
		return true
	case t.s[p-1] == '\r':
		return p == len(t.s) || t.s[p] != '\n'
	}
	return false
}

// unitsToBytes is how many bytes of line the first n code units take.
func unitsToBytes(line string, n uint64, enc protocol.PositionEncodingKind) int {
	if enc == protocol.PositionEncodingKindUTF8 {
		if n >= uint64(len(line)) {
			return len(line)
		}
		return runeStart(line, int(n))
	}
	i := 0
	for i < len(line) && n > 0 {
		if line[i] < utf8.RuneSelf {
			i++
			n--
			continue
		}
		r, size := utf8.DecodeRuneInString(line[i:])
		units := uint64(1)
		if enc != protocol.PositionEncodingKindUTF32 && r > 0xffff {
			units = 2
		}
		if units > n {
			break
		}
		i += size
		n -= units
	}
	return i
}

// bytesToUnits is how many code units the first n bytes of line take.
func bytesToUnits(line string, n int, enc protocol.PositionEncodingKind) int {
	n = runeStart(line, min(n, len(line)))
	switch enc {
	case protocol.PositionEncodingKindUTF8:
		return n
	case protocol.PositionEncodingKindUTF32:
		return utf8.RuneCountInString(line[:n])
	}
	units := 0
	for _, r := range line[:n] {
		units++
		if r > 0xffff {
			units++
		}
	}
	return units
}

// runeStart is the start of the code point that offset i lies in. Stray bytes
// are code points of their own.
func runeStart(s string, i int) int {
	if i >= len(s) || utf8.RuneStart(s[i]) {
		return i
	}
	for j := i - 1; j >= 0 && j > i-utf8.UTFMax; j-- {
		if utf8.RuneStart(s[j]) {
			if _, size := utf8.DecodeRuneInString(s[j:]); j+size > i {
				return j
			}
			return i
		}
	}
	return i
}
