package diff

import "strings"

// slack is how many lines an edit may slide, either way.
const slack = 64

// An added or removed group of lines can slide past a line that equals its own
// first or last one (// stands for an empty line):
//
//	 }             }
//	+//            //
//	+func b() {   +func b() {
//	+}            +}
//	 //           +//
//	 func c() {    func c() {
//
// All positions give scripts of the same size, but people read some better.

// slide moves each edit that only adds or only removes lines to where it reads
// best. Where it can be made to touch a neighbour, the two become one edit.
func (t *table) slide(edits []Edit) []Edit {
	out := edits[:0] // never longer than what has been read
	for i := 0; i < len(edits); i++ {
		e := edits[i]
		prev, next := Edit{}, Edit{A0: len(t.idA), B0: len(t.idB)}
		if len(out) > 0 {
			prev = out[len(out)-1]
		}
		if i+1 < len(edits) {
			next = edits[i+1]
		}
		ids, text, from, to := t.idB, side{t.b, t.startB}, e.B0, e.B1
		room := next.B0 - e.B1
		if e.B0 == e.B1 {
			ids, text, from, to = t.idA, side{t.a, t.startA}, e.A0, e.A1
		} else if e.A0 != e.A1 {
			out = append(out, e)
			continue
		}
		up := 0
		for up < min(e.A0-prev.A1, slack) && same(ids[from-up-1], ids[to-up-1]) {
			up++
		}
		if up == e.A0-prev.A1 && len(out) > 0 {
			// Look at the joined edit again: it may slide as well.
			out = out[:len(out)-1]
			edits[i] = prev.join(e.moved(-up))
			i--
			continue
		}
		down := 0
		for down < min(room, slack) && same(ids[from+down], ids[to+down]) {
			down++
		}
		if down == room && i+1 < len(edits) {
			edits[i+1] = e.moved(down).join(next)
			continue
		}
		best, least := down, text.seam(from+down)+text.seam(to+down)
		for by := down - 1; by >= -up; by-- {
			if cost := text.seam(from+by) + text.seam(to+by); cost < least {
				best, least = by, cost
			}
		}
		out = append(out, e.moved(best))
	}
	return out
}

// same tells whether two lines of one text are known to be equal.
func same(id, other int32) bool { return id == other && id != absent }

func (e Edit) moved(by int) Edit {
	return Edit{e.A0 + by, e.A1 + by, e.B0 + by, e.B1 + by}
}

func (e Edit) join(next Edit) Edit {
	return Edit{e.A0, next.A1, e.B0, next.B1}
}

// seam is how badly a text reads when it is cut before line i; 0 is best. Good
// seams are where the indentation is least, after an empty line, and not before
// a line that closes a block.
func (s side) seam(i int) int {
	if i == s.len() {
		return 1
	}
	cost := 1
	if i > 0 {
		before, after := s.line(i-1), s.line(i)
		if blank(before) {
			cost = 0
		} else if !blank(after) && indent(after) < indent(before) {
			cost += 6
		}
	}
	for j := i; j < min(i+3, s.len()); j++ {
		if line := s.line(j); !blank(line) {
			return cost + 4*indent(line)
		}
	}
	return cost
}

func blank(line string) bool { return strings.TrimLeft(line, " \t\r\n") == "" }

// indent is the width of the white space that a line begins with.
func indent(line string) int {
	n := 0
	for i := range len(line) {
		switch line[i] {
		case ' ':
			n++
		case '\t':
			n += 8 - n%8
		default:
			return n
		}
	}
	return n
}
