package approvals

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The answers as they go over the wire, each from the decision it comes of. A
// bare allow is not among them: agents before 2.1.186 refuse it.
func TestShapesOfAnswers(t *testing.T) {
	const touch = `{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch *"}],"behavior":"allow","destination":"localSettings"}`
	for name, c := range map[string]struct {
		tool, input string
		dec         Decision
		want        string
	}{
		"allow":                  {"Bash", `{"command":"touch x"}`, Decision{Allow: true}, `{"behavior":"allow","updatedInput":{"command":"touch x"}}`},
		"allow with other input": {"Bash", `{"command":"touch x"}`, Decision{Allow: true, Text: ptr("touch y\n")}, `{"behavior":"allow","updatedInput":{"command":"touch y"}}`},
		"for the session":        {"WebFetch", `{"url":"a"}`, Decision{Allow: true, ForSession: true}, `{"behavior":"allow","updatedInput":{"url":"a"},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"WebFetch"}],"behavior":"allow","destination":"session"}]}`},
		"with a rule":            {"Bash", `{"command":"touch x"}`, Decision{Allow: true, Suggestion: ptr(0)}, `{"behavior":"allow","updatedInput":{"command":"touch x"},"updatedPermissions":[` + touch + `]}`},
		"a plan":                 {"ExitPlanMode", `{"plan":"# P"}`, Decision{Allow: true}, `{"behavior":"allow","updatedInput":{"plan":"# P"},"updatedPermissions":[{"type":"setMode","mode":"default","destination":"session"}]}`},
		"answers":                {"AskUserQuestion", `{"questions":[{"question":"Q?","header":"H","options":[{"label":"A","description":""}],"multiSelect":false}]}`, Decision{Allow: true, Answers: map[string]string{"Q?": "A"}}, `{"behavior":"allow","updatedInput":{"questions":[{"question":"Q?","header":"H","options":[{"label":"A","description":""}],"multiSelect":false}],"answers":{"Q?":"A"}}}`},
		"deny":                   {"Bash", `{"command":"touch x"}`, Decision{}, `{"behavior":"deny","message":"The user declined this command."}`},
		"deny with a reason":     {"Bash", `{"command":"touch x"}`, Decision{Message: "no"}, `{"behavior":"deny","message":"The user declined this command and says: no"}`},
		"deny and stop":          {"Bash", `{"command":"touch x"}`, Decision{Interrupt: true}, `{"behavior":"deny","message":"The user declined this command.","interrupt":true}`},
		"decline a question":     {"AskUserQuestion", twoQuestions, Decision{}, `{"behavior":"deny","message":"The user declined to answer these questions."}`},
		"decline a plan":         {"ExitPlanMode", `{"plan":"# P"}`, Decision{}, `{"behavior":"deny","message":"The user declined this plan and wants to keep planning."}`},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			req := b.request(c.tool, c.input)
			req.Suggestions = []jsontext.Value{jsontext.Value(touch)}
			a := b.Register(req)
			c.dec.By = me
			got, _, err := b.Settle(a.ID, c.dec)
			if err != nil {
				t.Fatal(err)
			}
			wire, err := json.Marshal(got.Result)
			if err != nil || string(wire) != c.want {
				t.Errorf("%s, %v\nwant %s", wire, err, c.want)
			}
		})
	}
}

// A rule is made of what was asked, whatever a person changed it into.
func TestRuleWithAnAmendment(t *testing.T) {
	b := newBench(t)
	a := b.Register(b.bash("touch x"))
	_, notes, err := b.Settle(a.ID, Decision{Allow: true, ForSession: true, Text: ptr("touch y\n"), By: me})
	if err != nil || len(notes) != 1 || !strings.Contains(notes[0].Text, "what the agent asked for") {
		t.Errorf("%v, %v", notes, err)
	}
}
