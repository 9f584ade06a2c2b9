package approvals

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// A FileState says whether a file still has the content that was approved for
// it last.
type FileState struct {
	Path   string    `json:"path"`
	ID     string    `json:"id"`    // the last approval of a change of it
	Title  string    `json:"title"` //
	Time   time.Time `json:"time"`  // when that was allowed
	Want   string    `json:"want"`  // hash of the content approved
	Got    string    `json:"got,omitzero"`
	State  string    `json:"state"`
	Detail string    `json:"detail,omitzero"` // for people
}

// The states of a file.
const (
	FileSame    = "same"       // it has that content
	FileChanged = "changed"    // it has another: changed since, or never written so (Detail)
	FileGone    = "gone"       // it is not there
	FileUnknown = "unreadable" // it cannot be read
)

// VerifyFiles goes through the records of a journal and looks at every file of
// which a change was allowed, in the order of the last of these. Changes that
// the tool did not carry out are left out. Files that other programs have
// changed since are no fault; that the journal says so is what it is for.
func VerifyFiles(records []Record, read ReadFile) []FileState {
	if read == nil {
		read = ReadTarget
	}
	type allowed struct {
		FileState
		outcome Outcome
	}
	byID := map[string]*allowed{}
	var order []*allowed
	for _, r := range records {
		switch r.Kind {
		case RecordSettled:
			if r.State == Allowed && r.Path != "" {
				a := &allowed{FileState: FileState{Path: r.Path, ID: r.ID, Title: r.Title, Time: r.Time, Want: r.Want}}
				byID[r.ID] = a
				order = append(order, a)
			}
		case RecordOutcome:
			if a := byID[r.ID]; a != nil {
				a.outcome = r.Outcome
				if a.Want == "" && r.Outcome.State == OutcomeVerified {
					a.Want = r.Outcome.Got // the agent made up a part of it
				}
			}
		case RecordAnswered:
			if a := byID[r.ID]; a != nil && r.Error != "" {
				a.outcome = Outcome{State: OutcomeFailed}
			}
		}
	}
	last := map[string]*allowed{}
	for _, a := range order {
		if a.Want != "" && a.outcome.State != OutcomeFailed {
			last[a.Path] = a
		}
	}
	var states []FileState
	for _, a := range order {
		if last[a.Path] != a {
			continue
		}
		f := a.FileState
		data, err := read(f.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.State = FileGone
		case err != nil:
			f.State, f.Detail = FileUnknown, err.Error()
		default:
			f.Got = hashOf(data)
			f.State = FileSame
			if f.Got != f.Want {
				f.State = FileChanged
				switch {
				case a.outcome.State == OutcomeMismatch:
					f.Detail = "it did not have that content right after the agent wrote it"
				case a.outcome.State == "":
					f.Detail = "whether the agent wrote it is not recorded"
				}
			}
		}
		states = append(states, f)
	}
	return states
}

// RenderFiles shows the states of files to people.
func RenderFiles(states []FileState, o LogOptions) string {
	if o.Location == nil {
		o.Location = time.UTC
	}
	l := logWriter{o: o}
	counts := map[string]int{}
	for _, f := range states {
		counts[f.State]++
		colour := yellow
		if f.State == FileSame {
			colour = green
		}
		line := fmt.Sprintf("  %s %s  approved %s as %s", l.paint(colour, fmt.Sprintf("%-10s", f.State)), InLine(f.Path), f.Time.In(o.Location).Format("2 January 2006 15:04:05"), InLine(f.ID))
		if f.Detail != "" {
			line += ": " + InLine(f.Detail)
		}
		l.b.WriteString(line + "\n")
	}
	if len(states) == 0 {
		return "no change of a file was approved\n"
	}
	var sum []string
	for _, s := range []struct{ state, words string }{
		{FileSame, "with the content that was approved last"}, {FileChanged, "changed since"}, {FileGone, "not there any more"}, {FileUnknown, "not readable"},
	} {
		if n := counts[s.state]; n > 0 {
			sum = append(sum, fmt.Sprintf("%d %s", n, s.words))
		}
	}
	plural := "s"
	if len(states) == 1 {
		plural = ""
	}
	l.b.WriteString(fmt.Sprintf("%d file%s: %s\n", len(states), plural, strings.Join(sum, ", ")))
	return l.b.String()
}
