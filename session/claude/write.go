package claude

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session"
)

// A RefusedError is the CLI's no to one of our requests.
type RefusedError struct {
	What string // subtype of the request: "set_permission_mode" …
	Code string // error_code: "invalid_mode", "bypass_not_launched" …; may be empty
	Text string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the agent refused %s: %s", e.What, e.Text)
}

// Is tells what no other start of the CLI would change.
func (e *RefusedError) Is(target error) bool {
	return target == session.ErrNoMode && e.Code == "invalid_mode"
}

// An outbox is the line of messages to the agent's stdin. Anybody may put a
// line in; one goroutine writes them, each whole, because a torn line ends the
// CLI. Putting in never waits for the agent to read; what it takes at once is
// written right then.
type outbox struct {
	now func([]byte) (int, error) // writes without waiting; nil: there is no such way

	mu sync.Mutex
	// guarded by mu:
	lines   []outgoing
	writing bool  // run is at it: nobody else may write
	err     error // set: nothing is taken any more
	closed  bool  // no more lines; what is in is still written

	wake chan struct{} // holds one token when there is something to look at
}

type outgoing struct {
	line    []byte
	written chan error // nil, or told once what became of the line
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put takes a line without its newline.
func (o *outbox) put(line []byte, written chan error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	if o.closed {
		return session.ErrGone
	}
	line = append(line, '\n')
	if o.now != nil && !o.writing && len(o.lines) == 0 {
		n, err := o.now(line)
		if err == nil && n == len(line) {
			if written != nil {
				written <- nil
			}
			return nil
		}
		line = line[n:] // an error is met again by run
	}
	o.lines = append(o.lines, outgoing{line, written})
	o.nudge()
	return nil
}

func (o *outbox) nudge() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// finish takes no more lines; the writer closes stdin after the last one.
func (o *outbox) finish() {
	o.mu.Lock()
	o.closed = true
	o.nudge()
	o.mu.Unlock()
}

// fail drops what was not written and refuses the rest.
func (o *outbox) fail(err error) {
	o.mu.Lock()
	if o.err == nil {
		o.err = err
	}
	left := o.lines
	o.lines = nil
	o.nudge()
	o.mu.Unlock()
	for _, l := range left {
		if l.written != nil {
			l.written <- err
		}
	}
}

// run writes until the outbox is finished or failed, then closes w.
func (o *outbox) run(w io.WriteCloser) {
	defer w.Close()
	for range o.wake {
		for {
			o.mu.Lock()
			lines, err, closed := o.lines, o.err, o.closed
			o.lines, o.writing = nil, len(o.lines) > 0
			o.mu.Unlock()
			if err != nil || closed && len(lines) == 0 {
				return
			}
			if len(lines) == 0 {
				break
			}
			for i, l := range lines {
				if _, err := w.Write(l.line); err != nil {
					err = fmt.Errorf("%w: %w", session.ErrGone, err)
					for _, rest := range lines[i:] {
						if rest.written != nil {
							rest.written <- err
						}
					}
					o.fail(err)
					return
				}
				if l.written != nil {
					l.written <- nil
				}
			}
		}
	}
}

// requests are our own control_requests that the CLI has not answered.
type requests struct {
	mu sync.Mutex
	// guarded by mu:
	open map[string]openRequest
	last int
}

type openRequest struct {
	what string
	wait chan error // capacity 1; nil when nobody waits
}

// add names a new request and remembers it.
func (r *requests) add(what string, wait chan error) (id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = make(map[string]openRequest)
	}
	r.last++
	id = "countersign-" + strconv.Itoa(r.last)
	r.open[id] = openRequest{what, wait}
	return id
}

// take forgets a request and says what it was; "" for an unknown id.
func (r *requests) take(id string) (what string, wait chan error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.open[id]
	delete(r.open, id)
	return o.what, o.wait
}

// The lines that we write.
type (
	userLine struct {
		Type    string `json:"type"`
		Message struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"message"`
		ParentToolUseID *string `json:"parent_tool_use_id"`
		SessionID       string  `json:"session_id"`
	}
	requestLine struct {
		Type      string `json:"type"`
		RequestID string `json:"request_id"`
		Request   struct {
			Subtype string `json:"subtype"`
			Mode    string `json:"mode,omitzero"`
		} `json:"request"`
	}
	responseLine struct {
		Type     string `json:"type"`
		Response struct {
			Subtype   string            `json:"subtype"`
			RequestID string            `json:"request_id"`
			Response  *approvals.Result `json:"response,omitzero"`
			Error     string            `json:"error,omitzero"`
		} `json:"response"`
	}
)

func userMessage(text string) ([]byte, error) {
	var l userLine
	l.Type = "user"
	l.Message.Role = "user"
	l.Message.Content = text
	return encode(&l)
}

func controlRequest(id, subtype, mode string) ([]byte, error) {
	var l requestLine
	l.Type = "control_request"
	l.RequestID = id
	l.Request.Subtype = subtype
	l.Request.Mode = mode
	return encode(&l)
}

// answer carries a result. The input, which may hold two versions of a file, is
// put into the line as it is: it comes from the agent's own line or from the
// desk, both of which have parsed it, and parsing it again would take longer
// than all the rest of an answer. A newline between its tokens would end the
// line early, and the CLI with it, so such an input takes the long way.
func answer(requestID string, r approvals.Result) ([]byte, error) {
	var l responseLine
	l.Type = "control_response"
	l.Response.Subtype = "success"
	l.Response.RequestID = requestID
	l.Response.Response = &r
	input := r.UpdatedInput
	if len(input) < 2 || input[0] != '{' || input[len(input)-1] != '}' || bytes.IndexByte(input, '\n') >= 0 || bytes.IndexByte(input, '\r') >= 0 {
		return encode(&l)
	}
	r.UpdatedInput = jsontext.Value("{}")
	frame, err := encode(&l)
	if err != nil {
		return nil, err
	}
	const member = `"updatedInput":{}`
	head, tail, found := bytes.Cut(frame, []byte(member))
	if !found {
		return nil, errors.New("encode an answer: its input has no place")
	}
	line := make([]byte, 0, len(frame)+len(input)+1) // and its newline
	line = append(line, head...)
	line = append(line, member[:len(member)-2]...)
	line = append(line, input...)
	return append(line, tail...), nil
}

func refusal(requestID, why string) ([]byte, error) {
	var l responseLine
	l.Type = "control_response"
	l.Response.Subtype = "error"
	l.Response.RequestID = requestID
	l.Response.Error = why
	return encode(&l)
}

// encode writes one line. Raw values inside keep their bytes; a newline cannot
// occur in it because JSON escapes it in strings, and raw input is compacted
// only where it holds one between its tokens.
func encode(v any) ([]byte, error) {
	line, err := json.Marshal(v, lenient, jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))
	if err != nil {
		return nil, fmt.Errorf("encode a line for the agent: %w", err)
	}
	return line, nil
}
