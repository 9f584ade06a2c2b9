package approvals

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// How the agent finds an edit's old_string in a file, in this order: as it
// stands; with typographic quotes counted as straight ones; with \uXXXX escapes
// in old_string counted as their characters; with characters in old_string
// counted as the file's \uXXXX escapes. The text found decides how new_string
// is then rewritten, so that an edit does not mix two ways of writing.

// A match is the text of the file that an old_string stands for, and the
// new_string that goes in its place.
type match struct {
	at    int // of the first occurrence of found, a byte offset
	found string
	put   string
	fuzzy string // how it was found when not as it stands; for people
}

// findMatch finds old in content; ok is false when it is not there in any way.
func findMatch(content, old, put string) (m match, ok bool) {
	if at := strings.Index(content, old); at >= 0 {
		return match{at: at, found: old, put: put}, true
	}
	if at, found, ok := findQuotes(content, old); ok {
		return match{at: at, found: found, put: curl(found, put), fuzzy: "it differs in its quotation marks"}, true
	}
	if hasEscape(old) {
		found := unescape(old)
		if at := strings.Index(content, found); at >= 0 && found != old && utf8.ValidString(found) {
			return match{at: at, found: found, put: unescape(curl(found, put)), fuzzy: `it has \u escapes where the file has characters`}, true
		}
	}
	if !isASCII(old) && strings.Contains(content, `\u`) {
		if at, found, ok := findEscaped(content, old); ok {
			return match{at: at, found: found, put: escapeLike(old, found, put), fuzzy: `the file has \u escapes where it has characters`}, true
		}
	}
	return match{}, false
}

const (
	openSingle, closeSingle = '\u2018', '\u2019'
	openDouble, closeDouble = '\u201C', '\u201D'
)

var straighten = strings.NewReplacer(
	string(openSingle), "'", string(closeSingle), "'",
	string(openDouble), `"`, string(closeDouble), `"`)

// findQuotes looks for old with all quotation marks straight on both sides, and
// gives back the file's own text there.
func findQuotes(content, old string) (int, string, bool) {
	straight := straighten.Replace(content)
	at := strings.Index(straight, straighten.Replace(old))
	if at < 0 {
		return 0, "", false
	}
	// One character of content is one of straight: count them.
	from := skipRunes(content, utf8.RuneCountInString(straight[:at]))
	return from, content[from : from+skipRunes(content[from:], utf8.RuneCountInString(old))], true
}

