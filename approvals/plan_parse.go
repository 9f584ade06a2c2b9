package approvals

import (
	"fmt"
	"strings"
)

// keepPlanningWords is the choice that does not approve.
const keepPlanningWords = "keep planning: not approved, the remarks below are sent"

// A planChoice is a line of a plan document's head.
type planChoice struct {
	mode         string
	words        string
	keepPlanning bool
}

func planChoices(req Request) []planChoice {
	var all []planChoice
	for _, m := range PlanModes(req) {
		all = append(all, planChoice{mode: m.Mode, words: m.Words})
	}
	return append(all, planChoice{words: keepPlanningWords, keepPlanning: true})
}

// A parsedPlan is a plan document taken apart. Lines count from 1.
type parsedPlan struct {
	head      []string
	plan      string // as it goes to the agent: the request's own bytes where it was not changed
	planAt    int
	remarks   string
	remarksAt int // the first line of remarks
}

// parse finds the three parts: the head ends at the first line that is the lead,
// the plan at the next one that is the trail. Neither is in the plan as the
// agent wrote it.
func (d *planDocument) parse(text string) (parsedPlan, error) {
	if !strings.Contains(d.plan, "\r") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	lines := strings.SplitAfter(text, "\n")
	lead, trail := -1, -1
	for i, l := range lines {
		switch strings.TrimSpace(l) {
		case d.lead:
			if lead < 0 {
				lead = i
			}
		case d.trail:
			if trail < 0 && lead >= 0 {
				trail = i
			}
		}
	}
	var p parsedPlan
	switch {
	case lead < 0:
		return p, &DocumentError{Line: 1, Reason: fmt.Sprintf("the line %q was changed or removed: it says where the plan begins", d.lead)}
	case trail < 0:
		return p, &DocumentError{Line: max(1, len(lines)-1), Reason: fmt.Sprintf("the line %q was changed or removed: it says where the plan ends", d.trail)}
	}
	p.head, p.planAt = lines[:lead], lead+2
	p.plan = d.unwrap(strings.Join(lines[lead+1:trail], ""))
	p.remarks, p.remarksAt = remarks(lines[trail+1:], trail+2)
	return p, nil
}

// unwrap takes the blank lines off that stand around the plan in the document,
// and puts those on that the plan itself has: blanks at its ends mean nothing.
func (d *planDocument) unwrap(s string) string {
	body := trimBlankLines(s)
	own := trimBlankLines(d.plan)
	switch {
	case body == own:
		return d.plan
	case own == "":
		return body
	}
	before, after, _ := strings.Cut(d.plan, own)
	return before + body + after
}

// trimBlankLines takes blank lines off both ends, and the end of the last line.
func trimBlankLines(s string) string {
	for {
		i := strings.IndexByte(s, '\n')
		if i < 0 || strings.TrimSpace(s[:i]) != "" {
			break
		}
		s = s[i+1:]
	}
	for {
		s = strings.TrimRight(s, "\r\n")
		i := strings.LastIndexByte(s, '\n')
		if strings.TrimSpace(s[i+1:]) != "" {
			return s
		}
		if i < 0 {
			return ""
		}
		s = s[:i]
	}
}

// remarks are what a person wrote below the plan: all but the fixed lines.
func remarks(lines []string, from int) (string, int) {
	var kept []string
	first := 0
	for i, l := range lines {
		switch strings.TrimSpace(l) {
		case remarksNote:
			continue
		case planRemarks:
			if len(kept) == 0 {
				continue
			}
		case "":
			if len(kept) == 0 {
				continue
			}
		}
		if len(kept) == 0 {
			first = from + i
		}
		kept = append(kept, l)
	}
	return strings.TrimSpace(strings.Join(kept, "")), first
}

// chosen reads what is ticked in the head.
func (d *planDocument) chosen(head []string) (planChoice, error) {
	var ticked *planChoice
	at := 1
	for i, l := range head {
		l = strings.TrimSpace(l)
		if l == planFollows {
			at = i + 1
		}
		t, ok := taskLine(l)
		if !ok {
			if l != "" && l != planIntro && l != planFollows {
				return planChoice{}, &DocumentError{Line: i + 1, Reason: fmt.Sprintf("this line says nothing that can be sent: remarks go below %q", planRemarks)}
			}
			continue
		}
		c := d.choiceOf(t.rest)
		switch {
		case c == nil:
			return planChoice{}, &DocumentError{Line: i + 1, Reason: fmt.Sprintf("%q is not one of the choices: %s", InLine(t.rest), d.choiceWords())}
		case t.mark == "":
			continue
		case !t.ticked():
			return planChoice{}, &DocumentError{Line: i + 1, Reason: t.strange()}
		case ticked != nil:
			return planChoice{}, &DocumentError{Line: i + 1, Reason: "this is the second tick, and only one thing can follow"}
		}
		ticked = c
	}
	if ticked == nil {
		return planChoice{}, &DocumentError{Line: at, Reason: "nothing is ticked: tick with [x] what follows: " + d.choiceWords()}
	}
	return *ticked, nil
}

func (d *planDocument) choiceOf(words string) *planChoice {
	for i := range d.choices {
		if d.choices[i].words == words {
			return &d.choices[i]
		}
	}
	return nil
}

func (d *planDocument) choiceWords() string {
	var all []string
	for _, c := range d.choices {
		all = append(all, fmt.Sprintf("%q", c.words))
	}
	return strings.Join(all, ", ")
}
