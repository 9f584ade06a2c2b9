package approvals

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"countersign/staging"
)

func TestMain(m *testing.M) {
	invariantBroken = func(what string) { panic(what) }
	goleak.VerifyTestMain(m)
}

// A bench is a desk on a real storage with everything that it told.
type bench struct {
	*Desk
	t       *testing.T
	dir     string // the workspace
	store   *staging.Store
	journal *Journal
	mu      sync.Mutex
	told    []Approval
	n       int
}

func newBench(t *testing.T, change ...func(*DeskOptions)) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir()}
	var err error
	if b.store, err = staging.Open(filepath.Join(t.TempDir(), "storage")); err != nil {
		t.Fatal(err)
	}
	if b.journal, err = OpenJournal(filepath.Join(b.store.Dir(), "journal.jsonl"), time.Now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.journal.Close(); b.store.Close() })
	o := DeskOptions{
		Now: time.Now, Stage: b.store.Stage, Journal: b.journal,
		Unstage: func(id string) { b.store.Remove(id) },
		Notify: func(a Approval) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.told = append(b.told, a)
		},
	}
	for _, c := range change {
		c(&o)
	}
	b.Desk = NewDesk(o)
	return b
}

// records are the journal's, after its chain was checked.
func (b *bench) records() []Record {
	b.t.Helper()
	path := filepath.Join(b.store.Dir(), "journal.jsonl")
	if _, err := VerifyChain(path); err != nil {
		b.t.Fatal(err)
	}
	r, err := ReadJournal(path)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// kinds are the records of one approval, in short.
func (b *bench) kinds(id string) string {
	var s []string
	for _, r := range b.records() {
		if r.ID == id {
			s = append(s, string(r.Kind))
		}
	}
	return strings.Join(s, " ")
}

func (b *bench) states() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var s []string
	for _, a := range b.told {
		s = append(s, string(a.State))
	}
	return strings.Join(s, " ")
}

func (b *bench) file(name, content string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

func (b *bench) request(tool string, input any) Request {
	b.t.Helper()
	raw, ok := input.(string)
	if !ok {
		v, err := json.Marshal(input, json.Deterministic(true))
		if err != nil {
			b.t.Fatal(err)
		}
		raw = string(v)
	}
	b.n++
	return Request{ID: fmt.Sprintf("request-%08d", b.n), Tool: tool, Input: jsontext.Value(raw), ToolUseID: fmt.Sprintf("toolu_%d", b.n), Session: "s1", Dir: b.dir}
}

func (b *bench) edit(path, old, put string) Request {
	return b.request("Edit", map[string]any{"file_path": path, "old_string": old, "new_string": put, "replace_all": false})
}

func (b *bench) bash(command string) Request {
	return b.request("Bash", map[string]any{"command": command})
}

// memberText is a string member of a result's input.
func memberText(t *testing.T, v jsontext.Value, name string) string {
	t.Helper()
	in, err := takeApart(v)
	if err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	s, err := in.text(name)
	if err != nil {
		t.Fatalf("%s: %v", v, err)
	}
	return s
}

func ptr[T any](v T) *T { return &v }

var me = By{FrontEnd: "test", How: "command"}

func TestAllowUnamended(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\ntwo\nthree\n")
	req := b.edit(path, "two", "TWO")
	a := b.Register(req)
	if a.State != Pending || a.Surface != SurfaceProposal || a.Staged == nil || a.Title != "Edit a.txt" || a.Path != path {
		t.Fatalf("%+v", a)
	}
	if got, _ := os.ReadFile(a.Staged.Path); string(got) != "one\nTWO\nthree\n" {
		t.Fatalf("staged %q", got)
	}
	got, notes, err := b.Settle(a.ID, Decision{Allow: true, By: me})
	if err != nil || len(notes) > 0 {
		t.Fatal(err, notes)
	}
	if got.State != Allowed || got.Amended || string(got.Result.UpdatedInput) != string(req.Input) || got.Result.Behavior != "allow" {
		t.Fatalf("%+v", got.Result)
	}
	if string(got.Want) != "one\nTWO\nthree\n" {
		t.Fatalf("want %q", got.Want)
	}
	b.Answered(a.ID, nil)
	if _, err := os.Stat(a.Staged.Path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the staged document is still there: %v", err)
	}
	b.file("a.txt", "one\nTWO\nthree\n")
	out, ok := b.Returned(req.ToolUseID, false, "updated")
	if !ok || out.Outcome.State != OutcomeVerified {
		t.Fatalf("%+v", out.Outcome)
	}
	if got := b.kinds(a.ID); got != "registered settled answered outcome" {
		t.Errorf("journal: %s", got)
	}
	if got := b.states(); got != "pending allowed allowed" {
		t.Errorf("told: %s", got)
	}
}

func TestAllowAmended(t *testing.T) {
	const text = "one\nZWEI\nthree\n"
	for name, how := range map[string]func(a Approval) Decision{
		"text given": func(Approval) Decision { return Decision{Text: ptr(text)} },
		"as staged": func(a Approval) Decision {
			os.WriteFile(a.Staged.Path, []byte(text), 0o600)
			return Decision{Shown: hashOf([]byte(text))}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			path := b.file("a.txt", "one\ntwo\nthree\n")
			a := b.Register(b.edit(path, "two", "TWO"))
			dec := how(a)
			dec.Allow, dec.By = true, me
			got, _, err := b.Settle(a.ID, dec)
			if err != nil {
				t.Fatal(err)
			}
			if !got.Amended || string(got.Want) != "one\nZWEI\nthree\n" || !strings.Contains(got.Amendment, "-TWO\n+ZWEI\n") {
				t.Fatalf("%+v", got)
			}
			if memberText(t, got.Result.UpdatedInput, "new_string") != "one\nZWEI\nthree\n" || memberText(t, got.Result.UpdatedInput, "file_path") != path {
				t.Errorf("%s", got.Result.UpdatedInput)
			}
		})
	}
}

