package approvals

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	planInput = `{"plan":"# The plan\n1. edit","planFilePath":"/p.md"}`
	planHead  = planIntro + `

After approval (tick one):

- [x] ask before each edit
- [ ] accept edits without asking
- [ ] keep planning: not approved, the remarks below are sent

<!-- The plan begins here -->

`
	planTail = `
<!-- The plan ends here -->

## Remarks

` + remarksNote + `

`
	planText = planHead + "# The plan\n1. edit\n" + planTail
)

// replaced is text with pairs of old and new, each of which must be there.
func replaced(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("no %q in\n%s", pairs[i], text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	return text
}

func TestPlanAllowed(t *testing.T) {
	const accept = "[ ] accept edits"
	for name, c := range map[string]struct {
		input   string // "" for planInput
		edit    []string
		text    func(string) string // after edit
		mode    string              // of the decision
		bypass  bool                // MayBypass
		follows string
		plan    string // of the answer; "" for the request's own input
		refused string
		line    int
	}{
		"unchanged":          {follows: "default"},
		"ticked":             {edit: []string{"[x] ask", "[ ] ask", accept, "[x] accept edits"}, follows: "acceptEdits"},
		"bypass":             {bypass: true, edit: []string{"[x] ask", "[ ] ask", "[ ] ask for nothing", "[X] ask for nothing"}, follows: "bypassPermissions"},
		"chosen elsewhere":   {mode: "acceptEdits", follows: "acceptEdits"},
		"chosen over a tick": {mode: "default", edit: []string{"[x] ask", "[ ] ask", accept, "[x] accept edits"}, follows: "default"},
		"chosen, no tick":    {mode: "acceptEdits", edit: []string{"[x] ask", "[ ] ask"}, follows: "acceptEdits"},
		"auto":               {mode: "auto", follows: "auto"},
		"manual":             {mode: "manual", follows: "default"},
		"bypass by command":  {bypass: true, mode: "bypassPermissions", follows: "bypassPermissions"},

		"edited":                 {edit: []string{"1. edit", "1. edit\n2. test"}, follows: "default", plan: "# The plan\n1. edit\n2. test"},
		"edited, CRLF":           {edit: []string{"1. edit", "1. edit\n2. test"}, text: func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }, follows: "default", plan: "# The plan\n1. edit\n2. test"},
		"CRLF alone":             {text: func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }, follows: "default"},
		"no blank lines":         {edit: []string{"-->\n\n#", "-->\n#", "edit\n\n<!--", "edit\n<!--"}, follows: "default"},
		"more blank lines":       {edit: []string{"-->\n\n#", "-->\n\n \n\n#", "edit\n\n<!--", "edit\n\n\n\n<!--"}, follows: "default"},
		"no final newline":       {text: strings.TrimSpace, follows: "default"},
		"bullets of a formatter": {edit: []string{"- [x] ask", "* [x] ask", "- [ ] acc", "* [ ] acc"}, follows: "default"},
		"choices taken out":      {edit: []string{"- [ ] accept edits without asking\n", ""}, follows: "default"},
		"own blank lines stay":   {input: `{"plan":"\n\na\n\n\n"}`, edit: []string{"a\n", "b\n"}, follows: "default", plan: "\n\nb\n\n\n"},
		"blank lines unedited":   {input: `{"plan":"\n\na\n\n\n"}`, follows: "default"},
		"CRLF of the plan":       {input: `{"plan":"a\r\nb\r\n"}`, edit: []string{"b\r", "c\r"}, follows: "default", plan: "a\r\nc\r\n"},
		"no plan":                {input: `{}`, follows: "default"},
		"no plan, one written":   {input: `{}`, edit: []string{planLead + "\n", planLead + "\ndo it\n"}, follows: "default", plan: "do it"},
		"marks in the plan":      {input: `{"plan":"a\n<!-- The plan begins here -->\n<!-- The plan ends here -->\nb"}`, edit: []string{"a\n", "c\n"}, follows: "default", plan: "c\n<!-- The plan begins here -->\n<!-- The plan ends here -->\nb"},
		"marks again":            {input: `{"plan":"<!-- The plan ends here -->\n<!-- The plan ends here (2) -->"}`, follows: "default"},

		"stay in plan mode":       {mode: "plan", refused: "deny it"},
		"no such mode":            {mode: "yolo", refused: "no mode"},
		"bypass, may not":         {mode: "bypassPermissions", refused: "may ask for nothing"},
		"no tick":                 {edit: []string{"[x] ask", "[ ] ask"}, refused: "nothing is ticked", line: 3},
		"two ticks":               {edit: []string{accept, "[x] accept edits"}, refused: "second tick", line: 6},
		"strange tick":            {edit: []string{accept, "[?] accept edits"}, refused: "neither ticked nor empty", line: 6},
		"choice changed":          {edit: []string{"accept edits without", "accept nothing without"}, refused: "not one of the choices", line: 6},
		"bypass written in":       {edit: []string{"[x] ask before each edit", "[x] ask for nothing at all"}, refused: "not one of the choices", line: 5},
		"words in the head":       {edit: []string{"one):\n", "one):\nno!\n"}, refused: "remarks go below", line: 4},
		"remarks":                 {text: func(s string) string { return s + "not so fast\n" }, refused: "take them out", line: 20},
		"remarks, mode elsewhere": {mode: "default", text: func(s string) string { return s + "not so fast\n" }, refused: "take them out", line: 20},
		"emptied":                 {edit: []string{"# The plan\n1. edit\n", ""}, refused: "empty", line: 10},
		"no beginning":            {edit: []string{planLead + "\n", ""}, refused: "begins", line: 1},
		"no end":                  {edit: []string{planTrail + "\n", ""}, refused: "ends", line: 18},
		"end before beginning":    {edit: []string{planIntro, planTrail, "\n" + planTrail, "\n"}, refused: "ends"},
		"everything removed":      {text: func(string) string { return "" }, refused: "begins", line: 1},
		"no text":                 {text: func(string) string { return "\xff" }, refused: "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if c.input == "" {
				c.input = planInput
			}
			req := b.request("ExitPlanMode", c.input)
			req.MayBypass = c.bypass
			a := b.Register(req)
			text := replaced(t, a.Document.Text(), c.edit...)
			if c.text != nil {
				text = c.text(text)
			}
			dec := Decision{Allow: true, Text: &text, Mode: c.mode, By: me}
			if c.refused != "" {
				if r := refusedWith(t, b, a.ID, dec, c.refused); c.line != 0 && r.Line != c.line {
					t.Errorf("told at line %d: %s", r.Line, r.Reason)
				}
				return
			}
			got, _, err := b.Settle(a.ID, dec)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Result.UpdatedPermissions) != 1 || string(got.Result.UpdatedPermissions[0]) != `{"type":"setMode","mode":"`+c.follows+`","destination":"session"}` {
				t.Errorf("%s", got.Result.UpdatedPermissions)
			}
			switch {
			case c.plan == "":
				if string(got.Result.UpdatedInput) != c.input || got.Amended {
					t.Errorf("%s", got.Result.UpdatedInput)
				}
			case memberText(t, got.Result.UpdatedInput, "plan") != c.plan || !got.Amended || got.Amendment == "":
				t.Errorf("%s", got.Result.UpdatedInput)
			}
			if strings.Contains(got.Amendment, "- [") {
				t.Errorf("ticks are no amendment of the plan: %s", got.Amendment)
			}
		})
	}
}

