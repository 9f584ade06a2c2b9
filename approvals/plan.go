package approvals

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A planDocument is the plan of an ExitPlanMode request for review. Changed and
// allowed, the agent writes the changed plan over its own.
type planDocument struct {
	input *inputObject
	plan  string
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
	d := &planDocument{input: in}
	plan, ok, err := in.optionalText("plan")
	switch {
	case err != nil:
		return nil, nil, err
	case !ok || strings.TrimSpace(plan) == "":
		return d, []Note{{Text: "The agent sent no plan with its request.", Warning: true}}, nil
	}
	d.plan = plan
	return d, hiddenNotes(plan, "", anyText), nil
}

// Basename makes editors see Markdown.
func (d *planDocument) Basename() string { return "plan.md" }

// Text is the plan, its last line ended.
func (d *planDocument) Text() string {
	if d.plan == "" {
		return ""
	}
	return endLine(d.plan)
}

// Original is empty: nothing was there before.
func (d *planDocument) Original() string { return "" }

// Amend replaces the plan in the input.
func (d *planDocument) Amend(text string) (Amendment, error) {
	if err := plainText(text); err != nil {
		return Amendment{}, err
	}
	plan := unendLine(d.plan, text)
	if plan == d.plan {
		return Amendment{Input: d.input.raw}, nil
	}
	if strings.TrimSpace(plan) == "" {
		if d.plan == "" {
			return Amendment{Input: d.input.raw}, nil
		}
		return Amendment{}, &DocumentError{Reason: "the plan is empty: deny it instead"}
	}
	input, err := d.input.splice(TextField("plan", plan))
	if err != nil {
		return Amendment{}, err
	}
	return Amendment{Input: input, Amended: true, Notes: hiddenNotes(plan, d.plan, anyText)}, nil
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
