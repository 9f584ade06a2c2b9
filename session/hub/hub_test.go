//go:build unix

package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/claude/scripted"
)

// The test binary is also the hub, the scripted agent and other processes.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "hub":
			exit(Main(context.Background(), os.Args[2:], RunOptions{}))
		case "agent":
			script, err := scripted.Load(os.Args[2])
			if err != nil {
				exit(err)
			}
			dir, _ := os.Getwd()
			err = scripted.Run(context.Background(), os.Stdin, os.Stdout, script, dir)
			os.Exit(scripted.ExitCode(err))
		case "cli": // as a command, with the CLI's arguments
			os.Exit(scripted.Main(context.Background(), os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
		case "agent-with-peers":
			exit(agentWithPeers(os.Args[2:]))
		case "peer":
			exit(peerProcess(os.Args[2:]))
		}
	}
	goleak.VerifyTestMain(childless{m})
}

// childless runs the tests and then waits for the hubs that they started: a hub
// that does not end, or that leaves a process to this one, is a failure.
type childless struct{ m *testing.M }

func (c childless) Run() int {
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // under -race a second for each of many short processes
	code := c.m.Run()
	deadline := time.Now().Add(time.Minute)
	for len(childrenOf(os.Getpid())) > 0 {
		if time.Now().After(deadline) {
			fmt.Fprintln(os.Stderr, "processes are left:", childrenOf(os.Getpid()))
			return max(code, 1)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return code
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// A world is a workspace with places of its own for everything.
type world struct {
	*testing.T
	root   string
	script string
	exe    []string
}

func newWorld(t *testing.T, script string) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, root: filepath.Join(base, "a project"), script: filepath.Join(base, "script.json")}
	run := filepath.Join(base, "run")
	for _, dir := range []string{w.root, run} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(w.script, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_STATE_HOME", filepath.Join(base, "state"))
	t.Setenv("XDG_RUNTIME_DIR", run)
	t.Setenv("COUNTERSIGN_AGENT", "")
	os.Unsetenv("COUNTERSIGN_AGENT")
	t.Cleanup(w.end)
	return w
}

func (w *world) places() places {
	w.Helper()
	p, err := placesOf(w.root)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

func hasEnded(dir string) bool {
	rec, err := readRecord(dir)
	return err == nil && rec.ended()
}

// end ends the hub of the world, if one runs, and checks what it leaves.
func (w *world) end() {
	// What is left of a hub may still write its log.
	defer w.waitFor("the end of every process", func() bool { return len(childrenOf(os.Getpid())) == 0 })
	p := w.places()
	rec, err := readRecord(p.state)
	if err != nil || rec.ended() {
		return
	}
	if c, _, err := Connect(context.Background(), ConnectOptions{Root: w.root, Name: "the test's end"}); err == nil {
		if err := c.Stop(context.Background()); err != nil {
			w.Errorf("stopping the hub: %v", err)
		}
		c.Close()
	} else if rec.PID != os.Getpid() {
		_ = syscall.Kill(rec.PID, syscall.SIGKILL)
	}
	w.waitFor("the lock", func() bool {
		lock, err := takeLock(p.lockFile())
		if err == nil {
			lock.Close()
		}
		return err == nil
	})
	if rec.PID != os.Getpid() {
		w.waitFor("the hub's end", func() bool { _, err := startOf(rec.PID); return err != nil })
	}
	if w.Failed() {
		log, _ := os.ReadFile(p.log())
		w.Logf("hub.log:\n%s", log)
	}
}

// waitFor waits for a condition of another process.
func (w *world) waitFor(what string, holds func() bool) {
	w.Helper()
	deadline := time.Now().Add(time.Minute) // of a failing test
	for !holds() {
		if time.Now().After(deadline) {
			w.Fatalf("%s: waited in vain", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (w *world) settings() session.Settings {
	s := session.DefaultSettings()
	s.Agent.Command = []string{os.Args[0], "agent", w.script}
	return s
}

func (w *world) options(name string) ConnectOptions {
	return ConnectOptions{Root: w.root, Name: name, Settings: w.settings(), Watch: true, Start: true, Executable: w.exe}
}

func (w *world) connect(name string) (*Client, AttachResult) {
	w.Helper()
	c, at, err := Connect(w.Context(), w.options(name))
	if err != nil {
		w.Fatalf("connecting %s: %v", name, err)
	}
	w.Cleanup(func() { c.Close() })
	return c, at
}

// await takes events until one fits.
func await[E Event](w *world, c *Client, what string, fits func(E) bool) E {
	w.Helper()
	timer := time.After(time.Minute)
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				w.Fatalf("%s: the events end", what)
			}
			if got, is := e.(E); is && fits(got) {
				return got
			}
			if lost, is := e.(Lost); is {
				w.Fatalf("%s: the hub is lost: %v", what, lost.Err)
			}
		case <-timer:
			w.Fatalf("%s: waited in vain", what)
		}
	}
}

func (w *world) pendingOf(c *Client) Approval {
	w.Helper()
	return await(w, c, "a pending approval", func(a Approval) bool { return a.State == approvals.Pending })
}

func (w *world) read(name string) string {
	data, err := os.ReadFile(filepath.Join(w.root, name))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

func (w *world) send(c *Client, text string) {
	w.Helper()
	if _, err := c.Send(w.Context(), SendParams{Text: text, Env: os.Environ()}); err != nil {
		w.Fatalf("sending: %v", err)
	}
}

func codeOf(err error) int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
