package approvals

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// LogOptions say how a journal is shown to people.
type LogOptions struct {
	Location *time.Location // nil: UTC
	Color    bool           // escape sequences of a terminal
	Brief    bool           // without diffs and texts
}

// RenderLog shows records to people: what was asked, what was decided, by whom
// and how, and what came of it, oldest first. What does not show is written
// out, so that no record can write over another on a terminal.
func RenderLog(records []Record, o LogOptions) string {
	if o.Location == nil {
		o.Location = time.UTC
	}
	l := logWriter{o: o}
	day := ""
	for _, r := range records {
		t := r.Time.In(o.Location)
		if d := t.Format("Monday, 2 January 2006"); d != day && !r.Time.IsZero() {
			if day != "" {
				l.b.WriteByte('\n')
			}
			day = d
			l.b.WriteString(l.paint(bold, d) + "\n")
		}
		l.record(r, t)
	}
	return l.b.String()
}

type logWriter struct {
	o LogOptions
	b strings.Builder
}

// Colours: the usual four and bold, as a terminal has them.
const (
	plainly = ""
	bold    = "1"
	dim     = "2"
	red     = "31"
	green   = "32"
	yellow  = "33"
)

func (l *logWriter) paint(colour, s string) string {
	if !l.o.Color || colour == plainly {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

func (l *logWriter) record(r Record, t time.Time) {
	word, colour := logWord(r)
	line := "  " + t.Format("15:04:05") + "  " + l.paint(colour, fmt.Sprintf("%-10s", word)) + " " + logSentence(r)
	if r.ID != "" {
		line += "  " + l.paint(dim, InLine(r.ID))
	}
	l.b.WriteString(strings.TrimRight(line, " ") + "\n")
	if r.Message != "" && r.Kind == RecordSettled {
		l.text("the agent reads: " + r.Message)
	}
	if l.o.Brief {
		return
	}
	if r.Diff != "" {
		l.diff(r.Diff)
	} else if r.Text != "" {
		l.text(r.Text)
	}
	if r.Kind == RecordRegistered && r.Input != nil && r.Diff == "" {
		l.text(logInput(r))
	}
}

// logWord is what happened, in a word.
func logWord(r Record) (word, colour string) {
	switch r.Kind {
	case RecordRegistered:
		return "asked", plainly
	case RecordSettled:
		switch r.State {
		case Allowed:
			return "allowed", green
		case Denied:
			return "denied", red
		}
		return string(r.State), dim
	case RecordReplaced:
		return "rebuilt", yellow
	case RecordAnswered:
		if r.Error != "" {
			return "unanswered", red
		}
		return "answered", dim
	case RecordOutcome:
		switch r.Outcome.State {
		case OutcomeMismatch:
			return "MISMATCH", red
		case OutcomeFailed:
			return "failed", yellow
		}
		return InLine(r.Outcome.State), green
	case RecordRefused:
		return "refused", yellow
	case RecordKept, RecordNote:
		return string(r.Kind), plainly
	}
	return InLine(string(r.Kind)), yellow
}

// logSentence is what it happened to, and by whom.
func logSentence(r Record) string {
	title := InLine(r.Title)
	by := ""
	if r.By.FrontEnd != "" {
		by = InLine(r.By.FrontEnd)
		if how := strings.TrimSpace(r.By.How + " " + r.By.Rule); how != "" {
			by += " (" + InLine(how) + ")"
		}
	}
	var s []string
	add := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	if title != "" {
		s = append(s, title)
	}
	switch r.Kind {
	case RecordRegistered:
		if r.Agent != "" {
			add("by the subagent %s", InLine(r.Agent))
		}
	case RecordSettled:
		if r.Amended {
			s = append(s, "amended")
		}
		if by != "" {
			add("by %s", by)
		}
		for _, u := range r.Rules {
			add("and: %s", RuleWords(u))
		}
		if r.Interrupt {
			s = append(s, "and the turn was ended")
		}
		if r.Reason != "" && r.Message == "" {
			s = append(s, InLine(r.Reason))
		}
	case RecordReplaced:
		add("because %s; now %s", InLine(r.Reason), InLine(r.ReplacedBy))
	case RecordAnswered:
		if r.Error != "" {
			s = append(s, InLine(r.Error))
		}
	case RecordOutcome:
		if r.Outcome.Detail != "" {
			s = append(s, InLine(r.Outcome.Detail))
		}
	case RecordKept:
		s = append(s, "a text that was saved too late to be sent")
	case RecordRefused:
		verb := "deny"
		if r.State == Allowed {
			verb = "allow"
		}
		if by == "" {
			by = "somebody"
		}
		add("%s tried to %s: %s", by, verb, InLine(r.Error))
	default:
		if r.Event != "" {
			s = append(s, InLine(r.Event))
		}
		if r.Error != "" {
			s = append(s, InLine(r.Error))
		}
		for _, k := range sortedKeys(r.Fields) {
			add("%s %s", InLine(k), InLine(r.Fields[k]))
		}
	}
	return strings.Join(s, ", ")
}

// logInput is a request's input as people want to read it: a command as such.
func logInput(r Record) string {
	if in, err := takeApart(r.Input); err == nil {
		if command, err := in.text("command"); err == nil {
			return "$ " + command
		}
		if isFileTool(r.Tool) {
			return "" // its diff comes with the decision
		}
	}
	return string(r.Input)
}

// text writes lines below a record.
func (l *logWriter) text(s string) {
	for line := range strings.Lines(s) {
		l.b.WriteString("              " + InLine(strings.TrimRight(line, "\r\n")) + "\n")
	}
}

func (l *logWriter) diff(s string) {
	for line := range strings.Lines(s) {
		line = InLine(strings.TrimRight(line, "\r\n"))
		colour := plainly
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			colour = bold
		case strings.HasPrefix(line, "+"):
			colour = green
		case strings.HasPrefix(line, "-"):
			colour = red
		case strings.HasPrefix(line, "@@"):
			colour = dim
		}
		l.b.WriteString("              " + l.paint(colour, line) + "\n")
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
