// Package session holds what a conversation with an agent is: its modes, its
// settings, and the Session that turns an agent's events into approvals and
// decisions into answers.
//
// It knows no editor. The agent's own wire is session/claude's; the process
// that owns sessions, and its socket, are session/hub's.
package session

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
)

// Settings are what a person configures about sessions. Front ends send them
// to the hub; the JSON names are the configuration keys.
type Settings struct {
	Agent           AgentSettings `json:"agent"`
	PermissionMode  string        `json:"permissionMode"`  // "" leaves the flag out
	ReviewEdits     string        `json:"reviewEdits"`     // "document" or "panel"
	MaxPreviewBytes int64         `json:"maxPreviewBytes"` // bytes
	Storage         string        `json:"storage"`         // "state", "workspace" or an absolute path
	TellAmendments  bool          `json:"tellAmendments"`
}

// AgentSettings say how the agent is started.
type AgentSettings struct {
	Command []string          `json:"command"`
	Args    []string          `json:"args"` // after Countersign's own flags
	Env     map[string]string `json:"env"`  // on top of the front end's environment
}

// DefaultSettings are the settings of somebody who configured nothing.
func DefaultSettings() Settings {
	return Settings{
		Agent:           AgentSettings{Command: []string{"claude"}},
		ReviewEdits:     "document",
		MaxPreviewBytes: 8 << 20,
		Storage:         "state",
		TellAmendments:  true,
	}
}

// ErrGone is the error of everything that is sent to an agent that has ended;
// agents wrap it.
var ErrGone = errors.New("the agent is gone")

// An Agent is one running agent process, whatever its wire. Its methods are
// safe for concurrent use and never wait for a person. Every event arrives on
// Events in the order of the wire; the channel is closed after Exited.
type Agent interface {
	// Send hands the agent a user message.
	Send(text string) error
	// Answer settles the request with that wire id.
	Answer(requestID string, r approvals.Result) error
	// Interrupt ends the running turn.
	Interrupt() error
	// SetMode asks for a permission mode, in the agent's own word.
	SetMode(mode string) error
	// Events is the agent's side of the conversation.
	Events() <-chan Event
	// Close ends the agent and everything it started, and waits for it.
	Close() error
}

// An Event is something an agent did. It is one of the types below.
type Event interface{ agentEvent() }

type (
	// Initialized: the agent told who it is (system/init, or the reply to
	// initialize). It comes again at the start of every turn.
	Initialized struct {
		SessionID string
		Mode      string // in the agent's words
		Model     string
		Version   string
		Tools     []string
	}
	// ModeReported: the mode now in force, in the agent's words.
	ModeReported struct{ Mode string }
	// Requested: the agent asks.
	Requested struct{ Request approvals.Request }
	// Cancelled: the agent withdrew a request.
	Cancelled struct{ RequestID string }
	// Said: text of the assistant.
	Said struct{ Text, ParentToolUseID string }
	// ToolUsed: the agent calls a tool (asked or not). Input is what the model
	// wrote, which is not always what is asked for, and not what an amended
	// call runs.
	ToolUsed struct {
		ToolUseID, Tool string
		Input           jsontext.Value
		ParentToolUseID string // of the call that started the subagent which calls; "" for the session itself
	}
	// ToolRan: a tool ran, well or badly, with this input. Its result follows.
	ToolRan struct {
		ToolUseID string
		Input     jsontext.Value
	}
	// ToolReturned: a tool's result, as the model reads it.
	ToolReturned struct {
		ToolUseID string
		IsError   bool
		Text      string
		// Unasked says, in a few words, what let the tool run, or refused it,
		// where nobody was asked: "its mode", "a rule", "a hook" ...; empty
		// where somebody was, or nothing is known.
		Unasked string
	}
	// DeniedUnasked: the agent, its rules or its mode refused a tool without
	// asking.
	DeniedUnasked struct{ ToolUseID, Tool, Text string }
	// AgentStarted: a subagent began.
	AgentStarted struct{ AgentID, Name, ToolUseID string }
	// TurnEnded: a result arrived. Approvals may still come (background agents).
	TurnEnded struct {
		Subtype     string
		IsError     bool // not for a turn that was interrupted
		Interrupted bool
		Text        string
		CostUSD     float64
		Turns       int
	}
	// BackgroundChanged: so many subagents now run in the background. They may
	// ask, and start turns, after the turn that began them has ended.
	BackgroundChanged struct{ Running int }
	// Reported: the agent told something that a person should see
	// (informational, an unreadable line).
	Reported struct {
		Warning bool
		Text    string
	}
	// Exited: the process has ended. Explanation is a sentence for the person.
	Exited struct {
		Code     int
		Signal   string
		Expected bool // Close was called, or a clean end
		// UnknownSession: there is no such session to resume.
		UnknownSession bool
		// RefusedMode: it does not run in the mode that it was started in.
		RefusedMode bool
		Stderr      string
		Explanation string
	}
)

