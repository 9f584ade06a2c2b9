package diff

import "strings"

// texts are two texts cut into lines; or, of two that have much in common at
// the head and the tail, the windows that hold all differences. The lines left
// out at the head are the same on both sides, so that one offset does for both.
type texts struct {
	a, b           string // the windows
	startA, startB []int  // where each line of a window starts, and its length
	off            int    // the number of its first line
	tail           bool   // whether lines follow the window
}

// whole cuts all of a and b into lines.
func whole(a, b string) texts {
	return texts{a: a, b: b, startA: lineStarts(a), startB: lineStarts(b)}
}

// margin is how many lines of a window the texts have in common at its head and
// at its tail: room for the first and the last edit to slide, and for context.
const margin = 2 * slack

// window cuts a and b into lines where they differ, and in the margins.
func window(a, b string) texts {
	head, tail := trim(a, b)
	for i := 0; i < margin && head > 0; i++ {
		head = strings.LastIndexByte(a[:head-1], '\n') + 1
	}
	for i := 0; i < margin && tail > 0; i++ {
		tail = len(a) - lineEnd(a, len(a)-tail)
	}
	t := whole(a[head:len(a)-tail], b[head:len(b)-tail])
	t.off = strings.Count(a[:head], "\n")
	t.tail = tail > 0
	return t
}

// endA is one past the last line of a in the window.
func (t texts) endA() int { return t.off + len(t.startA) - 1 }

func (t texts) lineA(i int) string { return t.a[t.startA[i-t.off]:t.startA[i-t.off+1]] }
func (t texts) lineB(i int) string { return t.b[t.startB[i-t.off]:t.startB[i-t.off+1]] }

// shows tells whether the window has all lines for hunks with that context.
func (t texts) shows(edits []Edit, context int) bool {
	return (t.off == 0 || edits[0].A0-context >= t.off) &&
		(!t.tail || edits[len(edits)-1].A1+context <= t.endA())
}
