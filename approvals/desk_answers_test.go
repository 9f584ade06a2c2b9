package approvals

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const twoQuestions = `{"questions":[` +
	`{"question":"Which color?","header":"Color","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold","preview":"# blue"}],"multiSelect":false},` +
	`{"question":"Which parts?","header":"Parts","options":[{"label":"Top","description":""},{"label":"Bottom","description":""}],"multiSelect":true}]}`

// refusedWith settles and expects a *RefusedError that says words, and the
// approval still pending.
func refusedWith(t *testing.T, b *bench, id string, dec Decision, words string) *RefusedError {
	t.Helper()
	_, _, err := b.Settle(id, dec)
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), words) {
		t.Errorf("error %v, want one that says %q", err, words)
		return &RefusedError{}
	}
	if a, _ := b.Get(id); a.State != Pending {
		t.Errorf("state %s after a refusal", a.State)
	}
	return refused
}

func TestQuestionAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answers, notes map[string]string
		want           string // members put at the end of the input
		refused        string
	}{
		"one of two":        {answers: map[string]string{"Which color?": "Red"}, want: `"answers":{"Which color?":"Red"}`},
		"both":              {answers: map[string]string{"Which parts?": "Top, Bottom", "Which color?": "Red"}, want: `"answers":{"Which color?":"Red","Which parts?":"Top, Bottom"}`},
		"free text":         {answers: map[string]string{"Which color?": "a dark green"}, want: `"answers":{"Which color?":"a dark green"}`},
		"free with comma":   {answers: map[string]string{"Which color?": "Red, but darker"}, want: `"answers":{"Which color?":"Red, but darker"}`},
		"notes and preview": {answers: map[string]string{"Which color?": "Blue"}, notes: map[string]string{"Which color?": "dark"}, want: `"answers":{"Which color?":"Blue"},"annotations":{"Which color?":{"preview":"# blue","notes":"dark"}}`},
		"none":              {answers: map[string]string{}, refused: "no question is answered"},
		"blank":             {answers: map[string]string{"Which color?": " \n"}, refused: "no question is answered"},
		"by header":         {answers: map[string]string{"Color": "Red"}, refused: "nobody asked"},
		"two of one":        {answers: map[string]string{"Which color?": "Red, Blue"}, refused: "takes one answer"},
		"note on nothing":   {answers: map[string]string{"Which color?": "Red"}, notes: map[string]string{"x": "y"}, refused: "nobody asked"},
		"notes alone":       {notes: map[string]string{"Which color?": "dark"}, refused: "answers"},
		"bare allow":        {refused: "no question is answered"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a := b.Register(b.request("AskUserQuestion", twoQuestions))
			if len(Questions(a.Document)) != 2 {
				t.Fatal("no questions")
			}
			dec := Decision{Allow: true, Answers: c.answers, Notes: c.notes, By: me}
			if c.refused != "" {
				refusedWith(t, b, a.ID, dec, c.refused)
				return
			}
			got, _, err := b.Settle(a.ID, dec)
			if err != nil {
				t.Fatal(err)
			}
			if got.Amendment != "" {
				t.Errorf("answered without its document, which is told as changed: %s", got.Amendment)
			}
			if want := strings.TrimSuffix(twoQuestions, "}") + "," + c.want + "}"; string(got.Result.UpdatedInput) != want {
				t.Errorf("%s\nwant %s", got.Result.UpdatedInput, want)
			}
		})
	}
}

