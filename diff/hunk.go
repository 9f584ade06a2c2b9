package diff

import "strconv"

// A Hunk is a group of neighbouring edits with the unchanged lines around and
// between them: the lines [A0,A1) of the old text and [B0,B1) of the new one.
type Hunk struct {
	A0, A1 int
	B0, B1 int
	Edits  []Edit
	Lines  []Line // what it reads: removed before added within one edit
}

// A Line is one line of a hunk.
type Line struct {
	Op   Op
	Text string // with its '\n', if it has one
}

// An Op says what happens to a line; it is the character that marks the line in
// a unified diff.
type Op byte

// What may happen to a line.
const (
	Keep   Op = ' '
	Remove Op = '-'
	Add    Op = '+'
)

// Hunks groups the edits that turn a into b, with up to context unchanged lines
// before and after each. Edits whose context would touch or overlap share a
// hunk.
func Hunks(a, b string, edits []Edit, context int) []Hunk {
	if len(edits) == 0 {
		return nil
	}
	context = clamped(context)
	t := window(a, b)
	if !t.shows(edits, context) {
		t = whole(a, b)
	}
	hunks := t.group(edits, context)
	for i := range hunks {
		h := &hunks[i]
		h.Lines = make([]Line, 0, h.size())
		t.walk(*h, func(op Op, line string) bool {
			h.Lines = append(h.Lines, Line{op, line})
			return true
		})
	}
	return hunks
}

// clamped makes a number of lines one that can be added up without care.
func clamped(n int) int { return min(max(n, 0), 1<<30) }

// Header is the hunk's first line in a unified diff, without a line end.
func (h Hunk) Header() string {
	buf := append(make([]byte, 0, 32), "@@ -"...)
	buf = appendRange(buf, h.A0, h.A1)
	buf = append(buf, " +"...)
	buf = appendRange(buf, h.B0, h.B1)
	return string(append(buf, " @@"...))
}

// appendRange writes a range as unified diffs do: its first line counted from
// 1, and the number of lines unless that is one. An empty range names the line
// before it.
func appendRange(buf []byte, from, to int) []byte {
	first, n := from+1, to-from
	if n == 0 {
		first = from
	}
	buf = strconv.AppendInt(buf, int64(first), 10)
	if n != 1 {
		buf = append(buf, ',')
		buf = strconv.AppendInt(buf, int64(n), 10)
	}
	return buf
}

// size is the number of lines in the hunk.
func (h Hunk) size() int {
	added, _ := Count(h.Edits)
	return h.A1 - h.A0 + added
}

// group puts the edits into hunks, without their lines.
func (t texts) group(edits []Edit, context int) []Hunk {
	var hunks []Hunk
	for first := 0; first < len(edits); {
		last := first
		for last+1 < len(edits) && edits[last+1].A0-edits[last].A1 <= 2*context {
			last++
		}
		before := min(context, edits[first].A0-t.off)
		after := min(context, t.endA()-edits[last].A1)
		hunks = append(hunks, Hunk{
			A0: edits[first].A0 - before, A1: edits[last].A1 + after,
			B0: edits[first].B0 - before, B1: edits[last].B1 + after,
			Edits: edits[first : last+1 : last+1],
		})
		first = last + 1
	}
	return hunks
}

// walk gives the hunk's lines in order to yield, until that returns false.
func (t texts) walk(h Hunk, yield func(op Op, line string) bool) {
	at := h.A0
	keep := func(to int) bool {
		for ; at < to; at++ {
			if !yield(Keep, t.lineA(at)) {
				return false
			}
		}
		return true
	}
	for _, e := range h.Edits {
		if !keep(e.A0) {
			return
		}
		for ; at < e.A1; at++ {
			if !yield(Remove, t.lineA(at)) {
				return
			}
		}
		for j := e.B0; j < e.B1; j++ {
			if !yield(Add, t.lineB(j)) {
				return
			}
		}
	}
	keep(h.A1)
}
