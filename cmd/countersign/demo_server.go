package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// A serverProcess is a running countersign serve as a stream to talk LSP on,
// as an editor has it.
type serverProcess struct {
	cmd *exec.Cmd
	io.ReadCloser
	stdin io.WriteCloser
}

func startServer(ctx context.Context, s *scratch) (*serverProcess, error) {
	cmd := exec.CommandContext(ctx, s.program, "serve")
	cmd.Dir = s.project
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}
	return &serverProcess{cmd: cmd, ReadCloser: stdout, stdin: stdin}, nil
}

func (p *serverProcess) Write(b []byte) (int, error) { return p.stdin.Write(b) }

func (p *serverProcess) Close() error { return errors.Join(p.stdin.Close(), p.ReadCloser.Close()) }

// wait is for the end of a server that was told to exit.
func (p *serverProcess) wait() error { return p.cmd.Wait() }

// end makes sure that the process is gone. It may have ended before.
func (p *serverProcess) end() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}
