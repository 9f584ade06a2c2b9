package main

import (
	"fmt"
	"os"
	"time"

	"countersign/diff"
	"countersign/diff/difftest"
)

// diffRows measure the fifth row: our line diff against git as a process. Each
// case is repeated until it has taken long enough, at least least times. Those
// beyond the table have no target and are compared by time alone.
func (b *bench) diffRows(least int, long time.Duration, beyond bool) ([]*row, error) {
	var all []*row
	for i, p := range difftest.Pairs() {
		if i >= difftest.InTable && !beyond {
			break
		}
		dir, err := os.MkdirTemp(b.dir, "diff-")
		if err != nil {
			return all, err
		}
		plain, err := difftest.Git(dir, p)
		if err != nil {
			return all, err
		}
		r := newRow("line diff", p.Name, "git diff, the process")
		var edits []diff.Edit
		for began := time.Now(); len(r.ours) < least || time.Since(began) < long && len(r.ours) < 200; {
			err := r.pairs(1,
				func() (int64, error) { at := clock(); _, err := plain(); return clock() - at, err },
				func() (int64, error) { at := clock(); edits = diff.Lines(p.A, p.B); return clock() - at, nil })
			if err != nil {
				return all, err
			}
		}
		if i < difftest.InTable {
			minimal, err := difftest.Git(dir, p, "--minimal")
			if err != nil {
				return all, err
			}
			patch, err := minimal()
			if err != nil {
				return all, err
			}
			added, removed := diff.Count(edits)
			r.script, r.theirs = added+removed, difftest.ScriptSize(patch)
			r.within(1)
			r.What += fmt.Sprintf(" (%d lines, git's least %d)", r.script, r.theirs)
		}
		all = append(all, r)
	}
	return all, nil
}
