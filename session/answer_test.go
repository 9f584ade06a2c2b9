package session

import (
	"testing"
	"testing/synctest"

	"countersign/approvals"
)

// The answer to what an agent asked that is lost does not go to the one after it.
func TestAnswerForALostAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		first := b.start(t)
		first.events <- request("r-1", "Bash")
		synctest.Wait()
		// It is settled on the desk while the agent is lost and another one started.
		b.desk.settled = func() {
			b.desk.settled = nil
			first.end(Exited{Code: 1, Explanation: "killed"})
			synctest.Wait()
			b.start(t)
		}
		_, notes, err := b.Settle("a-r-1", approvals.Decision{Allow: true})
		second := b.agents.last(t)
		if second == first {
			t.Fatal("no second agent")
		}
		if _, answered := second.answerTo("r-1"); answered {
			t.Error("the second agent was answered what the first one asked")
		}
		if err == nil && len(notes) == 0 {
			t.Error("nobody was told that the answer reached no agent")
		}
	})
}
