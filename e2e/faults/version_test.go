//go:build linux

package faults

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"countersign/approvals"
	"countersign/session/claude/scripted"
)

// upgraded is another build of the program: a copy, which is another version to
// the hub of this one.
func (w *world) upgraded() string {
	w.t.Helper()
	path := w.at("bin/countersign-upgraded")
	data, err := os.ReadFile(program)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := scripted.WriteProgram(path, data, 0o700); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// by runs a command of another program than the one under test.
func (w *world) by(path string, args ...string) said {
	w.t.Helper()
	c := exec.Command(path, args...)
	c.Dir, c.Env = w.project, w.environment()
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); c.ProcessState == nil {
		w.t.Fatalf("%s: %v", path, err)
	}
	return said{c.ProcessState.ExitCode(), out.String(), errs.String()}
}

// The program is upgraded while requests wait: nothing is decided by that, the
// person is told what to do, and what they are told works.
func TestUpgradeWhilePending(t *testing.T) {
	w, e, a := asking(t)
	fresh := w.upgraded()
	for _, args := range [][]string{{"pending"}, {"allow", a.ID}, {"deny", a.ID}, {"send", "more"}, {"stop"}} {
		s := w.by(fresh, args...)
		if s.code != 3 || !strings.Contains(s.err, "another version") || !strings.Contains(s.err, "countersign stop --hub") {
			t.Errorf("%q of another version: %v", args, s)
		}
		w.oneSentence(s.err)
	}
	if n := len(w.pending()); n != 1 {
		t.Fatalf("%d pending", n)
	}
	w.undecided()
	w.noLeave()

	if s := w.by(fresh, "stop", "--hub"); s.code != 0 {
		t.Fatalf("stop --hub of another version: %v", s)
	}
	e.sees("a.txt", "withdrawn")
	w.withdrawn(a.ID)
	w.undecided()
	if s := w.by(fresh, "pending"); s.code != 0 || !strings.Contains(s.out, "nothing is pending") {
		t.Errorf("pending: %v", s)
	}
	w.noLeave()
}

// An agent cannot end the hub by being of another version.
func TestUpgradedAgentCannotStopTheHub(t *testing.T) {
	w := newWorld(t)
	fresh := w.upgraded()
	w.agent("", turn(
		open("a", editCall("a.txt", "two", "2")),
		ask(bashCall("env -u COUNTERSIGN_AGENT '"+fresh+"' stop --hub")),
	))
	e := w.edit(w.project, nil)
	e.send("go")
	list := w.awaitPending(2)
	w.must("allow", list[1].ID)
	e.sees("refused hub/stop", "an agent cannot settle its own approvals")
	w.recorded("the refusal", func(r approvals.Record) bool {
		return r.Kind == approvals.RecordRefused && strings.Contains(r.Event, "hub/stop")
	})
	if n := len(w.pending()); n != 1 {
		t.Errorf("%d pending", n)
	}
	w.noLeave()
}

// The same of one that hangs while it is at what was asked of it.
func TestHubThatHangsMeanwhile(t *testing.T) {
	if testing.Short() {
		t.Skip("waits out the patience of a front end, 10 s, twice")
	}
	w := newWorld(t)
	w.claude("touch '" + w.at("begun") + "'; exec sleep 1000\n")
	var s said
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		s = w.cs("resume", "a-session-that-is-long-to-come") // waits for the agent
	}()
	w.eventually("the agent begins", func() (bool, string) {
		_, err := os.Stat(w.at("begun"))
		return err == nil, ""
	})
	pid := w.status().PID
	w.signal(pid, syscall.SIGSTOP)
	<-asked
	w.signal(pid, syscall.SIGCONT)
	if s.code != 1 || !strings.Contains(s.err, "does not answer") {
		t.Errorf("resume: %v", s)
	}
	w.oneSentence(s.err)
	w.must("stop")
}

// A hub that hangs is told to hang; what was asked of it meanwhile is not done
// behind the person's back when it wakes up.
func TestHubThatHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("waits out the patience of a front end, 10 s")
	}
	w, _, a := asking(t)
	pid := w.status().PID
	w.signal(pid, syscall.SIGSTOP)
	w.fails(1, []string{"the hub of " + w.project, "does not answer"}, "allow", a.ID)
	w.signal(pid, syscall.SIGCONT)
	if n := len(w.pending()); n != 1 {
		t.Errorf("%d pending", n)
	}
	w.undecided()
	w.noLeave()
	w.must("deny", a.ID)
}
