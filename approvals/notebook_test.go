package approvals

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// The layout is the one that the agent writes, so that only the change shows.
const notebook45 = `{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "a",
   "metadata": {},
   "source": [
    "# T\n",
    "text"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "b",
   "metadata": {},
   "outputs": [
    {
     "text": "1"
    }
   ],
   "source": "x = 1"
  }
 ],
 "metadata": {
  "language_info": {
   "name": "julia"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
`

func notebookRequest(fields string) Request {
	return Request{Tool: "NotebookEdit", Input: jsontext.Value(`{"notebook_path":"/w/a.ipynb",` + fields + `}`)}
}

func TestProposeNotebook(t *testing.T) {
	const (
		cellA = "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"a\",\n   \"metadata\": {},\n   \"source\": [\n    \"# T\\n\",\n    \"text\"\n   ]\n  },\n"
		cellB = "  {\n   \"cell_type\": \"code\",\n   \"execution_count\": 3,\n   \"id\": \"b\",\n   \"metadata\": {},\n   \"outputs\": [\n    {\n     \"text\": \"1\"\n    }\n   ],\n   \"source\": \"x = 1\"\n  }"
		newB  = "  {\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"b\",\n   \"metadata\": {},\n   \"outputs\": [],\n   \"source\": SOURCE\n  }"
		markB = "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"b\",\n   \"metadata\": {},\n   \"source\": SOURCE\n  }"
		newA  = "  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"a\",\n   \"metadata\": {},\n   \"source\": SOURCE\n  },\n"
		first = "  {\n   \"cell_type\": \"markdown\",\n   \"source\": SOURCE,\n   \"metadata\": {}\n  },\n" + cellA
		after = cellB + ",\n  {\n   \"cell_type\": \"code\",\n   \"source\": SOURCE,\n   \"metadata\": {},\n   \"execution_count\": null,\n   \"outputs\": []\n  }"
	)
	book44 := strings.Replace(notebook45, `"nbformat_minor": 5`, `"nbformat_minor": 4`, 1)
	for _, c := range []struct {
		name, file, fields       string
		old, becomes             string // what in the file changes to what
		text, original, basename string
		note                     string
	}{
		{"replace", notebook45, `"cell_id":"b","new_source":"y = 2\n"`, cellB, newB, "y = 2\n", "x = 1", "a.ipynb.jl", "outputs are cleared"},
		{"replace by number", notebook45, `"cell_id":"cell-1","new_source":"y"`, cellB, newB, "y", "x = 1", "a.ipynb.jl", "cell 2 of 2"},
		{"replace Markdown", notebook45, `"cell_id":"a","new_source":"y","edit_mode":"replace"`, cellA, newA, "y", "# T\ntext", "a.ipynb.md", ""},
		{"turn into Markdown", notebook45, `"cell_id":"b","new_source":"y","cell_type":"markdown"`, cellB, markB, "y", "x = 1", "a.ipynb.md", "from code to markdown"},
		{"insert first", book44, `"new_source":"y","cell_type":"markdown","edit_mode":"insert"`, cellA, first, "y", "", "a.ipynb.md", "place 1 of 3"},
		{"insert after", book44, `"cell_id":"b","new_source":"y","cell_type":"code","edit_mode":"insert"`, cellB, after, "y", "", "a.ipynb.jl", "place 3 of 3"},
		{"delete", notebook45, `"cell_id":"a","new_source":"ignored","edit_mode":"delete"`, cellA, "", "", "# T\ntext", "a.ipynb.md", "is deleted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(c.file, c.old) {
				t.Fatal("the file does not have what is to change")
			}
			req := notebookRequest(c.fields)
			p, err := Propose(req, oneFile(&c.file), 0)
			if err != nil {
				t.Fatal(err)
			}
			if p.Text() != c.text || p.Original() != c.original || p.Basename() != c.basename {
				t.Errorf("text %q, original %q, base name %q", p.Text(), p.Original(), p.Basename())
			}
			if !strings.Contains(notesText(p.Notes()), c.note) || strings.Contains(notesText(p.Notes()), "anew") {
				t.Errorf("notes %q", notesText(p.Notes()))
			}
			want := func(source string) string {
				return strings.Replace(c.file, c.old, strings.Replace(c.becomes, "SOURCE", quoted(source), 1), 1)
			}
			a, err := p.Amend(p.Text())
			if err != nil || a.Amended || string(a.Input) != string(req.Input) || a.Holds != nil {
				t.Errorf("unchanged: %v %+v", err, a)
			}
			if string(a.Want) != want(c.text) {
				t.Errorf("want on disk\n%s\nis\n%s", want(c.text), a.Want)
			}
			if before, after := p.Target(a.Want); before != c.file || after != want(c.text) {
				t.Errorf("target before %q, after %q", before, after)
			}
			a, err = p.Amend("amended\n")
			if strings.Contains(c.fields, "delete") {
				if err == nil {
					t.Errorf("a deletion was amended: %+v", a)
				}
			} else {
				if err != nil || !a.Amended || string(a.Want) != want("amended\n") {
					t.Errorf("amended: %v, want\n%s\nis\n%s", err, want("amended\n"), a.Want)
				}
				if err := guarded(req.Input, a.Input); err != nil {
					t.Error(err)
				}
			}
			a, err = p.Amend(c.original)
			retyped, inserted := strings.Contains(c.fields, `b","new_source":"y","cell_type":"markdown"`), strings.Contains(c.fields, "insert")
			if err != nil || a.Restored == (retyped || inserted) {
				t.Errorf("restored: %v %+v", err, a)
			}
		})
	}
}

