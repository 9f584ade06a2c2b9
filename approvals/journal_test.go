package approvals

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

func openJournal(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := OpenJournal(path, func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func journalPath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "journal.jsonl")
}

func note(t *testing.T, j *Journal, event string) {
	t.Helper()
	if err := j.Note(event, map[string]string{"k": "v\n\u202e"}); err != nil {
		t.Fatal(err)
	}
}

func events(t *testing.T, path string) string {
	t.Helper()
	rs, err := ReadJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	var s []string
	for _, r := range rs {
		switch {
		case r.Kind == RecordNote:
			s = append(s, r.Event)
		default:
			s = append(s, string(r.Kind))
		}
	}
	return strings.Join(s, " ")
}

func TestJournalChainAcrossRestarts(t *testing.T) {
	path := journalPath(t)
	for i := range 4 {
		j := openJournal(t, path)
		note(t, j, fmt.Sprint("a", i))
		note(t, j, fmt.Sprint("b", i))
		if err := j.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		if err := j.Note("late", nil); err == nil {
			t.Error("a closed journal takes records")
		}
		if err := j.Flush(); err != nil {
			t.Errorf("flush after close: %v", err)
		}
	}
	if n, err := VerifyChain(path); n != 8 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if got := events(t, path); got != "a0 b0 a1 b1 a2 b2 a3 b3" {
		t.Error(got)
	}
	if fi, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", fi.Mode(), err)
	}
}

