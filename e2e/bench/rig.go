package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A rig is what is the same for all rows: the program that is measured, a
// folder for everything, and the environment of the processes.
type rig struct {
	dir         string // short, because sockets lie in it
	self        string
	countersign string
	env         []string
	closing     []func() error
}

// newRig builds the program (unless it is given) and makes the folders.
func newRig(countersign string) (*rig, error) {
	dir, err := os.MkdirTemp("", "cs-bench-")
	if err != nil {
		return nil, err
	}
	r := &rig{dir: dir, countersign: countersign}
	r.closing = append(r.closing, func() error { return os.RemoveAll(dir) })
	if r.self, err = os.Executable(); err != nil {
		return r, err
	}
	if countersign == "" {
		r.countersign = filepath.Join(dir, "countersign")
		build := exec.Command("go", "build", "-o", r.countersign, "countersign/cmd/countersign")
		if out, err := build.CombinedOutput(); err != nil {
			return r, fmt.Errorf("building countersign: %w\n%s", err, out)
		}
	}
	own := map[string]string{"HOME": dir, "XDG_STATE_HOME": filepath.Join(dir, "state"), "XDG_RUNTIME_DIR": filepath.Join(dir, "run")}
	for _, folder := range []string{"state", "run"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil {
			return r, err
		}
	}
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if _, ours := own[name]; !ours && !strings.HasPrefix(name, "COUNTERSIGN") {
			r.env = append(r.env, v)
		}
	}
	for name, value := range own {
		r.env = append(r.env, name+"="+value)
	}
	return r, nil
}

// close ends what is left of the processes and removes the folder.
func (r *rig) close() error {
	var errs []error
	for _, f := range slices.Backward(r.closing) {
		errs = append(errs, f())
	}
	r.closing = nil
	return errors.Join(errs...)
}

// command is a run of the measured program.
func (r *rig) command(args ...string) *exec.Cmd {
	cmd := exec.Command(r.countersign, args...)
	cmd.Env = r.env
	cmd.Stderr = os.Stderr
	return cmd
}

// workspace makes a folder to be a workspace's root.
func (r *rig) workspace(name string) (string, error) {
	root := filepath.Join(r.dir, "work", name)
	return root, os.MkdirAll(root, 0o700)
}

// stopHub ends the hub of a workspace, and waits until its process is gone: what
// it still writes must not come back after the folder was removed.
func (r *rig) stopHub(root string, pid int) error {
	cmd := r.command("stop", "--hub", "--root", root)
	cmd.Stderr = nil
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ending the hub of %s: %w: %s", root, err, out)
	}
	for began := time.Now(); alive(pid); time.Sleep(time.Millisecond) {
		if time.Since(began) > patience {
			return fmt.Errorf("the hub of %s, process %d, does not end", root, pid)
		}
	}
	return nil
}
