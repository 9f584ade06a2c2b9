package hub

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/go-json-experiment/json"
)

// hubMarker is the variable that marks the environment of a hub process.
const hubMarker = "COUNTERSIGN_HUB"

// start starts a hub in the background and waits until it is ready. held means
// that another one already has the workspace.
func start(ctx context.Context, p places, o ConnectOptions) (held bool, err error) {
	if err := privateFolder(p.state); err != nil {
		return false, fmt.Errorf("the state folder cannot be used: %w", err)
	}
	command := o.Executable
	if len(command) == 0 {
		exe, err := ownExecutable()
		if err != nil {
			return false, fmt.Errorf("the hub cannot be started: %w", err)
		}
		command = []string{exe}
	}
	args := append(command[1:len(command):len(command)], "hub", "--"+flagRoot, p.root)
	if o.Settings.Storage != "" {
		args = append(args, "--"+flagStorage, o.Settings.Storage)
	}
	cmd := exec.Command(command[0], args...)
	if path, err := os.Executable(); err == nil && len(o.Executable) == 0 {
		cmd.Args[0] = path // how it shows in the list of processes
	}
	cmd.Env = append(os.Environ(), hubMarker+"=1")
	cmd.Dir = p.state // not the workspace: the hub must not keep a folder from being removed
	detach(cmd)
	ours, theirs, fd, err := readyPipe(cmd)
	if err != nil {
		return false, fmt.Errorf("the hub cannot be started: %w", err)
	}
	if fd > 0 {
		cmd.Args = append(cmd.Args, "--"+flagReadyFD, fmt.Sprint(fd))
	}
	// What the hub says when it cannot log any more, such as why it crashed.
	if log, err := os.OpenFile(p.log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err == nil {
		cmd.Stdout, cmd.Stderr = log, log
		defer log.Close()
	}
	err = cmd.Start()
	if theirs != nil {
		theirs.Close()
	}
	if err != nil {
		if ours != nil {
			ours.Close()
		}
		return false, fmt.Errorf("the hub cannot be started: %w", err)
	}
	gone := make(chan struct{})
	go func() { // reaps the hub, should it end before this front end does
		defer close(gone)
		_ = cmd.Wait()
	}()
	if ours == nil {
		return awaitRecord(ctx, p, cmd.Process.Pid, gone)
	}
	defer ours.Close()
	stop := context.AfterFunc(ctx, func() { ours.Close() })
	defer stop()
	line, err := bufio.NewReader(ours).ReadBytes('\n')
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	var r readiness
	if err == nil {
		err = json.Unmarshal(line, &r)
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("the hub ended before it was ready (%s): %s", p.log(), tailOf(p.log()))
	case r.Held:
		return true, nil
	case !r.Ready:
		return false, fmt.Errorf("the hub cannot run: %s", r.Error)
	}
	return false, nil
}

// awaitRecord waits for hub.json where there is no pipe to tell.
func awaitRecord(ctx context.Context, p places, pid int, gone <-chan struct{}) (held bool, err error) {
	wait := newBackoff()
	for {
		if rec, err := readRecord(p.state); err == nil && rec.PID == pid && !rec.ended() {
			return false, nil
		}
		select {
		case <-gone: // another hub has the lock, or this one could not run
			if lock, err := takeLock(p.lockFile()); err == nil {
				lock.Close()
				return false, fmt.Errorf("the hub ended before it was ready (%s): %s", p.log(), tailOf(p.log()))
			} else if !errors.Is(err, errHeld) {
				return false, err
			}
			return true, nil
		default:
		}
		if err := wait.next(ctx); err != nil {
			return false, err
		}
	}
}
