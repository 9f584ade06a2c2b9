package approvals

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// This file finds what a text holds that a person does not see: what is shown
// must not hide part of what would run.

// hidden names a character that does not show, or shows as another; "" for
// every other character. Tabs and newlines are text.
func hidden(r rune) string {
	switch {
	case r == '\n' || r == '\t':
		return ""
	case r == '\r':
		return "carriage return"
	case r == 0x1b:
		return "escape character"
	case r < ' ' || r == 0x7f:
		return "control character"
	case r < 0xa0 && r >= 0x80:
		return "control character"
	case r < 0x100 && r != 0xa0 && r != 0xad:
		return ""
	case r == 0xa0 || r == 0x202f || r == 0x2007:
		return "no-break space"
	case r == 0xad:
		return "soft hyphen"
	case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c:
		return "bidirectional " + bidi(r)
	case r >= 0x200b && r <= 0x200d || r == 0x2060 || r == 0xfeff || r == 0x180e:
		return "zero-width character"
	case r >= 0x2061 && r <= 0x2065 || r >= 0x206a && r <= 0x206f:
		return "invisible operator"
	case r >= 0x2000 && r <= 0x200a || r == 0x205f || r == 0x3000 || r == 0x1680:
		return "unusual space"
	case r == 0x2028 || r == 0x2029:
		return "line separator"
	case r == 0x2800 || r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x034f || r == 0x17b4 || r == 0x17b5:
		return "blank filler"
	case r >= 0xe0000 && r <= 0xe0fff:
		return "tag or variation character"
	case r >= 0xfff9 && r <= 0xfffb:
		return "annotation character"
	}
	return ""
}

func bidi(r rune) string {
	switch r {
	case 0x202d:
		return "left-to-right override"
	case 0x202e:
		return "right-to-left override"
	case 0x202a, 0x202b:
		return "embedding"
	case 0x2066, 0x2067, 0x2068:
		return "isolate"
	}
	return "mark"
}

// Thresholds of padding, in characters and lines.
const (
	padInside = 40  // blanks inside a line, with text on both sides
	padBefore = 120 // blanks before the first text of a line
	padLines  = 12  // empty lines with text after them
	padLong   = 2000
)

// sameLines is how much of two texts is the same from their beginning, in
// whole lines.
func sameLines(a, b string) int {
	n := 0
	for n+chunk <= len(a) && n+chunk <= len(b) && a[n:n+chunk] == b[n:n+chunk] {
		n += chunk
	}
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return strings.LastIndexByte(a[:n], '\n') + 1
}

// sameEnd is how much of two texts is the same at their end, in whole lines.
func sameEnd(a, b string) int {
	n := 0
	for n+chunk <= len(a) && n+chunk <= len(b) && a[len(a)-n-chunk:len(a)-n] == b[len(b)-n-chunk:len(b)-n] {
		n += chunk
	}
	for n < len(a) && n < len(b) && a[len(a)-n-1] == b[len(b)-n-1] {
		n++
	}
	if i := strings.IndexByte(a[len(a)-n:], '\n'); i >= 0 {
		return n - i - 1
	}
	return 0
}

const chunk = 1 << 10

type finder struct {
	original string
	found    []HiddenPlace
	more     int
}

// add takes a finding, unless the line it is in was there before.
func (f *finder) add(l string, p HiddenPlace) {
	if l != "" && f.original != "" && strings.Contains(f.original, l) {
		return
	}
	if len(f.found) == maxPlaces {
		f.more++
		return
	}
	f.found = append(f.found, p)
}

