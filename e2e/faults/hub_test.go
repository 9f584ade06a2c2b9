//go:build linux

package faults

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"countersign/approvals"
	"countersign/session/hub"
	"countersign/staging"
)

// asking is a world whose agent asks to change a.txt, and an editor that was
// told of it.
func asking(t *testing.T, options ...option) (*world, *editor, hub.Approval) {
	t.Helper()
	w := newWorld(t, options...)
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	e := w.edit(w.project, nil)
	e.send("go")
	a := w.awaitPending(1)[0]
	e.sees("The agent asks: Edit a.txt")
	return w, e, a
}

// A hub that is killed decides nothing: the agent goes with it, what was pending
// is told as lost, and the next front end starts another hub.
func TestHubKilledWhilePending(t *testing.T) {
	w, e, a := asking(t)
	e.opens(a.Staged.Path)
	w.kill(w.status().PID)
	e.sees("Countersign lost its hub", "Nothing was decided")
	w.eventually("the agent has ended", func() (bool, string) {
		all := w.running()
		delete(all, e.cmd.Process.Pid)
		return len(all) == 0, ""
	})

	// What lies staged is only a file now: saving it decides nothing, and says so.
	before := w.model()
	e.saves(a.Staged.Path, "one\nTWO\nthree\n")
	e.sees("Nothing was decided", "a.txt")
	w.fails(3, []string{a.ID}, "allow", a.ID)
	w.withdrawn(a.ID)
	w.undecided()
	w.noLeave()
	if now := w.model(); len(now) != len(before) {
		t.Errorf("the agent was told something: %+v", now)
	}

	// And the work goes on.
	e.send("again")
	again := w.awaitPending(1)[0]
	if again.ID == a.ID {
		t.Error("an id was used twice")
	}
	w.must("allow", again.ID)
	w.recorded("the change as verified", func(r approvals.Record) bool {
		return r.ID == again.ID && r.Outcome.State == approvals.OutcomeVerified
	})
	w.want["a.txt"] = "one\n2\nthree\n"
}

// A hub that is killed while nobody looks: the next front end is told, and finds
// the text that the person had written kept.
func TestHubKilledWhileNobodyLooks(t *testing.T) {
	w, e, a := asking(t)
	w.write(a.Staged.Path, "one\nmy own two\nthree\n")
	pid := w.status().PID
	e.quits()
	w.kill(pid)
	w.nothingRuns()

	w.fails(1, []string{"no hub runs", w.project}, "allow", a.ID)
	e = w.edit(w.project, nil)
	e.send("hello again") // starts a hub
	w.withdrawn(a.ID)
	r := w.recorded("the person's text", func(r approvals.Record) bool { return r.ID == a.ID && r.Kind == approvals.RecordKept })
	if r.Text != "one\nmy own two\nthree\n" {
		t.Errorf("the text kept is %q", r.Text)
	}
	w.undecided()
	w.noLeave()
}

// A hub that is asked to end says what it withdraws, and leaves nothing running.
func TestHubTerminated(t *testing.T) {
	for name, end := range map[string]func(w *world, pid int){
		"SIGTERM":                func(w *world, pid int) { w.signal(pid, syscall.SIGTERM) },
		"SIGINT":                 func(w *world, pid int) { w.signal(pid, syscall.SIGINT) },
		"countersign stop --hub": func(w *world, _ int) { w.must("stop", "--hub") },
	} {
		t.Run(name, func(t *testing.T) {
			w, e, a := asking(t)
			st := w.status()
			end(w, st.PID)
			e.sees("Countersign lost its hub", "Nothing was decided")
			e.sees("a.txt", "withdrawn")
			w.eventually("the hub and its agent have ended", func() (bool, string) {
				all := w.running()
				delete(all, e.cmd.Process.Pid)
				return len(all) == 0, ""
			})
			if _, err := os.Lstat(st.Socket); err == nil {
				t.Errorf("the socket %s is left", st.Socket)
			}
			w.withdrawn(a.ID)
			w.undecided()
			w.noLeave()
			if code := e.quits(); code != 0 {
				t.Errorf("the server ended with %d", code)
			}
			w.nothingRuns()
		})
	}
}

// The hang-up of a terminal does not concern a hub.
func TestHubSurvivesItsTerminal(t *testing.T) {
	w, _, a := asking(t)
	pid := w.status().PID
	w.signal(pid, syscall.SIGHUP)
	w.signal(pid, syscall.SIGPIPE)
	if list := w.pending(); len(list) != 1 || list[0].ID != a.ID || w.status().PID != pid {
		t.Errorf("after the hang-up %+v is pending", list)
	}
	w.undecided()
	w.noLeave()
}

