package approvals

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func jsonRequest(tool, input string) Request {
	return Request{ID: "r-1", Tool: tool, Input: jsontext.Value(input)}
}

func TestInputDocumentText(t *testing.T) {
	for in, want := range map[string]string{
		`{"b":1.0,"a":{"x":[1e400,"\u00e9"]},"c":[]}`: "{\n  \"b\": 1.0,\n  \"a\": {\n    \"x\": [\n      1e400,\n      \"\\u00e9\"\n    ]\n  },\n  \"c\": []\n}\n",
		`{}`:                       "{}\n",
		``:                         "\n",
		`null`:                     "null\n",
		`[1]`:                      "[\n  1\n]\n",
		"{\"a\":\"x\u202ey\"}":     "{\n  \"a\": \"x\\u202ey\"\n}\n",
		"{\"a\":\"\U000e0041\"}":   "{\n  \"a\": \"\\udb40\\udc41\"\n}\n",
		`{"a":"\ud800"}`:           "{\n  \"a\": \"\\ud800\"\n}\n",
		"not\x1b json":             "not<U+001B> json\n",
		`{"a":1,"a":2}`:            "{\n  \"a\": 1,\n  \"a\": 2\n}\n",
		`{"emoji":"👩‍💻 naïve 日本"}`: "{\n  \"emoji\": \"👩\\u200d💻 naïve 日本\"\n}\n",
	} {
		d, _ := newInput(jsonRequest("X", in))
		if d.Text() != want {
			t.Errorf("%q is shown as %q, want %q", in, d.Text(), want)
		}
		am, err := d.Amend(d.Text())
		if err != nil || am.Amended || string(am.Input) != in {
			t.Errorf("%q left alone: %q, %v, %v", in, am.Input, am.Amended, err)
		}
		if am, err = d.Amend(strings.TrimSuffix(d.Text(), "\n")); err != nil || am.Amended {
			t.Errorf("%q without its final newline: %v, %v", in, am.Amended, err)
		}
	}
}

func TestInputDocumentAmend(t *testing.T) {
	const in = `{ "url":"https:\/\/a.example","n":1.50, "deep":{"k":[1,2]},"flag":true,"none":null,"odd":"\ud83d\ude00"}`
	base := func(change ...string) string {
		d, _ := newInput(jsonRequest("WebFetch", in))
		return strings.NewReplacer(change...).Replace(d.Text())
	}
	for name, c := range map[string]struct {
		text      string
		want      string // the input; empty for an error
		err       string
		line, col int
	}{
		"one field":           {text: base("a.example", "b.example"), want: strings.Replace(in, `"https:\/\/a.example"`, `"https:\/\/b.example"`, 1)},
		"nested":              {text: base("2\n", "3\n"), want: strings.Replace(in, `[1,2]`, `[1,3]`, 1)},
		"respelt only":        {text: `{"url":"https://a.example","n":15e-1,"deep":{"k":[1.0,2]},"flag":true,"none":null,"odd":"😀"}`, want: in},
		"members in an order": {text: `{"flag":false,"url":"https://a.example","n":1.5,"deep":{"k":[1,2]},"none":null,"odd":"😀"}`, want: strings.Replace(in, "true", "false", 1)},
		"null becomes value":  {text: base("null", `"x"`), want: strings.Replace(in, "null", `"x"`, 1)},
		"field added":         {text: base("{\n  \"url\"", "{\n  \"new\": [ 1 ],\n  \"url\""), want: strings.TrimSuffix(in, "}") + `,"new":[1]}`},
		"field removed":       {text: base("  \"flag\": true,\n", ""), err: `"flag" is missing`, line: 12, col: 1},
		"type changed":        {text: base("true", `"true"`), err: "boolean and must stay one", line: 10, col: 11},
		"not JSON":            {text: base(": true,", ": true"), err: "not valid JSON", line: 11, col: 3},
		"empty":               {text: "", err: "not valid JSON", line: 1, col: 1},
		"array":               {text: "[]", err: "not an object", line: 1},
		"twice":               {text: base("{\n  \"url\"", "{\n  \"flag\": false,\n  \"url\""), err: "twice", line: 11, col: 11},
		"after it":            {text: base() + "{}", err: "after its JSON object", line: 14, col: 1},
		"invalid UTF-8":       {text: base("a.example", "\xff"), err: "UTF-8", line: 2, col: 21},
		"control character":   {text: base("a.example", "a\nb"), err: "not valid JSON", line: 2, col: 22},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := newInput(jsonRequest("WebFetch", in))
			am, err := d.Amend(c.text)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("error %v, want %q", err, c.err)
				}
				var place *DocumentError
				if c.line > 0 && (!errors.As(err, &place) || place.Line != c.line || place.Column != c.col) {
					t.Errorf("%v, want line %d, column %d", err, c.line, c.col)
				}
				return
			}
			if err != nil || string(am.Input) != c.want || am.Amended != (c.want != in) {
				t.Fatalf("%s, amended %v, %v\nwant %s", am.Input, am.Amended, err, c.want)
			}
		})
	}
}

