//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// planFile finds in the prompt of plan mode where the agent wants its plan.
var planFile = regexp.MustCompile(`/\S+/\.claude/plans/[^\s"'` + "`" + `)]+?\.md`)

// writesPlan is a turn that writes the plan file, which nobody is asked about.
func writesPlan(w *world, plan string) mockmodel.Turn {
	return mockmodel.Turn{Make: func(r mockmodel.Request) mockmodel.Turn {
		path := ""
		for _, m := range r.Messages {
			for _, b := range m.Blocks {
				if found := planFile.FindString(b.Text); found != "" {
					path = found
				}
			}
		}
		if path == "" {
			path = planFile.FindString(r.System)
		}
		return mockmodel.Use("Write", object{"file_path": path, "content": plan})
	}}
}

const (
	plan     = "# Change the word\n\n1. Edit a.txt\n"
	exitPlan = "ExitPlanMode"
)

// plans starts a session in plan mode whose model plans, then edits a.txt. It
// returns the plan's approval.
func (w *world) plans(more ...mockmodel.Turn) approval {
	w.t.Helper()
	w.file("a.txt", original)
	w.play(append([]mockmodel.Turn{
		writesPlan(w, plan),
		mockmodel.Use(exitPlan, object{}),
	}, more...)...)
	w.must("mode", "plan")
	w.must("send", "Plan it.")
	return w.next(exitPlan)
}

func TestPlanApproved(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		a := w.plans(w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."))
		w.awaitMode("plan")
		if !strings.Contains(w.must("show", a.ID), "Change the word") {
			t.Errorf("the plan is not shown: %s", w.must("show", a.ID))
		}
		w.refuses(exitRefused, "", "allow", a.ID, "--session")
		w.still(a.ID)
		w.must("allow", a.ID)
		w.reads(1, false, "approved", "Change the word")
		w.awaitMode("ask_before_edit")
		edit := w.next("Edit") // is asked
		w.must("allow", edit.ID)
		w.reads(2, false)
		if got := w.disk("a.txt"); got != "one\nTWO\nthree\n" {
			t.Errorf("a.txt is %q", got)
		}
		w.awaitIdle(1)
		w.play() // as many turns as there were, and a last one
		w.must("send", "And now?")
		w.hears("And now?")
		w.awaitMode("ask_before_edit")
	})
}

func TestPlanApprovedWithEditsAccepted(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		a := w.plans(w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."))
		w.refuses(exitRefused, "bypass", "allow", a.ID, "--mode", "bypassPermissions")
		w.still(a.ID)
		w.must("allow", a.ID, "--mode", "acceptEdits")
		w.reads(2, false) // unasked
		if got := w.disk("a.txt"); got != "one\nTWO\nthree\n" {
			t.Errorf("a.txt is %q", got)
		}
		w.awaitMode("auto_edit")
		w.awaitPending(0)
	})
}

func TestPlanEdited(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		a := w.plans(w.edit("a.txt", "two", "TWO"), mockmodel.Say("Done."))
		w.amend(a, "1. Edit a.txt", "1. Edit a.txt\n2. Run the tests",
			"[x] ask before", "[ ] ask before", "[ ] accept edits", "[x] accept edits")
		w.must("allow", a.ID)
		w.reads(1, false, "edited by user", "2. Run the tests")
		w.reads(2, false)
		w.awaitMode("auto_edit")
		files, _ := filepath.Glob(filepath.Join(w.dir, "home/.claude/plans/*.md"))
		if len(files) != 1 {
			t.Fatalf("plan files: %v", files)
		}
		if data, err := os.ReadFile(files[0]); err != nil || strings.TrimSpace(string(data)) != strings.TrimSpace(plan)+"\n2. Run the tests" {
			t.Errorf("the plan file is %q, %v", data, err)
		}
	})
}

// A plan that is denied keeps the agent planning, with the remarks; the next
// turn is in plan mode still, and the next plan can be approved.
func TestPlanDeniedWithRemarks(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		a := w.plans(
			mockmodel.Use(exitPlan, object{}),
			mockmodel.Say("I keep planning."),
			w.edit("a.txt", "two", "TWO"),
			mockmodel.Use(exitPlan, object{}),
			mockmodel.Say("Done."),
		)
		w.amend(a, "## Remarks\n", "## Remarks\n\nMore tests, please.\n")
		w.refuses(exitRefused, "remarks", "allow", a.ID) // one or the other
		w.still(a.ID)
		w.must("deny", a.ID)
		w.reads(1, true, "keep planning", "More tests, please.")

		a = w.next(exitPlan)
		w.must("deny", a.ID, "-m", "Fewer words.")
		w.reads(2, true, "Fewer words.")
		w.awaitIdle(1)
		w.awaitMode("plan")

		w.must("send", "Go on.")
		edit := w.next("Edit") // asked in plan mode too
		w.awaitMode("plan")
		w.must("deny", edit.ID, "-m", "not yet")
		w.reads(4, true, "not yet")
		a = w.next(exitPlan)
		w.must("allow", a.ID)
		w.awaitMode("ask_before_edit")
		if got := w.disk("a.txt"); got != original {
			t.Errorf("a.txt is %q", got)
		}
	})
}

// A plan is sent back with remarks, and the next one changed and approved, each
// by a save.
func TestPlanInItsDocument(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(
			writesPlan(w, plan),
			mockmodel.Use(exitPlan, object{}),
			mockmodel.Use(exitPlan, object{}),
			w.edit("a.txt", "two", "TWO"),
			mockmodel.Say("Done."),
		)
		w.editor.start("a.txt")
		w.prompt("Plan it.")
		a := w.next(exitPlan)
		w.awaitOpened(a)
		w.editor.replace("[ ] accept edits", "[x] accept edits")
		w.editor.save() // with what was ticked before
		w.awaitTold(6, "second tick")
		w.still(a.ID)
		w.editor.replace("[x] ask before", "[ ] ask before")
		w.editor.replace("[x] accept edits", "[ ] accept edits")
		w.editor.replace("[ ] keep planning", "[x] keep planning")
		w.editor.append("More tests, please.")
		w.editor.save()
		w.reads(1, true, "keep planning", "More tests, please.")
		w.awaitMode("plan")

		a = w.next(exitPlan)
		w.awaitOpened(a)
		w.editor.replace("[x] ask before", "[ ] ask before")
		w.editor.replace("[ ] accept edits", "[x] accept edits")
		w.editor.replace("1. Edit a.txt", "1. Edit a.txt and test it")
		w.editor.save()
		w.reads(2, false, "edited by user", "1. Edit a.txt and test it")
		w.reads(3, false) // unasked
		w.awaitMode("auto_edit")
		if got := w.disk("a.txt"); got != "one\nTWO\nthree\n" {
			t.Errorf("a.txt is %q", got)
		}
	}, with("permissionMode", "plan"))
}
