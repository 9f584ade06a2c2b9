package approvals

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The agent reads a notebook with JSON.parse and writes it with JSON.stringify,
// so all of its text goes through JavaScript's idea of JSON: numbers are
// doubles, names that look like array indices come first, of a repeated name
// the last value counts, and strings have one way of being written. A jsNode is
// a value in that form.
type jsNode struct {
	kind   jsontext.Kind // of jsontext; kindHole for a hole
	text   string        // strings (quoted), numbers and literals, as JSON.stringify writes them
	items  []*jsNode     // of an array; of an object, beside names
	names  []string      // of an object, quoted as JSON.stringify writes them
	byName map[string]int
}

// kindHole is a place whose text is not known yet.
const kindHole jsontext.Kind = '?'

func jsString(s string) *jsNode {
	return &jsNode{kind: '"', text: string(appendStringified(nil, appendJSONString(nil, s)))}
}
func jsNull() *jsNode  { return &jsNode{kind: 'n', text: "null"} }
func jsArray() *jsNode { return &jsNode{kind: '['} }

// parseJS reads a JSON text as JSON.parse does. The text must be valid UTF-8.
func parseJS(text string) (*jsNode, error) {
	dec := jsontext.NewDecoder(strings.NewReader(text), lenient...)
	left := maxNodes
	n, err := readNode(dec, &left)
	if err != nil {
		return nil, err
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON value")
	}
	return n, nil
}

// maxNodes bounds the values of a JSON text, for their room in memory.
const maxNodes = 1 << 20

// maxStringified is the size of a notebook above which the agent refuses to
// write it; a deep one grows by its indentation.
const maxStringified = 100 << 20

func readNode(dec *jsontext.Decoder, left *int) (*jsNode, error) {
	if *left--; *left < 0 {
		return nil, fmt.Errorf("it has more than %d values", maxNodes)
	}
	switch kind := dec.PeekKind(); kind {
	case '{', '[':
		n := &jsNode{kind: kind}
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
		for {
			next := dec.PeekKind()
			if next == '}' || next == ']' {
				break
			}
			var name string
			if kind == '{' {
				v, err := dec.ReadValue()
				if err != nil {
					return nil, err
				}
				name = string(appendStringified(nil, v))
			}
			item, err := readNode(dec, left)
			if err != nil {
				return nil, err
			}
			if kind == '{' {
				n.set(name, item)
			} else {
				n.items = append(n.items, item)
			}
		}
		if _, err := dec.ReadToken(); err != nil {
			return nil, err
		}
		n.indicesFirst()
		return n, nil
	case '"':
		v, err := dec.ReadValue()
		return &jsNode{kind: kind, text: string(appendStringified(nil, v))}, err
	default:
		v, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if v.Kind() == '0' {
			return &jsNode{kind: '0', text: jsNumber(string(v))}, nil
		}
		return &jsNode{kind: v.Kind(), text: string(v)}, nil
	}
}

// get gives an object's member by its plain name, nil where there is none.
func (n *jsNode) get(name string) *jsNode {
	if n == nil || n.kind != '{' {
		return nil
	}
	if i, ok := n.byName[`"`+name+`"`]; ok {
		return n.items[i]
	}
	return nil
}

// put sets an object's member by its plain name.
func (n *jsNode) put(name string, v *jsNode) { n.set(`"`+name+`"`, v) }

func (n *jsNode) set(quoted string, v *jsNode) {
	if i, ok := n.byName[quoted]; ok {
		n.items[i] = v
		return
	}
	if n.byName == nil {
		n.byName = map[string]int{}
	}
	n.byName[quoted] = len(n.names)
	n.names, n.items = append(n.names, quoted), append(n.items, v)
}

// drop removes an object's member by its plain name.
func (n *jsNode) drop(name string) {
	at, ok := n.byName[`"`+name+`"`]
	if !ok {
		return
	}
	n.names = append(n.names[:at:at], n.names[at+1:]...)
	n.items = append(n.items[:at:at], n.items[at+1:]...)
	n.index()
}

func (n *jsNode) index() {
	n.byName = make(map[string]int, len(n.names))
	for i, name := range n.names {
		n.byName[name] = i
	}
}

