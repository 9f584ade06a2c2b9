package scripted

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
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
		p.end(object{
			"subtype": "error_during_execution", "is_error": true, "terminal_reason": "aborted_tools",
			"errors": []any{"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use"},
		}, started)
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
		p.write(object{
			"type": "system", "subtype": "permission_denied", "tool_name": s.Denied, "tool_use_id": p.toolUseID(),
			"decision_reason_type": "mode", "message": "Permission to use " + s.Denied + " has been denied.", "uuid": uuid(), "session_id": p.session,
		})
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
		p.write(object{
			"type": "system", "subtype": "task_started", "task_id": id, "tool_use_id": p.toolUseID(), "description": name,
			"subagent_type": "general-purpose", "task_type": "local_agent", "uuid": uuid(), "session_id": p.session,
		})
	}
	return id
}

func (p *player) toolUseID() string { return "toolu_" + strings.ReplaceAll(uuid(), "-", "")[:20] }
