package diff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// apply carries out the edits on a, taking new lines from b, and fails the test
// on edits that are out of order, overlap, touch or do nothing.
func apply(t testing.TB, a, b string, edits []Edit) string {
	t.Helper()
	la, lb := SplitLines(a), SplitLines(b)
	var out strings.Builder
	i, j := 0, 0
	for n, e := range edits {
		if e.A0 > e.A1 || e.B0 > e.B1 || e.A0 == e.A1 && e.B0 == e.B1 || e.A1 > len(la) || e.B1 > len(lb) {
			t.Fatalf("edit %d is no edit: %+v", n, e)
		}
		if e.A0-i != e.B0-j || e.A0 < i || n > 0 && e.A0 == i {
			t.Fatalf("edit %d is out of place: %+v after line %d, %d", n, e, i, j)
		}
		for ; i < e.A0; i++ {
			out.WriteString(la[i])
		}
		for j = e.B0; j < e.B1; j++ {
			out.WriteString(lb[j])
		}
		i = e.A1
	}
	for ; i < len(la); i++ {
		out.WriteString(la[i])
	}
	return out.String()
}

func size(edits []Edit) int {
	added, removed := Count(edits)
	return added + removed
}

// shortest is the size of the shortest script, from a plain table.
func shortest(a, b string) int {
	la, lb := SplitLines(a), SplitLines(b)
	above := make([]int, len(lb)+1)
	row := make([]int, len(lb)+1)
	for i := range la {
		for j := range lb {
			if la[i] == lb[j] {
				row[j+1] = above[j] + 1
			} else {
				row[j+1] = max(row[j], above[j+1])
			}
		}
		above, row = row, above
	}
	return len(la) + len(lb) - 2*above[len(lb)]
}

// source is a random source that a failing test names.
func source(t testing.TB) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// letters is a random text of n one-letter lines out of so many letters, now
// and then without a last line end.
func letters(r *rand.Rand, n, alphabet int) string {
	var s strings.Builder
	for range n {
		fmt.Fprintf(&s, "%c\n", 'a'+r.IntN(alphabet))
	}
	text := s.String()
	if r.IntN(4) == 0 {
		text = strings.TrimSuffix(text, "\n")
	}
	return text
}

// edited is a copy of a with about so many random changes.
func edited(r *rand.Rand, a string, changes int) string {
	lines := SplitLines(a)
	for range changes {
		i := r.IntN(len(lines) + 1)
		switch k := r.IntN(4); {
		case k == 0 || i == len(lines):
			lines = append(lines[:i:i], append([]string{fmt.Sprintf("new %d\n", r.IntN(20))}, lines[i:]...)...)
		case k == 1:
			lines = append(lines[:i:i], lines[i+1:]...)
		case k == 2:
			lines[i] = fmt.Sprintf("changed %d\n", r.IntN(20))
		default:
			j := r.IntN(len(lines))
			lines[i], lines[j] = lines[j], lines[i]
		}
	}
	return strings.Join(lines, "")
}

func TestSplitLines(t *testing.T) {
	for in, want := range map[string][]string{
		"":         nil,
		"\n":       {"\n"},
		"a":        {"a"},
		"a\n":      {"a\n"},
		"a\nb":     {"a\n", "b"},
		"a\r\nb\n": {"a\r\n", "b\n"},
		"\n\n":     {"\n", "\n"},
		"a\rb\n":   {"a\rb\n"},
	} {
		got := SplitLines(in)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("SplitLines(%q) = %q, want %q", in, got, want)
		}
		if n := countLines(in); n != len(want) {
			t.Errorf("countLines(%q) = %d, want %d", in, n, len(want))
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, a, b string
		want       []Edit
	}{
		{"both empty", "", "", nil},
		{"equal", "a\nb\n", "a\nb\n", nil},
		{"new file", "", "a\nb\n", []Edit{{0, 0, 0, 2}}},
		{"emptied", "a\nb\n", "", []Edit{{0, 2, 0, 0}}},
		{"changed line", "a\nb\nc\n", "a\nx\nc\n", []Edit{{1, 2, 1, 2}}},
		{"first line", "a\nb\n", "x\nb\n", []Edit{{0, 1, 0, 1}}},
		{"appended", "a\n", "a\nb\n", []Edit{{1, 1, 1, 2}}},
		{"prepended", "b\n", "a\nb\n", []Edit{{0, 0, 0, 1}}},
		{"line end lost", "a\nb\n", "a\nb", []Edit{{1, 2, 1, 2}}},
		{"line end gained", "a\nb", "a\nb\n", []Edit{{1, 2, 1, 2}}},
		{"appended to a line without end", "a", "a\nb", []Edit{{0, 1, 0, 2}}},
		{"CRLF", "a\r\nb\r\n", "a\nb\r\n", []Edit{{0, 1, 0, 1}}},
		{"common bytes are no common lines", "xab\nc\n", "xcb\nc\n", []Edit{{0, 1, 0, 1}}},
		{"tail longer than a line", "pq\nc\n", "q\nc\n", []Edit{{0, 1, 0, 1}}},
		{"two places", "a\nb\nc\nd\ne\n", "a\nc\nd\nx\n", []Edit{{1, 2, 1, 1}, {4, 5, 3, 4}}},
		{"only a newline", "", "\n", []Edit{{0, 0, 0, 1}}},
		{"nothing in common", "a\nb\n", "c\nd\ne\n", []Edit{{0, 2, 0, 3}}},
		{"NUL and broken UTF-8", "\x00\xff\na\n", "\x00\xfe\na\n", []Edit{{0, 1, 0, 1}}},
	} {
		got := Lines(c.a, c.b)
		if fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: Lines(%q, %q) = %v, want %v", c.name, c.a, c.b, got, c.want)
		}
	}
}

