package lsp

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/session/hub"
)

func (b *bench) command(name, argument string) (string, error) {
	params := `{"command":"` + name + `"}`
	if argument != "" {
		params = `{"command":"` + name + `","arguments":[` + argument + `]}`
	}
	return b.try("workspace/executeCommand", params)
}

func (b *bench) mustCommand(name, argument string) string {
	b.t.Helper()
	result, err := b.command(name, argument)
	if err != nil {
		b.t.Fatalf("%s %s: %v", name, argument, err)
	}
	return result
}

func TestCommandsAreAnnounced(t *testing.T) {
	names := commandNames()
	for _, name := range []string{"prompt", "send", "pending", "review", "allow", "allowForSession", "deny", "interrupt", "newSession", "status"} {
		if !slices.Contains(names, "countersign."+name) {
			t.Errorf("no countersign.%s", name)
		}
	}
}

func TestCommandArguments(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		for _, c := range []struct{ name, argument, want string }{
			{"countersign.allow", `{"id":7}`, `countersign.allow: "id" must be a string`},
			{"countersign.allow", `{"id":"` + a.ID + `","suggestion":"first"}`, `countersign.allow: "suggestion" must be a whole number`},
			{"countersign.allow", `{"id":"` + a.ID + `","suggestion":-1}`, `"suggestion" must be a whole number`},
			{"countersign.allow", `{"id":"` + a.ID + `","suggestion":3}`, `"suggestion" is 3, but Edit a.txt has 0`},
			{"countersign.allow", `{"ID":"` + a.ID + `"}`, `countersign.allow has no argument "ID"`},
			{"countersign.allow", `["` + a.ID + `"]`, `countersign.allow takes an object, not [`},
			{"countersign.allow", ``, `which request?`},
			{"countersign.allow", `null`, `which request?`},
			{"countersign.allow", `{}`, `which request?`},
			{"countersign.deny", `{"id":"` + a.ID + `","message":1}`, `countersign.deny: "message" must be a string`},
			{"countersign.deny", `{"id":"` + a.ID + `","interrupt":"yes"}`, `countersign.deny: "interrupt" must be true or false`},
			{"countersign.deny", `{"id":"nobody"}`, `no request with the id "nobody" is known`},
			{"countersign.send", `{"text":""}`, `"text" is empty`},
			{"countersign.send", `{"text":[]}`, `countersign.send: "text" must be a string`},
			{"countersign.nonsense", ``, `there is no command "countersign.nonsense"`},
		} {
			_, err := b.command(c.name, c.argument)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %s: %v, want %q", c.name, c.argument, err, c.want)
			}
		}
		if got := b.settles(); len(got) != 0 {
			t.Errorf("settled: %+v", got)
		}
	})
}

// A command may name a request that the server has not heard of yet.
func TestCommandForAnUnheardRequest(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := hub.Approval{ID: "new", Tool: "Bash", Title: "Bash: ls", State: approvals.Pending, Surface: approvals.SurfacePanel, Since: time.Now()}
		b.hub.mu.Lock()
		b.hub.approvals[a.ID] = a
		b.hub.mu.Unlock()
		b.mustCommand("countersign.allow", `{"id":"new"}`)
		if got := b.settles(); len(got) != 1 || got[0].ID != "new" || !got[0].Allow {
			t.Errorf("settled: %+v", got)
		}
	})
}

func TestPendingCommand(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		sameJSON(t, "nothing", b.mustCommand("countersign.pending", ""), `[]`)
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		sameJSON(t, "one", b.mustCommand("countersign.pending", `{}`), `[{"id":"`+a.ID+`","tool":"Edit","title":"Edit a.txt","path":"`+a.Path+`",
			"stagedUri":"`+a.StagedURI+`","surface":"proposal","state":"pending","mode":"","agent":"","since":"`+a.Since.Format("2006-01-02T15:04:05.000Z07:00")+`"}]`)
	})
}