func TestPlanDocument(t *testing.T) {
	d, notes, err := newPlan(jsonRequest("ExitPlanMode", planInput))
	if err != nil || d.Text() != planText || len(notes) > 0 || d.heading() != "The plan" {
		t.Fatalf("%s, %v, %v", d.Text(), notes, err)
	}
	if d, _, _ = newPlan(Request{Tool: "ExitPlanMode", Input: jsontext.Value(planInput), MayBypass: true}); !strings.Contains(d.Text(), "- [ ] ask for nothing at all\n") {
		t.Errorf("%s", d.Text())
	}
	// A place is told as it is in the document.
	_, _, notes = Route(jsonRequest("ExitPlanMode", `{"plan":"a\nb\u202ec"}`), readOnly(nil), Policy{})
	if len(notes) != 1 || !strings.HasPrefix(notes[0].Text, "Line 12, column 2:") {
		t.Errorf("%v", notes)
	}
}

func TestPlanDenied(t *testing.T) {
	for name, c := range map[string]struct {
		edit    []string
		dec     Decision
		message string // what the agent reads after "keep planning"
		note    string
		has     string
		refused string
	}{
		"bare":              {message: "."},
		"message":           {dec: Decision{Message: "more tests"}, message: " and says: more tests"},
		"remarks":           {edit: []string{remarksNote + "\n", remarksNote + "\n\nmore tests,\nplease\n"}, message: " and says: more tests,\nplease"},
		"remarks, no note":  {edit: []string{remarksNote, "more tests"}, message: " and says: more tests"},
		"both":              {edit: []string{remarksNote, "more tests"}, dec: Decision{Message: "no"}, message: " and says: no\n\nmore tests"},
		"the same":          {edit: []string{remarksNote, "more tests"}, dec: Decision{Message: " more tests "}, message: " and says: more tests"},
		"ticked":            {edit: []string{"[x] ask", "[ ] ask", "[ ] keep", "[x] keep", remarksNote, "more tests"}, dec: Decision{Allow: true}, message: " and says: more tests", note: "was ticked"},
		"ticked, no words":  {edit: []string{"[x] ask", "[ ] ask", "[ ] keep", "[x] keep"}, dec: Decision{Allow: true}, message: ".", note: "was ticked"},
		"edited":            {edit: []string{"1. edit", "1. test"}, message: ".", note: "was not sent"},
		"edited, sent":      {edit: []string{"1. edit", "1. test", remarksNote, "so"}, dec: Decision{WithEdits: true}, has: "-1. edit\n+1. test\n"},
		"only ticks, sent":  {edit: []string{"[x] ask", "[ ] ask"}, dec: Decision{WithEdits: true}, refused: "nothing was changed"},
		"remarks, sent":     {edit: []string{remarksNote, "so"}, dec: Decision{WithEdits: true}, refused: "nothing was changed"},
		"unreadable":        {edit: []string{planTrail, "", remarksNote, "so"}, dec: Decision{Message: "no"}, message: " and says: no", note: "cannot be read"},
		"remarks and stop":  {edit: []string{remarksNote, "so"}, dec: Decision{Interrupt: true}, message: " and says: so", note: "does not read"},
		"heading of theirs": {edit: []string{remarksNote, "## Tests\n\nmore\n\n## Remarks\n\nnone"}, message: " and says: ## Tests\n\nmore\n\n## Remarks\n\nnone"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, where := range []string{"given", "on disk"} {
				b := newBench(t)
				a := b.Register(b.request("ExitPlanMode", planInput))
				text := replaced(t, a.Document.Text(), c.edit...)
				dec := c.dec
				dec.By = me
				if where == "given" {
					dec.Text = &text
				} else {
					if err := os.WriteFile(a.Staged.Path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
					dec.Shown = hashOf([]byte(text))
				}
				if c.refused != "" {
					refusedWith(t, b, a.ID, dec, c.refused)
					continue
				}
				got, notes, err := b.Settle(a.ID, dec)
				if err != nil || got.State != Denied {
					t.Fatal(err, got.State)
				}
				if want := "The user declined this plan and wants to keep planning" + c.message; c.has == "" && got.Result.Message != want || !strings.Contains(got.Result.Message, c.has) {
					t.Errorf("%s: %q\nwant %q", where, got.Result.Message, want)
				}
				said := ""
				for _, n := range notes {
					said += n.Text
				}
				if !strings.Contains(said, c.note) || c.note == "" && said != "" {
					t.Errorf("%s: notes %q, want %q", where, said, c.note)
				}
				if got.Result.Interrupt != c.dec.Interrupt || len(got.Result.UpdatedPermissions) > 0 {
					t.Errorf("%+v", got.Result)
				}
			}
		})
	}
}

