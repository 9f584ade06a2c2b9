package approvals

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestRuleChoices(t *testing.T) {
	const (
		accept  = `{"type":"setMode","mode":"acceptEdits","destination":"session"}`
		touch   = `{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch x *"}],"behavior":"allow","destination":"localSettings"}`
		folders = `{"type":"addDirectories","directories":["/w"],"destination":"session"}`
		novelty = `{"type":"novelty"}`
	)
	list := func(suggestions ...string) string {
		req := Request{Tool: "Bash"}
		for _, s := range suggestions {
			req.Suggestions = append(req.Suggestions, jsontext.Value(s))
		}
		var out []string
		for _, c := range RuleChoices(req) {
			own := ""
			if c.Own {
				own = "*"
			}
			out = append(out, fmt.Sprintf("%d:%s%s", c.Suggestion, c.Destination, own))
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct{ want, got string }{
		{"", list()},
		{"0:localSettings* 0:session 0:projectSettings 0:userSettings", list(touch)},
		{"0:session*", list(accept)},
		{"0:session* 1:session* 1:localSettings 1:projectSettings 1:userSettings", list(accept, folders)},
		{"0:*", list(novelty)},
		{"0:localSettings* 1:session* 0:projectSettings 0:userSettings", list(touch, strings.Replace(touch, "localSettings", "session", 1))},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	words := map[string]string{"session": "writes no file", "localSettings": ".claude/settings.local.json", "projectSettings": ".claude/settings.json", "userSettings": "~/.claude/settings.json"}
	for _, c := range RuleChoices(Request{Tool: "Bash", Suggestions: []jsontext.Value{jsontext.Value(touch)}}) {
		if !strings.Contains(c.Words, "Bash(touch x *)") || !strings.Contains(c.Words, words[c.Destination]) {
			t.Errorf("%s: %s", c.Destination, c.Words)
		}
		// What tells it from the others is within what a menu of 80 columns shows.
		file := words[c.Destination]
		if c.Destination == "session" {
			file = "no file"
		}
		if first := c.Title[:min(len(c.Title), 60)]; !strings.Contains(first, "("+file+")") || !strings.Contains(first, "Bash(touch x *)") {
			t.Errorf("%s: %s", c.Destination, c.Title)
		}
	}
	if c := RuleChoices(Request{Tool: "ExitPlanMode", Suggestions: []jsontext.Value{jsontext.Value(accept)}}); c != nil {
		t.Errorf("a plan has the choices %v", c)
	}
}

// Every choice that is listed can be taken, and gives what its words say.
func TestDestination(t *testing.T) {
	const touch = `{"type":"addRules", "rules":[{"toolName":"Bash","ruleContent":"touch \u0078 *"}],"behavior":"allow","destination":"localSettings","x":1.0}`
	const accept = `{"type":"setMode","mode":"acceptEdits","destination":"session"}`
	request := func(b *bench) Request {
		req := b.bash("touch x y")
		req.Suggestions = []jsontext.Value{jsontext.Value(touch), jsontext.Value(accept)}
		return req
	}
	b := newBench(t)
	for _, c := range RuleChoices(request(b)) {
		a := b.Register(request(b))
		got, _, err := b.Settle(a.ID, Decision{Allow: true, Suggestion: &c.Suggestion, Destination: c.Destination, By: me})
		if err != nil || len(got.Result.UpdatedPermissions) != 1 {
			t.Fatalf("%+v: %v", c, err)
		}
		rule := got.Result.UpdatedPermissions[0]
		if RuleWords(rule) != c.Words {
			t.Errorf("%s is not %s", rule, c.Words)
		}
		if want := strings.Replace(touch, "localSettings", c.Destination, 1); c.Suggestion == 0 && string(rule) != want {
			t.Errorf("%s, want %s", rule, want)
		}
	}
	a := b.Register(request(b))
	refusedWith(t, b, a.ID, Decision{Allow: true, Suggestion: ptr(1), Destination: "userSettings", By: me}, "only go where")
	refusedWith(t, b, a.ID, Decision{Allow: true, Suggestion: ptr(0), Destination: "cliArg", By: me}, `no destination "cliArg"`)
	refusedWith(t, b, a.ID, Decision{Allow: true, Destination: "session", By: me}, "only a suggested rule")
	refusedWith(t, b, a.ID, Decision{Allow: true, ForSession: true, Destination: "session", By: me}, "only a suggested rule")
}