func TestDenyMessages(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\n")
	question := `{"questions":[{"question":"Which?","header":"W","options":[{"label":"A","description":""}],"multiSelect":false}]}`
	for _, c := range []struct {
		req       Request
		said      string
		interrupt bool
		want      string
	}{
		{b.edit(path, "one", "two"), "", false, "The user declined this change."},
		{b.edit(path, "one", "two"), " use three ", false, "The user declined this change and says: use three"},
		{b.edit(path, "one", "two"), "no", true, "The user declined this change and says: no"},
		{b.bash("ls"), "", false, "The user declined this command."},
		{b.request("mcp__x__y", "{}"), "", false, "The user declined this use of mcp__x__y."},
		{b.request("AskUserQuestion", question), "", false, "The user declined to answer these questions."},
		{b.request("ExitPlanMode", `{"plan":"# P"}`), "", false, "The user declined this plan and wants to keep planning."},
		{b.request("ExitPlanMode", `{"plan":"# P"}`), "shorter", false, "The user declined this plan and wants to keep planning and says: shorter"},
	} {
		a := b.Register(c.req)
		got, notes, err := b.Settle(a.ID, Decision{Message: c.said, Interrupt: c.interrupt, By: me})
		if err != nil || got.State != Denied || got.Result.Behavior != "deny" || got.Result.Message != c.want || got.Result.Interrupt != c.interrupt {
			t.Errorf("%s: %+v, %v", c.req.Tool, got.Result, err)
		}
		if c.interrupt != (len(notes) == 1) {
			t.Errorf("notes %v", notes)
		}
	}
}

func TestRestoredIsADeny(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\ntwo\n")
	a := b.Register(b.edit(path, "two", "TWO"))
	got, notes, err := b.Settle(a.ID, Decision{Allow: true, Text: ptr("one\ntwo\n"), By: me})
	if err != nil || got.State != Denied || got.Result.Behavior != "deny" || got.Amended || len(notes) == 0 {
		t.Fatalf("%+v, %v, %v", got, notes, err)
	}
	if !strings.Contains(got.Result.Message, "restored") {
		t.Errorf("%q", got.Result.Message)
	}
}

