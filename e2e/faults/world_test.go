//go:build linux

package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"countersign/approvals"
	"countersign/session/claude/scripted"
	"countersign/session/hub"
)

// markVariable is in the environment of every process of a world, with the
// world's folder as its value, unless somebody took it out.
const markVariable = "COUNTERSIGN_FAULTS"

// patience is for what never comes; what comes is seen within a look.
const (
	patience = 60 * time.Second
	look     = 10 * time.Millisecond
)

// A world is all that one test touches.
type world struct {
	t       *testing.T
	dir     string // short: sockets lie below it
	project string // the workspace, with all its links resolved
	env     map[string]string
	as      *syscall.Credential // whose the processes are; nil: ours
	want    map[string]string   // what the project has to hold in the end
	hung    []int               // processes that do not bear the mark, to be gone in the end too
}

// An option changes a world before anything runs in it.
type option func(*world)

// projectAt puts the workspace at a place of its own, below the world's folder.
func projectAt(path string) option {
	return func(w *world) { w.project = filepath.Join(w.dir, path) }
}

// setting sets a variable of the environment; "" takes it out.
func setting(name, value string) option {
	return func(w *world) {
		if value == "" {
			delete(w.env, name)
			return
		}
		w.env[name] = strings.ReplaceAll(value, "$WORLD", w.dir)
	}
}

// unprivileged makes all processes those of a user whom permissions hold back.
func unprivileged(w *world) {
	if os.Geteuid() == 0 {
		w.as = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
}

// files are those of every project at first.
var files = map[string]string{
	"a.txt": "one\ntwo\nthree\n",
	"b.txt": "keep me\n",
}

func newWorld(t *testing.T, options ...option) *world {
	t.Helper()
	t.Parallel()
	dir, err := os.MkdirTemp("", "cf") // t.TempDir is too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, project: filepath.Join(dir, "project"), want: map[string]string{}}
	w.env = map[string]string{
		markVariable: dir, "HOME": w.at("home"), "PATH": w.at("bin") + ":/usr/local/bin:/usr/bin:/bin",
		"XDG_STATE_HOME": w.at("state"), "XDG_RUNTIME_DIR": w.at("run"), "TMPDIR": w.at("tmp"), "LANG": "C.UTF-8",
	}
	if raced {
		w.env["GORACE"] = "atexit_sleep_ms=0" // a second for each of many short processes
	}
	t.Cleanup(w.end)
	for _, o := range options {
		o(w)
	}
	for _, d := range []string{"home", "bin", "state", "run", "tmp"} {
		w.folder(w.at(d))
	}
	w.folder(w.project)
	w.folder(filepath.Join(w.project, ".git"))
	for name, text := range files {
		w.write(w.path(name), text)
		w.want[name] = text
	}
	return w
}

// at is a path below the world's folder.
func (w *world) at(name string) string { return filepath.Join(w.dir, name) }

// path is a file of the project.
func (w *world) path(name string) string { return filepath.Join(w.project, name) }

// folder makes a folder, and those above it in the world, for the user of the world.
func (w *world) folder(path string) {
	w.t.Helper()
	if _, err := os.Stat(path); err == nil {
		return
	}
	if path != w.dir {
		w.folder(filepath.Dir(path))
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.give(path)
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.give(path)
}

// program is write for what is then run.
func (w *world) program(path, text string) {
	w.t.Helper()
	if err := scripted.WriteProgram(path, []byte(text), 0o700); err != nil {
		w.t.Fatal(err)
	}
	w.give(path)
}

// give makes a file belong to the user of the world.
func (w *world) give(path string) {
	w.t.Helper()
	if w.as == nil {
		return
	}
	if err := os.Lchown(path, int(w.as.Uid), int(w.as.Gid)); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chown(w.dir, int(w.as.Uid), int(w.as.Gid)); err != nil {
		w.t.Fatal(err)
	}
}

// claude makes shell the claude of the world's PATH.
func (w *world) claude(shell string) {
	w.t.Helper()
	path := filepath.Join(w.at("bin"), "claude")
	w.program(path, "#!/bin/sh\n"+shell)
}

// environment is the environment of the world's processes.
func (w *world) environment() []string {
	var env []string
	for name, value := range w.env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// process makes a command of countersign that is not started yet, in the project.
func (w *world) process(ctx context.Context, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, args...)
	c.Dir, c.Env = w.project, w.environment()
	if w.as != nil {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: w.as}
	}
	return c
}

// A said is what a command of countersign said.
type said struct {
	code     int
	out, err string
}

func (s said) String() string {
	return fmt.Sprintf("exit status %d\n-- stdout\n%s-- stderr\n%s", s.code, s.out, s.err)
}

// cs runs a command of countersign, as a person in a shell would.
func (w *world) cs(args ...string) said {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c := w.process(ctx, args...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if errs.Len() > 0 {
		w.t.Logf("countersign %q: %s", args, errs.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatalf("countersign %q: %v", args, err)
	}
	return said{c.ProcessState.ExitCode(), out.String(), errs.String()}
}

// must runs a command that has to succeed, and gives its output.
func (w *world) must(args ...string) string {
	w.t.Helper()
	s := w.cs(args...)
	if s.code != 0 {
		w.t.Fatalf("countersign %q: %v", args, s)
	}
	return s.out
}

// fails runs a command that has to fail with a code, in one clear line on
// standard error that holds all of the words.
func (w *world) fails(code int, words []string, args ...string) said {
	w.t.Helper()
	s := w.cs(args...)
	if s.code != code {
		w.t.Fatalf("countersign %q: want exit status %d, got %v", args, code, s)
	}
	w.oneSentence(s.err)
	for _, word := range words {
		if !strings.Contains(s.err, word) {
			w.t.Errorf("countersign %q does not say %q: %v", args, word, s)
		}
	}
	return s
}

// oneSentence checks that what a person is shown is one line and no dump.
func (w *world) oneSentence(text string) {
	w.t.Helper()
	line, ok := strings.CutSuffix(text, "\n")
	if !ok || line == "" || strings.Contains(line, "\n") {
		w.t.Errorf("this is not one line for a person: %q", text)
	}
	for _, bad := range []string{"goroutine ", "panic:", "<nil>", "%!", "0x"} {
		if strings.Contains(text, bad) {
			w.t.Errorf("this is not for a person (%q): %q", bad, text)
		}
	}
}

// pending are the approvals that wait, as the command line tells.
func (w *world) pending() []hub.Approval {
	w.t.Helper()
	var list []hub.Approval
	out := w.must("pending", "--json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		w.t.Fatalf("countersign pending --json: %v: %s", err, out)
	}
	return list
}

// awaitPending waits until exactly n approvals wait.
func (w *world) awaitPending(n int) (list []hub.Approval) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d pending approvals", n), func() (bool, string) {
		list = w.pending()
		return len(list) == n, fmt.Sprintf("%d", len(list))
	})
	return list
}

