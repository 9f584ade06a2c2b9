package lsp

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A play drives Gestures with lines of text and prints its verdicts. A line is
//
//	MILLISECONDS VERB [DOCUMENT] [ARGUMENTS]
//
// where DOCUMENT is one letter; capitals are staged documents, whose approval's
// id is the letter in lower case. Ticks come by themselves at every deadline,
// as the server's timer sends them, unless the play is told "no-timer".
type play struct {
	g       *Gestures
	set     GestureSettings
	timer   bool
	printed []string
}

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func (p *play) run(t *testing.T, script string) string {
	t.Helper()
	for _, line := range strings.Split(script, "\n") {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		ms, err := strconv.Atoi(f[0])
		if err != nil || len(f) < 2 {
			t.Fatalf("line %q", line)
		}
		p.fire(ms)
		p.step(t, ms, f[1], f[2:])
	}
	return strings.Join(p.printed, "\n")
}

// fire sends the ticks that are due before ms.
func (p *play) fire(ms int) {
	for p.timer {
		due, ok := p.g.Deadline()
		if !ok || !due.Before(at(ms)) {
			return
		}
		p.print(due, p.g.Handle(due, Event{Kind: EventTick}))
		if again, ok := p.g.Deadline(); ok && !again.After(due) {
			p.printed = append(p.printed, "stuck deadline")
			return
		}
	}
}

func (p *play) print(now time.Time, vs []Verdict) {
	for _, v := range vs {
		line := fmt.Sprintf("%d %s %s %s", now.Sub(start).Milliseconds(), v.Kind, strings.TrimPrefix(v.URI, "file:///"), v.Rule)
		if v.Text != "" {
			line += " " + v.Text
		}
		if v.Again {
			line += " (again)"
		}
		p.printed = append(p.printed, line)
	}
}

func (p *play) step(t *testing.T, ms int, verb string, args []string) {
	t.Helper()
	ev := Event{}
	switch verb {
	case "quits":
		p.print(at(ms), p.g.Handle(at(ms), Event{Kind: EventEnding, Orderly: true}))
		return
	case "asked":
		if got := strconv.Itoa(p.g.Asked()); got != args[0] {
			t.Errorf("%d: asked for echo %s, not for %s", ms, got, args[0])
		}
		return
	case "echo": // [NUMBER]: without one the last one is answered
		ev = Event{Kind: EventEcho, Echo: p.g.Asked()}
		if len(args) > 0 {
			ev.Echo, _ = strconv.Atoi(args[0])
		}
		p.print(at(ms), p.g.Handle(at(ms), ev))
		return
	}
	if len(args) > 0 {
		ev.URI = "file:///" + args[0]
		if args[0] == strings.ToUpper(args[0]) {
			ev.ID = strings.ToLower(args[0])
		}
		args = args[1:]
	}
	switch verb {
	case "no-timer":
		p.timer = false
		return
	case "set":
		// set - key=value
		key, value, _ := strings.Cut(args[0], "=")
		switch key {
		case "saveMeans":
			p.set.SaveMeans, p.set.SaveMeansSet = value, true
		case "closeMeans":
			p.set.CloseMeans = value
		case "previewTabs":
			p.g.HasPreviewTabs()
		case "echo":
			p.g.HasEcho()
		case "grace":
			n, _ := strconv.Atoi(value)
			p.set.CloseGrace = time.Duration(n) * time.Millisecond
		default:
			t.Fatalf("no setting %q", key)
		}
		p.g.Configure(p.set)
		return
	case "will-save":
		ev.Kind = EventWillSave
		ev.Reason = map[string]SaveReason{"manual": SaveManual, "afterDelay": SaveAfterDelay, "focusOut": SaveFocusOut}[args[0]]
	case "save":
		ev.Kind = EventSaved
		ev.Disk = Disk{Written: true, Same: true, Text: "text"}
		for _, a := range args {
			switch {
			case a == "unwritten":
				ev.Disk.Written = false
			case a == "differs":
				ev.Disk.Same = false
			case a == "fails":
				ev.Disk = Disk{Err: "permission-denied"}
			case strings.HasPrefix(a, "id="):
				ev.ID = a[3:]
			default:
				ev.Disk.Text = a
			}
		}
	case "open":
		ev.Kind = EventOpened
	case "change":
		ev.Kind = EventChanged
	case "close":
		ev.Kind = EventClosed
	case "staged", "shown", "edited", "settled", "unsettled", "ending", "tick":
		ev.Kind = EventKind(verb)
		if len(args) > 0 {
			ev.ID = args[0]
		}
	case "end":
		return
	default:
		t.Fatalf("no verb %q", verb)
	}
	if ev.ID == "" && ev.URI != "" && len(args) == 1 && strings.HasPrefix(args[0], "id=") {
		ev.ID = args[0][3:]
	}
	p.print(at(ms), p.g.Handle(at(ms), ev))
}

func newPlay() *play {
	set := DefaultGestureSettings()
	return &play{g: NewGestures(set), set: set, timer: true}
}

