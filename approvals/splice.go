package approvals

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A Field is one member of a tool's input to be put in place of the agent's.
type Field struct {
	Name  string
	Value jsontext.Value
	text  string // instead of Value, when that is nil
}

// TextField is a field that holds a text. The text must be valid UTF-8.
func TextField(name, text string) Field { return Field{Name: name, text: text} }

// size is about how long the value is as JSON.
func (f Field) size() int {
	if f.Value != nil {
		return len(f.Value)
	}
	return len(f.text) + len(f.text)/16 + 2
}

func (f Field) appendTo(b []byte) []byte {
	if f.Value != nil {
		return append(b, f.Value...)
	}
	return appendJSONString(b, f.text)
}

// A member is one name and value of a JSON object, by where they lie in it.
type member struct {
	name       string
	start, end int // of the value, byte offsets into the object's text
}

// An inputObject is a tool's input taken apart: raw text and the places of its
// members in it.
type inputObject struct {
	raw     jsontext.Value
	members []member
	closing int // offset of the final '}'
}

// An inputError is JSON that is well formed but no tool input.
type inputError struct {
	offset int // in bytes, of what is wrong
	reason string
}

func (e *inputError) Error() string { return e.reason }

// maxNames bounds the names of a tool's input, which no tool comes near.
const maxNames = 256

// lenient lets through what JSON.parse lets through: the agent's own reader
// takes repeated names and halves of surrogate pairs, so they must be seen here
// to be refused or kept, never lost.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// takeApart reads the top level of a JSON object. Values are checked for their
// syntax and otherwise left alone. Repeated names are an error: two readers
// could disagree on which of them counts, and then not what was reviewed would
// be executed.
func takeApart(raw jsontext.Value) (*inputObject, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), lenient...)
	t, err := dec.ReadToken()
	if err != nil {
		return nil, fmt.Errorf("tool input is not JSON: %w", err)
	}
	if t.Kind() != '{' {
		return nil, fmt.Errorf("tool input is a JSON %s, not an object", kindName(t.Kind()))
	}
	in := &inputObject{raw: raw, members: make([]member, 0, 4)}
	for dec.PeekKind() != '}' {
		t, err := dec.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("tool input is not JSON: %w", err)
		}
		name := t.String()
		v, err := dec.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("tool input is not JSON: %w", err)
		}
		end := int(dec.InputOffset())
		if len(in.members) == maxNames {
			return nil, fmt.Errorf("tool input has more than %d names", maxNames)
		}
		for i := range in.members {
			if in.members[i].name == name {
				return nil, &inputError{end - len(v), fmt.Sprintf("tool input has the name %q twice", name)}
			}
		}
		in.members = append(in.members, member{name: name, start: end - len(v), end: end})
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, fmt.Errorf("tool input is not JSON: %w", err)
	}
	in.closing = int(dec.InputOffset()) - 1
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		rest := raw[in.closing+1:]
		return nil, &inputError{len(raw) - len(bytes.TrimLeft(rest, " \t\r\n")), "tool input has something after its JSON object"}
	}
	return in, nil
}

// get gives the raw value of a name, nil when it is missing.
func (in *inputObject) get(name string) jsontext.Value {
	for i := range in.members {
		if m := &in.members[i]; m.name == name {
			return in.raw[m.start:m.end]
		}
	}
	return nil
}

// text gives a string member that must be there.
func (in *inputObject) text(name string) (string, error) {
	v := in.get(name)
	if v == nil {
		return "", fmt.Errorf("tool input has no %q", name)
	}
	return textOf(name, v)
}

// optionalText gives a string member, or "" and false when it is missing.
func (in *inputObject) optionalText(name string) (string, bool, error) {
	v := in.get(name)
	if v == nil {
		return "", false, nil
	}
	s, err := textOf(name, v)
	return s, true, err
}

