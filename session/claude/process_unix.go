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

// ownGroup puts the agent at the head of a process group, so that what it
// starts can be ended with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func terminateGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// exitSignal is the signal that ended a process, "" for none.
func exitSignal(err *exec.ExitError) string {
	if ws, ok := err.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
