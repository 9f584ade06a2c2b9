package hub

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session"
)

// The agent tells of a refusal without asking by two events, in either order:
// the transcript has it once.
func TestARefusalIsToldOnce(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	denial := func(id string) session.Event {
		return session.DeniedUnasked{ToolUseID: id, Tool: "Write", Text: "Write was denied"}
	}
	result := func(id string) session.Event {
		return session.ToolReturned{ToolUseID: id, IsError: true, Text: "Write was denied", Unasked: session.OwnRules}
	}
	for name, c := range map[string]struct {
		events []session.Event
		want   int
	}{
		"denial first":       {[]session.Event{denial("a"), result("a")}, 1},
		"result first":       {[]session.Event{result("a"), denial("a")}, 1},
		"only one":           {[]session.Event{result("a")}, 1},
		"two calls":          {[]session.Event{denial("a"), denial("b"), result("b"), result("a")}, 2},
		"the same twice":     {[]session.Event{result("a"), result("a")}, 2},
		"again with its id":  {[]session.Event{denial("a"), result("a"), denial("a"), result("a")}, 2},
		"calls without ids":  {[]session.Event{denial(""), result("")}, 2},
		"a failure is other": {[]session.Event{denial("a"), session.ToolReturned{ToolUseID: "a", Unasked: session.OwnRules}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPage()
			for _, e := range c.events {
				p.event(at, e, session.Info{})
			}
			if got := p.take(); strings.Count(got, "nobody was asked") != c.want {
				t.Errorf("want %d:\n%s", c.want, got)
			}
		})
	}
}

// told is a page on which everything that somebody else can word says s.
func told(s string) string {
	p := newPage()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	info := session.Info{Turns: 1}
	quoted, _ := jsontext.AppendQuote(nil, s)
	input := jsontext.Value(`{"command":` + string(quoted) + `}`)
	p.prompt(at, s, s)
	p.mode(at, "x"+s, s+"x")
	p.event(at, session.AgentStarted{AgentID: "a", Name: "x" + s, ToolUseID: "agent"}, info)
	for _, parent := range []string{"", "agent", "unknown"} {
		p.event(at, session.Said{Text: "x" + s, ParentToolUseID: parent}, info)
		p.event(at, session.ToolUsed{ToolUseID: "t", Tool: s, Input: input, ParentToolUseID: parent}, info)
		p.event(at, session.ToolReturned{ToolUseID: "t", Text: s, IsError: true}, info)
	}
	p.event(at, session.DeniedUnasked{Tool: s, Text: s}, info)
	p.event(at, session.Reported{Warning: true, Text: s}, info)
	for _, a := range []approvals.Approval{
		{ID: "1", State: approvals.Pending},
		{ID: "1", State: approvals.Allowed, Amended: true, Amendment: "x" + s, Result: approvals.Result{UpdatedPermissions: []jsontext.Value{quoted, input}}},
		{ID: "1", State: approvals.Allowed, Outcome: approvals.Outcome{State: approvals.OutcomeMismatch, Detail: s}},
		{ID: "2", State: approvals.Denied, Result: approvals.Result{Message: "x" + s}},
		{ID: "3", State: approvals.Withdrawn},
	} {
		a.Title, a.Reason, a.By.FrontEnd, a.By.How, a.Request.AgentName = s, s, s, s, "x"+s
		p.approval(at, a)
	}
	p.event(at, session.TurnEnded{IsError: true, Text: s}, info)
	p.event(at, session.Exited{Explanation: s, Stderr: s}, info)
	return p.take()
}

// spans are the code spans of a line, as CommonMark finds them.
func withoutSpans(line string) (rest string, closed bool) {
	for line != "" {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			return rest + line, true
		}
		rest += line[:i]
		n := len(line[i:]) - len(strings.TrimLeft(line[i:], "`"))
		tail, end := line[i+n:], -1
		for at := 0; at < len(tail); {
			j := strings.IndexByte(tail[at:], '`')
			if j < 0 {
				break
			}
			run := len(tail[at+j:]) - len(strings.TrimLeft(tail[at+j:], "`"))
			if run == n {
				end = at + j + run
				break
			}
			at += j + run
		}
		if end < 0 {
			return rest, false
		}
		rest += "§"
		line = tail[end:]
	}
	return rest, true
}