func TestInputDocumentGuardsTheFile(t *testing.T) {
	d, _ := newInput(jsonRequest("Write", `{"file_path":"/a/b","content":"x"}`))
	_, err := d.Amend(`{"file_path":"/a/c","content":"x"}`)
	if err == nil || !strings.Contains(err.Error(), "must stay") {
		t.Fatalf("%v", err)
	}
	am, err := d.Amend(`{"file_path":"\/a\/b","content":"y"}`)
	if err != nil || string(am.Input) != `{"file_path":"/a/b","content":"y"}` {
		t.Fatalf("%s, %v", am.Input, err)
	}
	for _, in := range []string{`{"a":1,"a":2}`, `[1]`, `nothing`} {
		d, notes := newInput(jsonRequest("X", in))
		if _, err := d.Amend(`{"a":3}`); err == nil || len(notes) == 0 {
			t.Errorf("%s was amended: %v, %v", in, err, notes)
		}
	}
}

func TestSameNumber(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1", "1.0", true},
		{"1e3", "1000", true},
		{"1.50", "15e-1", true},
		{"0", "0.000", true},
		{"100", "1E+2", true},
		{"1", "2", false},
		{"1", "-1", false},
		{"0", "-0", false},
		{"12345678901234567890", "12345678901234567891", false},
		{"1e400", "1e401", false},
		{"1e99999999999999999999", "1e99999999999999999998", false},
		{"0.1", "0.10000000000000001", false},
	} {
		if got := sameNumber(c.a, c.b); got != c.want {
			t.Errorf("sameNumber(%s, %s) = %v", c.a, c.b, got)
		}
	}
}

func FuzzInputJSONAmend(f *testing.F) {
	f.Add(`{"a":1,"b":"x"}`, `{"a":1.0,"b":"y"}`)
	f.Add(`{"a":"\ud800","b":[{}]}`, `{"a":"\ud800","b":[{"c":null}]}`)
	f.Add("{\"a\":\"\u202e\"}", "{\"a\":\"\\u202e\",\"z\":1}")
	f.Add(`null`, `{}`)
	f.Fuzz(func(t *testing.T, in, text string) {
		d, notes := newInput(jsonRequest("X", in))
		for _, n := range notes {
			if !utf8.ValidString(n.Text) || strings.ContainsAny(n.Text, "\n\x1b\u202e") {
				t.Fatalf("note %q", n.Text)
			}
		}
		am, err := d.Amend(d.Text())
		if err != nil || am.Amended || string(am.Input) != in {
			t.Fatalf("left alone: %q, %v, %v", am.Input, am.Amended, err)
		}
		am, err = d.Amend(text)
		if err != nil {
			return
		}
		if !am.Amended {
			if string(am.Input) != in {
				t.Fatalf("unamended, but %q", am.Input)
			}
			return
		}
		// What was amended means what the person wrote, and goes on one line if
		// the request did.
		was, err := takeApart(jsontext.Value(in))
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := takeApart(jsontext.Value(text))
		if err != nil {
			t.Fatal(err)
		}
		got, err := takeApart(am.Input)
		if err != nil {
			t.Fatalf("%q: %v", am.Input, err)
		}
		if len(got.members) != len(theirs.members) {
			t.Fatalf("%q has not the members of %q", am.Input, text)
		}
		for _, m := range theirs.members {
			v := theirs.raw[m.start:m.end]
			if !sameJSON(got.get(m.name), v) {
				t.Fatalf("%q: %q is %q", am.Input, m.name, got.get(m.name))
			}
			if old := was.get(m.name); old != nil && sameJSON(old, v) && string(got.get(m.name)) != string(old) {
				t.Fatalf("%q was not touched, but became %q", old, got.get(m.name))
			}
		}
		if !strings.Contains(in, "\n") && strings.Contains(string(am.Input), "\n") {
			t.Fatalf("a newline got into %q", am.Input)
		}
	})
}
