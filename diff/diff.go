// Package diff compares texts line by line: edit scripts, hunks, unified
// rendering and three-way merge.
//
// Everything here is a pure function of its arguments: no I/O, no goroutines,
// no state between calls. It knows nothing of files, approvals or editors.
// Texts are Go strings of arbitrary bytes; a line ends with '\n' and owns it
// ("\r\n" is a line whose content ends with '\r'; a last line without '\n'
// differs from the same line with one). Line numbers are 0-based unless a
// comment says otherwise, ranges are half-open.
//
// How Lines works, in the order in which the work is done:
//
//   - trim.go, texts.go: the common head and tail are cut off on bytes, so that one
//     changed line in a large file costs little more than reading it;
//   - intern.go: the lines between become integers, and those that occur on
//     one side only are set aside, since nothing can match them;
//   - solve.go: divide and conquer with Myers' middle snake, which is exact
//     and quick while the texts differ little, up to a cost limit;
//   - lcs.go: a part that costs more than the limit is solved exactly with 64
//     columns at a time, while its size allows that;
//   - anchor.go: and beyond that size it is cut in two at a good place;
//   - slide.go: of the equally short scripts, the one that reads best.
//
// The work is bounded for every input; the script is minimal except where the
// last resort was needed.
package diff

import "strings"

// An Edit replaces the lines [A0,A1) of the old text with the lines [B0,B1) of
// the new one. Line numbers are 0-based and half-open. One of the two ranges
// may be empty, never both.
type Edit struct {
	A0, A1 int
	B0, B1 int
}

// Lines gives the edits that turn a into b, in ascending order, with at least
// one unchanged line between any two. It returns nil when the texts are equal.
func Lines(a, b string) []Edit {
	if a == b {
		return nil
	}
	_, edits := compare(a, b)
	return edits
}

// compare gives the edits and the window in which it found them.
func compare(a, b string) (texts, []Edit) {
	t := intern(window(a, b))
	t.match()
	edits := t.slide(t.edits())
	for i, e := range edits {
		edits[i] = e.moved(t.off)
	}
	return t.texts, edits
}

// Count adds up the lines that edits add and remove.
func Count(edits []Edit) (added, removed int) {
	for _, e := range edits {
		added += e.B1 - e.B0
		removed += e.A1 - e.A0
	}
	return added, removed
}

// FirstChange is the first line in which a and b differ, the same number in
// both, or -1 when they are equal. It may be one past the last line of the
// shorter text. It reads no further than the first difference, and is
// therefore much cheaper than Lines.
func FirstChange(a, b string) int {
	n := commonPrefix(a, b)
	if n == len(a) && n == len(b) {
		return -1
	}
	return strings.Count(a[:n], "\n")
}

// SplitLines cuts s into its lines, each with its '\n'. There is no empty last
// line after a final '\n', and an empty text has no lines.
func SplitLines(s string) []string {
	n := countLines(s)
	if n == 0 {
		return nil
	}
	lines := make([]string, 0, n)
	for s != "" {
		end := lineEnd(s, 0)
		lines = append(lines, s[:end])
		s = s[end:]
	}
	return lines
}

// countLines is len(SplitLines(s)).
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// lineEnd is where the line that starts at byte i ends, its '\n' included.
func lineEnd(s string, i int) int {
	if n := strings.IndexByte(s[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(s)
}

// lineStarts gives the byte at which each line of s starts, and len(s) as one
// more element.
func lineStarts(s string) []int {
	starts := make([]int, 0, countLines(s)+1)
	for i := 0; i < len(s); i = lineEnd(s, i) {
		starts = append(starts, i)
	}
	return append(starts, len(s))
}