func TestInsertedCellGetsAnID(t *testing.T) {
	p, err := Propose(notebookRequest(`"cell_id":"a","new_source":"y","cell_type":"code","edit_mode":"insert"`), oneFile(has(notebook45)), 0)
	if err != nil {
		t.Fatal(err)
	}
	written := func(id, source string) []byte {
		cell := "  {\n   \"cell_type\": \"code\",\n   \"id\": " + id + ",\n   \"source\": " + quoted(source) + ",\n   \"metadata\": {},\n   \"execution_count\": null,\n   \"outputs\": []\n  },\n"
		at := strings.Index(notebook45, "  {\n   \"cell_type\": \"code\"")
		return []byte(notebook45[:at] + cell + notebook45[at:])
	}
	for _, text := range []string{"y", "z\n"} {
		a, err := p.Amend(text)
		if err != nil || a.Want != nil || a.Holds == nil {
			t.Fatalf("%v %+v", err, a)
		}
		if !a.Holds(written(`"1f3a5b7c"`, text)) {
			t.Errorf("%q: the notebook as written is not taken", text)
		}
		for _, bad := range [][]byte{written(`"1f3a5b7c"`, text+"x"), written(`""`, text), written(`"a", "evil": "b"`, text), []byte(notebook45), nil} {
			if a.Holds(bad) {
				t.Errorf("%q: taken is %s", text, bad)
			}
		}
	}
}

