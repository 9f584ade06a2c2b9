package approvals

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"countersign/staging"
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

// What an agent can do to a staged document behind a person's back.
func TestStagedDocumentIsNotTrusted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symlinks of unix")
	}
	for name, attack := range map[string]func(t *testing.T, path string){
		"symlink": func(t *testing.T, path string) {
			other := filepath.Join(t.TempDir(), "other")
			os.WriteFile(other, []byte("evil\n"), 0o600)
			os.Remove(path)
			os.Symlink(other, path)
		},
		"folder": func(t *testing.T, path string) { os.Remove(path); os.Mkdir(path, 0o700) },
		"folder linked": func(t *testing.T, path string) {
			os.Rename(filepath.Dir(path), filepath.Dir(path)+"x")
			os.Symlink(filepath.Dir(path)+"x", filepath.Dir(path))
		},
		"no text": func(t *testing.T, path string) { os.WriteFile(path, []byte("a\xff\x00"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a := b.Register(b.edit(b.file("a.txt", "one\n"), "one", "two"))
			attack(t, a.Staged.Path)
			refusedWith(t, b, a.ID, Decision{Allow: true, By: me}, "")
			// The editor's own text is another matter: it was not read from there.
			got, _, err := b.Settle(a.ID, Decision{Allow: true, Text: ptr("two\n"), By: me})
			if err != nil || got.Amended {
				t.Errorf("%v", err)
			}
		})
	}
	t.Run("changed", func(t *testing.T) {
		b := newBench(t)
		a := b.Register(b.bash("ls"))
		refused := func(shown, words string) {
			t.Helper()
			refusedWith(t, b, a.ID, Decision{Allow: true, Shown: shown, By: me}, words)
			refusedWith(t, b, a.ID, Decision{Allow: true, Shown: shown, ForSession: true, By: me}, words)
		}
		os.WriteFile(a.Staged.Path, []byte("rm x\n"), 0o600)
		refused("", "was changed since the agent asked")
		refused(a.Staged.Print.Hash, "was changed since you were shown it")
		refused(hashOf([]byte("rm y\n")), "was changed since you were shown it")
		got, notes, err := b.Settle(a.ID, Decision{Allow: true, Shown: hashOf([]byte("rm x\n")), By: me})
		if len(notes) != 0 {
			t.Errorf("notes %v", notes)
		}
		if err != nil || !got.Amended || !strings.Contains(got.Amendment, "+rm x") {
			t.Errorf("a change of the staged document is not told: %+v, %v", got, err)
		}
	})
	t.Run("changed and back", func(t *testing.T) {
		b := newBench(t)
		a := b.Register(b.bash("ls"))
		os.WriteFile(a.Staged.Path, []byte("rm x\n"), 0o600)
		os.WriteFile(a.Staged.Path, []byte("ls\n"), 0o600)
		got, _, err := b.Settle(a.ID, Decision{Allow: true, Shown: hashOf([]byte("rm x\n")), By: me})
		if err != nil || got.Amended {
			t.Errorf("%+v, %v", got, err)
		}
	})
	// The ticks of a question and the choice of a plan's mode are such a text too.
	for tool, change := range map[string][]string{"AskUserQuestion": {"[ ] A", "[x] A"}, "ExitPlanMode": {"[x] ask", "[ ] ask"}} {
		t.Run(tool, func(t *testing.T) {
			b := newBench(t)
			input := planInput
			if tool == "AskUserQuestion" {
				input = `{"questions":[{"question":"Which?","header":"W","options":[{"label":"A","description":""},{"label":"B","description":""}],"multiSelect":false}]}`
			}
			a := b.Register(b.request(tool, input))
			text := replaced(t, a.Document.Text(), change...)
			os.WriteFile(a.Staged.Path, []byte(text), 0o600)
			refusedWith(t, b, a.ID, Decision{Allow: true, By: me}, "was changed since the agent asked")
		})
	}
}

