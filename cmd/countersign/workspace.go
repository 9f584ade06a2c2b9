package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"countersign/session"
	"countersign/session/hub"
)

// frontEnd is how the command line names itself to the hub and the journal.
const frontEnd = "command line"

// A workspace finds the hub that a subcommand talks to.
type workspace struct {
	root string // flag; empty: found from the current directory
}

func (w *workspace) flag(fs *flag.FlagSet) {
	fs.StringVar(&w.root, "root", "", "root `DIR` of the workspace (default: around the current directory)")
}

// candidates are the directories that may be the root, best first: the one
// named by the flag, or else the current directory and those above it.
func (w *workspace) candidates() ([]string, error) {
	if w.root != "" {
		dir, err := filepath.Abs(w.root)
		return []string{dir}, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, fmt.Errorf("find the current directory: %w", err)
	}
	dirs := []string{dir}
	for up := filepath.Dir(dir); up != dir; up = filepath.Dir(up) {
		dirs, dir = append(dirs, up), up
	}
	return dirs, nil
}

// startRoot is the root that a new hub is started for: the nearest directory
// with a .git, or else the first candidate.
func startRoot(candidates []string) string {
	for _, dir := range candidates {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
	}
	return candidates[0]
}

// A notRunningError says in full what hub.ErrNotRunning says in short, for a
// directory.
type notRunningError string

func (dir notRunningError) Error() string {
	return fmt.Sprintf("no hub runs for %s: nothing is pending there (an editor or countersign send starts one)", string(dir))
}

func (notRunningError) Unwrap() error { return hub.ErrNotRunning }

// connect attaches to the hub of the workspace that runs. With start, a hub is
// started when none runs.
func (w *workspace) connect(ctx context.Context, start bool) (*hub.Client, hub.AttachResult, error) {
	dirs, err := w.candidates()
	if err != nil {
		return nil, hub.AttachResult{}, err
	}
	o := hub.ConnectOptions{Name: frontEnd}
	for _, o.Root = range dirs {
		c, state, err := hub.Connect(ctx, o)
		if err == nil || !errors.Is(err, hub.ErrNotRunning) {
			return c, state, err
		}
	}
	if !start {
		return nil, hub.AttachResult{}, notRunningError(dirs[0])
	}
	o.Root, o.Start, o.Settings = startRoot(dirs), true, session.DefaultSettings()
	return hub.Connect(ctx, o)
}

// stopHub ends the hub that connect found to be of another version.
func (w *workspace) stopHub(ctx context.Context) error {
	dirs, err := w.candidates()
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		c, _, err := hub.Connect(ctx, hub.ConnectOptions{Root: dir, Name: frontEnd})
		switch {
		case err == nil: // it was replaced meanwhile
			defer c.Close()
			return c.Stop(ctx)
		case !errors.Is(err, hub.ErrNotRunning):
			return hub.StopHub(ctx, hub.ConnectOptions{Root: dir, Name: frontEnd})
		}
	}
	return nil // it ended meanwhile
}

// with connects, calls f and closes the connection. The context that f gets ends
// when the hub does not answer any more: a hub that hangs would keep people
// waiting for ever. What was asked of it is not done when it wakes up, since
// whoever asked has gone.
func (w *workspace) with(ctx context.Context, start bool, f func(context.Context, *hub.Client, hub.AttachResult) error) error {
	c, state, err := w.connect(ctx, start)
	if err != nil {
		return err
	}
	defer c.Close()
	watched, hangs := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer hangs(nil)
	watch.Go(func() { watchHub(watched, state.Root, hangs) })
	err = f(watched, c, state)
	if cause := context.Cause(watched); err != nil && cause != nil {
		return cause
	}
	return err
}

// watchHub looks every now and then whether the hub of a workspace still
// answers, and says why not.
func watchHub(ctx context.Context, root string, hangs func(error)) {
	look := time.NewTicker(10 * time.Second)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-look.C:
		}
		c, _, err := hub.Connect(ctx, hub.ConnectOptions{Root: root, Name: frontEnd})
		switch {
		case err == nil:
			c.Close()
		case errors.Is(err, hub.ErrSilent):
			hangs(err)
			return
		}
	}
}
