package claude

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/session"
)

// A message is one line of the CLI with the fields that are understood here;
// everything else in a line is skipped. One struct serves every type because
// the CLI does not always write "type" first, and a line should be read once.
type message struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`

	// control_request, control_cancel_request
	RequestID string  `json:"request_id"`
	Request   request `json:"request"`

	// control_response
	Response reply `json:"response"`

	// system/init, system/status
	SessionID      string   `json:"session_id"`
	PermissionMode string   `json:"permissionMode"`
	Model          string   `json:"model"`
	Version        string   `json:"claude_code_version"`
	Tools          []string `json:"tools"`

	// system/informational, system/permission_denied
	Content        text   `json:"content"`
	Level          string `json:"level"`
	ToolName       string `json:"tool_name"`
	DecisionReason string `json:"decision_reason"`

	// system/task_started, background_tasks_changed
	TaskID       string `json:"task_id"`
	TaskType     string `json:"task_type"`
	ToolUseID    string `json:"tool_use_id"`
	Description  string `json:"description"`
	SubagentType string `json:"subagent_type"`
	Tasks        []task `json:"tasks"`

	// assistant, user; for permission_denied a bare string
	Message         body   `json:"message"`
	ParentToolUseID string `json:"parent_tool_use_id"`

	// user, for tool results: how it was decided that each ran, or did not;
	// raw, because a result counts even if this cannot be read
	ResultMeta jsontext.Value `json:"tool_result_meta"`

	// result
	IsError        bool     `json:"is_error"`
	Result         text     `json:"result"`
	Errors         []string `json:"errors"`
	TerminalReason string   `json:"terminal_reason"`
	CostUSD        float64  `json:"total_cost_usd"`
	NumTurns       int      `json:"num_turns"`
}

// A task is something that the CLI runs beside the conversation.
type task struct {
	Type string `json:"task_type"`
}

// shellTask is the type of a command that runs in the background. It asks
// nothing, and may run for ever: a server, for example.
const shellTask = "local_bash"

// A resultMeta says of one tool result what decided about the call.
type resultMeta struct {
	ID       string `json:"id"`
	Decision struct {
		Source string `json:"source"`      // "user_temporary", "config", "hook" …
		Reason string `json:"reason_type"` // "mode", "rule", "subcommandResults" …
	} `json:"permission_decision"`
}

// unaskedOf says of each call what decided about it, see resultMeta.unasked.
func unaskedOf(meta jsontext.Value) map[string]string {
	var all []resultMeta
	if len(meta) == 0 || json.Unmarshal(meta, &all, lenient) != nil {
		return nil
	}
	by := make(map[string]string, len(all))
	for _, m := range all {
		by[m.ID] = m.unasked()
	}
	return by
}

// unasked says what decided about a call where no person did, see
// session.ToolReturned. Seen on 2.1.332; older ones do not tell.
func (m resultMeta) unasked() string {
	switch source, reason := m.Decision.Source, m.Decision.Reason; {
	case source == "" || strings.HasPrefix(source, "user_") || strings.HasPrefix(source, "permission_"):
		return ""
	case source == "hook":
		return "a hook"
	case reason == "mode":
		return "its mode"
	case reason == "rule":
		return "a rule"
	default:
		return session.OwnRules
	}
}

// A request is the inside of a control_request.
type request struct {
	Subtype         string           `json:"subtype"`
	Tool            string           `json:"tool_name"`
	DisplayName     string           `json:"display_name"`
	Title           string           `json:"title"`
	Description     string           `json:"description"`
	Input           jsontext.Value   `json:"input"`
	Suggestions     []jsontext.Value `json:"permission_suggestions"`
	ToolUseID       string           `json:"tool_use_id"`
	AgentID         string           `json:"agent_id"`
	BlockedPath     string           `json:"blocked_path"`
	DecisionReason  string           `json:"decision_reason"`
	ReasonType      string           `json:"decision_reason_type"`
	NeedsOwnSurface bool             `json:"requires_user_interaction"`
	CallbackID      string           `json:"callback_id"` // hook_callback; its Input is the hook's
}

// A reply is the inside of a control_response.
type reply struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Error     string `json:"error"`
	ErrorCode string `json:"error_code"`
	Response  struct {
		Mode        string `json:"mode"`                    // set_permission_mode
		CurrentMode string `json:"current_permission_mode"` // initialize
		Version     string `json:"claude_code_version"`
	} `json:"response"`
	Pending []pending `json:"pending_permission_requests"`
}

// pending is an unanswered request as the reply to initialize lists it.
type pending struct {
	RequestID string  `json:"request_id"`
	Request   request `json:"request"`
}

// A body is the "message" of a line: an API message for assistant and user, a
// sentence for permission_denied.
type body struct {
	Text    string
	Content content
}

// UnmarshalJSONFrom takes either form.
func (b *body) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		return json.UnmarshalDecode(d, &b.Text)
	case '{':
		var inner struct {
			Content content `json:"content"`
		}
		err := json.UnmarshalDecode(d, &inner)
		b.Content = inner.Content
		return err
	default:
		return d.SkipValue()
	}
}

// content is what a message or a tool result says: a string or blocks.
type content struct {
	Text   string
	Blocks []block
}

type block struct {
	Type      string         `json:"type"`
	Text      string         `json:"text"`
	ID        string         `json:"id"`          // tool_use
	Name      string         `json:"name"`        // tool_use
	Input     jsontext.Value `json:"input"`       // tool_use
	ToolUseID string         `json:"tool_use_id"` // tool_result
	IsError   bool           `json:"is_error"`    // tool_result
	Content   content        `json:"content"`     // tool_result
}

// UnmarshalJSONFrom takes either form.
func (c *content) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	switch d.PeekKind() {
	case '"':
		return json.UnmarshalDecode(d, &c.Text)
	case '[':
		return json.UnmarshalDecode(d, &c.Blocks)
	default:
		return d.SkipValue()
	}
}

// all is the text of the content, its text blocks one a line.
func (c content) all() string {
	out := c.Text
	for _, b := range c.Blocks {
		if b.Type != "text" || b.Text == "" {
			continue
		}
		if out != "" {
			out += "\n"
		}
		out += b.Text
	}
	return out
}

// text is a field that is only of use when it is a string.
type text string

// UnmarshalJSONFrom skips everything that is no string.
func (t *text) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '"' {
		return d.SkipValue()
	}
	return json.UnmarshalDecode(d, (*string)(t))
}

// lenient: a model may put half of a surrogate pair into a tool's input, which
// strict JSON refuses and the CLI passes on. Raw values keep it as it is.
var lenient = jsontext.AllowInvalidUTF8(true)

// errAmbiguous is a line in which one object names a member twice: what is
// reviewed could then differ from what is run.
var errAmbiguous = errors.New("a field is named twice")

// errNotJSON is a line that is not one JSON object.
var errNotJSON = errors.New("not a JSON object")

// parse reads one line. Names are matched exactly, so that "FILE_PATH" cannot
// stand in for "file_path". With an error, m still holds type, subtype and
// request id as far as they could be read.
func parse(line []byte, m *message) error {
	err := json.Unmarshal(line, m, lenient)
	if err == nil {
		if m.Type == "" && firstByte(line) != '{' {
			return errNotJSON
		}
		return nil
	}
	ambiguous := errors.Is(err, jsontext.ErrDuplicateName)
	*m = message{}
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) && !ambiguous {
		return errNotJSON
	}
	// The line is JSON, but a field has another type than expected: an unknown
	// kind of line, most likely. See at least what it calls itself.
	var head struct {
		Type      text           `json:"type"`
		Subtype   text           `json:"subtype"`
		RequestID text           `json:"request_id"`
		Request   jsontext.Value `json:"request"`
	}
	if json.Unmarshal(line, &head, lenient, jsontext.AllowDuplicateNames(true)) != nil {
		return errNotJSON
	}
	m.Type, m.Subtype, m.RequestID = string(head.Type), string(head.Subtype), string(head.RequestID)
	var asked struct {
		Subtype text `json:"subtype"`
		Tool    text `json:"tool_name"`
	}
	if json.Unmarshal(head.Request, &asked, lenient, jsontext.AllowDuplicateNames(true)) == nil {
		m.Request.Subtype, m.Request.Tool = string(asked.Subtype), string(asked.Tool)
	}
	if ambiguous {
		return errAmbiguous
	}
	return err
}

func firstByte(line []byte) byte {
	for _, b := range line {
		if b != ' ' && b != '\t' {
			return b
		}
	}
	return 0
}
