package approvals

import (
	"strings"
	"testing"
)

func TestQuickAnswers(t *testing.T) {
	quick := func(input string) []QuickAnswer {
		d, _, err := newQuestion(jsonRequest("AskUserQuestion", input))
		if err != nil {
			t.Fatal(err)
		}
		return QuickAnswers(d)
	}
	const one = `{"questions":[{"question":"Which\ncolor?","header":"C","options":[{"label":"Red","description":"warm"},{"label":"B\u202elue","description":""}],"multiSelect":false}]}`
	got := quick(one)
	if len(got) != 2 || got[0] != (QuickAnswer{"Which\ncolor?", "Red", "Red — warm"}) || got[1].Label != "B\u202elue" || got[1].Words != "B<U+202E>lue" {
		t.Errorf("%+v", got)
	}
	for name, input := range map[string]string{
		"several questions": twoQuestions,
		"choice of several": strings.Replace(one, "false", "true", 1),
		"no options":        `{"questions":[{"question":"Why?","header":"","options":[],"multiSelect":false}]}`,
	} {
		if got := quick(input); got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := QuickAnswers(nil); got != nil {
		t.Errorf("%+v", got)
	}
	// Each is a whole answer.
	b := newBench(t)
	for _, q := range got {
		a := b.Register(b.request("AskUserQuestion", one))
		settled, _, err := b.Settle(a.ID, Decision{Allow: true, Answers: map[string]string{q.Question: q.Label}, By: me})
		if err != nil || !strings.Contains(string(settled.Result.UpdatedInput), `"answers":{"Which\ncolor?":"`) {
			t.Errorf("%s, %v", settled.Result.UpdatedInput, err)
		}
	}
}
