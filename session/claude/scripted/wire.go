package scripted

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// object is a JSON object whose members are written in the order of their names.
type object = map[string]any

// raw writes values without checking what a script put into them.
var loose = json.JoinOptions(json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(true))

// An answer is what the host said to a request.
type answer struct {
	Behavior           string           `json:"behavior"`
	UpdatedInput       jsontext.Value   `json:"updatedInput"`
	UpdatedPermissions []jsontext.Value `json:"updatedPermissions"`
	Message            string           `json:"message"`
	Interrupt          bool             `json:"interrupt"`

	failure   string // control_response with subtype error
	cancelled bool   // withdrawn before an answer came
}

// errInterrupted ends a turn from within.
var errInterrupted = errors.New("interrupted")

// A player plays one script.
type player struct {
	script  Script
	dir     string
	session string
	ctx     context.Context

	turns   sync.Mutex // one turn at a time
	writing sync.Mutex // orders whole lines on out and log
	out     *bufio.Writer

	mu sync.Mutex
	// guarded by mu:
	mode       string
	open       map[string]chan answer   // request id → its answer, capacity 1
	named      map[string]string        // name of an open call → request id
	calls      map[string]chan struct{} // name of an open call → closed when it is done
	agents     map[string]string        // name of a subagent → its id
	background int
	callback   string   // hook callback to be told what ran; "" for none
	allowed    []string // tools allowed for the session by a rule
	queued     []string // prompts that no turn has taken up
	inTurn     bool
	interrupt  chan struct{} // closed to interrupt the running turn

	prompts chan struct{} // holds a token when queued has grown
	ended   chan struct{} // closed when the input has ended
	badLine chan string   // a line on the input that is not JSON

	waiting sync.WaitGroup
}

// Run plays a script over in and out, with dir as the working directory, until
// the input ends, the context does, or the script says so with an *ExitError.
func Run(ctx context.Context, in io.Reader, out io.Writer, script Script, dir string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &player{
		script: script, dir: dir, session: script.Session, ctx: ctx,
		out: bufio.NewWriterSize(out, 64<<10), mode: script.Mode,
		open: make(map[string]chan answer), named: make(map[string]string), calls: make(map[string]chan struct{}),
		agents: make(map[string]string), interrupt: make(chan struct{}),
		prompts: make(chan struct{}, 1), ended: make(chan struct{}), badLine: make(chan string, 1),
	}
	if p.session == "" {
		p.session = uuid()
	}
	switch p.mode {
	case "", "manual":
		p.mode = "default"
	}
	go p.read(in)
	err := p.play()
	cancel()
	p.waiting.Wait()
	return err
}

// play runs turns as prompts come.
func (p *player) play() error {
	turn := 0
	for {
		text, ok, err := p.nextPrompt()
		if err != nil || !ok {
			return err
		}
		p.tell(object{"kind": "user", "text": text})
		steps := []Step{{Say: "There is nothing left in my script."}}
		if turn < len(p.script.Turns) {
			steps = p.script.Turns[turn].Steps
		}
		turn++
		if err := p.turn(steps); err != nil {
			return err
		}
	}
}

// nextPrompt waits for a prompt; false when the input has ended and nothing
// runs any more.
func (p *player) nextPrompt() (string, bool, error) {
	for {
		p.mu.Lock()
		if len(p.queued) > 0 {
			text := p.queued[0]
			p.queued = p.queued[1:]
			p.inTurn = true
			p.interrupt = make(chan struct{})
			p.mu.Unlock()
			return text, true, nil
		}
		p.mu.Unlock()
		select {
		case <-p.prompts:
		case line := <-p.badLine:
			if p.script.Stderr != nil {
				fmt.Fprintf(p.script.Stderr, "Error parsing streaming input line: %s\n", line)
			}
			return "", false, &ExitError{1}
		case <-p.ended:
			p.mu.Lock()
			left := len(p.queued)
			p.mu.Unlock()
			if left == 0 {
				return "", false, nil
			}
		case <-p.ctx.Done():
			return "", false, &ExitError{143}
		}
	}
}

// read takes the host's lines until the input ends.
func (p *player) read(in io.Reader) {
	defer close(p.ended)
	r := bufio.NewReaderSize(in, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			p.heard(line)
		}
		if err != nil {
			p.closeRequests("Tool permission request failed: AbortError: Tool permission stream closed before response received")
			return
		}
	}
}