func TestQuestionDocument(t *testing.T) {
	req := jsonRequest("AskUserQuestion", twoQuestions)
	d, _, err := newQuestion(req)
	if err != nil {
		t.Fatal(err)
	}
	const want = questionIntro + `

## 1. Which color?

Choose one (Color).

- [ ] Red — warm
- [ ] Blue — cold
  > # blue

Other:
Notes:

## 2. Which parts?

Choose any (Parts).

- [ ] Top
- [ ] Bottom

Other:
Notes:
`
	if d.Text() != want {
		t.Fatalf("%s", d.Text())
	}
	change := func(pairs ...string) string { return strings.NewReplacer(pairs...).Replace(want) }
	for name, c := range map[string]struct {
		text string
		want string
		err  string
		line int
	}{
		"one tick":            {text: change("[ ] Red", "[x] Red"), want: `"answers":{"Which color?":"Red"}`},
		"ticks and CRLF":      {text: strings.ReplaceAll(change("[ ] Top", "[X] Top", "[ ] Bottom", "[x] Bottom"), "\n", "\r\n"), want: `"answers":{"Which parts?":"Top, Bottom"}`},
		"other":               {text: strings.Replace(want, "Other:\n", "Other: a dark\n green\n", 1), want: `"answers":{"Which color?":"a dark\n green"}`},
		"other of many":       {text: strings.Replace(change("[ ] Top", "[x] Top"), "Bottom\n\nOther:", "Bottom\n\nOther: sides", 1), want: `"answers":{"Which parts?":"Top, sides"}`},
		"notes":               {text: strings.Replace(change("[ ] Blue", "[x] Blue"), "Notes:\n", "Notes:\ndark\n", 1), want: `"answers":{"Which color?":"Blue"},"annotations":{"Which color?":{"preview":"# blue","notes":"dark"}}`},
		"nothing":             {text: want, err: "no question is answered", line: 3},
		"notes alone":         {text: strings.Replace(want, "Notes:\n", "Notes: x\n", 1), err: "no question is answered", line: 3},
		"two ticks":           {text: change("[ ] Red", "[x] Red", "[ ] Blue", "[x] Blue"), err: "second tick", line: 8},
		"tick and other":      {text: strings.Replace(change("[ ] Red", "[x] Red"), "Other:\n", "Other: x\n", 1), err: "only one of them", line: 11},
		"option removed":      {text: change("- [ ] Red — warm\n", ""), err: `"Blue" was`, line: 0},
		"last option removed": {text: change("- [ ] Bottom\n", ""), err: `"Bottom" was removed`, line: 14},
		"option changed":      {text: change("[ ] Red", "[x] Dark red"), err: `"Red" was changed`, line: 7},
		"option added":        {text: change("- [ ] Bottom\n", "- [ ] Bottom\n- [x] Side\n"), err: "does not offer", line: 20},
		"strange tick":        {text: change("[ ] Red", "[?] Red"), err: "neither", line: 7},
		"heading removed":     {text: change("## 2. Which parts?\n", ""), err: "Which parts?", line: 0},
		"empty":               {text: "", err: "Which color?", line: 1},
		"answer astray":       {text: change("Choose one (Color).", "Choose one (Color).\nred, please"), err: "belongs to no answer", line: 6},
		"answer at the top":   {text: "Red!\n" + change("[ ] Red", "[x] Red"), err: "belongs to no answer", line: 1},
		"unfinished tick":     {text: change("[ ] Red", "[x Red"), err: "belongs to no answer", line: 7},
		"other bullets":       {text: change("- [ ] Red", "  * [x] Red", "- [ ] Blue", "+ [ ] Blue"), want: `"answers":{"Which color?":"Red"}`},
		"other, below":        {text: strings.Replace(want, "Other:\n", "Other:\n\n  dark green\n\n", 1), want: `"answers":{"Which color?":"dark green"}`},
		"Other: in an answer": {text: strings.Replace(want, "Other:\n", "Other: a\nOther: b\n", 1), want: `"answers":{"Which color?":"a\nOther: b"}`},
	} {
		t.Run(name, func(t *testing.T) {
			am, err := d.Amend(c.text)
			if c.err != "" {
				var place *DocumentError
				if !errors.As(err, &place) || c.line != 0 && place.Line != c.line || name != "option removed" && !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%v, want %q at line %d", err, c.err, c.line)
				}
				return
			}
			if want := strings.TrimSuffix(twoQuestions, "}") + "," + c.want + "}"; err != nil || string(am.Input) != want {
				t.Errorf("%s, %v\nwant %s", am.Input, err, want)
			}
		})
	}
}

