package session

import (
	"fmt"
	"strings"

	"countersign/approvals"
)

// tellAmendment tells the agent what a person changed in a request before
// allowing it: its wire says only that something was changed, and an agent that
// believes in its own text tries it again.
//
// It is told right behind the answer. The agent takes up a message that comes
// during a turn at its next call of the model, which is the call that carries
// the tool's result; told after the result it would come one call too late, and
// start a turn of its own. So whether the tool succeeded is not known here, and
// the message does not claim it. Each amendment is told once; several that
// land together reach the model in the same call.
func (s *Session) tellAmendment(r *run, a approvals.Approval) {
	if err := r.agent.Send(amendmentMessage(a)); err != nil {
		s.o.Report(true, fmt.Sprintf("the agent was not told of your amendment: %v", err), a.ID)
	}
}

// tellable says whether the agent has to be told of an amendment by a message.
// Answers to questions and changes to a plan it is told by the tool itself.
func tellable(a approvals.Approval) bool {
	return a.State == approvals.Allowed && a.Amended && a.Amendment != "" &&
		(a.Surface == approvals.SurfaceProposal || a.Surface == approvals.SurfacePanel)
}

func amendmentMessage(a approvals.Approval) string {
	what := a.Request.Tool
	if a.Path != "" {
		what += " of " + a.Path
	}
	return "The user changed your proposal before allowing it (" + what + "; the tool's result says whether it went through). " +
		"This is how what was allowed differs from what you proposed:\n\n" +
		strings.ReplaceAll(a.Amendment, "\r\n", "\n") +
		"\nThis is for your information: keep the user's changes, and go on."
}