// heard deals with one line of the host.
func (p *player) heard(line []byte) {
	var m struct {
		Type    string `json:"type"`
		Message struct {
			Content jsontext.Value `json:"content"`
		} `json:"message"`
		RequestID string `json:"request_id"`
		Request   struct {
			Subtype string `json:"subtype"`
			Mode    string `json:"mode"`
			Hooks   struct {
				PostToolUse []struct {
					IDs []string `json:"hookCallbackIds"`
				} `json:"PostToolUse"`
			} `json:"hooks"`
		} `json:"request"`
		Response struct {
			Subtype   string         `json:"subtype"`
			RequestID string         `json:"request_id"`
			Error     string         `json:"error"`
			Response  jsontext.Value `json:"response"`
		} `json:"response"`
	}
	if err := json.Unmarshal(line, &m, jsontext.AllowInvalidUTF8(true)); err != nil {
		select {
		case p.badLine <- string(line):
		default:
		}
		return
	}
	switch m.Type {
	case "user":
		text := promptText(m.Message.Content)
		p.mu.Lock()
		if p.inTurn {
			// Folded into the running turn: one result answers both.
			p.mu.Unlock()
			p.tell(object{"kind": "user", "text": text, "folded": true})
			return
		}
		p.queued = append(p.queued, text)
		p.mu.Unlock()
		select {
		case p.prompts <- struct{}{}:
		default:
		}
	case "control_request":
		for _, h := range m.Request.Hooks.PostToolUse {
			p.mu.Lock()
			p.callback = append(h.IDs, "")[0]
			p.mu.Unlock()
		}
		p.control(m.RequestID, m.Request.Subtype, m.Request.Mode)
	case "control_response":
		var a answer
		if m.Response.Subtype == "error" {
			a.failure = m.Response.Error
		} else if err := json.Unmarshal(m.Response.Response, &a, jsontext.AllowInvalidUTF8(true)); err != nil {
			a.failure = "the answer cannot be read: " + err.Error()
		}
		p.answered(m.Response.RequestID, a)
	}
}

// answered hands an answer to the call that waits for it; the first counts.
func (p *player) answered(id string, a answer) {
	p.mu.Lock()
	waits := p.open[id]
	delete(p.open, id)
	p.mu.Unlock()
	if waits != nil {
		waits <- a
	}
}

// control answers a request of the host.
func (p *player) control(id, subtype, mode string) {
	switch subtype {
	case "initialize":
		p.mu.Lock()
		now := p.mode
		p.mu.Unlock()
		p.reply(id, object{
			"commands": []any{}, "models": []any{object{"value": "default", "displayName": "Scripted"}},
			"claude_code_version": p.script.version(), "current_permission_mode": now, "session_state": "idle", "pid": os.Getpid(),
		})
	case "set_permission_mode":
		switch {
		case mode == "manual":
			mode = "default"
		case mode == "bypassPermissions" && p.script.Mode != "bypassPermissions":
			p.replyError(id, "bypass_not_launched", "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions")
			return
		case !knownMode(mode):
			p.replyError(id, "invalid_mode", "Cannot set permission mode: must be one of acceptEdits, auto, bypassPermissions, default, dontAsk, plan")
			return
		}
		p.reply(id, object{"mode": mode})
		p.setMode(mode)
	case "interrupt":
		p.mu.Lock()
		inTurn := p.inTurn
		if inTurn {
			select {
			case <-p.interrupt:
			default:
				close(p.interrupt)
			}
		}
		p.mu.Unlock()
		if inTurn {
			p.cancelAll()
		}
		p.reply(id, object{"still_queued": []any{}})
	default:
		p.replyError(id, "unsupported_request", "Unsupported control request subtype: "+subtype)
	}
}

// setMode changes the mode and reports it when that is a change.
func (p *player) setMode(mode string) {
	p.mu.Lock()
	changed := p.mode != mode
	p.mode = mode
	p.mu.Unlock()
	if changed {
		p.write(object{"type": "system", "subtype": "status", "status": nil, "permissionMode": mode, "uuid": uuid(), "session_id": p.session})
	}
}

func (p *player) reply(id string, response object) {
	p.write(object{"type": "control_response", "response": object{"subtype": "success", "request_id": id, "response": response, "pending_permission_requests": []any{}}})
}

func (p *player) replyError(id, code, text string) {
	p.write(object{"type": "control_response", "response": object{"subtype": "error", "request_id": id, "error": text, "error_code": code}})
}

// cancelAll withdraws every open request.
func (p *player) cancelAll() {
	p.mu.Lock()
	open := p.open
	p.open = make(map[string]chan answer)
	p.mu.Unlock()
	for id, waits := range open {
		p.write(object{"type": "control_cancel_request", "request_id": id})
		waits <- answer{cancelled: true}
	}
}

// closeRequests fails every open request: nobody can answer any more.
func (p *player) closeRequests(why string) {
	p.mu.Lock()
	open := p.open
	p.open = make(map[string]chan answer)
	p.mu.Unlock()
	for _, waits := range open {
		waits <- answer{failure: why}
	}
}

// write writes one line, whole.
func (p *player) write(v any) {
	line, err := json.Marshal(v, loose)
	if err != nil {
		line = fmt.Appendf(nil, `{"type":"system","subtype":"informational","level":"error","content":%q}`, "script: "+err.Error())
	}
	p.writeBytes(append(line, '\n'))
}

func (p *player) writeBytes(b []byte) {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.out.Write(b)
	p.out.Flush() // a host that is gone is noticed by the end of the input
}

// tell logs what the model would read.
func (p *player) tell(v object) {
	if p.script.Log == nil {
		return
	}
	line, err := json.Marshal(v, loose)
	if err != nil {
		return
	}
	p.writing.Lock()
	defer p.writing.Unlock()
	p.script.Log.Write(append(line, '\n'))
}

func promptText(v jsontext.Value) string {
	if v.Kind() == '"' {
		var s string
		json.Unmarshal(v, &s, jsontext.AllowInvalidUTF8(true))
		return s
	}
	var blocks []struct {
		Text string `json:"text"`
	}
	json.Unmarshal(v, &blocks, jsontext.AllowInvalidUTF8(true))
	var all string
	for _, b := range blocks {
		all += b.Text
	}
	return all
}

// uuid is a random version 4 UUID.
func uuid() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	h := hex.EncodeToString(b[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}
