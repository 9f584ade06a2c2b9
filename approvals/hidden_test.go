package approvals

import (
	"strings"
	"testing"
	"unicode/utf8"

	"countersign/diff"
)

// The places in the notes are told exactly, in each kind of document.
func TestHiddenPlaces(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "x\u200by\none\n")
	for name, c := range map[string]struct {
		req  Request
		want string // what stands at the places
	}{
		"command":  {b.bash("ls\nr\u200bm" + strings.Repeat(" ", 60) + "x"), "x|\u200b"},
		"JSON":     {b.request("WebFetch", `{"url":"a\u202eb\udb40\udc41"}`), `\u202e|\udb40\udc41`},
		"proposal": {b.edit(path, "one", "o\u00adne"), "\u00ad"},
		"question": {b.request("AskUserQuestion", `{"questions":[{"question":"Q?","header":"H","options":[{"label":"a\u202eb","description":"d"}],"multiSelect":false}]}`), "- [ ] a<U+202E>b — d"},
		"plan":     {b.request("ExitPlanMode", `{"plan":"# P\nb\u202ec"}`), "\u202e"},
		"nothing":  {b.bash("ls"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := b.Register(c.req)
			var found []string
			for _, p := range a.Hidden {
				at := a.Document.Text()[p.Offset : p.Offset+p.Length]
				found = append(found, at)
				before := a.Document.Text()[:p.Offset]
				if line := strings.Count(before, "\n") + 1; line != p.Line {
					t.Errorf("%v is in line %d", p, line)
				}
				if column := utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1; p.Column != 0 && column != p.Column {
					t.Errorf("%v is in column %d", p, column)
				}
				noted := false
				for _, n := range a.Notes {
					noted = noted || n.Text == p.String()+"." && n.Warning
				}
				if !noted {
					t.Errorf("no note on %v: %v", p, a.Notes)
				}
			}
			if got := strings.Join(found, "|"); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if got, _, err := b.Settle(a.ID, Decision{By: me}); err != nil || got.State != Denied {
				t.Fatal(err)
			}
			if got, _ := b.Get(a.ID); got.Hidden != nil {
				t.Error("a settled approval keeps its places")
			}
		})
	}
}

func TestHiddenIsBounded(t *testing.T) {
	text := strings.Repeat("\u200b\n", 5000)
	if n := len(Hidden(text, "", AnyText)); n != maxPlaces {
		t.Errorf("%d places", n)
	}
	notes := hiddenNotes(text, "", AnyText)
	if last := notes[len(notes)-1].Text; len(notes) != maxFound+1 || last != "And 4994 more places with characters or padding that do not show." {
		t.Errorf("%d notes, %s", len(notes), last)
	}
}

func TestTextKindOf(t *testing.T) {
	b := newBench(t)
	for _, c := range []struct {
		req  Request
		want TextKind
	}{
		{b.bash("ls"), CommandText},
		{b.request("WebFetch", `{}`), JSONText},
		{b.request("AskUserQuestion", twoQuestions), AnyText},
		{b.request("Write", map[string]any{"file_path": b.dir + "/command.sh", "content": "x"}), AnyText},
		{b.request("Write", map[string]any{"file_path": b.dir + "/input.json", "content": "{}"}), AnyText},
	} {
		if got := TextKindOf(b.Register(c.req).Surface, b.Register(c.req).Document.Basename()); got != c.want {
			t.Errorf("%s: %v, want %v", c.req.Tool, got, c.want)
		}
	}
}

func FuzzHidden(f *testing.F) {
	f.Add("a\u200bb\r\n\n"+strings.Repeat(" ", 70)+"x", "c\n", 0)
	f.Add(`{"a":"\u202e\ud83d\ude00"}`, "", 2)
	f.Add("a\xff\r\rb", "a\xff", 1)
	f.Add("a"+strings.Repeat(" ", 70)+"\xe2", "", 0)
	f.Fuzz(func(t *testing.T, text, baseline string, kind int) {
		lines := diff.SplitLines(text)
		for _, p := range Hidden(text, baseline, TextKind(uint(kind)%3)) {
			if p.Offset < 0 || p.Length < 1 || p.Offset+p.Length > len(text) || p.Line < 1 || p.Line > len(lines) || p.Words == "" {
				t.Fatalf("%+v in %q", p, text)
			}
			if p.Line != strings.Count(text[:p.Offset], "\n")+1 || strings.Contains(text[p.Offset:p.Offset+p.Length], "\n") {
				t.Fatalf("%+v in %q", p, text)
			}
			if r, _ := utf8.DecodeRuneInString(text[p.Offset:]); p.Rune != 0 && r != p.Rune && r != '\\' {
				t.Fatalf("%+v stands at %q", p, r)
			}
		}
	})
}
