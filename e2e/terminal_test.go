//go:build linux

package e2e

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A terminal is one window of a tmux server of its own.
type terminal struct {
	t      *testing.T
	socket string
	env    []string
}

// openTerminal runs a program in a new terminal. The server, and with it the
// program, gets nothing but env.
func openTerminal(t *testing.T, dir, cwd string, env []string, argv ...string) *terminal {
	t.Helper()
	x := &terminal{t: t, socket: filepath.Join(dir, "tmux"), env: env}
	x.tmux(append([]string{
		"-f", "/dev/null", "new-session", "-d", "-s", "main", "-x", "220", "-y", "30", "-c", cwd, "--",
	}, argv...)...)
	// An Escape must not wait for what could follow it, and a program that
	// ended must leave its last screen.
	x.tmux("set-option", "-s", "escape-time", "0")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("last screen:\n%s", x.screen())
		}
		x.close()
	})
	return x
}

// tmux runs a command of this terminal's server, and fails the test if that fails.
func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	out, err := x.try(args...)
	if err != nil {
		x.t.Fatalf("tmux %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

func (x *terminal) try(args ...string) (string, error) {
	c := exec.CommandContext(context.Background(), parts.tmux, append([]string{"-S", x.socket}, args...)...)
	c.Env = x.env
	out, err := c.CombinedOutput()
	return string(out), err
}

// close ends the server and the program, and says nothing if they are gone.
func (x *terminal) close() { _, _ = x.try("kill-server") }

// ended tells whether the program has ended: its server goes with it.
func (x *terminal) ended() bool {
	_, err := x.try("has-session")
	var exit *exec.ExitError
	return errors.As(err, &exit)
}

// screen is what the terminal shows, without trailing blanks.
func (x *terminal) screen() string {
	out, err := x.try("capture-pane", "-p", "-t", "main")
	if err != nil {
		return "(" + strings.TrimSpace(out) + ")"
	}
	return out
}

// press sends keys by tmux's names: "Escape", "Enter", "C-x".
func (x *terminal) press(keys ...string) {
	x.t.Helper()
	x.tmux(append([]string{"send-keys", "-t", "main"}, keys...)...)
}

// enterText sends text as it is.
func (x *terminal) enterText(text string) {
	x.t.Helper()
	if before, ok := strings.CutSuffix(text, ";"); ok {
		text = before + `\;` // a last ; would separate two commands of tmux
	}
	x.tmux("send-keys", "-t", "main", "-l", text)
}
