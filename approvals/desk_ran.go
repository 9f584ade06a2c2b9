package approvals

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// maxApproved bounds the input that is kept to be compared with what ran.
const maxApproved = 1 << 20

// Ran is told of the input with which the agent ran a tool, before its result
// is (Returned). What was approved and is no file change is compared with it,
// so that a hook or the agent itself cannot run another command unseen.
func (d *Desk) Ran(toolUseID string, input jsontext.Value) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.byToolUse[toolUseID]
	if toolUseID == "" || e == nil || e.returned {
		return
	}
	if e.a.State == Denied { // a command that then failed, too
		e.ran = &Outcome{State: OutcomeMismatch, Detail: "it ran although it was declined"}
		return
	}
	if e.approved == nil {
		return
	}
	e.ran = &Outcome{State: OutcomeVerified, Detail: "it ran as approved"}
	if other := deviates(e.a.Request, e.approved, input); other != "" {
		e.ran = &Outcome{State: OutcomeMismatch, Detail: "what ran is not what was approved: " + other}
	}
	e.approved = nil
}

// deviates says how an input that ran differs from the one approved; "" where
// it means the same. The agent fills in what has a default, so members that say
// nothing (false, null) may be added. It drops what its tool does not know, so
// only what it asked for itself may not be left out; and of a plan it tells the
// plan alone (seen on 2.1.332: without planFilePath).
func deviates(req Request, approved, ran jsontext.Value) string {
	was, err := takeApart(approved)
	if err != nil {
		return ""
	}
	is, err := takeApart(ran)
	if err != nil {
		return "its input cannot be read: " + InLine(err.Error())
	}
	asked, _ := takeApart(req.Input)
	for _, m := range was.members {
		v := is.get(m.name)
		switch {
		case v == nil && (asked == nil || asked.get(m.name) == nil || req.Tool == "ExitPlanMode" && m.name != "plan"):
		case v == nil:
			return fmt.Sprintf("%s was left out", InLine(m.name))
		case !sameJSON(approved[m.start:m.end], v):
			return fmt.Sprintf("%s was %s", InLine(m.name), short(string(v)))
		}
	}
	for _, m := range is.members {
		if v := is.raw[m.start:m.end]; was.get(m.name) == nil && v.Kind() != 'f' && v.Kind() != 'n' {
			return fmt.Sprintf("%s was added as %s", InLine(m.name), short(string(v)))
		}
	}
	return ""
}
