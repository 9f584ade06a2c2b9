package approvals

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func BenchmarkRuleChoices(b *testing.B) {
	req := Request{Tool: "Bash", Suggestions: []jsontext.Value{
		jsontext.Value(`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch z1 *"}],"behavior":"allow","destination":"localSettings"}`),
		jsontext.Value(`{"type":"addDirectories","directories":["/work-example/88b-amend-bash"],"destination":"session"}`),
		jsontext.Value(`{"type":"setMode","mode":"acceptEdits","destination":"session"}`),
	}}
	for b.Loop() {
		if len(RuleChoices(req)) != 9 {
			b.Fatal("not all")
		}
		ForSession(req)
	}
}
