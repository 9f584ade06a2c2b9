//go:build unix

package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"countersign/session/claude/scripted"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write what the scripts compare with")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"countersign": main})
}

// TestScripts plays the command line as people and scripts use it. Each script
// has a project, state folders and, as the claude of its PATH, the scripted
// agent of its own, which plays script.json and tells in model.jsonl what the
// model would read. Beside testscript's own there are the commands
//
//	until REGEX PROGRAM ARGS…     run it until its output matches; $1 is then the first group
//	exits STATUS PROGRAM ARGS…    run it; it must end with that status
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: *update,
		Setup:         setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"until": until,
			"exits": exits,
		},
	})
}

func setUp(env *testscript.Env) error {
	// Sockets lie below it, and their paths have a length limit.
	short, err := os.MkdirTemp("", "csts")
	if err != nil {
		return err
	}
	vars := map[string]string{
		"XDG_RUNTIME_DIR": short, "XDG_STATE_HOME": filepath.Join(env.WorkDir, "state"), "HOME": filepath.Join(env.WorkDir, "home"),
		"TZ": "UTC", "TERM": "dumb", "PATH": filepath.Join(env.WorkDir, "bin") + ":" + env.Getenv("PATH"),
		"GORACE": "atexit_sleep_ms=0", // under -race a second for each of many short processes
	}
	for name, value := range vars {
		env.Setenv(name, value)
	}
	for _, dir := range []string{"home", "bin", "project/.git", "project/sub"} {
		if err := os.MkdirAll(filepath.Join(env.WorkDir, dir), 0o700); err != nil {
			return err
		}
	}
	claude := "#!/bin/sh\nexec countersign agent --script '" + filepath.Join(env.WorkDir, "script.json") + "' --log '" + filepath.Join(env.WorkDir, "model.jsonl") + "' \"$@\"\n"
	if err := scripted.WriteProgram(filepath.Join(env.WorkDir, "bin", "claude"), []byte(claude), 0o700); err != nil {
		return err
	}
	env.Cd = filepath.Join(env.WorkDir, "project")
	environment := env.Vars
	env.Defer(func() {
		stop := exec.Command("countersign", "stop", "--hub", "--root", filepath.Join(env.WorkDir, "project"))
		stop.Env = environment
		_ = stop.Run() // there may be none
		_ = os.RemoveAll(short)
	})
	return nil
}

// until runs a program until its output matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until REGEX PROGRAM ARGS...")
	}
	re, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		err := ts.Exec(args[1], args[2:]...)
		if m := re.FindStringSubmatch(ts.ReadFile("stdout") + ts.ReadFile("stderr")); m != nil {
			if len(m) > 1 {
				ts.Setenv("1", m[1])
			}
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%q never matched (%v)", args[0], err)
		}
	}
}

// exits runs a program that must end with a status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
