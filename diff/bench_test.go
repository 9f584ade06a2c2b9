package diff

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A pair is two texts to compare.
type pair struct{ name, a, b string }

// pairs are texts of the kinds that make line diffs slow or long. They are the
// same in every run.
func pairs() []pair {
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

	var all []pair
	add := func(name string, a, b []string) { all = append(all, pair{name, join(a), join(b)}) }
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

// BenchmarkLines reports, beside the time, the size of the script.
func BenchmarkLines(b *testing.B) {
	for _, p := range pairs() {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			var edits []Edit
			for b.Loop() {
				edits = Lines(p.a, p.b)
			}
			b.ReportMetric(float64(size(edits)), "script")
		})
	}
}

// BenchmarkFloor is what people have instead: git as a process, on files that
// lie ready. Its scripts are what ours are held against: ratio is the size of
// ours by the size of git's.
func BenchmarkFloor(b *testing.B) {
	if _, err := exec.LookPath("git"); err != nil {
		b.Skip(err)
	}
	for _, args := range [][]string{{"--minimal"}, {"--diff-algorithm=myers"}, {"--histogram"}} {
		b.Run("git"+strings.TrimPrefix(args[0], "-"), func(b *testing.B) {
			for _, p := range pairs() {
				b.Run(p.name, func(b *testing.B) {
					git := gitDiff(b, p, args...)
					var out []byte
					for b.Loop() {
						out = git()
					}
					theirs := scriptSize(out)
					b.ReportMetric(float64(theirs), "script")
					b.ReportMetric(float64(size(Lines(p.a, p.b)))/float64(theirs), "ratio")
				})
			}
		})
	}
}

// BenchmarkUnified is a whole rendering, as git's process does it.
func BenchmarkUnified(b *testing.B) {
	for _, p := range pairs() {
		b.Run(p.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Patch.Unified("a", "b", p.a, p.b)
			}
		})
	}
}

func BenchmarkFirstChange(b *testing.B) {
	for _, p := range pairs() {
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				FirstChange(p.a, p.b)
			}
		})
	}
}

// Scripts must be no longer than git's shortest by more than one part in
// twenty.
func TestScriptsAreNearlyAsShortAsGits(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	for _, p := range pairs()[:7] {
		edits := Lines(p.a, p.b)
		if apply(t, p.a, p.b, edits) != p.b {
			t.Errorf("%s: the script does not make the new text", p.name)
		}
		ours, theirs := size(edits), scriptSize(gitDiff(t, p, "--minimal")())
		if float64(ours) > 1.05*float64(theirs) {
			t.Errorf("%s: a script of %d lines, git's has %d", p.name, ours, theirs)
		} else {
			t.Logf("%s: %d, git %d", p.name, ours, theirs)
		}
	}
}

// gitDiff writes the pair to files and gives a function that runs git on them.
func gitDiff(t testing.TB, p pair, args ...string) func() []byte {
	dir := t.TempDir()
	for name, text := range map[string]string{"a": p.a, "b": p.b} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES="+dir)
	return func() []byte {
		cmd := exec.Command("git", append(append([]string{"diff", "--no-index", "-U0"}, args...), "a", "b")...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.Output()
		var exit *exec.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatal(err)
		}
		return out
	}
}

// scriptSize counts the lines that a unified diff adds and removes.
func scriptSize(patch []byte) int {
	n := 0
	_, body, _ := bytes.Cut(patch, []byte("\n@@"))
	for line := range bytes.Lines(body) {
		if line[0] == '+' || line[0] == '-' {
			n++
		}
	}
	return n
}
