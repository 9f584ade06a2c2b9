package session

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
)

func TestModeIsWhatTheAgentReportedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		defer b.Close()
		if !b.RequiresRestartFor(Plan) || b.RequiresRestartFor(Mode{}) {
			t.Error("the two special cases do not hold without an agent")
		}
		a := b.start(t)
		synctest.Wait()
		if a.o.Mode != "" {
			t.Errorf("started in %q though no mode is established", a.o.Mode)
		}
		if !b.RequiresRestartFor(Plan) || b.RequiresRestartFor(AskBeforeEdit) {
			t.Error("what was reported does not count")
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
		if b.told() != "" || len(a.modes) != 0 {
			t.Errorf("told %q, asked for %q", b.told(), a.modes)
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
		if len(a.modes) != 0 || b.Info().NextMode != "auto_edit" {
			t.Errorf("applied before Send: %+v", b.Info())
		}
		b.Send("live", nil, DefaultSettings())
		if i := b.Info(); !slices.Equal(a.modes, []string{"acceptEdits"}) || b.agents.count() != 1 || i.Mode != "auto_edit" || i.NextMode != "" {
			t.Errorf("live change: %q, %d agents, %+v", a.modes, b.agents.count(), i)
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
		a2.events <- Initialized{Mode: "bypassPermissions"}
		synctest.Wait()
		if got := a2.messages(); !slices.Equal(got, []string{"restarted"}) {
			t.Errorf("the new agent got %q", got)
		}
		if i := b.Info(); i.NextMode != "" || i.Mode != "bypass" {
			t.Errorf("%+v", i)
		}
	})
}