func TestLinesAreShortestOnSmallTexts(t *testing.T) {
	r := source(t)
	for range 20000 {
		alphabet := 1 + r.IntN(6)
		a := letters(r, r.IntN(30), alphabet)
		b := letters(r, r.IntN(30), alphabet)
		edits := Lines(a, b)
		if got := apply(t, a, b, edits); got != b {
			t.Fatalf("from %q to %q: %v gives %q", a, b, edits, got)
		}
		if got, want := size(edits), shortest(a, b); got != want {
			t.Fatalf("from %q to %q: %v has size %d, the shortest %d", a, b, edits, got, want)
		}
	}
}

// Texts of which most is cut off before the search, and in which edits slide
// far.
func TestLinesOfLongerTexts(t *testing.T) {
	r := source(t)
	for range 200 {
		a := letters(r, 100+r.IntN(500), 1+r.IntN(3))
		b := edited(r, a, 1+r.IntN(5))
		edits := Lines(a, b)
		if got := apply(t, a, b, edits); got != b {
			t.Fatalf("from %q to %q: %v gives %q", a, b, edits, got)
		}
		if got, want := size(edits), shortest(a, b); got != want {
			t.Fatalf("%d edits have size %d, the shortest %d", len(edits), got, want)
		}
		checkUnified(t, a, b)
	}
}

// Large texts of the kinds that take the last resorts, and that make careless
// searches recurse deeply, run for hours or exhaust the memory.
func TestLinesOfHostileTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	r := source(t)
	numbers := func(n, alphabet int) string {
		var s strings.Builder
		for range n {
			fmt.Fprintf(&s, "%d\n", r.IntN(alphabet))
		}
		return s.String()
	}
	mixed := make([]string, 150000)
	for i := range mixed {
		mixed[i] = fmt.Sprintf("only %d\n", i)
		if r.IntN(3) == 0 {
			mixed[i] = fmt.Sprintf("often %d\n", r.IntN(3))
		}
	}
	moved := slices.Concat(mixed[:1000], mixed[70000:140000], mixed[1000:70000], mixed[140000:])
	for i := range moved {
		if r.IntN(5) == 0 {
			moved[i] = fmt.Sprintf("often %d\n", r.IntN(3))
		}
	}
	for _, c := range []struct {
		name string
		a, b string
		most int // lines of the script
	}{
		{"two lines at random", numbers(150000, 2), numbers(150000, 2), 65000},
		{"many lines at random", numbers(150000, 1000), numbers(150000, 1000), 295000},
		{"moved and changed", strings.Join(mixed, ""), strings.Join(moved, ""), 190000},
		{"out of step", strings.Repeat("a\nb\n", 100000), strings.Repeat("b\na\na\n", 70000), 120000},
		{"exchanged", strings.Repeat("a\n", 90000) + strings.Repeat("b\n", 90000), strings.Repeat("b\n", 90000) + strings.Repeat("a\n", 90000), 180000},
		{"empty lines", strings.Repeat("\n", 300000), strings.Repeat("x\n\n", 100000), 300000},
		{"one long line", strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20) + "\n", 2},
	} {
		edits := Lines(c.a, c.b)
		if apply(t, c.a, c.b, edits) != c.b {
			t.Errorf("%s: the script does not make the new text", c.name)
		}
		if n := size(edits); n > c.most {
			t.Errorf("%s: a script of %d lines, more than %d", c.name, n, c.most)
		} else {
			t.Logf("%s: %d of %d", c.name, n, c.most)
		}
	}
}

func TestFirstChange(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", -1},
		{"a\n", "a\n", -1},
		{"", "a", 0},
		{"a\n", "a\nb\n", 1},
		{"a\nb\n", "a\nc\n", 1},
		{"a\nb", "a\nb\n", 1},
		{"a\nbc\n", "a\nbd\n", 1},
		{"a\nb\nc\n", "a\nb\n", 2},
	} {
		if got := FirstChange(c.a, c.b); got != c.want {
			t.Errorf("FirstChange(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nd")
	f.Add("", "\n")
	f.Add("x\nx\nx\nx\n", "x\nx")
	f.Fuzz(func(t *testing.T, a, b string) {
		edits := Lines(a, b)
		if got := apply(t, a, b, edits); got != b {
			t.Fatalf("from %q to %q: %v gives %q", a, b, edits, got)
		}
		if countLines(a)*countLines(b) < 1<<20 {
			if got, want := size(edits), shortest(a, b); got != want {
				t.Fatalf("from %q to %q: %v has size %d, the shortest %d", a, b, edits, got, want)
			}
		}
		first := FirstChange(a, b)
		if a == b {
			if first != -1 || edits != nil {
				t.Fatalf("%q equals itself, yet: first change %d, edits %v", a, first, edits)
			}
			return
		}
		la, lb := SplitLines(a), SplitLines(b)
		same := 0
		for same < len(la) && same < len(lb) && la[same] == lb[same] {
			same++
		}
		if first != same {
			t.Fatalf("from %q to %q: first change %d, want %d", a, b, first, same)
		}
	})
}
