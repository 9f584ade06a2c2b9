package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// parts are the processes that the bench starts of itself.
var parts = map[string]func(args []string) error{
	"agent":       runAgent,
	"relay-hub":   runRelayHub,
	"relay-serve": runRelayServe,
	"greet":       runGreet,
}

func main() {
	if playPart() {
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// playPart is this process as one of the parts, if its arguments say so.
func playPart() bool {
	if len(os.Args) < 2 || parts[os.Args[1]] == nil {
		return false
	}
	if err := parts[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	return true
}

func run() error {
	quick := flag.Bool("quick", false, "few samples: shows that everything runs, says little about times")
	asJSON := flag.Bool("json", false, "print the table as JSON")
	only := flag.String("only", "", "measure only these `ROWS`, of "+strings.Join(rowNames, ","))
	program := flag.String("countersign", "", "measure this `PROGRAM`; otherwise it is built")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	wanted := rowNames
	if *only != "" {
		wanted = strings.Split(*only, ",")
		for _, name := range wanted {
			if !slices.Contains(rowNames, name) {
				return fmt.Errorf("there are no rows %q; there are %s", name, strings.Join(rowNames, ", "))
			}
		}
	}
	rig, err := newRig(*program)
	if err != nil {
		if rig != nil {
			err = errors.Join(err, rig.close())
		}
		return err
	}
	size := full
	if *quick {
		size = small
	}
	b := &bench{rig: rig, sizes: size, progress: func(what string) { fmt.Fprintf(os.Stderr, "measuring %s …\n", what) }}
	before, began := load(), time.Now()
	rows, err := b.measure(wanted)
	err = errors.Join(err, rig.close())
	t := &table{Rows: rows, Machine: machine(before, time.Since(began))}
	if *asJSON {
		return errors.Join(err, t.json(os.Stdout))
	}
	return errors.Join(err, t.text(os.Stdout))
}

// machine says what the times were measured on, and how busy that was.
func machine(before string, took time.Duration) string {
	s := fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if name := processor(); name != "" {
		s += " (" + name + ")"
	}
	s += ", " + runtime.Version()
	if before != "" {
		s += fmt.Sprintf(", load %s before and %s after", before, load())
	}
	return s + fmt.Sprintf(", measured in %.0f s", took.Seconds())
}

// Names of the rows, in their order.
var rowNames = []string{"edit", "save", "start", "memory", "diff", "flood"}

// sizes are how many samples are taken.
type sizes struct {
	edits, writes, saves, starts int
	diffs                        int // at least, of each case
	diffTime                     time.Duration
	beyond                       bool // diffs beyond the table, too
	requests                     int  // at least, before memory is looked at
	waiting, actions             int
}

var (
	full  = sizes{edits: 250, writes: 50, saves: 60, starts: 20, diffs: 5, diffTime: 700 * time.Millisecond, beyond: true, requests: 500, waiting: 1000, actions: 100}
	small = sizes{edits: 10, writes: 5, saves: 3, starts: 2, diffs: 1, requests: 20, waiting: 100, actions: 5}
)

// A bench measures.
type bench struct {
	*rig
	sizes
	progress func(what string)
}

// measure takes the rows that are wanted. Those that were measured before an
// error are given too.
func (b *bench) measure(wanted []string) (rows []*row, err error) {
	want := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(wanted, n) })
	}
	var c *chain
	if want("edit", "save", "start", "memory") {
		if c, err = b.newChain("main"); err != nil {
			return nil, err
		}
	}
	one := func(r *row, err error) error {
		if r != nil && len(r.ours) > 0 {
			rows = append(rows, r)
		}
		return err
	}
	many := func(rs []*row, err error) error {
		for _, r := range rs {
			_ = one(r, nil)
		}
		return err
	}
	steps := []struct {
		name string
		run  func() error
	}{
		{"edit", func() error { return one(b.editRow(c, b.edits)) }},
		{"edit", func() error { return one(b.writeRow(c, b.writes)) }},
		{"save", func() error { return one(b.saveRow(c, "small.go", 8_000, b.saves, false)) }},
		{"save", func() error { return one(b.saveRow(c, "small-amended.go", 8_000, b.saves, true)) }},
		{"save", func() error { return one(b.saveRow(c, "large.go", fileSize, b.saves, false)) }},
		{"start", func() error { return many(b.startRows(c.root, b.starts)) }},
		{"memory", func() error {
			t, err := newTarget(c.root, "more.go", fileSize)
			if err != nil {
				return err
			}
			for c.requests < b.sizes.requests {
				if _, err := c.edited(t); err != nil {
					return err
				}
			}
			return many(b.memoryRows(c, c.requests))
		}},
		{"diff", func() error { return many(b.diffRows(b.diffs, b.diffTime, b.beyond)) }},
		{"flood", func() error { return many(b.floodRows(b.waiting, b.actions)) }},
	}
	for _, s := range steps {
		if !want(s.name) {
			continue
		}
		b.progress(s.name)
		if err := s.run(); err != nil {
			return rows, err
		}
	}
	return rows, nil
}
