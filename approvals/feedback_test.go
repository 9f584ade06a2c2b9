package approvals

import (
	"os"
	"strings"
	"testing"
)

func TestDenyWithEdits(t *testing.T) {
	for name, c := range map[string]struct {
		tool    string
		input   string // "" for an Edit of a.txt
		text    string
		message string
		want    []string // in the message, in this order
		refused string
	}{
		"proposal":        {tool: "Edit", text: "one\nZWEI\nthree\n", want: []string{"declined this change.", "nothing of it was carried out", "```diff\n", "-TWO\n+ZWEI\n", "```"}},
		"with words":      {tool: "Edit", text: "one\nZWEI\nthree\n", message: " in German ", want: []string{"says: in German\n\n", "+ZWEI\n"}},
		"original":        {tool: "Edit", text: "one\ntwo\nthree\n", want: []string{"-TWO\n+two\n"}},
		"command":         {tool: "Bash", input: `{"command":"rm x"}`, text: "rm -i x\n", want: []string{"declined this command.", "command.sh (proposed)", "-rm x\n+rm -i x\n"}},
		"JSON":            {tool: "WebFetch", input: `{"url":"a"}`, text: "{\n  \"url\": \"b\"\n}\n", want: []string{"-  \"url\": \"a\"\n+  \"url\": \"b\"\n"}},
		"broken JSON too": {tool: "WebFetch", input: `{"url":"a"}`, text: "not this\n", want: []string{"+not this\n"}},
		"a fence inside":  {tool: "Bash", input: `{"command":"x"}`, text: "````\n", want: []string{"`````diff\n", "+````\n`````"}},
		"CRLF":            {tool: "Bash", input: `{"command":"a\r\nb\r\n"}`, text: "a\r\nc\r\n", want: []string{" a\n-b\n+c\n```"}},

		"nothing changed":       {tool: "Edit", text: "one\nTWO\nthree\n", refused: "nothing was changed"},
		"only a final newline":  {tool: "Bash", input: `{"command":"rm x"}`, text: "rm x\n", refused: "nothing was changed"},
		"a question":            {tool: "AskUserQuestion", input: twoQuestions, text: "x", refused: "answer it"},
		"marks of a conflict":   {tool: "Edit", text: "<<<<<<< amended\na\n=======\nb\n>>>>>>> proposed\n", refused: "conflict"},
		"what no text can hold": {tool: "Edit", text: "\xff", refused: "UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			req := b.request(c.tool, c.input)
			if c.input == "" {
				req = b.edit(b.file("a.txt", "one\ntwo\nthree\n"), "two", "TWO")
			}
			a := b.Register(req)
			dec := Decision{WithEdits: true, Text: &c.text, Message: c.message, By: me}
			if c.refused != "" {
				refusedWith(t, b, a.ID, dec, c.refused)
				return
			}
			got, _, err := b.Settle(a.ID, dec)
			if err != nil || got.State != Denied {
				t.Fatal(err, got.State)
			}
			rest := got.Result.Message
			for _, w := range c.want {
				_, after, ok := strings.Cut(rest, w)
				if !ok {
					t.Fatalf("no %q in\n%s", w, got.Result.Message)
				}
				rest = after
			}
			r := b.records()
			if last := r[len(r)-1]; last.Kind != RecordSettled || !last.Amended || last.Diff == "" || last.Message != got.Result.Message {
				t.Errorf("recorded %+v", last)
			}
		})
	}
}

// What lies staged is what is sent back where no text is given.
func TestDenyWithEditsFromDisk(t *testing.T) {
	b := newBench(t)
	a := b.Register(b.bash("rm x"))
	refusedWith(t, b, a.ID, Decision{WithEdits: true, By: me}, "nothing was changed")
	if err := os.WriteFile(a.Staged.Path, []byte("ls x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := b.Settle(a.ID, Decision{WithEdits: true, By: me})
	if err != nil || !strings.Contains(got.Result.Message, "+ls x\n") {
		t.Fatalf("%s, %v", got.Result.Message, err)
	}
	a = b.Register(b.bash("rm y"))
	if err := os.Remove(a.Staged.Path); err != nil {
		t.Fatal(err)
	}
	refusedWith(t, b, a.ID, Decision{WithEdits: true, By: me}, "is there again")
}

func TestDenyDoesNotFit(t *testing.T) {
	b := newBench(t)
	a := b.Register(b.bash("rm x"))
	refusedWith(t, b, a.ID, Decision{WithEdits: true, Interrupt: true, Text: ptr("x\n"), By: me}, "reads no reason")
	refusedWith(t, b, a.ID, Decision{ForSession: true, By: me}, "goes with an allow")
	refusedWith(t, b, a.ID, Decision{Suggestion: ptr(0), By: me}, "goes with an allow")
	refusedWith(t, b, a.ID, Decision{Destination: "session", By: me}, "goes with an allow")
	refusedWith(t, b, a.ID, Decision{Allow: true, WithEdits: true, By: me}, "with a deny")
}

// A change too long to be read is cut, and says so.
func TestDenyWithLongEdits(t *testing.T) {
	b := newBench(t)
	for _, text := range []string{strings.Repeat("ü", maxFeedback) + "\n", strings.Repeat("x\n", 10_000), strings.Repeat(strings.Repeat("y", 1000)+"\n", 300)} {
		a := b.Register(b.bash("x"))
		got, _, err := b.Settle(a.ID, Decision{WithEdits: true, Text: &text, By: me})
		if err != nil {
			t.Fatal(err)
		}
		if m := got.Result.Message; len(m) > maxFeedback+1000 || !strings.Contains(m, "left out") || !strings.HasSuffix(m, "\n```") {
			t.Errorf("%d bytes, ends %q", len(m), m[len(m)-80:])
		}
	}
}
