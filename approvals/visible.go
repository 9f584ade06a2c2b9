package approvals

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible writes out what would be shown as nothing, would rearrange what is
// shown or would steer a terminal: control, format (bidirectional, zero-width),
// private-use and other invisible characters become their code in angle
// brackets, <U+202E>, and bytes that are no UTF-8 their value, <FF>. Newlines
// and tabs stay. Everything that an agent wrote goes through it before a person
// reads it in a message, a title or a terminal.
func Visible(text string) string {
	if strings.IndexFunc(text, Invisible) < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, "<%02X>", text[i])
		case Invisible(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Invisible tells whether Visible writes a character out.
func Invisible(r rune) bool {
	if r == '\n' || r == '\t' {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// InLine makes one line of text for a person: what would not be seen, or would
// be seen in another place than it has, is written out, a newline as ⏎.
func InLine(s string) string {
	clean := true
	for _, r := range s {
		if r == utf8.RuneError || r == '\n' || r == '\t' || hidden(r) != "" {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("⏎")
		case r == '\t':
			b.WriteByte(' ')
		case r == utf8.RuneError:
			b.WriteString("�")
		case hidden(r) != "":
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
