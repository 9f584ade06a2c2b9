// Package approvals decides: it holds the desk of approvals, routes requests
// to the surface that shows them, reconstructs proposals and turns a person's
// text back into tool input, and keeps the journal.
//
// It knows no process and no protocol and has no clock of its own: the wire of
// the agent is session/claude's, the editor's is lsp's, and time, ids and file
// reads are handed in. Texts are UTF-8 Go strings with the line ends of the
// file they stand for; raw tool input is JSON text, kept byte for byte. The
// only goroutine is a journal's: OpenJournal starts it, it blocks on the disk,
// and Close ends it.
package approvals

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/staging"
)

// A Request is what the agent asks, as it arrived on its wire.
type Request struct {
	ID              string         // request_id of the agent's wire
	Tool            string         // tool_name
	DisplayName     string         // display_name, may be empty
	Description     string         // description, may be empty
	Title           string         // title, may be empty
	Input           jsontext.Value // the tool's input, raw bytes as received
	Suggestions     []jsontext.Value
	ToolUseID       string
	AgentID         string // set when a subagent asks
	AgentName       string // what the session knows of that subagent; may be empty
	BlockedPath     string
	DecisionReason  string
	ReasonType      string
	NeedsOwnSurface bool   // requires_user_interaction
	MayBypass       bool   // the session was started so that it can be put into bypassPermissions
	Session         string // id of the session that asks
	SessionName     string // what its owner calls it: short, and not two sessions' at the same time
	Dir             string // absolute working directory of the session
	Mode            string // the session's mode at that time, as the agent named it
}

// A Surface is the place where a request is shown to a person.
type Surface string

// The surfaces of the routing table.
const (
	SurfaceProposal Surface = "proposal" // a file change, as an editable document
	SurfaceQuestion Surface = "question" // AskUserQuestion
	SurfacePlan     Surface = "plan"     // ExitPlanMode
	SurfacePanel    Surface = "panel"    // anything else: actions, and the input as a document
	SurfaceRefused  Surface = "refused"  // denied with an explanation, never shown as a choice
)

// A State says where an approval stands. Pending is the only state that can be
// left, and it is left once.
type State string

// The states of an approval.
const (
	Pending   State = "pending"
	Allowed   State = "allowed"
	Denied    State = "denied"
	Withdrawn State = "withdrawn" // by the agent, with its agent, or replaced by a newer proposal
)

// By says who settles an approval, and how: it is journalled and told to
// everyone who comes late.
type By struct {
	FrontEnd string `json:"frontEnd"`      // "Neovim 0.10.4", "command line", "agent", "countersign"
	PID      int    `json:"pid,omitzero"`  // process of the front end
	How      string `json:"how"`           // "save", "close", "command", "withdrawn" …
	Rule     string `json:"rule,omitzero"` // name of the gesture rule, empty for commands
	User     uint32 `json:"uid,omitzero"`  // user id of the peer
}

// An Approval is a request registered on the desk. Values handed out by the
// desk are copies; they never change.
type Approval struct {
	ID      string // ASCII, ends in the last 8 characters of the request's id, never reused
	Request Request
	Surface Surface
	Title   string // a short sentence: "Edit a.txt", "Bash: go test ./..."
	Path    string // absolute path of the file concerned; empty when there is none
	State   State
	Since   time.Time // registration

	Document Document        // what is reviewed; never nil for a pending approval, nil once Get finds it settled
	Staged   *staging.Staged // nil when nothing lies on disk (reviewEdits "panel", storage not writable)
	Notes    []Note          // what the person should know before deciding
	Hidden   []HiddenPlace   // what does not show in the staged text; nil once settled

	// Set when settled.
	Settled    time.Time
	By         By
	Result     Result // the answer that goes to the agent; zero when withdrawn
	Amended    bool
	Amendment  string                  // unified diff from the document as proposed to the text that was allowed; empty when unamended
	Want       []byte                  // bytes the target must have after an allow; nil when no file is concerned
	holds      func(found []byte) bool // instead of Want, see Amendment.Holds
	carried    bool                    // a text other than the document's own was staged
	ReplacedBy string                  // id of the approval that took this one's place
	Reason     string                  // why it was denied or withdrawn, for people

	Outcome Outcome // what became of an allowed request
}

// A Note is a remark on an approval: a short sentence, and whether it warns.
type Note struct {
	Text    string `json:"text"`
	Warning bool   `json:"warning,omitzero"`
}

// A Document is what a person reviews for one request: a text to stage, and the
// way back from the person's text to the tool's input.
type Document interface {
	// Basename is the name the staged file gets, so that editors detect its
	// language: the target's own, "command.sh", "input.json".
	Basename() string
	// Text is the content as staged: UTF-8 with the line ends of the target.
	Text() string
	// Original is the text that the document started from (the file as it is
	// now), for a diff; empty when there is none.
	Original() string
	// Amend turns a person's text into the tool input that makes the agent do
	// exactly that. Text equal to Text() gives the request's own input back.
	// An error means: this text cannot be turned into input; nothing is decided.
	Amend(text string) (Amendment, error)
}

// An Amendment is what an allow will carry.
type Amendment struct {
	Input    jsontext.Value // updatedInput, always complete
	Amended  bool           // Input differs from the request's
	Restored bool           // the person restored the original: to be answered with a deny
	Declined bool           // the text itself says that this is not approved
	Mode     string         // plan: the mode that the text chooses, in the agent's words
	Want     []byte         // bytes the target file must have afterwards; nil when no file is concerned
	// Holds, where it is not nil, tells instead of Want whether bytes found
	// afterwards are what was approved: the agent makes up a part of them
	// itself (the id of a new notebook cell), so Want cannot be known.
	Holds func(found []byte) bool
	Notes []Note
}

// An Outcome is what became of an allowed request.
type Outcome struct {
	State  string `json:"state,omitzero"`  // "", "verified", "mismatch", "failed" (tool error), "done" (no file to compare)
	Detail string `json:"detail,omitzero"` // for people
	Got    string `json:"got,omitzero"`    // hex SHA-256 of the file found
}