func TestFirstDecisionWins(t *testing.T) {
	b := newBench(t)
	a := b.Register(b.bash("ls"))
	if _, _, err := b.Settle(a.ID, Decision{By: By{FrontEnd: "Neovim 0.10.4", How: "close"}}); err != nil {
		t.Fatal(err)
	}
	_, _, err := b.Settle(a.ID, Decision{Allow: true, By: me})
	var late *SettledError
	if !errors.As(err, &late) || late.Approval.State != Denied {
		t.Fatalf("%v", err)
	}
	for _, w := range []string{a.ID, "denied", "Neovim 0.10.4", "close"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%q does not say %q", err, w)
		}
	}
	_, _, err = b.Settle("nosuch-1", Decision{Allow: true})
	var unknown *UnknownError
	if !errors.As(err, &unknown) || unknown.ID != "nosuch-1" {
		t.Errorf("%v", err)
	}
	if got := b.kinds(a.ID); got != "registered settled refused" {
		t.Errorf("journal: %s", got)
	}
	if got := b.kinds("nosuch-1"); got != "refused" {
		t.Errorf("journal: %s", got)
	}
}

func TestRacingDecisions(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\n")
	for range 40 {
		req := b.edit(path, "one", "two")
		a := b.Register(req)
		var mu sync.Mutex
		won := map[string]int{}
		win := func(how string) { mu.Lock(); won[how]++; mu.Unlock() }
		var wg sync.WaitGroup
		for i := range 6 {
			wg.Go(func() {
				got, _, err := b.Settle(a.ID, Decision{Allow: i%2 == 0, By: By{FrontEnd: fmt.Sprint(i)}})
				var late *SettledError
				switch {
				case err == nil:
					win(string(got.State))
				case !errors.As(err, &late):
					t.Error(err)
				}
			})
		}
		wg.Go(func() {
			if _, ok := b.Withdraw(req.ID, "interrupted"); ok {
				win("withdrawn")
			}
		})
		wg.Wait()
		total := 0
		for _, n := range won {
			total += n
		}
		now, _ := b.Get(a.ID)
		if total != 1 || won[string(now.State)] != 1 {
			t.Fatalf("won: %v, state %s", won, now.State)
		}
	}
	if len(b.Pending()) != 0 {
		t.Error("something is pending")
	}
	b.records()
}

func TestStaleIsRebuilt(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\ntwo\nthree\nfour\nfive\n")
	a := b.Register(b.edit(path, "two", "TWO"))
	b.file("a.txt", "zero\none\ntwo\nthree\nfour\nfive\n")
	_, _, err := b.Settle(a.ID, Decision{Allow: true, Text: ptr("one\nTWO\nthree\nfour\nFIVE\n"), By: me})
	var stale *StaleError
	if !errors.As(err, &stale) {
		t.Fatalf("%v", err)
	}
	if stale.Old.State != Withdrawn || stale.Old.ReplacedBy != stale.New.ID || stale.New.State != Pending || stale.New.ID == a.ID || stale.New.Request.ID != a.Request.ID {
		t.Fatalf("old %+v\nnew %+v", stale.Old, stale.New)
	}
	const merged = "zero\none\nTWO\nthree\nfour\nFIVE\n"
	if got, _ := os.ReadFile(stale.New.Staged.Path); string(got) != merged {
		t.Fatalf("merged %q", got)
	}
	if got := stale.New.Document.Text(); got != "zero\none\nTWO\nthree\nfour\nfive\n" {
		t.Fatalf("proposed %q", got)
	}
	got, _, err := b.Settle(stale.New.ID, Decision{Allow: true, By: me})
	if err != nil || string(got.Want) != merged || !got.Amended {
		t.Fatalf("%+v, %v", got, err)
	}
	if got := b.kinds(a.ID); got != "registered replaced" {
		t.Errorf("journal: %s", got)
	}
	_, _, err = b.Settle(a.ID, Decision{Allow: true, By: me})
	if err == nil || !strings.Contains(err.Error(), stale.New.ID) {
		t.Errorf("%v does not name its successor", err)
	}
}