func TestAllowByCommand(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(b *bench, a hub.Approval)
		want    *string // the text that goes to the hub
	}{
		{"not open: as on disk", func(*bench, hub.Approval) {}, nil},
		{"open and unchanged", func(b *bench, a hub.Approval) { b.open(a.StagedURI) }, nil},
		{"open without its final newline", func(b *bench, a hub.Approval) { b.openWith(a.StagedURI, strings.TrimSuffix(is, "\n")) }, nil},
		{"open and changed: as the editor shows it", func(b *bench, a hub.Approval) {
			b.open(a.StagedURI)
			b.edit(a.StagedURI, "mine\n")
		}, ptr("mine\n")},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, benchOptions{}, func(t *testing.T, b *bench) {
				a := b.hub.propose("req-00000001", "a.txt", was, is)
				c.prepare(b, a)
				b.mustCommand("countersign.allow", `{"id":"`+a.ID+`"}`)
				got := b.settles()
				if len(got) != 1 || !got[0].Allow || got[0].How != "command" || got[0].Rule != "" {
					t.Fatalf("settled: %+v", got)
				}
				if (got[0].Text == nil) != (c.want == nil) || c.want != nil && *got[0].Text != *c.want {
					t.Errorf("text: %v", got[0].Text)
				}
				_, err := b.command("countersign.deny", `{"id":"`+a.ID+`"}`)
				if err == nil || !strings.Contains(err.Error(), "nothing was decided about Edit a.txt: it was allowed") {
					t.Errorf("second decision: %v", err)
				}
			})
		})
	}
}

// An allow by command counts for what this editor has shown: whatever else writes
// into the document's file is not allowed unseen.
func TestAllowByCommandCountsForWhatWasSeen(t *testing.T) {
	write := func(b *bench, a hub.Approval, text string) {
		b.t.Helper()
		if err := os.WriteFile(a.Staged.Path, []byte(text), 0o600); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name    string
		prepare func(b *bench, a hub.Approval)
		staged  bool   // allowed as it was staged
		text    string // else allowed with this text
	}{
		{"never opened", func(*bench, hub.Approval) {}, true, ""},
		{"opened and as staged", func(b *bench, a hub.Approval) { b.open(a.StagedURI) }, true, ""},
		{"saved here, then closed", func(b *bench, a hub.Approval) {
			b.open(a.StagedURI)
			b.edit(a.StagedURI, "mine\n")
			b.save(a.StagedURI)
			b.close(a.StagedURI)
		}, false, "mine\n"},
		{"changed by another, and shown here", func(b *bench, a hub.Approval) {
			write(b, a, "theirs\n")
			b.open(a.StagedURI)
		}, false, "theirs\n"},
		{"changed by another while it was open here", func(b *bench, a hub.Approval) {
			b.open(a.StagedURI)
			write(b, a, "theirs\n")
		}, false, is},
		{"changed by another and never opened", func(b *bench, a hub.Approval) { write(b, a, "theirs\n") }, false, ""},
		{"saved here and closed, then changed by another", func(b *bench, a hub.Approval) {
			b.open(a.StagedURI)
			b.edit(a.StagedURI, "mine\n")
			b.save(a.StagedURI)
			b.close(a.StagedURI)
			write(b, a, "theirs\n")
		}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, benchOptions{options: `{"saveMeans":"amend","closeMeans":"nothing"}`}, func(t *testing.T, b *bench) {
				a := b.hub.propose("req-00000001", "a.txt", was, is)
				c.prepare(b, a)
				_, err := b.command("countersign.allow", `{"id":"`+a.ID+`"}`)
				got := b.settles()
				if !c.staged && c.text == "" {
					if len(got) != 0 || err == nil || !strings.Contains(err.Error(), "review it first") {
						t.Errorf("settled %+v, %v", got, err)
					}
					return
				}
				switch {
				case err != nil || len(got) != 1 || !got[0].Allow:
					t.Errorf("settled %+v, %v", got, err)
				case c.staged && (got[0].Text != nil || got[0].Staged != a.Staged.Print.Hash):
					t.Errorf("not as staged: %+v", got[0])
				case !c.staged && (got[0].Text == nil || *got[0].Text != c.text):
					t.Errorf("with %v", got[0].Text)
				}
			})
		})
	}
}

