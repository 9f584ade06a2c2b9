package approvals

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// oneFile reads a single file; an absent one is nil.
func oneFile(content *string) ReadFile {
	return func(string) ([]byte, error) {
		if content == nil {
			return nil, &fs.PathError{Op: "open", Path: "/w/a.txt", Err: fs.ErrNotExist}
		}
		return []byte(*content), nil
	}
}

func has(s string) *string { return &s }

// quoted is s as a JSON string.
func quoted(s string) string { return string(appendJSONString(nil, s)) }

func editRequest(old, put string) Request {
	return Request{Tool: "Edit", Input: jsontext.Value(`{"file_path":"/w/a.txt","old_string":` + quoted(old) + `,"new_string":` + quoted(put) + `,"replace_all":false}`)}
}

func writeRequest(content string) Request {
	return Request{Tool: "Write", Input: jsontext.Value(`{"file_path":"/w/a.txt","content":` + quoted(content) + `}`)}
}

func replaceAllRequest(old, put string) Request {
	r := editRequest(old, put)
	r.Input = jsontext.Value(strings.Replace(string(r.Input), "false", "true", 1))
	return r
}

func utf16le(s string) string {
	f := fileText{enc: encUTF16LE}
	return string(f.encode(byteOrderMark + s))
}

// proposals is what the agent was seen to write (2.1.332), and what is staged.
var proposals = []struct {
	name string
	file *string // nil: missing
	req  Request
	want string // bytes on disk
	text string // as staged; empty: the same as want
	note string // a part of a note that must be there
}{
	{"plain", has("one\ntwo\n"), editRequest("two", "TWO"), "one\nTWO\n", "", ""},
	{"no final newline", has("one\ntwo"), editRequest("two", "TWO"), "one\nTWO", "", ""},
	{"dollar patterns are text", has("one\ntwo\n"), editRequest("two", "$& $1 $$ $`"), "one\n$& $1 $$ $`\n", "", ""},
	{"replace all", has("a b a\na"), replaceAllRequest("a", "x"), "x b x\nx", "", ""},

	{"CRLF", has("one\r\ntwo\r\n"), editRequest("two", "TWO\nmore"), "one\r\nTWO\r\nmore\r\n", "", ""},
	{"CRLF, CRLF given", has("one\r\ntwo\r\n"), editRequest("two", "TWO\r\nmore"), "one\r\nTWO\r\nmore\r\n", "", ""},
	{"CRLF into an LF file", has("one\ntwo\n"), editRequest("two", "TWO\r\nmore"), "one\nTWO\r\nmore\n", "", "brings CRLF"},
	{"mixed, LF wins", has("one\r\ntwo\nthree\nfour\n"), editRequest("two", "TWO"), "one\nTWO\nthree\nfour\n", "", "all of them LF"},
	{"mixed, CRLF wins", has("one\r\ntwo\r\nthree\n"), editRequest("two", "TWO"), "one\r\nTWO\r\nthree\r\n", "", "all of them CRLF"},
	{"mixed, tie", has("one\r\ntwo\n"), editRequest("two", "TWO"), "one\nTWO\n", "", "all of them LF"},
	{"CRLF after the first 4096 characters", has(strings.Repeat("x", 4096) + "\r\ntwo\r\n"), editRequest("two", "TWO"), strings.Repeat("x", 4096) + "\nTWO\n", "", "too late"},
	{"LF first, CRLF after 4096", has("a\n" + strings.Repeat("x", 4096) + "\r\ntwo\r\n"), editRequest("two", "TWO"), "a\n" + strings.Repeat("x", 4096) + "\nTWO\n", "", "all of them LF"},
	{"lone CR is text", has("one\rtwo\n"), editRequest("two", "TWO"), "one\rTWO\n", "", "lone CR"},
	{"CR CR LF loses one", has("a\r\r\nb\r\nc\r\n"), editRequest("c", "C"), "a\r\nb\r\nC\r\n", "", ""},

	{"byte order mark", has("\uFEFFone\ntwo\n"), editRequest("one", "ONE"), "\uFEFFONE\ntwo\n", "ONE\ntwo\n", "byte order mark"},
	{"byte order mark in old and new", has("\uFEFFone\n"), editRequest("\uFEFFone", "\uFEFFONE"), "\uFEFFONE\n", "ONE\n", ""},
	{"UTF-16LE", has(utf16le("one\r\ntwo 𝄞\r\n")), editRequest("two", "zwö"), utf16le("one\r\nzwö 𝄞\r\n"), "one\r\nzwö 𝄞\r\n", "UTF-16LE"},

	{"delete a line's text", has("one\ntwo\nthree\n"), editRequest("two", ""), "one\nthree\n", "", ""},
	{"delete a line", has("one\ntwo\nthree\n"), editRequest("two\n", ""), "one\nthree\n", "", ""},
	{"delete a line's end", has("one two\nthree\n"), editRequest(" two", ""), "onethree\n", "", "two lines become one"},
	{"delete in mid-line", has("one two three\n"), editRequest(" two", ""), "one three\n", "", ""},
	{"delete at the very end", has("one\ntwo"), editRequest("two", ""), "one\n", "", ""},
	{"delete all, only at line ends", has("x\na x b\nx\n"), replaceAllRequest("x", ""), "a x b\n", "", "leaves the others"},
	{"delete the whole file", has("one\n"), editRequest("one\n", ""), "", "", ""},

	{"curly in the file", has("say “hello” it’s\n"), editRequest(`say "hello" it's`, `say "bye" it's ("x") 'y' "`), "say “bye” it’s (“x”) ‘y’ “\n", "", "quotation marks"},
	{"only double curly in the file", has("say “hello” it's\n"), editRequest(`say "hello" it's`, `"a" 'b'`), "“a” 'b'\n", "", ""},
	{"curly in old", has("say \"hello\"\n"), editRequest("say “hello”", "say “bye”"), "say “bye”\n", "", "quotation marks"},
	{"curly match is the file's own text", has("‘a’ 'b'\n"), editRequest("'a'", "'c'"), "‘c’ 'b'\n", "", ""},
	{"characters after curly ones", has("ä“x” ö\n"), editRequest(`"x" ö`, `"y"`), "ä“y”\n", "", ""},
	{"escapes in old", has("let s = 'ä𝄞'\n"), editRequest(`'\u00e4\ud834\udd1e'`, `'\u00f6\\u0041'`), `let s = 'ö\\u0041'` + "\n", "", `\u escapes where`},
	{"escapes in the file", has(`let s = "\u00E4\u00FC"` + "\n"), editRequest("äü", "üöÄ"), `let s = "\u00FC\u00F6\u00C4"` + "\n", "", `file has \u escapes`},

	{"empty file", has(""), editRequest("", "new\n"), "new\n", "", ""},
	{"missing file", nil, editRequest("", "new\n"), "new\n", "", ""},
	{"white space only", has(" \r\n\t\r\n"), editRequest("", "new\nx\n"), "new\r\nx\r\n", "", "only white space"},
	{"byte order mark only", has("\uFEFF"), editRequest("", "new\n"), "\uFEFFnew\n", "new\n", ""},

	{"Write new", nil, writeRequest("a\nb\n"), "a\nb\n", "", ""},
	{"Write new, empty", nil, writeRequest(""), "", "", ""},
	{"Write over", has("x\n"), writeRequest("a\nb"), "a\nb", "", "final newline goes"},
	{"Write LF over CRLF", has("x\r\ny\r\n"), writeRequest("a\nb\n"), "a\nb\n", "", "Line ends change"},
	{"Write CRLF over LF", has("x\ny\n"), writeRequest("a\r\nb\r\n"), "a\r\nb\r\n", "", "Line ends change"},
	{"Write over byte order mark", has("\uFEFFx\n"), writeRequest("a\n"), "\uFEFFa\n", "a\n", "byte order mark"},
	{"Write over byte order mark with one", has("\uFEFFx\n"), writeRequest("\uFEFFa\n"), "\uFEFFa\n", "a\n", ""},
	{"Write nothing over byte order mark", has("\uFEFFx\n"), writeRequest(""), "", "", "loses"},
	{"Write a byte order mark", has("x\n"), writeRequest("\uFEFFa\n"), "\uFEFFa\n", "a\n", "is written"},
	{"Write over UTF-16LE", has(utf16le("x\n")), writeRequest("ä\n"), utf16le("ä\n"), "ä\n", ""},
	{"Update is Edit", has("one\n"), Request{Tool: "Update", Input: editRequest("one", "1").Input}, "1\n", "", ""},
	{"MultiEdit", has("a\nb\nc\n"), Request{Tool: "MultiEdit", Input: jsontext.Value(`{"file_path":"/w/a.txt","edits":[{"old_string":"a","new_string":"A"},{"old_string":"c\n","new_string":"","replace_all":true}]}`)}, "A\nb\n", "", ""},
}

