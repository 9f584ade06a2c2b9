package diff

import (
	"math"
	"slices"
	"testing"
)

// solved runs a solver and gives the number of lines it keeps, after checking
// that those are the same on both sides.
func solved(t testing.TB, s *solver) int {
	t.Helper()
	s.solve(0, len(s.a), 0, len(s.b), math.MaxInt)
	var a, b []int32
	for i, keep := range s.keepA {
		if keep {
			a = append(a, s.a[i])
		}
	}
	for i, keep := range s.keepB {
		if keep {
			b = append(b, s.b[i])
		}
	}
	if !slices.Equal(a, b) {
		t.Fatalf("kept %v of %v and %v of %v", a, s.a, b, s.b)
	}
	return len(a)
}

func longest(a, b []int32) int {
	above := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for i := range a {
		for j := range b {
			if a[i] == b[j] {
				row[j+1] = above[j] + 1
			} else {
				row[j+1] = max(row[j], above[j+1])
			}
		}
		above, row = row, above
	}
	return above[len(b)]
}

// Each way of solving a part, alone, on texts small enough for a plain table.
// The limit 0 once sent a search of this kind into endless recursion.
func TestSolver(t *testing.T) {
	for _, c := range []struct {
		name   string
		set    func(*solver)
		atMost float64 // what is lost, of what could be kept, summed up
	}{
		{"middle snake", func(s *solver) { s.limit = 1 << 20; s.budget = 0 }, 0},
		{"table", func(s *solver) { s.limit = 0 }, 0},
		{"halved tables", func(s *solver) { s.limit = 0; s.tableKept = 0 }, 0},
		{"some of each", func(s *solver) { s.limit = 3; s.budget = 1 << 30; s.tableKept = 8 }, 0},
		{"limit 0 and no budget", func(s *solver) { s.limit = 0; s.budget = 0 }, 1},
		{"limit 1 and no budget", func(s *solver) { s.limit = 1; s.budget = 0 }, 0.75},
		{"limit 2 and no budget", func(s *solver) { s.limit = 2; s.budget = 0 }, 0.65},
		{"limit 8 and no budget", func(s *solver) { s.limit = 8; s.budget = 0 }, 0.4},
		{"limit 8 and a small budget", func(s *solver) { s.limit = 8; s.budget = 200 }, 0.4},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := source(t)
			sum, best := 0, 0
			for range 3000 {
				alphabet := int32(1 + r.IntN(40))
				if r.IntN(4) == 0 {
					alphabet = 300 // most lines once: anchors
				}
				a, b := make([]int32, r.IntN(150)), make([]int32, r.IntN(150))
				for i := range a {
					a[i] = r.Int32N(alphabet)
				}
				for i := range b {
					b[i] = r.Int32N(alphabet)
				}
				s := newSolver(a, b, int(alphabet))
				c.set(s)
				got, want := solved(t, s), longest(a, b)
				if got > want || c.atMost == 0 && got != want {
					t.Fatalf("kept %d of %v and %v, the most is %d", got, a, b, want)
				}
				sum, best = sum+got, best+want
			}
			if lost := 1 - float64(sum)/float64(best); lost > c.atMost {
				t.Errorf("kept %d where %d could be: lost %.3f, more than %.3f", sum, best, lost, c.atMost)
			} else {
				t.Logf("lost %.3f", lost)
			}
		})
	}
}
