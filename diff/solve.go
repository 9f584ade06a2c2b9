package diff

import "math"

const (
	// minLimit and maxLimit bound how many edits a middle snake may cost on
	// each side before the search for it is given up.
	minLimit, maxLimit = 64, 1024
	// hardLimit is the cost at which a part too large to solve exactly is cut.
	hardLimit = 256
	// exactBudget is how many steps of 64 columns one comparison may spend on
	// exact solutions of hard parts: a few hundredths of a second.
	exactBudget = 1 << 25
)

// A solver finds a longest common subsequence of a and b, or nearly so, and
// marks what belongs to it.
type solver struct {
	a, b         []int32
	keepA, keepB []bool
	ids          int // numbers in a and b are below this
	budget       int // steps left for exact solutions
	tableKept    int // see there
	limit        int // unless negative, the cost limit for every part (for tests)

	fwd, bwd []int32 // furthest points by diagonal, see snake
	lcs      *lcs    // made when first needed
}

func newSolver(a, b []int32, ids int) *solver {
	keep := make([]bool, len(a)+len(b))
	return &solver{
		a: a, b: b, ids: ids, budget: exactBudget, tableKept: tableKept, limit: -1,
		keepA: keep[:len(a):len(a)], keepB: keep[len(a):],
	}
}

// solve marks the common lines of a[a0:a1] and b[b0:b1]. Every round either
// ends or goes on with a strictly smaller part.
func (s *solver) solve(a0, a1, b0, b1 int) {
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
		limit, steps := s.limits(a1-a0, b1-b0)
		x, y, ok := s.snake(s.a[a0:a1], s.b[b0:b1], limit)
		if !ok {
			if steps <= s.budget {
				s.budget -= steps
				s.exact(a0, a1, b0, b1)
				return
			}
			if s.anchor(a0, a1, b0, b1) {
				return
			}
		}
		if x+y <= 0 || x+y >= a1-a0+b1-b0 {
			return // no cut: nothing in this part is kept
		}
		s.solve(a0, a0+x, b0, b0+y)
		a0, b0 = a0+x, b0+y
	}
}

// limits gives the cost at which the search for a middle snake in an n×m part
// stops, and the steps that an exact solution would take. The limit grows with
// the steps, so that a search given up has not cost more than the solution.
func (s *solver) limits(n, m int) (limit, steps int) {
	steps = 2 * exactSteps(n, m)
	switch {
	case s.limit >= 0:
		limit = s.limit
	case steps <= s.budget:
		limit = min(max(int(math.Sqrt(float64(steps)))/4, minLimit), maxLimit)
	default:
		limit = hardLimit
	}
	return min(limit, (n+m+1)/2+1), steps
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