func (Initialized) agentEvent()       {}
func (ModeReported) agentEvent()      {}
func (Requested) agentEvent()         {}
func (Cancelled) agentEvent()         {}
func (Said) agentEvent()              {}
func (ToolUsed) agentEvent()          {}
func (ToolRan) agentEvent()           {}
func (ToolReturned) agentEvent()      {}
func (DeniedUnasked) agentEvent()     {}
func (AgentStarted) agentEvent()      {}
func (TurnEnded) agentEvent()         {}
func (BackgroundChanged) agentEvent() {}
func (Reported) agentEvent()          {}
func (Exited) agentEvent()            {}

// OwnRules is what lets a tool pass unasked when the agent itself holds it for
// harmless: so many pass like this that the person is not told each.
const OwnRules = "its own rules"

// StartOptions are what an agent is started with.
type StartOptions struct {
	Settings Settings
	Dir      string   // absolute: the workspace root
	Env      []string // "KEY=value", of the front end that starts the session
	Mode     string   // in the agent's words; "" leaves the flag out
	Resume   string   // session id to resume; "" starts a new one
	Marker   string   // marks the agent's environment, so that it cannot settle its own approvals
}

// A Starter starts agents of one kind.
type Starter interface {
	Start(StartOptions) (Agent, error)
}

// Info says how a session does. It crosses the hub's socket as JSON.
type Info struct {
	Name     string `json:"name,omitzero"`     // what its owner calls it, see Options.Name
	ID       string `json:"id,omitzero"`       // the agent's session id
	State    State  `json:"state"`             //
	Mode     string `json:"mode,omitzero"`     // in Mode's words; the agent's own word where that is none
	Model    string `json:"model,omitzero"`    //
	Version  string `json:"version,omitzero"`  // the agent's
	Pending  int    `json:"pending"`           // approvals that wait
	Activity string `json:"activity,omitzero"` // a few words: what the agent does now
	Error    string `json:"error,omitzero"`    // why it ended, for people

	// NextMode is a mode that was asked for and is not in force yet.
	NextMode  string  `json:"nextMode,omitzero"`
	Queued    int     `json:"queued,omitzero"`    // prompts that wait for the end of the turn
	CostUSD   float64 `json:"costUSD,omitzero"`   // in all, as the agent reckons
	Turns     int     `json:"turns,omitzero"`     // ended ones
	Resumable bool    `json:"resumable,omitzero"` // no agent runs, and the next prompt goes on with it
	Current   bool    `json:"current,omitzero"`   // of several side by side: what names no session means this one
}

// A State says what a session does.
type State string

// The states of a session.
const (
	StateNone     State = "none"     // none was started, or the last one was closed
	StateStarting State = "starting" // the agent's process starts
	StateRunning  State = "running"  // a turn runs
	StateIdle     State = "idle"     // the agent waits for a prompt
	StateEnded    State = "ended"    // the agent is gone; Info.Error says why
)
