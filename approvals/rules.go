package approvals

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A permissionUpdate is one entry of permission_suggestions and
// updatedPermissions, as far as it is known.
type permissionUpdate struct {
	Type  string `json:"type"`
	Rules []struct {
		ToolName    string `json:"toolName"`
		RuleContent string `json:"ruleContent,omitzero"`
	} `json:"rules,omitzero"`
	Behavior    string   `json:"behavior,omitzero"`
	Mode        string   `json:"mode,omitzero"`
	Directories []string `json:"directories,omitzero"`
	Destination string   `json:"destination,omitzero"`
}

func readUpdate(v jsontext.Value) (u permissionUpdate, ok bool) {
	return u, json.Unmarshal(v, &u, lenient...) == nil && u.Type != ""
}

// RuleWords says in words what a permission suggestion lets through and which
// file it writes. One that is not understood is shown as it is: nobody should
// agree to what was not said.
func RuleWords(suggestion jsontext.Value) string {
	u, ok := readUpdate(suggestion)
	if words := u.words(); ok && words != "" {
		return words
	}
	return "a change of permissions that Countersign does not know: " + short(string(compact(suggestion)))
}

// words says what an update does; "" where that is not known.
func (u permissionUpdate) words() string {
	where := destinationWords(u.Destination)
	switch u.Type {
	case "addRules", "replaceRules":
		verb := "do what the rule " + short(u.Behavior) + " says for"
		switch u.Behavior {
		case "allow":
			verb = "allow without asking"
		case "deny":
			verb = "always refuse"
		case "ask":
			verb = "always ask for"
		}
		if u.Type == "replaceRules" {
			verb = "replace the rules by: " + verb
		}
		return verb + " " + ruleList(u) + ", " + where
	case "removeRules":
		return "remove the rule for " + ruleList(u) + ", " + where
	case "setMode":
		return modeWords(u.Mode) + ", " + where
	case "addDirectories":
		return "let it work in " + directoryList(u) + " too, " + where
	case "removeDirectories":
		return "keep it out of " + directoryList(u) + ", " + where
	}
	return ""
}

// title is words for a list of choices that cuts long lines off: what tells one
// choice from the next comes first. "" where that is no shorter.
func (u permissionUpdate) title() string {
	if u.Type != "addRules" || u.Behavior != "allow" {
		return ""
	}
	d, ok := destinationNamed(u.Destination)
	if !ok {
		return ""
	}
	if d.file == "" {
		return "allow " + d.scope + " (no file) " + ruleList(u)
	}
	title := "always allow (" + d.file + ") " + ruleList(u) + ", " + d.scope
	if d.only != "" {
		title += ", " + d.only
	}
	return title
}

func ruleList(u permissionUpdate) string {
	if len(u.Rules) == 0 {
		return "nothing"
	}
	var words []string
	for _, r := range u.Rules {
		switch {
		case r.RuleContent != "":
			words = append(words, InLine(r.ToolName+"("+r.RuleContent+")"))
		case r.ToolName == "Bash":
			words = append(words, "every Bash command")
		default:
			words = append(words, "every use of "+InLine(r.ToolName))
		}
	}
	return strings.Join(words, " and ")
}

func directoryList(u permissionUpdate) string {
	if len(u.Directories) == 0 {
		return "no folder"
	}
	var words []string
	for _, d := range u.Directories {
		words = append(words, InLine(d))
	}
	return strings.Join(words, " and ")
}

// modeWords says what a mode lets through.
func modeWords(mode string) string {
	switch mode {
	case "acceptEdits":
		return "accept all file edits from now on without asking (mode acceptEdits)"
	case "default", "manual":
		return "ask before every edit (mode default)"
	case "plan":
		return "plan only, edit nothing (mode plan)"
	case "auto":
		return "let the agent judge what needs asking (mode auto)"
	case "bypassPermissions":
		return "ask for nothing at all (mode bypassPermissions)"
	case "dontAsk":
		return "refuse what no rule allows, without asking (mode dontAsk)"
	}
	return "switch to the mode " + short(mode)
}

// destinationWords says how long an update holds and which file it writes.
func destinationWords(name string) string {
	d, ok := destinationNamed(name)
	switch {
	case name == "":
		return "for as long as the agent decides (it names no destination)"
	case !ok:
		return "in " + short(name)
	}
	writes := "writes " + cmp.Or(d.file, "no file")
	if d.only != "" {
		writes += "; " + d.only
	}
	return d.scope + " (" + writes + ")"
}

// ForSession is what "allow for this session" answers with, and what that lets
// through in words. The agent's own suggestion is echoed where it is one for
// the session and of this kind; for an edit that is the mode acceptEdits, which
// lets through more than this tool, and the words say so. Otherwise it is a
// rule for the session: with the contents that the agent suggests for a rule,
// or else for every use of the tool.
func ForSession(req Request) (updates []jsontext.Value, words string) {
	rule := permissionUpdate{Type: "addRules", Behavior: "allow", Destination: "session"}
	for _, s := range req.Suggestions {
		u, ok := readUpdate(s)
		switch {
		case !ok:
		case u.Type == "setMode" && u.Mode == "acceptEdits" && u.Destination == "session" && isFileTool(req.Tool):
			return []jsontext.Value{s}, RuleWords(s)
		case u.Type == "addRules" && u.Behavior == "allow" && len(rule.Rules) == 0:
			for _, r := range u.Rules {
				if r.ToolName != req.Tool {
					u.Rules = nil // it lets through more than this kind
				}
			}
			rule.Rules = u.Rules
		}
	}
	if len(rule.Rules) == 0 {
		rule.Rules = append(rule.Rules, struct {
			ToolName    string `json:"toolName"`
			RuleContent string `json:"ruleContent,omitzero"`
		}{ToolName: req.Tool})
	}
	v, err := json.Marshal(rule, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil { // strings only: cannot be
		return nil, ""
	}
	return []jsontext.Value{v}, rule.words()
}

// setMode is the update that changes the mode for the session.
func setMode(mode string) jsontext.Value {
	return jsontext.Value(fmt.Sprintf(`{"type":"setMode","mode":%s,"destination":"session"}`, appendJSONString(nil, mode)))
}
