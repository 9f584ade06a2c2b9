package hub

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session"
	"countersign/staging"
)

// Methods of the hub's socket: JSON-RPC 2.0 with Content-Length framing.
// A front end attaches first; everything else before that is refused.
const (
	MethodAttach     = "hub/attach"     // AttachParams → AttachResult
	MethodConfigure  = "hub/configure"  // session.Settings → null
	MethodSend       = "hub/send"       // SendParams → session.Info
	MethodPending    = "hub/pending"    // null → []Approval
	MethodShow       = "hub/show"       // ShowParams → Detail (also settled approvals still known)
	MethodSettle     = "hub/settle"     // SettleParams → Settled
	MethodKeep       = "hub/keep"       // KeepParams → null
	MethodInterrupt  = "hub/interrupt"  // SessionParams (or null) → null
	MethodNewSession = "hub/newSession" // NewSessionParams (or null) → session.Info
	MethodStatus     = "hub/status"     // null → Status
	MethodLog        = "hub/log"        // null → null: makes sure that the journal's file is complete on disk
	MethodStop       = "hub/stop"       // StopParams (or null) → null: ends the hub, agents included

	// Sessions, see api_sessions.go.
	MethodSetMode     = "hub/setMode"     // ModeParams → session.Info
	MethodResume      = "hub/resume"      // ResumeParams → session.Info
	MethodSessions    = "hub/sessions"    // null → []SessionEntry
	MethodStopSession = "hub/stopSession" // SessionParams → session.Info
	MethodTranscript  = "hub/transcript"  // SessionParams → Transcript

	// Notifications from the hub to every attached front end.
	NotifyApproval   = "hub/approval"   // Approval: registered, changed, settled, outcome known
	NotifySession    = "hub/session"    // session.Info: of the session that it names
	NotifyMessage    = "hub/message"    // Message
	NotifyTranscript = "hub/transcript" // TranscriptChange
)

// AttachParams introduce a front end.
type AttachParams struct {
	Version  string            `json:"version"` // Version of this program; must equal the hub's
	PID      int               `json:"pid"`
	Name     string            `json:"name"` // for people and the journal: "Neovim 0.10.4", "command line"
	Settings *session.Settings `json:"settings,omitzero"`
	// Watch: this front end shows approvals and wants notifications. Only
	// watching front ends keep an idle hub alive.
	Watch bool `json:"watch,omitzero"`
}

// AttachResult is the state of the hub at the moment of attaching; what
// changes afterwards arrives as notifications.
type AttachResult struct {
	Version   string       `json:"version"`
	PID       int          `json:"pid"`
	Root      string       `json:"root"`      // absolute path of the workspace
	Storage   string       `json:"storage"`   // absolute path
	Session   session.Info `json:"session"`   // the current one
	Approvals []Approval   `json:"approvals"` // pending ones, oldest first
	// Sessions are all that are open side by side, the current one among them.
	Sessions []session.Info `json:"sessions"`
}

// SendParams carry a prompt. A session is started if none runs.
type SendParams struct {
	Text     string            `json:"text"`
	Session  string            `json:"session,omitzero"` // short name or id; "": the current one
	Env      []string          `json:"env,omitzero"`     // "KEY=value": the environment of a session started by this
	Settings *session.Settings `json:"settings,omitzero"`
}

// StopParams say how a hub is to end.
type StopParams struct {
	// Force: also where a front end of another version asks and it is in use.
	Force bool `json:"force,omitzero"`
}

// ShowParams name an approval.
type ShowParams struct {
	ID string `json:"id"`
	// ToPerson: a person reads the answer. As its document reads then, and as it
	// was staged, it can be allowed without its text; as it reads otherwise not,
	// since other programs can write there.
	ToPerson bool `json:"toPerson,omitzero"`
}

// SettleParams ask for a decision. The hub re-checks everything.
type SettleParams struct {
	ID    string  `json:"id"`
	Allow bool    `json:"allow"`
	Text  *string `json:"text,omitzero"` // the document's current text; absent: as it lies on disk, if that was shown (ShowParams)
	// Staged, in place of Text: the hash of the text, which is the one that was
	// staged. Anything else than that is refused.
	Staged     string `json:"staged,omitzero"`
	Suggestion *int   `json:"suggestion,omitzero"`
	// Destination: where the suggested rule goes instead, see Approval.Choices.
	Destination string            `json:"destination,omitzero"`
	ForSession  bool              `json:"forSession,omitzero"`
	Answers     map[string]string `json:"answers,omitzero"`
	Notes       map[string]string `json:"notes,omitzero"`
	Mode        string            `json:"mode,omitzero"`
	Message     string            `json:"message,omitzero"`
	// WithEdits: deny; the agent also reads how Text differs from the proposal.
	WithEdits bool   `json:"withEdits,omitzero"`
	Interrupt bool   `json:"interrupt,omitzero"`
	How       string `json:"how"`  // "save", "close", "command"
	Rule      string `json:"rule"` // name of the gesture rule, if a gesture
}

// Settled is what a decision came to.
type Settled struct {
	Approval  Approval         `json:"approval"`
	Notes     []approvals.Note `json:"notes,omitzero"`
	Amendment string           `json:"amendment,omitzero"` // unified: from what was proposed to what was allowed
}

