package approvals

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestWithdraw(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\n")
	req := b.edit(path, "one", "two")
	a := b.Register(req)
	os.WriteFile(a.Staged.Path, []byte("mine\n"), 0o600)
	got, ok := b.Withdraw(req.ID, "interrupted")
	if !ok || got.State != Withdrawn || got.Result.Behavior != "" || got.Reason != "interrupted" {
		t.Fatalf("%+v", got)
	}
	if _, again := b.Withdraw(req.ID, "interrupted"); again {
		t.Error("withdrawn twice")
	}
	if _, err := os.Stat(a.Staged.Path); err == nil {
		t.Error("the staged document is still there")
	}
	// What the person had amended is not lost, and the proposal stays readable.
	var kept, settled Record
	for _, r := range b.records() {
		switch r.Kind {
		case RecordKept:
			kept = r
		case RecordSettled:
			settled = r
		}
	}
	if kept.Text != "mine\n" || kept.ID != a.ID || !strings.Contains(settled.Diff, "+two") {
		t.Errorf("kept %+v\nsettled %+v", kept, settled)
	}
	_, _, err := b.Settle(a.ID, Decision{Allow: true, By: me})
	if err == nil || !strings.Contains(err.Error(), "withdrawn") || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("%v", err)
	}
}

func TestWithdrawSession(t *testing.T) {
	b := newBench(t)
	var ids []string
	for i := range 6 {
		req := b.bash("ls")
		req.Session = fmt.Sprint("s", i%2)
		ids = append(ids, b.Register(req).ID)
	}
	gone := b.WithdrawSession("s1", "the agent ended")
	var got []string
	for _, a := range gone {
		got = append(got, a.ID)
	}
	if !slices.Equal(got, []string{ids[1], ids[3], ids[5]}) {
		t.Errorf("%v of %v", got, ids)
	}
	got = nil
	for _, a := range b.Pending() {
		got = append(got, a.ID)
	}
	if !slices.Equal(got, []string{ids[0], ids[2], ids[4]}) {
		t.Errorf("pending %v of %v", got, ids)
	}
}

func TestSameWireIDs(t *testing.T) {
	b := newBench(t)
	req := b.bash("ls")
	first := b.Register(req)
	// An agent that is asked for its open requests lists them again.
	if again := b.Register(req); again.ID != first.ID || len(b.Pending()) != 1 {
		t.Errorf("registered twice: %s, %s", first.ID, again.ID)
	}
	// The same id for something else: what is shown is what runs.
	other := req
	other.Input = []byte(`{"command":"rm x"}`)
	second := b.Register(other)
	if now, _ := b.Get(first.ID); now.State != Withdrawn || second.ID == first.ID {
		t.Errorf("first %s", now.State)
	}
	if _, err := os.Stat(first.Staged.Path); err == nil {
		t.Error("the first one's document is still there")
	}
	// Settled, and asked again: a new approval, no old answer.
	b.Settle(second.ID, Decision{Allow: true, By: me})
	if third := b.Register(other); third.State != Pending || third.ID == second.ID {
		t.Errorf("an old answer for a new request: %+v", third)
	}
	// Two sessions with the same id.
	theirs := req
	theirs.Session = "s2"
	fourth := b.Register(theirs)
	if len(b.Pending()) != 2 {
		t.Errorf("%d pending", len(b.Pending()))
	}
	if got, ok := b.WithdrawIn("s2", req.ID, "x"); !ok || got.ID != fourth.ID {
		t.Errorf("%+v", got)
	}
	// Two sessions with the same id and the same input, which are two questions.
	a := b.Register(req)
	if z := b.Register(theirs); z.ID == a.ID || z.Request.Session != "s2" {
		t.Errorf("the request of session s2 was taken for that of %s", z.Request.Session)
	}
	// Two tools with the same input.
	tool := req
	tool.Tool = "PowerShell"
	if z := b.Register(tool); z.ID == a.ID || z.Request.Tool != "PowerShell" {
		t.Errorf("the request for PowerShell was taken for one for %s", z.Request.Tool)
	}
}

