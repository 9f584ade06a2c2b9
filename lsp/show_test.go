package lsp

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/session/hub"
)

func TestOpeningWaitsForTypingToEnd(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		other := fileURI(b.dir + "/other.txt")
		b.openWith(other, "x\n")
		b.edit(other, "xy\n")
		b.hub.propose("req-00000001", "a.txt", was, is)
		if n := len(b.sent("window/showDocument")); n != 0 {
			t.Fatalf("%d shown while typing", n)
		}
		b.wait(time.Second)
		b.edit(other, "xyz\n")
		b.wait(time.Second)
		if n := len(b.sent("window/showDocument")); n != 0 {
			t.Fatalf("%d shown while typing", n)
		}
		b.wait(time.Second)
		if n := len(b.sent("window/showDocument")); n != 1 {
			t.Fatalf("%d shown once idle", n)
		}
	})
}

func TestOneAtATime(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		one := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(one.StagedURI)
		two := b.hub.propose("req-00000002", "b.txt", was, is)
		b.wait(time.Minute)
		if n := len(b.sent("window/showDocument")); n != 1 {
			t.Fatalf("%d shown", n)
		}
		b.save(one.StagedURI)
		b.close(one.StagedURI)
		b.wait(2 * time.Second)
		shown := b.sent("window/showDocument")
		if len(shown) != 2 || !strings.Contains(shown[1], two.StagedURI) {
			t.Errorf("shown: %v", shown)
		}
	})
}

func TestOpenSetting(t *testing.T) {
	for _, c := range []struct {
		open string
		want int
	}{{"manual", 0}, {"always", 1}} {
		t.Run(c.open, func(t *testing.T) {
			run(t, benchOptions{options: `{"open":"` + c.open + `"}`}, func(t *testing.T, b *bench) {
				other := fileURI(b.dir + "/other.txt")
				b.openWith(other, "x\n")
				b.edit(other, "xy\n")
				a := b.hub.propose("req-00000001", "a.txt", was, is)
				if n := len(b.sent("window/showDocument")); n != c.want {
					t.Errorf("%d shown while typing", n)
				}
				b.wait(time.Minute)
				if n := len(b.sent("window/showDocument")); n != c.want {
					t.Errorf("%d shown", n)
				}
				b.mustCommand("countersign.review", `{"id":"`+a.ID+`"}`)
				if n := len(b.sent("window/showDocument")); n != c.want+1 {
					t.Errorf("%d shown after a review", n)
				}
			})
		})
	}
}

// A command is decided by code action: its document opens only when asked for.
func TestCommandsDoNotOpenByThemselves(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.command("req-00000001", "make")
		b.wait(time.Minute)
		if shown := b.sent("window/showDocument"); len(shown) != 0 {
			t.Fatalf("shown: %v", shown)
		}
		contains(t, "messages", b.messages(), "3 The agent asks: Bash: make (decide by code action)")
		b.mustCommand("countersign.review", `"`+a.ID+`"`) // the id alone, as somebody types it
		if shown := b.sent("window/showDocument"); len(shown) != 1 || !strings.Contains(shown[0], `"takeFocus":true`) {
			t.Fatalf("shown: %v", shown)
		}
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.edit(a.StagedURI, "make -n\n")
		b.save(a.StagedURI)
		if got := b.settles(); len(got) != 1 || !got[0].Allow || *got[0].Text != "make -n\n" {
			t.Errorf("settled: %+v", got)
		}
	})
}

func TestReviewWithoutAnID(t *testing.T) {
	run(t, benchOptions{options: `{"open":"manual"}`}, func(t *testing.T, b *bench) {
		if _, err := b.command("countersign.review", ""); err == nil || !strings.Contains(err.Error(), "nothing is pending") {
			t.Errorf("nothing pending: %v", err)
		}
		one := b.hub.propose("req-00000001", "a.txt", was, is)
		b.wait(time.Millisecond)
		two := b.hub.propose("req-00000002", "b.txt", was, is)
		b.mustCommand("countersign.review", "")
		b.open(one.StagedURI)
		b.mustCommand("countersign.review", "")
		shown := b.sent("window/showDocument")
		if len(shown) != 2 || !strings.Contains(shown[0], one.StagedURI) || !strings.Contains(shown[1], two.StagedURI) {
			t.Errorf("shown: %v", shown)
		}
	})
}

