package editors

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A dialect is how a configuration language writes a JSON value.
type dialect struct {
	name         string
	text         func(string) string
	null         string // empty: there is none
	empty        string // an empty object
	list, object [2]string
	key          func(string) string
	assign       string
}

var lua = dialect{
	name: "Lua", text: luaString, null: "vim.NIL", empty: "vim.empty_dict()",
	list: [2]string{"{ ", " }"}, object: [2]string{"{ ", " }"},
	key: func(k string) string { return "[" + luaString(k) + "]" }, assign: " = ",
}

var toml = dialect{
	name: "TOML", text: tomlString, empty: "{}",
	list: [2]string{"[", "]"}, object: [2]string{"{ ", " }"},
	key: tomlString, assign: " = ",
}

// luaValue and tomlTable write a JSON object as an expression, {} for nil.
func luaValue(v jsontext.Value) (string, error)  { return lua.top(v) }
func tomlTable(v jsontext.Value) (string, error) { return toml.top(v) }

func (d dialect) top(v jsontext.Value) (string, error) {
	if len(v) == 0 {
		return d.empty, nil
	}
	if v.Kind() != '{' {
		return "", errors.New("settings are not a JSON object")
	}
	var b strings.Builder
	dec := jsontext.NewDecoder(strings.NewReader(string(v)))
	if err := d.write(&b, dec); err != nil {
		return "", err
	}
	return b.String(), nil
}

func (d dialect) write(b *strings.Builder, dec *jsontext.Decoder) error {
	switch dec.PeekKind() {
	case '{', '[':
		return d.compound(b, dec)
	case '"':
		var s string
		if err := json.UnmarshalDecode(dec, &s); err != nil {
			return err
		}
		b.WriteString(d.text(s))
		return nil
	case 'n':
		if d.null == "" {
			return fmt.Errorf("%s has no null, as at %s", d.name, dec.StackPointer())
		}
		b.WriteString(d.null)
		return dec.SkipValue()
	default: // numbers, true, false read the same in all of them
		v, err := dec.ReadValue()
		b.Write(v)
		return err
	}
}

func (d dialect) compound(b *strings.Builder, dec *jsontext.Decoder) error {
	opening, err := dec.ReadToken()
	if err != nil {
		return err
	}
	brackets, closing := d.list, jsontext.Kind(']')
	if opening.Kind() == '{' {
		brackets, closing = d.object, '}'
	}
	if dec.PeekKind() == closing {
		if closing == '}' {
			b.WriteString(d.empty)
		} else {
			b.WriteString(strings.TrimSpace(brackets[0]) + strings.TrimSpace(brackets[1]))
		}
		_, err := dec.ReadToken()
		return err
	}
	b.WriteString(brackets[0])
	for first := true; dec.PeekKind() != closing; first = false {
		if !first {
			b.WriteString(", ")
		}
		if closing == '}' {
			key, err := dec.ReadToken()
			if err != nil {
				return err
			}
			b.WriteString(d.key(key.String()) + d.assign)
		}
		if err := d.write(b, dec); err != nil {
			return err
		}
	}
	b.WriteString(brackets[1])
	_, err = dec.ReadToken()
	return err
}

// luaString quotes for Lua: bytes above ASCII stand as they are.
func luaString(s string) string {
	return quote(s, func(r rune) string { return fmt.Sprintf(`\%03d`, r) })
}

// tomlString quotes for TOML: a basic string.
func tomlString(s string) string {
	return quote(s, func(r rune) string { return fmt.Sprintf(`\u%04X`, r) })
}

func quote(s string, control func(rune) string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			b.WriteString(control(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
