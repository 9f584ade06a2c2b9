package session

import (
	"testing"
	"testing/synctest"
)

// A tighter mode binds from the moment it is asked for, whatever the agent says
// until it takes it: what it reports meanwhile is put back.
func TestATighterModeBindsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		settings := DefaultSettings()
		settings.PermissionMode = "acceptEdits"
		if _, err := b.Send("go", nil, settings); err != nil {
			t.Fatal(err)
		}
		a := b.agents.last(t)
		a.events <- Initialized{Version: "1", Mode: "acceptEdits"}
		synctest.Wait()
		taking := make(chan struct{})
		a.onMode = func() { <-taking }
		go b.SetMode("plan")
		synctest.Wait()
		b.mu.Lock()
		bound := b.granted
		b.mu.Unlock()
		if bound != "plan" {
			t.Errorf("bound to %q while the agent takes its time", bound)
		}
		close(taking)
		synctest.Wait()
		if got := b.Info().Mode; got != "plan" {
			t.Errorf("in mode %s", got)
		}
	})
}
