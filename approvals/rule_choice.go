package approvals

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A destination is a place that a rule can be kept in.
type destination struct {
	name  string // on the wire
	file  string // that is written; "" for none
	scope string // how long and for whom it holds
	only  string // on what condition; "" for none
}

// destinations are all of them, from the one that reaches least far.
var destinations = []destination{
	{"session", "", "for this session", ""},
	{"localSettings", ".claude/settings.local.json", "in this project, for you", ""},
	{"projectSettings", ".claude/settings.json", "in this project, for everybody", "holds only in a folder that you have trusted"},
	{"userSettings", "~/.claude/settings.json", "in all your projects", ""},
}

func destinationNamed(name string) (d destination, ok bool) {
	i := slices.IndexFunc(destinations, func(d destination) bool { return d.name == name })
	if i < 0 {
		return d, false
	}
	return destinations[i], true
}

// A RuleChoice is one rule that an allow can answer with: a suggestion of the
// agent and where it goes. A decision names it by Suggestion and Destination.
type RuleChoice struct {
	Suggestion  int    `json:"suggestion"`           // index into Request.Suggestions
	Destination string `json:"destination,omitzero"` // "" only where the agent names none and none can be chosen
	Words       string `json:"words"`                // what it lets through, and which file it writes
	Title       string `json:"title,omitzero"`       // Words for a list that cuts long lines off; "" where Words will do
	Own         bool   `json:"suggested,omitzero"`   // the agent suggests it just so
}

// RuleChoices lists every rule that an allow of the request can answer with:
// each suggestion where the agent would put it, and then, for rules and
// folders, everywhere else. None is listed twice. A question or a plan has
// none, since each is answered by itself.
func RuleChoices(req Request) []RuleChoice {
	if req.Tool == "AskUserQuestion" || req.Tool == "ExitPlanMode" {
		return nil
	}
	var all []RuleChoice
	add := func(c RuleChoice) {
		if !slices.ContainsFunc(all, func(o RuleChoice) bool { return o.Words == c.Words }) {
			all = append(all, c)
		}
	}
	updates := make([]permissionUpdate, len(req.Suggestions))
	for i, s := range req.Suggestions {
		updates[i], _ = readUpdate(s)
		add(RuleChoice{Suggestion: i, Destination: updates[i].Destination, Words: RuleWords(s), Title: updates[i].title(), Own: true})
	}
	for i, u := range updates {
		if !u.redirects() {
			continue
		}
		if _, err := takeApart(req.Suggestions[i]); err != nil {
			continue
		}
		for _, d := range destinations {
			u.Destination = d.name
			add(RuleChoice{Suggestion: i, Destination: u.Destination, Words: u.words(), Title: u.title()})
		}
	}
	return all
}

// redirects says whether an update can go to another destination. A mode holds
// for a session only, and what is not known is not touched.
func (u permissionUpdate) redirects() bool { return u.Type == "addRules" || u.Type == "addDirectories" }

// redirect is a suggestion with another destination, the rest of it as it came.
func redirect(suggestion jsontext.Value, to string) (jsontext.Value, error) {
	u, ok := readUpdate(suggestion)
	_, known := destinationNamed(to)
	switch {
	case to == "" || ok && u.Destination == to:
		return suggestion, nil
	case !known:
		var names []string
		for _, d := range destinations {
			names = append(names, d.name)
		}
		return nil, fmt.Errorf("there is no destination %q: a rule goes to %s", InLine(to), strings.Join(names, ", "))
	case !ok || !u.redirects():
		return nil, fmt.Errorf("this suggestion can only go where the agent would put it: %s", RuleWords(suggestion))
	}
	return Splice(suggestion, TextField("destination", to))
}