// Helix shows documents although its releases do not say so, and keeps a buffer
// whose file was deleted.
func TestHelix(t *testing.T) {
	helix := `"clientInfo":{"name":"helix","version":"25.01.1 (e7ac2fcd)"},"capabilities":{"workspace":{"applyEdit":true,
		"workspaceEdit":{"documentChanges":true,"resourceOperations":["create","rename","delete"]}}}`
	run(t, benchOptions{client: helix}, func(t *testing.T, b *bench) {
		if connects(b)[0].Name != "Helix 25.01.1" {
			t.Errorf("name: %q", connects(b)[0].Name)
		}
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		if n := len(b.sent("window/showDocument")); n != 1 {
			t.Errorf("%d shown", n)
		}
		contains(t, "messages", b.messages(), ":w allows, :bc denies")
		b.open(a.StagedURI)
		b.wait(10 * time.Second)
		b.mustCommand("countersign.allow", `{"id":"`+a.ID+`"}`)
		if n := len(b.sent("workspace/applyEdit")); n != 0 {
			t.Errorf("%d edits", n)
		}
	})
}

// Emacs never saves an unmodified buffer: nobody is told to.
func TestEmacs(t *testing.T) {
	run(t, benchOptions{client: `"clientInfo":{"name":"Eglot","version":"1.17.30"},"capabilities":{"window":{"showDocument":{"support":true}}}`}, func(t *testing.T, b *bench) {
		b.hub.propose("req-00000001", "a.txt", was, is)
		contains(t, "messages", b.messages(), "saving a change allows, C-x k denies")
	})
}

// A client that cannot show documents gets an edit that changes nothing, when a
// person asks, and a save that this edit causes does not allow.
func TestReviewByEdit(t *testing.T) {
	client := `"clientInfo":{"name":"Zed"},"capabilities":{"workspace":{"applyEdit":true,"workspaceEdit":{"documentChanges":true}}}`
	run(t, benchOptions{client: client}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.wait(time.Minute)
		if n := len(b.sent("workspace/applyEdit")); n != 0 {
			t.Fatalf("%d edits nobody asked for", n)
		}
		contains(t, "messages", b.messages(), "review by code action")
		b.mustCommand("countersign.review", `{"id":"`+a.ID+`"}`)
		edits := b.sent("workspace/applyEdit")
		if len(edits) != 1 {
			t.Fatalf("edits: %v", edits)
		}
		sameJSON(t, "edit", edits[0], `{"label":"Countersign: review","edit":{"documentChanges":[{"textDocument":{"uri":"`+a.StagedURI+`","version":null},
			"edits":[{"range":{"start":{"line":0,"character":0},"end":{"line":3,"character":0}},"newText":`+quoteJSON(is)+`}]}]}}`)
		contains(t, "messages", b.messages(), pathOf(a.StagedURI))
		b.open(a.StagedURI)
		b.edit(a.StagedURI, is)
		b.save(a.StagedURI)
		if got := b.settles(); len(got) != 0 {
			t.Errorf("settled: %+v", got)
		}
	})
}

func TestReviewWithNeither(t *testing.T) {
	run(t, benchOptions{client: `"capabilities":{}`}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.mustCommand("countersign.review", `{"id":"`+a.ID+`"}`)
		contains(t, "messages", b.messages(), "3 Open the proposal for Edit a.txt: "+pathOf(a.StagedURI))
	})
}

