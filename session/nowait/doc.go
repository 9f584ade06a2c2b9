// Package nowait writes to a stream exactly what it takes without waiting: who
// has something to say then need not wake a goroutine for it, and still never
// waits for a peer that does not read.
//
// It knows nothing of what is written, and starts no goroutines.
package nowait

import "syscall"

// Writer gives a function that writes as much of its argument to w as is taken
// without waiting, and says how much that was; nil where there is no such way.
// No error means that the rest, if any, is to be written by other means. It is
// for one writer at a time.
func Writer(w any) func([]byte) (int, error) {
	c, ok := w.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return writer(raw)
}