// status is how the hub does.
func (w *world) status() hub.Status {
	w.t.Helper()
	var st hub.Status
	if err := json.Unmarshal([]byte(w.must("status", "--json")), &st); err != nil {
		w.t.Fatal(err)
	}
	return st
}

// journal reads the journal through the command line, and checks its chain.
func (w *world) journal() []approvals.Record {
	w.t.Helper()
	if s := w.cs("log", "--verify"); s.code != 0 || !strings.Contains(s.out, "hold together") {
		w.t.Errorf("the journal does not hold together: %v", s)
	}
	var records []approvals.Record
	for line := range strings.Lines(w.must("log", "--json")) {
		var r approvals.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			w.t.Fatalf("journal: %v: %s", err, line)
		}
		records = append(records, r)
	}
	return records
}

// recorded waits for a record of the journal.
func (w *world) recorded(what string, is func(approvals.Record) bool) approvals.Record {
	w.t.Helper()
	var found approvals.Record
	w.eventually("in the journal: "+what, func() (bool, string) {
		records := w.journal()
		i := slices.IndexFunc(records, is)
		if i >= 0 {
			found = records[i]
		}
		return i >= 0, words(records)
	})
	return found
}

func words(records []approvals.Record) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "%d %s %s %s %s %s %s%s%s\n", r.Seq, r.Kind, r.ID, r.State, r.By.How, r.Title, r.Reason, r.Error, r.Event)
	}
	return b.String()
}

// undecided checks that nothing in the journal allows or denies anything.
func (w *world) undecided() {
	w.t.Helper()
	for _, r := range w.journal() {
		if r.Kind == approvals.RecordSettled && r.State != approvals.Withdrawn {
			w.t.Errorf("something was decided: %s %s by %+v", r.ID, r.State, r.By)
		}
	}
}

// noLeave checks that no tool ran but those named, each name once.
func (w *world) noLeave(but ...string) {
	w.t.Helper()
	for _, l := range w.model() {
		if l.Kind != "tool_result" || l.IsError {
			continue
		}
		if i := slices.Index(but, l.Tool); i >= 0 {
			but = slices.Delete(slices.Clone(but), i, i+1)
			continue
		}
		w.t.Errorf("the agent was given leave for %s: %s", l.Tool, l.Text)
	}
}

// files reads all files of the workspace.
func (w *world) files() map[string]string {
	w.t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(w.project, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(w.project, path)
		found[name] = string(data)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// eventually looks again until the condition holds.
func (w *world) eventually(what string, holds func() (ok bool, seen string)) {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		ok, seen := holds()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("waited in vain for: %s\nseen: %s", what, seen)
		}
		time.Sleep(look)
	}
}
