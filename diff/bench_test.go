package diff

import (
	"os/exec"
	"strings"
	"testing"

	"countersign/diff/difftest"
)

// BenchmarkLines reports, beside the time, the size of the script.
func BenchmarkLines(b *testing.B) {
	for _, p := range difftest.Pairs() {
		b.Run(p.Name, func(b *testing.B) {
			b.ReportAllocs()
			var edits []Edit
			for b.Loop() {
				edits = Lines(p.A, p.B)
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
			for _, p := range difftest.Pairs() {
				b.Run(p.Name, func(b *testing.B) {
					git := gitDiff(b, p, args...)
					var out []byte
					for b.Loop() {
						out = git()
					}
					theirs := difftest.ScriptSize(out)
					b.ReportMetric(float64(theirs), "script")
					b.ReportMetric(float64(size(Lines(p.A, p.B)))/float64(theirs), "ratio")
				})
			}
		})
	}
}

// BenchmarkUnified is a whole rendering, as git's process does it.
func BenchmarkUnified(b *testing.B) {
	for _, p := range difftest.Pairs() {
		b.Run(p.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Patch.Unified("a", "b", p.A, p.B)
			}
		})
	}
}

func BenchmarkFirstChange(b *testing.B) {
	for _, p := range difftest.Pairs() {
		b.Run(p.Name, func(b *testing.B) {
			for b.Loop() {
				FirstChange(p.A, p.B)
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
	for _, p := range difftest.Pairs()[:difftest.InTable] {
		edits := Lines(p.A, p.B)
		if apply(t, p.A, p.B, edits) != p.B {
			t.Errorf("%s: the script does not make the new text", p.Name)
		}
		ours, theirs := size(edits), difftest.ScriptSize(gitDiff(t, p, "--minimal")())
		if float64(ours) > 1.05*float64(theirs) {
			t.Errorf("%s: a script of %d lines, git's has %d", p.Name, ours, theirs)
		} else {
			t.Logf("%s: %d, git %d", p.Name, ours, theirs)
		}
	}
}

// gitDiff gives a function that runs git on the pair.
func gitDiff(t testing.TB, p difftest.Pair, args ...string) func() []byte {
	git, err := difftest.Git(t.TempDir(), p, args...)
	if err != nil {
		t.Fatal(err)
	}
	return func() []byte {
		out, err := git()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}
