package hub

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return errHeld
	}
	return err
}

// refuseOwner: the folders of a user's profile are the user's by inheritance.
func refuseOwner(fs.FileInfo) error { return nil }

// detach frees a hub of the front end's console and its Ctrl-C.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS,
		HideWindow:    true,
	}
}

// readyPipe: no further handles are inherited here; the front end looks for
// hub.json instead.
func readyPipe(*exec.Cmd) (ours, theirs *os.File, fd int, err error) { return nil, nil, 0, nil }

// dropInherited: nothing is inherited here but the standard streams.
func dropInherited(int) {}

func ignoreSignals() {}

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}
