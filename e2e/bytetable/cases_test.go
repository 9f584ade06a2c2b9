package bytetable

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A tableCase is one file and one change of it.
type tableCase struct {
	name  string
	base  string // the file's name; a.txt when empty
	file  []byte // nil: missing
	tool  string
	input map[string]any // without the path
	amend string         // the person's text
	lands string         // what that makes on disk where the agent cannot write it as it is; empty: the same

	refused bool // the agent does not even ask, and there is no proposal either
}

func edit(old, put string) map[string]any {
	return map[string]any{"old_string": old, "new_string": put}
}

func all(old, put string) map[string]any {
	return map[string]any{"old_string": old, "new_string": put, "replace_all": true}
}

func write(content string) map[string]any { return map[string]any{"content": content} }

func utf16le(s string) []byte {
	out := []byte{0xFF, 0xFE}
	for _, u := range utf16.Encode([]rune(s)) {
		out = binary.LittleEndian.AppendUint16(out, u)
	}
	return out
}

// decoded is a file's text as a person would see it: UTF-8, no byte order mark.
func decoded(data []byte) string {
	if !bytes.HasPrefix(data, []byte{0xFF, 0xFE}) {
		return strings.TrimPrefix(string(data), "\uFEFF")
	}
	var u []uint16
	for i := 2; i+1 < len(data); i += 2 {
		u = append(u, binary.LittleEndian.Uint16(data[i:]))
	}
	return string(utf16.Decode(u))
}

func lines(n int, end string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("line ")
		b.WriteString(strings.Repeat("x", i%60))
		b.WriteString(" number " + string(rune('a'+i%26)))
		b.WriteString(end)
	}
	return b.String()
}

var (
	big450k  = lines(9500, "\n") + "the needle\n"
	big1500k = lines(15800, "\r\n") + lines(15800, "\r\n") + "the needle\r\n"
)

var (
	text  = []byte("one\ntwo\nthree\n")
	crlf  = []byte("one\r\ntwo\r\nthree\r\n")
	curly = []byte("say “hello” it’s\nplain \"x\"\n")
)

