package claude

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session"
)

var update = flag.Bool("update", false, "rewrite the expected events from what is found")

// unstarted is an agent without a process, whose events are collected.
func unstarted() *agent {
	return &agent{name: "claude", dir: "/work-example/project", log: zap.NewNop(), out: newOutbox(), events: make(chan session.Event, 1000)}
}

// heard are the events so far, one a line, and the lines written meanwhile.
func (a *agent) heard(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for len(a.events) > 0 {
		e := <-a.events
		text, err := json.Marshal(e, json.Deterministic(true), json.OmitZeroStructFields(true), lenient, jsontext.PreserveRawStrings(true))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s %s\n", strings.TrimPrefix(fmt.Sprintf("%T", e), "session."), text)
	}
	for _, l := range a.out.lines {
		fmt.Fprintf(&out, "> %s", l.line)
	}
	return out.String()
}

// TestRecordedLines feeds lines that 2.1.332 wrote, shortened to the fields
// that matter, and compares the events with those expected beside them.
func TestRecordedLines(t *testing.T) {
	files, err := filepath.Glob("testdata/lines/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			a := unstarted()
			for i := 1; i <= 20; i++ { // replies in the recordings are to req-1, req-2 …
				what := "set_permission_mode"
				switch {
				case strings.Contains(file, "interrupt") && i == 1:
					what = "interrupt"
				case i == 1, strings.Contains(file, "initialize"):
					what = "initialize"
				}
				if a.asked.open == nil {
					a.asked.open = make(map[string]openRequest)
				}
				a.asked.open[fmt.Sprint("req-", i)] = openRequest{what: what}
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(data) {
				a.handle(bytes.TrimSuffix(line, []byte("\n")))
			}
			got := a.heard(t)
			golden := strings.TrimSuffix(file, ".jsonl") + ".events"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestOddLines(t *testing.T) {
	ask := func(request string) string {
		return `{"type":"control_request","request_id":"r-1","request":` + request + `}`
	}
	for _, c := range []struct {
		name, line, want string
	}{
		{"not JSON", "Segmentation fault", `Reported {"Warning":true,"Text":"the agent wrote a line that is not JSON; it was skipped: \"Segmentation fault\""}` + "\n"},
		{"cut JSON", `{"type":"assistant","mess`, `Reported {"Warning":true,"Text":"the agent wrote a line that is not JSON; it was skipped: \"{\\\"type\\\":\\\"assistant\\\",\\\"mess\""}` + "\n"},
		{"a number", `7`, `Reported {"Warning":true,"Text":"the agent wrote a line that is not JSON; it was skipped: \"7\""}` + "\n"},
		{"two values", `{"type":"system"} {}`, `Reported {"Warning":true,"Text":"the agent wrote a line that is not JSON; it was skipped: \"{\\\"type\\\":\\\"system\\\"} {}\""}` + "\n"},
		{"unknown type", `{"type":"telepathy","request_id":"x"}`, ""},
		{"unknown type in its own shape", `{"type":"telepathy","request_id":7,"message":[1]}`, ""},
		{"no type", `{"a":1}`, ""},
		{"null", `null`, `Reported {"Warning":true,"Text":"the agent wrote a line that is not JSON; it was skipped: \"null\""}` + "\n"},
		{"unknown fields", `{"type":"system","subtype":"status","permissionMode":"plan","news":{"a":[{}]}}`, `ModeReported {"Mode":"plan"}` + "\n"},
		{"unknown system line", `{"type":"system","subtype":"weather","permissionMode":"plan"}`, ""},
		{"status without a mode", `{"type":"system","subtype":"status","status":"requesting"}`, ""},
		{"other case is another field", `{"type":"system","subtype":"status","PermissionMode":"plan"}`, ""},
		{"unknown request", ask(`{"subtype":"hook_callback","callback_id":"c"}`), `> {"type":"control_response","response":{"subtype":"error","request_id":"r-1","error":"hook_callback is not supported by this host"}}` + "\n"},
		{
			"a tool ran", ask(`{"subtype":"hook_callback","callback_id":"countersign.ran","input":{"hook_event_name":"PostToolUse","tool_use_id":"tu-1","tool_input":{"command":"ls"}}}`),
			`ToolRan {"ToolUseID":"tu-1","Input":{"command":"ls"}}` + "\n" + `> {"type":"control_response","response":{"subtype":"success","request_id":"r-1","response":{}}}` + "\n",
		},
		{
			"a tool ran, unreadable", ask(`{"subtype":"hook_callback","callback_id":"countersign.ran","input":[1]}`),
			`> {"type":"control_response","response":{"subtype":"success","request_id":"r-1","response":{}}}` + "\n",
		},
		{
			"no tool", ask(`{"subtype":"can_use_tool","input":{}}`),
			`Reported {"Warning":true,"Text":"the agent asked without naming a tool; the request was refused"}` + "\n" +
				`> {"type":"control_response","response":{"subtype":"error","request_id":"r-1","error":"the request names no tool"}}` + "\n",
		},
		{
			"a field named twice", ask(`{"subtype":"can_use_tool","tool_name":"Write","input":{"file_path":"/a","file_path":"/b"}}`),
			`Reported {"Warning":true,"Text":"the agent wrote a line of type \"control_request\" that cannot be read (a field is named twice); it was skipped"}` + "\n" +
				`> {"type":"control_response","response":{"subtype":"error","request_id":"r-1","error":"this request cannot be read: a field is named twice"}}` + "\n",
		},
		{"shell in the background", `{"type":"system","subtype":"task_started","task_id":"b1","tool_use_id":"t","description":"sleep 300","task_type":"local_bash"}`, ""},
		{"tasks in the background", `{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b1","task_type":"local_bash"},{"task_id":"a1","task_type":"local_agent"}]}`, `BackgroundChanged {"Running":1}` + "\n"},
		{"string content", `{"type":"user","message":{"role":"user","content":"hi"}}`, ""},
		{"result of blocks", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b"}]}]}}`, `ToolReturned {"ToolUseID":"t","Text":"a\nb"}` + "\n"},
		{"result without content", `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","is_error":true}]}}`, `ToolReturned {"ToolUseID":"t","IsError":true}` + "\n"},
		{"answer to nothing", `{"type":"control_response","response":{"subtype":"success","request_id":"zz","response":{"mode":"plan"}}}`, ""},
		{
			"not logged in", `{"subtype":"success","is_error":true,"result":"Not logged in · Please run /login","type":"result","num_turns":1}`,
			`TurnEnded {"Subtype":"success","IsError":true,"Text":"the agent is not logged in: run \"claude\" in a terminal and log in with /login, or give it a key in the setting agent.env (it says: Not logged in · Please run /login)","Turns":1}` + "\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := unstarted()
			a.handle([]byte(c.line))
			if d := cmp.Diff(c.want, a.heard(t)); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestInputSurvivesByteForByte: order, spelling of numbers, escapes, white
// space, halves of surrogate pairs; and it does not share memory with the line.
func TestInputSurvivesByteForByte(t *testing.T) {
	const input = `{ "z":1.0e+400, "a":"\u00e9\ud800\/", "FILE_PATH":"/x",  "file_path":"/y","n":-0 }`
	line := []byte(`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"T","input":` + input + `,"permission_suggestions":[{"b":1,"a":[ 1.0 ]}]}}`)
	a := unstarted()
	a.handle(line)
	for i := range line {
		line[i] = 'x'
	}
	q := (<-a.events).(session.Requested).Request
	if string(q.Input) != input {
		t.Errorf("input %s", q.Input)
	}
	if len(q.Suggestions) != 1 || string(q.Suggestions[0]) != `{"b":1,"a":[ 1.0 ]}` {
		t.Errorf("suggestions %s", q.Suggestions)
	}
	out, err := answer("r", approvals.Result{Behavior: "allow", UpdatedInput: q.Input, UpdatedPermissions: q.Suggestions})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":{"behavior":"allow",` +
		`"updatedInput":` + input + `,"updatedPermissions":[{"b":1,"a":[1.0]}]}}}`
	if string(out) != want {
		t.Errorf("answer\n%s, want\n%s", out, want)
	}
}

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		r    approvals.Result
		want string
	}{
		{approvals.Result{Behavior: "allow", UpdatedInput: jsontext.Value(`{}`)}, `{"behavior":"allow","updatedInput":{}}`},
		{approvals.Result{Behavior: "deny", Message: "no"}, `{"behavior":"deny","message":"no"}`},
		{approvals.Result{Behavior: "deny", Message: "bad \xff", Interrupt: true}, `{"behavior":"deny","message":"bad ` + "\uFFFD" + `","interrupt":true}`},
	} {
		got, err := answer("r", c.r)
		want := `{"type":"control_response","response":{"subtype":"success","request_id":"r","response":` + c.want + `}}`
		if err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	// A request id cannot pass for the input's place.
	odd := approvals.Result{Behavior: "allow", UpdatedInput: jsontext.Value(`{"a":1}`)}
	if got, err := answer(`","updatedInput":{}`, odd); err != nil || string(got) != `{"type":"control_response","response":{"subtype":"success","request_id":"\",\"updatedInput\":{}","response":{"behavior":"allow","updatedInput":{"a":1}}}}` {
		t.Errorf("%s, %v", got, err)
	}
	// A newline between tokens would end the line early and the CLI with it.
	got, err := answer("r", approvals.Result{Behavior: "allow", UpdatedInput: jsontext.Value("{\n  \"a\": \"b\\n\"\n}")})
	if err != nil || bytes.ContainsAny(got, "\r\n") {
		t.Errorf("%q, %v", got, err)
	}
	if got, _ := userMessage("two\nlines"); string(got) != `{"type":"user","message":{"role":"user","content":"two\nlines"},"parent_tool_use_id":null,"session_id":""}` {
		t.Errorf("%s", got)
	}
}

func FuzzLine(f *testing.F) {
	files, _ := filepath.Glob("testdata/lines/*.jsonl")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(data) {
			f.Add(bytes.TrimSpace(line))
		}
	}
	f.Add([]byte(`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"T","input":{"a":"\ud800"}}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		if bytes.IndexByte(line, '\n') >= 0 {
			return
		}
		a := unstarted()
		a.handle(line)
		for len(a.events) > 0 {
			q, ok := (<-a.events).(session.Requested)
			if !ok {
				continue
			}
			if len(q.Request.Input) > 0 && !bytes.Contains(line, q.Request.Input) {
				t.Errorf("the input %q does not stand in the line", q.Request.Input)
			}
			out, err := answer(q.Request.ID, approvals.Result{Behavior: "allow", UpdatedInput: q.Request.Input})
			if err != nil || bytes.IndexByte(out, '\n') >= 0 {
				t.Errorf("%q cannot be answered: %v", line, err)
			}
		}
		for _, l := range a.out.lines {
			if bytes.IndexByte(l.line, '\n') != len(l.line)-1 {
				t.Errorf("torn line %q", l.line)
			}
		}
	})
}
