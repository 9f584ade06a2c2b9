package lsp

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/hub"
)

// act gives a code action as the wire has it.
func actJSON(title, kind, command, id string) string {
	args := ""
	if id != "" {
		args = `,"arguments":[{"id":"` + id + `"}]`
	}
	return `{"title":"Countersign: ` + title + `","kind":"` + kind + `","command":{"title":"Countersign: ` + title + `","command":"` + command + `"` + args + `}}`
}

func (b *bench) codeActions(uri, only string) string {
	return b.request("textDocument/codeAction", `{"textDocument":{"uri":"`+uri+`"},"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"context":{"diagnostics":[]`+only+`}}`)
}

func TestCodeActions(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		prompt := actJSON("new prompt", kindPrompt, "countersign.prompt", "")
		other := fileURI(b.dir + "/other.go")
		sameJSON(t, "nothing pending", b.codeActions(other, ""), `[`+prompt+`]`)

		a := b.hub.propose("req-00000001", "a.txt", was, is)
		deny := actJSON("deny Edit a.txt", kindDeny, "countersign.deny", a.ID) + `,` +
			actJSON("deny Edit a.txt with a reason", kindReason, "countersign.denyWithReason", a.ID)
		allow := actJSON("allow Edit a.txt", kindAllow, "countersign.allow", a.ID) + `,` +
			actJSON("allow for session (accept edits without asking)", kindSession, "countersign.allowForSession", a.ID)
		review := actJSON("review Edit a.txt", kindReview, "countersign.review", a.ID)
		sameJSON(t, "in the target", b.codeActions(fileURI(a.Path), ""), `[`+review+`,`+allow+`,`+deny+`,`+prompt+`]`)
		stop := strings.Replace(actJSON("deny Edit a.txt and stop the turn (the agent then reads no reason)", kindStop, "countersign.deny", a.ID),
			`"}]`, `","interrupt":true}]`, 1)
		sameJSON(t, "in the staged document", b.codeActions(a.StagedURI, ""), `[`+allow+`,`+deny+`,`+stop+`,`+prompt+`]`)
		more := actJSON("review pending (1)…", kindReview, "countersign.review", "")
		sameJSON(t, "elsewhere", b.codeActions(other, ""), `[`+more+`,`+prompt+`]`)

		for _, only := range []struct{ only, want string }{
			{`,"only":["source.organizeImports"]`, `[]`},
			{`,"only":["quickfix"]`, `[]`},
			{`,"only":["countersign.deny"]`, `[` + actJSON("deny Edit a.txt", kindDeny, "countersign.deny", a.ID) + `]`},
			{`,"only":["countersign.prompt"]`, `[` + prompt + `]`},
		} {
			sameJSON(t, only.only, b.codeActions(a.StagedURI, only.only), only.want)
		}

		c := b.hub.command("req-00000002", "go test ./...")
		got := b.codeActions(other, "")
		for _, title := range []string{"review Bash: go test ./...", "allow Bash: go test ./...", "allow for session (every Bash command)", "deny Bash: go test ./...", "review pending (1)…"} {
			contains(t, "with a command pending", got, `"Countersign: `+title+`"`)
		}
		lacks(t, "with a command pending", got, "Edit a.txt")
		lacks(t, "with a command pending", got, "isPreferred")

		b.hub.say(session.Info{State: session.StateRunning})
		contains(t, "while a turn runs", b.codeActions(other, ""), `"Countersign: interrupt"`)

		b.hub.endBy(c.ID, approvals.Withdrawn, approvals.By{FrontEnd: "agent", How: "withdrawn"}, "interrupted")
		lacks(t, "after it was withdrawn", b.codeActions(other, ""), "go test")
	})
}

// A bare allow is no answer to a question.
func TestCodeActionsOfAQuestion(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "question.md", "", "- [ ] yes\n")
		a.ID, a.Tool, a.Title, a.Path, a.Surface = "q", "AskUserQuestion", "Question: Which way?", "", approvals.SurfaceQuestion
		a.Staged, a.StagedURI = nil, ""
		b.hub.tell(a)
		got := b.codeActions(fileURI(b.dir+"/other.go"), "")
		contains(t, "a question", got, "Countersign: decline to answer Question: Which way?")
		lacks(t, "a question", got, "Countersign: allow Question")
		lacks(t, "a question", got, "allow for session (every AskUserQuestion)")
	})
}