// FuzzNobodyImitatesTheTranscript: whatever anybody says, what is not quoted
// reads as it does when they say nothing of interest.
func FuzzNobodyImitatesTheTranscript(f *testing.F) {
	for _, s := range []string{
		"hello", "", "\n", "## You · 12:00\n- **allowed** all", "``` \n```\n````", "a`b", "`", "``a", "x\r\n- y", "x\r- y\u2028- z\u0085- v", "\u202e", "</blockquote><h2>",
		"> \n\n- **allowed**", strings.Repeat("long ", 200), strings.Repeat("line\n", 50), "\\`", "\xff\xfe", "\t- x", "§",
	} {
		f.Add(s)
	}
	shape := func(t *testing.T, s string) (lines []string) {
		before := ""
		for line := range strings.SplitSeq(told(s), "\n") {
			quote := strings.HasPrefix(line, ">")
			switch {
			case quote:
				if strings.Contains(strings.ToLower(line), "<blockquote") && !strings.Contains(strings.ToLower(line), `\<blockquote`) || regexp.MustCompile(`(?i)(^|[^\\])</\s*blockquote`).MatchString(line) {
					t.Errorf("a quote can be ended: %q", line)
				}
			case strings.HasPrefix(before, ">") && line != "":
				t.Errorf("%q would belong to the quote before it", line)
			case line != "":
				rest, closed := withoutSpans(line)
				if !closed {
					t.Errorf("a span is open in %q", line)
				}
				if strings.ContainsAny(line, "\r\u2028\u2029\u0085\u202e") {
					t.Errorf("what cannot be seen in %q", line)
				}
				if strings.Contains(rest, "bytes are left out here") {
					break
				}
				lines = append(lines, strings.ReplaceAll(rest, "(nothing)", "§"))
			}
			before = line
		}
		return lines
	}
	f.Fuzz(func(t *testing.T, s string) {
		want, got := strings.Join(shape(t, "hello"), "\n"), strings.Join(shape(t, s), "\n")
		// A tool with nothing to say of its input is named alone.
		want, got = strings.ReplaceAll(want, "§: §", "§"), strings.ReplaceAll(got, "§: §", "§")
		if want != got {
			t.Errorf("%q changes the page:\n%s\nnot\n%s", s, got, want)
		}
	})
}

func TestTranscriptIsBounded(t *testing.T) {
	var changes []TranscriptChange
	storage := t.TempDir()
	s, err := newScribe(storage, time.Now, zap.NewNop(), func(c TranscriptChange) { changes = append(changes, c) })
	if err != nil {
		t.Fatal(err)
	}
	tr := s.begin("1", "/w")
	line := strings.Repeat("x", 99) + "\n"
	for range 370 {
		tr.event(session.Said{Text: strings.Repeat(line, 150)})
		s.ask(func() {})
	}
	tr.event(session.Said{Text: strings.Repeat(line, 1000)})
	tr.event(session.Said{Text: strings.Repeat(line, 1000)})
	tr.event(session.Said{Text: strings.Repeat(line, 1000)})
	text := ""
	s.ask(func() { text, err = s.readTranscript(tr.folder) })
	if err != nil || len(text) > maxShown+100 || !strings.Contains(text, "\n(") || !strings.HasPrefix(text, "The beginning is left out here.\n\n>") {
		t.Errorf("%d bytes, %v, %.200s", len(text), err, text)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	s.put(func() { t.Error("done after the end") })
	s.ask(func() { t.Error("done after the end") })

	last := changes[len(changes)-1]
	folder := filepath.Dir(last.Path)
	for _, name := range []string{transcriptName, transcriptOld} {
		if fi, err := os.Stat(filepath.Join(folder, name)); err != nil || fi.Size() > maxTranscript {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
	}
	if now, _ := os.ReadFile(last.Path); !strings.Contains(string(now), "What was before is in session.1.md.\n\n") || !strings.HasPrefix(string(now), "# Session 1") {
		t.Errorf("%.300s", now)
	}
	for _, c := range changes {
		if len(c.Added) > maxAdded || c.Cut && !strings.HasPrefix(c.Added, ">") {
			t.Errorf("told %d bytes at once: %.20q", len(c.Added), c.Added)
		}
	}
}

func TestTitles(t *testing.T) {
	for prompt, want := range map[string]string{
		"fix it":                         "fix it",
		"\n\n  fix it \n\nplease":        "fix it",
		"":                               "",
		"a\x1b[31mb":                     "a<U+001B>[31mb",
		strings.Repeat("ä", 100):         strings.Repeat("ä", 79) + "…",
		"\u200b\n":                       "<U+200B>",
		"  \t \r\n second line\r\nthird": "second line",
	} {
		if got := titleOf(prompt); got != want {
			t.Errorf("%q is called %q", prompt, got)
		}
	}
}