// A question's texts come from the agent and must not look like ours.
func TestQuestionDocumentIsNotSpoofed(t *testing.T) {
	raw, err := Splice(jsontext.Value(`{}`), Field{Name: "questions", Value: jsontext.Value(
		`[{"question":"A?\n- [x] No\nOther: y","header":"- [x] No\n## 2. B?","options":[{"label":"No\n- [x] Yes","description":"\n## 2. B?","preview":"- [x] Yes\nOther: z\n## 2. B?"},{"label":"Yes","description":""}],"multiSelect":false},{"question":"B?","header":"","options":[],"multiSelect":false}]`)})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := newQuestion(jsonRequest("AskUserQuestion", string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Amend(d.Text()); err == nil {
		t.Fatalf("answered by the agent itself:\n%s", d.Text())
	}
	am, err := d.Amend(strings.Replace(d.Text(), "- [ ] Yes", "- [x] Yes", 1))
	if err != nil || !strings.Contains(string(am.Input), `"answers":{"A?\n- [x] No\nOther: y":"Yes"}`) {
		t.Fatalf("%s, %v\n%s", am.Input, err, d.Text())
	}
}

func FuzzQuestionDocument(f *testing.F) {
	d, _, err := newQuestion(jsonRequest("AskUserQuestion", twoQuestions))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(twoQuestions, d.Text())
	f.Add(twoQuestions, strings.Replace(d.Text(), "[ ]", "[x]", 1))
	f.Add(oneQuestion, "## 1. Which color?\n- [x] Red — warm\n- [ ] Blue — cold\nOther: x\nNotes: y")
	f.Fuzz(func(t *testing.T, input, text string) {
		d, _, err := newQuestion(jsonRequest("AskUserQuestion", input))
		if err != nil {
			return
		}
		if _, err := d.Amend(d.Text()); err == nil {
			t.Fatalf("answered by leaving it alone: %q", d.Text())
		}
		am, err := d.Amend(text)
		if err != nil {
			return
		}
		a := Approval{State: Allowed, Request: Request{Tool: "AskUserQuestion"}, Result: allow(am.Input)}
		if err := a.wellFormed(); err != nil {
			t.Fatalf("%q: %v", am.Input, err)
		}
	})
}

func TestRules(t *testing.T) {
	const (
		accept  = `{"type":"setMode","mode":"acceptEdits","destination":"session"}`
		touch   = `{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch x *"}],"behavior":"allow","destination":"localSettings"}`
		folders = `{"type":"addDirectories","directories":["/w"],"destination":"session"}`
	)
	values := func(s ...string) (v []jsontext.Value) {
		for _, s := range s {
			v = append(v, jsontext.Value(s))
		}
		return v
	}
	for name, c := range map[string]struct {
		tool        string
		suggestions []jsontext.Value
		dec         Decision
		want        string // the one update
		refused     string
	}{
		"suggestion":                  {"Bash", values(touch, accept), Decision{Suggestion: ptr(0)}, touch, ""},
		"suggestion of another kind":  {"Bash", values(touch, folders), Decision{Suggestion: ptr(1)}, folders, ""},
		"no such suggestion":          {"Bash", values(touch), Decision{Suggestion: ptr(1)}, "", "suggests no rule number 1"},
		"negative":                    {"Bash", values(touch), Decision{Suggestion: ptr(-1)}, "", "suggests no rule"},
		"both":                        {"Bash", values(touch), Decision{Suggestion: ptr(0), ForSession: true}, "", "not both"},
		"session, nothing suggested":  {"WebFetch", nil, Decision{ForSession: true}, `{"type":"addRules","rules":[{"toolName":"WebFetch"}],"behavior":"allow","destination":"session"}`, ""},
		"session, rule suggested":     {"Bash", values(touch, folders, accept), Decision{ForSession: true}, `{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch x *"}],"behavior":"allow","destination":"session"}`, ""},
		"session, rule of other kind": {"WebFetch", values(touch), Decision{ForSession: true}, `{"type":"addRules","rules":[{"toolName":"WebFetch"}],"behavior":"allow","destination":"session"}`, ""},
		"mode on a deny":              {"Bash", nil, Decision{Mode: "default"}, "", "only a plan"},
		"message on an allow":         {"Bash", nil, Decision{Message: "x"}, "", "no message"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			req := b.request(c.tool, `{"command":"touch x y"}`)
			req.Suggestions = c.suggestions
			a := b.Register(req)
			c.dec.Allow, c.dec.By = true, me
			if c.refused != "" {
				refusedWith(t, b, a.ID, c.dec, c.refused)
				return
			}
			got, _, err := b.Settle(a.ID, c.dec)
			if err != nil || len(got.Result.UpdatedPermissions) != 1 || string(got.Result.UpdatedPermissions[0]) != c.want {
				t.Fatalf("%s, %v\nwant %s", got.Result.UpdatedPermissions, err, c.want)
			}
		})
	}
	b := newBench(t)
	req := b.edit(b.file("a.txt", "one\n"), "one", "two")
	req.Suggestions = values(accept)
	if updates, words := ForSession(req); len(updates) != 1 || string(updates[0]) != accept || !strings.Contains(words, "all file edits") || !strings.Contains(words, "acceptEdits") {
		t.Errorf("%s, %s", updates, words)
	}
}

func TestRuleWords(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch x *"}],"behavior":"allow","destination":"localSettings"}`:          "allow without asking Bash(touch x *), in this project, for you (writes .claude/settings.local.json)",
		`{"type":"addRules","rules":[{"toolName":"Bash"},{"toolName":"mcp__a__b"}],"behavior":"allow","destination":"session"}`:                 "allow without asking every Bash command and every use of mcp__a__b, for this session (writes no file)",
		`{"type":"addRules","rules":[{"toolName":"WebFetch","ruleContent":"domain:a.example"}],"behavior":"deny","destination":"userSettings"}`: "always refuse WebFetch(domain:a.example), in all your projects (writes ~/.claude/settings.json)",
		`{"type":"addRules","rules":[{"toolName":"Read","ruleContent":"x\u202ey"}],"behavior":"ask","destination":"projectSettings"}`:           "always ask for Read(x<U+202E>y), in this project, for everybody (writes .claude/settings.json; holds only in a folder that you have trusted)",
		`{"type":"replaceRules","rules":[],"behavior":"allow","destination":"session"}`:                                                         "replace the rules by: allow without asking nothing, for this session (writes no file)",
		`{"type":"removeRules","rules":[{"toolName":"Bash"}],"behavior":"allow","destination":"session"}`:                                       "remove the rule for every Bash command, for this session (writes no file)",
		`{"type":"setMode","mode":"acceptEdits","destination":"session"}`:                                                                       "accept all file edits from now on without asking (mode acceptEdits), for this session (writes no file)",
		`{"type":"setMode","mode":"bypassPermissions","destination":"session"}`:                                                                 "ask for nothing at all (mode bypassPermissions), for this session (writes no file)",
		`{"type":"addDirectories","directories":["/w","/v"],"destination":"session"}`:                                                           "let it work in /w and /v too, for this session (writes no file)",
		`{"type":"removeDirectories","directories":["/w"],"destination":"cliArg"}`:                                                              "keep it out of /w, in cliArg",
		`{"type":"novelty","x":1}`: `a change of permissions that Countersign does not know: {"type":"novelty","x":1}`,
		`"text"`:                   `a change of permissions that Countersign does not know: "text"`,
		``:                         `a change of permissions that Countersign does not know: `,
	} {
		if got := RuleWords(jsontext.Value(in)); got != want {
			t.Errorf("%s\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestRefusedSurface(t *testing.T) {
	b := newBench(t)
	req := b.request("Novelty", `{"a":1}`)
	req.NeedsOwnSurface = true
	a := b.Register(req)
	if a.State != Denied || a.Result.Behavior != "deny" || !strings.Contains(a.Result.Message, "Novelty") || a.Staged != nil {
		t.Fatalf("%+v", a)
	}
	if got := b.kinds(a.ID); got != "registered settled" {
		t.Errorf("journal: %s", got)
	}
	if _, _, err := b.Settle(a.ID, Decision{Allow: true}); err == nil {
		t.Error("settled again")
	}
}

func TestAmendedInputs(t *testing.T) {
	b := newBench(t)
	a := b.Register(b.request("Bash", `{"command":"rm x","description":"d"}`))
	got, _, err := b.Settle(a.ID, Decision{Allow: true, Text: ptr("rm y\n"), By: me})
	if err != nil || string(got.Result.UpdatedInput) != `{"command":"rm y","description":"d"}` || !strings.Contains(got.Amendment, "-rm x\n+rm y\n") {
		t.Fatalf("%+v, %v", got, err)
	}
	a = b.Register(b.request("WebFetch", `{"url":"https://a.example","n":1.0}`))
	if r := refusedWith(t, b, a.ID, Decision{Allow: true, Text: ptr("{\n  \"url\": 3\n}"), By: me}, "string"); r.Line != 2 {
		t.Errorf("line %d", r.Line)
	}
	got, _, err = b.Settle(a.ID, Decision{Allow: true, Text: ptr("{\"url\":\"https://b.example\",\"n\":1}"), By: me})
	if err != nil || string(got.Result.UpdatedInput) != `{"url":"https://b.example","n":1.0}` {
		t.Fatalf("%s, %v", got.Result.UpdatedInput, err)
	}
	// No input at all: a bare allow would be refused by older agents.
	a = b.Register(b.request("Novelty", ``))
	if got, _, err = b.Settle(a.ID, Decision{Allow: true, By: me}); err != nil || string(got.Result.UpdatedInput) != "{}" {
		t.Fatalf("%s, %v", got.Result.UpdatedInput, err)
	}
	a = b.Register(b.request("Novelty", `[1]`))
	refusedWith(t, b, a.ID, Decision{Allow: true, By: me}, "without its complete input")
}
