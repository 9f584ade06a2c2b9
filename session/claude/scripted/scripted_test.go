package scripted

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTools: what each answer does, in the words that 2.1.332 has for it.
func TestTools(t *testing.T) {
	const edit = `{"tool":"Edit","input":{"file_path":"${DIR}/a.txt","old_string":"two","new_string":"TWO","replace_all":false}}`
	const ask = `{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which color?","header":"Color","options":[{"label":"Red"},{"label":"Blue"}],"multiSelect":false}]}}`
	for _, c := range []struct {
		name, call, before, answer string // answer: INPUT and DIR are filled in
		text                       string // of the result; DIR is filled in
		failed                     bool
		after                      string
	}{
		{
			"edit as asked", edit, "one\ntwo\n", `{"behavior":"allow","updatedInput":INPUT}`,
			"The file DIR/a.txt has been updated successfully.", false, "one\nTWO\n",
		},
		{
			"edit, empty updatedInput", edit, "two", `{"behavior":"allow","updatedInput":{}}`,
			"The file DIR/a.txt has been updated successfully.", false, "TWO",
		},
		{
			"edit amended", edit, "one\ntwo\n", `{"behavior":"allow","updatedInput":{"file_path":"DIR/a.txt","old_string":"one\ntwo\n","new_string":"mine\n","replace_all":false}}`,
			"The file DIR/a.txt has been updated successfully.  The user modified your proposed changes before accepting them. .", false, "mine\n",
		},
		{
			"edit amended to the original", edit, "one\ntwo\n", `{"behavior":"allow","updatedInput":{"file_path":"DIR/a.txt","old_string":"one\ntwo\n","new_string":"one\ntwo\n","replace_all":false}}`,
			"String not found in file. Failed to apply edit.", true, "one\ntwo\n",
		},
		{
			"edit of CRLF", edit, "one\r\ntwo\r\n", `{"behavior":"allow","updatedInput":INPUT}`,
			"The file DIR/a.txt has been updated successfully.", false, "one\r\nTWO\r\n",
		},
		{
			"edit after a mark", edit, "\ufeffone\ntwo\n", `{"behavior":"allow","updatedInput":INPUT}`,
			"The file DIR/a.txt has been updated successfully.", false, "\ufeffone\nTWO\n",
		},
		{
			"deleting takes the line end along", `{"tool":"Edit","input":{"file_path":"${DIR}/a.txt","old_string":"two","new_string":"","replace_all":false}}`,
			"one\ntwo\nthree\n", `{"behavior":"allow","updatedInput":INPUT}`, "The file DIR/a.txt has been updated successfully.", false, "one\nthree\n",
		},
		{
			"replace all", `{"tool":"Edit","input":{"file_path":"${DIR}/a.txt","old_string":"x","new_string":"z","replace_all":true}}`,
			"x\ny\nx\n", `{"behavior":"allow","updatedInput":INPUT}`, "The file DIR/a.txt has been updated. All occurrences were successfully replaced.", false, "z\ny\nz\n",
		},
		{
			"write", `{"tool":"Write","input":{"file_path":"${DIR}/a.txt","content":"new\n"}}`, "old\n", `{"behavior":"allow","updatedInput":INPUT}`,
			"The file DIR/a.txt has been updated successfully.", false, "new\n",
		},
		{
			"write amended", `{"tool":"Write","input":{"file_path":"${DIR}/a.txt","content":"new\n"}}`, "old\n", `{"behavior":"allow","updatedInput":{"file_path":"DIR/a.txt","content":"mine  \n"}}`,
			"The file DIR/a.txt has been updated successfully. The user modified your proposed content before accepting it.", false, "mine  \n",
		},
		{"denied", edit, "two", `{"behavior":"deny","message":"Please use three instead."}`, "Please use three instead.", true, "two"},
		{"null input", edit, "two", `{"behavior":"allow","updatedInput":null}`, "The permission handler returned an invalid permission result", true, "two"},
		{"no behavior", edit, "two", `{}`, "The permission handler returned an invalid permission result", true, "two"},
		{"command", `{"tool":"Bash","input":{"command":"echo ran"}}`, "", `{"behavior":"allow","updatedInput":INPUT}`, "ran", false, ""},
		{"command amended", `{"tool":"Bash","input":{"command":"echo ran"}}`, "", `{"behavior":"allow","updatedInput":{"command":"echo other; exit 3"}}`, "Exit code 3\nother", true, ""},
		{
			"question answered", ask, "", `{"behavior":"allow","updatedInput":{"questions":[{"question":"Which color?","options":[{"label":"Red"},{"label":"Blue"}]}],"answers":{"Which color?":"Blue"}}}`,
			`Your questions have been answered: "Which color?"="Blue". You can now continue with these answers in mind.`, false, "",
		},
		{
			"question answered freely", ask, "", `{"behavior":"allow","updatedInput":{"questions":[{"question":"Which color?","options":[{"label":"Red"}]}],"answers":{"Which color?":"neither"}}}`,
			`The user answered: "Which color?"="neither". Read the answers carefully — they may request clarification, changes, or that you not proceed — and follow what they actually say.`, false, "",
		},
		{"question, bare allow", ask, "", `{"behavior":"allow"}`, "The user did not answer the questions.", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := play(t, one(c.call))
			h.file("a.txt", c.before)
			h.prompt("go")
			q := h.until("control_request")
			answer := strings.ReplaceAll(strings.ReplaceAll(c.answer, "INPUT", string(q.Request.Input)), "DIR", h.dir)
			h.answer(q, answer)
			text, failed := h.until("user").toolResult(t)
			if want := strings.ReplaceAll(c.text, "DIR", h.dir); text != want || failed != c.failed {
				t.Errorf("result %q, %v; want %q", text, failed, want)
			}
			h.holds("a.txt", c.after)
			h.until("result")
			if !strings.Contains(h.log.String(), `"kind":"tool_result"`) {
				t.Errorf("log: %s", h.log.String())
			}
		})
	}
}

