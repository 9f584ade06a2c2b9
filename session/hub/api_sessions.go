package hub

import (
	"time"

	"countersign/session"
)

// A hub keeps several sessions open side by side. Each has a short name, "1",
// "2" and so on, that it keeps as long as the hub runs, and one of them is the
// current one: what names no session means that one. Where a session is named,
// its short name and the agent's session id both do.

// ModeParams ask for a permission mode.
type ModeParams struct {
	Mode    string `json:"mode"` // a session.Mode by its name
	Session string `json:"session,omitzero"`
}

// ResumeParams go on with an earlier session, or with one that was stopped, and
// make it the current one. One that is still open only becomes the current one.
type ResumeParams struct {
	Session  string            `json:"session,omitzero"` // "": the last one that can be resumed
	Env      []string          `json:"env,omitzero"`     // as in SendParams
	Settings *session.Settings `json:"settings,omitzero"`
}

// SessionParams name a session.
type SessionParams struct {
	Session string `json:"session,omitzero"`
}

// NewSessionParams ask for a new conversation: in the place of the current
// session, whose agent is then ended, or beside it.
type NewSessionParams struct {
	Beside bool `json:"beside,omitzero"`
}

// A SessionEntry is a session of this workspace: an open one, or an earlier one
// that can be resumed.
type SessionEntry struct {
	ID      string        `json:"id,omitzero"`    // the agent's; empty before its first turn
	Name    string        `json:"name,omitzero"`  // short name; empty for one that is not open
	Title   string        `json:"title,omitzero"` // of its first prompt
	Started time.Time     `json:"started,omitzero"`
	Last    time.Time     `json:"last,omitzero"` // when something last happened in it
	Mode    string        `json:"mode,omitzero"` // as session.Info has it
	Model   string        `json:"model,omitzero"`
	State   session.State `json:"state"` // StateNone for one that is not open
	Current bool          `json:"current,omitzero"`
}

// A Transcript is what happened in a session, for people, as Markdown.
type Transcript struct {
	Session string `json:"session"` // short name, or id where it is not open
	Path    string `json:"path"`    // of the real file; it grows as things happen
	Text    string `json:"text"`    // its content; the beginning is left out of a very long one
}

// A TranscriptChange is what was appended to a transcript.
type TranscriptChange struct {
	Session string `json:"session"`
	Path    string `json:"path"`
	Added   string `json:"added"`
	// Cut: Added is only the end of what was appended; the file has it all.
	Cut bool `json:"cut,omitzero"`
}