// line looks at one line without its end. Plain lines, nearly all, cost one
// pass over their bytes.
// It begins at byte from of the text.
func (f *finder) line(l string, line, from int, escaped bool) {
	plain, blanks, longest := true, 0, 0
	for i := range len(l) {
		c := l[i]
		if c == ' ' || c == '\t' {
			blanks++
			continue
		}
		longest = max(longest, blanks)
		blanks = 0
		if c < ' ' || c >= 0x7f || c == '\\' && escaped {
			plain = false
		}
	}
	if longest >= padInside {
		f.padding(l, line, from)
	}
	if len(l) >= padLong {
		if n := utf8.RuneCountInString(l); n >= padLong {
			f.add(l, HiddenPlace{Line: line, Offset: from, Length: len(l), Words: fmt.Sprintf("is %d characters long: look at its end too", n)})
		}
	}
	if plain {
		return
	}
	column, before := 0, rune(0)
	for i, r := range l {
		column++
		last := before
		before = r
		place := HiddenPlace{Line: line, Column: column, Offset: from + i, Length: utf8.RuneLen(r), Rune: r}
		if r == utf8.RuneError && !strings.HasPrefix(l[i:], "\xef\xbf\xbd") {
			place.Length, place.Rune, place.Words = 1, 0, "a byte that is no UTF-8"
			f.add(l, place)
			continue
		}
		if what := hidden(r); what != "" && !(r == 0x200d && pictures(last, l[i+3:])) {
			place.Words = fmt.Sprintf("%s (U+%04X)", what, r)
			f.add(l, place)
			continue
		}
		if r >= 0xfe00 && r <= 0xfe0f && !picture(last) {
			place.Words = fmt.Sprintf("variation selector (U+%04X)", r)
			f.add(l, place)
			continue
		}
		if escaped && r == '\\' {
			if e, what := hiddenEscape(l, i); what != "" {
				place.Length, place.Rune, place.Words = len(`\u0000`), e, fmt.Sprintf("%s (U+%04X)", what, e)
				if e > 0xffff {
					place.Length *= 2
				}
				f.add(l, place)
			}
		}
	}
}

// pictures: a zero-width joiner between two pictures makes one emoji of them.
func pictures(last rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return (picture(last) || last == 0xfe0f || unicode.Is(unicode.Sk, last)) && picture(next)
}

// picture: a symbol that a variation selector can follow.
func picture(r rune) bool {
	return r == '#' || r == '*' || r >= '0' && r <= '9' || r > 0xff && (unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r)) || r == 0xa9 || r == 0xae
}

// padding says where a long run of blanks moves text out of sight.
func (f *finder) padding(l string, line, from int) {
	column, blanks, seen := 0, 0, false
	for i, r := range l {
		column++
		if r == ' ' || r == '\t' {
			blanks++
			continue
		}
		if seen && blanks >= padInside || blanks >= padBefore {
			_, size := utf8.DecodeRuneInString(l[i:]) // a byte that is no UTF-8 is one
			f.add(l, HiddenPlace{Line: line, Column: column, Offset: from + i, Length: size, Words: fmt.Sprintf("text after %d blanks", blanks)})
		}
		blanks, seen = 0, true
	}
}

// hiddenEscape looks at the JSON escape that begins at l[i]: \u202e and the
// like. A \\ before it makes it text.
func hiddenEscape(l string, i int) (rune, string) {
	slashes := 0
	for j := i - 1; j >= 0 && l[j] == '\\'; j-- {
		slashes++
	}
	if slashes%2 == 1 || i+6 > len(l) || l[i+1] != 'u' {
		return 0, ""
	}
	r, ok := hex4(l[i+2:])
	if !ok {
		return 0, ""
	}
	if utf16.IsSurrogate(rune(r)) {
		if low, ok := escapeAt(l, i+6); ok && r < 0xdc00 && low >= 0xdc00 && low < 0xe000 {
			whole := utf16.DecodeRune(rune(r), rune(low))
			return whole, hidden(whole)
		}
		if high, ok := escapeAt(l, i-6); ok && r >= 0xdc00 && high >= 0xd800 && high < 0xdc00 {
			return 0, "" // told at its first half
		}
		return rune(r), "half a character"
	}
	return rune(r), hidden(rune(r))
}

// escapeAt is the \u escape at l[i], if there is one.
func escapeAt(l string, i int) (uint16, bool) {
	if i < 0 || i+6 > len(l) || l[i] != '\\' || l[i+1] != 'u' {
		return 0, false
	}
	return hex4(l[i+2:])
}