// KeepParams hand over an amendment that was saved after its approval had been
// settled elsewhere, so that it stays in the journal.
type KeepParams struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Approval is an approval as it crosses the socket. The first ten names are
// also what the command countersign.pending answers.
type Approval struct {
	ID        string            `json:"id"`
	Tool      string            `json:"tool"`
	Title     string            `json:"title"`
	Path      string            `json:"path,omitzero"`      // absolute; of the target file
	StagedURI string            `json:"stagedUri,omitzero"` // file URI of the staged document
	Surface   approvals.Surface `json:"surface"`
	State     approvals.State   `json:"state"`
	Mode      string            `json:"mode,omitzero"`
	Agent     string            `json:"agent,omitzero"` // the subagent that asks; empty for the session itself
	Since     time.Time         `json:"since"`
	Session   string            `json:"session,omitzero"` // short name of the session that asks
	Staged    *staging.Staged   `json:"staged,omitzero"`
	Line      uint32            `json:"line,omitzero"` // 0-based first changed line of the target
	Summary   string            `json:"summary,omitzero"`
	Notes     []approvals.Note  `json:"notes,omitzero"`
	Rules     []string          `json:"rules,omitzero"` // the suggestions in words, by index
	// Choices are the suggestions with every destination that they can have.
	Choices []approvals.RuleChoice `json:"choices,omitzero"`
	// SessionWords says what an allow for the session would let through; empty
	// where there is none.
	SessionWords string `json:"sessionWords,omitzero"`
	// Kind says, in the plural, what can be allowed together: approvals of one
	// Session and Kind. Empty for what is decided only by itself.
	Kind string `json:"kind,omitzero"`
	// QuickAnswers answer a request with one keystroke, where that can be.
	QuickAnswers []approvals.QuickAnswer `json:"quickAnswers,omitzero"`
	// PlanModes can follow an approved plan (SettleParams.Mode).
	PlanModes []approvals.PlanMode `json:"planModes,omitzero"`
	// Hidden are the places of the staged text, as it was staged, that do not
	// show what they hold. approvals.Hidden finds them in a changed text.
	Hidden    []approvals.HiddenPlace `json:"hidden,omitzero"`
	By        approvals.By            `json:"by,omitzero"`
	Settled   time.Time               `json:"settled,omitzero"`
	Amended   bool                    `json:"amended,omitzero"`
	Reason    string                  `json:"reason,omitzero"`
	Replaced  string                  `json:"replacedBy,omitzero"`
	Outcome   approvals.Outcome       `json:"outcome,omitzero"`
	Questions []approvals.Question    `json:"questions,omitzero"`
}

// Detail is an approval in full.
type Detail struct {
	Approval Approval       `json:"approval"`
	Input    jsontext.Value `json:"input"`    // the tool's input, raw
	Original string         `json:"original"` // text of the target now known
	Text     string         `json:"text"`     // text as staged
	Diff     string         `json:"diff"`     // unified, capped
	// Amendment is a unified diff, capped: from Text to what lies staged now and
	// would be allowed. Empty when nothing was amended.
	Amendment string `json:"amendment,omitzero"`
	// Seen: what lies staged now was shown to a person by command before this.
	Seen bool `json:"seen,omitzero"`
}

// Status is what countersign status shows.
type Status struct {
	Version   string         `json:"version"`
	PID       int            `json:"pid"`
	Root      string         `json:"root"`
	Storage   string         `json:"storage"`
	Socket    string         `json:"socket"`
	Started   time.Time      `json:"started"`
	Session   session.Info   `json:"session"` // the current one
	FrontEnds []string       `json:"frontEnds"`
	Sessions  []session.Info `json:"sessions"` // all that are open
}

// Message is for the person, in every attached front end.
type Message struct {
	Severity string `json:"severity"` // "error", "warning", "info"
	Text     string `json:"text"`
	ID       string `json:"id,omitzero"` // the approval concerned
}

// An Event is what Client.Events delivers: an Approval, a session.Info, a
// Message, a TranscriptChange, or Lost as the last one.
type Event any

// Lost ends the events of a client: the hub went away.
type Lost struct{ Err error }

// Codes of the errors that the hub answers, beside those of JSON-RPC.
const (
	CodeUnknown   = -32001 // no approval has this id
	CodeSettled   = -32002 // the approval was settled before; Error.Approval says how
	CodeStale     = -32003 // the target changed: Error.Approval is the one that took its place
	CodeRefused   = -32004 // the decision cannot be taken as it was given; nothing was decided
	CodeForbidden = -32005 // the peer may not decide: it descends from an agent
	CodeVersion   = -32006 // the hub is another version of this program
	CodeSession   = -32007 // the session or its agent cannot do this now
)

// Error is an error answered by the hub, as the client returns it.
type Error struct {
	Code     int
	Message  string    // a sentence for people
	Approval *Approval // for CodeSettled and CodeStale

	// For CodeRefused: what of the document keeps the decision from being taken,
	// and where. 1-based; 0: it is about no line, or the whole of it.
	Reason       string
	Line, Column int
}

func (e *Error) Error() string { return e.Message }
