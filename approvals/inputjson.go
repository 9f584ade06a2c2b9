package approvals

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A DocumentError says at which place of a document a person's text cannot be
// turned into an answer. Nothing is decided.
type DocumentError struct {
	Line, Column int // 1-based, in lines and characters of the text; 0 where no place is meant
	Reason       string
}

func (e *DocumentError) Error() string {
	switch {
	case e.Line == 0:
		return e.Reason
	case e.Column == 0:
		return fmt.Sprintf("line %d: %s", e.Line, e.Reason)
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// at is a DocumentError at a byte offset of text.
func at(text string, offset int, reason string) *DocumentError {
	offset = max(0, min(offset, len(text)))
	before := text[:offset]
	line := strings.Count(before, "\n")
	return &DocumentError{Line: line + 1, Column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1, Reason: reason}
}

// An inputDocument is a tool's input as JSON for review, one member a line. In
// it, characters that do not show are written as escapes. What a person leaves
// alone goes back to the agent as it came, byte for byte.
type inputDocument struct {
	raw   jsontext.Value
	input *inputObject // nil: no JSON object, cannot be amended
	why   error        // why input is nil
	fixed string       // name of the member that no amendment may change; empty when there is none
	text  string
}

const inputName = "input.json"

// newInput takes any request's input. It never fails.
func newInput(req Request) (*inputDocument, []Note) {
	d := &inputDocument{raw: own(req.Input)}
	if isFileTool(req.Tool) {
		d.fixed = pathField(req.Tool)
	}
	var notes []Note
	d.input, d.why = takeApart(d.raw)
	if d.why != nil {
		notes = append(notes, Note{Text: "The tool's input cannot be amended: " + d.why.Error() + ".", Warning: true})
	}
	d.text = endLine(pretty(d.raw))
	return d, notes
}

// Basename makes editors see JSON.
func (d *inputDocument) Basename() string { return inputName }

// Text is the input, one member a line.
func (d *inputDocument) Text() string { return d.text }

// Original is empty: nothing was there before.
func (d *inputDocument) Original() string { return "" }

// Amend compares the person's JSON with the request's, member by member, and
// replaces those that mean something else.
func (d *inputDocument) Amend(text string) (Amendment, error) {
	if endLine(text) == d.text {
		return Amendment{Input: d.raw}, nil
	}
	if d.input == nil {
		return Amendment{}, fmt.Errorf("this input cannot be amended: %w", d.why)
	}
	if err := plainText(text); err != nil {
		return Amendment{}, err
	}
	theirs, err := takeApart(jsontext.Value(text))
	if err != nil {
		return Amendment{}, d.unreadable(text, err)
	}
	var fields []Field
	var notes []Note
	for _, m := range d.input.members {
		was, is := d.input.raw[m.start:m.end], theirs.get(m.name)
		switch {
		case is == nil:
			return Amendment{}, at(text, theirs.closing, fmt.Sprintf("the field %q is missing: it can be changed but not removed", InLine(m.name)))
		case sameJSON(was, is):
			continue
		case m.name == d.fixed:
			return Amendment{}, at(text, theirs.place(m.name), fmt.Sprintf("%q must stay %s, or another file would be changed than the one shown", m.name, was))
		case !sameKind(was.Kind(), is.Kind()):
			return Amendment{}, at(text, theirs.place(m.name), fmt.Sprintf("%q is a JSON %s and must stay one, not become a %s", m.name, kindName(was.Kind()), kindName(is.Kind())))
		}
		fields = append(fields, Field{Name: m.name, Value: compact(is)})
	}
	for _, m := range theirs.members {
		if d.input.get(m.name) == nil {
			fields = append(fields, Field{Name: m.name, Value: compact(theirs.raw[m.start:m.end])})
			notes = append(notes, Note{Text: fmt.Sprintf("The field %q is added; the agent drops fields that its tool does not know.", InLine(m.name))})
		}
	}
	if len(fields) == 0 {
		return Amendment{Input: d.raw}, nil
	}
	input, err := d.input.splice(fields...)
	if err != nil {
		return Amendment{}, err
	}
	return Amendment{Input: input, Amended: true, Notes: append(notes, hiddenNotes(text, d.text, JSONText)...)}, nil
}

// unreadable says where a text stops being a JSON object.
func (d *inputDocument) unreadable(text string, err error) error {
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		return at(text, int(syntax.ByteOffset), "not valid JSON: "+syntax.Err.Error())
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return at(text, len(strings.TrimRight(text, "\r\n")), "not valid JSON: it ends too early")
	}
	var what *inputError
	if errors.As(err, &what) {
		return at(text, what.offset, strings.Replace(what.reason, "tool input", "the text", 1))
	}
	return &DocumentError{Line: 1, Reason: strings.Replace(err.Error(), "tool input", "the text", 1)}
}

// place is where a member's value begins.
func (in *inputObject) place(name string) int {
	for _, m := range in.members {
		if m.name == name {
			return m.start
		}
	}
	return 0
}

func sameKind(a, b jsontext.Kind) bool {
	return a == b || kindName(a) == kindName(b) || a == 'n'
}

// pretty is JSON for reading: one member or item a line, numbers and escapes
// as they are written, characters that do not show as escapes. What is no JSON
// comes back as it is.
func pretty(raw jsontext.Value) string {
	v := own(raw)
	if err := v.Format(append([]jsontext.Options{jsontext.PreserveRawStrings(true), jsontext.Multiline(true), jsontext.WithIndent("  ")}, lenient...)...); err != nil {
		return visibleLines(string(raw))
	}
	return escapeHidden(string(v))
}

// escapeHidden writes characters that do not show as JSON escapes. Outside of
// strings JSON has none.
func escapeHidden(s string) string {
	if strings.IndexFunc(s, func(r rune) bool { return r >= 0x7f && hidden(r) != "" }) < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], "\xef\xbf\xbd"):
			b.WriteByte(s[i])
		case r < 0x7f || hidden(r) == "":
			b.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// visibleLines is InLine for a text of several lines.