func TestJournalTornLine(t *testing.T) {
	for name, c := range map[string]struct{ tail, want string }{
		"half a record":   {`{"seq":3,"time":"2026-01-0`, "one two repaired three"},
		"whole but open":  {`{"seq":3,"time":"2026-01-02T03:04:05Z","kind":"note","prev":""}`, "one two repaired three"},
		"zeros":           {strings.Repeat("\x00", 5000), "one two repaired three"},
		"line of garbage": {"garbage\n", "one two unreadable repaired three"},
		"nothing":         {"", "one two three"},
	} {
		t.Run(name, func(t *testing.T) {
			path := journalPath(t)
			j := openJournal(t, path)
			note(t, j, "one")
			note(t, j, "two")
			j.Close()
			f, _ := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			f.WriteString(c.tail)
			f.Close()
			j = openJournal(t, path)
			note(t, j, "three")
			j.Close()
			if got := events(t, path); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if _, err := VerifyChain(path); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("only a torn line", func(t *testing.T) {
		path := journalPath(t)
		os.WriteFile(path, []byte("{"), 0o600)
		j := openJournal(t, path)
		note(t, j, "one")
		j.Close()
		if got := events(t, path); got != "repaired one" {
			t.Error(got)
		}
		if _, err := VerifyChain(path); err != nil {
			t.Error(err)
		}
	})
}

func TestJournalLongLines(t *testing.T) {
	path := journalPath(t)
	j := openJournal(t, path)
	long := strings.Repeat("x", 300<<10)
	for range 3 {
		if err := j.Append(Record{Kind: RecordKept, Text: long}); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	j = openJournal(t, path)
	note(t, j, "end")
	j.Close()
	if n, err := VerifyChain(path); n != 4 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
}

func TestVerifyChainNamesTheLine(t *testing.T) {
	path := journalPath(t)
	j := openJournal(t, path)
	for i := range 6 {
		note(t, j, fmt.Sprint("event", i))
	}
	j.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	join := func(l ...[]byte) []byte { return bytes.Join(l, nil) }
	for name, c := range map[string]struct {
		data []byte
		line int64
	}{
		"changed":     {bytes.Replace(data, []byte("event2"), []byte("eventX"), 1), 4},
		"removed":     {join(lines[0], lines[1], lines[3], lines[4], lines[5]), 3},
		"doubled":     {join(lines[0], lines[0], lines[1]), 2},
		"swapped":     {join(lines[0], lines[2], lines[1], lines[3]), 2},
		"inserted":    {join(lines[0], []byte("{\"seq\":2,\"kind\":\"note\",\"prev\":\"\"}\n"), lines[1]), 2},
		"head cut":    {join(lines[2:]...), 1},
		"not JSON":    {join(lines[0], []byte("{\n"), lines[1]), 3},
		"garbage end": {join(append(lines[:6:6], []byte("x\n"))...), 7},
	} {
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := VerifyChain(path)
		var chain *ChainError
		if !errors.As(err, &chain) || chain.Line != c.line {
			t.Errorf("%s: %v, want line %d", name, err, c.line)
		}
	}
	// A last line that is being written is no break.
	os.WriteFile(path, append(data, "{\"seq"...), 0o600)
	if n, err := VerifyChain(path); n != 6 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestJournalConcurrently(t *testing.T) {
	path := journalPath(t)
	j := openJournal(t, path)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 50 {
				if err := j.Note(fmt.Sprint(i, k), nil); err != nil {
					t.Error(err)
				}
				if k%10 == 0 {
					if err := j.Flush(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	j.Close()
	if n, err := VerifyChain(path); n != 400 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
}

// full makes every write of the journal fail as on a full disk.
func full(t *testing.T, j *Journal) (undo func()) {
	t.Helper()
	f, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	real := j.out
	j.out = f
	return func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.out = real
		f.Close()
	}
}

func TestNothingIsAllowedUnrecorded(t *testing.T) {
	b := newBench(t)
	a := b.Register(b.bash("ls"))
	c := b.Register(b.bash("pwd"))
	w := b.bash("id")
	b.Register(w)
	undo := full(t, b.journal)
	_, _, err := b.Settle(a.ID, Decision{Allow: true, By: me})
	var refused *RefusedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "recorded") || !strings.Contains(err.Error(), b.journal.Path()) || !strings.Contains(err.Error(), "no space") {
		t.Fatalf("%v", err)
	}
	if now, _ := b.Get(a.ID); now.State != Pending {
		t.Fatalf("state %s", now.State)
	}
	got, notes, err := b.Settle(c.ID, Decision{By: me})
	if err != nil || got.State != Denied || len(notes) != 1 || !notes[0].Warning {
		t.Errorf("deny on a full disk: %+v, %v, %v", got.State, notes, err)
	}
	if _, ok := b.Withdraw(w.ID, "interrupted"); !ok {
		t.Error("no withdrawal on a full disk")
	}
	late := b.Register(b.bash("true"))
	if late.State != Pending || len(late.Notes) == 0 {
		t.Errorf("%+v", late)
	}
	undo()
	if got, _, err = b.Settle(a.ID, Decision{Allow: true, By: me}); err != nil || got.State != Allowed {
		t.Errorf("after the disk has room again: %v", err)
	}
	b.records()
}

func TestJournalTakenAway(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be removed there")
	}
	path := journalPath(t)
	j := openJournal(t, path)
	note(t, j, "one")
	j.Flush()
	os.Remove(path)
	note(t, j, "two")
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	note(t, j, "three")
	j.Flush()
	if got := events(t, path); got != "one two repaired three" {
		t.Error(got)
	}
	if _, err := VerifyChain(path); err != nil {
		t.Error(err)
	}
	// Another one in its place is not ours to write.
	os.Remove(path)
	os.WriteFile(path, []byte("mine\n"), 0o600)
	if err := j.Flush(); err == nil {
		t.Error("no error")
	}
	if err := j.Note("four", nil); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("%v", err)
	}
	if j.Err() == nil {
		t.Error("no error kept")
	}
	if got, _ := os.ReadFile(path); string(got) != "mine\n" {
		t.Errorf("%q", got)
	}
}

func TestOpenJournalRefuses(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("symlinks of unix")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "journal.jsonl")
	os.Symlink(filepath.Join(dir, "elsewhere"), path)
	if _, err := OpenJournal(path, time.Now); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("symlink: %v", err)
	}
	os.Remove(path)
	os.Mkdir(path, 0o700)
	if _, err := OpenJournal(path, time.Now); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("folder: %v", err)
	}
}

func FuzzJournalRead(f *testing.F) {
	f.Add([]byte("{\"seq\":1,\"time\":\"2026-01-02T03:04:05Z\",\"kind\":\"note\",\"event\":\"x\",\"prev\":\"\"}\n"))
	f.Add([]byte("\n\n{}\n\x00"))
	f.Add([]byte("{\"seq\":1,\"kind\":\"settled\",\"rules\":[1,{\"type\":\"setMode\"}],\"input\":{\"command\":\"\\ud800\"},\"prev\":\"\"}\nhalf"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		rs, err := ReadJournal(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(data, []byte("\n")); n != len(rs) {
			t.Fatalf("%d records of %d lines", len(rs), n)
		}
		if log := RenderLog(rs, LogOptions{}); strings.ContainsAny(log, "\x1b\r\u202e") {
			t.Fatalf("the log shows what does not show: %q", log)
		}
		_, before := verifyChain(bytes.NewReader(data))
		j, err := OpenJournal(path, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Append(Record{Kind: RecordRegistered, Input: recordInput(jsontext.Value(data)), Title: string(data)}); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := ReadJournal(path)
		if err != nil || len(again) <= len(rs) || again[len(again)-1].Kind != RecordRegistered {
			t.Fatalf("%d records after %d: %v", len(again), len(rs), err)
		}
		if _, err := VerifyChain(path); before == nil && err != nil {
			t.Fatalf("appending broke the chain: %v", err)
		}
	})
}

func TestTailReadsBackwards(t *testing.T) {
	for _, c := range []struct{ in, last, torn string }{
		{"", "<nil>", ""},
		{"a", "<nil>", "a"},
		{"a\n", "a", ""},
		{"a\nb", "a", "b"},
		{"\n", "", ""},
		{"a\n\n", "", ""},
		{strings.Repeat("x", 200<<10) + "\nb", strings.Repeat("x", 200<<10), "b"},
		{"a\n" + strings.Repeat("y", 200<<10) + "\n", strings.Repeat("y", 200<<10), ""},
	} {
		last, end, torn, err := tail(struct {
			io.ReaderAt
			io.Seeker
		}{strings.NewReader(c.in), strings.NewReader(c.in)})
		got := string(last)
		if last == nil {
			got = "<nil>"
		}
		if err != nil || got != c.last || string(torn) != c.torn || int(end) != len(c.in)-len(c.torn) {
			t.Errorf("%.20q: %.20q, %d, %.20q, %v", c.in, got, end, torn, err)
		}
	}
}

func TestRenderLog(t *testing.T) {
	at := time.Date(2026, 11, 30, 14, 2, 11, 0, time.UTC)
	rs := []Record{
		{Time: at, Kind: RecordRegistered, ID: "abc-1", Tool: "Bash", Title: "Bash: ls\x1b[2J", Input: jsontext.Value(`{"command":"ls\u001b[2J\npwd"}`)},
		{
			Time: at.Add(time.Second), Kind: RecordSettled, ID: "abc-1", Title: "Bash: ls", State: Allowed, Amended: true, By: By{FrontEnd: "Neovim 0.10.4", How: "save", Rule: "save-allows"}, Diff: "--- a\n+++ b\n@@ -1 +1 @@\n-ls\n+ls -l\n",
			Rules: []jsontext.Value{setMode("acceptEdits")},
		},
		{Time: at.Add(2 * time.Second), Kind: RecordOutcome, Title: "Edit a.txt", Outcome: Outcome{State: OutcomeMismatch, Detail: "other content"}},
		{Time: at.Add(24 * time.Hour), Kind: RecordSettled, Title: "Edit a.txt", State: Denied, Message: "The user declined this change.", By: By{FrontEnd: "command line"}},
		{Time: at.Add(24 * time.Hour), Kind: RecordRefused, Title: "Edit a.txt", State: Allowed, By: By{FrontEnd: "agent"}, Error: "peer descends from an agent"},
		{Time: at.Add(24 * time.Hour), Kind: RecordNote, Event: "session started", Fields: map[string]string{"b": "2", "a": "1"}},
	}
	want := `Monday, 30 November 2026
  14:02:11  asked      Bash: ls<U+001B>[2J  abc-1
              $ ls<U+001B>[2J
              pwd
  14:02:12  allowed    Bash: ls, amended, by Neovim 0.10.4 (save save-allows), and: accept all file edits from now on without asking (mode acceptEdits), for this session (writes no file)  abc-1
              --- a
              +++ b
              @@ -1 +1 @@
              -ls
              +ls -l
  14:02:13  MISMATCH   Edit a.txt, other content

Tuesday, 1 December 2026
  14:02:11  denied     Edit a.txt, by command line
              the agent reads: The user declined this change.
  14:02:11  refused    Edit a.txt, agent tried to allow: peer descends from an agent
  14:02:11  note       session started, a 1, b 2
`
	if got := RenderLog(rs, LogOptions{}); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if got := RenderLog(rs, LogOptions{Color: true, Brief: true}); !strings.Contains(got, "\x1b[31mMISMATCH") || strings.Contains(got, "+ls -l") {
		t.Errorf("%s", got)
	}
}