// indicesFirst moves names that are array indices to the front, in order.
func (n *jsNode) indicesFirst() {
	type indexed struct {
		at   uint64
		name string
		item *jsNode
	}
	var front []indexed
	for i, name := range n.names {
		if at, ok := arrayIndex(name); ok {
			front = append(front, indexed{at, name, n.items[i]})
		}
	}
	if front == nil {
		return
	}
	sort.Slice(front, func(i, j int) bool { return front[i].at < front[j].at })
	names, items := make([]string, 0, len(n.names)), make([]*jsNode, 0, len(n.items))
	for _, f := range front {
		names, items = append(names, f.name), append(items, f.item)
	}
	for i, name := range n.names {
		if _, ok := arrayIndex(name); !ok {
			names, items = append(names, name), append(items, n.items[i])
		}
	}
	n.names, n.items = names, items
	n.index()
}

// arrayIndex reads a quoted name as an array index: 0 to 2³²-2, no leading zero.
func arrayIndex(quoted string) (uint64, bool) {
	s := quoted[1 : len(quoted)-1]
	if s == "" || len(s) > 10 || s[0] == '0' && s != "0" {
		return 0, false
	}
	at, err := strconv.ParseUint(s, 10, 64)
	return at, err == nil && at < math.MaxUint32 && s[0] != '+'
}

// string decodes a string node; ok is false for any other and for one that
// holds half a character.
func (n *jsNode) string() (string, bool) {
	if n == nil || n.kind != '"' {
		return "", false
	}
	s, err := textOf("", jsontext.Value(n.text))
	return s, err == nil
}

// number is a number node's value.
func (n *jsNode) number() (float64, bool) {
	if n == nil || n.kind != '0' {
		return 0, false
	}
	f, err := strconv.ParseFloat(n.text, 64)
	return f, err == nil
}

// append writes the node as JSON.stringify does with an indentation of one
// blank, at least up to maxStringified. Holes call at with the length so far.
func (n *jsNode) append(b []byte, depth int, hole func(n *jsNode, at int)) []byte {
	open, end := byte('['), byte(']')
	switch n.kind {
	case kindHole:
		hole(n, len(b))
		return b
	case '{':
		open, end = '{', '}'
	case '[':
	default:
		return append(b, n.text...)
	}
	b = append(b, open)
	for i, item := range n.items {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendBreak(b, depth+1)
		if open == '{' {
			b = append(append(b, n.names[i]...), ": "...)
		}
		b = item.append(b, depth+1, hole)
		if len(b) > maxStringified {
			return b // cut off: the caller looks at the length
		}
	}
	if len(n.items) > 0 {
		b = appendBreak(b, depth)
	}
	return append(b, end)
}

func appendBreak(b []byte, depth int) []byte {
	b = append(b, '\n')
	for range depth {
		b = append(b, ' ')
	}
	return b
}

// jsNumber writes a JSON number as JavaScript does.
func jsNumber(s string) string {
	f, _ := strconv.ParseFloat(s, 64) // out of range gives an infinity
	switch {
	case math.IsInf(f, 0):
		return "null"
	case f == 0:
		return "0"
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	s = strconv.FormatFloat(f, 'e', -1, 64)
	mantissa, exp, _ := strings.Cut(s, "e")
	return mantissa + "e" + exp[:1] + strings.TrimLeft(exp[1:], "0")
}

// appendStringified writes a quoted JSON string the one way JSON.stringify does:
// short escapes, small digits, halves of surrogate pairs as escapes, all else
// as it is.
func appendStringified(b []byte, quoted jsontext.Value) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return append(b, quoted...)
	}
	for i := 0; i < len(quoted); {
		if quoted[i] != '\\' {
			b = append(b, quoted[i])
			i++
			continue
		}
		switch c := quoted[i+1]; c {
		case '/':
			b = append(b, '/')
			i += 2
		case 'u':
			u, _ := hex4(string(quoted[i+2 : i+6]))
			i += 6
			r := rune(u)
			if u >= 0xD800 && u < 0xDC00 && bytes.HasPrefix(quoted[i:], []byte(`\u`)) {
				if lo, _ := hex4(string(quoted[i+2 : i+6])); lo >= 0xDC00 && lo < 0xE000 {
					r = (r-0xD800)<<10 + (rune(lo) - 0xDC00) + 0x10000
					i += 6
				}
			}
			b = appendUnit(b, r)
		default:
			b = append(b, '\\', c)
			i += 2
		}
	}
	return b
}

func appendUnit(b []byte, r rune) []byte {
	const hex = "0123456789abcdef"
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	if r < ' ' || r >= 0xD800 && r < 0xE000 {
		return append(b, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
	}
	return append(b, string(r)...)
}
