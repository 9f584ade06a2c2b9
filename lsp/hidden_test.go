package lsp

import (
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/session/hub"
	"countersign/staging"
)

// stagePanel registers a Bash request with what does not show in it.
func (b *bench) stagePanel(text string) hub.Approval {
	b.t.Helper()
	id := staging.NewID("req-00000001")
	st, err := b.hub.store.Stage(id, "command.sh", text)
	if err != nil {
		b.t.Fatal(err)
	}
	a := hub.Approval{
		ID: id, Tool: "Bash", Title: "Bash: it", Staged: &st, StagedURI: fileURI(st.Path), Surface: approvals.SurfacePanel,
		State: approvals.Pending, Since: time.Now(), Hidden: approvals.Hidden(text, "", approvals.CommandText),
		Notes: []approvals.Note{{Text: "It writes outside the project.", Warning: true}},
	}
	for _, p := range a.Hidden {
		a.Notes = append(a.Notes, approvals.Note{Text: p.String() + ".", Warning: true})
	}
	b.hub.tell(a)
	return a
}

// Marks are where the character is, in the units of the editor; they are told
// once, and go with what the person takes out.
func TestWhatDoesNotShowIsMarked(t *testing.T) {
	for _, c := range []struct {
		name, client string
		start, end   string
	}{
		{"utf-16", neovim, `{"line":1,"character":8}`, `{"line":1,"character":9}`},
		{"utf-8", helix, `{"line":1,"character":10}`, `{"line":1,"character":13}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			run(t, benchOptions{client: c.client}, func(t *testing.T, b *bench) {
				a := b.stagePanel("true\necho 😀 \u200bls\n")
				before := b.diagnostics(a.StagedURI)
				contains(t, "before it is opened", before, `Zero-width character (U+200B).`)
				contains(t, "before it is opened", before, `It writes outside the project.`)
				if n := strings.Count(before, "U+200B"); n != 1 {
					t.Errorf("told %d times: %s", n, before)
				}
				b.open(a.StagedURI)
				contains(t, "when it is open", b.diagnostics(a.StagedURI), `"range":{"start":`+c.start+`,"end":`+c.end+`}`)
				b.edit(a.StagedURI, "true\necho 😀 ls\n")
				lacks(t, "when it is taken out", b.diagnostics(a.StagedURI), "U+200B")
				b.edit(a.StagedURI, "true\necho 😀 ls\n\u202e\n")
				contains(t, "when another one comes in", b.diagnostics(a.StagedURI), `"range":{"start":{"line":2,"character":0}`)
			})
		})
	}
}

// In a proposal what the file had before is not marked, however it is amended.
func TestMarksOfAnAmendedProposal(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		original := "a\u200bb\ntwo\nthree\n"
		text := "a\u200bb\nt\u200cwo\nthree\n"
		a := b.hub.propose("req-00000001", "a.txt", original, text)
		a.Hidden = approvals.Hidden(text, original, approvals.AnyText)
		b.hub.tell(a)
		b.open(a.StagedURI)
		got := b.diagnostics(a.StagedURI)
		contains(t, "as proposed", got, "U+200C")
		lacks(t, "as proposed", got, "U+200B")
		b.edit(a.StagedURI, "a\u200bb\nmore\nt\u200cwo\nthree\n")
		got = b.diagnostics(a.StagedURI)
		contains(t, "amended", got, "U+200C")
		contains(t, "amended", got, `"range":{"start":{"line":2,"character":1}`)
		lacks(t, "amended", got, "U+200B")
	})
}

// A refusal is shown at the place that the hub names, until the document changes.
func TestARefusalIsShownAtItsPlace(t *testing.T) {
	run(t, benchOptions{client: helix}, func(t *testing.T, b *bench) {
		a := b.stagePanel("échos {\n}\n")
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.hub.refuse = &hub.Error{Code: hub.CodeRefused, Message: "nothing was decided about x: line 1: no", Reason: "an opening brace is not closed", Line: 1, Column: 7}
		b.save(a.StagedURI)
		got := b.diagnostics(a.StagedURI)
		contains(t, "refused", got, `"range":{"start":{"line":0,"character":7},"end":{"line":0,"character":8}},"severity":1`)
		contains(t, "refused", got, "Nothing was decided: an opening brace is not closed.")
		contains(t, "messages", b.messages(), "1 Nothing was decided about Bash: it: line 1: an opening brace is not closed.")
		if b.hub.approvals[a.ID].State != approvals.Pending {
			t.Error("decided")
		}
		b.edit(a.StagedURI, "échos\n")
		lacks(t, "changed", b.diagnostics(a.StagedURI), "Nothing was decided")
		_, err := b.command("countersign.allow", `{"id":"`+a.ID+`"}`)
		if err == nil || !strings.HasSuffix(err.Error(), "line 1: an opening brace is not closed") {
			t.Errorf("allowed by command: %v", err)
		}
		contains(t, "refused again", b.diagnostics(a.StagedURI), "an opening brace is not closed")
		b.hub.refuse = nil
		b.mustCommand("countersign.allow", `{"id":"`+a.ID+`"}`)
		lacks(t, "allowed", b.diagnostics(a.StagedURI), "Nothing was decided")
	})
}
