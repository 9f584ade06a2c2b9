//go:build unix

package hub

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"countersign/approvals"
	"countersign/session/claude/scripted"
)

// peerProcess is a process that tests start.
func peerProcess(args []string) error {
	switch args[0] {
	case "connect": // ROOT: prints the hub's pid, leaves at the end of its input
		c, at, err := Connect(context.Background(), ConnectOptions{Root: args[1], Name: "peer", Watch: true, Start: true})
		if err != nil {
			return err
		}
		defer c.Close()
		fmt.Println(at.PID)
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	case "reconnect": // ROOT: says that it is up, and connects when told to
		fmt.Println("up")
		if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
			return err
		}
		return peerProcess([]string{"connect", args[1]})
	case "settle": // ROOT OUT
		return settlingPeer(args[1], args[2])
	}
	return fmt.Errorf("no peer %q", args[0])
}

// Front ends that come at once, as processes and within one, get one hub.
func TestElection(t *testing.T) {
	w := newWorld(t, writeOne)
	const n = 6
	pids := make([]int, 2*n)
	var all sync.WaitGroup
	var leave []io.Closer
	for i := range n {
		cmd := exec.Command(os.Args[0], "peer", "connect", w.root)
		cmd.Stderr = os.Stderr
		in, _ := cmd.StdinPipe()
		out, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		leave = append(leave, in)
		t.Cleanup(func() { in.Close(); cmd.Wait() })
		all.Go(func() {
			line, _ := bufio.NewReader(out).ReadString('\n')
			pids[i], _ = strconv.Atoi(strings.TrimSpace(line))
		})
		all.Go(func() {
			c, at, err := Connect(t.Context(), w.options("inside"))
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			pids[n+i] = at.PID
		})
	}
	all.Wait()
	if pids[0] == 0 || slices.Max(pids) != slices.Min(pids) {
		t.Errorf("the front ends are at the hubs %v", pids)
	}
	for _, in := range leave {
		in.Close()
	}
}

