package diff

import (
	"strconv"
	"strings"
)

// A Style says how a unified diff is rendered.
type Style struct {
	Context int // unchanged lines around a change
	Cap     int // most lines after the two that name the files; 0: no cap
}

// Short is the style for people: enough to see what changes, never so much that
// it floods a message.
var Short = Style{Context: 3, Cap: 400}

// Patch is the style that patch and git apply accept: it leaves nothing out.
var Patch = Style{Context: 3}

// Unified renders the change from a to b in the style Short. It is empty when
// the texts are equal.
func Unified(oldName, newName, a, b string) string {
	return Short.Unified(oldName, newName, a, b)
}

// Unified renders the change from a to b, or "" when the texts are equal. Lines
// keep their bytes. Names that would break the format are quoted as git does.
// With a cap, a last line says how many lines are left out.
func (s Style) Unified(oldName, newName, a, b string) string {
	if a == b {
		return ""
	}
	context := clamped(s.Context)
	t, edits := compare(a, b)
	if !t.shows(edits, context) {
		t = whole(a, b)
	}
	hunks := t.group(edits, context)
	total := 0
	for _, h := range hunks {
		total += 1 + h.size() + t.unended(h)
	}
	left := total
	if s.Cap > 0 {
		left = min(total, s.Cap)
	}
	omitted := total - left

	var out strings.Builder
	out.WriteString("--- " + fileName(oldName) + "\n+++ " + fileName(newName) + "\n")
	write := func(parts ...string) bool {
		if left == 0 {
			return false
		}
		left--
		for _, p := range parts {
			out.WriteString(p)
		}
		return true
	}
	for _, h := range hunks {
		if !write(h.Header(), "\n") {
			break
		}
		t.walk(h, func(op Op, line string) bool {
			if strings.HasSuffix(line, "\n") {
				return write(string(op), line)
			}
			return write(string(op), line, "\n") && write(noNewline)
		})
	}
	if omitted > 0 {
		out.WriteString("... " + strconv.Itoa(omitted) + " more line" + plural(omitted) + " left out\n")
	}
	return out.String()
}

// noNewline follows a last line that has no '\n'.
const noNewline = "\\ No newline at end of file\n"

// unended is how many lines of the hunk have no '\n'.
func (t texts) unended(h Hunk) int {
	n := 0
	inA, inB := t.reachesEnd(h)
	if inA && !strings.HasSuffix(t.a, "\n") {
		n++
	}
	if inB && !strings.HasSuffix(t.b, "\n") {
		n++
	}
	if n == 2 && h.Edits[len(h.Edits)-1].A1 < h.A1 {
		n = 1 // both texts end with the same, unchanged line
	}
	return n
}

// reachesEnd tells whether the hunk shows the last line of a and of b.
func (t texts) reachesEnd(h Hunk) (inA, inB bool) {
	endB := t.off + len(t.startB) - 1
	return h.A0 < h.A1 && h.A1 == t.endA(), h.B0 < h.B1 && h.B1 == endB
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// fileName writes a name as git does: quoted if it has characters that would
// end or change the line, and followed by a tab if it has spaces, so that
// readers which look for a time stamp do not take a part of it for one.
func fileName(name string) string {
	plain := true
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == 0x7f || c == '"' || c == '\\' {
			plain = false
		}
	}
	if plain {
		if strings.Contains(name, " ") {
			return name + "\t"
		}
		return name
	}
	const escapes = "\aa\bb\tt\nn\vv\ff\rr\"\"\\\\"
	quoted := []byte{'"'}
	for i := range len(name) {
		c := name[i]
		if c >= ' ' && c != 0x7f && c != '"' && c != '\\' {
			quoted = append(quoted, c)
			continue
		}
		quoted = append(quoted, '\\')
		if e := strings.IndexByte(escapes, c); e >= 0 && e%2 == 0 {
			quoted = append(quoted, escapes[e+1])
		} else {
			quoted = append(quoted, '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		}
	}
	return string(append(quoted, '"'))
}
