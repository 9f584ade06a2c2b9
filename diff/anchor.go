package diff

import (
	"math"
	"slices"
	"sort"
)

// anchoredLeast is the part of the shorter side, one in so many lines, that
// must be anchors.
const anchoredLeast = 8

// An anchor is a line that occurs once on either side, and where.
type anchor struct{ a, b int }

// anchored deals with a part too large for an exact solution that has many
// lines which occur exactly once on both sides, as programs do: it keeps as
// many of those as are in the same order, which is found quickly, and solves
// what lies between. It does so only if they are many: a few lines that have
// moved far would tie the script to a long detour. It reports whether it has
// dealt with the part.
func (s *solver) anchored(a0, a1, b0, b1 int) bool {
	found := ascending(s.once(a0, a1, b0, b1))
	if len(found) <= min(a1-a0, b1-b0)/anchoredLeast {
		return false
	}
	for _, at := range found {
		s.solve(a0, at.a, b0, at.b, math.MaxInt)
		s.keepA[at.a], s.keepB[at.b] = true, true
		a0, b0 = at.a+1, at.b+1
	}
	s.solve(a0, a1, b0, b1, math.MaxInt)
	return true
}

// once finds the lines that occur once on either side, in the order of a.
func (s *solver) once(a0, a1, b0, b1 int) []anchor {
	const many = -1
	if s.places == nil {
		s.places = make([]int32, 2*s.ids)
	}
	// Where each number is, counted from 1, or 0, or many; 0 between two calls.
	inA, inB := s.places[:s.ids], s.places[s.ids:]
	note := func(places []int32, id int32, at int) {
		if places[id] == 0 {
			places[id] = int32(at) + 1
		} else {
			places[id] = many
		}
	}
	for i := a0; i < a1; i++ {
		note(inA, s.a[i], i)
	}
	for j := b0; j < b1; j++ {
		note(inB, s.b[j], j)
	}
	var found []anchor
	for i := a0; i < a1; i++ {
		if id := s.a[i]; inA[id] > 0 && inB[id] > 0 {
			found = append(found, anchor{i, int(inB[id]) - 1})
		}
	}
	for i := a0; i < a1; i++ {
		inA[s.a[i]] = 0
	}
	for j := b0; j < b1; j++ {
		inB[s.b[j]] = 0
	}
	return found
}

// ascending is a longest part of the anchors, which ascend in a, that ascends
// in b too.
func ascending(anchors []anchor) []anchor {
	// ends[n] is the anchor with the smallest b that ends an ascent of n+1;
	// before[i] is the one before anchor i in its ascent.
	var ends []int32
	before := make([]int32, len(anchors))
	for i, at := range anchors {
		n := sort.Search(len(ends), func(n int) bool { return anchors[ends[n]].b > at.b })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, 0)
		}
		ends[n] = int32(i)
	}
	if len(ends) == 0 {
		return nil
	}
	found := make([]anchor, 0, len(ends))
	for i := ends[len(ends)-1]; i >= 0; i = before[i] {
		found = append(found, anchors[i])
	}
	slices.Reverse(found)
	return found
}
