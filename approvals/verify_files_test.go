package approvals

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestVerifyFiles(t *testing.T) {
	b := newBench(t)
	settle := func(name, was, is string, outcome func(path, toolUse string)) string {
		path := filepath.Join(b.dir, name)
		if was != "" {
			b.file(name, was)
		}
		req := b.request("Write", map[string]any{"file_path": path, "content": is})
		a := b.Register(req)
		if _, _, err := b.Settle(a.ID, Decision{Allow: true, By: me}); err != nil {
			t.Fatal(err)
		}
		b.Answered(a.ID, nil)
		outcome(path, req.ToolUseID)
		return path
	}
	written := func(text string, isError bool) func(path, toolUse string) {
		return func(path, toolUse string) {
			b.file(filepath.Base(path), text)
			b.Returned(toolUse, isError, "")
		}
	}
	settle("twice.txt", "", "one\n", written("one\n", false))
	same := settle("same.txt", "", "x\n", written("x\n", false))
	changed := settle("changed.txt", "", "x\n", written("x\n", false))
	gone := settle("gone.txt", "", "x\n", written("x\n", false))
	never := settle("never.txt", "", "x\n", written("y\n", false))
	settle("failed.txt", "", "x\n", written("old\n", true))
	odd := settle("odd.txt", "", "x\n", written("x\n", false))
	unknown := settle("unknown.txt", "", "x\n", func(path, toolUse string) {})
	twice := settle("twice.txt", "one\n", "two\n", written("two\n", false))
	// One that did not reach the agent changes nothing about the one before.
	lost := b.Register(b.request("Write", map[string]any{"file_path": same, "content": "z\n"}))
	if _, _, err := b.Settle(lost.ID, Decision{Allow: true, By: me}); err != nil {
		t.Fatal(err)
	}
	b.Answered(lost.ID, errors.New("gone"))
	denied := b.Register(b.request("Write", map[string]any{"file_path": filepath.Join(b.dir, "denied.txt"), "content": "z\n"}))
	b.Settle(denied.ID, Decision{By: me})
	ran := b.Register(b.bash("ls"))
	b.Settle(ran.ID, Decision{Allow: true, By: me})

	b.file("changed.txt", "other\n")
	b.file("unknown.txt", "other\n")
	if err := errors.Join(os.Remove(gone), os.Remove(odd), os.Mkdir(odd, 0o700)); err != nil {
		t.Fatal(err)
	}
	want := []struct{ path, state, detail string }{
		{same, FileSame, ""},
		{changed, FileChanged, ""},
		{gone, FileGone, ""},
		{never, FileChanged, "right after"},
		{odd, FileUnknown, "regular file"},
		{unknown, FileChanged, "not recorded"},
		{twice, FileSame, ""},
	}
	states := VerifyFiles(b.records(), nil)
	for i, f := range states {
		if i < len(want) && (f.Path != want[i].path || f.State != want[i].state || !strings.Contains(f.Detail, want[i].detail) || want[i].detail == "" && f.Detail != "") {
			t.Errorf("%+v, want %+v", f, want[i])
		}
		if f.ID == "" || f.Want == "" || f.Time.IsZero() {
			t.Errorf("incomplete: %+v", f)
		}
	}
	if len(states) != len(want) {
		t.Fatalf("%d files: %+v", len(states), states)
	}
	out := RenderFiles(states, LogOptions{Location: time.UTC})
	for _, w := range []string{"same       " + same, "gone       " + gone, "7 files: 2 with the content", "3 changed since", "1 not there", "1 not readable"} {
		if !strings.Contains(out, w) {
			t.Errorf("no %q in\n%s", w, out)
		}
	}
	if out := RenderFiles(nil, LogOptions{}); !strings.Contains(out, "no change") {
		t.Error(out)
	}
}
