package lsp

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/session/hub"
)

func (b *bench) promptDoc() string {
	b.t.Helper()
	b.mustCommand("countersign.prompt", "")
	uri := promptURI(b.hub.store.Dir())
	shown := b.sent("window/showDocument")
	if len(shown) == 0 || !strings.Contains(shown[len(shown)-1], uri) {
		b.t.Fatalf("shown: %v", shown)
	}
	b.open(uri)
	return uri
}

func (b *bench) prompts() []string {
	b.hub.mu.Lock()
	defer b.hub.mu.Unlock()
	var texts []string
	for _, p := range b.hub.sent {
		texts = append(texts, p.Text)
	}
	return texts
}

// A prompt that is saved before its hub is reached is sent then, and only if it
// is that hub's prompt.
func TestAPromptSavedEarlyIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		mine bool
		sent int
	}{
		"reached":              {nil, true, 1},
		"another hub's prompt": {nil, false, 0},
		"not reached":          {errors.New("no room"), true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ready := sync.OnceValue(func() chan struct{} { return make(chan struct{}) }) // in the bubble
			run(t, benchOptions{noRoot: true, connect: func(b *bench, _ int) (Hub, hub.AttachResult, error) {
				<-ready()
				if c.err != nil {
					return nil, hub.AttachResult{}, c.err
				}
				return b.hub, hub.AttachResult{Storage: b.hub.store.Dir()}, nil
			}}, func(t *testing.T, b *bench) {
				uri := promptURI(b.hub.store.Dir())
				if !c.mine {
					uri = fileURI(t.TempDir()) + "/prompt.md"
				}
				if err := os.WriteFile(pathOf(uri), nil, 0o600); err != nil {
					t.Fatal(err)
				}
				b.openWith(uri, promptHint)
				b.edit(uri, promptHint+"Work.")
				b.save(uri)
				close(ready())
				b.wait(time.Second)
				if got := b.prompts(); len(got) != c.sent || c.sent == 1 && got[0] != "Work." {
					t.Errorf("sent: %q", got)
				}
			})
		})
	}
}

func TestASavedPromptIsSent(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		uri := b.promptDoc()
		if fi, err := os.Stat(pathOf(uri)); err != nil || fi.Mode().Perm() != 0o600 {
			t.Errorf("prompt.md: %v %v", fi, err)
		}
		b.save(uri) // nothing but the hint
		if got := b.prompts(); len(got) != 0 {
			t.Fatalf("sent: %q", got)
		}
		b.edit(uri, promptHint+"Make it\nwork.\n\n")
		b.save(uri)
		if got := b.prompts(); len(got) != 1 || got[0] != "Make it\nwork." {
			t.Fatalf("sent: %q", got)
		}
		if len(b.hub.sent[0].Env) == 0 || b.hub.sent[0].Settings == nil {
			t.Error("no environment or settings with the prompt")
		}
		contains(t, "messages", b.messages(), "3 Sent to the agent.")
		// A second save, as of an impatient finger.
		b.save(uri)
		if got := b.prompts(); len(got) != 1 {
			t.Errorf("sent: %q", got)
		}
		// The same words again, written anew, are a new prompt.
		b.edit(uri, promptHint)
		b.edit(uri, promptHint+"Make it\nwork.")
		b.save(uri)
		if got := b.prompts(); len(got) != 2 {
			t.Errorf("sent: %q", got)
		}
		// On disk it is emptied once it is closed.
		b.close(uri)
		if text, _ := readPrivate(pathOf(uri)); text != promptHint {
			t.Errorf("on disk: %q", text)
		}
	})
}

// Where an editor closes what is deleted, the prompt goes so once nobody types;
// an emptied document would be an unsaved one.
func TestASentPromptIsClosed(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		uri := b.promptDoc()
		b.edit(uri, "do it")
		b.save(uri)
		if n := len(b.sent("workspace/applyEdit")); n != 0 {
			t.Fatalf("closed at once: keys may be under way")
		}
		b.wait(time.Second)
		other := fileURI(b.dir + "/other.go")
		b.openWith(other, "")
		b.edit(other, "x") // the person types elsewhere
		b.wait(time.Second)
		if n := len(b.sent("workspace/applyEdit")); n != 0 {
			t.Fatalf("closed while the person types")
		}
		b.answerWith("workspace/applyEdit", func(string) string {
			_ = os.Remove(pathOf(uri))
			_ = b.conn.Notify("textDocument/didClose", jsontext.Value(`{"textDocument":{"uri":"`+uri+`"}}`))
			return `{"applied":true}`
		})
		b.wait(time.Second)
		edits := b.sent("workspace/applyEdit")
		if len(edits) != 1 {
			t.Fatalf("edits: %v", edits)
		}
		sameJSON(t, "edit", edits[0], `{"label":"Countersign: the prompt was sent","edit":{"documentChanges":[{"kind":"delete","uri":"`+uri+`","options":{"ignoreIfNotExists":true}}]}}`)
		// The next one begins with an empty document.
		b.promptDoc()
		if b.texts[uri] != promptHint {
			t.Errorf("the next prompt begins with %q", b.texts[uri])
		}
		b.wait(time.Minute)
		if n := len(b.sent("workspace/applyEdit")); n != 1 {
			t.Errorf("%d edits", n)
		}
	})
}

