package diff

import "math/bits"

// Exact solutions of parts that differ too much for the middle snake. The
// table of longest common subsequences is computed row by row, a row per line
// of a, with 64 columns (lines of b) in a word, and only where its rows
// increase: bit j of row i is clear where the length for a[:i], b[:j+1] is
// greater than that for a[:i], b[:j]. One addition with carry makes a row from
// the one before. Hirschberg's halving keeps the memory linear.

// exactSteps is how many words one pass over an n×m table takes.
func exactSteps(n, m int) int { return n * ((m + 63) / 64) }

const (
	// tableKept is the largest table, in words, that is kept whole to be read back.
	tableKept = 1 << 16
	// denseFrom is how often a line must occur in b for a mask of its own.
	denseFrom = 48
)

// lcs holds the buffers for exact solutions, made once for the largest part.
type lcs struct {
	head, next []int32  // positions in b by number: the first, and the next of the same
	count      []int32  // how many
	dense      []int32  // by number: 1 + index of the mask among masks, or 0
	masks      []uint64 // one bit for each line of b that is the same, by number
	mask       []uint64 // for the others, made for each row; zero between rows
	fwd, bwd   []uint64 // the last row from either end
	rows       []uint64
}

// exact marks a longest common subsequence of a[a0:a1] and b[b0:b1].
func (s *solver) exact(a0, a1, b0, b1 int) {
	if s.lcs == nil {
		s.lcs = &lcs{head: make([]int32, s.ids), count: make([]int32, s.ids), dense: make([]int32, s.ids)}
		for i := range s.lcs.head {
			s.lcs.head[i] = -1
		}
	}
	l := s.lcs
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
		if exactSteps(n, m) <= s.tableKept || n == 1 {
			l.readBack(s, a0, a1, b0, b1)
			return
		}
		// Halve a, and find where b must be cut so that the two halves'
		// lengths add up to the most.
		a, b := s.a[a0:a1], s.b[b0:b1]
		half := n / 2
		words := (m + 63) / 64
		l.fwd, l.bwd = sized(l.fwd, words), sized(l.bwd, words)
		l.index(b, false)
		ones(l.fwd)
		for _, id := range a[:half] {
			l.row(l.fwd, l.fwd, id)
		}
		l.clear(b)
		l.index(b, true)
		ones(l.bwd)
		for i := n - 1; i >= half; i-- {
			l.row(l.bwd, l.bwd, a[i])
		}
		l.clear(b)
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
		right += int(^l.bwd[j/64] >> (j % 64) & 1)
	}
	best, at := right, 0
	sum := right
	for j := range m {
		sum += int(^l.fwd[j/64] >> (j % 64) & 1)
		r := m - 1 - j // the column of b[j], counted from the end
		sum -= int(^l.bwd[r/64] >> (r % 64) & 1)
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
	ones(l.rows[:words])
	l.index(b, false)
	for i, id := range a {
		l.row(l.rows[(i+1)*words:(i+2)*words], l.rows[i*words:(i+1)*words], id)
	}
	l.clear(b)
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

// index files the lines of b by number, backwards if so asked, with masks for
// those that are frequent.
func (l *lcs) index(b []int32, backwards bool) {
	m := len(b)
	words := (m + 63) / 64
	l.next = sized(l.next, m)
	l.mask = sized(l.mask, words)
	clear(l.mask)
	l.masks = l.masks[:0]
	// Filed from the last to the first, so that the lists ascend.
	for j := m - 1; j >= 0; j-- {
		id := b[j]
		if backwards {
			id = b[m-1-j]
		}
		l.next[j] = l.head[id]
		l.head[id] = int32(j)
		l.count[id]++
	}
	masks := int32(0)
	for _, id := range b {
		if l.count[id] < denseFrom || l.dense[id] != 0 {
			continue
		}
		masks++
		l.dense[id] = masks
		l.masks = append(l.masks, l.mask...)
		mask := l.masks[len(l.masks)-words:]
		for j := l.head[id]; j >= 0; j = l.next[j] {
			mask[j/64] |= 1 << (j % 64)
		}
	}
}

// clear undoes index.
func (l *lcs) clear(b []int32) {
	for _, id := range b {
		l.head[id], l.count[id], l.dense[id] = -1, 0, 0
	}
}

// row makes the row for one more line of a, whose number is id, from the row
// before. The two may be the same.
func (l *lcs) row(to, from []uint64, id int32) {
	words := len(from)
	to = to[:words]
	mask := l.mask[:words]
	if d := int(l.dense[id]); d != 0 {
		mask = l.masks[(d-1)*words : d*words]
	} else {
		if l.head[id] < 0 {
			copy(to, from)
			return
		}
		for j := l.head[id]; j >= 0; j = l.next[j] {
			mask[j/64] |= 1 << (j % 64)
		}
	}
	carry := uint64(0)
	for w, v := range from {
		u := v & mask[w]
		var sum uint64
		sum, carry = bits.Add64(v, u, carry)
		to[w] = sum | (v &^ u)
	}
	if l.dense[id] == 0 {
		for j := l.head[id]; j >= 0; j = l.next[j] {
			mask[j/64] = 0
		}
	}
}

func ones(row []uint64) {
	for i := range row {
		row[i] = ^uint64(0)
	}
}

// sized is buf with n elements of any value.
func sized[T any](buf []T, n int) []T {
	if cap(buf) < n {
		return make([]T, n)
	}
	return buf[:n]
}
