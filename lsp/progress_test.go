package lsp

import (
	"testing"

	"countersign/session"
)

func TestProgressOfATurn(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		b.hub.say(session.Info{State: session.StateStarting})
		b.hub.say(session.Info{State: session.StateRunning, Activity: "Edit a.txt", Mode: "plan", Pending: 1})
		b.hub.say(session.Info{State: session.StateRunning, Activity: "Edit a.txt", Mode: "plan", Pending: 1})
		b.notify("window/workDoneProgress/cancel", `{"token":"countersign/turn/1"}`)
		b.notify("window/workDoneProgress/cancel", `{"token":7}`)
		b.hub.say(session.Info{State: session.StateIdle})
		b.hub.say(session.Info{State: session.StateRunning})
		want := []string{
			`{"token":"countersign/turn/1","value":{"kind":"begin","title":"Countersign","cancellable":true,"message":"the agent starts"}}`,
			`{"token":"countersign/turn/1","value":{"kind":"report","message":"1 waiting; Edit a.txt (plan)"}}`,
			`{"token":"countersign/turn/1","value":{"kind":"end"}}`,
			`{"token":"countersign/turn/2","value":{"kind":"begin","title":"Countersign","cancellable":true,"message":"the agent works"}}`,
		}
		got := b.sent("$/progress")
		if len(got) != len(want) {
			t.Fatalf("progress: %q", got)
		}
		for i := range want {
			sameJSON(t, "progress", got[i], want[i])
		}
		if len(b.hub.calls) != 1 || b.hub.calls[0] != "interrupt" {
			t.Errorf("calls: %v", b.hub.calls)
		}
	})
}

func TestNoProgressWhereItIsNotTaken(t *testing.T) {
	run(t, benchOptions{client: `"capabilities":{}`}, func(t *testing.T, b *bench) {
		b.hub.say(session.Info{State: session.StateRunning})
		if n := len(b.sent("window/workDoneProgress/create")); n != 0 {
			t.Errorf("%d tokens", n)
		}
	})
}

// An editor that refuses the token is not asked again for the same turn.
func TestProgressRefused(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		delete(b.answer, "window/workDoneProgress/create")
		b.hub.say(session.Info{State: session.StateRunning})
		b.hub.say(session.Info{State: session.StateRunning, Activity: "x"})
		b.hub.say(session.Info{State: session.StateIdle})
		if n := len(b.sent("window/workDoneProgress/create")); n != 1 {
			t.Errorf("%d tokens", n)
		}
		if got := b.sent("$/progress"); len(got) != 0 {
			t.Errorf("progress: %v", got)
		}
	})
}