func TestProposeNotebookRefuses(t *testing.T) {
	for _, c := range []struct{ name, file, fields, want string }{
		{"no source", notebook45, `"cell_id":"a"`, `no "new_source"`},
		{"no id", notebook45, `"new_source":"x"`, `no "cell_id"`},
		{"unknown id", notebook45, `"cell_id":"zz","new_source":"x"`, "no cell"},
		{"number too large", notebook45, `"cell_id":"cell-2","new_source":"x"`, "no cell"},
		{"number huge", notebook45, `"cell_id":"cell-99999999999999999999","new_source":"x"`, "no cell"},
		{"mode", notebook45, `"cell_id":"a","new_source":"x","edit_mode":"append"`, "not replace, insert or delete"},
		{"type", notebook45, `"cell_id":"a","new_source":"x","cell_type":"raw"`, "not code or markdown"},
		{"insert without type", notebook45, `"new_source":"x","edit_mode":"insert"`, `no "cell_type"`},
		{"not JSON", "x", `"cell_id":"a","new_source":"x"`, "not a notebook"},
		{"array", "[]", `"cell_id":"a","new_source":"x"`, "no cells"},
		{"cells an object", `{"cells":{}}`, `"cell_id":"a","new_source":"x"`, "no cells"},
		{"cell null", `{"cells":[null]}`, `"cell_id":"a","new_source":"x"`, "no source"},
		{"source a number", `{"cells":[{"source":1}]}`, `"cell_id":"cell-0","new_source":"x"`, "no source"},
		{"source of numbers", `{"cells":[{"source":[1]}]}`, `"cell_id":"cell-0","new_source":"x"`, "not text"},
		{"half a character", `{"cells":[{"source":"\ud800"}]}`, `"cell_id":"cell-0","new_source":"x"`, "half a character"},
		{"many values", "[" + strings.Repeat("1,", maxNodes) + "1]", `"cell_id":"a","new_source":"x"`, "values"},
		{"grows", `{"cells":[{"source":""}],"m":` + strings.Repeat("[", 9000) + strings.Repeat("1,", 12000) + "1" + strings.Repeat("]", 9000) + "}", `"cell_id":"cell-0","new_source":"x"`, "too large a notebook"},
		{"deep", strings.Repeat("[", 1<<20), `"cell_id":"a","new_source":"x"`, "not a notebook"},
		{"attachments", `{"cells":[{"cell_type":"markdown","source":"","attachments":{"a":1}}]}`, `"cell_id":"cell-0","new_source":"x","cell_type":"code"`, "attachments"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Propose(notebookRequest(c.fields), oneFile(&c.file), 0); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := Propose(notebookRequest(`"cell_id":"a","new_source":"x"`), oneFile(nil), 0); err == nil {
		t.Error("a missing notebook was proposed")
	}
	var none *NoPreviewError
	if _, err := Propose(notebookRequest(`"cell_id":"a","new_source":"x"`), oneFile(has("\x00")), 0); !errors.As(err, &none) {
		t.Errorf("binary: %v", err)
	}
}

// What JSON.stringify makes of what JSON.parse reads, checked against Node.
func TestJSONAsInJavaScript(t *testing.T) {
	for _, c := range []struct{ in, out string }{
		{`1.0`, `1`},
		{`-0`, `0`},
		{`1e21`, `1e+21`},
		{`123456789012345680000`, `123456789012345680000`},
		{`12345678901234567890`, `12345678901234567000`},
		{`1e-7`, `1e-7`},
		{`0.000001`, `0.000001`},
		{`1.5e300`, `1.5e+300`},
		{`1e400`, `null`},
		{`-1e400`, `null`},
		{`5e-324`, `5e-324`},
		{`0.1`, `0.1`},
		{`1E2`, `100`},
		{`"\/\u0041\u00e9\u001b\u007f\b\f\n\r\t\"\\"`, `"/Aé\u001b` + "\x7f" + `\b\f\n\r\t\"\\"`},
		{`"\u0008\u000c\u000a\u000d\u0009\u0022\u005c"`, `"\b\f\n\r\t\"\\"`},
		{`"\ud83d\ude00\uD83D\ude00\udc00"`, `"😀😀\udc00"`},
		{`"\uD800x"`, `"\ud800x"`},
		{`"\u2028"`, "\"\u2028\""},
		{
			`{"b":1,"2":1,"a":1,"1":1,"01":1,"4294967294":1,"4294967295":1}`,
			"{\n \"1\": 1,\n \"2\": 1,\n \"4294967294\": 1,\n \"b\": 1,\n \"a\": 1,\n \"01\": 1,\n \"4294967295\": 1\n}",
		},
		{`{"a":1,"b":2,"\u0061":3}`, "{\n \"a\": 3,\n \"b\": 2\n}"},
		{`[[],{},[{}],true,false,null]`, "[\n [],\n {},\n [\n  {}\n ],\n true,\n false,\n null\n]"},
	} {
		n, err := parseJS(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		if got := string(n.append(nil, 0, nil)); got != c.out {
			t.Errorf("%s gives %s, want %s", c.in, got, c.out)
		}
	}
	for _, bad := range []string{``, `{`, `[1,]`, `{"a"}`, `1 2`, `"\x"`, `nul`, "\"\n\""} {
		if n, err := parseJS(bad); err == nil {
			t.Errorf("%s is read as %s", bad, n.append(nil, 0, nil))
		}
	}
}

// The desk checks a new cell too, though nobody can know its id beforehand.
func TestInsertedCellIsVerified(t *testing.T) {
	for _, c := range []struct{ put, want string }{
		{"y", OutcomeVerified},
		{"z", OutcomeMismatch},
	} {
		b := newBench(t)
		path := b.file("a.ipynb", `{"cells":[],"nbformat":4,"nbformat_minor":5}`)
		req := b.request("NotebookEdit", map[string]string{"notebook_path": path, "new_source": "y", "cell_type": "markdown", "edit_mode": "insert"})
		a := b.Register(req)
		if _, _, err := b.Settle(a.ID, Decision{Allow: true, By: me}); err != nil {
			t.Fatal(err)
		}
		b.Answered(a.ID, nil)
		b.file("a.ipynb", "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"0a1b2c3d\",\n   \"source\": "+quoted(c.put)+",\n   \"metadata\": {}\n  }\n ],\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}")
		if got, ok := b.Returned(req.ToolUseID, false, ""); !ok || got.Outcome.State != c.want {
			t.Errorf("put %q: %+v, want %s", c.put, got.Outcome, c.want)
		}
	}
}