func TestStaleAndNoMoreApplicable(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\ntwo\n")
	a := b.Register(b.edit(path, "two", "TWO"))
	b.file("a.txt", "something else\n")
	_, _, err := b.Settle(a.ID, Decision{Allow: true, Text: ptr("one\nZWEI\n"), By: me})
	var stale *StaleError
	if !errors.As(err, &stale) || stale.New.Surface != SurfacePanel || !slices.ContainsFunc(stale.New.Notes, func(n Note) bool { return n.Warning }) {
		t.Fatalf("%v", err)
	}
	if filepath.Base(stale.New.Staged.Path) != "input.json" {
		t.Errorf("staged %s", stale.New.Staged.Path)
	}
	if got := b.kinds(a.ID); got != "registered replaced kept" {
		t.Errorf("journal: %s", got)
	}
}

func TestStaleConflictMustBeResolved(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\ntwo\nthree\n")
	a := b.Register(b.request("Write", map[string]any{"file_path": path, "content": "one\nTWO\nthree\n"}))
	b.file("a.txt", "one\nnew\nthree\n")
	a2 := b.Register(b.edit(path, "new", "x"))
	b.file("a.txt", "one\nnew line\nthree\n")
	_ = a
	_, _, err := b.Settle(a2.ID, Decision{Allow: true, Text: ptr("one\nmine\nthree\n"), By: me})
	var stale *StaleError
	if !errors.As(err, &stale) {
		t.Fatal(err)
	}
	_, _, err = b.Settle(stale.New.ID, Decision{Allow: true, By: me})
	var refused *RefusedError
	if !errors.As(err, &refused) || refused.Line == 0 || !strings.Contains(refused.Reason, "conflict") {
		t.Fatalf("%v", err)
	}
	if _, _, err = b.Settle(stale.New.ID, Decision{Allow: true, Text: ptr("one\nmine\nthree\n"), By: me}); err != nil {
		t.Fatal(err)
	}
}

func TestMismatch(t *testing.T) {
	for name, c := range map[string]struct {
		after   string
		isError bool
		state   string
	}{
		"other content": {"one\nother\n", false, OutcomeMismatch},
		"nothing done":  {"one\ntwo\n", false, OutcomeMismatch},
		"tool failed":   {"one\ntwo\n", true, OutcomeFailed},
		"as approved":   {"one\nTWO\n", false, OutcomeVerified},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			path := b.file("a.txt", "one\ntwo\n")
			req := b.edit(path, "two", "TWO")
			a := b.Register(req)
			if _, _, err := b.Settle(a.ID, Decision{Allow: true, By: me}); err != nil {
				t.Fatal(err)
			}
			b.file("a.txt", c.after)
			got, ok := b.Returned(req.ToolUseID, c.isError, "text")
			if !ok || got.Outcome.State != c.state {
				t.Fatalf("%+v", got.Outcome)
			}
			if last := b.told[len(b.told)-1]; last.Outcome != got.Outcome {
				t.Error("nobody was told")
			}
			if _, again := b.Returned(req.ToolUseID, false, ""); again {
				t.Error("a second result counted")
			}
		})
	}
	b := newBench(t)
	req := b.bash("ls")
	a := b.Register(req)
	b.Settle(a.ID, Decision{By: me})
	if _, ok := b.Returned(req.ToolUseID, true, "declined"); ok {
		t.Error("the error of a declined tool is an outcome")
	}
	if got, ok := b.Returned(req.ToolUseID, false, "ran"); !ok || got.Outcome.State != OutcomeMismatch {
		t.Errorf("a declined tool that ran: %+v", got.Outcome)
	}
}
