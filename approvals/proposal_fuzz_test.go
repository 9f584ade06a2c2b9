package approvals

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzPropose throws any input at any file: no panic, and what is proposed
// agrees with itself.
func FuzzPropose(f *testing.F) {
	for _, c := range proposals {
		file := ""
		if c.file != nil {
			file = *c.file
		}
		f.Add(c.req.Tool, []byte(c.req.Input), []byte(file), c.file != nil)
	}
	f.Add("NotebookEdit", []byte(`{"notebook_path":"/w/a.ipynb","cell_id":"a","new_source":"x","edit_mode":"replace"}`), []byte(notebook45), true)
	f.Add("NotebookEdit", []byte(`{"notebook_path":"/w/a.ipynb","new_source":"x","edit_mode":"insert","cell_type":"code"}`), []byte(notebook45), true)
	f.Add("Write", []byte(`{"file_path":"/w/a.txt","content":"\ud800","file_path":"/b"}`), []byte("\xff\xfe\x00\xd8"), true)
	f.Fuzz(func(t *testing.T, tool string, input, file []byte, exists bool) {
		content := has(string(file))
		if !exists {
			content = nil
		}
		req := Request{Tool: tool, Input: jsontext.Value(input)}
		p, err := Propose(req, oneFile(content), 1<<16)
		if err != nil {
			return
		}
		if !utf8.ValidString(p.Text()) || !utf8.ValidString(p.Original()) {
			t.Fatalf("staged text is not UTF-8: %q", p.Text())
		}
		a, err := p.Amend(p.Text())
		if err != nil || a.Amended || a.Restored || string(a.Input) != string(input) {
			t.Fatalf("unchanged: %v %+v", err, a)
		}
		if tool == "NotebookEdit" {
			return
		}
		if _, after := p.Target(a.Want); after != p.Text() {
			t.Fatalf("staged %q, wanted on disk %q", p.Text(), a.Want)
		}
	})
}

// FuzzAmend puts any text through proposals of every tool.
func FuzzAmend(f *testing.F) {
	f.Add("one\r\ntwo\n", "two", "2", "one\r\nzwei\n", byte(0))
	f.Add("\uFEFFone\n", "one", "", "\uFEFF", byte(1))
	f.Add("", "", "x", "", byte(2))
	f.Add("“a”\r\n", `"a"`, `"b"`, "\u2028", byte(3))
	f.Add(" \n", "", "x", "y\r", byte(4))
	f.Add("0one", "one", "", "\uFEFF", byte(3))
	f.Add("\uFEFF\uFEFF", "one", "", "x", byte(1)) // the original is a mark, too
	f.Add("a\r\r\nb\r\n", "b", "c", "a\r\r\n", byte(0))
	f.Fuzz(func(t *testing.T, file, old, put, text string, kind byte) {
		content := has(file)
		req := editRequest(old, put)
		switch kind % 5 {
		case 1:
			req = writeRequest(put)
		case 2:
			content, req = nil, writeRequest(put)
		case 3:
			content = has(utf16le(file))
		case 4:
			req = Request{Tool: "MultiEdit", Input: jsontext.Value(`{"file_path":"/w/a.txt", "edits":[{"old_string":` + quoted(old) + `,"new_string":` + quoted(put) + `}],"n":1.50}`)}
		}
		p, err := Propose(req, oneFile(content), 1<<16)
		if err != nil {
			return
		}
		amendTo(t, p, req, content, p.Text())
		if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
			amendTo(t, p, req, content, text)
		} else if _, err := p.Amend(text); err == nil {
			t.Fatalf("%q was taken", text)
		}
	})
}

// FuzzSplice: what is set is set, the rest is the same bytes, and JSON.
func FuzzSplice(f *testing.F) {
	f.Add([]byte(`{"a":1.50,"b":"\ud800","c":[1, 2]}`), "b", "x\u2028")
	f.Add([]byte(`{ }`), "b", "x")
	f.Add([]byte(`{"\u0062":1}`), "b", "x")
	f.Add([]byte(`{"b":1,"\u0062":2}`), "b", "x")
	f.Fuzz(func(t *testing.T, input []byte, name, text string) {
		if !utf8.ValidString(name) || !utf8.ValidString(text) {
			return
		}
		out, err := Splice(jsontext.Value(input), TextField(name, text))
		if err != nil {
			return
		}
		before, err := takeApart(jsontext.Value(input))
		if err != nil {
			t.Fatal(err)
		}
		after, err := takeApart(out)
		if err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		if got, err := after.text(name); err != nil || got != text {
			t.Fatalf("%q is %q, %v in %s", name, got, err, out)
		}
		for i, m := range before.members {
			if after.members[i].name != m.name {
				t.Fatalf("order changed: %s", out)
			}
			if m.name != name && string(before.get(m.name)) != string(after.get(m.name)) {
				t.Fatalf("%q changed: %s", m.name, out)
			}
		}
		// Splicing the old value back gives the old text.
		if old := before.get(name); old != nil {
			back, err := Splice(out, Field{Name: name, Value: old})
			if err != nil || string(back) != string(input) {
				t.Fatalf("back: %s, %v", back, err)
			}
		}
		if strings.ContainsAny(string(TextField(name, text).appendTo(nil)), "\n\r\u2028\u2029") {
			t.Fatalf("a line break in %s", out)
		}
	})
}
