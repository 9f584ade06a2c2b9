package lsp

import (
	"testing"

	"countersign/session/hub"
	"countersign/staging"
)

// Some editors keep line ends and the byte order mark apart from the text that
// they report: an allow by command puts them back, and invents none.
func TestAllowedTextKeepsTheFormOfTheFile(t *testing.T) {
	const bom = "\uFEFF"
	none := "none" // what the file has counts
	for _, c := range []struct{ name, file, editor, want string }{
		{"the same", "a\nb\n", "a\nb\n", none},
		{"but for the last newline", "a\nb\n", "a\nb", none},
		{"changed", "a\nb\n", "a\nc\n", "a\nc\n"},
		{"CRLF kept apart", "a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"},
		{"CRLF reported", "a\r\nb\r\n", "a\r\nc\r\n", "a\r\nc\r\n"},
		{"mixed line ends", "a\r\nb\n", "a\nc\n", "a\nc\n"},
		{"a mark kept apart", bom + "a\n", "b\n", bom + "b\n"},
		{"a mark reported", bom + "a\n", bom + "b\n", bom + "b\n"},
		{"both kept apart", bom + "a\r\n", "b\n", bom + "b\r\n"},
		{"neither in the file", "a\n", "b\n", "b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, err := staging.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			st, err := store.Stage(staging.NewID("req-00000001"), "a.txt", c.file)
			if err != nil {
				t.Fatal(err)
			}
			settings, _ := ParseSettings()
			got := unlikeFile(&card{Approval: hub.Approval{Staged: &st}}, c.editor, settings)
			if c.want == none && got != nil || c.want != none && (got == nil || *got != c.want) {
				t.Errorf("got %v, want %q", got, c.want)
			}
		})
	}
}
