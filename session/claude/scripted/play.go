package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var toolNames = []string{"Task", "AskUserQuestion", "Bash", "Edit", "EnterPlanMode", "ExitPlanMode", "NotebookEdit", "Read", "WebFetch", "Write"}

// turn plays the steps of one turn between an init and a result line.
func (p *player) turn(steps []Step) error {
	p.turns.Lock()
	defer p.turns.Unlock()
	started := time.Now()
	p.begin()
	var after []*Call
	var err error
	said := ""
	for _, step := range steps {
		if step.Background != nil {
			after = append(after, step.Background)
			p.startBackground(step.Background)
			continue
		}
		if err = p.step(step); err != nil {
			break
		}
		if step.Say != "" {
			said = step.Say
		}
		select {
		case <-p.interrupted():
			err = errInterrupted
		default:
			continue
		}
		break
	}
	switch {
	case errors.Is(err, errInterrupted):
		p.write(object{
			"type": "user", "session_id": p.session, "uuid": uuid(), "parent_tool_use_id": nil,
			"message": object{"role": "user", "content": []any{object{"type": "text", "text": "[Request interrupted by user for tool use]"}}},
		})
		p.end(object{"subtype": "error_during_execution", "is_error": true, "terminal_reason": "aborted_tools",
			"errors": []any{"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use"}}, started)
		after = nil
	case err != nil:
		return err
	default:
		p.end(object{"subtype": "success", "is_error": false, "terminal_reason": "completed", "result": said}, started)
	}
	for _, c := range after {
		p.waiting.Add(1)
		go func() {
			defer p.waiting.Done()
			p.runBackground(c)
		}()
	}
	return nil
}

// begin writes the line that starts every turn.
func (p *player) begin() {
	p.mu.Lock()
	mode := p.mode
	p.mu.Unlock()
	p.write(object{
		"type": "system", "subtype": "init", "cwd": p.dir, "session_id": p.session, "tools": toolNames, "mcp_servers": []any{},
		"model": p.script.Model, "permissionMode": mode, "claude_code_version": p.script.version(), "uuid": uuid(),
	})
}

// end writes the line that ends every turn.
func (p *player) end(result object, started time.Time) {
	result["type"] = "result"
	result["session_id"] = p.session
	result["uuid"] = uuid()
	result["num_turns"] = 1
	result["total_cost_usd"] = 0
	result["duration_ms"] = time.Since(started).Milliseconds()
	p.mu.Lock()
	p.inTurn = false
	p.mu.Unlock()
	p.write(result)
}

func (p *player) interrupted() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.interrupt
}

// step does one act of the main conversation.
func (p *player) step(s Step) error {
	switch {
	case s.Say != "":
		p.say(s.Say, "")
	case s.Call != nil:
		return p.call(s.Call)
	case len(s.Parallel) > 0:
		return p.together(s.Parallel)
	case s.Flood != nil:
		calls := make([]*Call, s.Flood.Count)
		for i := range calls {
			path, _ := json.Marshal(strings.ReplaceAll(strings.ReplaceAll(s.Flood.Path, "${DIR}", p.dir), "%d", strconv.Itoa(i)))
			text, _ := json.Marshal(s.Flood.Text)
			calls[i] = &Call{Tool: "Write", Input: fmt.Appendf(nil, `{"file_path":%s,"content":%s}`, path, text)}
		}
		return p.together(calls)
	case s.Open != nil:
		done := make(chan struct{})
		p.mu.Lock()
		p.calls[s.Open.Name] = done
		p.mu.Unlock()
		asked := make(chan struct{})
		p.waiting.Add(1)
		go func() {
			defer p.waiting.Done()
			defer close(done)
			p.use(s.Open, asked)
		}()
		select {
		case <-asked:
		case <-done:
		}
	case s.Await != "":
		return p.await(s.Await)
	case s.Cancel != "":
		p.cancel(s.Cancel)
	case s.Mode != "":
		p.setMode(s.Mode)
	case s.Denied != "":
		p.write(object{"type": "system", "subtype": "permission_denied", "tool_name": s.Denied, "tool_use_id": p.toolUseID(),
			"decision_reason_type": "mode", "message": "Permission to use " + s.Denied + " has been denied.", "uuid": uuid(), "session_id": p.session})
	case s.Inform != "":
		p.write(object{"type": "system", "subtype": "informational", "level": "warning", "content": s.Inform, "uuid": uuid(), "session_id": p.session})
	case s.Delay != "":
		d, err := time.ParseDuration(s.Delay)
		if err != nil {
			return err
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-p.interrupted():
			return errInterrupted
		case <-p.ctx.Done():
			return &ExitError{143}
		}
	case s.Raw != "":
		p.writeBytes([]byte(s.Raw + "\n"))
	case s.Partial != "":
		p.writeBytes([]byte(s.Partial))
	case s.Stderr != "":
		if p.script.Stderr != nil {
			fmt.Fprintln(p.script.Stderr, s.Stderr)
		}
	case s.Exit != nil:
		return &ExitError{*s.Exit}
	}
	return nil
}

