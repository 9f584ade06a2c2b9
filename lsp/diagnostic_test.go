package lsp

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"countersign/approvals"
)

func TestDiagnostics(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		target := fileURI(a.Path)
		sameJSON(t, "target, not open", b.diagnostics(target), `[{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":1}},
			"severity":3,"code":"pending","source":"countersign","data":{"id":"`+a.ID+`"},
			"message":"The agent asks: Edit a.txt (review, allow or deny by code action)."}]`)
		b.openWith(target, "one\nt🙂\nthree\n")
		sameJSON(t, "target, open", b.diagnostics(target), `[{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":3}},
			"severity":3,"code":"pending","source":"countersign","data":{"id":"`+a.ID+`"},
			"message":"The agent asks: Edit a.txt (review, allow or deny by code action)."}]`)
		b.open(a.StagedURI)
		sameJSON(t, "staged", b.diagnostics(a.StagedURI), `[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":3}},
			"severity":3,"code":"pending","source":"countersign","data":{"id":"`+a.ID+`"},
			"message":"The agent asks: Edit a.txt (:w allows, :bd denies)."}]`)

		b.wait(time.Second)
		done := b.hub.endBy(a.ID, approvals.Allowed, approvals.By{FrontEnd: "command line", How: "command"}, "")
		sameJSON(t, "target, allowed", b.diagnostics(target), `[]`)
		sameJSON(t, "staged, allowed", b.diagnostics(a.StagedURI), `[{"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":3}},
			"severity":3,"code":"allowed","source":"countersign","data":{"id":"`+a.ID+`"},
			"message":"It was allowed by command line (command) at `+done.Settled.Local().Format("15:04:05")+`. Saving this document decides nothing any more."}]`)

		done.Outcome = approvals.Outcome{State: "mismatch", Detail: "line 2 reads \"no\""}
		b.hub.tell(done)
		sameJSON(t, "target, mismatch", b.diagnostics(target), `[{"range":{"start":{"line":1,"character":0},"end":{"line":1,"character":3}},
			"severity":1,"code":"mismatch","source":"countersign","data":{"id":"`+a.ID+`"},
			"message":"a.txt is not what was approved: line 2 reads \"no\""}]`)
		contains(t, "messages", b.messages(), `1 a.txt is not what was approved: line 2 reads "no"`)

		b.close(a.StagedURI)
		sameJSON(t, "staged, closed", b.diagnostics(a.StagedURI), `[]`)
	})
}

// A tab restored by the editor may show a document that was settled long ago.
func TestDiagnosticsOfRestoredDocuments(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.hub.mu.Lock()
		delete(b.hub.approvals, a.ID)
		b.hub.mu.Unlock()
		stale := b.hub.propose("req-00000002", "b.txt", was, is)
		b.hub.endBy(stale.ID, approvals.Denied, approvals.By{FrontEnd: "Helix", How: "close"}, "")
		b.open(stale.StagedURI)
		contains(t, "settled", b.diagnostics(stale.StagedURI), "It was denied by Helix (close)")
	})
}

func TestHover(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		hover := func(line string) string {
			return b.request("textDocument/hover", `{"textDocument":{"uri":"`+a.StagedURI+`"},"position":{"line":`+line+`,"character":0}}`)
		}
		sameJSON(t, "at the change", hover("1"), `{"contents":{"kind":"markdown","value":"As it was:\n\n`+"```"+`diff\n-two\n+TWO\n`+"```"+`\n"},
			"range":{"start":{"line":1,"character":0},"end":{"line":2,"character":0}}}`)
		sameJSON(t, "elsewhere", hover("0"), `null`)
		hover("1")
		if n := len(b.hub.calls); n != 1 {
			t.Errorf("%d calls of the hub: %v", n, b.hub.calls)
		}
		b.edit(a.StagedURI, "one\ntwo\nthree\nfour\n")
		contains(t, "added", hover("3"), "New here")
	})
}

// An editor may have a workspace open by way of a symlink: what concerns a file
// concerns it by every name.
func TestDiagnosticsByAnotherName(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		link := filepath.Join(t.TempDir(), "link")
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		if err := os.Symlink(filepath.Dir(a.Path), link); err != nil {
			t.Skip("no symlinks here:", err)
		}
		other := fileURI(filepath.Join(link, "a.txt"))
		b.openWith(other, was)
		contains(t, "asked before the file was opened", b.diagnostics(other), "The agent asks: Edit a.txt")
		late := b.hub.propose("req-00000002", "a.txt", was, is)
		contains(t, "asked while it is open", b.diagnostics(other), late.ID)
		b.hub.endBy(a.ID, approvals.Denied, approvals.By{FrontEnd: "Helix", How: "close"}, "")
		b.hub.endBy(late.ID, approvals.Denied, approvals.By{FrontEnd: "Helix", How: "close"}, "")
		sameJSON(t, "settled", b.diagnostics(other), `[]`)
		third := b.hub.propose("req-00000003", "a.txt", was, is)
		contains(t, "asked again", b.diagnostics(other), third.ID)
		b.close(other)
		sameJSON(t, "closed", b.diagnostics(other), `[]`)
	})
}
