package scripted

import (
	"io/fs"
	"os"
	"syscall"
)

// WriteProgram writes a program or shell script that can be run at once.
//
// No other goroutine may fork while the file is open for writing: its child would
// hold the file open until it runs its own program, and to run ours would fail
// meanwhile with "text file busy".
func WriteProgram(path string, data []byte, mode fs.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	return os.Chmod(path, mode)
}