// cases is the table.
var cases = []tableCase{
	{name: "plain", file: text, tool: "Edit", input: edit("two", "TWO"), amend: "one\nzwei\nthree\n"},
	{name: "emptied by the person", file: text, tool: "Edit", input: edit("two", "TWO"), amend: ""},
	{name: "no final newline", file: []byte("one\ntwo"), tool: "Edit", input: edit("two", "TWO"), amend: "one\nzwei"},
	{name: "final newline taken by the person", file: text, tool: "Edit", input: edit("two", "TWO"), amend: "one\nTWO\nthree"},
	{name: "emptied, no final newline", file: []byte("one\ntwo"), tool: "Edit", input: edit("two", "TWO"), amend: ""},
	{name: "dollar patterns", file: text, tool: "Edit", input: edit("two", "$& $1 $$ $` $'"), amend: "$& $1 $$ $` $' \\n \\\\ \n"},
	{name: "replace all", file: []byte("two x two\ntwo"), tool: "Edit", input: all("two", "2"), amend: "2 x\n"},
	{name: "overlapping", file: []byte("aaa\n"), tool: "Edit", input: edit("aa", "b"), amend: "ab\n"},

	{name: "CRLF", file: crlf, tool: "Edit", input: edit("two", "TWO\nmore"), amend: "one\r\nzwei\r\n"},
	{name: "CRLF, CRLF in new", file: crlf, tool: "Edit", input: edit("two", "TWO\r\nmore"), amend: "one\r\nzwei\r\n"},
	{name: "CRLF, LF typed", file: crlf, tool: "Edit", input: edit("two", "TWO"), amend: "one\nzwei\r\n", lands: "one\r\nzwei\r\n"},
	{name: "CRLF, no final newline", file: []byte("one\r\ntwo"), tool: "Edit", input: edit("two", "TWO"), amend: "one\r\nzwei"},
	{name: "CRLF deleted line", file: crlf, tool: "Edit", input: edit("two", ""), amend: ""},
	{name: "LF, CRLF in new", file: text, tool: "Edit", input: edit("two", "TWO\r\nmore"), amend: "one\r\nzwei\r\n"},
	{name: "mixed, LF wins", file: []byte("one\r\ntwo\nthree\n"), tool: "Edit", input: edit("two", "TWO"), amend: "one\nzwei\r\n"},
	{name: "mixed, CRLF wins", file: []byte("one\r\ntwo\r\nthree\n"), tool: "Edit", input: edit("two", "TWO"), amend: "one\r\nzwei\r\n"},
	{name: "mixed, tie", file: []byte("one\r\ntwo\n"), tool: "Edit", input: edit("two", "TWO"), amend: "one\nzwei\n"},
	{name: "CRLF only after 4096", file: []byte(strings.Repeat("x", 4096) + "\r\ntwo\r\n"), tool: "Edit", input: edit("two", "TWO"), amend: "x\r\ny\n"},
	{name: "CRLF cut at 4096", file: []byte(strings.Repeat("x", 4095) + "\r\ntwo\r\n"), tool: "Edit", input: edit("two", "TWO"), amend: "x\n"},
	{name: "CRLF just before 4096", file: []byte(strings.Repeat("x", 4094) + "\r\ntwo\ntwo\n"), tool: "Edit", input: all("two", "TWO"), amend: "x\r\n"},
	{name: "window counts UTF-16 units", file: []byte(strings.Repeat("𝄞", 2048) + "\r\ntwo\r\n"), tool: "Edit", input: edit("two", "TWO"), amend: "x\n"},
	{name: "window counts the byte order mark", file: []byte("\uFEFF" + strings.Repeat("é", 4094) + "\r\ntwo\r\n"), tool: "Edit", input: edit("two", "TWO"), amend: "x\n"},
	{name: "LF late in a CRLF file", file: []byte("a\r\n" + strings.Repeat("x", 4096) + "\n\n\n\ntwo\n"), tool: "Edit", input: edit("two", "TWO"), amend: "x\r\n"},
	{name: "lone CR", file: []byte("one\rtwo\rthree\n"), tool: "Edit", input: edit("two", "TWO"), amend: "one\rzwei\r"},
	{name: "only lone CR", file: []byte("one\rtwo\rthree\r"), tool: "Edit", input: edit("two", "TWO"), amend: "one\rzwei\r"},
	{name: "CR CR LF", file: []byte("a\r\r\nb\r\nc\r\n"), tool: "Edit", input: edit("c", "C"), amend: "a\r\nb\r\n"},
	{name: "CR CR LF, LF wins", file: []byte("a\r\r\nb\nc\n\n"), tool: "Edit", input: edit("c", "C"), amend: "a\r\r\nb\n"},
	{name: "CR CR LF kept, typed into CRLF", file: crlf, tool: "Edit", input: edit("two", "TWO"), amend: "a\r\r\nb\r\n", lands: "a\r\nb\r\n"},

	{name: "byte order mark", file: []byte("\uFEFFone\ntwo\n"), tool: "Edit", input: edit("one", "ONE"), amend: "zwei\n"},
	{name: "byte order mark, CRLF", file: []byte("\uFEFFone\r\ntwo\r\n"), tool: "Edit", input: edit("one", "ONE"), amend: "zwei\r\n"},
	{name: "byte order mark in new", file: []byte("\uFEFFone\ntwo\n"), tool: "Edit", input: edit("one", "\uFEFFONE"), amend: "zwei\n"},
	{name: "byte order mark emptied", file: []byte("\uFEFFone\n"), tool: "Edit", input: edit("one", "ONE"), amend: ""},
	{name: "byte order mark only", file: []byte("\uFEFF"), tool: "Edit", input: edit("", "new\n"), amend: "zwei\n"},
	{name: "byte order mark and blanks", file: []byte("\uFEFF \n"), tool: "Edit", input: edit("", "new\n"), amend: "zwei\n"},
	{name: "UTF-16LE", file: utf16le("one\ntwo 𝄞 é\n"), tool: "Edit", input: edit("two", "zwö"), amend: "drei 𝄞 ü\n"},
	{name: "UTF-16LE, CRLF", file: utf16le("one\r\ntwo\r\n"), tool: "Edit", input: edit("two", "zwö\nx"), amend: "drei\r\n"},
	{name: "UTF-16LE, emptied", file: utf16le("one\n"), tool: "Edit", input: edit("one", "1"), amend: ""},
	{name: "UTF-16LE, Write", file: utf16le("one\r\n"), tool: "Write", input: write("zwö\n"), amend: "drei\r\n"},

	{name: "empty file", file: []byte{}, tool: "Edit", input: edit("", "new\n"), amend: "zwei"},
	{name: "missing file", tool: "Edit", input: edit("", "new\n"), amend: "zwei\n"},
	{name: "missing file, emptied", tool: "Edit", input: edit("", "new\n"), amend: ""},
	{name: "missing file, CRLF", tool: "Edit", input: edit("", "new\r\n"), amend: "zwei\r\n"},
	{name: "white space only", file: []byte(" \n\t\n"), tool: "Edit", input: edit("", "new\n"), amend: "zwei\n"},
	{name: "white space only, CRLF", file: []byte(" \r\n\r\n"), tool: "Edit", input: edit("", "new\nx\n"), amend: "zwei\r\n"},
	{name: "white space only, emptied", file: []byte(" \n\n"), tool: "Edit", input: edit("", "new\n"), amend: ""},
	{name: "newlines only, edited", file: []byte("\n\n"), tool: "Edit", input: edit("\n\n", "x\n"), amend: "zwei\n"},
	{name: "no-break spaces only", file: []byte("\u00a0\u3000\n"), tool: "Edit", input: edit("", "new\n"), amend: "zwei\n"},

	{name: "delete rule", file: text, tool: "Edit", input: edit("two", ""), amend: "one\n\nthree\n"},
	{name: "delete with newline", file: text, tool: "Edit", input: edit("two\n", ""), amend: "one\n"},
	{name: "delete a line's end", file: []byte("one two\nthree\n"), tool: "Edit", input: edit(" two", ""), amend: "one\nthree\n"},
	{name: "delete in mid-line", file: []byte("one two three\n"), tool: "Edit", input: edit(" two", ""), amend: "one\n"},
	{name: "delete at the end", file: []byte("one\ntwo"), tool: "Edit", input: edit("two", ""), amend: "one"},
	{name: "delete all", file: []byte("x\na x b\nx\n"), tool: "Edit", input: all("x", ""), amend: "a\n"},
	{name: "delete all, none at line ends", file: []byte("x, x, x."), tool: "Edit", input: all("x", ""), amend: "a\n"},
	{name: "delete everything", file: text, tool: "Edit", input: edit("one\ntwo\nthree\n", ""), amend: "x\n"},

	{name: "curly in the file", file: curly, tool: "Edit", input: edit(`say "hello" it's`, `say "bye" it's ("x") 'y' "z"—"w" x"y 'tis rock 'n' roll`), amend: "straight \"x\" 'y'\n"},
	{name: "double curly only", file: []byte("“a” 'b'\n"), tool: "Edit", input: edit(`"a" 'b'`, `"c" 'd' {"e"} ['f'] –"g"`), amend: "“x” \"y\"\n"},
	{name: "single curly only", file: []byte("‘a’ \"b\"\n"), tool: "Edit", input: edit(`'a' "b"`, `'c' "d" don't ''`), amend: "‘x’\n"},
	{name: "curly, double and single together", file: []byte("‘a’ “b”\n"), tool: "Edit", input: edit(`'a' "b"`, `"'c'" '"d"' ("'e'")`), amend: "x\n"},
	{name: "apostrophes by letters", file: []byte("it’s\n"), tool: "Edit", input: edit(`it's`, `é'é 1'1 _'_ x' 'x ж'ж`), amend: "x\n"},
	{name: "curly in old", file: []byte("say \"hello\"\n"), tool: "Edit", input: edit("say “hello”", "say “bye”"), amend: "x\n"},
	{name: "curly after wide characters", file: []byte("𝄞é “x” ö\n"), tool: "Edit", input: edit(`"x" ö`, `"y"`), amend: "x\n"},
	{name: "curly with a tab and newline before", file: []byte("“x”\n\tend\n"), tool: "Edit", input: edit("\"x\"\n\tend", "\"y\"\n\t\"z\"\n\"w\""), amend: "x\n"},
	{name: "curly deleted", file: []byte("“x”\nend\n"), tool: "Edit", input: edit(`"x"`, ""), amend: "x\n"},
	{name: "escapes in old", file: []byte("let s = 'ä𝄞'\n"), tool: "Edit", input: edit(`'\u00e4\ud834\udd1e'`, `'\u00f6\\u0041'`), amend: `\u00e4` + "\n"},
	{name: "escapes in the file", file: []byte(`let s = "\u00E4\u00FC"` + "\n"), tool: "Edit", input: edit("äü", "üöÄ𝄞"), amend: "ä\n"},
	{name: "escapes in the file, small digits", file: []byte(`let s = "\u00e4"` + "\n"), tool: "Edit", input: edit("ä", "öü"), amend: "ä\n"},
	{name: "escaped backslash in the file", file: []byte(`"\\u00e4 \u00e4"` + "\n"), tool: "Edit", input: edit("ä", "ö"), refused: true},
	{name: "escaped backslash before", file: []byte(`"\\\\\u00e4"` + "\n"), tool: "Edit", input: edit(`\ä`, `\ö`), refused: true},
	{name: "not unique", file: []byte("two two\n"), tool: "Edit", input: edit("two", "2"), refused: true},
	{name: "not there", file: text, tool: "Edit", input: edit("four", "4"), refused: true},
	{name: "empty old on a text", file: text, tool: "Edit", input: edit("", "4"), refused: true},
	{name: "next line alone is no white space", file: []byte("\u0085"), tool: "Edit", input: edit("", "4"), refused: true},
	{name: "latin-1", file: []byte("one caf\xe9\n"), tool: "Edit", input: edit("one", "1"), refused: true},
	{name: "NUL", file: []byte("one\x00\n"), tool: "Edit", input: edit("one", "1"), refused: true},
	{name: "UTF-16BE", file: []byte("\xfe\xff\x00o"), tool: "Edit", input: edit("o", "1"), refused: true},

	{name: "tabs", file: []byte("\tif x {\n\t\ty()\n\t}\n"), tool: "Edit", input: edit("\t\ty()", "\t\tz()"), amend: "\tif x {\n\t\t\tz()\n  \t}\n"},
	{name: "trailing blanks in new", file: text, tool: "Edit", input: edit("two", "TWO  \nmore\t\nend "), amend: "one  \nTWO\t\n  \n"},
	{name: "trailing blanks in the file", file: []byte("one  \ntwo\t\n"), tool: "Edit", input: edit("one  \ntwo", "1"), amend: "one  \n \n"},
	{name: "Markdown hard breaks", base: "a.md", file: []byte("one  \ntwo\n"), tool: "Edit", input: edit("two", "TWO  \nmore"), amend: "one  \nTWO  \n"},
	{name: "Markdown Write", base: "a.md", tool: "Write", input: write("one  \ntwo \t\n"), amend: "one  \n"},
	{name: "control characters", file: []byte("a\x01\x1b[31mb\x7f\u2028\u2029\u0085c\n"), tool: "Edit", input: edit("c", "C\x02"), amend: "a\x01\x1b\x7f\u2028\u2029\u0085\u202e\n"},

	{name: "450 KB", file: []byte(big450k), tool: "Edit", input: edit("the needle", "found"), amend: strings.Replace(big450k, "the needle", "gefunden", 1)},
	{name: "1.5 MB, CRLF", file: []byte(big1500k), tool: "Edit", input: edit("the needle", "found"), amend: strings.Replace(big1500k, "the needle", "gefunden", 1)},
	{name: "450 KB written", tool: "Write", input: write(big450k), amend: strings.Replace(big450k, "the needle", "gefunden", 1)},

	{name: "Write new", tool: "Write", input: write("one\ntwo"), amend: "zwei\n"},
	{name: "Write new, empty", tool: "Write", input: write(""), amend: "zwei\n"},
	{name: "Write new, emptied", tool: "Write", input: write("one\n"), amend: ""},
	{name: "Write new, byte order mark", tool: "Write", input: write("\uFEFFone\n"), amend: "zwei\n"},
	{name: "Write over", file: text, tool: "Write", input: write("1\n2\n"), amend: "zwei"},
	{name: "Write over CRLF", file: crlf, tool: "Write", input: write("1\n2\n"), amend: "one\r\nzwei\r\n"},
	{name: "Write CRLF over LF", file: text, tool: "Write", input: write("1\r\n2\r\n"), amend: "one\nzwei\r\n"},
	{name: "Write over byte order mark", file: []byte("\uFEFFone\n"), tool: "Write", input: write("1\n"), amend: "zwei\n"},
	{name: "Write nothing over byte order mark", file: []byte("\uFEFFone\n"), tool: "Write", input: write(""), amend: "zwei\n"},
	{name: "Write over byte order mark, emptied", file: []byte("\uFEFFone\n"), tool: "Write", input: write("1\n"), amend: ""},
	{name: "Write byte order mark over none", file: []byte("one\n"), tool: "Write", input: write("\uFEFF1\n"), amend: "zwei\n"},
	{name: "Write the same", file: text, tool: "Write", input: write(string(text)), amend: "zwei\n"},
	{name: "Write trailing blanks", tool: "Write", input: write("one  \ntwo\t\n \n"), amend: "one  \n"},
	{name: "Write lone CR", tool: "Write", input: write("one\rtwo\r\n"), amend: "a\rb\r\r\n"},

	{name: "space in the name", base: "a b  c.txt", file: text, tool: "Edit", input: edit("two", "TWO"), amend: "zwei\n"},
	{name: "percent and hash in the name", base: "100%25 #1.txt", file: text, tool: "Edit", input: edit("two", "TWO"), amend: "zwei\n"},
	{name: "question mark and brackets in the name", base: "a?[b]{c}*.txt", file: text, tool: "Edit", input: edit("two", "TWO"), amend: "zwei\n"},
	{name: "dollar and quotes in the name", base: "$HOME'\"`.txt", file: text, tool: "Edit", input: edit("two", "TWO"), amend: "zwei\n"},
	{name: "backslash in the name", base: `a\b.txt`, file: text, tool: "Edit", input: edit("two", "TWO"), amend: "zwei\n"},
	{name: "newline in the name", base: "a\nb.txt", file: text, tool: "Edit", input: edit("two", "TWO"), amend: "zwei\n"},
	{name: "NFC name", base: "\u00e9\u00fc.txt", file: text, tool: "Edit", input: edit("two", "TWO"), amend: "zwei\n"},
	{name: "NFD name, new", base: "e\u0301u\u0308.txt", tool: "Write", input: write("x\n"), amend: "zwei\n"},
	{name: "wide name", base: "𝄞 日本語.txt", tool: "Write", input: write("x\n"), amend: "zwei\n"},
	{name: "no extension", base: "Makefile", tool: "Write", input: write("all:\n\ttrue  \n"), amend: "all:\n\tfalse\n"},
	{name: "dot file", base: ".env", tool: "Write", input: write("A=1\n"), amend: "A=2\n"},
}

// call is the model's tool input for a path.
func (c tableCase) call(path string) jsontext.Value {
	in := map[string]any{"file_path": path}
	if c.tool == "NotebookEdit" {
		in = map[string]any{"notebook_path": path}
	}
	for k, v := range c.input {
		in[k] = v
	}
	b, err := json.Marshal(in, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return b
}
