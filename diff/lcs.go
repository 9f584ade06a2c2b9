package diff

import (
	"math/bits"
	"slices"
)

// Exact solutions of parts that differ too much for the middle snake. The
// table of longest common subsequences is computed row by row, a row per line
// of a, with 64 columns (lines of b) in a word, and only where its rows
// increase: bit j of row i is clear where the length for a[:i], b[:j+1] is
// greater than that for a[:i], b[:j]. One addition with carry makes a row from
// the one before. Hirschberg's halving keeps the memory linear.

// tableKept is the largest table, in words, that is kept whole to be read back.
const tableKept = 1 << 16

// lcs holds the buffers for exact solutions; each part uses them anew.
type lcs struct {
	// The lines of b by number: where the list of each number starts in pos,
	// and how long it is. Zero for all numbers between two parts.
	first, count []int32
	pos          []int32  // the places in b of each line, ascending
	dense        []int32  // by number: 1 + index of its mask, or 0 if it is rare
	masks        []uint64 // masks of frequent lines: a bit for each place

	fwd, bwd row // the last row from either end
	rows     []uint64
}

// A row is one row of the table.
type row struct {
	bits []uint64 // a clear bit for each column where the length grows
	top  int      // no word from here on has a clear bit
}

// steps is about how many words an exact solution of a[a0:a1] and b[b0:b1] has
// to touch: of each row, all words if its line is frequent, otherwise one for
// each place where it occurs.
func (s *solver) steps(a0, a1, b0, b1 int) int {
	l := s.buffers()
	for _, id := range s.b[b0:b1] {
		l.count[id]++
	}
	words := (b1 - b0 + 63) / 64
	steps := 0
	for _, id := range s.a[a0:a1] {
		steps += min(int(l.count[id])*sparseCost, words)
	}
	for _, id := range s.b[b0:b1] {
		l.count[id] = 0
	}
	// All halvings together cost as much again as the first, but each files
	// all lines anew.
	halvings := bits.Len(uint((a1 - a0) * words / tableKept))
	return 2*steps + 4*(1+halvings)*(a1-a0+b1-b0)
}

// sparseCost is what one place of a rare line costs, in words of a frequent one.
const sparseCost = 3

func (s *solver) buffers() *lcs {
	if s.lcs == nil {
		ids := make([]int32, 3*s.ids)
		s.lcs = &lcs{first: ids[:s.ids], count: ids[s.ids : 2*s.ids], dense: ids[2*s.ids:]}
	}
	return s.lcs
}

// exact marks a longest common subsequence of a[a0:a1] and b[b0:b1].
func (s *solver) exact(a0, a1, b0, b1 int) {
	l := s.buffers()
	for {
		for a0 < a1 && b0 < b1 && s.a[a0] == s.b[b0] {
			s.keepA[a0], s.keepB[b0] = true, true
			a0, b0 = a0+1, b0+1
		}
		for a0 < a1 && b0 < b1 && s.a[a1-1] == s.b[b1-1] {
			a1, b1 = a1-1, b1-1
			s.keepA[a1], s.keepB[b1] = true, true
		}
		n, m := a1-a0, b1-b0
		if n == 0 || m == 0 {
			return
		}
		words := (m + 63) / 64
		if n*words <= s.tableKept || n == 1 {
			l.readBack(s, a0, a1, b0, b1)
			return
		}
		// Halve a, and find where b must be cut so that the two halves'
		// lengths add up to the most.
		a, b := s.a[a0:a1], s.b[b0:b1]
		half := n / 2
		l.file(b, false)
		l.fwd.reset(words)
		for _, id := range a[:half] {
			l.next(&l.fwd, id)
		}
		l.forget(b)
		l.file(b, true)
		l.bwd.reset(words)
		for i := n - 1; i >= half; i-- {
			l.next(&l.bwd, a[i])
		}
		l.forget(b)
		cut := l.cut(m)
		s.exact(a0, a0+half, b0, b0+cut)
		a0, b0 = a0+half, b0+cut
	}
}

// cut is the j that makes the length for the first half and b[:j] plus the
// length for the second half and b[j:] greatest; of several, the first.
func (l *lcs) cut(m int) int {
	// Gains to the left of j grow with j, those to the right shrink: start
	// with all of the second half's, and move one column at a time.
	right := 0
	for j := range m {
		right += int(^l.bwd.bits[j/64] >> (j % 64) & 1)
	}
	best, at := right, 0
	sum := right
	for j := range m {
		sum += int(^l.fwd.bits[j/64] >> (j % 64) & 1)
		r := m - 1 - j // the column of b[j], counted from the end
		sum -= int(^l.bwd.bits[r/64] >> (r % 64) & 1)
		if sum > best {
			best, at = sum, j+1
		}
	}
	return at
}

// readBack keeps all rows of the table and walks from its last corner to the
// first one.
func (l *lcs) readBack(s *solver, a0, a1, b0, b1 int) {
	a, b := s.a[a0:a1], s.b[b0:b1]
	n, m := len(a), len(b)
	words := (m + 63) / 64
	l.rows = sized(l.rows, (n+1)*words)
	l.file(b, false)
	r := row{bits: l.rows[:words]}
	r.reset(words)
	for i, id := range a {
		to := l.rows[(i+1)*words : (i+2)*words]
		copy(to, r.bits)
		r.bits = to
		l.next(&r, id)
	}
	l.forget(b)
	flat := func(i, j int) bool { return l.rows[i*words+j/64]>>(j%64)&1 != 0 }
	i, j := n, m
	for i > 0 && j > 0 {
		switch {
		case flat(i, j-1):
			j-- // b[j-1] adds nothing here
		case !flat(i-1, j-1):
			i-- // nor does a[i-1]: the row above has the same
		default:
			i, j = i-1, j-1
			s.keepA[a0+i], s.keepB[b0+j] = true, true
		}
	}
}

