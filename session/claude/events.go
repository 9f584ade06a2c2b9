package claude

import (
	"fmt"
	"strings"

	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session"
)

// handle turns one line of the CLI into events, and answers what has to be
// answered without a person. It runs on the reading goroutine only.
func (a *agent) handle(line []byte) {
	var m message
	switch err := parse(line, &m); {
	case err == nil:
	case err == errNotJSON:
		a.emit(session.Reported{Warning: true, Text: fmt.Sprintf("the agent wrote a line that is not JSON; it was skipped: %s", excerpt(line))})
		return
	case !known(m.Type):
		a.log.Debug("a line of an unknown type, in a shape of its own", zap.String("type", m.Type), zap.Error(err))
		return
	default:
		a.emit(session.Reported{Warning: true, Text: fmt.Sprintf("the agent wrote a line of type %q that cannot be read (%v); it was skipped", m.Type, err)})
		if m.Type == "control_request" && m.RequestID != "" {
			// Leaving it unanswered would leave the agent waiting for ever.
			a.refuse(m.RequestID, fmt.Sprintf("this request cannot be read: %v", err))
		}
		return
	}
	switch m.Type {
	case "control_request":
		a.requested(m.RequestID, m.Request)
	case "control_cancel_request":
		a.emit(session.Cancelled{RequestID: m.RequestID})
	case "control_response":
		a.replied(m.Response)
	case "system":
		a.system(&m)
	case "assistant":
		for _, b := range m.Message.Content.Blocks {
			switch b.Type {
			case "text":
				a.emit(session.Said{Text: b.Text, ParentToolUseID: m.ParentToolUseID})
			case "tool_use":
				a.emit(session.ToolUsed{ToolUseID: b.ID, Tool: b.Name, Input: b.Input, ParentToolUseID: m.ParentToolUseID})
			}
		}
	case "user":
		unasked := unaskedOf(m.ResultMeta)
		for _, b := range m.Message.Content.Blocks {
			if b.Type == "tool_result" {
				a.emit(session.ToolReturned{ToolUseID: b.ToolUseID, IsError: b.IsError, Text: b.Content.all(), Unasked: unasked[b.ToolUseID]})
			}
		}
	case "result":
		a.result(&m)
	default:
		a.log.Debug("a line of an unknown type", zap.String("type", m.Type))
	}
}

func known(kind string) bool {
	switch kind {
	case "control_request", "control_cancel_request", "control_response", "system", "assistant", "user", "result":
		return true
	}
	return false
}

// launchedFor notes that the CLI can be put into the mode that asks nothing: it
// was seen in it.
func (a *agent) launchedFor(mode string) {
	if mode == wordOf[session.Bypass] {
		a.mayBypass = true
	}
}

// requested takes a question of the CLI.
func (a *agent) requested(id string, r request) {
	switch {
	case id == "":
		a.emit(session.Reported{Warning: true, Text: "the agent asked without a request id; it cannot be answered"})
	case r.Subtype == "can_use_tool" && r.Tool == "":
		a.emit(session.Reported{Warning: true, Text: "the agent asked without naming a tool; the request was refused"})
		a.refuse(id, "the request names no tool")
	case r.Subtype == "can_use_tool":
		a.emit(session.Requested{Request: approvals.Request{
			ID: id, Tool: r.Tool, DisplayName: r.DisplayName, Title: r.Title, Description: r.Description,
			Input: r.Input, Suggestions: r.Suggestions, ToolUseID: r.ToolUseID, AgentID: r.AgentID,
			BlockedPath: r.BlockedPath, DecisionReason: r.DecisionReason, ReasonType: r.ReasonType,
			NeedsOwnSurface: r.NeedsOwnSurface, MayBypass: a.mayBypass, Dir: a.dir,
		}})
	case r.Subtype == "hook_callback" && r.CallbackID == ranCallback:
		a.called(id, r)
	default:
		// Whatever later versions ask: no answer would leave the agent waiting.
		a.log.Debug("a request that is not supported", zap.String("subtype", r.Subtype))
		a.refuse(id, fmt.Sprintf("%s is not supported by this host", r.Subtype))
	}
}