// skipRunes is the byte offset of the n-th character.
func skipRunes(s string, n int) int {
	at := 0
	for ; n > 0; n-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

// curl makes the straight quotation marks of put typographic, for each kind
// that the text found has in typographic form.
func curl(found, put string) string {
	if strings.ContainsRune(found, openDouble) || strings.ContainsRune(found, closeDouble) {
		put = curlKind(put, '"', openDouble, closeDouble, false)
	}
	if strings.ContainsRune(found, openSingle) || strings.ContainsRune(found, closeSingle) {
		put = curlKind(put, '\'', openSingle, closeSingle, true)
	}
	return put
}

// curlKind turns each straight mark into the opening or closing one. It opens
// at the start and after a blank, an opening bracket or a dash; between two
// letters a single mark is an apostrophe, which is the closing one.
func curlKind(s string, straight, opening, closing rune, apostrophes bool) string {
	if !strings.ContainsRune(s, straight) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	prev := rune(-1)
	for i, r := range s {
		if r != straight {
			b.WriteRune(r)
			prev = r
			continue
		}
		mark := closing
		if prev < 0 || strings.ContainsRune(" \t\n\r([{\u2014\u2013", prev) {
			mark = opening
		}
		if apostrophes && prev >= 0 && unicode.IsLetter(prev) {
			if next, size := utf8.DecodeRuneInString(s[i+1:]); size > 0 && unicode.IsLetter(next) {
				mark = closing
			}
		}
		b.WriteRune(mark)
		prev = r // the rule looks at the text before any mark was turned
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hex4 reads four hexadecimal digits.
func hex4(s string) (uint16, bool) {
	if len(s) < 4 {
		return 0, false
	}
	var v uint16
	for i := 0; i < 4; i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		v = v<<4 | uint16(c)
	}
	return v, true
}

// hasEscape tells whether a \uXXXX occurs, whatever stands before it.
func hasEscape(s string) bool {
	for {
		i := strings.Index(s, `\u`)
		if i < 0 {
			return false
		}
		s = s[i+2:]
		if _, ok := hex4(s); ok {
			return true
		}
	}
}

// unescape turns \uXXXX into characters; a backslash that another one escapes
// begins nothing. Half a surrogate pair comes out as invalid UTF-8, which no
// file that is previewed contains.
func unescape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			b.WriteByte(s[i])
			i++
			continue
		}
		if strings.HasPrefix(s[i:], `\\`) {
			b.WriteString(`\\`)
			i += 2
			continue
		}
		v, ok := uint16(0), false
		if strings.HasPrefix(s[i:], `\u`) {
			v, ok = hex4(s[i+2:])
		}
		if !ok {
			b.WriteByte('\\')
			i++
			continue
		}
		i += 6
		r := rune(v)
		if v >= 0xD800 && v < 0xDC00 && strings.HasPrefix(s[i:], `\u`) {
			if lo, ok := hex4(s[i+2:]); ok && lo >= 0xDC00 && lo < 0xE000 {
				r = (r-0xD800)<<10 + (rune(lo) - 0xDC00) + 0x10000
				i += 6
			}
		}
		if r >= 0xD800 && r < 0xE000 {
			b.WriteByte(0xED) // never valid
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// escapedUnits calls do for each UTF-16 unit of s, as a JSON escape needs them.
func escapedUnits(s string, do func(u uint16)) {
	for _, r := range s {
		if r > 0xFFFF {
			r -= 0x10000
			do(uint16(0xD800 + r>>10))
			do(uint16(0xDC00 + r&0x3FF))
			continue
		}
		do(uint16(r))
	}
}

// findEscaped looks for old with each of its characters beyond ASCII written as
// a \uXXXX escape, in either case of the digits. An escape counts only where an
// even number of backslashes stands before it, else it is no escape.
func findEscaped(content, old string) (int, string, bool) {
	if (len(old)-len(strings.TrimRight(old, `\`)))%2 == 1 {
		return 0, "", false
	}
	e := escapedSearch{content: content, steps: maxSteps}
	escapedUnits(old, func(u uint16) { e.units = append(e.units, u) })
	for at := 0; at < len(content) && e.steps > 0; at++ {
		end, ok := e.match(at)
		if !ok {
			continue
		}
		found := content[at:end]
		return at, found, strings.Index(content, found) == at
	}
	return 0, "", false
}

// An escapedSearch compares UTF-16 units with a content in which those beyond
// ASCII are escapes.
type escapedSearch struct {
	content string
	units   []uint16
	steps   int // left: made-up texts could keep this search busy for hours
}

// maxSteps is far more than any text takes that was not made up for it.
const maxSteps = 1 << 27

// match compares at an offset; end is where the match ends.
func (e *escapedSearch) match(at int) (end int, ok bool) {
	e.steps--
	if e.units[0] == '\\' && e.backslashesBefore(at)%2 == 1 {
		return 0, false
	}
	for _, u := range e.units {
		e.steps--
		if u < utf8.RuneSelf {
			if at >= len(e.content) || e.content[at] != byte(u) {
				return 0, false
			}
			at++
			continue
		}
		if !strings.HasPrefix(e.content[at:], `\u`) {
			return 0, false
		}
		if v, ok := hex4(e.content[at+2:]); !ok || v != u || e.backslashesBefore(at)%2 == 1 {
			return 0, false
		}
		at += 6
	}
	return at, true
}

func (e *escapedSearch) backslashesBefore(at int) int {
	n := 0
	for at-1-n >= 0 && e.content[at-1-n] == '\\' {
		n++
	}
	e.steps -= n
	return n
}

// escapeLike writes put's characters beyond ASCII as escapes: those of old with
// the very digits that the file has for them, others with capital digits where
// the file prefers them.
func escapeLike(old, found, put string) string {
	digits := map[uint16]string{}
	upper, lower, at := 0, 0, 0
	escapedUnits(old, func(u uint16) {
		if u < utf8.RuneSelf {
			at++
			return
		}
		d := found[at+2 : at+6]
		digits[u] = d
		for i := range d {
			switch c := d[i]; {
			case c >= 'a' && c <= 'f':
				lower++
			case c >= 'A' && c <= 'F':
				upper++
			}
		}
		at += 6
	})
	set := "0123456789abcdef"
	if upper > lower {
		set = "0123456789ABCDEF"
	}
	b := make([]byte, 0, len(put)+16)
	escapedUnits(put, func(u uint16) {
		if u < utf8.RuneSelf {
			b = append(b, byte(u))
			return
		}
		b = append(b, '\\', 'u')
		if d, ok := digits[u]; ok {
			b = append(b, d...)
			return
		}
		b = append(b, set[u>>12], set[u>>8&15], set[u>>4&15], set[u&15])
	})
	return string(b)
}
