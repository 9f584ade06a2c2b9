package claude

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/claude/scripted"
)

// asAgent makes this test's own program the agent.
const asAgent = "CLAUDE_TEST_AS_AGENT"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		os.Exit(scripted.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	_ = os.Setenv("GORACE", "atexit_sleep_ms=0") // under -race a second for each of many short processes
	goleak.VerifyTestMain(m)
}

// options start the scripted agent with a script, in a folder of its own.
func options(t *testing.T, script string) session.StartOptions {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := session.StartOptions{Settings: session.DefaultSettings(), Dir: dir, Env: append(os.Environ(), asAgent+"=1"), Marker: "m-1"}
	o.Settings.Agent.Command = []string{self, "--script", file}
	return o
}

// started starts an agent that is closed, and drained, at the end of the test.
func started(t *testing.T, o session.StartOptions) *agent {
	t.Helper()
	a, err := Starter{}.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		go a.Close()
		for range a.Events() {
		}
	})
	return a.(*agent)
}

// until reads events up to the first of type E.
func until[E session.Event](t *testing.T, a session.Agent) (E, []session.Event) {
	t.Helper()
	var before []session.Event
	for e := range a.Events() {
		if e, ok := e.(E); ok {
			return e, before
		}
		before = append(before, e)
	}
	var none E
	t.Fatalf("the agent ended without %T; events: %s", none, show(before))
	return none, nil
}

func show(events []session.Event) string {
	var out strings.Builder
	for _, e := range events {
		fmt.Fprintf(&out, "\n\t%T%+v", e, e)
	}
	return out.String()
}

