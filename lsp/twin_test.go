package lsp

import (
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/session/hub"
)

// An editor may have two servers of ours, and tells both of a save. One of them
// decides by it; the other has nothing to complain of.
func TestSaveToldToTwoServers(t *testing.T) {
	twin := approvals.By{FrontEnd: "Neovim 0.10.4", PID: 99, How: "save", Rule: "saved"}
	const complaint = "Nothing was decided"
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.texts[a.StagedURI] = is
		b.save(a.StagedURI) // it is the other one's document
		b.wait(time.Second)
		b.hub.endBy(a.ID, approvals.Allowed, twin, "")
		b.wait(time.Minute)
		if got := b.messages(); strings.Contains(got, complaint) {
			t.Errorf("not opened here: %s", got)
		}

		a = b.hub.propose("req-00000002", "b.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.hub.endBy(a.ID, approvals.Allowed, twin, "")
		b.wait(time.Second)
		b.save(a.StagedURI) // the news were faster
		b.wait(time.Minute)
		if got := b.messages(); strings.Contains(got, complaint) || len(b.hub.kept) != 0 {
			t.Errorf("settled just now: %s%v", got, b.hub.kept)
		}
		b.save(a.StagedURI) // this one came too late by itself
		contains(t, "messages", b.messages(), complaint+" by saving Edit b.txt: it was allowed")

		a = b.hub.propose("req-00000003", "c.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		a.State, a.By, a.Settled = approvals.Allowed, twin, time.Now()
		b.hub.refuse = &hub.Error{Code: hub.CodeSettled, Message: "settled before", Approval: &a}
		b.save(a.StagedURI) // both asked the hub
		b.wait(time.Minute)
		if got := b.messages(); strings.Contains(got, "c.txt: it was allowed") {
			t.Errorf("settled at the same time: %s", got)
		}
	})
	for name, by := range map[string]approvals.By{
		"another editor":  {FrontEnd: "Helix 25.01.1", PID: 99, How: "save"},
		"another gesture": {FrontEnd: "Neovim 0.10.4", PID: 99, How: "command"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, benchOptions{}, func(t *testing.T, b *bench) {
				a := b.hub.propose("req-00000001", "a.txt", was, is)
				b.open(a.StagedURI)
				b.wait(time.Second)
				b.hub.endBy(a.ID, approvals.Allowed, by, "")
				b.save(a.StagedURI)
				contains(t, "messages", b.messages(), complaint+" by saving Edit a.txt: it was allowed")
			})
		})
	}
}

// A save of a document that this editor never opened is told of when nobody else
// has decided by it.
func TestSaveOfWhatIsNotOpenHere(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.texts[a.StagedURI] = is
		b.save(a.StagedURI)
		b.wait(time.Minute)
		contains(t, "messages", b.messages(), "Nothing was decided about Edit a.txt: this editor did not open it")
	})
}
