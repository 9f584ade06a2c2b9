package approvals

import (
	"fmt"
	"strings"
)

// An UnknownError says that no approval has an id, or none that the desk still
// remembers.
type UnknownError struct{ ID string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("no approval has the id %s; the journal may tell what became of it", InLine(e.ID))
}

// A SettledError says that a decision came too late, and what was decided.
type SettledError struct{ Approval Approval }

func (e *SettledError) Error() string {
	return fmt.Sprintf("approval %s (%s) %s", e.Approval.ID, e.Approval.Title, e.Approval.Verdict())
}

// Verdict says what was decided about a settled approval, by whom, how and
// when: "was allowed by Neovim 0.10.4 (save) at 14:02:11".
func (a Approval) Verdict() string {
	if a.State == Pending {
		return "is pending"
	}
	when := a.Settled.Format("15:04:05")
	if a.State == Withdrawn {
		s := "was withdrawn at " + when
		if a.Reason != "" {
			s += ": " + a.Reason
		}
		if a.ReplacedBy != "" {
			s += "; its place was taken by " + a.ReplacedBy
		}
		return s
	}
	s := "was " + string(a.State)
	if a.Amended {
		s += ", amended,"
	}
	if a.By.FrontEnd != "" {
		s += " by " + InLine(a.By.FrontEnd)
	}
	if how := strings.TrimSpace(a.By.How + " " + a.By.Rule); how != "" {
		s += " (" + InLine(how) + ")"
	}
	return s + " at " + when
}

// A StaleError says that the target has changed since the change was proposed.
// Nothing was decided: New shows the change on the file as it is now, with the
// person's amendments, and waits in the place of Old.
type StaleError struct{ Old, New Approval }

func (e *StaleError) Error() string {
	return fmt.Sprintf("%s has changed since %s was proposed: nothing was decided, and the change is shown again on the file as it is now as %s", e.Old.Path, e.Old.ID, e.New.ID)
}

// A RefusedError says why a decision cannot be taken as it was given. Nothing
// was decided; the approval still waits.
type RefusedError struct {
	ID           string
	Reason       string // a sentence without its full stop
	Line, Column int    // 1-based place in the document that the reason is about; 0 for none
}

func (e *RefusedError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("nothing was decided about %s: line %d: %s", e.ID, e.Line, e.Reason)
	}
	return fmt.Sprintf("nothing was decided about %s: %s", e.ID, e.Reason)
}

// unrecorded is why nothing is allowed while the journal takes no records.
func unrecorded(err error) string {
	return "it cannot be recorded, and nothing is allowed unrecorded: " + err.Error()
}
