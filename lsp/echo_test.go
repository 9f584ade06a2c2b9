package lsp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var answering = strings.Replace(neovim, `"workspace":{`, `"workspace":{"configuration":true,`, 1)

// slow has the editor answer its settings at once, and from then on only when
// the result is called: it is at something else.
func slow(b *bench) (answers func()) {
	b.answerWith("workspace/configuration", func(string) string { return `[null]` })
	b.notify("workspace/didChangeConfiguration", `{"settings":null}`)
	gate := make(chan struct{})
	b.answerWith("workspace/configuration", func(string) string { <-gate; return `[null]` })
	return func() { close(gate); b.wait(0) }
}

// Where an editor does in one go what takes long, its answer tells the end of it.
func TestGesturesOfABusyEditor(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(b *bench, staged, other string)
		want string // the decisions once it has answered
		says string
	}{
		{"a save-all", func(b *bench, staged, other string) {
			b.save(staged)
			b.wait(5 * time.Second)
			b.save(other)
		}, "", "Nothing was decided about Edit a.txt: other documents were saved at the same moment"},
		{"a save-all the other way round", func(b *bench, staged, other string) {
			b.save(other)
			b.wait(5 * time.Second)
			b.save(staged)
		}, "", "Nothing was decided about Edit a.txt: other documents were saved at the same moment"},
		{"one save", func(b *bench, staged, _ string) {
			b.save(staged)
			b.wait(5 * time.Second)
		}, "save", "Allowed"},
		{"a close", func(b *bench, staged, _ string) {
			b.close(staged)
			b.wait(5 * time.Second)
		}, "close", "Denied"},
		{"a reload", func(b *bench, staged, _ string) {
			b.close(staged)
			b.wait(5 * time.Second)
			b.open(staged)
		}, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, benchOptions{client: answering}, func(t *testing.T, b *bench) {
				answers := slow(b)
				a := b.hub.propose("req-00000001", "a.txt", was, is)
				other := otherFile(b)
				b.open(a.StagedURI)
				b.open(other)
				b.wait(time.Second)
				b.edit(other, "mine\nand more\n")
				c.do(b, a.StagedURI, other)
				b.wait(time.Minute)
				if got := b.settles(); len(got) != 0 {
					t.Fatalf("settled before the editor came back: %+v", got)
				}
				answers()
				b.wait(time.Minute)
				got := ""
				for _, p := range b.settles() {
					got += p.How
				}
				if got != c.want {
					t.Errorf("decided by %q, not by %q", got, c.want)
				}
				contains(t, "messages", b.messages(), c.says)
			})
		})
	}
}

// The end of an editor that has not answered is no answer.
func TestBusyEditorEnds(t *testing.T) {
	for _, gesture := range []string{"save", "close"} {
		for _, end := range []string{"breaks", "shutdown", "answers"} {
			t.Run(gesture+" "+end, func(t *testing.T) {
				run(t, benchOptions{client: answering}, func(t *testing.T, b *bench) {
					answers := slow(b)
					a := b.hub.propose("req-00000001", "a.txt", was, is)
					other := otherFile(b)
					b.open(a.StagedURI)
					b.open(other)
					b.wait(time.Second)
					b.edit(other, "mine\nand more\n")
					if gesture == "save" {
						b.save(a.StagedURI)
					} else {
						b.close(a.StagedURI)
					}
					b.wait(time.Minute)
					switch end {
					case "breaks":
						b.conn.Close()
						b.wait(time.Minute)
					case "shutdown":
						b.request("shutdown", "")
						b.wait(time.Minute)
					}
					answers()
					b.wait(time.Minute)
					want := 0
					if end == "answers" {
						want = 1
					}
					if got := b.settles(); len(got) != want {
						t.Errorf("settled: %+v", got)
					}
				})
			})
		}
	}
}

// An editor that has never answered is not waited for.
func TestEditorThatDoesNotAnswer(t *testing.T) {
	run(t, benchOptions{client: answering, silent: true}, func(t *testing.T, b *bench) {
		b.wait(time.Minute)
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.close(a.StagedURI)
		b.wait(time.Minute)
		if got := b.settles(); len(got) != 1 || got[0].How != "close" {
			t.Errorf("settled: %+v", got)
		}
	})
}

func otherFile(b *bench) (uri string) {
	path := filepath.Join(b.dir, "other.txt")
	if err := os.WriteFile(path, []byte("mine\n"), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return fileURI(path)
}
