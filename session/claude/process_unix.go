//go:build unix

package claude

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// readNow reads what a pipe holds, without waiting; nothing is an error.
func readNow(f *os.File, p []byte) (n int, err error) {
	f.SetReadDeadline(time.Time{})
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	if err := raw.Read(func(fd uintptr) bool {
		for {
			if n, failed = syscall.Read(int(fd), p); !errors.Is(failed, syscall.EINTR) {
				return true
			}
		}
	}); err != nil {
		return 0, err
	}
	switch {
	case n > 0:
		return n, nil
	case failed == nil:
		return 0, io.EOF
	}
	return 0, os.ErrDeadlineExceeded
}

// A group is a process with all that it starts, as far as that stays with it.
type group struct{ cmd *exec.Cmd }

// startGroup starts cmd at the head of a process group of its own.
func startGroup(cmd *exec.Cmd) (group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return group{cmd}, startOwned(cmd)
}

func (g group) terminate() { syscall.Kill(-g.cmd.Process.Pid, syscall.SIGTERM) }

func (g group) kill() { syscall.Kill(-g.cmd.Process.Pid, syscall.SIGKILL) }

// exitSignal is the signal that ended a process, "" for none.
func exitSignal(err *exec.ExitError) string {
	if ws, ok := err.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
