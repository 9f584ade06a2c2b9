package approvals

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// SameKind are the approvals among pending that are of the same kind as a, and
// of the same session: all changes of files are one kind, every other tool is
// one of its own. a itself is among them if it is in pending. A question or a
// plan is of no kind, since each is answered by itself.
//
// It is what "allow all of this kind" shows before anything is allowed; each is
// then settled by its own decision.
func SameKind(a Approval, pending []Approval) []Approval {
	kind := kindOf(a)
	if kind == "" {
		return nil
	}
	var same []Approval
	for _, p := range pending {
		if p.State == Pending && p.Request.Session == a.Request.Session && kindOf(p) == kind {
			same = append(same, p)
		}
	}
	return same
}

// Kind says in words, in the plural, of which kind an approval is: "file
// changes", "Bash commands", "uses of WebFetch". It is empty for what is decided
// only by itself.
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
