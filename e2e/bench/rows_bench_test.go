package main

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if playPart() { // the tests' own program is the agent and the floors, too
		return
	}
	os.Exit(m.Run())
}

// stagehands are a bench for a test, with sizes of its own.
func stagehands(t testing.TB, s sizes) *bench {
	t.Helper()
	r, err := newRig("")
	if r != nil {
		t.Cleanup(func() {
			if err := r.close(); err != nil {
				t.Error(err)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return &bench{rig: r, sizes: s, progress: func(string) {}}
}

// Every row can be measured, and has both sides where it has a floor. What the
// times are is not asked.
func TestEveryRowIsMeasured(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes")
	}
	b := stagehands(t, sizes{edits: 2, writes: 2, saves: 2, starts: 1, diffs: 1, requests: 3, waiting: 10, actions: 2})
	rows, err := b.measure(rowNames)
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]bool{}
	for _, r := range rows {
		paths[r.Path] = true
		if len(r.ours) == 0 || r.Beside != "" && len(r.floor) == 0 {
			t.Errorf("%s (%s): %d samples, %d of the floor", r.Path, r.What, len(r.ours), len(r.floor))
		}
	}
	if len(paths) < 9 {
		t.Errorf("only %d kinds of rows: %v", len(paths), paths)
	}
}

func TestPercentile(t *testing.T) {
	samples := []int64{5, 1, 4, 2, 3}
	for p, want := range map[float64]int64{0: 1, 20: 1, 50: 3, 80: 4, 99: 5, 100: 5} {
		if got := percentile(samples, p); got != want {
			t.Errorf("percentile %g: %d, want %d", p, got, want)
		}
	}
}

func TestTargets(t *testing.T) {
	ratio := newRow("", "", "")
	ratio.within(2)
	ratio.add(100, 200)
	if !ratio.holds() {
		t.Error("twice the floor is within twice the floor")
	}
	ratio.add(100, 201)
	ratio.add(100, 201)
	if ratio.holds() {
		t.Error("more than twice the floor is not within twice the floor")
	}
	script := newRow("", "", "")
	script.script, script.theirs = 106, 100
	script.add(100, 1)
	if script.holds() {
		t.Error("a script may be a twentieth longer, no more")
	}
	limit := newRow("", "", "")
	limit.Unit = "MB"
	limit.atMost(30)
	limit.add(1, 31<<20)
	if limit.holds() {
		t.Error("31 MB are more than 30 MB")
	}
}

// tell tells a row's percentiles as a benchmark's.
func tell(b *testing.B, r *row) {
	b.Helper()
	b.ReportMetric(float64(percentile(r.ours, 50)), "p50-ns")
	b.ReportMetric(float64(percentile(r.ours, 99)), "p99-ns")
	if len(r.floor) > 0 {
		b.ReportMetric(float64(percentile(r.floor, 50)), "floor-p50-ns")
		b.ReportMetric(float64(percentile(r.floor, 99)), "floor-p99-ns")
		b.ReportMetric(r.times(), "ratio")
	}
}

// BenchmarkEdit is the first row: from the agent's line to the editor.
func BenchmarkEdit(b *testing.B) {
	r := stagehands(b, sizes{})
	c, err := r.newChain("main")
	if err != nil {
		b.Fatal(err)
	}
	row, err := r.editRow(c, max(1, b.N))
	if err != nil {
		b.Fatal(err)
	}
	tell(b, row)
}

// BenchmarkSave is the second row: from the editor's save to the agent.
func BenchmarkSave(b *testing.B) {
	r := stagehands(b, sizes{})
	c, err := r.newChain("main")
	if err != nil {
		b.Fatal(err)
	}
	row, err := r.saveRow(c, "small.go", 8_000, max(1, b.N), false)
	if err != nil {
		b.Fatal(err)
	}
	tell(b, row)
}

// BenchmarkInitialize is the third row.
func BenchmarkInitialize(b *testing.B) {
	for i, kind := range []string{"up", "cold"} {
		b.Run(kind, func(b *testing.B) {
			r := stagehands(b, sizes{})
			c, err := r.newChain("main")
			if err != nil {
				b.Fatal(err)
			}
			rows, err := r.startRows(c.root, max(1, b.N))
			if err != nil {
				b.Fatal(err)
			}
			tell(b, rows[2*i])
		})
	}
}

// BenchmarkMemory is the fourth row: what the processes held at most after b.N
// requests, in bytes.
func BenchmarkMemory(b *testing.B) {
	r := stagehands(b, sizes{})
	c, err := r.newChain("main")
	if err != nil {
		b.Fatal(err)
	}
	t, err := newTarget(c.root, "more.go", fileSize)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := c.edited(t); err != nil {
			b.Fatal(err)
		}
	}
	rows, err := r.memoryRows(c, c.requests)
	if err != nil {
		b.Skip(err)
	}
	for _, row := range rows {
		if row.Path == "memory of the hub, at most" {
			b.ReportMetric(float64(row.ours[0]), "hub-bytes")
		}
		if row.Path == "memory of the front end, at most" {
			b.ReportMetric(float64(row.ours[0]), "front-bytes")
		}
		b.ReportMetric(float64(row.floor[0]), "floor-bytes")
	}
}

// BenchmarkCodeActions is the sixth row: code actions while 1,000 approvals
// wait. The fifth, line diffs, is package diff's.
func BenchmarkCodeActions(b *testing.B) {
	r := stagehands(b, sizes{})
	rows, err := r.floodRows(1000, max(1, b.N))
	if err != nil {
		b.Fatal(err)
	}
	tell(b, rows[len(rows)-1])
}
