package session

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/diff"
)

// amended notes what a person changed in a request that was allowed and has
// been carried out, for the agent to be told: its wire says only that something
// was changed, and an agent that believes in its own text tries it again.
func (s *Session) amended(r *run, a approvals.Approval) {
	if a.Outcome.State == "verified" || a.Outcome.State == "done" {
		if d := difference(a); d != "" {
			s.mu.Lock()
			r.telling = append(r.telling, d)
			s.mu.Unlock()
		}
	}
	s.tell(r, false)
}

// tell sends what the agent is to be told, in one message: as soon as no other
// amendment is under way, and at the latest when the turn ends.
func (s *Session) tell(r *run, now bool) {
	s.mu.Lock()
	if len(r.telling) == 0 || len(r.answering) > 0 && !now {
		s.mu.Unlock()
		return
	}
	diffs := r.telling
	r.telling = nil
	s.mu.Unlock()
	r.answers.Add(1)
	go func() {
		defer r.answers.Done()
		if err := r.agent.Send(amendmentMessage(diffs)); err != nil {
			s.o.Report(true, fmt.Sprintf("the agent was not told of your amendment: %v", err), "")
		}
	}()
}

func amendmentMessage(diffs []string) string {
	head := "The user changed your proposal before allowing it. What was done differs from what you proposed like this:"
	if len(diffs) > 1 {
		head = fmt.Sprintf("The user changed %d of your proposals before allowing them. What was done differs from what you proposed like this:", len(diffs))
	}
	return head + "\n\n" + strings.Join(diffs, "\n") + "\nThis is for your information: keep these changes, and go on."
}

// difference shows what a person changed: in the file, or else in the fields of
// the tool's input. Line ends are left out of it.
func difference(a approvals.Approval) string {
	if a.Path != "" && a.Want != nil && a.Document != nil {
		if text, ok := decode(a.Want); ok {
			return diff.Unified("proposed "+a.Path, "allowed "+a.Path, plainLines(a.Document.Text()), plainLines(text))
		}
	}
	return inputDifference(a.Request.Tool, a.Request.Input, a.Result.UpdatedInput)
}

// decode reads the bytes of a file as the agent would: UTF-8, or UTF-16LE with
// a byte order mark.
func decode(b []byte) (string, bool) {
	if rest, ok := bytes.CutPrefix(b, []byte{0xff, 0xfe}); ok && len(rest)%2 == 0 {
		units := make([]uint16, len(rest)/2)
		for i := range units {
			units[i] = uint16(rest[2*i]) | uint16(rest[2*i+1])<<8
		}
		return string(utf16.Decode(units)), true
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	return string(b), utf8.Valid(b)
}

func plainLines(s string) string {
	return strings.ReplaceAll(strings.TrimPrefix(s, "\ufeff"), "\r\n", "\n")
}

// inputDifference compares two inputs of a tool field by field.
func inputDifference(tool string, asked, allowed jsontext.Value) string {
	old, _ := members(asked)
	changed, names := members(allowed)
	var out strings.Builder
	for _, name := range names {
		if bytes.Equal(old[name], changed[name]) {
			continue
		}
		out.WriteString(diff.Unified("proposed "+tool+" "+name, "allowed "+tool+" "+name, shown(old[name]), shown(changed[name])))
	}
	return out.String()
}

// members are the raw members of an object, and their names in order.
func members(v jsontext.Value) (map[string]jsontext.Value, []string) {
	found := make(map[string]jsontext.Value)
	var names []string
	d := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return found, nil
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			break
		}
		key := name.String()
		value, err := d.ReadValue()
		if err != nil {
			break
		}
		found[key] = value.Clone()
		names = append(names, key)
	}
	return found, names
}

// shown is a field's value as lines: a string's text, anything else as JSON.
func shown(v jsontext.Value) string {
	if v.Kind() == '"' {
		var s string
		if json.Unmarshal(v, &s, jsontext.AllowInvalidUTF8(true)) == nil {
			return endLine(plainLines(s))
		}
	}
	if len(v) == 0 {
		return ""
	}
	return endLine(string(v))
}

func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}