func TestRefusedBeforeAsking(t *testing.T) {
	for _, c := range []struct{ name, input, want string }{
		{"not found", `{"file_path":"${DIR}/a.txt","old_string":"nope","new_string":"x"}`, "<tool_use_error>String to replace not found in file.\nString: nope</tool_use_error>"},
		{"equal", `{"file_path":"${DIR}/a.txt","old_string":"x","new_string":"x"}`, "<tool_use_error>No changes to make: old_string and new_string are exactly the same.</tool_use_error>"},
		{"missing file", `{"file_path":"${DIR}/b.txt","old_string":"x","new_string":"y"}`, "File does not exist."},
		{"not unique", `{"file_path":"${DIR}/a.txt","old_string":"x","new_string":"y"}`, "Found 2 matches of the string to replace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := play(t, one(`{"tool":"Edit","input":`+c.input+`}`))
			h.file("a.txt", "x\nx\n")
			h.prompt("go")
			text, failed := h.until("user").toolResult(t)
			if !failed || !strings.Contains(text, c.want) {
				t.Errorf("%q", text)
			}
		})
	}
}

func TestInitializeModesAndRules(t *testing.T) {
	write := `{"call":{"tool":"Write","input":{"file_path":"${DIR}/a.txt","content":"x"}}}`
	bash := `{"call":{"tool":"Bash","input":{"command":"echo hi"}}}`
	h := play(t, `{"turns":[{"steps":[`+write+`]},{"steps":[`+bash+`,`+bash+`]},{"steps":[`+write+`]}]}`)
	request := func(subtype string) line {
		h.write(`{"type":"control_request","request_id":"q","request":%s}`, subtype)
		return h.until("control_response")
	}
	if l := request(`{"subtype":"initialize"}`); !strings.Contains(l.raw, `"current_permission_mode":"default"`) {
		t.Error(l.raw)
	}
	if l := request(`{"subtype":"set_permission_mode","mode":"bypassPermissions"}`); l.Response.ErrorCode != "bypass_not_launched" {
		t.Error(l.raw)
	}
	if l := request(`{"subtype":"set_permission_mode","mode":"bogus"}`); l.Response.ErrorCode != "invalid_mode" {
		t.Error(l.raw)
	}
	if l := request(`{"subtype":"dance"}`); l.Response.ErrorCode != "unsupported_request" {
		t.Error(l.raw)
	}
	request(`{"subtype":"set_permission_mode","mode":"acceptEdits"}`)
	if l := h.until("system/status"); l.PermissionMode != "acceptEdits" {
		t.Error(l.raw)
	}
	h.prompt("not asked")
	if l := h.until("system/init"); l.PermissionMode != "acceptEdits" {
		t.Error(l.raw)
	}
	h.until("result")
	h.holds("a.txt", "x")

	h.prompt("asked once")
	q := h.until("control_request")
	h.answer(q, `{"behavior":"allow","updatedInput":{},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"session"},{"type":"setMode","mode":"dontAsk","destination":"session"}]}`)
	if l := h.until("system/status"); l.PermissionMode != "dontAsk" {
		t.Error(l.raw)
	}
	h.until("result") // the second call was not asked

	h.prompt("denied unasked")
	h.until("system/permission_denied")
	h.until("result")
}

