//go:build linux

package faults

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"countersign/approvals"
	"countersign/session/claude/scripted"
	"countersign/session/hub"
)

// mount puts a small disk of its own at a folder of the world.
func (w *world) mount(path string, flags uintptr, size string) {
	w.t.Helper()
	err := syscall.Mount("faults", path, "tmpfs", flags, "mode=0700,size="+size)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) {
		w.t.Skipf("only a privileged user may mount the small disk that this test fills: %v", err)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { // runs before the end of the world
		_ = w.cs("stop", "--hub")
		if err := syscall.Unmount(path, syscall.MNT_DETACH); err != nil {
			w.t.Error(err)
		}
	})
}

// fill leaves no room on the disk of a folder.
func (w *world) fill(dir string) (free func()) {
	w.t.Helper()
	path := filepath.Join(dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	for size := 64 << 10; size > 0; {
		if _, err := f.Write(bytes.Repeat([]byte{'x'}, size)); err != nil {
			if !errors.Is(err, syscall.ENOSPC) {
				w.t.Fatal(err)
			}
			size /= 2
		}
	}
	return func() {
		w.t.Helper()
		if err := os.Remove(path); err != nil {
			w.t.Fatal(err)
		}
	}
}

// The disk of the storage is full while requests wait and come: they are shown all
// the same, nothing is allowed that cannot be recorded, a deny works, and with
// room again all goes on.
func TestStorageFullWhilePending(t *testing.T) {
	w := newWorld(t)
	w.mount(w.at("state"), 0, "1m")
	w.agent("", turn(
		open("a", editCall("a.txt", "two", "2")),
		ask(bashCall("true")),
		ask(writeCall("new.txt", "new\n")),
		scripted.Step{Await: "*"},
	))
	e := w.edit(w.project, nil)
	e.send("go")
	list := w.awaitPending(2)
	first, bash := list[0], list[1]
	storage := w.status().Storage
	free := w.fill(w.at("state"))
	// The journal's last block has room for a few more lines: refusals take it.
	for range 20 {
		none := 99
		if err := settleBySocket(storage, hub.SettleParams{ID: bash.ID, Allow: true, Suggestion: &none}); err == nil {
			t.Fatal("allowed by a rule that does not exist")
		}
	}

	w.fails(3, []string{first.ID, "cannot be recorded", "no space left on device"}, "allow", first.ID)
	err := e.do("allow", object{"id": first.ID}, nil)
	if err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("the editor is told %v", err)
	}
	w.noLeave()
	// A deny keeps something from running: it does not wait for room. Nor does it
	// make any: its staged document, which then goes, is kept as long as it is open.
	held, err := os.Open(bash.Staged.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	s := w.cs("deny", bash.ID)
	if s.code != 0 || !strings.Contains(s.out, "no space left on device") {
		t.Errorf("a deny on a full disk: %v", s)
	}
	// The next request comes onto the desk, and says what is the matter.
	list = w.awaitPending(2)
	fresh := list[1]
	var notes string
	for _, n := range fresh.Notes {
		notes += n.Text + "\n"
	}
	if !strings.Contains(notes, "no space left on device") {
		t.Errorf("the notes of a request that could not be written are %q", notes)
	}
	e.sees("Create new.txt")
	w.fails(3, []string{fresh.ID, "no space left on device"}, "allow", fresh.ID)
	w.noLeave()

	held.Close()
	free()
	w.must("allow", first.ID)
	w.must("allow", fresh.ID)
	w.recorded("the new file as verified", func(r approvals.Record) bool { return r.ID == fresh.ID && r.Outcome.State == approvals.OutcomeVerified })
	w.recorded("the change as verified", func(r approvals.Record) bool { return r.ID == first.ID && r.Outcome.State == approvals.OutcomeVerified })
	w.want["a.txt"], w.want["new.txt"] = "one\n2\nthree\n", "new\n"
}

// A hub that finds the disk full does not run, and the person reads why.
func TestStorageFullAtStart(t *testing.T) {
	w := newWorld(t)
	w.mount(w.at("state"), 0, "64k")
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	free := w.fill(w.at("state"))
	w.fails(1, []string{"no space left on device", w.at("state")}, "send", "go")
	e := w.edit(w.project, nil)
	err := e.do("send", object{"text": "go"}, nil)
	if err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("the editor is told %v", err)
	}
	e.sees("Countersign cannot reach its hub", "no space left on device")
	w.noLeave()
	free()
	e.send("go")
	w.awaitPending(1)
	w.undecided()
}