// Emacs reports the lines of a CRLF file without their carriage returns.
func TestAllowByCommandKeepsLineEnds(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", "one\r\n", "ONE\r\ntwo\r\n")
		b.openWith(a.StagedURI, "ONE\ntwo\n")
		b.edit(a.StagedURI, "ONE\nTWO\n")
		b.mustCommand("countersign.allow", `{"id":"`+a.ID+`"}`)
		if got := b.settles(); got[0].Text == nil || *got[0].Text != "ONE\r\nTWO\r\n" {
			t.Errorf("text: %v", got[0].Text)
		}
	})
}

func TestOtherDecisionsByCommand(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		one := b.hub.command("req-00000001", "ls")
		two := b.hub.command("req-00000002", "pwd")
		b.mustCommand("countersign.allowForSession", `{"id":"`+one.ID+`"}`)
		b.mustCommand("countersign.deny", `{"id":"`+two.ID+`","message":"not here","interrupt":true}`)
		got := b.settles()
		if len(got) != 2 || !got[0].Allow || !got[0].ForSession || got[1].Allow || got[1].Message != "not here" || !got[1].Interrupt {
			t.Errorf("settled: %+v", got)
		}
		b.mustCommand("countersign.interrupt", "")
		b.mustCommand("countersign.newSession", "{}")
		contains(t, "status", b.mustCommand("countersign.status", ""), `"storage"`)
		if want := []string{"interrupt", "newSession"}; !slices.Equal(b.hub.calls, want) {
			t.Errorf("calls: %v", b.hub.calls)
		}
	})
}

// A hub that refuses is quoted, and the approval stays open to decisions.
func TestARefusalIsToldAndChangesNothing(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.hub.refuse = &hub.Error{Code: hub.CodeRefused, Message: "the text cannot be turned into input"}
		b.save(a.StagedURI)
		contains(t, "messages", b.messages(), "1 Nothing was decided about Edit a.txt: the text cannot be turned into input.")
		b.hub.refuse = nil
		b.wait(time.Second)
		b.save(a.StagedURI)
		if got := b.settles(); len(got) != 1 || !got[0].Allow {
			t.Errorf("settled: %+v", got)
		}
	})
}

// When the target changed the proposal comes anew, and is shown in its turn.
func TestAStaleProposalIsReplaced(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		next := a
		next.ID = "rebuilt-" + a.ID
		st, err := b.hub.store.Stage("aaaabbbbccccdddd-00000009", "a.txt", "zero\n"+is)
		if err != nil {
			t.Fatal(err)
		}
		next.ID, next.Staged, next.StagedURI = st.ID, &st, fileURI(st.Path)
		b.hub.refuse = &hub.Error{Code: hub.CodeStale, Message: "a.txt changed", Approval: &next}
		b.save(a.StagedURI)
		contains(t, "messages", b.messages(), "2 a.txt changed since it was proposed: nothing was decided.")
		contains(t, "the old one", b.diagnostics(a.StagedURI), "It was replaced by a newer proposal")
		sameJSON(t, "pending", b.mustCommand("countersign.pending", ""), `[{"id":"`+next.ID+`","tool":"Edit","title":"Edit a.txt","path":"`+a.Path+`",
			"stagedUri":"`+next.StagedURI+`","surface":"proposal","state":"pending","mode":"","agent":"","since":"`+a.Since.Format("2006-01-02T15:04:05.000Z07:00")+`"}]`)
		b.wait(5 * time.Second)
		shown := b.sent("window/showDocument")
		if len(shown) != 2 || !strings.Contains(shown[1], next.StagedURI) {
			t.Errorf("shown: %v", shown)
		}
	})
}

