package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A row is one line of the table: samples of ours and of its floor, and the
// target. Samples are nanoseconds, or bytes where Unit is "MB".
type row struct {
	Path   string // what is measured
	What   string // with what
	Unit   string // "ms" or "MB"
	Beside string // what the floor is; empty for none
	Target string // in words; empty where there is none

	floor, ours []int64
	script      int     // lines of our edit script; of diff rows
	theirs      int     // lines of git's
	limit       float64 // of ours at p50, in Unit; 0: none
	ratio       float64 // limit of the ratio at p50; 0: none
}

func newRow(path, what, beside string) *row {
	return &row{Path: path, What: what, Unit: "ms", Beside: beside}
}

// within sets the target as a ratio to the floor.
func (r *row) within(ratio float64) { r.ratio, r.Target = ratio, fmt.Sprintf("≤ %g × floor", ratio) }

// atMost sets the target in the row's unit.
func (r *row) atMost(limit float64) {
	r.limit, r.Target = limit, fmt.Sprintf("≤ %g %s", limit, r.Unit)
}

// add adds a pair of samples; a floor of 0 is none.
func (r *row) add(floor, ours int64) {
	if floor > 0 {
		r.floor = append(r.floor, floor)
	}
	r.ours = append(r.ours, ours)
}

// pairs takes n samples of each, in turn, and changes which comes first.
func (r *row) pairs(n int, floor, ours func() (int64, error)) error {
	for i := range n {
		var f, o int64
		var err error
		if i%2 == 0 {
			f, err = floor()
		}
		if err == nil {
			o, err = ours()
		}
		if i%2 == 1 && err == nil {
			f, err = floor()
		}
		if err != nil {
			return fmt.Errorf("%s (%s), sample %d: %w", r.Path, r.What, i+1, err)
		}
		r.add(f, o)
	}
	return nil
}

// percentile is the p-th of the samples, by nearest rank.
func percentile(samples []int64, p float64) int64 {
	if len(samples) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(samples))
	return sorted[max(0, int(math.Ceil(p/100*float64(len(sorted))))-1)]
}

// in is a sample in the row's unit.
func (r *row) in(sample int64) float64 {
	if r.Unit == "MB" {
		return float64(sample) / (1 << 20)
	}
	return float64(sample) / 1e6
}

// times is ours by floor at p50; 0 where there is no floor.
func (r *row) times() float64 {
	floor := percentile(r.floor, 50)
	if floor == 0 {
		return 0
	}
	return float64(percentile(r.ours, 50)) / float64(floor)
}

// holds says whether the target holds; it is true where there is none.
func (r *row) holds() bool {
	ours := r.in(percentile(r.ours, 50))
	switch {
	case r.ratio > 0 && r.times() > r.ratio, r.limit > 0 && ours > r.limit:
		return false
	case r.theirs > 0 && float64(r.script) > 1.05*float64(r.theirs):
		return false
	}
	return true
}

// A table is what the bench prints.
type table struct {
	Machine string
	Rows    []*row
}

// text writes the table for people.
func (t *table) text(w io.Writer) error {
	var b strings.Builder
	b.WriteString(t.Machine + "\n\n")
	fmt.Fprintf(&b, "  %-38s %10s %8s %10s %8s %9s %5s  %s\n", "", "floor p50", "p99", "ours p50", "p99", "ratio", "n", "target")
	last := ""
	for _, r := range t.Rows {
		if r.Path != last {
			last = r.Path
			head := r.Path + ", " + r.Unit
			if r.Beside != "" {
				head += "  (floor: " + r.Beside + ")"
			}
			b.WriteString("\n" + head + "\n")
		}
		floor50, floor99, ratio := "–", "–", "–"
		if len(r.floor) > 0 {
			floor50, floor99 = r.number(percentile(r.floor, 50)), r.number(percentile(r.floor, 99))
			ratio = fmt.Sprintf("%.2f", r.times())
		}
		verdict := ""
		switch {
		case r.Target == "":
		case r.holds():
			verdict = "holds"
		default:
			verdict = "DOES NOT HOLD"
		}
		fmt.Fprintf(&b, "  %-38s %10s %8s %10s %8s %7s × %5d  %-16s %s\n", r.What, floor50, floor99,
			r.number(percentile(r.ours, 50)), r.number(percentile(r.ours, 99)), ratio, len(r.ours), r.Target, verdict)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *row) number(sample int64) string { return fmt.Sprintf("%.3f", r.in(sample)) }

// json writes the table for programs.
func (t *table) json(w io.Writer) error {
	type percentiles struct {
		P50 float64 `json:"p50"`
		P99 float64 `json:"p99"`
	}
	type line struct {
		Path    string       `json:"path"`
		What    string       `json:"what"`
		Unit    string       `json:"unit"`
		Beside  string       `json:"floorIs,omitzero"`
		N       int          `json:"n"`
		Floor   *percentiles `json:"floor,omitzero"`
		Ours    percentiles  `json:"ours"`
		Ratio   float64      `json:"ratio,omitzero"`
		Script  int          `json:"script,omitzero"`
		Minimal int          `json:"minimalScript,omitzero"`
		Target  string       `json:"target,omitzero"`
		Holds   *bool        `json:"holds,omitzero"`
	}
	out := struct {
		Machine string `json:"machine"`
		Rows    []line `json:"rows"`
	}{Machine: t.Machine}
	both := func(r *row, s []int64) percentiles {
		return percentiles{r.in(percentile(s, 50)), r.in(percentile(s, 99))}
	}
	for _, r := range t.Rows {
		l := line{Path: r.Path, What: r.What, Unit: r.Unit, Beside: r.Beside, N: len(r.ours), Ours: both(r, r.ours), Ratio: r.times(), Script: r.script, Minimal: r.theirs, Target: r.Target}
		if len(r.floor) > 0 {
			floor := both(r, r.floor)
			l.Floor = &floor
		}
		if r.Target != "" {
			holds := r.holds()
			l.Holds = &holds
		}
		out.Rows = append(out.Rows, l)
	}
	return json.MarshalWrite(w, out, jsontext.WithIndent("  "))
}
