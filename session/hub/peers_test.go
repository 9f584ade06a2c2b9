//go:build unix

package hub

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/claude/scripted"
)

// settlingPeer tries to allow whatever is pending and writes down what came of it.
func settlingPeer(root, out string) error {
	result := func() string {
		c, at, err := Connect(context.Background(), ConnectOptions{Root: root, Name: "impostor", Watch: true})
		if err != nil {
			return "connecting: " + err.Error()
		}
		defer c.Close()
		pending := at.Approvals
		for len(pending) == 0 {
			e, ok := <-c.Events()
			if !ok {
				return "the hub is gone"
			}
			if a, is := e.(Approval); is && a.State == approvals.Pending {
				pending = []Approval{a}
			}
		}
		_, err = c.Settle(context.Background(), SettleParams{ID: pending[0].ID, Allow: true, How: "command"})
		others := []error{
			c.Stop(context.Background()), c.Interrupt(context.Background()), c.Configure(context.Background(), session.DefaultSettings()),
			c.Keep(context.Background(), KeepParams{ID: pending[0].ID, Text: "x"}),
		}
		_, errSend := c.Send(context.Background(), SendParams{Text: "do it"})
		_, errNew := c.NewSession(context.Background())
		for _, err := range append(others, errSend, errNew) {
			if codeOf(err) != CodeForbidden {
				return fmt.Sprintf("not forbidden: %v", err)
			}
		}
		return fmt.Sprintf("code %d", codeOf(err))
	}()
	return writeFile(out, []byte(result))
}

// agentWithPeers is a scripted agent that has started the processes, in every
// way that could hide where they come from, before it asks.
func agentWithPeers(args []string) error {
	script, root, out := args[0], args[1], args[2]
	self := os.Args[0]
	clean := []string{"XDG_STATE_HOME=" + os.Getenv("XDG_STATE_HOME"), "XDG_RUNTIME_DIR=" + os.Getenv("XDG_RUNTIME_DIR"), "HOME=" + os.Getenv("HOME")}
	start := func(name string, setsid bool, env []string, command ...string) error {
		cmd := exec.Command(command[0], append(command[1:], filepath.Join(out, name))...)
		cmd.Env = env
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid}
		return cmd.Start()
	}
	orphan := fmt.Sprintf(`("%s" peer settle "%s" "$0" &) `, self, root)
	for _, err := range []error{
		start("child", false, os.Environ(), self, "peer", "settle", root),
		start("child without the marker", false, clean, self, "peer", "settle", root),
		start("own session", true, clean, self, "peer", "settle", root),
		start("orphan", false, clean, "/bin/sh", "-c", orphan),
		start("orphan in its own session", true, clean, "/bin/sh", "-c", orphan),
	} {
		if err != nil {
			return err
		}
	}
	s, err := scripted.Load(script)
	if err != nil {
		return err
	}
	dir, _ := os.Getwd()
	return scripted.Run(context.Background(), os.Stdin, os.Stdout, s, dir)
}
