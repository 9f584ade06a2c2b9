//go:build unix

package hub

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"countersign/approvals"
	"countersign/session"
)

const writeOne = `{"turns":[{"steps":[{"call":{"tool":"Write","input":{"file_path":"${DIR}/a.txt","content":"one\n"}}},{"say":"done"}]}]}`

// The main job over the socket: a prompt, a request, a decision, the file.
func TestSendAndSettle(t *testing.T) {
	w := newWorld(t, writeOne)
	c, at := w.connect("first")
	if at.Root != w.root || at.Storage != w.places().state || at.Version != Version() || len(at.Approvals) != 0 {
		t.Errorf("attached to %+v", at)
	}
	w.send(c, "go")
	a := w.pendingOf(c)
	if a.Tool != "Write" || a.Path != filepath.Join(w.root, "a.txt") {
		t.Errorf("pending: %+v", a)
	}
	if a.Staged == nil || !strings.HasPrefix(a.StagedURI, "file:///") {
		t.Errorf("not staged: %+v", a)
	}
	d, err := c.Show(t.Context(), ShowParams{ID: a.ID})
	if err != nil || d.Text != "one\n" || !strings.Contains(d.Diff, "+one") {
		t.Errorf("shown: %+v, %v", d, err)
	}
	settled, err := c.Settle(t.Context(), SettleParams{ID: a.ID, Allow: true, How: "command"})
	if err != nil || settled.Approval.State != approvals.Allowed || settled.Approval.By.FrontEnd != "first" || settled.Approval.By.PID != os.Getpid() {
		t.Fatalf("settled: %+v, %v", settled, err)
	}
	await(w, c, "the outcome", func(a Approval) bool { return a.Outcome.State == "verified" })
	if got := w.read("a.txt"); got != "one\n" {
		t.Errorf("the file has %q", got)
	}
	st, err := c.Status(t.Context())
	if err != nil || st.PID == os.Getpid() || st.Session.State == session.StateNone {
		t.Errorf("status: %+v, %v", st, err)
	}
	if err := c.Log(t.Context()); err != nil {
		t.Errorf("log: %v", err)
	}
	if _, err := approvals.VerifyChain(JournalPath(at.Storage)); err != nil {
		t.Error(err)
	}
}

// Two front ends decide the same approval at once: one wins, the other is told
// what was decided, and both see the same.
func TestFirstDecisionWins(t *testing.T) {
	w := newWorld(t, writeOne)
	a, _ := w.connect("one")
	b, _ := w.connect("two")
	w.send(a, "go")
	id := w.pendingOf(a).ID
	w.pendingOf(b)
	var errs [2]error
	var both sync.WaitGroup
	for i, c := range []*Client{a, b} {
		both.Go(func() {
			_, errs[i] = c.Settle(t.Context(), SettleParams{ID: id, Allow: i == 0, How: "command"})
		})
	}
	both.Wait()
	winner := "one"
	late := errs[1]
	if errs[0] != nil {
		winner, late = "two", errs[0]
	}
	if (errs[0] == nil) == (errs[1] == nil) || codeOf(late) != CodeSettled {
		t.Fatalf("the decisions came to %v and %v", errs[0], errs[1])
	}
	if e := late.(*Error); e.Approval == nil || e.Approval.By.FrontEnd != winner || !strings.Contains(e.Message, winner) {
		t.Errorf("the late one is told %+v", late)
	}
	for _, c := range []*Client{a, b} {
		got := await(w, c, "the decision", func(a Approval) bool { return a.State != approvals.Pending })
		if got.By.FrontEnd != winner || (got.State == approvals.Allowed) != (winner == "one") {
			t.Errorf("a front end sees %+v", got)
		}
	}
}

