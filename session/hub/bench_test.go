//go:build unix

package hub

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/session/rpc"
	"countersign/staging"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// BenchmarkConnect measures what a front end waits for: attaching to a hub that
// runs, and to one that has to be started first.
func BenchmarkConnect(b *testing.B) {
	dir := b.TempDir()
	b.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	b.Setenv("XDG_RUNTIME_DIR", dir)
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		b.Fatal(err)
	}
	o := ConnectOptions{Root: root, Name: "bench", Watch: true, Start: true}
	b.Run("not up", func(b *testing.B) {
		for b.Loop() {
			c, _, err := Connect(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := c.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
			for range c.Events() {
			}
			p, _ := placesOf(root)
			for {
				if lock, err := takeLock(p.lockFile()); err == nil {
					lock.Close()
					break
				}
			}
			b.StartTimer()
		}
	})
	b.Run("up", func(b *testing.B) {
		first, _, err := Connect(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		defer first.Close()
		defer first.Stop(b.Context())
		for b.Loop() {
			c, _, err := Connect(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
	})
}

// BenchmarkNotify measures an approval's way from the desk to a front end.
func BenchmarkNotify(b *testing.B) {
	h := newHub(record{PID: os.Getpid()}, zap.NewNop())
	ours, theirs, err := socketPair()
	if err != nil {
		b.Fatal(err)
	}
	f := &front{hub: h, watch: true}
	f.conn = rpc.NewConn(b.Context(), ours, f, rpc.Options{})
	h.fronts[f] = struct{}{}
	c := newClient(b.Context(), theirs)
	defer f.conn.Close()
	defer c.Close()
	a := approvals.Approval{
		ID: "efan7mfit4vf2qik-9eb1a213", Title: "Edit greet.go", Path: "/home/somebody/project/greet.go", State: approvals.Pending,
		Surface: approvals.SurfaceProposal, Since: time.Now(), Staged: &staging.Staged{ID: "x", Path: "/home/somebody/.local/state/x/greet.go"},
		Request: approvals.Request{Tool: "Edit", Suggestions: []jsontext.Value{[]byte(`{"type":"setMode","mode":"acceptEdits","destination":"session"}`)}},
	}
	for b.Loop() {
		h.approvalChanged(a)
		<-c.Events()
	}
}

func socketPair() (a, b net.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	for i, c := range []*net.Conn{&a, &b} {
		f := os.NewFile(uintptr(fds[i]), "pair")
		defer f.Close()
		if *c, err = net.FileConn(f); err != nil {
			return nil, nil, err
		}
	}
	return a, b, nil
}