// What was written after the save keeps the document open.
func TestAPromptThatGoesOnStaysOpen(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		uri := b.promptDoc()
		b.edit(uri, "do it")
		b.save(uri)
		b.edit(uri, "do it\nand that")
		b.wait(time.Minute)
		if n := len(b.sent("workspace/applyEdit")); n != 0 {
			t.Errorf("%d edits", n)
		}
		b.save(uri)
		if got := b.prompts(); len(got) != 2 || got[1] != "do it\nand that" {
			t.Errorf("sent: %q", got)
		}
	})
}

// helix is enough of what Helix says of itself.
const helix = `"clientInfo":{"name":"helix","version":"25.01.1"},"capabilities":{
	"general":{"positionEncodings":["utf-8","utf-16"]},"window":{"workDoneProgress":true},
	"workspace":{"applyEdit":true,"workspaceEdit":{"documentChanges":true,"resourceOperations":["create","rename","delete"]}},
	"textDocument":{"codeAction":{"codeActionLiteralSupport":{"codeActionKind":{"valueSet":["quickfix"]}}}}}`

// Elsewhere it is emptied.
func TestASentPromptIsEmptied(t *testing.T) {
	run(t, benchOptions{client: helix}, func(t *testing.T, b *bench) {
		uri := b.promptDoc()
		b.edit(uri, promptHint+"Make it\nwork.\n\n")
		b.save(uri)
		edits := b.sent("workspace/applyEdit")
		if len(edits) != 1 {
			t.Fatalf("edits: %v", edits)
		}
		sameJSON(t, "edit", edits[0], `{"label":"Countersign: the prompt was sent","edit":{"documentChanges":[{"textDocument":{"uri":"`+uri+`","version":null},
			"edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":5,"character":0}},"newText":`+quoteJSON(promptHint)+`}]}]}}`)
	})
}

func TestAutosaveSendsNoPrompt(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		uri := b.promptDoc()
		b.edit(uri, "half a sen")
		b.notify("textDocument/willSave", `{"textDocument":{"uri":"`+uri+`"},"reason":2}`)
		b.save(uri)
		if got := b.prompts(); len(got) != 0 {
			t.Fatalf("sent: %q", got)
		}
		contains(t, "messages", b.messages(), "The prompt was not sent")
		contains(t, "code actions", b.codeActions(uri, ""), "Countersign: send this prompt")
		b.edit(uri, "half a sentence")
		b.mustCommand("countersign.send", "")
		if got := b.prompts(); len(got) != 1 || got[0] != "half a sentence" {
			t.Errorf("sent: %q", got)
		}
	})
}

func TestSendCommand(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		sameJSON(t, "result", b.mustCommand("countersign.send", `{"text":"hello"}`), `{"state":"running","pending":0}`)
		if got := b.prompts(); len(got) != 1 || got[0] != "hello" {
			t.Errorf("sent: %q", got)
		}
	})
}

// A prompt that could not be sent stays, and the next save tries again.
func TestAPromptThatFailsIsNotLost(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		uri := b.promptDoc()
		b.hub.refuse = os.ErrPermission
		b.edit(uri, "do it")
		b.save(uri)
		contains(t, "messages", b.messages(), "1 The prompt was not sent: ")
		if n := len(b.sent("workspace/applyEdit")); n != 0 {
			t.Errorf("%d edits", n)
		}
		b.hub.refuse = nil
		b.wait(time.Second)
		b.save(uri)
		contains(t, "messages", b.messages(), "3 Sent to the agent.")
	})
}

// :wq in the prompt document sends it and leaves no trace on disk.
func TestAPromptSavedOnTheWayOut(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		uri := b.promptDoc()
		b.edit(uri, "do it")
		b.save(uri)
		b.end()
		b.served <- nil
		if got := b.prompts(); len(got) != 1 {
			t.Errorf("sent: %q", got)
		}
		if text, _ := readPrivate(pathOf(uri)); text != promptHint {
			t.Errorf("on disk: %q", text)
		}
	})
}

func TestPromptText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{promptHint, ""},
		{"<!-- a -->\n\nhello\n<!-- b -->there\n", "hello\nthere"},
		{"<!-- never ends", "<!-- never ends"},
		{"one\r\ntwo\r\n", "one\ntwo"},
	} {
		if got := promptText(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}
