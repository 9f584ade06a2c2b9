package approvals

import (
	"bytes"
	"errors"
	"slices"
	"unicode/utf16"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// agentWrites is a second, slow and simple account of what the agent makes of
// an allowed input, on UTF-16 units as the agent has them. It knows only the
// exact match: an amended input never needs another.
func agentWrites(tool string, input jsontext.Value, file *string) ([]byte, error) {
	var in struct {
		Content string `json:"content"`
		Old     string `json:"old_string"`
		New     string `json:"new_string"`
		All     bool   `json:"replace_all"`
		Edits   []struct {
			Old string `json:"old_string"`
			New string `json:"new_string"`
			All bool   `json:"replace_all"`
		} `json:"edits"`
	}
	if err := json.Unmarshal(input, &in, lenient...); err != nil {
		return nil, err
	}
	wide, before := false, []uint16(nil)
	if file != nil {
		data := []byte(*file)
		if wide = len(data) >= 2 && data[0] == 0xFF && data[1] == 0xFE; wide {
			for i := 0; i+1 < len(data); i += 2 {
				before = append(before, uint16(data[i])|uint16(data[i+1])<<8)
			}
		} else {
			before = u16(*file)
		}
	}
	crlf, lf := 0, 0
	for i, u := range before[:min(len(before), 4096)] {
		if u == '\n' && i > 0 && before[i-1] == '\r' {
			crlf++
		} else if u == '\n' {
			lf++
		}
	}
	text := replaceUnits(before, u16("\r\n"), u16("\n"))
	mark := func(s []uint16) []uint16 {
		if len(s) > 0 && s[0] != 0xFEFF && len(text) > 0 && text[0] == 0xFEFF {
			return append([]uint16{0xFEFF}, s...)
		}
		return s
	}
	var after []uint16
	if tool == "Write" {
		after = mark(u16(in.Content))
	} else {
		if tool == "MultiEdit" {
			if len(in.Edits) != 1 {
				return nil, errors.New("not one edit")
			}
			in.Old, in.New, in.All = in.Edits[0].Old, in.Edits[0].New, in.Edits[0].All
		}
		old, put := u16(in.Old), u16(in.New)
		line := append(slices.Clone(old), '\n')
		switch {
		case in.All:
			return nil, errors.New("replace_all in an amended input")
		case len(old) == 0:
			after = mark(put)
		case findUnits(text, old) < 0:
			return nil, errors.New("old_string is not there")
		case len(put) == 0 && old[len(old)-1] != '\n' && findUnits(text, line) >= 0:
			after = replaceOnce(text, line, nil)
		default:
			after = replaceOnce(text, old, put)
		}
		if slices.Equal(after, text) && len(text) > 0 {
			return nil, errors.New("nothing changes")
		}
		if crlf > lf {
			after = replaceUnits(after, u16("\r\n"), u16("\n"))
			after = replaceUnits(after, u16("\n"), u16("\r\n"))
		}
	}
	if !wide {
		return []byte(string(utf16.Decode(after))), nil
	}
	var out bytes.Buffer
	for _, u := range after {
		out.Write([]byte{byte(u), byte(u >> 8)})
	}
	return out.Bytes(), nil
}

func u16(s string) []uint16 { return utf16.Encode([]rune(s)) }

func findUnits(s, what []uint16) int {
	for i := 0; i+len(what) <= len(s); i++ {
		if slices.Equal(s[i:i+len(what)], what) {
			return i
		}
	}
	return -1
}

func replaceOnce(s, old, put []uint16) []uint16 {
	at := findUnits(s, old)
	return slices.Concat(s[:at], put, s[at+len(old):])
}

func replaceUnits(s, old, put []uint16) []uint16 {
	var out []uint16
	for {
		at := findUnits(s, old)
		if at < 0 {
			return append(out, s...)
		}
		out = append(append(out, s[:at]...), put...)
		s = s[at+len(old):]
	}
}
