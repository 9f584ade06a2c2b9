//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreHangUps keeps the end of a terminal or of an editor from killing the
// process in the middle of something: the end of its input ends it in order.
func ignoreHangUps() { signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE) }
