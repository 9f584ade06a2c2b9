package claude

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// wait waits for the process and ends what is left of its group. The group is
// killed while its dead head is not reaped yet: until then no other process or
// group can have its number.
func (g group) wait() error {
	for {
		err := unix.Waitid(unix.P_PID, g.cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	g.kill()
	return g.cmd.Wait()
}

// widen makes a pipe hold 1 MiB where the system allows it: lines with a whole
// file inside are then handed over in few switches between the processes.
func widen(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
}
