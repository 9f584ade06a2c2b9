package lsp

import (
	"slices"
	"strings"
	"testing"

	"go.lsp.dev/protocol"
)

func edit(l1, c1, l2, c2 uint32, text string) Change {
	return Change{Range: &protocol.Range{Start: pos(l1, c1), End: pos(l2, c2)}, Text: text}
}

func TestDocumentChanges(t *testing.T) {
	for _, c := range []struct {
		name, text string
		changes    []Change
		want       string
		complains  bool
	}{
		{"insert", "ab\n", []Change{edit(0, 1, 0, 1, "x")}, "axb\n", false},
		{"delete across lines", "ab\ncd\n", []Change{edit(0, 1, 1, 1, "")}, "ad\n", false},
		{"whole text", "ab", []Change{{Text: "new"}}, "new", false},
		{"one after the other", "", []Change{edit(0, 0, 0, 0, "a\nb"), edit(1, 1, 1, 1, "c"), {Text: "x"}, edit(0, 1, 0, 1, "y")}, "xy", false},
		{"beyond the end", "ab\n", []Change{edit(7, 7, 9, 9, "x")}, "ab\nx", false},
		{"the whole line and more", "ab\ncd", []Change{edit(0, 0, 0, 99, "x")}, "x\ncd", false},
		{"backwards", "abcd", []Change{edit(0, 3, 0, 1, "x")}, "axd", true},
		{"\\r meets \\n", "a\rb\nc", []Change{edit(1, 0, 1, 1, ""), edit(1, 0, 1, 0, "x")}, "a\r\nxc", false},
		{"\\r\\n is one end", "a\r\nb", []Change{edit(0, 1, 1, 0, "\n")}, "a\nb", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := NewDocuments("")
			d.Open("file:///a", "", 1, c.text)
			if complaint := d.Change("file:///a", 2, c.changes); (complaint != "") != c.complains {
				t.Errorf("complaint %q", complaint)
			}
			if doc, _ := d.Get("file:///a"); doc.Text.String() != c.want {
				t.Errorf("text %q, want %q", doc.Text, c.want)
			}
		})
	}
}

func TestDocumentVersions(t *testing.T) {
	d := NewDocuments("")
	text := func() string {
		doc, _ := d.Get("u")
		return doc.Text.String()
	}
	if c := d.Change("u", 1, []Change{{Text: "x"}}); c == "" {
		t.Error("a change of a document that is not open raised no complaint")
	}
	d.Open("u", "go", 5, "five")
	for _, v := range []int32{5, 4, -1} {
		if c := d.Change("u", v, []Change{{Text: "old"}}); c == "" || text() != "five" {
			t.Errorf("version %d: complaint %q, text %q", v, c, text())
		}
	}
	if c := d.Change("u", 9, []Change{{Text: "nine"}}); c != "" || text() != "nine" {
		t.Errorf("version 9: complaint %q, text %q", c, text())
	}
	if c := d.Open("u", "", 0, "anew"); c == "" || text() != "anew" {
		t.Errorf("opened twice: complaint %q, text %q", c, text())
	}
	if c := d.Change("u", 1, []Change{{Text: "one"}}); c != "" || text() != "one" {
		t.Errorf("version 1 after opening again: complaint %q, text %q", c, text())
	}
}

func TestDocumentSnapshotsStay(t *testing.T) {
	d := NewDocuments("")
	d.Open("u", "", 1, "a\nb\n")
	before, _ := d.Get("u")
	d.Change("u", 2, []Change{edit(0, 0, 1, 0, "")})
	if before.Text.String() != "a\nb\n" || before.Text.Lines() != 3 {
		t.Errorf("the earlier text became %q", before.Text)
	}
}

func TestDocumentSave(t *testing.T) {
	d := NewDocuments("")
	str := func(s string) *string { return &s }
	if _, known, _ := d.Save("u", nil); known {
		t.Error("a document that was never open has a text")
	}
	if text, known, _ := d.Save("u", str("x")); !known || text.String() != "x" {
		t.Error("a text sent along with a save is lost")
	}
	d.Open("u", "", 1, "a")
	if text, known, c := d.Save("u", nil); !known || text.String() != "a" || c != "" {
		t.Errorf("saved %q, %v, %q", text, known, c)
	}
	if text, _, c := d.Save("u", str("a\n")); text.String() != "a\n" || c != "" {
		t.Errorf("a final newline: %q, %q", text, c)
	}
	if text, _, c := d.Save("u", str("b")); text.String() != "b" || c == "" {
		t.Errorf("another text: %q, %q", text, c)
	}
	d.Close("u")
	if text, known, _ := d.Save("u", nil); !known || text.String() != "b" {
		t.Errorf("saved after the close: %q, %v", text, known)
	}
	if c := d.Close("u"); c == "" {
		t.Error("closed twice without a complaint")
	}
	for i := range 2 * rememberedClosed {
		u := strings.Repeat("x", i+1)
		d.Open(u, "", 1, "")
		d.Close(u)
	}
	if _, ok := d.Last("u"); ok || len(d.closed) != rememberedClosed {
		t.Errorf("closed documents are kept for ever (%d)", len(d.closed))
	}
}

