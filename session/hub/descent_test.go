//go:build linux

package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/approvals"
	"countersign/session"
)

var peerKinds = []string{"child", "child without the marker", "own session", "orphan", "orphan in its own session"}

// An agent cannot settle its own approvals, whatever it makes of its processes.
func TestDescendantsMayNotDecide(t *testing.T) {
	w := newWorld(t, writeOne)
	out := filepath.Join(filepath.Dir(w.root), "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	o := w.options("person")
	o.Settings.Agent.Command = []string{os.Args[0], "agent-with-peers", w.script, w.root, out}
	c, at, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	w.send(c, "go")
	id := w.pendingOf(c).ID
	for _, kind := range peerKinds {
		w.waitFor(kind, func() bool { _, err := os.Stat(filepath.Join(out, kind)); return err == nil })
		got, _ := os.ReadFile(filepath.Join(out, kind))
		if string(got) != fmt.Sprintf("code %d", CodeForbidden) {
			t.Errorf("%s: %s", kind, got)
		}
	}
	list, err := c.Pending(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != id {
		t.Fatalf("pending afterwards: %+v, %v", list, err)
	}
	if m := await(w, c, "the warning", func(m Message) bool { return m.ID == id }); m.Severity != "warning" || !strings.Contains(m.Text, "agent") {
		t.Errorf("the person is told %+v", m)
	}
	if err := c.Log(t.Context()); err != nil {
		t.Fatal(err)
	}
	records, err := approvals.ReadJournal(JournalPath(at.Storage))
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for _, r := range records {
		if r.Kind == approvals.RecordRefused && r.ID == id && r.By.PID != 0 && strings.Contains(r.Event, "agent") {
			refused++
		}
	}
	if refused < len(peerKinds) {
		t.Errorf("%d refusals are journalled, want %d", refused, len(peerKinds))
	}
	// The person still may.
	if _, err := c.Settle(t.Context(), SettleParams{ID: id, Allow: true, How: "command"}); err != nil {
		t.Error(err)
	}
}

// No process that an agent started outlives the hub, however far it ran away.
func TestNothingOutlivesTheHub(t *testing.T) {
	for _, end := range []string{"stop", "SIGTERM"} {
		t.Run(end, func(t *testing.T) {
			w := newWorld(t, `{"turns":[{"steps":[{"call":{"tool":"Bash","input":{"command":"(setsid sleep 1000 & echo $! > pid1); (setsid sh -c 'sleep 1000; :' & echo $! > pid2)"}}}]}]}`)
			c, at := w.connect("person")
			w.send(c, "go")
			if _, err := c.Settle(t.Context(), SettleParams{ID: w.pendingOf(c).ID, Allow: true, How: "command"}); err != nil {
				t.Fatal(err)
			}
			var pids []int
			for _, name := range []string{"pid1", "pid2"} {
				var pid int
				w.waitFor("the runaway", func() bool { n, _ := fmt.Sscan(w.read(name), &pid); return n == 1 })
				pids = append(pids, pid)
			}
			w.waitFor("the adoption", func() bool { p, err := parentOf(pids[0]); return err == nil && p == at.PID })
			pids = append(pids, childrenOf(at.PID)...)
			pids = append(pids, childrenOf(pids[1])...)
			if end == "stop" {
				if err := c.Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
			} else if err := syscall.Kill(at.PID, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			for range c.Events() {
			}
			w.waitFor("the hub's end", func() bool { _, err := startOf(at.PID); return err != nil || ended(at.PID) })
			for _, pid := range pids {
				if _, err := startOf(pid); err == nil && !ended(pid) {
					t.Errorf("process %d still runs", pid)
				}
			}
		})
	}
}

// Orphans that die are reaped, and the agent's own end is not stolen.
func TestOrphansAreReaped(t *testing.T) {
	w := newWorld(t, `{"turns":[{"steps":[{"call":{"tool":"Bash","input":{"command":"(setsid sh -c 'exit 3' &); sleep 0.01; touch ran"}}}]},{"steps":[{"exit":7}]}]}`)
	c, at := w.connect("person")
	w.send(c, "go")
	if _, err := c.Settle(t.Context(), SettleParams{ID: w.pendingOf(c).ID, Allow: true, How: "command"}); err != nil {
		t.Fatal(err)
	}
	w.waitFor("the command", func() bool { return w.read("ran") == "" })
	w.waitFor("the reaping", func() bool {
		for _, pid := range childrenOf(at.PID) {
			if ended(pid) {
				return false
			}
		}
		return true
	})
	w.waitFor("the end of the turn", func() bool {
		st, err := c.Status(t.Context())
		return err == nil && st.Session.State == session.StateIdle
	})
	w.send(c, "end")
	info := await(w, c, "the agent's end", func(i session.Info) bool { return i.State == "ended" })
	if !strings.Contains(info.Error, "7") {
		t.Errorf("the agent's end is explained with %q", info.Error)
	}
}
