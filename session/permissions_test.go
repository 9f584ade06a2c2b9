package session

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"countersign/approvals"
)

func TestModeIsWhatTheAgentReportedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		if !b.RequiresRestartFor(Plan) || b.RequiresRestartFor(Mode{}) {
			t.Error("the two special cases do not hold without an agent")
		}
		b.SetPermissions("plan")
		a := b.start(t) // reports default, whatever it was started in
		synctest.Wait()
		if a.o.Mode != "plan" {
			t.Errorf("started in %q", a.o.Mode)
		}
		if !b.RequiresRestartFor(Plan) || b.RequiresRestartFor(AskBeforeEdit) {
			t.Error("the start flag counts, not what was reported")
		}
		if !strings.Contains(b.told(), `"default"`) {
			t.Errorf("the difference was not told: %q", b.told())
		}
		a.events <- ModeReported{Mode: "acceptEdits"}
		synctest.Wait()
		if b.Info().Mode != "auto_edit" || b.RequiresRestartFor(AutoEdit) {
			t.Errorf("after a change of its own: %+v", b.Info())
		}
		a.events <- ModeReported{Mode: "dontAsk"}
		synctest.Wait()
		if b.Info().Mode != "dontAsk" || !b.RequiresRestartFor(AutoEdit) {
			t.Errorf("a word of the agent's own: %+v", b.Info())
		}
	})
}

func TestSetPermissionsIsAppliedByTheNextSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		if err := b.SetPermissions("nonsense"); err == nil {
			t.Error("an unknown mode was taken")
		}
		a := b.start(t)
		a.events <- TurnEnded{}
		synctest.Wait()

		b.SetPermissions("auto-edit")
		if len(a.modes) != 0 {
			t.Error("applied before Send")
		}
		b.Send("live", nil, DefaultSettings())
		if !slices.Equal(a.modes, []string{"acceptEdits"}) || b.agents.count() != 1 || b.Info().Mode != "auto_edit" {
			t.Errorf("live change: %q, %d agents, %+v", a.modes, b.agents.count(), b.Info())
		}
		a.events <- TurnEnded{}
		synctest.Wait()

		a.refuse = errors.New("bypass_not_launched")
		b.SetPermissions("bypass")
		b.Send("restarted", nil, DefaultSettings())
		a2 := b.agents.last(t)
		if a2 == a || a2.o.Mode != "bypassPermissions" || a2.o.Resume != "s-1" || a2.o.Dir != "/w" {
			t.Errorf("restart: %+v", a2.o)
		}
		if got := a2.messages(); !slices.Equal(got, []string{"restarted"}) {
			t.Errorf("the new agent got %q", got)
		}
	})
}

func TestARefusedModeDoesNotTearDownARunningTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		a := b.start(t)
		a.events <- request("r-1", "Bash")
		synctest.Wait()
		a.refuse = errors.New("bypass_not_launched")
		b.SetPermissions("bypass")
		if _, err := b.Send("x", nil, DefaultSettings()); err == nil {
			t.Error("no error")
		}
		if b.desk.get("a-r-1").State != approvals.Pending || b.agents.count() != 1 || len(a.messages()) != 1 {
			t.Error("the turn was touched")
		}
	})
}
