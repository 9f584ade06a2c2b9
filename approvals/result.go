package approvals

import "github.com/go-json-experiment/json/jsontext"

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
	Suggestion *int    // index into Request.Suggestions, to answer with as a rule
	ForSession bool    // allow this kind for the rest of the session
	Answers    map[string]string
	Notes      map[string]string
	Mode       string // plan: the mode that follows, in the agent's words
	Message    string // deny: what the agent reads
	Interrupt  bool   // deny: end the turn too
	By         By
}
