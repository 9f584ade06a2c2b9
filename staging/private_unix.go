//go:build unix

package staging

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const (
	// modesCount: permission bits mean something here.
	modesCount = true
	// openExtra keeps open(2) from waiting on a pipe.
	openExtra = syscall.O_NONBLOCK | syscall.O_NOFOLLOW
)

// refuseOwner says who else owns a file.
func refuseOwner(fi fs.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	if me := os.Geteuid(); int64(st.Uid) != int64(me) {
		return fmt.Errorf("belongs to another user (uid %d, not %d)", st.Uid, me)
	}
	return nil
}

// identity is what tells two files of the same name apart.
func identity(fi fs.FileInfo) (inode, device uint64) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return uint64(st.Ino), uint64(st.Dev)
}