func TestOpenCancelFloodBackgroundAndFolding(t *testing.T) {
	h := play(t, `{"turns":[
		{"steps":[{"open":{"name":"a","tool":"WebFetch","input":{"url":"x"}}},{"cancel":"a"},{"await":"a"}]},
		{"steps":[{"flood":{"count":3,"path":"${DIR}/f%d","text":"t"}}]},
		{"steps":[{"background":{"tool":"Bash","agent":"sub","input":{"command":"true"}}},{"say":"on my way"}]}]}`)
	h.prompt("one")
	q := h.until("control_request")
	if l := h.until("control_cancel_request"); l.RequestID != q.RequestID {
		t.Error(l.raw)
	}
	h.until("result")
	h.answer(q, `{"behavior":"allow","updatedInput":{}}`) // too late: ignored

	h.prompt("two")
	var open []line
	for range 3 {
		open = append(open, h.until("control_request"))
	}
	h.prompt("folded")
	for i := range open { // in reverse order
		h.answer(open[len(open)-1-i], `{"behavior":"allow","updatedInput":{}}`)
	}
	h.until("result")
	h.holds("f0", "t")
	h.holds("f2", "t")
	if !strings.Contains(h.log.String(), `"folded":true,"kind":"user","text":"folded"`) {
		t.Error(h.log.String())
	}

	h.prompt("three")
	started := h.until("system/task_started")
	if l := h.until("result"); l.Result != "on my way" {
		t.Error(l.raw)
	}
	q = h.until("control_request") // after the result
	if q.Request.AgentID == "" || !strings.Contains(started.raw, q.Request.AgentID) {
		t.Error(q.raw)
	}
	h.answer(q, `{"behavior":"allow","updatedInput":{}}`)
	h.until("system/init") // a turn of its own
	h.until("result")
}

func TestInterrupt(t *testing.T) {
	h := play(t, `{"turns":[{"steps":[{"parallel":[{"tool":"A","input":{}},{"tool":"B","input":{}}]},{"say":"never"}]},{"steps":[{"say":"usable"}]},{"steps":[{"call":{"tool":"A","input":{}}},{"say":"never"}]}]}`)
	h.prompt("go")
	h.until("control_request")
	h.until("control_request")
	h.write(`{"type":"control_request","request_id":"q","request":{"subtype":"interrupt"}}`)
	h.until("control_cancel_request")
	h.until("control_cancel_request")
	if l := h.until("result"); l.TerminalReason != "aborted_tools" {
		t.Error(l.raw)
	}
	h.prompt("again")
	if l := h.until("result"); l.Result != "usable" {
		t.Error(l.raw)
	}
	h.prompt("deny and stop")
	h.answer(h.until("control_request"), `{"behavior":"deny","message":"lost","interrupt":true}`)
	if l := h.until("result"); l.TerminalReason != "aborted_tools" || strings.Contains(h.log.String(), "lost") {
		t.Error(l.raw, h.log.String())
	}
}

func TestPlanLeavesPlanMode(t *testing.T) {
	s, err := Parse([]byte(one(`{"tool":"ExitPlanMode","input":{"plan":"# P\n"}}`)))
	if err != nil {
		t.Fatal(err)
	}
	s.Mode = "plan"
	h := playScript(t, s)
	h.prompt("go")
	q := h.until("control_request")
	if !q.Request.Own {
		t.Error("not marked as having its own interaction")
	}
	h.answer(q, `{"behavior":"allow","updatedInput":{"plan":"# Q\n"}}`)
	if l := h.until("system/status"); l.PermissionMode != "default" {
		t.Error(l.raw)
	}
	if text, _ := h.until("user").toolResult(t); !strings.Contains(text, "## Approved Plan (edited by user):\n# Q\n") {
		t.Errorf("%q", text)
	}
}

