package approvals

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A Result is the answer to a request: the PermissionResult of the agent's
// wire. An allow always carries the complete input, a deny always a message.
type Result struct {
	Behavior           string           `json:"behavior"` // "allow" or "deny"
	UpdatedInput       jsontext.Value   `json:"updatedInput,omitzero"`
	UpdatedPermissions []jsontext.Value `json:"updatedPermissions,omitzero"`
	Message            string           `json:"message,omitzero"`
	Interrupt          bool             `json:"interrupt,omitzero"`
}

// A Decision is what a front end asks the desk to settle.
type Decision struct {
	Allow      bool
	Text       *string // the document's current text; nil: as staged on disk
	TextHash   string  // in place of Text: its hash, when it is the text that was staged
	Shown      string  // without Text: the hash of what lay on disk when the person was shown it; anything else, but what was staged, is refused
	Suggestion *int    // index into Request.Suggestions, to answer with as a rule
	// Destination is where the suggested rule goes instead of where the agent
	// would put it: session, localSettings, projectSettings or userSettings.
	// RuleChoices lists what can be chosen.
	Destination string
	ForSession  bool // allow this kind for the rest of the session
	Answers     map[string]string
	Notes       map[string]string
	Mode        string // plan: the mode that follows, in the agent's words
	Message     string // deny: what the agent reads
	WithEdits   bool   // deny: the agent also reads what the person changed in the document
	Interrupt   bool   // deny: end the turn too
	By          By
	// TellLater: whoever decides calls [Desk.Answered] next, and only then is
	// Notify told, so that no front end stands between a decision and its answer.
	TellLater bool
}

// allow is the result of an allow. The input is sent back even when it is the
// request's own: the CLI 2.1.185 refuses a bare allow, and takes every allow
// that says what runs. Where the request had no input, {} means the same.
func allow(input jsontext.Value, permissions ...jsontext.Value) Result {
	if len(bytes.TrimSpace(input)) == 0 || input.Kind() == 'n' {
		input = jsontext.Value("{}")
	}
	return Result{Behavior: "allow", UpdatedInput: input, UpdatedPermissions: permissions}
}

// deny is the result of a deny: the message is all that the model reads, so it
// begins by saying that a person decided, which keeps it from being read as a
// failure of the system.
func deny(req Request, surface Surface, said, edits string, interrupt bool) Result {
	message := "The user declined " + thing(req, surface)
	if said = strings.TrimSpace(said); said != "" {
		message += " and says: " + said
	} else {
		message += "."
	}
	if edits != "" {
		message += "\n\n" + edits
	}
	return Result{Behavior: "deny", Message: message, Interrupt: interrupt}
}

// thing is what the person declined, as the model knows it.
func thing(req Request, surface Surface) string {
	switch {
	case surface == SurfaceQuestion:
		return "to answer these questions"
	case surface == SurfacePlan:
		return "this plan and wants to keep planning"
	case isFileTool(req.Tool):
		return "this change"
	case req.Tool == "Bash":
		return "this command"
	}
	return "this use of " + req.Tool
}

// restoredMessage answers a proposal whose original a person put back: sent as
// an allow, the CLI would fail with "String not found in file".
const restoredMessage = "The user declined this change and says: leave the file as it is (the original text was restored)."

// refusedMessage answers a request that needs an interaction of its own that
// nothing here provides.
func refusedMessage(req Request) string {
	return fmt.Sprintf("Countersign cannot show %s to the user: it needs an interaction of its own that is not supported. Nobody declined it. Ask the user in plain text instead, or use another tool.", req.Tool)
}

// wellFormed says what a result lacks. No result that it complains about may
// leave the desk.
func (r Result) wellFormed() error {
	switch r.Behavior {
	case "allow":
		if r.UpdatedInput.Kind() != '{' {
			return fmt.Errorf("an allow without its complete input")
		}
		if r.Message != "" || r.Interrupt {
			return fmt.Errorf("an allow with a message or an interrupt")
		}
	case "deny":
		if strings.TrimSpace(r.Message) == "" {
			return fmt.Errorf("a deny without a message")
		}
		if len(r.UpdatedInput) > 0 || len(r.UpdatedPermissions) > 0 {
			return fmt.Errorf("a deny with input or permissions")
		}
	default:
		return fmt.Errorf("the behavior %q", r.Behavior)
	}
	return nil
}