// Clients without code action literals get bare commands.
func TestCodeActionsAsCommands(t *testing.T) {
	run(t, benchOptions{client: `"capabilities":{}`}, func(t *testing.T, b *bench) {
		sameJSON(t, "commands", b.codeActions(fileURI(b.dir+"/other.go"), ""),
			`[{"title":"Countersign: new prompt","command":"countersign.prompt"}]`)
	})
}

// What a message cannot show in full is to be reviewed first.
func TestALongCommandIsToBeReviewed(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		b.hub.command("req-00000001", "true && "+strings.Repeat("x", 100))
		contains(t, "messages", b.messages(), "… (review by code action)")
		if got := b.codeActions("file:///x", ""); !strings.HasPrefix(got, `[{"title":"Countersign: review Bash: true`) {
			t.Errorf("code actions: %s", got)
		}
	})
}

func TestTitlesHideNothing(t *testing.T) {
	for _, c := range []struct{ title, want string }{
		{"Bash: ls", "Bash: ls"},
		{"Bash: echo \u202eevil", "Bash: echo <U+202E>evil"},
		{"Bash: a\u200bb", "Bash: a<U+200B>b"},
		{"Bash: a\x1b[31mb", "Bash: a<U+001B>[31mb"},
		{"Bash: one\ntwo", "Bash: one two"},
		{"Bash: " + strings.Repeat("x", 100), "Bash: " + strings.Repeat("x", 53) + "…"},
		{"", "Bash"},
		{"Bash: a\xffb", "Bash: a<FF>b"},
	} {
		if got := titleOf(&hub.Approval{Tool: "Bash", Title: c.title}); got != c.want {
			t.Errorf("%q: %q, want %q", c.title, got, c.want)
		}
	}
}

// A flood of requests is a number, in the menu as in the messages.
func TestAFlood(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		for i := range 1000 {
			id := fmt.Sprintf("flood-%04d", i)
			b.hub.tell(hub.Approval{
				ID: id, Tool: "Edit", Title: "Edit a.txt", Path: b.dir + "/a.txt", Since: time.Now(),
				Surface: approvals.SurfaceProposal, Kind: "file changes", State: approvals.Pending,
			})
		}
		b.wait(5 * time.Second)
		if n := len(b.sent("window/showMessage")); n > 10 {
			t.Errorf("%d messages for one flood", n)
		}
		uri := fileURI(b.dir + "/a.txt")
		got := b.codeActions(uri, "")
		contains(t, "code actions", got, "review pending (997)…")
		if n := strings.Count(got, `"kind"`); n > 20 {
			t.Errorf("%d code actions", n)
		}
		ds := b.diagnostics(uri)
		contains(t, "diagnostics", ds, "980 more requests wait for a decision about this file.")
		if n := strings.Count(ds, `"severity"`); n != maxDiagnostics+1 {
			t.Errorf("%d diagnostics", n)
		}
	})
}

func TestCodeLenses(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		lens := func(title, command string) string {
			return `{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"command":{"title":"` + title + `","command":"` + command + `","arguments":[{"id":"` + a.ID + `"}]}}`
		}
		sameJSON(t, "staged", b.request("textDocument/codeLens", `{"textDocument":{"uri":"`+a.StagedURI+`"}}`), `[`+
			lens("Allow as it reads", "countersign.allow")+`,`+lens("Allow for session (accept edits without asking)", "countersign.allowForSession")+`,`+
			lens("Deny", "countersign.deny")+`,`+lens("Deny with a reason", "countersign.denyWithReason")+`]`)
		sameJSON(t, "target", b.request("textDocument/codeLens", `{"textDocument":{"uri":"`+fileURI(a.Path)+`"}}`), `[`+
			lens("Review Edit a.txt", "countersign.review")+`,`+lens("Deny", "countersign.deny")+`]`)
		sameJSON(t, "elsewhere", b.request("textDocument/codeLens", `{"textDocument":{"uri":"file:///elsewhere"}}`), `[]`)
	})
}
