//go:build unix

package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return errHeld
		}
		return err
	}
}

// refuseOwner says who else owns a file.
func refuseOwner(fi fs.FileInfo) error {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok && int64(st.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("belongs to another user (uid %d, not %d)", st.Uid, os.Geteuid())
	}
	return nil
}

// detach gives a hub its own session, so that neither the terminal nor the
// process group of the front end takes it along.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// readyPipe makes the pipe by which a hub tells that it is ready; its number in
// the hub is the int returned.
func readyPipe(cmd *exec.Cmd) (ours, theirs *os.File, fd int, err error) {
	ours, theirs, err = os.Pipe()
	if err != nil {
		return nil, nil, 0, err
	}
	cmd.ExtraFiles = []*os.File{theirs}
	return ours, theirs, 3, nil
}

// dropInherited closes what this process inherited beside its standard streams
// and keep. What it has opened itself is marked to be closed on exec.
func dropInherited(keep int) {
	for fd := 3; fd < 1024; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 && fd != keep {
			_ = unix.Close(fd)
		}
	}
}

// ignoreSignals: a hub's peers and its terminal may go at any time.
func ignoreSignals() { signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP) }

// killGroup ends the process group that pid heads.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}