func TestArgs(t *testing.T) {
	base := []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--permission-prompt-tool", "stdio"}
	for _, c := range []struct {
		name string
		o    session.StartOptions
		more []string
	}{
		{"no mode, no flag", session.StartOptions{}, nil},
		{"mode", session.StartOptions{Mode: "default"}, []string{"--permission-mode", "default"}},
		{"resume and arguments", session.StartOptions{
			Mode: "plan", Resume: "id-1",
			Settings: session.Settings{Agent: session.AgentSettings{Args: []string{"--model", "haiku"}}},
		}, []string{"--permission-mode", "plan", "--resume", "id-1", "--model", "haiku"}},
	} {
		if got, want := Args(c.o), append(slices.Clone(base), c.more...); !slices.Equal(got, want) {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestEnvironmentLaterWins(t *testing.T) {
	env := Environment(session.StartOptions{
		Env: []string{"A=1", "B=2", MarkerVariable + "=forged"}, Marker: "m", Dir: "/w",
		Settings: session.Settings{Agent: session.AgentSettings{Env: map[string]string{"B": "3"}}},
	})
	for name, want := range map[string]string{"A": "1", "B": "3", MarkerVariable: "m", "PWD": "/w"} {
		if got := lookup(env, name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}

func TestModeWords(t *testing.T) {
	var s Starter
	for _, c := range []struct {
		mode session.Mode
		word string
	}{
		{session.Plan, "plan"},
		{session.AskBeforeEdit, "default"},
		{session.AutoEdit, "acceptEdits"},
		{session.Auto, "auto"},
		{session.Bypass, "bypassPermissions"},
	} {
		if got := s.WordOf(c.mode); got != c.word {
			t.Errorf("WordOf(%v) = %q, want %q", c.mode, got, c.word)
		}
		if got, ok := s.ModeOf(c.word); !ok || got != c.mode {
			t.Errorf("ModeOf(%q) = %v, %v", c.word, got, ok)
		}
	}
	if len(wordOf) != len(session.Modes()) {
		t.Errorf("%d words for %d modes", len(wordOf), len(session.Modes()))
	}
	if m, ok := s.ModeOf("manual"); !ok || m != session.AskBeforeEdit {
		t.Errorf("manual is %v, %v", m, ok)
	}
	for _, unknown := range []string{"", "dontAsk", "nonsense", "ask_before_edit"} {
		if m, ok := s.ModeOf(unknown); ok {
			t.Errorf("ModeOf(%q) = %v", unknown, m)
		}
	}
	if s.WordOf(session.Mode{}) != "" {
		t.Error("no mode has a word")
	}
}

func TestEditAllowedAsAsked(t *testing.T) {
	o := options(t, `{"session":"s-1","version":"9.9","model":"mock","turns":[{"steps":[
		{"say":"editing"},
		{"call":{"tool":"Edit","description":"a.txt","input":{"file_path":"${DIR}/a.txt","old_string":"two","new_string":"TWO","replace_all":false}}},
		{"say":"done"}]}]}`)
	file := filepath.Join(o.Dir, "a.txt")
	if err := os.WriteFile(file, []byte("one\ntwo\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := started(t, o)
	if hello, _ := until[session.Initialized](t, a); hello.Version != "9.9" || hello.Mode != "default" || hello.SessionID != "" {
		t.Errorf("the reply to initialize became %+v", hello)
	}
	if err := a.Send("go"); err != nil {
		t.Fatal(err)
	}
	if turn, _ := until[session.Initialized](t, a); turn.SessionID != "s-1" || turn.Model != "mock" || turn.Mode != "default" {
		t.Errorf("init became %+v", turn)
	}
	q, before := until[session.Requested](t, a)
	if !slices.ContainsFunc(before, func(e session.Event) bool { s, ok := e.(session.Said); return ok && s.Text == "editing" }) {
		t.Errorf("what it said is missing: %s", show(before))
	}
	want := fmt.Sprintf(`{"file_path":%q,"old_string":"two","new_string":"TWO","replace_all":false}`, file)
	if string(q.Request.Input) != want {
		t.Errorf("input %s, want %s", q.Request.Input, want)
	}
	if q.Request.Tool != "Edit" || q.Request.Description != "a.txt" || q.Request.ToolUseID == "" || q.Request.Dir != o.Dir || len(q.Request.Suggestions) != 1 {
		t.Errorf("request %+v", q.Request)
	}
	if err := a.Answer(q.Request.ID, approvals.Result{Behavior: "allow", UpdatedInput: q.Request.Input}); err != nil {
		t.Fatal(err)
	}
	back, _ := until[session.ToolReturned](t, a)
	if back.IsError || back.ToolUseID != q.Request.ToolUseID || back.Text != "The file "+file+" has been updated successfully." {
		t.Errorf("the tool returned %+v", back)
	}
	if end, _ := until[session.TurnEnded](t, a); end.IsError || end.Text != "done" {
		t.Errorf("the turn ended %+v", end)
	}
	if got, _ := os.ReadFile(file); string(got) != "one\nTWO\n" {
		t.Errorf("the file is %q", got)
	}
	if !Owned(a.cmd.Process.Pid) {
		t.Error("the running agent does not count as owned")
	}
	closed := make(chan error, 1)
	go func() { closed <- a.Close() }()
	exit, _ := until[session.Exited](t, a)
	if err := <-closed; err != nil || !exit.Expected || exit.Code != 0 {
		t.Errorf("close: %v, %+v", err, exit)
	}
	if Owned(a.cmd.Process.Pid) {
		t.Error("the agent that was waited for still counts as owned")
	}
	if err := a.Send("more"); err == nil {
		t.Error("a closed agent took a message")
	}
}

func TestSetModeLiveAndRefused(t *testing.T) {
	a := started(t, options(t, `{"turns":[]}`))
	result := make(chan error, 1)
	go func() { result <- a.SetMode("acceptEdits") }()
	if m, _ := until[session.ModeReported](t, a); m.Mode != "acceptEdits" {
		t.Errorf("mode %q", m.Mode)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	go func() { result <- a.SetMode("bypassPermissions") }()
	err := <-result
	want := &RefusedError{What: "set_permission_mode", Code: "bypass_not_launched"}
	got, ok := err.(*RefusedError)
	if !ok || got.Code != want.Code || got.What != want.What {
		t.Errorf("bypass: %#v", err)
	}
}

func TestInterruptWithdrawsEveryOpenRequest(t *testing.T) {
	a := started(t, options(t, `{"turns":[{"steps":[{"parallel":[
		{"tool":"WebFetch","requestId":"r-1","input":{"url":"http://a.invalid"}},
		{"tool":"WebFetch","requestId":"r-2","input":{"url":"http://b.invalid"}}]}]}]}`))
	if err := a.Send("go"); err != nil {
		t.Fatal(err)
	}
	until[session.Requested](t, a)
	until[session.Requested](t, a)
	if err := a.Interrupt(); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for range 2 {
		c, _ := until[session.Cancelled](t, a)
		ids = append(ids, c.RequestID)
	}
	slices.Sort(ids)
	if !reflect.DeepEqual(ids, []string{"r-1", "r-2"}) {
		t.Errorf("withdrawn: %q", ids)
	}
	if end, _ := until[session.TurnEnded](t, a); !end.Interrupted || end.IsError || end.Text != "" {
		t.Errorf("the turn ended %+v", end)
	}
}

// allow is the answer that allows a request as asked.
func allow(q session.Requested) approvals.Result {
	return approvals.Result{Behavior: "allow", UpdatedInput: q.Request.Input}
}