func TestPropose(t *testing.T) {
	for _, c := range proposals {
		t.Run(c.name, func(t *testing.T) {
			p, err := Propose(c.req, oneFile(c.file), 0)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(p.want()); got != c.want {
				t.Errorf("want on disk %q, is %q", c.want, got)
			}
			text := c.text
			if text == "" {
				text = c.want
			}
			if p.Text() != text {
				t.Errorf("staged %q, is %q", text, p.Text())
			}
			if p.Basename() != "a.txt" || p.Path() != "/w/a.txt" {
				t.Errorf("path %q, base name %q", p.Path(), p.Basename())
			}
			if p.Base().Exists != (c.file != nil) || (p.Base().Hash == "") == (c.file != nil) {
				t.Errorf("base %+v", p.Base())
			}
			if c.note != "" && !strings.Contains(notesText(p.Notes()), c.note) {
				t.Errorf("no note with %q in %q", c.note, notesText(p.Notes()))
			}
			a, err := p.Amend(p.Text())
			if err != nil || a.Amended || a.Restored || string(a.Input) != string(c.req.Input) || string(a.Want) != c.want {
				t.Errorf("unchanged: %v %+v", err, a)
			}
			amendable(t, p, c.req, c.file)
		})
	}
}

func notesText(notes []Note) string {
	var b strings.Builder
	for _, n := range notes {
		b.WriteString(n.Text + "\n")
	}
	return b.String()
}

