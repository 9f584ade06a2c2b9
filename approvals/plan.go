package approvals

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A planDocument is the plan of an ExitPlanMode request for review: a head in
// which the mode that follows is chosen, the plan, and a section for remarks.
// Changed and allowed, the agent writes the changed plan over its own.
type planDocument struct {
	input   *inputObject
	plan    string
	choices []planChoice
	lead    string // the line above the plan; not in the plan itself
	trail   string // the line below it; not in the plan itself
	text    string
}

// newPlan takes an ExitPlanMode request. Its input has no plan when the agent
// wrote none to its plan file; the request is still one that ends plan mode.
func newPlan(req Request) (*planDocument, []Note, error) {
	raw := own(req.Input)
	if len(strings.TrimSpace(string(raw))) == 0 {
		raw = jsontext.Value("{}")
	}
	in, err := takeApart(raw)
	if err != nil {
		return nil, nil, err
	}
	d := &planDocument{input: in, choices: planChoices(req)}
	plan, ok, err := in.optionalText("plan")
	if err != nil {
		return nil, nil, err
	}
	d.plan = plan
	d.lead, d.trail = markNotIn(plan, planLead), markNotIn(plan, planTrail)
	d.text = d.render()
	if !ok || strings.TrimSpace(plan) == "" {
		return d, []Note{{Text: "The agent sent no plan with its request.", Warning: true}}, nil
	}
	return d, nil, nil
}

// The fixed lines of a plan document.
const (
	planIntro   = "<!-- Save to approve this plan as it then reads; close it to keep planning. -->"
	planFollows = "After approval (tick one):"
	planLead    = "<!-- The plan begins here -->"
	planTrail   = "<!-- The plan ends here -->"
	planRemarks = "## Remarks"
	remarksNote = "<!-- Write below what the agent should read when it is to keep planning. -->"
)

// markNotIn is a mark that a text does not hold, so that nothing in a plan can
// look like its end.
func markNotIn(text, mark string) string {
	for n, m := 2, mark; ; n++ {
		if !strings.Contains(text, m) {
			return m
		}
		m = strings.Replace(mark, " here", fmt.Sprintf(" here (%d)", n), 1)
	}
}

func (d *planDocument) render() string {
	var b strings.Builder
	b.WriteString(planIntro + "\n\n" + planFollows + "\n\n")
	for i, c := range d.choices {
		tick := " "
		if i == 0 {
			tick = "x"
		}
		b.WriteString("- [" + tick + "] " + c.words + "\n")
	}
	b.WriteString("\n" + d.lead + "\n\n")
	if d.plan != "" {
		b.WriteString(endLine(d.plan) + "\n")
	}
	b.WriteString(d.trail + "\n\n" + planRemarks + "\n\n" + remarksNote + "\n\n")
	return b.String()
}

// Basename makes editors see Markdown.
func (d *planDocument) Basename() string { return "plan.md" }

// Text is the plan with the choices above it and room for remarks below.
func (d *planDocument) Text() string { return d.text }

// Original is empty: nothing was there before.
func (d *planDocument) Original() string { return "" }

// Amend puts the plan as the person left it into the input, and says what else
// they chose.
func (d *planDocument) Amend(text string) (Amendment, error) { return d.amend(text, "") }

// amend is Amend where the mode was chosen elsewhere, which counts instead of
// what is ticked.
func (d *planDocument) amend(text, mode string) (Amendment, error) {
	if err := plainText(text); err != nil {
		return Amendment{}, err
	}
	p, err := d.parse(text)
	if err != nil {
		return Amendment{}, err
	}
	if mode == "" {
		c, err := d.chosen(p.head)
		if err != nil {
			return Amendment{}, err
		}
		if c.keepPlanning {
			return Amendment{Input: d.input.raw, Declined: true}, nil
		}
		mode = c.mode
	}
	if p.remarks != "" {
		return Amendment{}, &DocumentError{Line: p.remarksAt, Reason: fmt.Sprintf("remarks are sent when the agent is to keep planning, and this would approve the plan: deny it or tick %q, or take them out", keepPlanningWords)}
	}
	am := Amendment{Input: d.input.raw, Mode: mode}
	switch {
	case p.plan == d.plan:
		return am, nil
	case strings.TrimSpace(p.plan) == "":
		return Amendment{}, &DocumentError{Line: p.planAt, Reason: "the plan is empty: deny it instead"}
	}
	if am.Input, err = d.input.splice(TextField("plan", p.plan)); err != nil {
		return Amendment{}, err
	}
	am.Amended, am.Notes = true, hiddenNotes(text, d.text, AnyText)
	return am, nil
}

// heading is the plan's first line of text, without the marks of Markdown.
func (d *planDocument) heading() string {
	for line := range strings.Lines(d.plan) {
		if line = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")); line != "" {
			return line
		}
	}
	return "no text"
}

// said are a person's words on a plan that is denied: those of the decision and
// the remarks in a text of this document. What cannot be sent so is noted, and
// keeps nobody from denying.
func (d *planDocument) said(words, text string, withEdits bool) (string, []Note) {
	p, err := d.parse(text)
	if err != nil {
		return words, []Note{{Text: "Remarks in the document were not sent, because it cannot be read: " + err.Error() + ".", Warning: true}}
	}
	var notes []Note
	if p.plan != d.plan && !withEdits {
		notes = append(notes, Note{Text: "What you changed in the plan was not sent; a deny with edits sends it."})
	}
	switch words = strings.TrimSpace(words); {
	case words == "":
		return p.remarks, notes
	case p.remarks == "" || p.remarks == words:
		return words, notes
	}
	return words + "\n\n" + p.remarks, notes
}
