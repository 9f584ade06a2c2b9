package approvals

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind says in words, in the plural, of which kind an approval is: "file
// changes", "Bash commands", "uses of WebFetch". Approvals of one session and kind
// can be allowed together, from a list that shows them, each then by a decision of
// its own. It is empty for what is decided only by itself, as a question or a plan.
func Kind(surface Surface, tool string) string {
	switch {
	case surface != SurfaceProposal && surface != SurfacePanel:
		return ""
	case isFileTool(tool):
		return "file changes"
	case tool == "Bash":
		return "Bash commands"
	}
	return "uses of " + InLine(tool)
}

func kindOf(a Approval) string { return Kind(a.Surface, a.Request.Tool) }

// Covered are the approvals among pending that a permission update, as an allow
// answers with, would have let through unasked, had it been in force. It is for
// telling: a pending approval is never settled by a rule or a mode, for nobody
// has looked at it. Rules with contents that only the agent can match (patterns
// of paths) cover nothing here; too few may be told, but not too many.
func Covered(update jsontext.Value, pending []Approval) []Approval {
	u, ok := readUpdate(update)
	if !ok {
		return nil
	}
	var covered []Approval
	for _, p := range pending {
		if p.State == Pending && u.covers(p) {
			covered = append(covered, p)
		}
	}
	return covered
}

func (u permissionUpdate) covers(a Approval) bool {
	kind := kindOf(a)
	if kind == "" {
		return false
	}
	switch u.Type {
	case "setMode":
		return u.Mode == "bypassPermissions" || u.Mode == "acceptEdits" && isFileTool(a.Request.Tool)
	case "addRules":
		if u.Behavior != "allow" {
			return false
		}
		for _, r := range u.Rules {
			if r.ToolName == a.Request.Tool && (r.RuleContent == "" || r.ToolName == "Bash" && commandMatches(r.RuleContent, a)) {
				return true
			}
		}
	}
	return false
}

// commandMatches says whether a Bash rule lets a command through: the same one,
// or one that begins so ("git diff:*", "git diff *") and chains nothing on.
func commandMatches(rule string, a Approval) bool {
	d, ok := a.Document.(*commandDocument)
	if !ok {
		return false
	}
	if d.command == rule {
		return true
	}
	prefix, ok := strings.CutSuffix(rule, ":*")
	if !ok {
		if prefix, ok = strings.CutSuffix(rule, " *"); !ok {
			return false
		}
	}
	rest, ok := strings.CutPrefix(d.command, prefix)
	return ok && prefix != "" && (rest == "" || rest[0] == ' ') && !strings.ContainsAny(rest, ";&|<>`$(\n*")
}