// amendable puts texts of a person's through a proposal: what the amended input
// then makes the agent write must be what the amendment said.
func amendable(t *testing.T, p *Proposal, req Request, file *string) {
	t.Helper()
	amendTo(t, p, req, file, "amended\n\tby “me” $& \\u00e4 \u2028é𝄞  \nno end", "", "a\r\nb\r\n", "a\nb\n")
}

func amendTo(t *testing.T, p *Proposal, req Request, file *string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		a, err := p.Amend(text)
		if err != nil {
			t.Errorf("amend to %q: %v", text, err)
			continue
		}
		if !a.Amended {
			continue
		}
		if err := guarded(req.Input, a.Input); err != nil {
			t.Error(err)
		}
		written, err := agentWrites(req.Tool, a.Input, file)
		if err != nil {
			t.Errorf("amended to %q, input %s: %v", text, a.Input, err)
			continue
		}
		if string(written) != string(a.Want) {
			t.Errorf("amended to %q: want %q, but the input makes %q", text, a.Want, written)
		}
		if _, landed := p.Target(written); landed != text && len(a.Notes) == 0 && !(p.file.bom() && landed == withoutBOM(text)) {
			t.Errorf("amended to %q, written is %q without a note", text, landed)
		}
	}
	if file == nil || p.Original() == p.Text() {
		return
	}
	if a, err := p.Amend(p.Original()); err != nil || !a.Restored {
		t.Errorf("restored: %v %+v", err, a)
	}
}

// guarded compares all fields that an amendment must not touch.
func guarded(before, after jsontext.Value) error {
	var a, b map[string]jsontext.Value
	if err := json.Unmarshal(before, &a); err != nil {
		return err
	}
	if err := json.Unmarshal(after, &b); err != nil {
		return err
	}
	for _, touched := range []string{"content", "old_string", "new_string", "replace_all", "edits", "new_source"} {
		delete(a, touched)
		delete(b, touched)
	}
	if len(a) != len(b) {
		return errors.New("fields came or went: " + string(after))
	}
	for name, v := range a {
		if string(b[name]) != string(v) {
			return errors.New("field " + name + " changed: " + string(after))
		}
	}
	return nil
}

