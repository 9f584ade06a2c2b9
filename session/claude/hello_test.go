package claude

import (
	"errors"
	"strings"
	"testing"

	"countersign/session"
)

// A version that refuses initialize with hooks is asked again without: that
// tells its mode, and prompts wait for it.
func TestInitializeIsAskedAgainWithoutHooks(t *testing.T) {
	a := unstarted()
	a.greet()
	a.handle([]byte(`{"type":"control_response","response":{"subtype":"error","request_id":"countersign-1","error":"hooks: unknown event"}}`))
	a.handle([]byte(`{"type":"control_response","response":{"subtype":"success","request_id":"countersign-2","response":{"current_permission_mode":"plan","claude_code_version":"2"}}}`))
	lines := strings.Split(strings.TrimSpace(a.heard(t)), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], `Initialized {"Mode":"plan"`) || !strings.Contains(lines[1], ranCallback) || strings.Contains(lines[2], "hooks") || !strings.Contains(lines[2], `"subtype":"initialize"`) {
		t.Errorf("%q", lines)
	}

	a = unstarted()
	a.greet()
	for _, id := range []string{"countersign-1", "countersign-2"} {
		a.handle([]byte(`{"type":"control_response","response":{"subtype":"error","request_id":"` + id + `","error":"no such request"}}`))
	}
	if got := a.heard(t); !strings.Contains(got, `Reported {"Warning":true,"Text":"the agent refused initialize: no such request"}`) || strings.Count(got, "\n") != 3 {
		t.Errorf("%s", got)
	}
}

func TestMayBypass(t *testing.T) {
	const ask = `{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"ExitPlanMode","input":{}}}`
	for _, c := range []struct {
		name  string
		mode  string
		args  []string
		lines string
		want  bool
	}{
		{"as usual", "plan", nil, "", false},
		{"started in it", "bypassPermissions", nil, "", true},
		{"allowed at the start", "", []string{"--allow-dangerously-skip-permissions"}, "", true},
		{"started with everything skipped", "", []string{"--dangerously-skip-permissions"}, "", true},
		{"seen in it", "", nil, `{"type":"system","subtype":"init","permissionMode":"bypassPermissions","session_id":"s"}`, true},
		{"in another mode", "", nil, `{"type":"system","subtype":"init","permissionMode":"auto","session_id":"s"}`, false},
	} {
		o := session.StartOptions{Mode: c.mode, Settings: session.DefaultSettings()}
		o.Settings.Agent.Args = c.args
		a := unstarted()
		a.mayBypass = mayBypass(o)
		if c.lines != "" {
			a.handle([]byte(c.lines))
			<-a.events
		}
		a.handle([]byte(ask))
		if got := (<-a.events).(session.Requested).Request.MayBypass; got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestWhatDecidedUnasked(t *testing.T) {
	for meta, want := range map[string]string{
		``: "",
		`{"decision":"accept","source":"config","reason_type":"mode"}`:              "its mode",
		`{"decision":"reject","source":"config","reason_type":"mode"}`:              "its mode",
		`{"decision":"accept","source":"config","reason_type":"rule"}`:              "a rule",
		`{"decision":"accept","source":"config","reason_type":"subcommandResults"}`: session.OwnRules,
		`{"decision":"accept","source":"hook"}`:                                     "a hook",
		`{"decision":"accept","source":"user_temporary"}`:                           "",
		`{"decision":"reject","source":"user_reject"}`:                              "",
		`{"decision":"reject","source":"permission_updated_input_invalid"}`:         "",
		`7`: "",
	} {
		line := `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]},"tool_result_meta":[{"id":"other","permission_decision":{"source":"hook"}}`
		if meta != "" {
			line += `,{"id":"t","permission_decision":` + meta + `}`
		}
		a := unstarted()
		a.handle([]byte(line + "]}"))
		if got, ok := (<-a.events).(session.ToolReturned); !ok || got.Unasked != want {
			t.Errorf("%s: %+v", meta, got)
		}
	}
}

func TestWhichRefusalsARestartCannotHelp(t *testing.T) {
	if !errors.Is(&RefusedError{Code: "invalid_mode"}, session.ErrNoMode) || errors.Is(&RefusedError{Code: "bypass_not_launched"}, session.ErrNoMode) {
		t.Error("the two kinds of refusal are mixed up")
	}
}