func TestEnds(t *testing.T) {
	for _, c := range []struct {
		name, script string
		do           func(h *host)
		code         int
	}{
		{"input ends while idle", `{"turns":[]}`, func(h *host) { h.in.Close() }, 0},
		{"input ends while asking", one(`{"tool":"A","input":{}}`), func(h *host) {
			h.prompt("go")
			h.until("control_request")
			h.in.Close()
			if text, failed := h.until("user").toolResult(h.t); !failed || !strings.Contains(text, "stream closed") {
				h.t.Errorf("%q", text)
			}
			h.until("result")
		}, 0},
		{"a line that is not JSON", `{"turns":[]}`, func(h *host) { h.write("nonsense") }, 1},
		{"script exits in the middle of a line", `{"turns":[{"steps":[{"raw":"garbage"},{"partial":"{\"ty"},{"exit":7}]}]}`, func(h *host) {
			h.prompt("go")
			h.until("broken")
			rest, err := h.lines.ReadString('\n')
			if rest != `{"ty` || !errors.Is(err, io.EOF) {
				h.t.Errorf("%q, %v", rest, err)
			}
		}, 7},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := play(t, c.script)
			c.do(h)
			io.Copy(io.Discard, h.lines) // until it has ended
			if got := ExitCode(<-h.end); got != c.code {
				t.Errorf("exit status %d, want %d", got, c.code)
			}
		})
	}
}

func TestScriptsAreChecked(t *testing.T) {
	for _, bad := range []string{`{`, `{"turns":[{"steps":[{"sya":"x"}]}]}`, `{"turns":[{"steps":[{"delay":"soon"}]}]}`} {
		if _, err := Parse([]byte(bad)); err == nil {
			t.Errorf("taken: %s", bad)
		}
	}
}

func TestDemo(t *testing.T) {
	h := playScript(t, Demo())
	for name, content := range DemoFiles() {
		h.file(name, content)
	}
	h.prompt("make it friendlier")
	q := h.until("control_request")
	h.answer(q, `{"behavior":"allow","updatedInput":`+string(q.Request.Input)+`}`)
	h.answer(h.until("control_request"), `{"behavior":"deny","message":"no"}`)
	if q = h.until("control_request"); q.Request.Tool != "Bash" {
		t.Errorf("%s", q.raw)
	}
	h.answer(q, `{"behavior":"allow","updatedInput":`+string(q.Request.Input)+`}`)
	if l := h.until("result"); l.Result != "That is all." {
		t.Error(l.raw)
	}
	if got, _ := os.ReadFile(filepath.Join(h.dir, "greet.go")); !strings.Contains(string(got), "How are you?") {
		t.Errorf("%s", got)
	}
	h.holds("notes.md", DemoFiles()["notes.md"])
}

func TestMainHeedsTheCLIsArguments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(file, []byte(`{"turns":[{"steps":[{"say":"hi"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const prompt = `{"type":"user","message":{"role":"user","content":"go"}}` + "\n"
	for _, c := range []struct {
		name string
		args []string
		code int
		out  []string
		err  string
	}{
		{
			"mode and session",
			[]string{"-p", "--input-format", "stream-json", "--script", file, "--permission-mode", "plan", "--resume=s-7"},
			0,
			[]string{`"permissionMode":"plan"`, `"session_id":"s-7"`, `"result":"hi"`},
			"",
		},
		{"unknown mode", []string{"--permission-mode", "nonsense"}, 1, nil, "argument 'nonsense' is invalid"},
		{"no such script", []string{"--script", file + "x"}, 1, nil, "error:"},
		{"version", []string{"--version"}, 0, []string{"scripted"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			if code := Main(t.Context(), c.args, strings.NewReader(prompt), &out, &errs); code != c.code {
				t.Errorf("exit status %d", code)
			}
			for _, want := range c.out {
				if !strings.Contains(out.String(), want) {
					t.Errorf("%s is not in %s", want, out.String())
				}
			}
			if !strings.Contains(errs.String(), c.err) {
				t.Errorf("stderr: %s", errs.String())
			}
		})
	}
}
