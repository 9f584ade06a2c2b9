package lsp

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/session/hub"
)

func someCandidate(id, title, text string) candidate {
	c := &card{Approval: hub.Approval{ID: id, Tool: "Bash", Title: title, Surface: approvals.SurfacePanel, Kind: "Bash commands", State: approvals.Pending}}
	return candidate{card: c, label: title, text: text}
}

func TestAListAsItIsSaved(t *testing.T) {
	l := newList([]candidate{someCandidate("a", "Bash: one", "one\n"), someCandidate("b", "Bash: two", "two\n- [x] 1. Bash: one\n")})
	whole := l.text()
	for _, c := range []struct {
		name, old, new string
		want           string // ids that are allowed
		line           int    // where it is refused
	}{
		{"as it is", "", "", "a b", 0},
		{"one unticked", "- [x] 1.", "- [ ] 1.", "b", 0},
		{"one removed", "- [x] 2. Bash: two\n", "", "a", 0},
		{"ticked with a capital", "- [x] 1.", "- [X] 1.", "a b", 0},
		{"all removed", "- [x] 1. Bash: one\n- [x] 2. Bash: two\n", "", "", 0},
		{"with carriage returns", "\n", "\r\n", "a b", 0},
		{"no newline at the end", "```\n\n## 2", "```\n\n## 2", "a b", 0},
		{"a strange tick", "- [x] 2.", "- [?] 2.", "", 5},
		{"another title", "- [x] 1. Bash: one", "- [x] 1. Bash: none", "", 4},
		{"a line of one's own", "- [x] 1.", "and this\n- [x] 1.", "", 4},
		{"twice", "- [x] 1. Bash: one\n", "- [x] 1. Bash: one\n- [x] 1. Bash: one\n", "", 5},
		{"what only shows was changed", "one\n```", "uno\n```", "", 12},
		{"what only shows was removed", listRest, "", "", 1},
	} {
		text := strings.Replace(whole, c.old, c.new, 1)
		if c.old == "\n" {
			text = strings.ReplaceAll(whole, c.old, c.new)
		}
		chosen, err := l.read(text)
		var ids []string
		for _, it := range chosen {
			ids = append(ids, it.id)
		}
		var place *placeError
		switch {
		case c.line == 0 && (err != nil || strings.Join(ids, " ") != c.want):
			t.Errorf("%s: %v %v, want %q", c.name, ids, err, c.want)
		case c.line > 0 && (!errors.As(err, &place) || place.line != c.line):
			t.Errorf("%s: %v %v, want an error at line %d", c.name, ids, err, c.line)
		}
	}
}

// What cannot be shown in full is not allowed together with others.
func TestAListShowsAllOfIt(t *testing.T) {
	hidden := someCandidate("d", "Bash: hides", "ls \u202etxt\n")
	marked := someCandidate("e", "Bash: marked", "ls\n")
	marked.card.Hidden = []approvals.HiddenPlace{{Line: 1, Words: "text after 80 blanks"}}
	l := newList([]candidate{
		someCandidate("a", "Bash: short", "ls\n"), someCandidate("b", "Bash: long", strings.Repeat("ls\n", maxShown+1)),
		someCandidate("c", "Bash: wide", strings.Repeat("x", 1001)), hidden, marked,
	})
	if len(l.items) != 1 || l.items[0].id != "a" {
		t.Errorf("listed: %+v", l.items)
	}
	for _, part := range []string{"Not in this list", "- Bash: long: too long", "- Bash: wide: too long", "- Bash: hides: parts of it do not show", "- Bash: marked: parts"} {
		contains(t, "the list", l.text(), part)
	}
	lacks(t, "the list", l.text(), "\u202e")
}

// A list is saved under the rules that every decision by save is under.
func TestAListIsSavedByAPerson(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		one := b.hub.command("req-00000001", "true")
		b.wait(time.Millisecond)
		two := b.hub.command("req-00000002", "false")
		for _, a := range []hub.Approval{one, two} {
			b.hub.details[a.ID] = hub.Detail{Text: strings.TrimPrefix(a.Title, "Bash: ") + "\n"}
		}
		b.mustCommand("countersign.allowAll", `{"id":"`+one.ID+`"}`)
		shown := b.sent("window/showDocument")
		dirs, err := filepath.Glob(filepath.Join(b.hub.store.Dir(), listsName, "*", listName))
		if err != nil || len(dirs) != 1 || !strings.Contains(shown[len(shown)-1], fileURI(dirs[0])) {
			t.Fatalf("lists %v, shown %v", dirs, shown)
		}
		uri := fileURI(dirs[0])
		b.open(uri)
		b.save(uri) // at once: nobody can have read it
		contains(t, "messages", b.messages(), "saved within moments of appearing")
		b.wait(time.Second)
		b.notify("textDocument/willSave", `{"textDocument":{"uri":"`+uri+`"},"reason":2}`)
		b.save(uri)
		contains(t, "messages", b.messages(), "the editor saved it by itself")
		if got := b.settles(); len(got) != 0 {
			t.Fatalf("settled: %+v", got)
		}
		b.save(uri)
		got := b.settles()
		if len(got) != 2 || !got[0].Allow || *got[0].Text != "true\n" || got[0].How != "save" || got[0].Rule != "listed" {
			t.Fatalf("settled: %+v", got)
		}
		contains(t, "messages", b.messages(), "3 Allowed 2 requests of the list.")
		b.close(uri)
		if _, err := os.Stat(dirs[0]); err == nil {
			t.Error("the list is still there")
		}
	})
}

// An editor that restores a list of another time decides nothing by saving it.
func TestAListOfAnotherTime(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		dir := filepath.Join(b.hub.store.Dir(), listsName, "old")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, listName), []byte("- [x] 1. Bash: true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		uri := fileURI(filepath.Join(dir, listName))
		b.open(uri)
		b.wait(time.Second)
		b.save(uri)
		contains(t, "messages", b.messages(), "1 Nothing was decided by saving this list: it is of another time.")
		if len(b.settles())+len(b.hub.kept) != 0 {
			t.Errorf("settled %v, kept %v", b.settles(), b.hub.kept)
		}
	})
}
