package scripted

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

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
	return p.request(requestID, c.Name, request, asked)
}

// request writes a request and waits for its answer. A name is for Await and
// Cancel.
func (p *player) request(requestID, name string, request object, asked chan<- struct{}) (answer, error) {
	waits := make(chan answer, 1)
	p.mu.Lock()
	p.open[requestID] = waits
	if name != "" {
		p.named[name] = requestID
	}
	p.mu.Unlock()
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
