package hub

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"go.uber.org/zap"
)

// agentsName is the file in the storage that names the processes this hub has
// started, for the hub after it, should this one be killed.
const agentsName = "agents.json"

// A child is a process of ours: its pid alone may come to mean another.
type child struct {
	PID     int    `json:"pid"`
	Started string `json:"started"` // when, in the system's own form
}

// noteAgents writes down the children this hub has now. Agents head their own
// process groups.
func (h *hub) noteAgents() {
	h.noting.Lock()
	defer h.noting.Unlock()
	var list []child
	for _, pid := range childrenOf(h.pid) {
		if started, err := startOf(pid); err == nil && !ended(pid) {
			list = append(list, child{pid, started})
		}
	}
	path := filepath.Join(h.record.Storage, agentsName)
	if len(list) == 0 {
		_ = os.Remove(path)
		return
	}
	data, err := json.Marshal(list)
	if err == nil {
		err = writeFile(path, data)
	}
	if err != nil {
		h.log.Warn("the agents' processes cannot be noted", zap.Error(err))
	}
}

func (h *hub) forgetAgents() { _ = os.Remove(filepath.Join(h.record.Storage, agentsName)) }

// endLeftovers ends what a hub that was killed has left running. The caller
// holds the lock of the workspace.
func endLeftovers(storage string, log *zap.Logger) {
	path := filepath.Join(storage, agentsName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var list []child
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	if err != nil {
		log.Warn("what an earlier hub left cannot be read", zap.Error(err))
	}
	for _, c := range list {
		if started, err := startOf(c.PID); err == nil && started == c.Started && c.PID > 1 {
			log.Warn("ending a process that an earlier hub left", zap.Int("left", c.PID))
			killGroup(c.PID)
		}
	}
	// An agent whose input has ended ends by itself; what it had started may not.
	for range 10 { // what is killed may just have started something
		left := markedBy(storage)
		if len(left) == 0 {
			break
		}
		for _, pid := range left {
			log.Warn("ending what an agent of an earlier hub had started", zap.Int("left", pid))
			killOne(pid)
		}
	}
	_ = os.Remove(path)
}