type gestureCase struct {
	name   string
	script string
	want   string
}

func TestGestures(t *testing.T) {
	for _, cases := range [][]gestureCase{saveCases, echoCases, closeCases, lifeCases, rhythmCases} {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				got := newPlay().run(t, c.script)
				var want []string
				for _, l := range strings.Split(c.want, "\n") {
					if l = strings.TrimSpace(l); l != "" {
						want = append(want, l)
					}
				}
				if w := strings.Join(want, "\n"); got != w {
					t.Errorf("got:\n%s\nwant:\n%s", got, w)
				}
			})
		}
	}
}

func TestEveryRuleHasASentence(t *testing.T) {
	seen := map[string]Rule{}
	for _, r := range Rules() {
		s := r.Sentence()
		if s == "" || strings.HasPrefix(s, "rule ") || strings.HasSuffix(s, ".") {
			t.Errorf("%s: sentence %q", r, s)
		}
		if other, ok := seen[s]; ok {
			t.Errorf("%s and %s share the sentence %q", r, other, s)
		}
		seen[s] = r
	}
	if len(seen) != len(sentences) {
		t.Errorf("Rules lists %d rules, %d have sentences", len(seen), len(sentences))
	}
	if got := Rule("x").Sentence(); got != "rule x" {
		t.Errorf("an unknown rule reads %q", got)
	}
}

// Every rule occurs in the tables above, as the outcome of a case.
func TestEveryRuleHasACase(t *testing.T) {
	var all strings.Builder
	for _, cases := range [][]gestureCase{saveCases, echoCases, closeCases, lifeCases, rhythmCases} {
		for _, c := range cases {
			all.WriteString(c.want + "\n")
		}
	}
	for _, r := range Rules() {
		if !strings.Contains(all.String(), " "+string(r)) {
			t.Errorf("no case ends in the rule %s", r)
		}
	}
}

func TestSameText(t *testing.T) {
	for _, c := range []struct {
		disk, editor string
		want         bool
	}{
		{"a\nb\n", "a\nb\n", true},
		{"a\nb\n", "a\nb", true},
		{"a\nb", "a\nb\n", true},
		{"a\nb\n\n", "a\nb", false},
		{"a\r\nb\r\n", "a\nb\n", true},
		{"a\rb", "a\nb", true},
		{"\ufeffa\n", "a\n", true},
		{"a\n", "b\n", false},
		{"", "\n", true},
		{"", "", true},
		{"a", "", false},
	} {
		if got := SameText(c.disk, c.editor); got != c.want {
			t.Errorf("SameText(%q, %q) = %v", c.disk, c.editor, got)
		}
	}
}

// What is settled and closed is forgotten when there is much of it; then a late
// save is still inert, and nothing is decided.
func TestSettledDocumentsAreForgotten(t *testing.T) {
	g := NewGestures(DefaultGestureSettings())
	name := func(i int) (uri, id string) { return fmt.Sprintf("file:///%d", i), fmt.Sprint("id", i) }
	const n = rememberedSettled + 100
	for i := range n {
		uri, id := name(i)
		now := at(i * 10_000)
		g.Handle(now, Event{Kind: EventStaged, URI: uri, ID: id})
		g.Handle(now, Event{Kind: EventOpened, URI: uri})
		g.Handle(now, Event{Kind: EventSettled, URI: uri, ID: id})
		if i%2 == 0 {
			g.Handle(now, Event{Kind: EventClosed, URI: uri})
			g.Handle(now, Event{Kind: EventOpened, URI: uri})
		}
		g.Handle(now, Event{Kind: EventClosed, URI: uri})
	}
	if len(g.docs) > rememberedSettled || len(g.byID) > rememberedSettled || len(g.forgotten) > rememberedSettled {
		t.Errorf("%d documents, %d ids and %d settled ones are remembered", len(g.docs), len(g.byID), len(g.forgotten))
	}
	for _, i := range []int{0, n - 1} {
		uri, id := name(i)
		vs := g.Handle(at(n*10_000), Event{Kind: EventSaved, URI: uri, ID: id, Disk: Disk{Written: true, Same: true, Text: "x"}})
		if len(vs) != 1 || vs[0].Kind != VerdictInert || vs[0].ID != id {
			t.Errorf("a save of document %d: %+v", i, vs)
		}
	}
}

// Watching costs nothing for documents that are gone.
func TestForeignDocumentsAreForgotten(t *testing.T) {
	g := NewGestures(DefaultGestureSettings())
	for i := range 1000 {
		uri := fmt.Sprintf("file:///%d", i)
		for _, kind := range []EventKind{EventOpened, EventChanged, EventWillSave, EventSaved, EventClosed} {
			g.Handle(at(i), Event{Kind: kind, URI: uri, Reason: SaveManual})
		}
	}
	if len(g.docs)+len(g.dirty)+len(g.wait) > 0 {
		t.Errorf("%d documents, %d changed and %d waiting ones are remembered", len(g.docs), len(g.dirty), len(g.wait))
	}
}
