//go:build linux

package hub

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"countersign/approvals"
)

// disk mounts a small disk of its own, where that is allowed.
func disk(t *testing.T, flags uintptr, options string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		t.Skipf("no disk can be mounted for this test: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func TestReadOnlyStorage(t *testing.T) {
	w := newWorld(t, writeOne)
	o := w.options("one")
	o.Settings.Storage = disk(t, unix.MS_RDONLY, "mode=0700")
	_, _, err := Connect(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "the storage cannot be used") || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("connecting: %v", err)
	}
}

// On a full disk a request still reaches the person, with a note; it cannot be
// allowed, because that could not be recorded, but it can be denied.
func TestFullStorage(t *testing.T) {
	w := newWorld(t, writeOne)
	dir := disk(t, 0, "mode=0700,size=256k")
	o := w.options("one")
	o.Settings.Storage = dir
	c, at, err := Connect(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	filler, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	for chunk := make([]byte, 4096); ; {
		if _, err := filler.Write(chunk); err != nil {
			break
		}
	}
	w.send(c, "go")
	a := w.pendingOf(c)
	if !slices.ContainsFunc(a.Notes, func(n approvals.Note) bool { return n.Warning && strings.Contains(n.Text, "no space left") }) {
		t.Errorf("the person is told %+v", a.Notes)
	}
	if _, err := c.Settle(t.Context(), SettleParams{ID: a.ID, Allow: true, How: "command"}); codeOf(err) != CodeRefused || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("allowing: %v", err)
	}
	if got := w.read("a.txt"); !strings.Contains(got, "no such file") {
		t.Errorf("the file has %q", got)
	}
	if list, err := c.Pending(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("pending: %v, %v", list, err)
	}
	got, err := c.Settle(t.Context(), SettleParams{ID: a.ID, Message: "no", How: "command"})
	if err != nil || got.Approval.State != approvals.Denied {
		t.Errorf("denying: %+v, %v", got, err)
	}
	// There is room again.
	filler.Close()
	os.Remove(filler.Name())
	if err := c.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	for range c.Events() {
	}
	w.waitFor("the record's end", func() bool { return hasEnded(at.Storage) })
}
