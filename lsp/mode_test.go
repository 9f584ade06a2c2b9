package lsp

import (
	"strings"
	"testing"

	"countersign/session"
	"countersign/session/hub"
)

func TestModeActions(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		other := fileURI(b.dir + "/other.go")
		b.hub.say(session.Info{State: session.StateIdle, ID: "s", Mode: "auto_edit", Name: "1", Current: true})
		got := b.codeActions(other, "")
		contains(t, "elsewhere", got, `"Countersign: session (mode auto_edit)…"`)
		lacks(t, "elsewhere", got, "Countersign: mode ")
		got = b.codeActions(other, `,"only":["countersign.mode"]`)
		if n := strings.Count(got, `"kind":"countersign.mode"`); n != len(session.Modes())-1 {
			t.Errorf("%d modes are offered by name: %s", n, got)
		}
		contains(t, "by name", got, `"Countersign: mode plan (plan only, edit nothing), now auto_edit"`)
		lacks(t, "by name", got, "mode auto_edit (")
		b.hub.info.Mode = "auto_edit"
		b.mustCommand("countersign.setMode", `{"mode":"ask-before-edit"}`)
		if len(b.hub.calls) != 1 || b.hub.calls[0] != "mode ask_before_edit" {
			t.Errorf("calls: %v", b.hub.calls)
		}
		if _, err := b.command("countersign.setMode", `{"mode":"default"}`); err == nil || !strings.Contains(err.Error(), "the modes are [plan ask_before_edit auto_edit auto bypass]") {
			t.Errorf("another word: %v", err)
		}
	})
}

// Every change of mode is told, once; one that lets more through is a warning.
func TestAModeThatChangesIsTold(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		say := func(mode string) {
			b.hub.say(session.Info{State: session.StateRunning, Name: "1", Current: true, Mode: mode})
		}
		say("ask_before_edit")
		say("ask_before_edit")
		say("plan")
		say("auto_edit")
		say("dontAsk")
		say("")
		say("plan") // another agent
		want := "3 The mode is now plan (plan only, edit nothing).\n" +
			"2 The mode is now auto_edit (edits pass, other tools ask).\n" +
			"2 The mode is now dontAsk."
		if got := b.messages(); got != want {
			t.Errorf("told:\n%s\nwant:\n%s", got, want)
		}
		b.hub.info = session.Info{State: session.StateRunning, Name: "1", Current: true, Mode: "plan"}
		b.mustCommand("countersign.setMode", `{"mode":"bypass"}`)
		if got := b.messages(); got != want+"\n3 Mode bypass: nothing is asked." {
			t.Errorf("told:\n%s", got)
		}
	})
}

// A decision that leads to a looser mode makes that no warning, but only if it was
// taken: the next change is somebody else's.
func TestALooserModeAfterARefusedDecision(t *testing.T) {
	for name, c := range map[string]struct {
		refuse error
		want   string
	}{
		"taken":   {nil, "3 The mode is now auto_edit"},
		"refused": {&hub.Error{Code: hub.CodeRefused, Message: "not now"}, "2 The mode is now auto_edit"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, benchOptions{}, func(t *testing.T, b *bench) {
				b.hub.say(session.Info{State: session.StateRunning, Name: "1", Current: true, Mode: "ask_before_edit"})
				a := b.hub.propose("req-00000001", "a.txt", was, is)
				a.Session, a.SessionWords = "1", "accept all file edits (mode acceptEdits)"
				b.hub.tell(a)
				b.hub.refuse = c.refuse
				_, err := b.command("countersign.allowForSession", `{"id":"`+a.ID+`"}`)
				if (err == nil) != (c.refuse == nil) {
					t.Errorf("decided: %v", err)
				}
				b.hub.say(session.Info{State: session.StateRunning, Name: "1", Current: true, Mode: "auto_edit"})
				contains(t, "messages", b.messages(), c.want)
			})
		})
	}
}

func TestProgressOfSeveralSessions(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		b.hub.say(session.Info{Name: "1", State: session.StateRunning, Mode: "plan"})
		b.hub.say(session.Info{Name: "2", State: session.StateRunning, Mode: "auto", Current: true, Activity: "Bash"})
		b.notify("window/workDoneProgress/cancel", `{"token":"countersign/turn/1"}`)
		b.hub.say(session.Info{Name: "1", State: session.StateIdle})
		want := []string{
			`{"token":"countersign/turn/1","value":{"kind":"begin","title":"Countersign","cancellable":true,"message":"the agent works (plan)"}}`,
			`{"token":"countersign/turn/1","value":{"kind":"report","message":"session 1: the agent works (plan)"}}`,
			`{"token":"countersign/turn/2","value":{"kind":"begin","title":"Countersign","cancellable":true,"message":"session 2: Bash (auto)"}}`,
			`{"token":"countersign/turn/1","value":{"kind":"end"}}`,
		}
		got := b.sent("$/progress")
		if len(got) != len(want) {
			t.Fatalf("progress: %q", got)
		}
		for i := range want {
			sameJSON(t, "progress", got[i], want[i])
		}
		if len(b.hub.calls) != 1 || b.hub.calls[0] != "interrupt 1" {
			t.Errorf("calls: %v", b.hub.calls)
		}
	})
}
