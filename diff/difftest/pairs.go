// Package difftest holds what measurements of line diffs have in common: texts
// that are hard to compare, and git as the floor. It is for tests and
// benchmarks only, and knows nothing of package diff.
package difftest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// A Pair is two texts to compare.
type Pair struct{ Name, A, B string }

// InTable is how many of the pairs have a target: ours is to be faster than git
// as a process, with a script no more than a twentieth longer than git's
// shortest. The others go beyond that.
const InTable = 7

// Pairs are texts of the kinds that make line diffs slow or long. They are the
// same in every run.
func Pairs() []Pair {
	r := rand.New(rand.NewPCG(1, 2))
	source := func(n int) []string { // lines as of a program: most differ, some are frequent
		lines := make([]string, n)
		for i := range lines {
			switch r.IntN(10) {
			case 0:
				lines[i] = "\n"
			case 1:
				lines[i] = "\t}\n"
			case 2:
				lines[i] = "\t\treturn err\n"
			default:
				lines[i] = fmt.Sprintf("\tvalue%d := compute(%d, %d)\n", i, r.IntN(1000), r.IntN(1000))
			}
		}
		return lines
	}
	change := func(lines []string, edits int) []string {
		lines = slices.Clone(lines)
		for range edits {
			switch i := r.IntN(len(lines)); r.IntN(3) {
			case 0:
				lines[i] = fmt.Sprintf("\tchanged%d()\n", r.Int())
			case 1:
				lines = slices.Insert(lines, i, fmt.Sprintf("\tadded%d()\n", r.Int()))
			default:
				lines = slices.Delete(lines, i, i+1)
			}
		}
		return lines
	}
	distinct := func(n int, format string) []string {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprintf(format, i)
		}
		return lines
	}
	random := func(n, alphabet int) []string {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = fmt.Sprintf("line %d\n", r.IntN(alphabet))
		}
		return lines
	}
	join := func(lines []string) string { return strings.Join(lines, "") }

	var all []Pair
	add := func(name string, a, b []string) { all = append(all, Pair{name, join(a), join(b)}) }
	a := source(5000)
	add("5k_20edits", a, change(a, 20))
	a = source(50000)
	add("50k_200edits", a, change(a, 200))
	add("20k_rewritten", distinct(20000, "old line %d\n"), distinct(20000, "new line %d\n"))
	a = source(100000)
	b := slices.Clone(a)
	b[50000] = "one line\n"
	add("100k_1edit", a, b)
	same := slices.Repeat([]string{"same\n"}, 10000)
	b = slices.Clone(same)
	b[1500], b[8500] = "first\n", "second\n"
	add("10k_same_line", same, b)
	add("10k_random", random(10000, 4), random(10000, 4))
	a = distinct(10000, "line %d\n")
	b = slices.Clone(a)
	slices.Reverse(b)
	add("10k_reversed", a, b)

	// Beyond the table: what people's agents do to large files.
	a = source(50000)
	add("50k_reindented", a, strings.SplitAfter(strings.ReplaceAll(join(a), "\t", "  "), "\n"))
	add("50k_block_moved", a, slices.Concat(a[:5000], a[15000:40000], a[5000:15000], a[40000:]))
	shuffled := slices.Clone(a)
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	add("50k_shuffled", a, shuffled)
	add("50k_5000edits", a, change(a, 5000))
	add("60k_random", random(60000, 4), random(60000, 4))
	add("30k_random_of_500", random(30000, 500), random(30000, 500))
	return all
}
