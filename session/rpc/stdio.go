package rpc

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Stdio is the process's standard input and output as one stream. Closing it
// closes both. The process should ignore SIGPIPE, or a write after the peer
// has gone ends it before it can wind up.
func Stdio() io.ReadWriteCloser { return stdio{} }

type stdio struct{}

// SyscallConn is that of the output: it is for writing.
func (stdio) SyscallConn() (syscall.RawConn, error) { return os.Stdout.SyscallConn() }

func (stdio) Read(p []byte) (int, error)  { return os.Stdin.Read(p) }
func (stdio) Write(p []byte) (int, error) { return os.Stdout.Write(p) }
func (stdio) Close() error                { return errors.Join(os.Stdout.Close(), os.Stdin.Close()) }