// What is staged is needed from before it is written until it is decided on.
func TestNeeds(t *testing.T) {
	var b *bench
	staged := map[string]bool{}
	b = newBench(t, func(o *DeskOptions) {
		stage := o.Stage
		o.Stage = func(id, name, content string) (staging.Staged, error) {
			staged[id] = b.Needs(id)
			return stage(id, name, content)
		}
		o.StageHashed = nil
	})
	a := b.Register(b.edit(b.file("a.txt", "one\n"), "one", "two"))
	if !staged[a.ID] || !b.Needs(a.ID) || b.Needs("other") {
		t.Errorf("staged %v, then %v", staged[a.ID], b.Needs(a.ID))
	}
	b.file("a.txt", "zero\none\n")
	_, _, err := b.Settle(a.ID, Decision{Allow: true, By: me})
	var stale *StaleError
	if !errors.As(err, &stale) {
		t.Fatal(err)
	}
	if b.Needs(a.ID) || !staged[stale.New.ID] || !b.Needs(stale.New.ID) {
		t.Error("of the two in place of each other the wrong one is needed")
	}
	if _, _, err := b.Settle(stale.New.ID, Decision{Message: "no", By: me}); err != nil || b.Needs(stale.New.ID) {
		t.Errorf("a settled one is needed, %v", err)
	}
	if n := len(b.preparing); n != 0 {
		t.Errorf("%d are being prepared", n)
	}
}

func TestStagedDocumentGone(t *testing.T) {
	b := newBench(t)
	a := b.Register(b.bash("ls"))
	os.RemoveAll(filepath.Dir(a.Staged.Path))
	refusedWith(t, b, a.ID, Decision{Allow: true, By: me}, "look at it first")
	now, _ := b.Get(a.ID)
	if got, err := os.ReadFile(now.Staged.Path); err != nil || string(got) != "ls\n" {
		t.Fatalf("%q, %v", got, err)
	}
	if got, _, err := b.Settle(a.ID, Decision{Allow: true, By: me}); err != nil || got.Amended {
		t.Errorf("%v", err)
	}
}

func TestStagingFails(t *testing.T) {
	b := newBench(t, func(o *DeskOptions) {
		o.Stage = func(id, name, content string) (staging.Staged, error) {
			return staging.Staged{}, errors.New("stage /x: no space left on device")
		}
	})
	a := b.Register(b.edit(b.file("a.txt", "one\n"), "one", "two"))
	if a.State != Pending || a.Staged != nil || !slices.ContainsFunc(a.Notes, func(n Note) bool { return n.Warning && strings.Contains(n.Text, "no space") }) {
		t.Fatalf("%+v", a)
	}
	if got, _, err := b.Settle(a.ID, Decision{Allow: true, By: me}); err != nil || string(got.Want) != "two\n" {
		t.Errorf("%v", err)
	}
}

func TestPanelStagesNothingForFiles(t *testing.T) {
	b := newBench(t)
	b.SetPolicy(Policy{ReviewEdits: "panel"})
	path := b.file("a.txt", "one\n")
	a := b.Register(b.edit(path, "one", "two"))
	if a.Surface != SurfacePanel || a.Staged != nil || a.Document.Text() != "two\n" {
		t.Fatalf("%+v", a)
	}
	if c := b.Register(b.bash("ls")); c.Staged == nil {
		t.Error("a command is not staged")
	}
	// Stale all the same.
	b.file("a.txt", "zero\none\n")
	_, _, err := b.Settle(a.ID, Decision{Allow: true, By: me})
	var stale *StaleError
	if !errors.As(err, &stale) || stale.New.Document.Text() != "zero\ntwo\n" {
		t.Fatalf("%v", err)
	}
	if got, _, err := b.Settle(stale.New.ID, Decision{Allow: true, By: me}); err != nil || string(got.Want) != "zero\ntwo\n" {
		t.Fatalf("%v", err)
	}
}

