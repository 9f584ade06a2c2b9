package claude

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"countersign/session"
)

// The wire's tool result does not say with which input a tool ran, so the CLI
// is asked to tell: a callback after each use of a tool, well or badly done.
// Seen on 2.1.332: it names the input that really ran, an amended one too, and
// comes before the result. File changes are left out, for what they did is seen
// in the file, and their callbacks would carry whole files; so is reading.
const (
	ranCallback = "countersign.ran"
	ranMatcher  = `^(?!(Edit|Write|MultiEdit|NotebookEdit|Read|Glob|Grep)$).*`
)

type (
	helloLine struct {
		Type      string `json:"type"`
		RequestID string `json:"request_id"`
		Request   struct {
			Subtype string            `json:"subtype"`
			Hooks   map[string][]hook `json:"hooks"`
		} `json:"request"`
	}
	hook struct {
		Matcher string   `json:"matcher"`
		IDs     []string `json:"hookCallbackIds"`
	}
	hookAnswer struct {
		Type     string `json:"type"`
		Response struct {
			Subtype   string   `json:"subtype"`
			RequestID string   `json:"request_id"`
			Response  struct{} `json:"response"`
		} `json:"response"`
	}
)

// hello is the initialize request.
func hello(id string) ([]byte, error) {
	var l helloLine
	l.Type, l.RequestID, l.Request.Subtype = "control_request", id, "initialize"
	all := []hook{{Matcher: ranMatcher, IDs: []string{ranCallback}}}
	l.Request.Hooks = map[string][]hook{"PostToolUse": all, "PostToolUseFailure": all}
	return encode(&l)
}

// hookInput is what is read of a callback's input.
type hookInput struct {
	ToolUseID string         `json:"tool_use_id"`
	Input     jsontext.Value `json:"tool_input"`
}

// called takes a callback. It is answered at once, with nothing: the tool ran
// already, and the CLI waits with the result until then.
func (a *agent) called(id string, r request) {
	var in hookInput
	if err := json.Unmarshal(r.Input, &in, lenient); err != nil {
		a.log.Debug("a callback that cannot be read", zap.Error(err))
	} else if in.ToolUseID != "" {
		a.emit(session.ToolRan{ToolUseID: in.ToolUseID, Input: in.Input})
	}
	var l hookAnswer
	l.Type, l.Response.Subtype, l.Response.RequestID = "control_response", "success", id
	line, err := encode(&l)
	if err == nil {
		err = a.out.put(line, nil)
	}
	if err != nil {
		a.log.Debug("a callback was not answered", zap.String("id", id), zap.Error(err))
	}
}