// A settled document is closed only where that works and loses nothing.
func TestClosingSettledDocuments(t *testing.T) {
	here := func(b *bench, a hub.Approval) { b.mustCommand("countersign.allow", `{"id":"`+a.ID+`"}`) }
	elsewhere := func(b *bench, a hub.Approval) {
		b.hub.endBy(a.ID, approvals.Allowed, approvals.By{FrontEnd: "command line", How: "command"}, "")
	}
	for _, c := range []struct {
		name    string
		prepare func(b *bench, uri string)
		settle  func(b *bench, a hub.Approval)
		want    int
	}{
		{"unchanged", func(*bench, string) {}, here, 1},
		{"settled elsewhere", func(*bench, string) {}, elsewhere, 0},
		{"with an unsaved change", func(b *bench, uri string) { b.edit(uri, "mine\n"); b.wait(time.Minute) }, here, 0},
		{"while somebody types elsewhere", func(b *bench, _ string) {
			other := fileURI(b.dir + "/other.txt")
			b.openWith(other, "x\n")
			b.edit(other, "xy\n")
		}, here, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, benchOptions{}, func(t *testing.T, b *bench) {
				a := b.hub.propose("req-00000001", "a.txt", was, is)
				b.open(a.StagedURI)
				b.wait(time.Minute)
				c.prepare(b, a.StagedURI)
				c.settle(b, a)
				edits := b.sent("workspace/applyEdit")
				if len(edits) != c.want {
					t.Fatalf("edits: %v", edits)
				}
				if c.want == 1 {
					sameJSON(t, "edit", edits[0], `{"edit":{"documentChanges":[{"kind":"delete","uri":"`+a.StagedURI+`","options":{"ignoreIfNotExists":true}}]}}`)
				}
			})
		})
	}
}

// What has no staged document is shown in a document that decides nothing.
func TestReviewOfWhatIsNotStaged(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.hub.mu.Lock()
		delete(b.hub.approvals, a.ID)
		b.hub.order = nil
		b.hub.mu.Unlock()
		a.ID, a.Staged, a.StagedURI, a.Surface = "panel-00000001", nil, "", approvals.SurfacePanel
		a.Notes = []approvals.Note{{Text: "hides\u200b something", Warning: true}}
		b.hub.details[a.ID] = hub.Detail{Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-two\n+TWO\n"}
		b.hub.tell(a)
		b.mustCommand("countersign.review", `{"id":"`+a.ID+`"}`)
		view := fileURI(b.hub.store.Dir() + "/views/" + a.ID + "/review.diff")
		shown := b.sent("window/showDocument")
		if !strings.Contains(shown[len(shown)-1], view) {
			t.Fatalf("shown: %v", shown)
		}
		b.open(view)
		want := "# Edit a.txt\n# file: " + a.Path + "\n# note: hides<U+200B> something\n" +
			"# This only shows the request: allow or deny it with a code action.\n\n--- a\n+++ b\n@@ -1 +1 @@\n-two\n+TWO\n"
		if b.texts[view] != want {
			t.Errorf("view: %q", b.texts[view])
		}
		b.wait(time.Second)
		b.save(view)
		b.close(view)
		b.wait(time.Minute)
		if got := b.settles(); len(got) != 0 {
			t.Errorf("settled: %+v", got)
		}
		b.mustCommand("countersign.allow", `{"id":"`+a.ID+`"}`)
		if _, err := os.Stat(pathOf(view)); err == nil {
			t.Error("the view of a settled request is still there")
		}
	})
}

func TestViewOfAnInput(t *testing.T) {
	name, text := viewText(&hub.Detail{Approval: hub.Approval{Title: "WebFetch"}, Input: []byte(`{"url":"http://x","n":1e400}`)})
	want := "# WebFetch\n# This only shows the request: allow or deny it with a code action.\n\n{\n\t\"url\": \"http://x\",\n\t\"n\": 1e400\n}\n"
	if name != "review.txt" || text != want {
		t.Errorf("%s: %q", name, text)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	gone := exec.Command(os.Args[0], "-test.run=^$")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	here, ended := "talks/s-"+strconv.Itoa(os.Getpid()), "talks/s-1-"+strconv.Itoa(gone.Process.Pid)
	all := []string{"views/old", "views/pending", "reasons/old", "reasons/new", "proposed/old", here, ended, "talks/odd", "talks/s-0"}
	for _, p := range all {
		if err := os.MkdirAll(filepath.Join(dir, p), 0o700); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(p, "new") {
			if err := os.Chtimes(filepath.Join(dir, p), now, now.Add(-2*leftoverAge)); err != nil {
				t.Fatal(err)
			}
		}
	}
	sweep(dir, now, func(id string) bool { return id == "pending" })
	var left []string
	for _, p := range all {
		if _, err := os.Stat(filepath.Join(dir, p)); err == nil {
			left = append(left, p)
		}
	}
	if want := []string{"views/pending", "reasons/new", "proposed/old", here}; !slices.Equal(left, want) {
		t.Errorf("left: %v, want %v", left, want)
	}
}
