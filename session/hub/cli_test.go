//go:build unix

package hub

import (
	"path/filepath"
	"strings"
	"testing"

	"countersign/approvals"
	"countersign/e2e/mockmodel"
	"countersign/e2e/realcli"
	"countersign/session"
)

// realCLI makes the sessions of a world the real CLI's, with a model on
// loopback, where there is one (realcli.Path says which).
func realCLI(t *testing.T, script mockmodel.Script) (s session.Settings, env []string, model *mockmodel.Server) {
	t.Helper()
	cli, env, model := realcli.Start(t, script)
	s = session.DefaultSettings()
	s.Agent.Command = []string{cli}
	return s, env, model
}

func TestRealCLISessionsSideBySide(t *testing.T) {
	w := newLocalWorld(t, `{}`)
	write := func(name string) mockmodel.Turn {
		return mockmodel.Use("Write", map[string]any{"file_path": filepath.Join(w.root, name), "content": name + "\n"})
	}
	settings, env, model := realCLI(t, mockmodel.Script{Conversations: []mockmodel.Conversation{
		{Match: "PROMPT-ONE", Turns: []mockmodel.Turn{write("one.txt"), mockmodel.Say("one is done"), mockmodel.Say("one goes on")}},
		{Match: "PROMPT-TWO", Turns: []mockmodel.Turn{write("two.txt"), mockmodel.Say("two is done")}},
	}})
	c := w.attach("one")
	send := func(text, name string) session.Info {
		t.Helper()
		i, err := c.Send(t.Context(), SendParams{Text: text, Session: name, Env: env, Settings: &settings})
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	send("PROMPT-ONE", "")
	if _, err := c.NewSessionWith(t.Context(), NewSessionParams{Beside: true}); err != nil {
		t.Fatal(err)
	}
	send("PROMPT-TWO", "")
	found := map[string]Approval{}
	for len(found) < 2 { // both ask at the same time
		a := await(w.world, c, "what they ask", func(a Approval) bool { return a.State == approvals.Pending && a.Session != "" })
		found[a.Session] = a
	}
	if a := found["1"]; filepath.Base(a.Path) != "one.txt" {
		t.Errorf("%+v", a)
	}
	w.settle(c, SettleParams{ID: found["2"].ID, Message: "keep two away"})
	w.settle(c, SettleParams{ID: found["1"].ID, Allow: true})
	idle := map[string]session.Info{}
	for len(idle) < 2 {
		i := await(w.world, c, "the ends of their turns", func(i session.Info) bool { return i.State == session.StateIdle && i.Turns == 1 })
		idle[i.Name] = i
	}
	if w.read("one.txt") != "one.txt\n" || w.read("two.txt") == "two.txt\n" {
		t.Errorf("one.txt %q, two.txt %q", w.read("one.txt"), w.read("two.txt"))
	}
	result, err := model.AwaitTold(t.Context(), mockmodel.CallID("PROMPT-TWO", 0, 0))
	if err != nil || !strings.Contains(result.Text, "keep two away") {
		t.Errorf("the model of 2 was told %q, %v", result.Text, err)
	}
	tr, err := c.Transcript(t.Context(), SessionParams{"1"})
	if err != nil || !strings.Contains(tr.Text, "> one is done\n") || strings.Contains(tr.Text, "two is done") || !strings.Contains(tr.Text, "done as approved: `Create one.txt`") {
		t.Errorf("%v\n%s", err, tr.Text)
	}

	// Stopped, and gone on with by another hub.
	if i, err := c.StopSession(t.Context(), SessionParams{"1"}); err != nil || !i.Resumable {
		t.Errorf("%+v, %v", i, err)
	}
	c.Close()
	w.restart()
	c = w.attach("two")
	i, err := c.Resume(t.Context(), ResumeParams{Session: idle["1"].ID, Env: env, Settings: &settings})
	if err != nil || i.ID != idle["1"].ID || i.Turns != 1 || i.CostUSD != idle["1"].CostUSD {
		t.Fatalf("%+v, %v", i, err)
	}
	send("and now?", "")
	end := await(w.world, c, "the end of its turn", func(i session.Info) bool { return i.State == session.StateIdle && i.Turns == 2 })
	if end.CostUSD <= idle["1"].CostUSD || end.CostUSD > 3*idle["1"].CostUSD {
		t.Errorf("%+v, it was %+v", end, idle["1"])
	}
	if tr, err := c.Transcript(t.Context(), SessionParams{}); err != nil || !strings.Contains(tr.Text, "> one is done\n") || !strings.Contains(tr.Text, "> one goes on\n") {
		t.Errorf("%v\n%s", err, tr.Text)
	}
}