func TestDocumentsAll(t *testing.T) {
	d := NewDocuments(utf8Enc)
	d.Open("b", "", 1, "")
	d.Open("a", "", 1, "")
	var got []string
	for _, doc := range d.All() {
		got = append(got, doc.URI)
	}
	if !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("All is %v", got)
	}
}

func TestChangesOfTheProtocol(t *testing.T) {
	got := Changes([]protocol.TextDocumentContentChangeEvent{
		&protocol.TextDocumentContentChangePartial{Range: protocol.Range{Start: pos(0, 1), End: pos(0, 2)}, Text: "x"},
		&protocol.TextDocumentContentChangeWholeDocument{Text: "y"},
	})
	if len(got) != 2 || got[0].Range == nil || got[0].Range.End != pos(0, 2) || got[1].Range != nil || got[1].Text != "y" {
		t.Errorf("got %+v", got)
	}
}

// FuzzDocument: a run of changes leads to the text that a plain model gets by
// counting through the whole text each time, and to its line starts.
func FuzzDocument(f *testing.F) {
	f.Add("a\r\nb\rc\n", []byte{0, 0, 0, 1, 1, 0, 0, 2, 2})
	f.Add("é😀\n\xff", []byte{0, 1, 0, 3, 5, 1, 0, 1, 1, 4})
	f.Add("\r\r\n\n", []byte{1, 0, 2, 0, 0, 0, 0, 1, 0, 3, 9, 9, 9, 9, 1})
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		inserts := []string{"", "x", "\n", "\r", "\r\n", "é", "😀", "a\nb\rc", "\xf0", "\n\r"}
		for _, enc := range []protocol.PositionEncodingKind{utf8Enc, utf16Enc, utf32Enc} {
			d := NewDocuments(enc)
			d.Open("u", "", 0, text)
			model := text
			for i, version := 0, int32(1); i+5 <= len(data) && version < 200; i, version = i+5, version+1 {
				b := data[i:]
				c := edit(uint32(b[0]), uint32(b[1]), uint32(b[2]), uint32(b[3]), inserts[int(b[4])%len(inserts)])
				from, to := plainOffset(model, c.Range.Start, enc), plainOffset(model, c.Range.End, enc)
				if to < from {
					from, to = to, from
				}
				model = model[:from] + c.Text + model[to:]
				d.Change("u", version, []Change{c})
				doc, _ := d.Get("u")
				if doc.Text.String() != model {
					t.Fatalf("%s: text %q, model %q", enc, doc.Text, model)
				}
				if fresh := NewText(model).lines(); !slices.Equal(doc.Text.lines(), fresh) {
					t.Fatalf("%s: lines %v, want %v in %q", enc, doc.Text.lines(), fresh, model)
				}
			}
		}
	})
}

// plainOffset finds a position by walking through the text.
func plainOffset(s string, p protocol.Position, enc protocol.PositionEncodingKind) int {
	line, col := uint32(0), uint32(0)
	rest := s
	for {
		off := len(s) - len(rest)
		if rest == "" {
			return off
		}
		end := rest[0] == '\n' || rest[0] == '\r'
		if line == p.Line && (end || col >= p.Character) {
			return off
		}
		if end {
			if strings.HasPrefix(rest, "\r\n") {
				rest = rest[1:]
			}
			rest = rest[1:]
			line, col = line+1, 0
			continue
		}
		size, units := 1, uint32(1)
		for _, r := range rest {
			size = len(string(r))
			if r == '\ufffd' && !strings.HasPrefix(rest, "\ufffd") {
				size = 1
			}
			switch {
			case enc == utf8Enc:
				units = uint32(size)
			case enc == utf16Enc && r > 0xffff:
				units = 2
			}
			break
		}
		if line == p.Line && col+units > p.Character {
			return off
		}
		col += units
		rest = rest[size:]
	}
}

func BenchmarkChangeLargeDocument(b *testing.B) {
	d := NewDocuments("")
	d.Open("u", "", 0, strings.Repeat("a line of some length, as code has them\n", 100_000))
	version := int32(0)
	for b.Loop() {
		version++
		d.Change("u", version, []Change{edit(50_000, 3, 50_000, 3, "x")})
	}
}