// What a hub that is gone left behind keeps nobody from going on: its lock, its
// socket, its record, its staged documents, its agent's process.
func TestLeftoversAreRecognised(t *testing.T) {
	w, e, a := asking(t)
	st := w.status()
	e.quits()
	w.kill(st.PID)
	w.nothingRuns()
	for _, left := range []string{st.Socket, filepath.Join(st.Storage, "lock"), filepath.Join(st.Storage, "hub.json"), a.Staged.Path} {
		if _, err := os.Lstat(left); err != nil {
			t.Fatalf("this test is about leftovers: %v", err)
		}
	}
	s := w.cs("pending")
	if s.code != 0 || !strings.Contains(s.out, "nothing is pending") {
		t.Errorf("pending: %v", s)
	}
	e = w.edit(w.project, nil)
	e.opens(a.Staged.Path) // the editor restored its session
	e.marks(a.Staged.Path, "withdrawn")
	e.saves(a.Staged.Path, "one\nTWO\nthree\n")
	e.sees("Nothing was decided", "withdrawn")
	w.withdrawn(a.ID)

	// The person's text went into the journal, and a new session clears up.
	w.recorded("the late text", func(r approvals.Record) bool {
		return r.ID == a.ID && r.Kind == approvals.RecordKept && r.Text == "one\nTWO\nthree\n"
	})
	if err := e.do("newSession", nil, nil); err != nil {
		t.Fatal(err)
	}
	w.eventually("the staged document is cleared away", func() (bool, string) {
		_, err := os.Lstat(a.Staged.Path)
		return err != nil, ""
	})
	w.undecided()
	w.noLeave()
}

// Records that are damaged or lie are no reason to fail either.
func TestDamagedRecords(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "no JSON": "{{{", "another shape": `{"pid":"x"}`, "cut short": `{"version":"1","pid":12`,
		"somebody else's pid": `{"version":"1","pid":1,"root":"/","storage":"/tmp","socket":"/nowhere/hub.sock"}`,
	} {
		t.Run(name, func(t *testing.T) {
			w, e, a := asking(t)
			st := w.status()
			e.quits()
			w.kill(st.PID)
			w.nothingRuns()
			w.write(filepath.Join(st.Storage, "hub.json"), text)
			w.write(filepath.Join(st.Storage, "agents.json"), text)
			if s := w.cs("pending"); s.code != 0 {
				t.Errorf("pending: %v", s)
			}
			e = w.edit(w.project, nil)
			e.send("again")
			if again := w.awaitPending(1)[0]; again.ID == a.ID {
				t.Error("an id was used twice")
			}
			w.undecided()
			w.noLeave()
		})
	}
}

// A journal that a crash cut short goes on, and says that it was put right; one
// that somebody changed is told by its first wrong line.
func TestDamagedJournal(t *testing.T) {
	w, e, a := asking(t)
	st := w.status()
	path := hub.JournalPath(st.Storage)
	e.quits()
	w.kill(st.PID)
	w.nothingRuns()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"seq":99,"kind":"settled","state":"allowed","id":"` + a.ID); err != nil {
		t.Fatal(err)
	}
	f.Close()
	w.must("send", "again")
	w.awaitPending(1)
	if !slices.ContainsFunc(w.journal(), func(r approvals.Record) bool { return r.Kind == approvals.RecordRepaired }) {
		t.Error("the journal does not tell of its repair")
	}
	w.undecided()

	w.must("stop", "--hub")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w.write(path, strings.Replace(string(data), "a.txt", "b.txt", 1))
	w.fails(1, []string{path, "line 2", "changed"}, "log", "--verify")
	w.write(path, string(data))
	w.noLeave()
}

// Two hubs are never elected, however many front ends come at once; and all
// see the same.
func TestManyFrontEndsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	var editors []*editor
	for range 5 {
		editors = append(editors, w.serve())
	}
	type result struct {
		PID int `json:"pid"`
	}
	results := make(chan result, len(editors))
	for _, e := range editors {
		e.initialize(w.project, nil)
		go func() {
			var r result
			_ = e.do("status", nil, &r)
			results <- r
		}()
	}
	pids := map[int]bool{}
	for range editors {
		pids[(<-results).PID] = true
	}
	if len(pids) != 1 || pids[0] {
		t.Errorf("the editors talk to the hubs %v", pids)
	}
	w.only(" hub --root") // those that were not elected end at once
	editors[0].send("go")
	w.awaitPending(1)
	for _, e := range editors {
		e.sees("The agent asks: Edit a.txt")
	}
	w.noLeave()
}

// A staged document is found by its path alone, from another workspace too; one
// of nobody is inert.
func TestStagedPathOfNobody(t *testing.T) {
	w := newWorld(t)
	dir := filepath.Join(w.at("elsewhere"), "proposed", staging.NewID("nobody00"))
	w.folder(dir)
	path := filepath.Join(dir, "a.txt")
	w.write(path, "text\n")
	e := w.edit(w.project, nil)
	e.opens(path)
	e.saves(path, "other text\n")
	e.sees("Nothing was decided")
	if n := len(w.pending()); n != 0 {
		t.Errorf("%d pending", n)
	}
	for _, line := range w.running() {
		if strings.Contains(line, " hub ") && !strings.Contains(line, w.project) {
			t.Errorf("a hub was started for nobody: %s", line)
		}
	}
}