// A hub that was killed is replaced by the next front end. What was pending is
// lost with its agent: nothing is decided, and the journal says so.
func TestKilledHubIsReplaced(t *testing.T) {
	w := newWorld(t, writeOne)
	c, at := w.connect("one")
	w.send(c, "go")
	a := w.pendingOf(c)
	agents := childrenOf(at.PID)
	const own = "what the person had written so far\n"
	if err := os.WriteFile(a.Staged.Path, []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(at.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(w, c, "the loss", func(Lost) bool { return true })

	next, at2 := w.connect("two")
	if at2.PID == at.PID || len(at2.Approvals) != 0 {
		t.Fatalf("after the kill: %+v", at2)
	}
	if _, err := next.Settle(t.Context(), SettleParams{ID: a.ID, Allow: true, How: "save"}); codeOf(err) != CodeSettled || !strings.Contains(err.Error(), lostReason) {
		t.Errorf("deciding what was lost: %v", err)
	}
	if d, err := next.Show(t.Context(), ShowParams{ID: a.ID}); err != nil || d.Approval.State != approvals.Withdrawn || len(d.Input) == 0 || d.Approval.StagedURI != a.StagedURI {
		t.Errorf("showing what was lost: %+v, %v", d, err)
	}
	if err := next.Log(t.Context()); err != nil {
		t.Fatal(err)
	}
	records, err := approvals.ReadJournal(JournalPath(at2.Storage))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(records, func(r approvals.Record) bool {
		return r.Kind == approvals.RecordSettled && r.ID == a.ID && r.State == approvals.Withdrawn && r.Reason == lostReason
	}) {
		t.Error("the journal does not tell what was lost")
	}
	if !slices.ContainsFunc(records, func(r approvals.Record) bool {
		return r.Kind == approvals.RecordKept && r.ID == a.ID && r.Text == own
	}) {
		t.Error("the journal does not have what the person had written")
	}
	if len(agents) == 0 {
		t.Error("the hub had no agent")
	}
	w.waitFor("the agent's end", func() bool {
		return !slices.ContainsFunc(agents, func(pid int) bool { _, err := startOf(pid); return err == nil && !ended(pid) })
	})
	if got := w.read("a.txt"); !strings.Contains(got, "no such file") {
		t.Errorf("the file has %q", got)
	}
}

func TestNotRunning(t *testing.T) {
	w := newWorld(t, writeOne)
	o := w.options("one")
	o.Start = false
	if _, _, err := Connect(t.Context(), o); !errors.Is(err, ErrNotRunning) {
		t.Errorf("connecting to nothing: %v", err)
	}
	if _, _, err := ConnectStorage(t.Context(), t.TempDir(), o); !errors.Is(err, ErrNotRunning) {
		t.Errorf("connecting to a folder: %v", err)
	}
	o.Root = filepath.Join(w.root, "missing")
	if _, _, err := Connect(t.Context(), o); err == nil || errors.Is(err, ErrNotRunning) {
		t.Errorf("connecting to a workspace that is not there: %v", err)
	}
	o = w.options("one")
	o.Executable = []string{"/bin/false"}
	if _, _, err := Connect(t.Context(), o); err == nil || !strings.Contains(err.Error(), "ended before it was ready") {
		t.Errorf("a hub that cannot run: %v", err)
	}
}

// The storage may lie elsewhere; the hub is found from either place.
func TestStorage(t *testing.T) {
	other := t.TempDir()
	for _, setting := range []string{"state", "workspace", other, "nonsense"} {
		t.Run(filepath.Base(setting), func(t *testing.T) {
			w := newWorld(t, writeOne)
			o := w.options("one")
			o.Settings.Storage = setting
			c, at, err := Connect(t.Context(), o)
			if setting == "nonsense" {
				if err == nil || !strings.Contains(err.Error(), `"storage"`) {
					t.Fatalf("connecting: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			want, _ := w.places().storage(setting)
			if want, _ = filepath.EvalSymlinks(want); at.Storage != want {
				t.Errorf("the storage is %s, want %s", at.Storage, want)
			}
			if setting == "workspace" && w.read(".countersign/.gitignore") != "*\n" {
				t.Error("the storage does not hide itself")
			}
			b, at2, err := ConnectStorage(t.Context(), at.Storage, ConnectOptions{Name: "two"})
			if err != nil || at2.PID != at.PID || at2.Root != w.root {
				t.Fatalf("from the storage: %+v, %v", at2, err)
			}
			b.Close()
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			w.waitFor("the record's end", func() bool { return hasEnded(at.Storage) })

			// Afterwards the storage is still known, and leads to the next hub.
			if got, err := StorageOf(w.root); err != nil || got != at.Storage {
				t.Errorf("the storage of the last hub is %s, %v", got, err)
			}
			if _, _, err := ConnectStorage(t.Context(), at.Storage, ConnectOptions{Name: "two"}); !errors.Is(err, ErrNotRunning) {
				t.Errorf("from the storage of a hub that has ended: %v", err)
			}
			o.Root = ""
			c, at2, err = ConnectStorage(t.Context(), at.Storage, o)
			if err != nil || at2.Root != w.root || at2.PID == at.PID {
				t.Fatalf("a new hub from the storage: %+v, %v", at2, err)
			}
			c.Close()
		})
	}
}

// copyOf is this program as another build.
func copyOf(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "another")
	if err := scripted.WriteProgram(path, data, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// An idle hub of another version is replaced; one in use is not, and says why.
func TestOtherVersion(t *testing.T) {
	w := newWorld(t, writeOne)
	w.exe = []string{copyOf(t)}
	// The front end of that version: attach by hand.
	p := w.places()
	if _, err := start(t.Context(), p, w.options("old")); err != nil {
		t.Fatal(err)
	}
	rec, err := readRecord(p.state)
	if err != nil || rec.Version == Version() {
		t.Fatalf("the other version: %+v, %v", rec, err)
	}
	old, err := dial(t.Context(), rec)
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	if _, err := call[AttachResult](t.Context(), old, MethodAttach, AttachParams{Version: rec.Version, Name: "the old one", Watch: true}); err != nil {
		t.Fatal(err)
	}
	w.exe = nil
	o := w.options("new")
	if _, _, err := Connect(t.Context(), o); codeOf(err) != CodeVersion || !strings.Contains(err.Error(), "the old one is attached") {
		t.Fatalf("a hub in use: %v", err)
	}
	o.Start = false
	if _, _, err := Connect(t.Context(), o); codeOf(err) != CodeVersion || !strings.Contains(err.Error(), "countersign stop --hub") {
		t.Fatalf("a hub in use, without start: %v", err)
	}
	old.Close()
	w.waitFor("the old front end's leaving", func() bool {
		c, at, err := Connect(t.Context(), w.options("new"))
		if err != nil {
			return false
		}
		defer c.Close()
		if at.PID == rec.PID || at.Version != Version() {
			t.Errorf("attached to %+v", at)
		}
		return true
	})
}

// A front end whose program was replaced on disk still starts its own version,
// and what it had open is not kept open by the hub.
func TestReplacedProgram(t *testing.T) {
	w := newWorld(t, writeOne)
	exe := copyOf(t)
	r, leaked, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(exe, "peer", "reconnect", w.root)
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{leaked, leaked, leaked}
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	leaked.Close()
	lines := bufio.NewReader(out)
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(exe); err != nil {
		t.Fatal(err)
	}
	if err := scripted.WriteProgram(exe, []byte("#!/bin/false\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, "go\n")
	line, err := lines.ReadString('\n')
	if pid, _ := strconv.Atoi(strings.TrimSpace(line)); err != nil || pid == 0 {
		t.Errorf("the front end is at the hub %q, %v", line, err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	// The hub still runs; the pipe has no writer all the same.
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the pipe: %v", err)
	}
	rec, err := readRecord(w.places().state)
	if err != nil || rec.ended() {
		t.Fatalf("the hub has ended: %+v, %v", rec, err)
	}
	if err := syscall.Kill(rec.PID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.waitFor("the hub's end", func() bool { return hasEnded(w.places().state) })
}

// What lies at the socket's place and is not ours is never taken away.
func TestForeignSocket(t *testing.T) {
	for _, test := range []struct {
		name string
		put  func(path string) error
		want string
	}{
		{"file", func(path string) error { return os.WriteFile(path, []byte("precious"), 0o600) }, "is not a socket"},
		{"folder", func(path string) error { return os.Mkdir(path, 0o700) }, "is not a socket"},
		{"symlink", func(path string) error { return os.Symlink("/etc/passwd", path) }, "is not a socket"},
		{"another user's file", func(path string) error {
			if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
				return err
			}
			return os.Chown(path, 12345, 12345)
		}, "belongs to another user"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, writeOne)
			path, err := w.places().socketPath()
			if err != nil {
				t.Fatal(err)
			}
			if err := test.put(path); errors.Is(err, os.ErrPermission) {
				t.Skipf("files cannot be given away: %v", err)
			} else if err != nil {
				t.Fatal(err)
			}
			if _, _, err := Connect(t.Context(), w.options("one")); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("connecting: %v", err)
			}
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("it was taken away: %v", err)
			}
		})
	}
}

// A hub.json that names somebody else's socket is not followed.
func TestForeignRecord(t *testing.T) {
	w := newWorld(t, writeOne)
	p := w.places()
	if err := privateFolder(p.state); err != nil {
		t.Fatal(err)
	}
	victim := filepath.Join(filepath.Dir(w.root), "victim")
	if err := os.WriteFile(victim, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	rec := record{Version: Version(), PID: 1, Root: w.root, Storage: p.state, Socket: victim}
	if err := rec.write(p.state); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Connect(t.Context(), w.options("one")); !errors.Is(err, errForeign) {
		t.Errorf("connecting: %v", err)
	}
	os.Remove(p.record())
}

// A socket that a dead hub left is replaced.
func TestStaleSocket(t *testing.T) {
	w := newWorld(t, writeOne)
	path, err := w.places().socketPath()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	w.connect("one")
}

func TestPlaces(t *testing.T) {
	for name, want := range map[string]string{
		"project": "project", "my project": "my-project", "..": "root", ".config": "config", "日本": "root",
		"a/b\x00c": "a-b-c", strings.Repeat("x", 50): strings.Repeat("x", 32),
	} {
		if got := folderName(name); got != want {
			t.Errorf("folderName(%q) = %q, want %q", name, got, want)
		}
	}
	// Two ways to the same folder lead to the same hub.
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	real := filepath.Join(dir, "real")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	a, err1 := placesOf(real + "/./")
	b, err2 := placesOf(filepath.Join(dir, "link"))
	if err1 != nil || err2 != nil || a != b {
		t.Errorf("%+v, %v\n%+v, %v", a, err1, b, err2)
	}
}

// The socket's path stays short, however long the others are.
func TestSocketPath(t *testing.T) {
	w := newWorld(t, writeOne)
	long := filepath.Join(filepath.Dir(w.root), strings.Repeat("x", 100))
	t.Setenv("XDG_STATE_HOME", long)
	t.Setenv("XDG_RUNTIME_DIR", long)
	t.Setenv("TMPDIR", "/tmp")
	path, err := w.places().socketPath()
	if err != nil || len(path) > maxSocketPath || !strings.HasPrefix(path, fmt.Sprintf("/tmp/countersign-%d/", os.Geteuid())) {
		t.Errorf("%s, %v", path, err)
	}
	// Somebody else may not lay that folder out for us.
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	if len(tmp) > 60 {
		t.Skip("the folder for tests is too deep")
	}
	if err := os.Symlink("/tmp", filepath.Join(tmp, fmt.Sprintf("countersign-%d", os.Geteuid()))); err != nil {
		t.Fatal(err)
	}
	if _, err := w.places().socketPath(); err == nil || !strings.Contains(err.Error(), "not a folder") {
		t.Errorf("a symlink in its place: %v", err)
	}
}
