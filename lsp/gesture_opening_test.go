package lsp

import "testing"

func TestNextToOpen(t *testing.T) {
	for _, c := range []struct {
		name   string
		script string
		now    int
		uri    string // "" when nothing is to be opened
		at     int    // -1: at any time before now
	}{
		{"nothing is staged", `0 open x`, 10, "", 0},
		{"nobody types", `0 staged A`, 10, "A", -1},
		{"the oldest first", "0 staged B\n1 staged A", 10, "B", -1},
		{"after typing", "0 staged A\n0 open x\n100 change x", 200, "A", 1600},
		{"after a save", "0 staged A\n0 open x\n100 save x", 200, "A", 600},
		{"one at a time", "0 staged A\n0 staged B\n0 open A", 9000, "", 0},
		{"the next when it is settled", "0 staged A\n0 staged B\n0 open A\n100 settled A", 9000, "B", -1},
		{"not while one is about to open", "0 staged A\n0 staged B\n0 shown A", 100, "B", 5000},
		{"not while a close is held", "0 staged A\n0 staged B\n0 open A\n8000 close A", 8100, "", 0},
		{"never the same one again", "0 staged A\n0 set - closeMeans=nothing\n0 open A\n100 close A\n5000 end", 9000, "", 0},
		{"but the next one", "0 staged A\n0 staged B\n0 set - closeMeans=nothing\n0 open A\n100 close A\n5000 end", 9000, "B", -1},
		{"nothing at the end", "0 staged A\n1 ending", 10, "", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlay()
			p.run(t, c.script)
			uri, when, ok := p.g.NextToOpen(at(c.now))
			if ok != (c.uri != "") || ok && uri != "file:///"+c.uri {
				t.Fatalf("next is %q, %v; want %q", uri, ok, c.uri)
			}
			if !ok {
				return
			}
			if c.at < 0 && when.After(at(c.now)) || c.at >= 0 && !when.Equal(at(c.at)) {
				t.Errorf("at %v, want %d ms", when.Sub(start), c.at)
			}
		})
	}
}

func TestSafeToOpen(t *testing.T) {
	p := newPlay()
	p.run(t, "0 open x\n100 change x")
	if p.g.SafeToOpen(at(1599)) {
		t.Error("safe 1.499 s after a change")
	}
	if !p.g.SafeToOpen(at(1600)) {
		t.Error("not safe 1.5 s after a change")
	}
}

func TestReviewing(t *testing.T) {
	p := newPlay()
	p.run(t, "0 staged A\n0 staged B\n0 open A\n0 open B\n1 settled B")
	for uri, want := range map[string]bool{"file:///A": true, "file:///B": false, "file:///C": false} {
		if got := p.g.Reviewing(uri); got != want {
			t.Errorf("Reviewing(%s) = %v", uri, got)
		}
	}
}