func TestAmend(t *testing.T) {
	for _, c := range []struct {
		name        string
		file        *string
		req         Request
		text        string
		input, want string
	}{
		{"Write", has("x\n"), writeRequest("a\n"), "b\n", `{"file_path":"/w/a.txt","content":"b\n"}`, "b\n"},
		{
			"Edit", has("one\ntwo\n"), editRequest("two", "TWO"), "one\nzwei\n",
			`{"file_path":"/w/a.txt","old_string":"one\ntwo\n","new_string":"one\nzwei\n","replace_all":false}`, "one\nzwei\n",
		},
		{
			"Edit replace_all", has("one\ntwo\n"), replaceAllRequest("two", "TWO"), "x",
			`{"file_path":"/w/a.txt","old_string":"one\ntwo\n","new_string":"x","replace_all":false}`, "x",
		},
		{
			"Edit CRLF", has("one\r\ntwo\r\n"), editRequest("two", "TWO"), "one\r\nzwei\r\n",
			`{"file_path":"/w/a.txt","old_string":"one\ntwo\n","new_string":"one\nzwei\n","replace_all":false}`, "one\r\nzwei\r\n",
		},
		{
			"Edit byte order mark", has("\uFEFFone\n"), editRequest("one", "1"), "2\n",
			`{"file_path":"/w/a.txt","old_string":"one\n","new_string":"2\n","replace_all":false}`, "\uFEFF2\n",
		},
		{
			"Edit missing", nil, editRequest("", "a\n"), "b\n",
			`{"file_path":"/w/a.txt","old_string":"","new_string":"b\n","replace_all":false}`, "b\n",
		},
		{
			"Edit missing, emptied", nil, editRequest("", "a\n"), "",
			`{"file_path":"/w/a.txt","old_string":"","new_string":"","replace_all":false}`, "",
		},
		{
			"Edit white space", has(" \n"), editRequest("", "a\n"), "b\n",
			`{"file_path":"/w/a.txt","old_string":"","new_string":"b\n","replace_all":false}`, "b\n",
		},
		{
			"Edit emptied", has("one\n"), editRequest("one", "1"), "",
			`{"file_path":"/w/a.txt","old_string":"one\n","new_string":"","replace_all":false}`, "",
		},
		{
			"Edit emptied, no final newline", has("one\ntwo"), editRequest("one", "1"), "",
			`{"file_path":"/w/a.txt","old_string":"one\ntwo","new_string":"","replace_all":false}`, "",
		},
		{
			"MultiEdit", has("a\n"),
			Request{Tool: "MultiEdit", Input: jsontext.Value(`{"edits":[{"old_string":"a","new_string":"A"}], "file_path":"/w/a.txt"}`)},
			"b\n",
			`{"edits":[{"old_string":"a\n","new_string":"b\n"}], "file_path":"/w/a.txt"}`, "b\n",
		},
		{
			"the rest of the input survives", has("one\n"),
			Request{Tool: "Edit", Input: jsontext.Value("{ \"n\" : 1.50e2,\"file_path\":\"\\/w/\\u0061.txt\" ,\"old_string\":\"one\",\n\"new_string\":\"1\",\"x\":\"\\ud800\"}")},
			"2\n",
			"{ \"n\" : 1.50e2,\"file_path\":\"\\/w/\\u0061.txt\" ,\"old_string\":\"one\\n\",\n\"new_string\":\"2\\n\",\"x\":\"\\ud800\",\"replace_all\":false}", "2\n",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Propose(c.req, oneFile(c.file), 0)
			if err != nil {
				t.Fatal(err)
			}
			a, err := p.Amend(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if !a.Amended || a.Restored || string(a.Input) != c.input {
				t.Errorf("amended %v restored %v input\n%s\nwant\n%s", a.Amended, a.Restored, a.Input, c.input)
			}
			if string(a.Want) != c.want {
				t.Errorf("want on disk %q, is %q", c.want, a.Want)
			}
		})
	}
}

