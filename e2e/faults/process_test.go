//go:build linux

package faults

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// running are the processes of this world: pid → command line. Corpses are none.
func (w *world) running() map[int]string {
	mark := []byte(markVariable + "=" + w.dir + "\x00")
	found := map[int]string{}
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		env, err := os.ReadFile(p + "/environ")
		if err != nil || !bytes.Contains(append(env, 0), mark) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(p))
		line, _ := os.ReadFile(p + "/cmdline")
		found[pid] = string(bytes.TrimSpace(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	for _, pid := range w.hung {
		if alive(pid) {
			found[pid] = "(unmarked)"
		}
	}
	return found
}

// alive says whether a process runs and is no corpse.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && stat[bytes.LastIndexByte(stat, ')')+2] != 'Z'
}

// only finds the one process of the world whose command line holds all words.
func (w *world) only(words ...string) int {
	w.t.Helper()
	var pid int
	w.eventually(fmt.Sprintf("one process with %q", words), func() (bool, string) {
		n := 0
		all := w.running()
		for p, line := range all {
			if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
				pid = p
				n++
			}
		}
		return n == 1, fmt.Sprint(all)
	})
	return pid
}

// kill ends a process of the world in a way that it cannot see coming.
func (w *world) kill(pid int) { w.signal(pid, syscall.SIGKILL) }

func (w *world) signal(pid int, s syscall.Signal) {
	w.t.Helper()
	if err := syscall.Kill(pid, s); err != nil {
		w.t.Fatalf("kill %d: %v", pid, err)
	}
}

// nothingRuns waits until no process of the world is left.
func (w *world) nothingRuns() {
	w.t.Helper()
	w.eventually("no process is left", func() (bool, string) {
		left := w.running()
		return len(left) == 0, fmt.Sprint(left)
	})
}

// end checks what holds in every world, and clears it away.
func (w *world) end() {
	defer os.RemoveAll(w.dir)
	if w.t.Failed() {
		w.report()
	}
	for _, path := range w.logs() {
		data, _ := os.ReadFile(path)
		w.noCrash(path, string(data))
	}
	got := w.files()
	for name, text := range w.want {
		if got[name] != text {
			w.t.Errorf("%s of the project is %.200q, want %.200q", name, got[name], text)
		}
	}
	for name := range got {
		if _, ok := w.want[name]; !ok && !strings.HasPrefix(name, ".countersign") {
			w.t.Errorf("the project has a file %s", name)
		}
	}
	_ = w.cs("stop", "--hub") // there may be no hub
	deadline := time.Now().Add(time.Minute)
	for len(w.running()) > 0 && time.Now().Before(deadline) {
		time.Sleep(look)
	}
	for pid, line := range w.running() {
		w.t.Errorf("left behind: %d %s", pid, line)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// logs are those of the hubs of this world.
func (w *world) logs() []string {
	logs, _ := filepath.Glob(w.at("state/countersign/*/hub.log*"))
	return logs
}

// noCrash checks that nothing in a log is of a program that broke.
func (w *world) noCrash(name, log string) {
	w.t.Helper()
	for _, bad := range []string{"panic", "DATA RACE", "fatal error", "goroutine "} {
		if i := strings.Index(log, bad); i >= 0 {
			w.t.Errorf("%s has %q: %.3000s", name, bad, log[max(0, i-200):])
		}
	}
}

// report shows what a failed test left.
func (w *world) report() {
	for _, name := range []string{"model.jsonl"} {
		if data, err := os.ReadFile(w.at(name)); err == nil {
			w.t.Logf("%s:\n%.4000s", name, data)
		}
	}
	for _, path := range w.logs() {
		data, _ := os.ReadFile(path)
		w.t.Logf("%s:\n%.4000s", path, data)
	}
	w.t.Logf("running: %v", w.running())
}

// Steps and calls of scripts.
