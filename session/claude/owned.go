package claude

import (
	"os/exec"
	"sync"
)

// owned are the processes that os/exec waits for. A process that reaps orphans
// must leave these alone, or their exit status is lost.
var owned = struct {
	mu sync.Mutex
	// guarded by mu:
	pids map[int]bool
}{pids: make(map[int]bool)}

// startOwned starts cmd. The lock is held meanwhile, so that Owned cannot be
// asked about a process that runs but is not in the table yet.
func startOwned(cmd *exec.Cmd) error {
	owned.mu.Lock()
	defer owned.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return err
	}
	owned.pids[cmd.Process.Pid] = true
	return nil
}

func disown(pid int) {
	owned.mu.Lock()
	delete(owned.pids, pid)
	owned.mu.Unlock()
}

// Owned says whether pid is an agent's process that this package waits for
// itself. It is true from before the process runs until it has been waited for.
// Ask it between looking at a dead child and reaping it.
func Owned(pid int) bool {
	owned.mu.Lock()
	defer owned.mu.Unlock()
	return owned.pids[pid]
}
