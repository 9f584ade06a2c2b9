package nowait

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func writer(raw syscall.RawConn) func([]byte) (int, error) {
	var flags int
	var st unix.Stat_t
	var inner error
	err := raw.Control(func(fd uintptr) {
		if flags, inner = unix.FcntlInt(fd, unix.F_GETFL, 0); inner == nil {
			inner = unix.Fstat(int(fd), &st)
		}
	})
	if err != nil || inner != nil {
		return nil
	}
	if flags&unix.O_NONBLOCK != 0 {
		return func(p []byte) (n int, err error) {
			werr := raw.Write(func(fd uintptr) bool {
				n, err = unix.Write(int(fd), p)
				return true // not to be called again when it is full
			})
			return max(n, 0), errors.Join(unlessFull(err), werr)
		}
	}
	// A standard output that was given to us as it is: its writes may block, so
	// it is asked first. A pipe that takes anything takes a page, and a socket
	// takes more.
	if kind := st.Mode & unix.S_IFMT; kind != unix.S_IFIFO && kind != unix.S_IFSOCK {
		return nil
	}
	page := os.Getpagesize()
	return func(p []byte) (n int, err error) {
		if len(p) > page {
			return 0, nil
		}
		cerr := raw.Control(func(fd uintptr) {
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
			if k, perr := unix.Poll(ready, 0); perr == nil && k == 1 && ready[0].Revents == unix.POLLOUT {
				n, err = unix.Write(int(fd), p)
			}
		})
		return max(n, 0), errors.Join(unlessFull(err), cerr)
	}
}

// unlessFull is an error, unless it says that nothing more is taken for now.
func unlessFull(err error) error {
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return nil
	}
	return err
}
