package approvals

import "testing"

func TestTakeBackNewline(t *testing.T) {
	for _, c := range []struct{ proposed, saved, want string }{
		{"a\nb", "a\nb\n", "a\nb"},         // the editor's
		{"a\r\nb", "a\r\nb\r\n", "a\r\nb"}, // the same with CRLF
		{"a\nb", "x\nb\n", "x\nb"},         // an amendment elsewhere
		{"a\nb", "a\nc\n", "a\nc\n"},       // the last line is the person's
		{"a\nb", "a\nb\nc\n", "a\nb\nc\n"}, // a line was added
		{"a\nb", "a\nb\n\n", "a\nb\n\n"},   // two newlines are not an editor's
		{"a\nb", "a\nb", "a\nb"},           // nothing was added
		{"a\nb\n", "a\nb\n", "a\nb\n"},     // the proposal had one
		{"a\nb\n", "a\nb", "a\nb"},         // taken away by hand
		{"a\nb\n", "a\nb\n\n", "a\nb\n\n"}, // one more by hand
		{"", "\n", ""},                     // an empty proposal
		{"", "a\n", "a\n"},                 // filled by hand
		{"a\nb", "", ""},                   // emptied
		{"a\nb", "b\n", "b"},               // a line deleted above
		{"one line", "one line\n", "one line"},
	} {
		if got := TakeBackNewline(c.proposed, c.saved); got != c.want {
			t.Errorf("proposed %q, saved %q: %q, want %q", c.proposed, c.saved, got, c.want)
		}
	}
}
