package approvals

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestRan(t *testing.T) {
	for name, c := range map[string]struct {
		ran     string // "" for not told
		isError bool
		state   string
		detail  string
	}{
		"not told":            {"", false, OutcomeDone, ""},
		"as approved":         {`{"command":"ls -l","timeout":1000.0}`, false, OutcomeVerified, "as approved"},
		"spelt otherwise":     {"{ \"timeout\":1e3, \"command\":\"\\u006cs -l\"}", false, OutcomeVerified, "as approved"},
		"defaults filled in":  {`{"command":"ls -l","timeout":1000,"run_in_background":false,"x":null}`, false, OutcomeVerified, ""},
		"another command":     {`{"command":"rm \u202ex","timeout":1000}`, false, OutcomeMismatch, `command was "rm`},
		"as it was asked":     {`{"command":"ls","timeout":1000}`, false, OutcomeMismatch, `command was "ls"`},
		"another option":      {`{"command":"ls -l","timeout":1}`, false, OutcomeMismatch, "timeout was 1"},
		"a member less":       {`{"command":"ls -l"}`, false, OutcomeMismatch, "timeout was left out"},
		"a member more":       {`{"command":"ls -l","timeout":1000,"dangerouslyDisableSandbox":true}`, false, OutcomeMismatch, "dangerouslyDisableSandbox was added"},
		"no input":            {`1`, false, OutcomeMismatch, "cannot be read"},
		"failed":              {`{"command":"ls -l","timeout":1000}`, true, OutcomeFailed, "exit"},
		"another, and failed": {`{"command":"rm","timeout":1000}`, true, OutcomeMismatch, `command was "rm"`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			req := b.request("Bash", `{"command":"ls","timeout":1000}`)
			a := b.Register(req)
			b.Ran(req.ToolUseID, jsontext.Value(`{"command":"before"}`)) // too early to mean anything
			if _, _, err := b.Settle(a.ID, Decision{Allow: true, Text: ptr("ls -l\n"), By: me}); err != nil {
				t.Fatal(err)
			}
			b.Answered(a.ID, nil)
			if c.ran != "" {
				b.Ran(req.ToolUseID, jsontext.Value(c.ran))
				b.Ran(req.ToolUseID, jsontext.Value(`{"command":"again"}`)) // told once
			}
			got, ok := b.Returned(req.ToolUseID, c.isError, "exit 1")
			if !ok || got.Outcome.State != c.state || !strings.Contains(got.Outcome.Detail, c.detail) || strings.Contains(got.Outcome.Detail, "\u202e") {
				t.Errorf("%+v", got.Outcome)
			}
			r := b.records()
			if last := r[len(r)-1]; last.Kind != RecordOutcome || last.Outcome.State != c.state {
				t.Errorf("%+v", last)
			}
		})
	}
}

// What agents leave out of what they tell is no deviation.
func TestRanLeavesOut(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct {
		tool, input, text, ran, state string
	}{
		"the plan's file":      {"ExitPlanMode", `{"plan":"# P\n","planFilePath":"/p.md"}`, "", `{"plan":"# P\n"}`, OutcomeVerified},
		"another plan":         {"ExitPlanMode", `{"plan":"# P\n","planFilePath":"/p.md"}`, "", `{"plan":"# Q\n"}`, OutcomeMismatch},
		"a field it dropped":   {"WebFetch", `{"url":"a"}`, `{"url":"a","new":1}`, `{"url":"a"}`, OutcomeVerified},
		"a field of its own":   {"WebFetch", `{"url":"a","prompt":"p"}`, "", `{"url":"a"}`, OutcomeMismatch},
		"an MCP tool's option": {"mcp__a__b", `{"x":{"y":[1,2]},"dry":true}`, `{"x":{"y":[1,3]},"dry":true}`, `{"dry":true,"x":{"y":[1,3.0]}}`, OutcomeVerified},
	} {
		req := b.request(c.tool, c.input)
		a := b.Register(req)
		dec := Decision{Allow: true, By: me}
		if c.text != "" {
			dec.Text = &c.text
		}
		if _, _, err := b.Settle(a.ID, dec); err != nil {
			t.Fatal(err)
		}
		b.Ran(req.ToolUseID, jsontext.Value(c.ran))
		if got, _ := b.Returned(req.ToolUseID, false, ""); got.Outcome.State != c.state {
			t.Errorf("%s: %+v", name, got.Outcome)
		}
	}
}

// A change of a file is judged by the file.
func TestRanOfAFile(t *testing.T) {
	b := newBench(t)
	req := b.edit(b.file("a.txt", "one\n"), "one", "two")
	a := b.Register(req)
	if _, _, err := b.Settle(a.ID, Decision{Allow: true, By: me}); err != nil {
		t.Fatal(err)
	}
	b.file("a.txt", "two\n")
	b.Ran(req.ToolUseID, jsontext.Value(`{"something":"else"}`))
	if got, _ := b.Returned(req.ToolUseID, false, ""); got.Outcome.State != OutcomeVerified {
		t.Errorf("%+v", got.Outcome)
	}
	b.Ran("", jsontext.Value(`{}`))
	b.Ran("toolu_unknown", jsontext.Value(`{}`))
	denied := b.Register(b.bash("ls"))
	if _, _, err := b.Settle(denied.ID, Decision{By: me}); err != nil {
		t.Fatal(err)
	}
	b.Ran(denied.Request.ToolUseID, jsontext.Value(`{}`))
	if got, _ := b.Returned(denied.Request.ToolUseID, false, ""); got.Outcome.State != OutcomeMismatch {
		t.Errorf("%+v", got.Outcome)
	}
}

// What was declined and ran all the same is told, also when it then failed.
func TestRanThoughDeclined(t *testing.T) {
	for _, failed := range []bool{false, true} {
		b := newBench(t)
		req := b.bash("ls")
		a := b.Register(req)
		if _, _, err := b.Settle(a.ID, Decision{Message: "no", By: me}); err != nil {
			t.Fatal(err)
		}
		b.Ran(req.ToolUseID, req.Input)
		b.Returned(req.ToolUseID, failed, "exit code 1")
		if got, _ := b.Get(a.ID); got.Outcome.State != OutcomeMismatch || !strings.Contains(got.Outcome.Detail, "declined") {
			t.Errorf("failed %v: %+v", failed, got.Outcome)
		}
	}
}