func TestAmendNotes(t *testing.T) {
	crlf := has("one\r\ntwo\r\n")
	for _, c := range []struct {
		name              string
		file              *string
		req               Request
		text              string
		amended, restored bool
		want              string
		note              string
	}{
		{"LF typed into a CRLF file", crlf, editRequest("two", "2"), "one\nzwei\r\n", true, false, "one\r\nzwei\r\n", "CRLF line ends throughout"},
		{"only the line ends differ", crlf, editRequest("two", "2"), "one\n2\n", false, false, "one\r\n2\r\n", "CRLF line ends throughout"},
		{"restored but for line ends", crlf, editRequest("two", "2"), "one\ntwo\n", false, true, "", "original"},
		{"restored, mixed", has("one\r\ntwo\n"), editRequest("two", "2"), "one\r\ntwo\n", false, true, "", "original"},
		{"restored, mixed unified", has("one\r\ntwo\n"), editRequest("two", "2"), "one\ntwo\n", false, true, "", "original"},
		{"Write may unify line ends", has("one\r\ntwo\n"), writeRequest("x"), "one\ntwo\n", true, false, "one\ntwo\n", ""},
		{"an editor's byte order mark", has("\uFEFFone\n"), editRequest("one", "1"), "\uFEFF2\n", true, false, "\uFEFF2\n", ""},
		{"an editor's byte order mark only", has("\uFEFFone\n"), editRequest("one", "1"), "\uFEFF1\n", false, false, "\uFEFF1\n", ""},
		{"a new byte order mark", has("one\n"), editRequest("one", "1"), "\uFEFF2\n", true, false, "\uFEFF2\n", "did not have"},
		{"CRLF typed into an LF file", has("one\ntwo\n"), editRequest("two", "2"), "one\r\nzwei\r\n", true, false, "one\r\nzwei\r\n", "has LF, the text CRLF"},
		{"new file emptied", nil, writeRequest("x"), "", true, false, "", "empty file is created"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Propose(c.req, oneFile(c.file), 0)
			if err != nil {
				t.Fatal(err)
			}
			a, err := p.Amend(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if a.Amended != c.amended || a.Restored != c.restored || string(a.Want) != c.want {
				t.Errorf("amended %v, restored %v, want %q", a.Amended, a.Restored, a.Want)
			}
			if !a.Amended && string(a.Input) != string(c.req.Input) {
				t.Errorf("input %s", a.Input)
			}
			if !strings.Contains(notesText(a.Notes), c.note) || c.note == "" && len(a.Notes) > 0 {
				t.Errorf("notes %v", a.Notes)
			}
		})
	}
}