func TestStorageReadOnly(t *testing.T) {
	w := newWorld(t)
	w.mount(w.at("state"), syscall.MS_RDONLY, "64k")
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	w.fails(1, []string{"read-only file system", w.at("state")}, "send", "go")
	if s := w.cs("pending"); s.code != 0 {
		t.Errorf("pending: %v", s)
	}
	e := w.edit(w.project, nil)
	err := e.do("send", object{"text": "go"}, nil)
	if err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("the editor is told %v", err)
	}
	e.sees("Countersign cannot reach its hub", "read-only file system")
	w.noLeave()
	if code := e.quits(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
}

// The storage becomes read-only under a hub that runs: as with a full disk,
// nothing is allowed.
func TestStorageBecomesReadOnly(t *testing.T) {
	w := newWorld(t)
	w.mount(w.at("state"), 0, "1m")
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	e := w.edit(w.project, nil)
	e.send("go")
	id := w.awaitPending(1)[0].ID
	// Files that are open for writing keep a disk from being remounted, so
	// another, read-only one is put over it: as when a disk is replaced.
	if err := syscall.Mount("faults", w.at("state"), "tmpfs", syscall.MS_RDONLY, "size=4k"); err != nil {
		t.Fatal(err)
	}
	err := e.do("allow", object{"id": id}, nil)
	if uerr := syscall.Unmount(w.at("state"), 0); uerr != nil {
		t.Fatal(uerr)
	}
	if err == nil {
		t.Fatal("allowed although its staged document was gone")
	}
	t.Logf("the editor is told: %v", err)
	w.undecided()
	w.noLeave()
}

// The project's own disk is full: the agent was allowed to write and could not,
// which is told and recorded as a failure.
func TestProjectFull(t *testing.T) {
	w := newWorld(t)
	w.mount(w.project, 0, "64k")
	for name, text := range files {
		w.write(w.path(name), text)
	}
	c := writeCall("big.txt", "x")
	c.Bytes = 60 << 10
	w.agent("", turn(ask(c)))
	e := w.edit(w.project, nil)
	e.send("go")
	id := w.awaitPending(1)[0].ID
	free := w.fill(w.project)
	w.must("allow", id)
	e.sees("big.txt", "failed", "no space left on device")
	r := w.recorded("the outcome", func(r approvals.Record) bool { return r.ID == id && r.Kind == approvals.RecordOutcome })
	if r.Outcome.State != approvals.OutcomeFailed {
		t.Errorf("the outcome is %+v", r.Outcome)
	}
	free()
	w.noLeave()
	w.want["big.txt"] = w.files()["big.txt"] // what the agent left of it is the agent's
	if len(w.want["big.txt"]) > 60<<10 {
		t.Error("the file is complete: the disk was not full")
	}
}

// The journal may not grow any more, in the middle of a line: the half line is
// taken off again, the chain holds, and nothing is allowed. A limit on the size
// of files does that without a disk of its own, to any user.
func TestJournalCutShort(t *testing.T) {
	w := newWorld(t)
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := w.process(ctx)
	c.Path, c.Args = "/bin/sh", []string{"sh", "-c", "ulimit -f 8; exec '" + program + "' send go"} // 4 or 8 KiB
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	id := w.awaitPending(1)[0].ID
	st := w.status()
	for range 40 {
		none := 99
		if err := settleBySocket(st.Storage, hub.SettleParams{ID: id, Allow: true, Suggestion: &none}); err == nil {
			t.Fatal("allowed by a rule that does not exist")
		}
	}
	w.fails(3, []string{id, "cannot be recorded", "file too large"}, "allow", id)
	data, err := os.ReadFile(hub.JournalPath(st.Storage))
	if err != nil || len(data) < 3000 || !bytes.HasSuffix(data, []byte("}\n")) {
		t.Errorf("the journal has %d bytes and ends in %q: %v", len(data), data[max(0, len(data)-40):], err)
	}
	w.undecided()
	w.noLeave()
	if s := w.cs("deny", id); s.code != 0 || !strings.Contains(s.out, "file too large") {
		t.Errorf("a deny that cannot be recorded: %v", s)
	}
	w.noLeave()
	w.must("stop", "--hub")
	if s := w.cs("log", "--verify"); s.code != 0 {
		t.Errorf("the journal does not hold together: %v", s)
	}
}
