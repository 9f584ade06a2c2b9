package diff

import "math"

const (
	// firstLimit is how many edits a middle snake may cost on each side
	// before it is asked what else can be done.
	firstLimit = 128
	// cutLimit is the cost at which a part too large to solve exactly is cut,
	// for the first cuts.
	cutLimit, cuts = 256, 200
	// finalLimit is the same for all others. It bounds the whole.
	finalLimit = 64
	// exactBudget is how many steps, of a nanosecond or so, one comparison may
	// spend on exact solutions.
	exactBudget = 1 << 25
)

// A solver finds a longest common subsequence of a and b, or nearly so, and
// marks what belongs to it.
type solver struct {
	a, b         []int32
	keepA, keepB []bool
	ids          int // numbers in a and b are below this
	budget       int // steps left for exact solutions
	cuts         int // parts that were cut although that may have cost something
	tableKept    int // see there
	limit        int // unless negative, the cost limit for every part (for tests)

	fwd, bwd []int32 // furthest points by diagonal, see snake
	lcs      *lcs    // made when first needed
	places   []int32 // see once
}

func newSolver(a, b []int32, ids int) *solver {
	keep := make([]bool, len(a)+len(b))
	return &solver{
		a: a, b: b, ids: ids, budget: exactBudget, tableKept: tableKept, limit: -1,
		keepA: keep[:len(a):len(a)], keepB: keep[len(a):],
	}
}

// solve marks the common lines of a[a0:a1] and b[b0:b1]. Every round either
// ends or goes on with a strictly smaller part. Parts of more lines × lines than
// known are known to be too large for an exact solution.
func (s *solver) solve(a0, a1, b0, b1, known int) {
	for {
		for a0 < a1 && b0 < b1 && s.a[a0] == s.b[b0] {
			s.keepA[a0], s.keepB[b0] = true, true
			a0, b0 = a0+1, b0+1
		}
		for a0 < a1 && b0 < b1 && s.a[a1-1] == s.b[b1-1] {
			a1, b1 = a1-1, b1-1
			s.keepA[a1], s.keepB[b1] = true, true
		}
		if a0 == a1 || b0 == b1 {
			return
		}
		x, y, ok := s.cut(a0, a1, b0, b1, &known)
		if !ok || x+y == 0 || x+y == a1-a0+b1-b0 {
			return // solved, or no cut was found and nothing more is kept
		}
		s.solve(a0, a0+x, b0, b0+y, known)
		a0, b0 = a0+x, b0+y
	}
}

// cut gives the point at which a part is cut in two, counted from its start.
// Of a part that would cost too much that way, it solves all, and ok is false.
func (s *solver) cut(a0, a1, b0, b1 int, known *int) (x, y int, ok bool) {
	a, b := s.a[a0:a1], s.b[b0:b1]
	first, last := firstLimit, cutLimit
	switch {
	case s.limit >= 0:
		first, last = s.limit, s.limit
	case s.cuts > cuts:
		first, last = finalLimit, finalLimit
	}
	x, y, ok = s.snake(a, b, first)
	if ok {
		return x, y, true
	}
	// Looking at every line of the part is worth it only if the part has
	// become much smaller since that was last in vain.
	if area := len(a) * len(b); area <= *known {
		steps := s.steps(a0, a1, b0, b1)
		if steps <= s.budget {
			// No search should cost more than the exact solution.
			if limit := int(math.Sqrt(float64(steps))) / 4; s.limit < 0 && limit > 2*first {
				if x, y, ok = s.snake(a, b, limit); ok {
					return x, y, true
				}
			}
			s.budget -= steps
			s.exact(a0, a1, b0, b1)
			return 0, 0, false
		}
		if s.anchored(a0, a1, b0, b1) {
			return 0, 0, false
		}
		*known = area / 2
	}
	s.cuts++
	if last > first {
		x, y, _ = s.snake(a, b, last)
	}
	return x, y, true
}

// snake looks for a point (x, y) on a shortest path from (0, 0) to the far
// corner, in the grid where a step right drops a line of a, a step down takes
// one of b, and a diagonal step keeps a line: search from both ends at once,
// by growing cost, until two paths meet. The first and the last lines must
// differ; the point is then no corner.
//
// When no paths have met at the limit, ok is false, and the point is the one
// furthest from its end that either search has reached.
//
// fwd holds, for each diagonal k = x-y, the largest x reached from the start;
// bwd, for each diagonal counted from the far corner's, the smallest x reached
// from the end. A value that leads out of the grid by one is harmless: on the
// diagonal beside it the paths meet earlier.
func (s *solver) snake(a, b []int32, limit int) (x, y int, ok bool) {
	n, m := len(a), len(b)
	limit = min(limit, (n+m+1)/2)
	delta := n - m
	odd := delta&1 != 0
	off := limit + 2
	if need := 2*off + 1; len(s.fwd) < need {
		buf := make([]int32, 2*need)
		s.fwd, s.bwd = buf[:need], buf[need:]
	}
	fwd, bwd := s.fwd, s.bwd
	d := 0
	for ; d <= limit; d++ {
		// Diagonals end at the grid's borders, -m and n. The outermost ones
		// need no second visit: along the border nothing goes further.
		lo, hi := -d, d
		if d <= m {
			fwd[off+lo-1] = -1
		} else {
			lo = d - 2*m
		}
		if d <= n {
			fwd[off+hi+1] = -1
		} else {
			hi = 2*n - d
		}
		for k := lo; k <= hi; k += 2 {
			x := int(max(fwd[off+k-1]+1, fwd[off+k+1]))
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			fwd[off+k] = int32(x)
			if c := k - delta; odd && c > -d && c < d && x >= int(bwd[off+c]) {
				return x, y, true
			}
		}
		// The same from the end: a step left lowers the diagonal by one, a
		// step up raises it. These diagonals end at -n and m.
		lo, hi = -d, d
		if d <= n {
			bwd[off+lo-1] = int32(n) + 1
		} else {
			lo = d - 2*n
		}
		if d <= m {
			bwd[off+hi+1] = int32(n) + 1
		} else {
			hi = 2*m - d
		}
		for c := lo; c <= hi; c += 2 {
			x := int(min(bwd[off+c+1]-1, bwd[off+c-1]))
			y := x - (c + delta)
			for x > 0 && y > 0 && a[x-1] == b[y-1] {
				x, y = x-1, y-1
			}
			bwd[off+c] = int32(x)
			if k := c + delta; !odd && k >= -d && k <= d && x <= int(fwd[off+k]) {
				return x, y, true
			}
		}
	}
	x, y = s.furthest(n, m, d-1, off)
	return x, y, false
}

// furthest gives the point that a search given up after cost d has come to:
// the one with the most lines behind it, from the start or from the end.
func (s *solver) furthest(n, m, d, off int) (x, y int) {
	most := -1
	for k := max(-d, -m); k <= min(d, n); k++ {
		if (k+d)&1 != 0 {
			continue
		}
		fx := min(int(s.fwd[off+k]), n, m+k)
		if done := fx + fx - k; done > most {
			most, x, y = done, fx, fx-k
		}
	}
	for c := max(-d, -n); c <= min(d, m); c++ {
		if (c+d)&1 != 0 {
			continue
		}
		k := c + n - m
		bx := max(int(s.bwd[off+c]), 0, k)
		if done := n + m - (bx + bx - k); done > most {
			most, x, y = done, bx, bx-k
		}
	}
	return x, y
}
