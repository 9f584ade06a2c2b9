package approvals

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"countersign/staging"
)

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

// A file that is gone is not what the change was proposed for.
func TestTargetGone(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\n")
	a := b.Register(b.edit(path, "one", "two"))
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	got, _, err := b.Settle(a.ID, Decision{Allow: true, By: me})
	var stale *StaleError
	if !errors.As(err, &stale) || got.State == Allowed {
		t.Errorf("%+v, %v", got, err)
	}
}

// Who allows by hash allows what was staged. A document that was made anew with a
// person's text in it may have been changed by another program since.
func TestAllowByHashOfAChangedDocument(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "one\n")
	a := b.Register(b.edit(path, "one", "two"))
	mine := "two\nmine\n"
	b.file("a.txt", "zero\none\n")
	_, _, err := b.Settle(a.ID, Decision{Allow: true, By: me, Text: &mine})
	var stale *StaleError
	if !errors.As(err, &stale) || stale.New.Staged == nil {
		t.Fatal(err)
	}
	fresh := stale.New
	if err := os.WriteFile(fresh.Staged.Path, []byte("zero\nevil\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, _, err := b.Settle(fresh.ID, Decision{Allow: true, By: me, TextHash: fresh.Staged.Print.Hash})
	if err == nil || !strings.Contains(err.Error(), "changed since it was decided on") {
		t.Fatalf("%v, %q", err, got.Want)
	}
	if now, _ := b.Get(fresh.ID); now.State != Pending {
		t.Errorf("%s", now.State)
	}
}

// A file may hold what looks like the marks of a conflict, and so may what an
// agent puts into one: only marks that come from merging a person's text keep it
// from being allowed.
func TestMarksThatAreTheFilesOwn(t *testing.T) {
	marks := "<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n"
	mine := func(text string) *string { return &text }
	b := newBench(t)
	for name, c := range map[string]struct {
		original, old, put string
		text               *string
		want               string
	}{
		"in the file":     {marks + "end\n", "end", "END", nil, marks + "END\n"},
		"amended too":     {marks + "end\n", "end", "END", mine(marks + "mine\n"), marks + "mine\n"},
		"taken out again": {marks + "end\n", marks, "one\n", mine(marks + "mine\n"), marks + "mine\n"},
		"proposed":        {"end\n", "end\n", marks, mine(marks + "mine\n"), marks + "mine\n"},
	} {
		a := b.Register(b.edit(b.file(name+".txt", c.original), c.old, c.put))
		if got, _, err := b.Settle(a.ID, Decision{Allow: true, By: me, Text: c.text}); err != nil || string(got.Want) != c.want {
			t.Errorf("%s: %q, %v", name, got.Want, err)
		}
	}
	a := b.Register(b.edit(b.file("none.txt", "end\n"), "end", "END"))
	if _, _, err := b.Settle(a.ID, Decision{Allow: true, By: me, Text: mine(marks + "mine\n")}); err == nil {
		t.Error("a conflict of the person's own was allowed")
	}
}