// replied takes the answer to one of our own requests.
func (a *agent) replied(r reply) {
	what, wait := a.asked.take(r.RequestID)
	if what == "" {
		a.log.Debug("an answer to a request that was not made", zap.String("id", r.RequestID))
		return
	}
	var err error
	if r.Subtype == "error" && what == "initialize" && !a.plain {
		// Hooks are no part of what must work.
		a.plain = true
		a.greet()
		return
	}
	if r.Subtype == "error" {
		err = &RefusedError{What: what, Code: r.ErrorCode, Text: r.Error}
		if wait == nil {
			a.emit(session.Reported{Warning: true, Text: err.Error()})
		}
	}
	if err == nil {
		switch what {
		case "initialize":
			a.launchedFor(r.Response.CurrentMode)
			a.emit(session.Initialized{Mode: r.Response.CurrentMode, Version: r.Response.Version})
			for _, p := range r.Pending {
				a.requested(p.RequestID, p.Request)
			}
		case "set_permission_mode":
			// The reply names the mode now in force; system/status follows
			// only when that is a change.
			if r.Response.Mode != "" {
				a.emit(session.ModeReported{Mode: r.Response.Mode})
			}
		}
	}
	if wait != nil {
		wait <- err
	}
}

func (a *agent) system(m *message) {
	switch m.Subtype {
	case "init":
		a.launchedFor(m.PermissionMode)
		a.emit(session.Initialized{SessionID: m.SessionID, Mode: m.PermissionMode, Model: m.Model, Version: m.Version, Tools: m.Tools})
	case "status":
		if m.PermissionMode != "" {
			a.emit(session.ModeReported{Mode: m.PermissionMode})
		}
	case "informational":
		if m.Content != "" {
			a.emit(session.Reported{Warning: m.Level == "warning" || m.Level == "error", Text: string(m.Content)})
		}
	case "permission_denied":
		// The message is for the model: after its first sentence it instructs.
		why := firstSentence(m.Message.Text)
		if why == "" {
			why = m.DecisionReason
		}
		a.emit(session.DeniedUnasked{
			ToolUseID: m.ToolUseID, Tool: m.ToolName,
			Text: strings.TrimSpace(fmt.Sprintf("%s was denied without asking: %s", m.ToolName, why)),
		})
	case "task_started":
		if m.TaskType == shellTask {
			return
		}
		name := m.Description
		if name == "" {
			name = m.SubagentType
		}
		a.emit(session.AgentStarted{AgentID: m.TaskID, Name: name, ToolUseID: m.ToolUseID})
	case "background_tasks_changed":
		agents := 0
		for _, t := range m.Tasks {
			if t.Type != shellTask {
				agents++
			}
		}
		a.emit(session.BackgroundChanged{Running: agents})
	default:
		a.log.Debug("a system line without use here", zap.String("subtype", m.Subtype))
	}
}

// result is the end of a turn. A turn that was interrupted counts as an error
// on the wire, with nothing but a diagnostic of the CLI's own as its text.
func (a *agent) result(m *message) {
	said := string(m.Result)
	if said == "" {
		said = strings.Join(m.Errors, "; ")
	}
	interrupted := strings.HasPrefix(m.TerminalReason, "aborted")
	switch {
	case interrupted:
		said = ""
	case m.IsError:
		a.complaint.Store(&said)
		if e := explainComplaint(said, a.command()); e != "" {
			said = e
		}
	}
	a.emit(session.TurnEnded{
		Subtype: m.Subtype, IsError: m.IsError && !interrupted, Interrupted: interrupted, Text: said,
		CostUSD: m.CostUSD, Turns: m.NumTurns,
	})
}

// firstSentence shortens the CLI's long instructions to the model.
func firstSentence(s string) string {
	if i := strings.Index(s, ". "); i >= 0 {
		return s[:i+1]
	}
	return s
}

// excerpt shows the beginning of a line that nobody understands, with control
// characters made visible.
func excerpt(line []byte) string {
	const most = 120
	if len(line) > most {
		return fmt.Sprintf("%q… (%d bytes)", line[:most], len(line))
	}
	return fmt.Sprintf("%q", line)
}
