//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"countersign/e2e/mockmodel"
)

// allowWithRule allows an approval with the first rule that has this destination, by
// the number that countersign show gives it.
func (w *world) allowWithRule(a approval, destination string) (words string) {
	w.t.Helper()
	choices := w.show(a.ID).Approval.Choices
	for i, c := range choices {
		if c.Destination == destination {
			w.must("allow", a.ID, "--rule", strconv.Itoa(i+1))
			return c.Words
		}
	}
	w.t.Fatalf("no rule for %s among %+v", destination, choices)
	return ""
}

// settingsFiles are the files that rules are kept in, by destination.
func (w *world) settingsFiles() map[string]string {
	return map[string]string{
		"localSettings":   w.path(".claude/settings.local.json"),
		"projectSettings": w.path(".claude/settings.json"),
		"userSettings":    filepath.Join(w.dir, "home/.claude/settings.json"),
	}
}

// Every destination writes the file that its words name and no other, and the
// same command is then not asked about again.
func TestRuleForEachDestination(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.trust()
		w.tool()
		destinations := []string{"session", "localSettings", "projectSettings", "userSettings"}
		var turns []mockmodel.Turn
		for _, d := range destinations {
			turns = append(turns, bash("./tool "+word(d)+" first"), bash("./tool "+word(d)+" second"))
		}
		w.play(append(turns, mockmodel.Say("Done."))...)
		w.must("send", "Run them.")
		want := ""
		for i, d := range destinations {
			a := w.next("Bash")
			if strings.Contains(a.Title, "second") {
				t.Fatalf("asked again: %s", a.Title)
			}
			before := w.ruleFiles()
			w.refuses(exitUsage, "there is no rule 99", "allow", a.ID, "--rule", "99")
			words := w.allowWithRule(a, d)
			w.reads(2*i, false)
			w.reads(2*i+1, false)
			want += word(d) + " first\n" + word(d) + " second\n"
			if got := w.disk("log"); got != want {
				t.Errorf("log is %q, want %q", got, want)
			}
			w.checkRule(d, before)
			if path := w.settingsFiles()[d]; path != "" && !strings.Contains(words, filepath.Base(path)) {
				t.Errorf("the words %q do not name %s", words, path)
			}
			if d == "session" && !strings.Contains(words, "writes no file") {
				t.Errorf("the words for a session are %q", words)
			}
		}
	})
}

// A rule of the project is written in a folder that nobody trusted too, but the
// agent does not heed it there: its words say so, and the same is asked again.
func TestProjectRuleInAnUntrustedFolder(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.tool()
		w.play(bash("./tool project first"), bash("./tool project second"), mockmodel.Say("Done."))
		w.must("send", "Run them.")
		a := w.next("Bash")
		before := w.ruleFiles()
		if words := w.allowWithRule(a, "projectSettings"); !strings.Contains(words, "only in a folder that you have trusted") {
			t.Errorf("the words are %q", words)
		}
		w.reads(0, false)
		w.checkRule("projectSettings", before)
		a = w.next("Bash")
		w.must("deny", a.ID, "-m", "not twice")
		w.reads(1, true, "not twice")
		if got := w.disk("log"); got != "project first\n" {
			t.Errorf("log is %q", got)
		}
	})
}

// trust has the agent heed the project's rules, as it does where its person
// trusts the folder.
func (w *world) trust() {
	w.write(filepath.Join(w.dir, "home/.claude.json"),
		fmt.Sprintf(`{"hasCompletedOnboarding":true,"projects":{%q:{"hasTrustDialogAccepted":true}}}`, w.project))
}

// tool lays a program that notes in log what it was called with.
func (w *world) tool() {
	w.file("tool", "#!/bin/sh\necho \"$*\" >> log\n")
	if err := os.Chmod(w.path("tool"), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// checkRule checks that the rule for a destination went into its file, and that
// the others are as before.
func (w *world) checkRule(destination string, before map[string]string) {
	w.t.Helper()
	after := w.ruleFiles()
	for at, path := range w.settingsFiles() {
		switch written := after[at] != before[at]; {
		case at == destination && (!written || !strings.Contains(after[at], "tool "+word(destination))):
			w.t.Errorf("the rule for %s is not in %s: %q", destination, path, after[at])
		case at != destination && written:
			w.t.Errorf("the rule for %s changed %s: %q", destination, path, after[at])
		}
	}
}

// word is a destination as a subcommand, for which the agent suggests a rule.
func word(destination string) string { return strings.TrimSuffix(destination, "Settings") }

// ruleFiles is the content of each file that rules are kept in.
func (w *world) ruleFiles() map[string]string {
	all := map[string]string{}
	for at, path := range w.settingsFiles() {
		data, _ := os.ReadFile(path)
		all[at] = string(data)
	}
	return all
}

// What waits is not settled by a rule or a mode that covers it.
func TestARuleSettlesNothingThatWaits(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.file("b.txt", original)
		w.asBoth("a.txt", "b.txt")
		w.must("send", "Edit both.")
		both := w.awaitPending(2)
		w.must("allow", both[0].ID, "--session") // for edits: the mode that accepts them
		w.awaitMode("auto_edit")
		w.told(mockmodel.CallID(subagent(both[0].file()), 0, 0))
		w.still(both[1].ID)
		w.must("deny", both[1].ID, "-m", "not that one")
		b := w.denied(mockmodel.CallID(subagent(both[1].file()), 0, 0), both[1].file(), original)
		if !strings.Contains(b.Text, "not that one") {
			t.Errorf("the model was told %q", b.Text)
		}
		if got := w.disk(both[0].file()); got != "one\nTWO\nthree\n" {
			t.Errorf("%s is %q", both[0].file(), got)
		}
		w.told(mockmodel.CallID("", 0, 0))
	})
}
