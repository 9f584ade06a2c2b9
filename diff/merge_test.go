package diff

import (
	"strings"
	"testing"
)

func TestMerge(t *testing.T) {
	for _, c := range []struct {
		name                     string
		base, ours, theirs, want string
		conflicts                []Conflict
	}{
		{name: "nothing changed", base: "a\n", ours: "a\n", theirs: "a\n", want: "a\n"},
		{name: "ours", base: "a\nb\n", ours: "a\nx\n", theirs: "a\nb\n", want: "a\nx\n"},
		{name: "theirs", base: "a\nb\n", ours: "a\nb\n", theirs: "a\nx\n", want: "a\nx\n"},
		{name: "the same", base: "a\nb\n", ours: "a\nx\n", theirs: "a\nx\n", want: "a\nx\n"},
		{
			name: "in two places", base: "a\nb\nc\nd\n", ours: "x\nb\nc\nd\n", theirs: "a\nb\nc\ny\n",
			want: "x\nb\nc\ny\n",
		},
		{
			name: "the same in one place, ours in another", base: "a\nb\nc\nd\n", ours: "x\nb\nc\ny\n", theirs: "a\nb\nc\ny\n",
			want: "x\nb\nc\ny\n",
		},
		{
			name: "lines added and removed before", base: "a\nb\nc\nd\ne\n", ours: "b\nc\nd\nE\n", theirs: "a\nb\n1\n2\nc\nd\ne\n",
			want: "b\n1\n2\nc\nd\nE\n",
		},
		{
			name: "one line, two ways", base: "a\nb\nc\n", ours: "a\nx\nc\n", theirs: "a\ny\nc\n",
			want:      "a\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\nc\n",
			conflicts: []Conflict{{Base: Span{1, 2}, Ours: Span{1, 2}, Theirs: Span{1, 2}, Merged: Span{1, 6}}},
		},
		{
			name: "neighbouring lines", base: "a\nb\nc\nd\n", ours: "a\nx\nc\nd\n", theirs: "a\nb\ny\nd\n",
			want:      "a\n<<<<<<< ours\nx\nc\n=======\nb\ny\n>>>>>>> theirs\nd\n",
			conflicts: []Conflict{{Base: Span{1, 3}, Ours: Span{1, 3}, Theirs: Span{1, 3}, Merged: Span{1, 8}}},
		},
		{
			name: "what both have stays outside", base: "a\nb\nc\n", ours: "a\n1\nx\n2\nc\n", theirs: "a\n1\ny\n2\nc\n",
			want:      "a\n1\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n2\nc\n",
			conflicts: []Conflict{{Base: Span{1, 2}, Ours: Span{2, 3}, Theirs: Span{2, 3}, Merged: Span{2, 7}}},
		},
		{
			name: "removed and changed", base: "a\nb\nc\n", ours: "a\nc\n", theirs: "a\ny\nc\n",
			want:      "a\n<<<<<<< ours\n=======\ny\n>>>>>>> theirs\nc\n",
			conflicts: []Conflict{{Base: Span{1, 2}, Ours: Span{1, 1}, Theirs: Span{1, 2}, Merged: Span{1, 5}}},
		},
		{
			name: "last lines without end", base: "a\nb", ours: "a\nx", theirs: "a\ny",
			want:      "a\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n",
			conflicts: []Conflict{{Base: Span{1, 2}, Ours: Span{1, 2}, Theirs: Span{1, 2}, Merged: Span{1, 6}}},
		},
		{
			name: "CRLF", base: "a\r\nb\r\n", ours: "a\r\nx\r\n", theirs: "a\r\ny\r\n",
			want:      "a\r\n<<<<<<< ours\r\nx\r\n=======\r\ny\r\n>>>>>>> theirs\r\n",
			conflicts: []Conflict{{Base: Span{1, 2}, Ours: Span{1, 2}, Theirs: Span{1, 2}, Merged: Span{1, 6}}},
		},
		{
			name: "two new files", base: "", ours: "x\n", theirs: "y\n",
			want:      "<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n",
			conflicts: []Conflict{{Ours: Span{0, 1}, Theirs: Span{0, 1}, Merged: Span{0, 5}}},
		},
	} {
		got, conflicts := Merge(c.base, c.ours, c.theirs)
		if got != c.want {
			t.Errorf("%s: merged\n%s\nwant\n%s", c.name, got, c.want)
		}
		if len(conflicts) != len(c.conflicts) || len(conflicts) == 1 && conflicts[0] != c.conflicts[0] {
			t.Errorf("%s: conflicts %+v, want %+v", c.name, conflicts, c.conflicts)
		}
		if at := Unresolved(got); (at >= 0) != (len(conflicts) > 0) || at >= 0 && at != conflicts[0].Merged.Start {
			t.Errorf("%s: marks found at %d", c.name, at)
		}
	}
}