func TestErrorsOfSettle(t *testing.T) {
	w := newWorld(t, writeOne)
	c, _ := w.connect("one")
	if _, err := c.Settle(t.Context(), SettleParams{ID: "nothing"}); codeOf(err) != CodeUnknown {
		t.Errorf("an unknown id: %v", err)
	}
	if _, err := c.Show(t.Context(), ShowParams{ID: "nothing"}); codeOf(err) != CodeUnknown {
		t.Errorf("showing an unknown id: %v", err)
	}
	if err := c.Interrupt(t.Context()); codeOf(err) != CodeSession {
		t.Errorf("interrupting nothing: %v", err)
	}
	w.send(c, "go")
	a := w.pendingOf(c)
	// The target changes under the proposal: it is shown again on the new content.
	if err := os.WriteFile(a.Path, []byte("somebody else's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := c.Settle(t.Context(), SettleParams{ID: a.ID, Allow: true, How: "command"})
	if codeOf(err) != CodeStale {
		t.Fatalf("a stale proposal: %v", err)
	}
	next := err.(*Error).Approval
	if next == nil || next.ID == a.ID || next.State != approvals.Pending {
		t.Fatalf("the one that takes its place: %+v", next)
	}
	if _, err := c.Settle(t.Context(), SettleParams{ID: next.ID, Message: "not this", How: "command"}); err != nil {
		t.Error(err)
	}
	if got := w.read("a.txt"); got != "somebody else's\n" {
		t.Errorf("the file has %q", got)
	}
}

// A front end that goes decides nothing, however it goes.
func TestLosingAFrontEnd(t *testing.T) {
	w := newWorld(t, writeOne)
	a, _ := w.connect("one")
	w.send(a, "go")
	id := w.pendingOf(a).ID
	a.Close()
	b, at := w.connect("two")
	if len(at.Approvals) != 1 || at.Approvals[0].ID != id {
		t.Fatalf("pending afterwards: %+v", at.Approvals)
	}
	if _, err := b.Settle(t.Context(), SettleParams{ID: id, Allow: true, How: "command"}); err != nil {
		t.Fatal(err)
	}
	await(w, b, "the outcome", func(a Approval) bool { return a.Outcome.State == "verified" })
}

// Ending the hub in order withdraws what is pending; nothing is decided.
func TestStopWithdraws(t *testing.T) {
	w := newWorld(t, writeOne)
	c, at := w.connect("one")
	w.send(c, "go")
	id := w.pendingOf(c).ID
	if err := c.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := await(w, c, "the end of the approval", func(a Approval) bool { return a.State != approvals.Pending })
	if got.ID != id || got.State != approvals.Withdrawn {
		t.Errorf("the approval came to %+v", got)
	}
	for e := range c.Events() {
		if lost, ok := e.(Lost); ok && lost.Err != nil {
			t.Errorf("an orderly end is a loss: %v", lost.Err)
		}
	}
	if got := w.read("a.txt"); !strings.Contains(got, "no such file") {
		t.Errorf("the file has %q", got)
	}
	w.waitFor("hub.json's end", func() bool { return hasEnded(at.Storage) })
}

// A thousand requests at once arrive everywhere and in the same order.
func TestFlood(t *testing.T) {
	const n = 1000
	w := newWorld(t, `{"turns":[{"steps":[{"flood":{"count":1000,"path":"${DIR}/f%d.txt","text":"x\n"}}]}]}`)
	a, _ := w.connect("one")
	b, _ := w.connect("two")
	w.send(a, "go")
	var orders [2][]string
	for i, c := range []*Client{a, b} {
		seen := map[string]bool{}
		for len(seen) < n {
			p := w.pendingOf(c)
			if !seen[p.ID] {
				seen[p.ID] = true
				orders[i] = append(orders[i], p.ID)
			}
		}
	}
	if strings.Join(orders[0], " ") != strings.Join(orders[1], " ") {
		t.Error("the front ends see different orders")
	}
	list, err := a.Pending(t.Context())
	if err != nil || len(list) != n {
		t.Fatalf("%d pending, %v", len(list), err)
	}
	for _, p := range list[:50] {
		if _, err := a.Settle(t.Context(), SettleParams{ID: p.ID, Allow: true, How: "command"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.waitFor("the withdrawal of the rest", func() bool {
		list, err := a.Pending(t.Context())
		return err == nil && len(list) == 0
	})
}