// say writes a text of the assistant.
func (p *player) say(text, parent string) {
	p.write(p.assistant(object{"type": "text", "text": text}, parent))
}

func (p *player) assistant(block object, parent string) object {
	var up any
	if parent != "" {
		up = parent
	}
	return object{
		"type": "assistant", "session_id": p.session, "uuid": uuid(), "parent_tool_use_id": up,
		"message": object{"id": "msg_" + uuid()[:8], "type": "message", "role": "assistant", "model": p.script.Model, "content": []any{block}},
	}
}

// call uses a tool and waits for the end of it.
func (p *player) call(c *Call) error {
	return p.use(c, nil)
}

// together uses several tools at the same time and waits for all.
func (p *player) together(calls []*Call) error {
	errs := make(chan error, len(calls))
	for _, c := range calls {
		asked := make(chan struct{})
		done := make(chan struct{})
		p.waiting.Add(1)
		go func() {
			defer p.waiting.Done()
			defer close(done)
			errs <- p.use(c, asked)
		}()
		select { // requests leave in the order of the script
		case <-asked:
		case <-done:
		}
	}
	var first error
	for range calls {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (p *player) await(name string) error {
	p.mu.Lock()
	var wait []chan struct{}
	for n, done := range p.calls {
		if name == "*" || n == name {
			wait = append(wait, done)
		}
	}
	p.mu.Unlock()
	for _, done := range wait {
		select {
		case <-done:
		case <-p.ctx.Done():
			return &ExitError{143}
		}
	}
	return nil
}

// cancel withdraws an open call.
func (p *player) cancel(name string) {
	p.mu.Lock()
	id := p.named[name]
	waits := p.open[id]
	delete(p.open, id)
	p.mu.Unlock()
	if waits != nil {
		p.write(object{"type": "control_cancel_request", "request_id": id})
		waits <- answer{cancelled: true}
	}
}

// startBackground announces a subagent that works after the turn.
func (p *player) startBackground(c *Call) {
	if c.Agent == "" {
		c.Agent = "background"
	}
	p.agentID(c.Agent)
	p.mu.Lock()
	p.background++
	p.mu.Unlock()
	p.writeBackground()
}

func (p *player) writeBackground() {
	p.mu.Lock()
	tasks := make([]any, p.background)
	p.mu.Unlock()
	for i := range tasks {
		tasks[i] = object{"task_type": "local_agent"}
	}
	p.write(object{"type": "system", "subtype": "background_tasks_changed", "tasks": tasks, "uuid": uuid(), "session_id": p.session})
}

// runBackground plays the subagent's call, and then the turn that its end
// starts by itself.
func (p *player) runBackground(c *Call) {
	err := p.use(c, nil)
	p.mu.Lock()
	p.background--
	p.mu.Unlock()
	p.writeBackground()
	if err != nil {
		return
	}
	p.turns.Lock()
	defer p.turns.Unlock()
	p.mu.Lock()
	p.inTurn = true
	p.mu.Unlock()
	p.begin()
	p.say("The background agent has ended.", "")
	p.end(object{"subtype": "success", "is_error": false, "terminal_reason": "completed", "result": "The background agent has ended."}, time.Now())
}

// agentID names a subagent; its first mention announces it.
func (p *player) agentID(name string) string {
	if name == "" {
		return ""
	}
	p.mu.Lock()
	id, known := p.agents[name]
	if !known {
		id = "a" + strings.ReplaceAll(uuid(), "-", "")[:16]
		p.agents[name] = id
	}
	p.mu.Unlock()
	if !known {
		p.write(object{"type": "system", "subtype": "task_started", "task_id": id, "tool_use_id": p.toolUseID(), "description": name,
			"subagent_type": "general-purpose", "task_type": "local_agent", "uuid": uuid(), "session_id": p.session})
	}
	return id
}

func (p *player) toolUseID() string { return "toolu_" + strings.ReplaceAll(uuid(), "-", "")[:20] }

// use is a call from the assistant's message to the tool's result. asked, when
// not nil, is closed once the request has been written.
func (p *player) use(c *Call, asked chan<- struct{}) error {
	input := p.input(c)
	id := p.toolUseID()
	agent := p.agentID(c.Agent)
	p.write(p.assistant(object{"type": "tool_use", "id": id, "name": c.Tool, "input": input}, ""))

	if c.Tool == "Read" {
		return p.returned(c, id, agent, input, input, false)
	}
	if text := p.validate(c.Tool, input); text != "" {
		p.result(c, id, agent, "<tool_use_error>"+text+"</tool_use_error>", true, false)
		return nil
	}
	switch p.unasked(c.Tool) {
	case "allow":
		return p.returned(c, id, agent, input, input, false)
	case "deny":
		text := "Permission to use " + c.Tool + " has been denied because Claude Code is running in don't ask mode."
		p.write(object{"type": "system", "subtype": "permission_denied", "tool_name": c.Tool, "tool_use_id": id, "decision_reason_type": "mode", "message": text, "uuid": uuid(), "session_id": p.session})
		p.result(c, id, agent, text, true, false)
		return nil
	}
	a, err := p.ask(c, id, agent, input, asked)
	if err != nil {
		return err
	}
	switch {
	case a.cancelled:
		p.result(c, id, agent, "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.", true, false)
		select {
		case <-p.interrupted():
			return errInterrupted
		default:
			return nil
		}
	case a.failure != "":
		p.result(c, id, agent, "Tool permission request failed: Error: "+a.failure, true, false)
		return nil
	case a.Behavior == "deny" && a.Interrupt:
		p.result(c, id, agent, "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed.", true, false)
		p.mu.Lock()
		select {
		case <-p.interrupt:
		default:
			close(p.interrupt)
		}
		p.mu.Unlock()
		p.cancelAll()
		return errInterrupted
	case a.Behavior == "deny":
		p.result(c, id, agent, a.Message, true, false)
		return nil
	case a.Behavior != "allow" || a.UpdatedInput.Kind() == 'n':
		p.result(c, id, agent, "The permission handler returned an invalid permission result", true, false)
		return nil
	}
	p.apply(a.UpdatedPermissions)
	allowed, amended := input, false
	if len(a.UpdatedInput) > 0 && !bytes.Equal(bytes.TrimSpace(a.UpdatedInput), []byte("{}")) {
		allowed = a.UpdatedInput
		amended = !same(allowed, input)
	}
	return p.returned(c, id, agent, input, allowed, amended)
}

// ask writes the request and waits for its answer.
func (p *player) ask(c *Call, id, agent string, input jsontext.Value, asked chan<- struct{}) (answer, error) {
	requestID := c.RequestID
	if requestID == "" {
		requestID = uuid()
	}
	waits := make(chan answer, 1)
	p.mu.Lock()
	p.open[requestID] = waits
	if c.Name != "" {
		p.named[c.Name] = requestID
	}
	p.mu.Unlock()
	request := object{
		"subtype": "can_use_tool", "tool_name": c.Tool, "display_name": c.Tool, "input": input, "tool_use_id": id,
	}
	if c.Description != "" {
		request["description"] = c.Description
	}
	if agent != "" {
		request["agent_id"] = agent
	}
	switch {
	case c.Suggestions != nil:
		request["permission_suggestions"] = c.Suggestions
	case c.Tool == "Edit" || c.Tool == "Write":
		request["permission_suggestions"] = []any{object{"type": "setMode", "mode": "acceptEdits", "destination": "session"}}
	case c.Tool == "AskUserQuestion" || c.Tool == "ExitPlanMode":
		request["requires_user_interaction"] = true
	default:
		request["permission_suggestions"] = []any{object{"type": "addRules", "rules": []any{object{"toolName": c.Tool}}, "behavior": "allow", "destination": "session"}}
	}
	p.write(object{"type": "control_request", "request_id": requestID, "request": request})
	if asked != nil {
		close(asked)
	}
	select {
	case a := <-waits:
		return a, nil
	case <-p.ended:
		select {
		case a := <-waits: // it came before the end, or says what the end means
			return a, nil
		default:
			return answer{failure: "Tool permission stream closed before response received"}, nil
		}
	case <-p.ctx.Done():
		return answer{}, &ExitError{143}
	}
}

// unasked says what mode and rules decide without asking: "allow", "deny", or
// "" for nothing.
func (p *player) unasked(tool string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	own := tool == "AskUserQuestion" || tool == "ExitPlanMode"
	edit := tool == "Edit" || tool == "Write" || tool == "NotebookEdit"
	for _, t := range p.allowed {
		if t == tool {
			return "allow"
		}
	}
	switch {
	case own:
		return ""
	case p.mode == "bypassPermissions", p.mode == "acceptEdits" && edit:
		return "allow"
	case p.mode == "dontAsk":
		return "deny"
	}
	return ""
}

// apply carries out updatedPermissions, as far as they are understood.
func (p *player) apply(updates []jsontext.Value) {
	for _, u := range updates {
		var e struct {
			Type     string `json:"type"`
			Mode     string `json:"mode"`
			Behavior string `json:"behavior"`
			Rules    []struct {
				ToolName string `json:"toolName"`
			} `json:"rules"`
		}
		if json.Unmarshal(u, &e, jsontext.AllowInvalidUTF8(true)) != nil {
			continue
		}
		switch e.Type {
		case "setMode":
			if knownMode(e.Mode) && (e.Mode != "bypassPermissions" || p.script.Mode == "bypassPermissions") {
				p.setMode(e.Mode)
			}
		case "addRules":
			if e.Behavior != "allow" {
				continue
			}
			p.mu.Lock()
			for _, r := range e.Rules {
				p.allowed = append(p.allowed, r.ToolName)
			}
			p.mu.Unlock()
		}
	}
}

// input is the call's input with its placeholders filled in.
func (p *player) input(c *Call) jsontext.Value {
	dir, _ := json.Marshal(p.dir, jsontext.AllowInvalidUTF8(true))
	v := bytes.ReplaceAll(c.Input, []byte("${DIR}"), dir[1:len(dir)-1])
	if c.Bytes > 0 {
		var in struct {
			FilePath string `json:"file_path"`
		}
		json.Unmarshal(v, &in, jsontext.AllowInvalidUTF8(true))
		line := "a line of a large file, as agents write them now and then\n"
		big, _ := json.Marshal(strings.Repeat(line, c.Bytes/len(line)+1)[:c.Bytes])
		path, _ := json.Marshal(in.FilePath)
		v = fmt.Appendf(nil, `{"file_path":%s,"content":%s}`, path, big)
	}
	if len(v) == 0 {
		v = jsontext.Value("{}")
	}
	return v
}

// same says whether two values mean the same JSON.
func same(a, b jsontext.Value) bool {
	a, b = a.Clone(), b.Clone()
	if a.Canonicalize(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil || b.Canonicalize(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return false
	}
	return bytes.Equal(a, b)
}
