//go:build linux

package e2e

import (
	"testing"
	"time"
)

// Deadlines are for what never comes; what comes is seen within a look.
const (
	patience = 90 * time.Second
	look     = 50 * time.Millisecond
)

// eventually looks again and again until the condition holds, and fails the test
// with what it saw last when that does not happen.
func eventually(t *testing.T, what string, condition func() (holds bool, seen string)) {
	t.Helper()
	if seen, ok := within(patience, condition); !ok {
		t.Fatalf("waited %v for: %s\nsaw: %s", patience, what, seen)
	}
}

// remains fails the test when the condition stops holding before the time is
// over. It is for what must not happen, and no event says that it did not.
func remains(t *testing.T, what string, span time.Duration, condition func() (holds bool, seen string)) {
	t.Helper()
	if seen, ended := within(span, func() (bool, string) {
		holds, seen := condition()
		return !holds, seen
	}); ended {
		t.Fatalf("no longer: %s\nsaw: %s", what, seen)
	}
}

func within(span time.Duration, condition func() (bool, string)) (string, bool) {
	deadline := time.NewTimer(span)
	defer deadline.Stop()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		holds, seen := condition()
		if holds {
			return seen, true
		}
		select {
		case <-deadline.C:
			return seen, false
		case <-tick.C:
		}
	}
}