// flag gives a boolean member, false when it is missing.
func (in *inputObject) flag(name string) (bool, error) {
	switch v := in.get(name); {
	case v == nil, v.Kind() == 'f':
		return false, nil
	case v.Kind() == 't':
		return true, nil
	default:
		return false, fmt.Errorf("%q in the tool input is a JSON %s, not true or false", name, kindName(v.Kind()))
	}
}

// textOf decodes a JSON string. Half a surrogate pair has no place in a Go
// string or in a file, so it is an error and never silently another character.
func textOf(name string, v jsontext.Value) (string, error) {
	if v.Kind() != '"' {
		return "", fmt.Errorf("%q in the tool input is a JSON %s, not a string", name, kindName(v.Kind()))
	}
	if body := v[1 : len(v)-1]; bytes.IndexByte(body, '\\') < 0 && utf8.Valid(body) {
		return string(body), nil
	}
	b, err := jsontext.AppendUnquote(make([]byte, 0, len(v)), v)
	if err != nil {
		return "", fmt.Errorf("%q in the tool input holds half a character (a lone surrogate or broken UTF-8)", name)
	}
	return string(b), nil
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	case '"':
		return "string"
	case '0':
		return "number"
	case '{':
		return "object"
	case '[':
		return "array"
	}
	return "fragment"
}

// Splice puts fields into a JSON object's text: the value of a name that is
// there is replaced where it stands, any other is added at the end. All the
// rest of the text stays as it is, byte for byte: order, spaces, how numbers
// and escapes are written.
func Splice(input jsontext.Value, fields ...Field) (jsontext.Value, error) {
	in, err := takeApart(input)
	if err != nil {
		return nil, err
	}
	return in.splice(fields...)
}

func (in *inputObject) splice(fields ...Field) (jsontext.Value, error) {
	size := len(in.raw)
	for i, f := range fields {
		size += f.size() + len(f.Name) + 4
		for _, g := range fields[:i] {
			if g.Name == f.Name {
				return nil, fmt.Errorf("field %q is to be set twice", f.Name)
			}
		}
	}
	out, from := make([]byte, 0, size), 0
	replaced := make([]bool, len(fields))
	for _, m := range in.members { // in the order of the text
		for i := range fields {
			if fields[i].Name == m.name {
				out = fields[i].appendTo(append(out, in.raw[from:m.start]...))
				from, replaced[i] = m.end, true
			}
		}
	}
	out = append(out, in.raw[from:in.closing]...)
	some := len(in.members) > 0
	for i, f := range fields {
		if replaced[i] {
			continue
		}
		if some {
			out = append(out, ',')
		}
		out = f.appendTo(append(appendJSONString(out, f.Name), ':'))
		some = true
	}
	return append(out, in.raw[in.closing:]...), nil
}

// plainInJSON are the bytes that stand for themselves in a JSON string, but for
// 0xE2, with which the encodings of U+2028 and U+2029 begin.
var plainInJSON = func() (plain [256]bool) {
	for c := range plain {
		plain[c] = c >= ' ' && c != '"' && c != '\\' && c != 0x7F && c != 0xE2
	}
	return plain
}()

// appendJSONString writes s as JSON that any line-based reader takes: U+2028
// and U+2029 are escaped too, since some readers split lines there.
func appendJSONString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if plainInJSON[c] {
			continue
		}
		if c == 0xE2 && !(i+2 < len(s) && s[i+1] == 0x80 && (s[i+2] == 0xA8 || s[i+2] == 0xA9)) {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		case 0xE2:
			b = append(b, '\\', 'u', '2', '0', '2', hex[s[i+2]&0xF])
			i += 2
			from = i + 1
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
		}
	}
	return append(append(b, s[from:]...), '"')
}

// arrayItems takes a JSON array apart.
func arrayItems(v jsontext.Value) ([]jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(v), lenient...)
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	var items []jsontext.Value
	for dec.PeekKind() != ']' {
		item, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(dec.InputOffset())
		items = append(items, v[end-len(item):end])
	}
	return items, nil
}