func TestPlanFits(t *testing.T) {
	b := newBench(t)
	a := b.Register(b.request("ExitPlanMode", planInput))
	refusedWith(t, b, a.ID, Decision{Allow: true, ForSession: true, By: me}, "each time")
	refusedWith(t, b, a.ID, Decision{Allow: true, Answers: map[string]string{"a": "b"}, By: me}, "question")
	if got, _, err := b.Settle(a.ID, Decision{Allow: true, By: me}); err != nil || len(got.Result.UpdatedPermissions) != 1 {
		t.Fatal(err)
	}
}

func FuzzPlanDocument(f *testing.F) {
	f.Add("# The plan\n1. edit", planText)
	f.Add("# The plan\n1. edit", strings.ReplaceAll(planText, "\n", "\r\n"))
	f.Add("", planHead+planTail)
	f.Add("\n\na\r\n \n", planHead+"b"+planTail+"c")
	f.Add(planTail, planHead)
	f.Fuzz(func(t *testing.T, plan, text string) {
		input, err := Splice(jsontext.Value(`{}`), Field{Name: "plan", Value: appendJSONString(nil, plan)})
		if err != nil {
			return
		}
		d, _, err := newPlan(Request{Tool: "ExitPlanMode", Input: input})
		if err != nil {
			return
		}
		if am, err := d.Amend(d.Text()); plainText(d.Text()) == nil && (err != nil || am.Amended || am.Declined || string(am.Input) != string(input) || am.Mode != "default") {
			t.Fatalf("%q as it was staged: %+v, %v", plan, am, err)
		}
		am, err := d.Amend(text)
		var place *DocumentError
		if err != nil {
			if errors.As(err, &place) && (place.Line < 1 || place.Line > strings.Count(text, "\n")+2) {
				t.Fatalf("line %d of %q", place.Line, text)
			}
			return
		}
		if am.Declined == (am.Mode != "") || am.Amended == (string(am.Input) == string(input)) {
			t.Fatalf("%+v", am)
		}
	})
}