func TestTwoChangesOfOneFile(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\ntwo\nthree\n")
	r1 := b.edit(path, "one\n", "one\nand a half\n")
	first := b.Register(r1)
	second := b.Register(b.edit(path, "three", "THREE"))
	other := b.Register(b.edit(b.file("b.txt", "x\n"), "x", "y"))
	if _, _, err := b.Settle(first.ID, Decision{Allow: true, By: me}); err != nil {
		t.Fatal(err)
	}
	b.file("a.txt", "one\nand a half\ntwo\nthree\n")
	if a, _ := b.Returned(r1.ToolUseID, false, ""); a.Outcome.State != OutcomeVerified {
		t.Fatalf("%+v", a.Outcome)
	}
	now, _ := b.Get(second.ID)
	if len(now.Notes) != len(second.Notes)+1 || !now.Notes[len(now.Notes)-1].Warning {
		t.Errorf("nothing says that the file has changed: %v", now.Notes)
	}
	if o, _ := b.Get(other.ID); len(o.Notes) != len(other.Notes) {
		t.Errorf("another file's change has a note: %v", o.Notes)
	}
	_, _, err := b.Settle(second.ID, Decision{Allow: true, By: me})
	var stale *StaleError
	if !errors.As(err, &stale) {
		t.Fatal(err)
	}
	got, _, err := b.Settle(stale.New.ID, Decision{Allow: true, By: me})
	if err != nil || string(got.Want) != "one\nand a half\ntwo\nTHREE\n" || got.Amended {
		t.Fatalf("%q, %v", got.Want, err)
	}
	// A deny needs no look at the file.
	b.file("b.txt", "z\n")
	if _, _, err := b.Settle(other.ID, Decision{By: me}); err != nil {
		t.Error(err)
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

func TestReadTarget(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadTarget(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err := ReadTarget(dir); err == nil {
		t.Error("read a folder")
	}
	big := strings.Repeat("x", 100_000)
	os.WriteFile(filepath.Join(dir, "big"), []byte(big), 0o600)
	if got, err := ReadTarget(filepath.Join(dir, "big")); err != nil || string(got) != big {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func benchDesk(b *testing.B, n int) (*Desk, func() Request) {
	store, err := staging.Open(filepath.Join(b.TempDir(), "storage"))
	if err != nil {
		b.Fatal(err)
	}
	j, err := OpenJournal(filepath.Join(store.Dir(), "journal.jsonl"), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { j.Close(); store.Close() })
	d := NewDesk(DeskOptions{Now: time.Now, Stage: store.Stage, Unstage: func(id string) { store.Remove(id) }, Journal: j})
	path := filepath.Join(b.TempDir(), "a.go")
	content := strings.Repeat("a line of a file that is changed\n", 200<<10/33) + "two\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
	i := 0
	next := func() Request {
		i++
		return Request{
			ID: fmt.Sprintf("request-%08d", i), Tool: "Edit", Session: "s", ToolUseID: fmt.Sprint("t", i),
			Input: []byte(fmt.Sprintf(`{"file_path":%q,"old_string":"two","new_string":"TWO"}`, path)),
		}
	}
	for range n {
		r := next()
		r.Tool, r.Input = "Bash", []byte(`{"command":"ls"}`)
		d.Register(r)
	}
	return d, next
}

// BenchmarkRegister and BenchmarkSettle use a 200 KB file, with few and with
// many other approvals pending.
func BenchmarkRegister(b *testing.B) {
	for _, n := range []int{0, 1000} {
		b.Run(fmt.Sprint("pending=", n), func(b *testing.B) {
			d, next := benchDesk(b, n)
			for b.Loop() {
				a := d.Register(next())
				b.StopTimer()
				d.Settle(a.ID, Decision{})
				d.Answered(a.ID, nil)
				b.StartTimer()
			}
		})
	}
}

func BenchmarkSettle(b *testing.B) {
	for _, n := range []int{0, 1000} {
		b.Run(fmt.Sprint("pending=", n), func(b *testing.B) {
			d, next := benchDesk(b, n)
			for b.Loop() {
				b.StopTimer()
				a := d.Register(next())
				text := a.Document.Text() // as the editor that saved it read it back
				b.StartTimer()
				if _, _, err := d.Settle(a.ID, Decision{Allow: true, Text: &text}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				d.Answered(a.ID, nil)
				b.StartTimer()
			}
		})
	}
}

func BenchmarkPending1000(b *testing.B) {
	d, _ := benchDesk(b, 1000)
	for b.Loop() {
		d.Pending()
	}
}