func TestProposeRefuses(t *testing.T) {
	in := func(tool, input string) Request { return Request{Tool: tool, Input: jsontext.Value(input)} }
	for _, c := range []struct {
		name  string
		file  *string
		req   Request
		limit int64
		want  string
		typed bool // a *NoPreviewError
	}{
		{"binary", has("a\x00b"), editRequest("a", "b"), 0, "NUL", true},
		{"latin-1", has("caf\xe9"), editRequest("caf", "b"), 0, "not valid UTF-8", true},
		{"UTF-16BE", has("\xFE\xFF\x00a"), writeRequest("b"), 0, "big-endian", true},
		{"UTF-16 odd", has("\xFF\xFEa"), writeRequest("b"), 0, "odd", true},
		{"UTF-16 half", has("\xFF\xFE\x00\xD8a\x00"), writeRequest("b"), 0, "half a character", true},
		{"UTF-32", has("\xFF\xFE\x00\x00a\x00\x00\x00"), writeRequest("b"), 0, "NUL", true},
		{"large file", has("123456"), editRequest("1", "2"), 5, "6 bytes", true},
		{"large result", has("1"), editRequest("1", "123456"), 5, "6 bytes", true},
		{"NUL written", nil, writeRequest("a\x00"), 0, "NUL", true},
		{"not found", has("a"), editRequest("b", "c"), 0, "not in the file", false},
		{"not unique", has("a b a"), editRequest("a", "c"), 0, "2 times", false},
		{"no change", has("a"), editRequest("a", "a"), 0, "are the same", false},
		{"empty old on a text", has("a"), editRequest("", "b"), 0, "old_string is empty", false},
		{"missing with old", nil, editRequest("a", "b"), 0, "does not exist", false},
		{"not JSON", nil, in("Write", `{"file_path"`), 0, "not JSON", false},
		{"nothing", nil, in("Write", ``), 0, "not JSON", false},
		{"array", nil, in("Write", `[]`), 0, "array", false},
		{"trailing", nil, in("Write", `{} {}`), 0, "after its JSON object", false},
		{"no path", nil, in("Write", `{"content":"x"}`), 0, `no "file_path"`, false},
		{"path is a number", nil, in("Write", `{"file_path":1,"content":"x"}`), 0, "number, not a string", false},
		{"relative", nil, in("Write", `{"file_path":"a.txt","content":"x"}`), 0, "not an absolute path", false},
		{"NUL in path", nil, in("Write", `{"file_path":"/a\u0000b","content":"x"}`), 0, "NUL", false},
		{"blank at path's end", nil, in("Write", `{"file_path":"/a ","content":"x"}`), 0, "white space", false},
		{"folder", nil, in("Write", `{"file_path":"/a/","content":"x"}`), 0, "folder", false},
		{"empty path", nil, in("Write", `{"file_path":"","content":"x"}`), 0, "empty", false},
		{"no content", nil, in("Write", `{"file_path":"/a"}`), 0, `no "content"`, false},
		{"content null", nil, in("Write", `{"file_path":"/a","content":null}`), 0, "null, not a string", false},
		{"lone surrogate", nil, in("Write", `{"file_path":"/a","content":"\ud800"}`), 0, "half a character", false},
		{"name twice", nil, in("Write", `{"file_path":"/a","content":"x","file\u005fpath":"/b"}`), 0, "twice", false},
		{"replace_all a string", has("a"), in("Edit", `{"file_path":"/a","old_string":"a","new_string":"b","replace_all":"true"}`), 0, "string, not true or false", false},
		{"many names", has("a"), in("Write", `{"file_path":"/a","content":"x"`+manyNames(maxNames)+`}`), 0, "names", false},
		{"many edits", has("a"), in("MultiEdit", `{"file_path":"/a","edits":[`+strings.Repeat(`{"old_string":"a","new_string":"b"},`, maxEdits)+`{"old_string":"a","new_string":"b"}]}`), 0, "1001 edits", true},
		{"a search without end", has(strings.Repeat(`\`, 1<<20) + `\u0041`), editRequest(`\`+strings.Repeat(`\`, 1<<18)+"é", "x"), 0, "not in the file", false},
		{"no edits", has("a"), in("MultiEdit", `{"file_path":"/a"}`), 0, `no "edits"`, false},
		{"edits empty", has("a"), in("MultiEdit", `{"file_path":"/a","edits":[]}`), 0, "empty", false},
		{"edits an object", has("a"), in("MultiEdit", `{"file_path":"/a","edits":{}}`), 0, "not an array", false},
		{"edit a string", has("a"), in("MultiEdit", `{"file_path":"/a","edits":["x"]}`), 0, "edit 1 of 1", false},
		{"edit of an edit", has("a"), in("MultiEdit", `{"file_path":"/a","edits":[{"old_string":"a","new_string":"bc"},{"old_string":"b","new_string":"d"}]}`), 0, "earlier edit", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Propose(c.req, oneFile(c.file), c.limit)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want one with %q", err, c.want)
			}
			var none *NoPreviewError
			if errors.As(err, &none) != c.typed {
				t.Errorf("error %v: NoPreviewError %v, want %v", err, !c.typed, c.typed)
			}
		})
	}
	if _, err := Propose(in("Bash", `{"command":"x"}`), oneFile(nil), 0); !errors.Is(err, ErrNoProposal) {
		t.Errorf("Bash: %v", err)
	}
	broken := func(string) ([]byte, error) { return nil, fs.ErrPermission }
	var none *NoPreviewError
	if _, err := Propose(writeRequest("x"), broken, 0); !errors.As(err, &none) {
		t.Errorf("unreadable: %v", err)
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"n%d":0`, i)
	}
	return b.String()
}

func TestAmendRefuses(t *testing.T) {
	p, err := Propose(writeRequest("x"), oneFile(nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a\xffb", "a\x00b"} {
		if a, err := p.Amend(text); err == nil {
			t.Errorf("%q: %+v", text, a)
		}
	}
}
