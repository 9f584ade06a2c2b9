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
	for _, cases := range [][]gestureCase{saveCases, closeCases, lifeCases, rhythmCases} {
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

var saveCases = []gestureCase{
	{"saved: a save after the arm delay allows with the text on disk", `
		0 staged A
		0 open A
		700 save A amended`, `700 allow A saved amended`},
	{"saved: edits of the person do not delay it once armed", `
		0 staged A
		0 open A
		800 change A
		801 save A`, `801 allow A saved text`},
	{"opened-here: never opened", `
		0 staged A
		900 save A`, `900 refused A opened-here`},
	{"opened-here: shown is not opened", `
		0 staged A
		0 shown A
		900 save A`, `900 refused A opened-here`},
	{"opened-here: a tab restored before its approval was known is armed by the news", `
		0 open A
		5000 staged A
		5100 save A
		5800 save A`, `
		5100 refused A arm-delay
		5800 allow A saved text`},
	{"wrong-id", `
		0 staged A
		0 open A
		900 save A id=z`, `900 refused A wrong-id`},
	{"unknown: a staged path without an approval", `
		0 open A
		900 save A`, `900 inert A unknown text`},
	{"foreign documents are nobody's business", `
		0 open x
		10 change x
		900 save x
		950 close x
		9999 end`, ``},
	{"settled: a save after the decision decides nothing and says so", `
		0 staged A
		0 open A
		800 save A
		810 settled A
		2000 save A more`, `
		800 allow A saved text
		2000 inert A settled more`},
	{"settled: saved again while the decision is on its way", `
		0 staged A
		0 open A
		800 save A
		801 save A
		802 save A more`, `
		800 allow A saved text
		802 inert A settled more`},
	{"settled: by someone else", `
		0 staged A
		0 open A
		500 settled A
		800 save A`, `800 inert A settled text`},
	{"pending again: the hub did not take the decision", `
		0 staged A
		0 open A
		800 save A
		810 unsettled A
		900 save A better`, `
		800 allow A saved text
		900 allow A saved better`},
	{"autosave: after a delay, and out of focus", `
		0 staged A
		0 open A
		1000 will-save A afterDelay
		1001 save A
		2000 will-save A focusOut
		2001 save A`, `
		1001 refused A autosave
		2001 refused A autosave (again)`},
	{"autosave: the reason marks the next save only", `
		0 staged A
		0 open A
		1000 will-save A afterDelay
		1001 save A
		2000 save A`, `
		1001 refused A autosave
		2000 allow A saved text`},
	{"autosave: a later will-save speaks for its own save (the first one failed)", `
		0 staged A
		0 open A
		1000 will-save A afterDelay
		2000 will-save A manual
		2001 save A`, `2001 allow A saved text`},
	{"autosave: another document's reason is not this one's", `
		0 staged A
		0 open A
		0 open x
		1000 will-save x afterDelay
		2001 save A`, `2001 allow A saved text`},
	{"arm-delay", `
		0 staged A
		0 open A
		699 save A
		700 save A`, `
		699 refused A arm-delay
		700 allow A saved text`},
	{"arm-delay: again after our own edit", `
		0 staged A
		0 open A
		2000 edited A
		2001 change A
		2100 save A
		2701 save A`, `
		2100 refused A arm-delay
		2701 allow A saved text`},
	{"arm-delay: again after a reload", `
		0 staged A
		0 open A
		2000 close A
		2003 open A
		2100 save A
		2703 save A`, `
		2003 refused A reopened
		2100 refused A arm-delay
		2703 allow A saved text`},
	{"arm-delay: again when it is brought to the front", `
		0 staged A
		0 open A
		2000 shown A
		2100 save A`, `2100 refused A arm-delay`},
	{"typed-into: typing goes on into a document that popped up", `
		0 staged A
		0 shown A
		10 open A
		100 change A
		600 change A
		1200 change A
		1300 save A
		1900 save A`, `
		1300 refused A typed-into
		1900 allow A saved text`},
	{"unreadable", `
		0 staged A
		0 open A
		900 save A fails`, `900 refused A unreadable permission-denied`},
	{"not-written: saved under another name", `
		0 staged A
		0 open A
		900 save A unwritten
		2000 save A`, `
		900 refused A not-written
		2000 allow A saved text`},
	{"differs-from-editor", `
		0 staged A
		0 open A
		900 save A differs`, `900 refused A differs-from-editor`},
	{"save-all: another document was saved just before", `
		0 staged A
		0 open A
		0 open x
		900 save x
		1050 save A
		1300 save A`, `
		1050 refused A save-all
		1300 allow A saved text`},
	{"save-all: the window ends", `
		0 staged A
		0 open A
		0 open x
		900 save x
		1051 save A`, `1051 allow A saved text`},
	{"save-all: first in the row, another one has unsaved changes and follows", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		905 save x
		2000 save A`, `
		905 refused A save-all
		2000 allow A saved text`},
	{"save-all: another one has unsaved changes and keeps them", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A amended
		3000 end`, `1050 allow A saved amended`},
	{"save-all: unsaved changes elsewhere are gone with their document", `
		0 staged A
		0 open A
		0 open x
		500 change x
		600 close x
		900 save A`, `900 allow A saved text`},
	{"save-all: two proposals", `
		0 staged A
		0 staged B
		0 open A
		0 open B
		100 change A
		100 change B
		2000 save A
		2001 save B
		9000 end`, `
		2001 refused A save-all
		2001 refused B save-all`},
	{"save-all: settled elsewhere while the save is held", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		950 settled A
		3000 end`, ``},
	{"save-all: the editor quits while the save is held", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		950 ending
		3000 end`, `950 refused A ending`},
	{"save-all: closed while the save is held", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		901 close A
		3000 end`, `1050 allow A saved text`},
	{"save-all: held while saves come to mean amend", `
		0 staged A
		0 open A
		0 open x
		500 change x
		900 save A
		950 set - saveMeans=amend
		3000 end`, `1050 kept A save-means-amend text`},
	{"save-means-amend", `
		0 set - saveMeans=amend
		0 staged A
		0 open A
		10 save A early
		900 save A late
		950 save A unwritten`, `
		10 kept A save-means-amend early
		900 kept A save-means-amend late (again)
		950 refused A not-written`},
	{"save-means-amend: an autosave keeps the text too", `
		0 set - saveMeans=amend
		0 staged A
		0 open A
		900 will-save A afterDelay
		901 save A`, `901 kept A autosave text`},
	{"ending: a save after shutdown", `
		0 staged A
		0 open A
		900 ending
		901 save A`, `901 refused A ending`},
	{"saved and closed by one command", `
		0 staged A
		0 open A
		900 save A
		901 close A
		9000 end`, `900 allow A saved text`},
}

var closeCases = []gestureCase{
	{"closed: denied when the grace has passed", `
		0 staged A
		0 open A
		2000 close A
		9000 end`, `3000 deny A closed`},
	{"closed: minutes later, as VS Code reports it", `
		0 staged A
		0 shown A
		1 open A
		180000 close A
		190000 end`, `181000 deny A closed`},
	{"closed: with unsaved changes", `
		0 staged A
		0 open A
		1500 change A
		2000 close A
		9000 end`, `3000 deny A closed`},
	{"closed: nothing is decided without the tick", `
		0 no-timer
		0 staged A
		0 open A
		2000 close A
		9000 open A`, `9000 refused A reopened`},
	{"closed: a tick that comes too early decides nothing", `
		0 staged A
		0 open A
		2000 close A
		2500 tick
		9000 end`, `3000 deny A closed`},
	{"closed: once only", `
		0 staged A
		0 open A
		2000 close A
		2500 close A
		4000 close A
		9000 end`, `3000 deny A closed`},
	{"closed: another grace", `
		0 set - grace=200
		0 staged A
		0 open A
		2000 close A
		9000 end`, `2200 deny A closed`},
	{"opened-here: a close of a document that was never opened", `
		0 staged A
		2000 close A
		9000 end`, `2000 refused A opened-here`},
	{"reopened: a reload", `
		0 staged A
		0 open A
		2000 close A
		2004 open A
		9000 end`, `2004 refused A reopened`},
	{"reopened: and then closed in earnest", `
		0 staged A
		0 open A
		2000 close A
		2004 open A
		5000 close A
		9000 end`, `
		2004 refused A reopened
		6000 deny A closed`},
	{"opened twice without a close, then closed", `
		0 staged A
		0 open A
		1000 open A
		2000 close A
		9000 end`, `3000 deny A closed`},
	{"replaced-tab: another proposal was shown just before", `
		0 staged A
		0 staged B
		0 open A
		2000 shown B
		2001 close A
		9000 end`, `3001 refused A replaced-tab`},
	{"replaced-tab: another proposal opens within the grace", `
		0 staged A
		0 staged B
		0 open A
		2000 close A
		2500 open B
		9000 end`, `3000 refused A replaced-tab`},
	{"replaced-tab: the server shows some other document, a prompt", `
		0 staged A
		0 open A
		2000 close A
		2500 shown p
		9000 end`, `3000 refused A replaced-tab`},
	{"replaced-tab: a document of the person's own is no such thing", `
		0 staged A
		0 open A
		2000 close A
		2500 open x
		9000 end`, `3000 deny A closed`},
	{"replaced-tab: two seconds before is long ago", `
		0 staged A
		0 staged B
		0 open A
		1000 open B
		3000 close A
		9000 end`, `4000 deny A closed`},
	{"replaced-tab: a preview tab, told three minutes late", `
		0 set - previewTabs=true
		0 staged A
		0 staged B
		0 shown A
		1 open A
		5000 shown B
		5001 open B
		180001 close A
		190000 end`, `181001 refused A replaced-tab`},
	{"replaced-tab: a tab that was typed in is no preview", `
		0 set - previewTabs=true
		0 staged A
		0 staged B
		0 shown A
		1 open A
		4000 change A
		5000 shown B
		5001 open B
		180001 close A
		190000 end`, `181001 deny A closed`},
	{"replaced-tab: what was shown before it took no place", `
		0 set - previewTabs=true
		0 staged A
		0 staged B
		0 shown B
		1 open B
		5000 shown A
		5001 open A
		180001 close A
		190000 end`, `181001 deny A closed`},
	{"close-means-nothing", `
		0 set - closeMeans=nothing
		0 staged A
		0 open A
		2000 close A
		9000 end`, `3000 refused A close-means-nothing`},
	{"close-means-nothing: set while the close was held", `
		0 staged A
		0 open A
		2000 close A
		2100 set - closeMeans=nothing
		9000 end`, `3000 refused A close-means-nothing`},
	{"ending: quitting during the grace", `
		0 staged A
		0 open A
		2000 close A
		2300 ending
		9000 end`, `2300 refused A ending`},
	{"ending: closes after shutdown", `
		0 staged A
		0 open A
		2300 ending
		2301 close A
		9000 end`, ``},
	{"settled: elsewhere during the grace", `
		0 staged A
		0 open A
		2000 close A
		2500 settled A
		9000 end`, ``},
	{"settled: closing a leftover tab", `
		0 staged A
		0 open A
		800 save A
		810 settled A
		2000 close A
		9000 end`, `800 allow A saved text`},
	{"a save inside the grace wins", `
		0 staged A
		0 open A
		2000 close A
		2001 save A
		9000 end`, `2001 allow A saved text`},
	{"opened, closed and saved unseen within 40 ms, the close first", `
		0 staged A
		0 open A
		38 will-save A manual
		39 close A
		40 save A
		9000 end`, `40 refused A arm-delay`},
	{"opened, saved and closed unseen within 40 ms, the save first", `
		0 staged A
		0 open A
		38 save A
		40 close A
		9000 end`, `
		38 refused A arm-delay
		1040 refused A closed-with-save`},
	{"closed-with-save: saving means amend", `
		0 set - saveMeans=amend
		0 staged A
		0 open A
		2000 save A
		2001 close A
		9000 end`, `
		2000 kept A save-means-amend text
		3001 refused A closed-with-save`},
	{"closed-with-save: saving means amend, the close first", `
		0 set - saveMeans=amend
		0 staged A
		0 open A
		2000 close A
		2001 save A
		9000 end`, `
		2001 kept A save-means-amend text
		2001 refused A closed-with-save`},
	{"closed-with-save: a second is no longer one action", `
		0 set - saveMeans=amend
		0 staged A
		0 open A
		2000 save A
		3000 close A
		9000 end`, `
		2000 kept A save-means-amend text
		4000 deny A closed`},
	{"two closes, each with its own grace", `
		0 staged A
		0 staged B
		0 open A
		0 open B
		2000 close A
		2500 close B
		9000 end`, `
		3000 deny A closed
		3500 deny B closed`},
}

var lifeCases = []gestureCase{
	{"staged again is no news", `
		0 staged A
		0 open A
		800 save A
		801 staged A
		802 save A
		803 settled A
		804 staged A
		900 save A
		2000 close A
		9000 end`, `
		800 allow A saved text
		900 inert A settled text`},
	{"an approval has one place", `
		0 staged A
		0 staged B a
		0 open B
		900 save B id=a`, `900 inert B unknown text`},
	{"another approval at the same place must be opened anew", `
		0 staged A
		0 open A
		1000 staged A b
		2000 save A id=b
		3000 open A
		4000 save A id=b`, `
		2000 refused A opened-here
		4000 allow A saved text`},
	{"settled before it was staged", `
		0 settled A
		0 staged A
		0 open A
		900 save A
		950 close A
		9000 end`, `900 inert A settled text`},
	{"settled without ever being staged", `
		0 settled A
		0 unsettled A
		0 tick
		0 ending
		0 staged A`, ``},
	{"unsettled means nothing to a settled one", `
		0 staged A
		0 open A
		800 save A
		810 settled A
		820 unsettled A
		900 save A`, `
		800 allow A saved text
		900 inert A settled text`},
}

var rhythmCases = []gestureCase{
	{"autosave-suspected: three saves at the same delay, on any document", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 save x
		5000 change x
		6010 save x
		9000 change A
		9990 save A
		15000 save A`, `
		9990 suspect A autosave-suspected
		9990 kept A autosave-suspected text (again)
		15000 kept A autosave-suspected text (again)`},
	{"autosave-suspected: told once, and overruled by the setting", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 save x
		3000 change x
		4000 save x
		5000 change x
		6000 save x
		7000 change x
		8000 save x
		10000 save A
		11000 set - saveMeans=allow
		12000 save A`, `
		6000 suspect x autosave-suspected
		10000 kept A autosave-suspected text
		12000 allow A saved text`},
	{"autosave-suspected: an unmodified save is a person's", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 save x
		3000 change x
		4000 save x
		4500 save x
		5000 change x
		6000 save x
		9000 save A`, `9000 allow A saved text`},
	{"autosave-suspected: people are not that regular", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 save x
		3000 change x
		4200 save x
		5000 change x
		5900 save x
		9000 save A`, `9000 allow A saved text`},
	{"autosave-suspected: a long pause with unsaved changes shows that there is no timer", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 save x
		3000 change x
		6000 change x
		7000 save x
		8000 change x
		9000 save x
		12000 save A`, `12000 allow A saved text`},
	{"autosave-suspected: formatting on save is not typing", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		1700 change x
		1702 save x
		3000 change x
		4990 change x
		4992 save x
		6000 change x
		9000 change x
		9002 save x
		12000 save A`, `12000 allow A saved text`},
	{"autosave-suspected: formatting on save does not hide the timer", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		2000 change x
		2002 save x
		3000 change x
		4000 change x
		4002 save x
		5000 change x
		6000 change x
		6002 save x`, `6002 suspect x autosave-suspected`},
	{"autosave-suspected: a quick hand on the save key", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		1200 save x
		3000 change x
		3200 save x
		5000 change x
		5200 save x
		9000 save A`, `9000 allow A saved text`},
	{"autosave-suspected: a save-all is one save", `
		0 staged A
		0 open A
		0 open x
		0 open y
		1000 change x
		1000 change y
		2000 save x
		2001 save y
		3000 change x
		4000 save x
		9000 save A`, `9000 allow A saved text`},
	{"autosave-suspected: a client that admits it is believed", `
		0 staged A
		0 open A
		0 open x
		1000 change x
		1999 will-save x afterDelay
		2000 save x
		3000 change x
		3999 will-save x afterDelay
		4000 save x
		5000 change x
		5999 will-save x afterDelay
		6000 save x
		9000 save A`, `9000 allow A saved text`},
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
	for _, cases := range [][]gestureCase{saveCases, closeCases, lifeCases, rhythmCases} {
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