// file sorts the lines of b by number, counting places from its end if so
// asked, and makes masks for those that are frequent.
func (l *lcs) file(b []int32, backwards bool) {
	m := len(b)
	words := (m + 63) / 64
	l.pos = sized(l.pos, m)
	for _, id := range b {
		l.count[id]++
	}
	free := int32(0)
	for j := range b {
		id := b[j]
		if backwards {
			id = b[m-1-j]
		}
		if n := l.count[id]; n > 0 { // the first of its kind
			l.first[id] = free
			free += n
			l.count[id] = 0
		}
		l.count[id]--
		l.pos[l.first[id]-l.count[id]-1] = int32(j)
	}
	// The counts now are negative.
	l.masks = l.masks[:0]
	frequent := int32(0)
	for _, id := range b {
		if l.count[id] > 0 {
			continue
		}
		l.count[id] = -l.count[id]
		if int(l.count[id])*sparseCost < words {
			continue
		}
		frequent++
		l.dense[id] = frequent
		from := len(l.masks)
		l.masks = slices.Grow(l.masks, words)[:from+words]
		mask := l.masks[from:]
		clear(mask)
		for _, j := range l.places(id) {
			mask[j/64] |= 1 << (j % 64)
		}
	}
}

// places is where the line numbered id occurs in b.
func (l *lcs) places(id int32) []int32 {
	return l.pos[l.first[id] : l.first[id]+l.count[id]]
}

// forget undoes file.
func (l *lcs) forget(b []int32) {
	for _, id := range b {
		l.count[id], l.dense[id] = 0, 0
	}
}

// reset makes r the row of no line: nothing grows anywhere.
func (r *row) reset(words int) {
	r.bits = sized(r.bits, words)
	for i := range r.bits {
		r.bits[i] = ^uint64(0)
	}
	r.top = 0
}

// next turns r into the row of one more line of a, whose number is id.
//
// The clear bits cut a row into stretches, each of which ends with one; the
// stretch after the last has no end. In each stretch where the line occurs, the
// clear bit moves from the end to the first place; in the last it is made. The
// addition does that to all stretches at once: the carry out of a place runs on
// to the stretch's end.
func (l *lcs) next(r *row, id int32) {
	if d := int(l.dense[id]); d != 0 {
		words := len(r.bits)
		r.add(l.masks[(d-1)*words : d*words])
	} else if l.count[id] > 0 {
		r.addPlaces(l.places(id))
	}
}

// add is next for a line whose places are given as a mask.
func (r *row) add(mask []uint64) {
	top := r.top
	v, mk := r.bits[:top], mask[:top]
	carry := uint64(0)
	for len(v) >= 4 && len(mk) >= 4 {
		v0, v1, v2, v3 := v[0], v[1], v[2], v[3]
		u0, u1, u2, u3 := v0&mk[0], v1&mk[1], v2&mk[2], v3&mk[3]
		var s0, s1, s2, s3 uint64
		s0, carry = bits.Add64(v0, u0, carry)
		s1, carry = bits.Add64(v1, u1, carry)
		s2, carry = bits.Add64(v2, u2, carry)
		s3, carry = bits.Add64(v3, u3, carry)
		v[0], v[1], v[2], v[3] = s0|v0&^u0, s1|v1&^u1, s2|v2&^u2, s3|v3&^u3
		v, mk = v[4:], mk[4:]
	}
	for i := range v {
		u := v[i] & mk[i]
		var sum uint64
		sum, carry = bits.Add64(v[i], u, carry)
		v[i] = sum | v[i]&^u
	}
	if carry != 0 {
		return // the stretch without end has its place already
	}
	for w := top; w < len(mask); w++ {
		if u := mask[w]; u != 0 {
			r.bits[w] &^= u & -u
			r.top = w + 1
			return
		}
	}
}

// addPlaces is next for a line whose places are given one by one.
func (r *row) addPlaces(places []int32) {
	carry := uint64(0)
	for i := 0; i < len(places); {
		w := int(places[i] / 64)
		if w >= r.top {
			if carry == 0 {
				r.bits[w] &^= 1 << (places[i] % 64)
				r.top = w + 1
			}
			return
		}
		u := uint64(0)
		for ; i < len(places) && int(places[i]/64) == w; i++ {
			u |= 1 << (places[i] % 64)
		}
		v := r.bits[w]
		u &= v
		var sum uint64
		sum, carry = bits.Add64(v, u, carry)
		r.bits[w] = sum | v&^u
		// Let the carry run to the end of its stretch or the next place.
		end := r.top
		if i < len(places) {
			end = min(end, int(places[i]/64))
		}
		for w++; carry != 0 && w < end; w++ {
			sum, carry = bits.Add64(r.bits[w], 0, carry)
			r.bits[w] |= sum
		}
	}
}

// sized is buf with n elements of any value.
func sized[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	return buf[:n]
}
