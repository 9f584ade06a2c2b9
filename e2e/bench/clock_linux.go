package main

import "golang.org/x/sys/unix"

// clock is the time in nanoseconds, comparable between processes.
func clock() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every Linux has it
	}
	return t.Nano()
}