// checkMerge states what holds for every merge.
func checkMerge(t *testing.T, base, ours, theirs string) {
	t.Helper()
	clean := func(what, base, ours, theirs, want string) {
		t.Helper()
		if got, conflicts := Merge(base, ours, theirs); got != want || len(conflicts) > 0 {
			t.Fatalf("%s: Merge(%q, %q, %q) = %q with %d conflicts", what, base, ours, theirs, got, len(conflicts))
		}
	}
	clean("ours alone", base, ours, base, ours)
	clean("theirs alone", base, base, theirs, theirs)
	clean("both the same", base, ours, ours, ours)

	merged, conflicts := Merge(base, ours, theirs)
	mirrored, mirroredConflicts := Sides{"theirs", "ours"}.Merge(base, theirs, ours)
	if len(conflicts) != len(mirroredConflicts) {
		t.Fatalf("Merge(%q, %q, %q): %d conflicts, with the sides exchanged %d", base, ours, theirs, len(conflicts), len(mirroredConflicts))
	}
	if len(conflicts) == 0 && merged != mirrored {
		t.Fatalf("Merge(%q, %q, %q) = %q, with the sides exchanged %q", base, ours, theirs, merged, mirrored)
	}
	lines := SplitLines(merged)
	for i, c := range conflicts {
		if i > 0 && c.Merged.Start < conflicts[i-1].Merged.End || c.Merged.End > len(lines) {
			t.Fatalf("Merge(%q, %q, %q): conflict %d is out of place: %+v", base, ours, theirs, i, c)
		}
		first, last := lines[c.Merged.Start], lines[c.Merged.End-1]
		if !strings.HasPrefix(first, "<<<<<<< ours") || !strings.HasPrefix(last, ">>>>>>> theirs") {
			t.Fatalf("Merge(%q, %q, %q): conflict %d from %q to %q", base, ours, theirs, i, first, last)
		}
		if n := c.Ours.End - c.Ours.Start + c.Theirs.End - c.Theirs.Start + 3; n != c.Merged.End-c.Merged.Start {
			t.Fatalf("Merge(%q, %q, %q): conflict %d has the wrong number of lines: %+v", base, ours, theirs, i, c)
		}
	}
}

func TestMergeOfRandomTexts(t *testing.T) {
	r := source(t)
	for range 5000 {
		base := letters(r, r.IntN(20), 1+r.IntN(8))
		checkMerge(t, base, edited(r, base, r.IntN(4)), edited(r, base, r.IntN(4)))
	}
}

func FuzzMerge(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc\n", "a\nb\nc\nd")
	f.Add("a\nb", "a\nb\n", "a")
	f.Add("", "x", "y\n")
	f.Add("a\r\nb\r\n", "a\nb\n", "")
	f.Fuzz(checkMerge)
}

func TestUnresolved(t *testing.T) {
	for text, want := range map[string]int{
		"": -1, "a\nb\n": -1,
		"<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n":                 0,
		"x\r\n<<<<<<< a\r\n=======\r\n>>>>>>> b":                1,
		"<<<<<<< a\n1\n>>>>>>> b\n":                             -1, // no middle
		"=======\n>>>>>>> b\n":                                  -1, // no beginning
		"<<<<<<< a\n=======\n":                                  -1, // no end
		"=======\n<<<<<<< a\n>>>>>>> b\n":                       -1, // the middle before the beginning
		">>>>>>> b\n=======\n<<<<<<< a\n":                       -1,
		"<<<<<<<\n=======\n>>>>>>>\n":                           -1, // no names
		"<<<<<<< a\n========\n>>>>>>> b\n":                      -1, // a heading's line
		"<<<<<<< a\n1\n<<<<<<< c\n=======\n2\n>>>>>>> b\n":      2,
		"Title\n=======\n<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n": 2,
	} {
		if got := Unresolved(text); got != want {
			t.Errorf("%q: line %d, want %d", text, got, want)
		}
	}
}