func visibleLines(s string) string {
	lines := strings.SplitAfter(s, "\n")
	for i, l := range lines {
		body := strings.TrimSuffix(l, "\n")
		lines[i] = InLine(body) + l[len(body):]
	}
	return strings.Join(lines, "")
}

// compact takes the spaces and newlines out of a JSON value: the wire's
// messages are lines. Numbers and escapes stay as they are written.
func compact(v jsontext.Value) jsontext.Value {
	c := own(v)
	if err := c.Format(append([]jsontext.Options{jsontext.PreserveRawStrings(true)}, lenient...)...); err != nil {
		return v
	}
	return c
}

// sameJSON says whether two JSON values mean the same: spaces, escapes and the
// spelling of a number do not count, the order of members does.
func sameJSON(a, b jsontext.Value) bool {
	if bytes.Equal(a, b) {
		return true
	}
	da, db := jsontext.NewDecoder(bytes.NewBuffer(a), lenient...), jsontext.NewDecoder(bytes.NewBuffer(b), lenient...)
	for {
		ka, kb := da.PeekKind(), db.PeekKind()
		if ka != kb {
			return false
		}
		switch ka {
		case '"', '0':
			va, erra := da.ReadValue()
			vb, errb := db.ReadValue()
			if erra != nil || errb != nil {
				return false
			}
			if bytes.Equal(va, vb) {
				continue
			}
			if ka == '0' {
				if !sameNumber(string(va), string(vb)) {
					return false
				}
				continue
			}
			sa, erra := jsontext.AppendUnquote(nil, va)
			sb, errb := jsontext.AppendUnquote(nil, vb)
			if erra != nil || errb != nil || !bytes.Equal(sa, sb) {
				return false
			}
		default:
			_, erra := da.ReadToken()
			_, errb := db.ReadToken()
			if erra != nil || errb != nil {
				return erra != nil && errb != nil && ka == 0 // both ended
			}
		}
	}
}

// sameNumber says whether two JSON numbers are the same decimal number,
// exactly: 1e3 and 1000.0 are, two large integers that one float64 stands for
// are not.
func sameNumber(a, b string) bool {
	na, da, ea := decimal(a)
	nb, db, eb := decimal(b)
	return na == nb && da == db && ea == eb
}

// decimal takes a number apart: sign, digits without zeros at either end, and
// the exponent of the last digit. The exponent stays short text in any input
// worth comparing; one that is out of range keeps the number different.
func decimal(s string) (negative bool, digits string, exponent int64) {
	s, negative = strings.CutPrefix(s, "-")
	mantissa, exp := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exp = s[:i], s[i+1:]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent = -int64(len(fraction))
	if trimmed := strings.TrimRight(digits, "0"); trimmed != digits {
		exponent += int64(len(digits) - len(trimmed))
		digits = trimmed
	}
	if digits == "" {
		return negative, "0", 0
	}
	if exp == "" {
		return negative, digits, exponent
	}
	e, err := strconv.ParseInt(exp, 10, 32)
	if err != nil {
		return negative, s, 0 // too large to compare: the same only as text
	}
	return negative, digits, exponent + e
}
