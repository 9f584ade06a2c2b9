package hub

import (
	"bytes"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"

	"countersign/session/claude"
)

// adopt makes this process the one that orphans of its agents come back to, so
// that they stay recognisable, and reaps them. Children of os/exec are left
// alone, or their exit status would be lost. The function returned ends what
// is left of the agents, and the reaping.
func (h *hub) adopt() (stop func()) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		h.log.Warn("orphans of agents cannot be adopted", zap.Error(err))
	}
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		// A child that os/exec has started is known as such only a moment
		// later; what is dead is therefore reaped when it was so twice.
		var dead []int
		again := time.NewTimer(0)
		defer again.Stop()
		for {
			select {
			case <-ended:
			case <-again.C:
			case <-quit:
				return
			}
			if dead = h.reap(dead); len(dead) > 0 {
				again.Reset(100 * time.Millisecond)
			}
		}
	}()
	return func() {
		h.endOrphans()
		signal.Stop(ended)
		close(quit)
		<-done
	}
}

// reap collects the dead orphans that were dead before, and returns those that
// are dead now.
func (h *hub) reap(before []int) (dead []int) {
	for _, pid := range childrenOf(h.pid) {
		if !ended(pid) || claude.Owned(pid) {
			continue
		}
		if slices.Contains(before, pid) {
			_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
			continue
		}
		dead = append(dead, pid)
	}
	return dead
}

// endOrphans kills everything that still descends from this process: the agents
// are closed by now, and what they left would have no hub to belong to.
func (h *hub) endOrphans() {
	for range 100 { // what is killed may just have started something
		var live []int
		for _, pid := range childrenOf(h.pid) {
			if !claude.Owned(pid) {
				live = append(live, pid)
			}
		}
		if len(live) == 0 {
			return
		}
		for _, pid := range live {
			killTree(pid, 0)
		}
		for _, pid := range live {
			_, _ = unix.Wait4(pid, nil, 0, nil)
		}
	}
	h.log.Warn("what the agents started cannot all be ended")
}

// markedBy lists the living processes that bear the mark of the agents of a
// storage, but for this process and those that it descends from: whoever starts
// a hub must not be ended by it.
func markedBy(storage string) []int {
	names := []string{storage}
	if real, err := filepath.EvalSymlinks(storage); err == nil && real != storage {
		names = append(names, real)
	}
	spared := map[int]bool{}
	for pid, n := os.Getpid(), 0; pid > 0 && n < maxAncestors; n++ {
		spared[pid] = true
		parent, err := parentOf(pid)
		if err != nil {
			break
		}
		pid = parent
	}
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, entry := range all {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid <= 1 || spared[pid] {
			continue
		}
		env, err := os.ReadFile("/proc/" + entry.Name() + "/environ") // of ours only
		if err != nil || len(env) == 0 {
			continue
		}
		for variable := range bytes.SplitSeq(env, []byte{0}) {
			value, ok := bytes.CutPrefix(variable, []byte(marker+"="))
			if ok && slices.Contains(names, string(value)) && !ended(pid) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

func killOne(pid int) { _ = unix.Kill(pid, unix.SIGKILL) }

// killTree kills a process and what descends from it, parents first: a parent
// that lives could start more.
func killTree(pid, depth int) {
	children := childrenOf(pid)
	_ = unix.Kill(pid, unix.SIGKILL)
	if depth < maxAncestors {
		for _, c := range children {
			killTree(c, depth+1)
		}
	}
}
