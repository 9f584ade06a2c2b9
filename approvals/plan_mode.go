package approvals

import "fmt"

// A PlanMode is a mode that can follow an approved plan. It is chosen with
// Decision.Mode.
type PlanMode struct {
	Mode  string `json:"mode"` // in the agent's words
	Words string `json:"words"`
}

// The modes that a plan document offers, the tightest first.
var (
	askPerEdit  = PlanMode{"default", "ask before each edit"}
	acceptEdits = PlanMode{"acceptEdits", "accept edits without asking"}
	bypass      = PlanMode{"bypassPermissions", "ask for nothing at all"}
)

// PlanModes are the modes that can be chosen to follow a plan, the one that
// follows when nobody chooses first; nil for a request that is no plan.
func PlanModes(req Request) []PlanMode {
	switch {
	case req.Tool != "ExitPlanMode":
		return nil
	case req.MayBypass:
		return []PlanMode{askPerEdit, acceptEdits, bypass}
	}
	return []PlanMode{askPerEdit, acceptEdits}
}

// planMode checks the mode that is to follow a plan. Every allow of a plan
// carries one, so that nobody stays in plan mode unawares.
func planMode(req Request, mode string) (string, error) {
	switch mode {
	case "":
		return askPerEdit.Mode, nil
	case "manual":
		return "default", nil // another word of the CLI for the same
	case "default", "acceptEdits", "auto", "dontAsk":
		return mode, nil
	case "bypassPermissions":
		if !req.MayBypass { // the CLI would not do it, and say nothing
			return "", fmt.Errorf("this session was not started so that it may ask for nothing at all: choose another mode, or start it anew with bypass")
		}
		return mode, nil
	case "plan":
		return "", fmt.Errorf("the mode plan after a plan is to keep planning: deny it instead")
	}
	return "", fmt.Errorf("the agent knows no mode %q to follow a plan: default, acceptEdits, auto, bypassPermissions or dontAsk", InLine(mode))
}
