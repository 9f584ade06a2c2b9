package diff

import (
	"hash/maphash"
	"math"
)

// A table holds the lines of two texts as integers, counted from the window's
// first line. Equal lines have equal
// numbers; a line of b that a does not have is absent.
type table struct {
	texts
	idA, idB     []int32 // the lines as numbers
	keepA, keepB []bool  // the lines that stay: the n-th kept of a is the n-th kept of b
	inB          []int32 // by number: how often the line occurs in b
}

// absent is the number of all lines of b that do not occur in a. It equals no
// number of a line of a; two absent lines are not known to be equal.
const absent int32 = -1

// intern numbers the lines. Numbers count up from 0 in order of first
// occurrence in a, so that the result does not depend on the hash's seed.
func intern(in texts) *table {
	t := &table{texts: in}
	a, b := t.a, t.b
	n, m := len(t.startA)-1, len(t.startB)-1
	ids := make([]int32, n+m)
	t.idA, t.idB = ids[:n:n], ids[n:]
	keep := make([]bool, n+m)
	t.keepA, t.keepB = keep[:n:n], keep[n:]

	// An open-addressed table, at most half full. A slot holds the upper
	// half of the hash, to spare most comparisons, and a line's number + 1.
	type slot struct{ tag, id uint32 }
	size := 16
	for size < 2*n {
		size *= 2
	}
	slots := make([]slot, size)
	mask := uint64(size - 1)
	first := make([]string, 0, n) // the line, by number
	seed := maphash.MakeSeed()

	for i := range n {
		line := a[t.startA[i]:t.startA[i+1]]
		h := maphash.String(seed, line)
		tag := uint32(h >> 32)
		for p := h & mask; ; p = (p + 1) & mask {
			s := &slots[p]
			if s.id == 0 {
				first = append(first, line)
				*s = slot{tag, uint32(len(first))}
			} else if s.tag != tag || first[s.id-1] != line {
				continue
			}
			t.idA[i] = int32(s.id - 1)
			break
		}
	}
	t.inB = make([]int32, len(first))
	for i := range m {
		line := b[t.startB[i]:t.startB[i+1]]
		h := maphash.String(seed, line)
		tag := uint32(h >> 32)
		t.idB[i] = absent
		for p := h & mask; slots[p].id != 0; p = (p + 1) & mask {
			if s := slots[p]; s.tag == tag && first[s.id-1] == line {
				t.idB[i] = int32(s.id - 1)
				t.inB[s.id-1]++
				break
			}
		}
	}
	return t
}

// match finds the lines that stay. Lines that occur on one side only are left
// out before the search: no script can keep them, and without them the search
// is often trivial.
func (t *table) match() {
	n, m := len(t.idA), len(t.idB)
	buf := make([]int32, 2*(n+m))
	seqA, posA := buf[:0:n], buf[n:n:2*n]
	seqB, posB := buf[2*n:2*n:2*n+m], buf[2*n+m:2*n+m]
	for i, id := range t.idA {
		if t.inB[id] > 0 {
			seqA, posA = append(seqA, id), append(posA, int32(i))
		}
	}
	for i, id := range t.idB {
		if id != absent {
			seqB, posB = append(seqB, id), append(posB, int32(i))
		}
	}
	s := newSolver(seqA, seqB, len(t.inB))
	s.solve(0, len(seqA), 0, len(seqB), math.MaxInt)
	for i, keep := range s.keepA {
		t.keepA[posA[i]] = keep
	}
	for i, keep := range s.keepB {
		t.keepB[posB[i]] = keep
	}
}

// edits reads the script off the lines that stay.
func (t *table) edits() []Edit {
	var edits []Edit
	i, j := 0, 0
	n, m := len(t.keepA), len(t.keepB)
	for i < n || j < m {
		if i < n && j < m && t.keepA[i] && t.keepB[j] {
			i, j = i+1, j+1
			continue
		}
		e := Edit{A0: i, B0: j}
		for i < n && !t.keepA[i] {
			i++
		}
		for j < m && !t.keepB[j] {
			j++
		}
		e.A1, e.B1 = i, j
		edits = append(edits, e)
	}
	return edits
}
