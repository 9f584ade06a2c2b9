package hub

import (
	"errors"
	"testing"

	"go.uber.org/zap"
)

func TestCrowd(t *testing.T) {
	h := newHub(record{PID: 1}, zap.NewNop())
	for range maxSuspects {
		h.fronts[&front{suspect: errors.New("an agent's")}] = struct{}{}
	}
	if h.crowded(true) == nil {
		t.Error("agents' processes are taken without end")
	}
	if err := h.crowded(false); err != nil {
		t.Errorf("they keep a person out: %v", err)
	}
	for len(h.fronts) < maxFronts {
		h.fronts[&front{}] = struct{}{}
	}
	if h.crowded(false) == nil {
		t.Error("front ends are taken without end")
	}
}