func TestNotifyInOrderAndReentrant(t *testing.T) {
	var b *bench
	depth := 0
	var order []string
	b = newBench(t, func(o *DeskOptions) {
		o.Notify = func(a Approval) { // never called by two at once
			depth++
			if depth > 1 {
				t.Error("told while being told")
			}
			order = append(order, a.ID+" "+string(a.State))
			if a.State == Pending && a.Request.Tool == "Bash" {
				b.Pending()
				if _, _, err := b.Settle(a.ID, Decision{By: me}); err != nil {
					t.Error(err)
				}
			}
			depth--
		}
	})
	a := b.Register(b.bash("ls"))
	if now, _ := b.Get(a.ID); now.State != Denied {
		t.Fatalf("%s", now.State)
	}
	if want := []string{a.ID + " pending", a.ID + " denied"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

func TestManyAtOnce(t *testing.T) {
	var mu sync.Mutex
	last := map[string]State{}
	b := newBench(t, func(o *DeskOptions) {
		o.Notify = func(a Approval) {
			mu.Lock()
			defer mu.Unlock()
			if before, ok := last[a.ID]; ok && before != Pending && a.State != before {
				t.Errorf("%s: %s after %s", a.ID, a.State, before)
			}
			last[a.ID] = a.State
		}
	})
	path := b.file("a.txt", "one\n")
	reqs := make([]Request, 120)
	for i := range reqs {
		if i%3 == 0 {
			reqs[i] = b.edit(path, "one", fmt.Sprint(i))
		} else {
			reqs[i] = b.bash(fmt.Sprint("echo ", i))
		}
	}
	var wg sync.WaitGroup
	for i, req := range reqs {
		wg.Go(func() {
			a := b.Register(req)
			switch i % 4 {
			case 0:
				b.Withdraw(req.ID, "x")
			case 1:
				b.Settle(a.ID, Decision{Allow: true, By: me})
				b.Answered(a.ID, nil)
			case 2:
				b.Settle(a.ID, Decision{By: me})
			}
			b.Returned(req.ToolUseID, false, "")
			b.Get(a.ID)
			b.Pending()
		})
	}
	wg.Wait()
	mu.Lock()
	defer mu.Unlock()
	if n := len(b.Pending()); n != 30 || len(last) != 120 {
		t.Errorf("%d pending, %d told", n, len(last))
	}
	for _, a := range b.Pending() {
		if last[a.ID] != Pending {
			t.Errorf("%s was told as %s", a.ID, last[a.ID])
		}
	}
	b.records()
}

func TestSettledAreForgottenInTime(t *testing.T) {
	b := newBench(t, func(o *DeskOptions) { o.Stage, o.Journal = nil, nil })
	var first, last Approval
	for i := range maxSettled + 10 {
		a := b.Register(b.bash("ls"))
		if _, _, err := b.Settle(a.ID, Decision{By: me}); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = a
		}
		last = a
	}
	if _, ok := b.Get(first.ID); ok {
		t.Error("the first is still remembered")
	}
	if a, ok := b.Get(last.ID); !ok || a.Document != nil || a.By.FrontEnd != "test" {
		t.Errorf("%+v", a)
	}
	if n := len(b.byID); n != maxSettled {
		t.Errorf("%d remembered", n)
	}
	if n := len(b.byToolUse); n != maxSettled {
		t.Errorf("%d tool uses remembered", n)
	}
}

func TestAnswerThatDoesNotArrive(t *testing.T) {
	b := newBench(t)
	a := b.Register(b.bash("ls"))
	b.Settle(a.ID, Decision{Allow: true, By: me})
	b.Answered(a.ID, errors.New("broken pipe"))
	now, _ := b.Get(a.ID)
	if now.Outcome.State != OutcomeFailed || !strings.Contains(now.Outcome.Detail, "broken pipe") {
		t.Errorf("%+v", now.Outcome)
	}
}

func TestKeep(t *testing.T) {
	b := newBench(t)
	if err := b.Keep("unknown-1", "my text\n"); err != nil {
		t.Fatal(err)
	}
	if r := b.records()[0]; r.Kind != RecordKept || r.Text != "my text\n" || r.ID != "unknown-1" {
		t.Errorf("%+v", r)
	}
	full(t, b.journal)
	if err := b.Keep("unknown-1", "x"); err == nil {
		t.Error("no error")
	}
}
