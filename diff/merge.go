package diff

import "strings"

// A Span is a range of lines, half-open.
type Span struct{ Start, End int }

// A Conflict is a place that both sides of a merge have changed, differently.
type Conflict struct {
	Base, Ours, Theirs Span // the lines concerned in each text
	Merged             Span // where it lies in the merged text, marks included
}

// Sides names the two sides of a merge in the marks of its conflicts.
type Sides struct{ Ours, Theirs string }

// Merge joins two changes of one base, line by line. Where only one side has
// changed the base, or both in the same way, the change is taken. Changes that
// overlap or touch otherwise are conflicts: the merged text has both, between
// lines of marks,
//
//	<<<<<<< ours
//	…
//	=======
//	…
//	>>>>>>> theirs
//
// and must not be used before a person has chosen (see Unresolved).
func Merge(base, ours, theirs string) (string, []Conflict) {
	return Sides{"ours", "theirs"}.Merge(base, ours, theirs)
}

// Merge is Merge with the sides' own names.
func (s Sides) Merge(base, ours, theirs string) (string, []Conflict) {
	switch {
	case ours == theirs || base == theirs:
		return ours, nil
	case base == ours:
		return theirs, nil
	}
	m := merge{
		base: newSide(base), ours: newSide(ours), theirs: newSide(theirs), names: s,
		edits: [2][]Edit{Lines(base, ours), Lines(base, theirs)},
	}
	m.end = "\n"
	if line := m.ours.text[:m.ours.starts[min(1, len(m.ours.starts)-1)]]; strings.HasSuffix(line, "\r\n") {
		m.end = "\r\n"
	}
	m.run()
	return m.out.String(), m.conflicts
}

// A side is one text of a merge, cut into lines.
type side struct {
	text   string
	starts []int
}

func newSide(text string) side { return side{text, lineStarts(text)} }

func (s side) span(p Span) string { return s.text[s.starts[p.Start]:s.starts[p.End]] }
func (s side) line(i int) string  { return s.span(Span{i, i + 1}) }
func (s side) len() int           { return len(s.starts) - 1 }

type merge struct {
	base, ours, theirs side
	edits              [2][]Edit // of ours and theirs, those not yet merged
	names              Sides
	end                string // how a line of marks ends

	out       strings.Builder
	lines     int // written so far
	conflicts []Conflict
}

func (m *merge) run() {
	at := 0               // the base is merged up to here
	shift := [2]int{0, 0} // a side's line number less the base's, there
	for len(m.edits[0])+len(m.edits[1]) > 0 {
		region := Span{m.base.len(), m.base.len()}
		for _, edits := range m.edits {
			if len(edits) > 0 && edits[0].A0 < region.Start {
				region.Start = edits[0].A0
			}
		}
		region.End = region.Start
		// Take in all edits, of either side, that overlap or touch the region.
		var own [2]Span
		var changed [2]bool
		for side := range own {
			own[side].Start = region.Start + shift[side]
		}
		for grown := true; grown; {
			grown = false
			for side, edits := range m.edits {
				if len(edits) > 0 && edits[0].A0 <= region.End {
					e := edits[0]
					m.edits[side] = edits[1:]
					region.End = max(region.End, e.A1)
					shift[side] = e.B1 - e.A1
					changed[side], grown = true, true
				}
			}
		}
		for side := range own {
			own[side].End = region.End + shift[side]
		}
		m.write(m.base, Span{at, region.Start})
		at = region.End
		switch {
		case !changed[1] || m.ours.span(own[0]) == m.theirs.span(own[1]):
			m.write(m.ours, own[0])
		case !changed[0]:
			m.write(m.theirs, own[1])
		default:
			m.conflict(Conflict{Base: region, Ours: own[0], Theirs: own[1]})
		}
	}
	m.write(m.base, Span{at, m.base.len()})
}

func (m *merge) write(s side, p Span) {
	m.out.WriteString(s.span(p))
	m.lines += p.End - p.Start
}

// mark writes a line of marks. The text before it may lack its line end, being
// the last line of its side.
func (m *merge) mark(mark, name string) {
	if s := m.out.String(); s != "" && !strings.HasSuffix(s, "\n") {
		m.out.WriteString(m.end)
	}
	m.out.WriteString(mark)
	if name != "" {
		m.out.WriteString(" " + name)
	}
	m.out.WriteString(m.end)
	m.lines++
}

// conflict writes both sides between marks. Lines with which both begin or end
// are not in dispute and stay outside.
func (m *merge) conflict(c Conflict) {
	head, tail := c.Ours, Span{}
	for c.Ours.Start < c.Ours.End && c.Theirs.Start < c.Theirs.End &&
		m.ours.line(c.Ours.Start) == m.theirs.line(c.Theirs.Start) {
		c.Ours.Start++
		c.Theirs.Start++
	}
	head.End = c.Ours.Start
	tail.End = c.Ours.End
	for c.Ours.Start < c.Ours.End && c.Theirs.Start < c.Theirs.End &&
		m.ours.line(c.Ours.End-1) == m.theirs.line(c.Theirs.End-1) {
		c.Ours.End--
		c.Theirs.End--
	}
	tail.Start = c.Ours.End

	m.write(m.ours, head)
	c.Merged.Start = m.lines
	m.mark("<<<<<<<", m.names.Ours)
	m.write(m.ours, c.Ours)
	m.mark("=======", "")
	m.write(m.theirs, c.Theirs)
	m.mark(">>>>>>>", m.names.Theirs)
	c.Merged.End = m.lines
	m.write(m.ours, tail)
	m.conflicts = append(m.conflicts, c)
}

// Unresolved finds the first line at which a text still has the marks of a
// conflict: all three kinds, in their order. It returns -1 when there is none.
func Unresolved(text string) int {
	first, seen := -1, 0
	for i, rest := 0, text; rest != ""; i++ {
		end := lineEnd(rest, 0)
		line := strings.TrimRight(rest[:end], "\r\n")
		rest = rest[end:]
		switch {
		case strings.HasPrefix(line, "<<<<<<< "):
			first, seen = i, 1
		case line == "=======" && seen == 1:
			seen = 2
		case strings.HasPrefix(line, ">>>>>>> ") && seen == 2:
			return first
		}
	}
	return -1
}
