package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTheMarkedLine(t *testing.T) {
	talk := &talk{}
	for _, c := range []struct{ text, below string }{
		{talkText("it happened\n"), "\n"},
		{"x\n" + talkMark + "\n\nGo on.\n", "\nGo on.\n"},
		{talkMark, ""},
		{"no mark at all\n", ""},
		{"> " + talkMark + "\nnot a prompt\n", ""},
		{talkMark + "\nearlier\n" + talkMark + "  \r\nlater", "later"},
		{talkMark + " and more\n", ""},
	} {
		if got := talk.below(c.text); got != c.below {
			t.Errorf("%q: %q, want %q", c.text, got, c.below)
		}
	}
}

func TestReadTranscript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "session.md")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("one\ntwo\nthr")
	text, end, err := readTranscript(path, 0, 100)
	if err != nil || text != "one\ntwo\n" || end != 8 {
		t.Errorf("the whole: %q %d %v", text, end, err)
	}
	write("one\ntwo\nthree\n")
	if text, end, err = readTranscript(path, end, 100); err != nil || text != "three\n" || end != 14 {
		t.Errorf("what is new: %q %d %v", text, end, err)
	}
	if text, end, err = readTranscript(path, end, 100); err != nil || text != "" || end != 14 {
		t.Errorf("nothing new: %q %d %v", text, end, err)
	}
	if text, _, err = readTranscript(path, 0, 8); err != nil || text != "… what was before is left out\n\nthree\n" {
		t.Errorf("the end of a long one: %q %v", text, err)
	}
	write("new\nfile\n") // put aside, and begun anew
	if text, end, err = readTranscript(path, 14, 100); err != nil || !strings.HasSuffix(text, "file\n") || end != 9 {
		t.Errorf("another file: %q %d %v", text, end, err)
	}
	if _, _, err := readTranscript(path+"x", 0, 100); err == nil {
		t.Error("no file, and no error")
	}
}

// openTalkDoc opens the document of session 1 in the editor.
func (b *bench) openTalkDoc() string {
	b.t.Helper()
	b.mustCommand("countersign.transcript", "")
	found, err := filepath.Glob(filepath.Join(b.hub.store.Dir(), talksName, "*", talkName))
	if err != nil || len(found) != 1 {
		b.t.Fatalf("documents: %v %v", found, err)
	}
	uri := fileURI(found[0])
	b.open(uri)
	return uri
}

// What comes while the editor has not told of the last edit waits for that: the
// places of an edit would be wrong.
func TestATalkWaitsForItsOwnEdits(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		b.hub.happens("# Session 1\n\n")
		uri := b.openTalkDoc()
		b.hub.happens("one\n")
		b.wait(time.Second)
		b.hub.happens("two\n")
		b.wait(time.Second)
		edits := b.sent("workspace/applyEdit")
		if len(edits) != 1 {
			t.Fatalf("edits: %v", edits)
		}
		sameJSON(t, "edit", edits[0], `{"label":"Countersign: the transcript goes on","edit":{"documentChanges":[{"textDocument":{"uri":"`+uri+`","version":null},
			"edits":[{"range":{"start":{"line":2,"character":0},"end":{"line":2,"character":0}},"newText":"one\n"}]}]}}`)
		b.edit(uri, talkText("# Session 1\n\none\n")) // the editor tells at last
		b.wait(time.Second)
		if edits = b.sent("workspace/applyEdit"); len(edits) != 2 || !strings.Contains(edits[1], `"newText":"two\n"`) {
			t.Fatalf("edits: %v", edits)
		}
		contains(t, "the second edit", edits[1], `"start":{"line":3,"character":0}`)
		b.edit(uri, talkText("# Session 1\n\none\ntwo\n"))

		// What the server did counts as nobody's typing.
		b.hub.propose("req-00000001", "a.txt", was, is)
		if n := len(b.sent("window/showDocument")); n != 2 { // the document, and the proposal at once
			t.Errorf("%d documents were shown", n)
		}
	})
}

func TestAPromptInTheDocumentOfASession(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		b.hub.happens("# Session 1\n\n")
		uri := b.openTalkDoc()
		b.save(uri)
		if got := b.prompts(); len(got) != 0 {
			t.Fatalf("sent: %q", got)
		}
		b.edit(uri, b.texts[uri]+"Go on.\n")
		b.save(uri)
		if got := b.prompts(); len(got) != 1 || got[0] != "Go on." || b.hub.sent[0].Session != "1" {
			t.Fatalf("sent: %q %+v", got, b.hub.sent)
		}
		edits := b.sent("workspace/applyEdit")
		if len(edits) != 1 {
			t.Fatalf("edits: %v", edits)
		}
		sameJSON(t, "edit", edits[0], `{"label":"Countersign: the prompt was sent","edit":{"documentChanges":[{"textDocument":{"uri":"`+uri+`","version":null},
			"edits":[{"range":{"start":{"line":4,"character":0},"end":{"line":6,"character":0}},"newText":"\n"}]}]}}`)
		b.save(uri) // before the edit is there
		if got := b.prompts(); len(got) != 1 {
			t.Errorf("sent: %q", got)
		}
		// Without the line it is not known what is meant.
		b.edit(uri, "Do it.\n")
		b.save(uri)
		if got := b.prompts(); len(got) != 1 {
			t.Errorf("sent: %q", got)
		}
		contains(t, "messages", b.messages(), "Nothing was sent: the line below which a prompt is written is gone.")
	})
}

// A server that comes later goes on with the document that the editor has.
func TestATalkIsRecalled(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		b.hub.happens("# Session 1\n\none\n\ntwo\n\n")
		dir := filepath.Join(b.hub.store.Dir(), talksName, "1-77")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		uri := fileURI(filepath.Join(dir, talkName))
		b.openWith(uri, talkText("# Session 1\n\none\n"))
		b.wait(time.Second)
		edits := b.sent("workspace/applyEdit")
		if len(edits) != 1 || !strings.Contains(edits[0], `"newText":"\ntwo\n\n"`) {
			t.Fatalf("edits: %v", edits)
		}
		contains(t, "code actions", b.codeActions(uri, ""), "Countersign: send what is written below the line")
	})
}