func TestSettledElsewhereWhileDeciding(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.edit(a.StagedURI, "mine\n")
		b.hub.mu.Lock() // settled, but the news have not come yet
		x := b.hub.approvals[a.ID]
		x.State, x.By = approvals.Denied, approvals.By{FrontEnd: "Helix 25.01", How: "close"}
		b.hub.approvals[a.ID] = x
		b.hub.mu.Unlock()
		b.save(a.StagedURI)
		contains(t, "messages", b.messages(), "1 Nothing was decided about Edit a.txt: it was denied by Helix 25.01 (close)")
		if len(b.hub.kept) != 1 || b.hub.kept[0].Text != "mine\n" {
			t.Errorf("kept: %+v", b.hub.kept)
		}
	})
}

func TestErrorsAreShownWhereTheEditorIsSilent(t *testing.T) {
	run(t, benchOptions{client: `"clientInfo":{"name":"helix","version":"25.01"},"capabilities":{}`}, func(t *testing.T, b *bench) {
		if _, err := b.command("countersign.allow", ""); err == nil {
			t.Error("no error")
		}
		contains(t, "messages", b.messages(), "1 which request?")
	})
}

func ptr[T any](v T) *T { return &v }

func TestReasonDocument(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.command("req-00000001", "rm -r build")
		b.mustCommand("countersign.denyWithReason", `{"id":"`+a.ID+`"}`)
		uri := fileURI(b.hub.store.Dir() + "/reasons/" + a.ID + "/reason.md")
		shown := b.sent("window/showDocument")
		if len(shown) != 1 || !strings.Contains(shown[0], uri) || !strings.Contains(shown[0], `"takeFocus":true`) {
			t.Fatalf("shown: %v", shown)
		}
		b.open(uri)
		hint := b.texts[uri]
		b.save(uri) // nothing but the hint
		if got := b.settles(); len(got) != 0 {
			t.Fatalf("settled: %+v", got)
		}
		contains(t, "code actions", b.codeActions(uri, ""), "Countersign: deny Bash: rm -r build with this reason")
		b.edit(uri, hint+"Keep it,\nI need it.\n")
		b.wait(time.Second)
		b.save(uri)
		got := b.settles()
		if len(got) != 1 || got[0].Allow || got[0].Message != "Keep it,\nI need it." || got[0].Rule != "reason" {
			t.Fatalf("settled: %+v", got)
		}
		b.close(uri)
		if _, err := os.Stat(pathOf(uri)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the reason document is still there: %v", err)
		}
	})
}

// After a restart of the server an open reason document still is one.
func TestAReasonDocumentFromBefore(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.command("req-00000001", "rm -r build")
		uri := fileURI(b.hub.store.Dir() + "/reasons/" + a.ID + "/reason.md")
		if err := os.MkdirAll(filepath.Dir(pathOf(uri)), 0o700); err != nil {
			t.Fatal(err)
		}
		b.openWith(uri, "no\n")
		b.wait(time.Second)
		b.save(uri)
		if got := b.settles(); len(got) != 1 || got[0].Message != "no" {
			t.Errorf("settled: %+v", got)
		}
	})
}

func TestClosingAReasonDocumentDecidesNothing(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.command("req-00000001", "rm -r build")
		b.mustCommand("countersign.denyWithReason", `{"id":"`+a.ID+`"}`)
		uri := fileURI(b.hub.store.Dir() + "/reasons/" + a.ID + "/reason.md")
		b.open(uri)
		b.edit(uri, "no\n")
		b.close(uri)
		b.wait(10 * time.Second)
		if got := b.settles(); len(got) != 0 {
			t.Errorf("settled: %+v", got)
		}
	})
}
