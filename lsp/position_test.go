package lsp

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"go.lsp.dev/protocol"
)

const (
	utf8Enc  = protocol.PositionEncodingKindUTF8
	utf16Enc = protocol.PositionEncodingKindUTF16
	utf32Enc = protocol.PositionEncodingKindUTF32
)

func pos(line, char uint32) protocol.Position { return protocol.Position{Line: line, Character: char} }

func TestOffset(t *testing.T) {
	// a (1 byte), é (2 bytes, 1 unit), 😀 (4 bytes, 2 units), \xff (stray)
	const text = "a\né😀b\r\n\xffc\rend"
	for _, c := range []struct {
		p    protocol.Position
		enc  protocol.PositionEncodingKind
		want int
	}{
		{pos(0, 0), utf16Enc, 0},
		{pos(0, 1), utf16Enc, 1},
		{pos(0, 99), utf16Enc, 1},
		{pos(0, 1<<32-1), utf8Enc, 1},
		{pos(1, 0), utf16Enc, 2},
		{pos(1, 1), utf16Enc, 4},
		{pos(1, 2), utf16Enc, 4}, // inside the surrogate pair
		{pos(1, 3), utf16Enc, 8},
		{pos(1, 4), utf16Enc, 9},
		{pos(1, 5), utf16Enc, 9}, // never inside \r\n
		{pos(1, 1), utf8Enc, 2},  // inside é
		{pos(1, 2), utf8Enc, 4},
		{pos(1, 5), utf8Enc, 4}, // inside 😀
		{pos(1, 6), utf8Enc, 8},
		{pos(1, 2), utf32Enc, 8},
		{pos(1, 3), utf32Enc, 9},
		{pos(2, 1), utf16Enc, 12},
		{pos(2, 1), utf8Enc, 12},
		{pos(2, 2), utf32Enc, 13},
		{pos(2, 3), utf16Enc, 13},
		{pos(3, 0), utf16Enc, 14},
		{pos(3, 9), utf16Enc, 17},
		{pos(4, 0), utf16Enc, 17},
		{pos(1<<32-1, 0), utf16Enc, 17},
	} {
		if got := NewText(text).Offset(c.p, c.enc); got != c.want {
			t.Errorf("Offset(%d:%d, %s) = %d, want %d", c.p.Line, c.p.Character, c.enc, got, c.want)
		}
	}
}

func TestPosition(t *testing.T) {
	const text = "a\né😀b\r\n\xffc\rend"
	for _, c := range []struct {
		off  int
		enc  protocol.PositionEncodingKind
		want protocol.Position
	}{
		{-1, utf16Enc, pos(0, 0)},
		{0, utf16Enc, pos(0, 0)},
		{1, utf16Enc, pos(0, 1)},
		{2, utf16Enc, pos(1, 0)},
		{3, utf16Enc, pos(1, 0)},
		{4, utf16Enc, pos(1, 1)},
		{8, utf16Enc, pos(1, 3)},
		{8, utf8Enc, pos(1, 6)},
		{8, utf32Enc, pos(1, 2)},
		{9, utf16Enc, pos(1, 4)},
		{10, utf16Enc, pos(1, 4)},
		{11, utf16Enc, pos(2, 0)},
		{12, utf16Enc, pos(2, 1)},
		{13, utf16Enc, pos(2, 2)},
		{14, utf16Enc, pos(3, 0)},
		{99, utf16Enc, pos(3, 3)},
	} {
		if got := NewText(text).Position(c.off, c.enc); got != c.want {
			t.Errorf("Position(%d, %s) = %d:%d, want %d:%d", c.off, c.enc, got.Line, got.Character, c.want.Line, c.want.Character)
		}
	}
}

func TestLines(t *testing.T) {
	for text, want := range map[string][]string{
		"":             {""},
		"a":            {"a"},
		"a\n":          {"a", ""},
		"a\r\nb\rc\nd": {"a", "b", "c", "d"},
		"\r\r\n\n":     {"", "", "", ""},
		"\n\r":         {"", "", ""},
	} {
		x := NewText(text)
		var got []string
		for i := range x.Lines() {
			got = append(got, x.Line(i))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q has lines %q, want %q", text, got, want)
		}
		if x.Line(len(want)) != "" || x.Line(-1) != "" {
			t.Errorf("%q has lines beyond its own", text)
		}
	}
}

// FuzzPosition: places survive the way there and back, and the UTF-16 column
// is what the standard library makes of the line.
func FuzzPosition(f *testing.F) {
	f.Add("a\né😀b\r\n\xffc\rend", 5)
	f.Add("\r\n", 1)
	f.Fuzz(func(t *testing.T, s string, off int) {
		x := NewText(s)
		for _, enc := range []protocol.PositionEncodingKind{utf8Enc, utf16Enc, utf32Enc} {
			p := x.Position(off, enc)
			back := x.Offset(p, enc)
			if again := x.Position(back, enc); again != p {
				t.Fatalf("%s: %d → %v → %d → %v", enc, off, p, back, again)
			}
			if off >= 0 && off <= len(s) && back > off {
				t.Fatalf("%s: %d moved on to %d", enc, off, back)
			}
			if line := x.Line(int(p.Line)); enc == utf16Enc && utf8.ValidString(line) {
				from, _ := x.lineBounds(int(p.Line))
				if got := len(utf16.Encode([]rune(line[:back-from]))); got != int(p.Character) {
					t.Fatalf("column %d, the line has %d units up to there", p.Character, got)
				}
			}
		}
		if n := strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s), "\n"); x.Lines() != n+1 {
			t.Fatalf("%d lines, want %d", x.Lines(), n+1)
		}
	})
}
