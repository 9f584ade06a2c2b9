package hub

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session"
)

// A page turns what happens in a session into Markdown.
//
// Whose words are whose must be plain in it, or an agent could write a
// transcript of decisions that nobody took. So what somebody said stands behind
// ">" on each of its lines, and in a line of ours only inside a code span, in
// which it can neither end the line nor the span. Every other character comes
// from here.
type page struct {
	out     strings.Builder
	block   bool              // the last line is one of a list
	speaker string            // whose words came last
	day     string            // of the last line
	agents  map[string]string // subagents, by the id of the call that started them
	tools   map[string]string // what is under way, by the id of the call
	asked   map[string]bool   // calls under way whose approval tells what became of them
	refused map[string]string // refusals without asking, by the id of the call: which of its two events told of it
	states  map[string]string // what was last written of an approval that is not over
}

func newPage() page {
	return page{agents: make(map[string]string), tools: make(map[string]string), asked: make(map[string]bool), refused: make(map[string]string), states: make(map[string]string)}
}

// Bounds of what is quoted, in bytes.
const (
	maxQuote = 32 << 10
	maxCode  = 200 // in characters
)

// take is what was written since.
func (p *page) take() string {
	s := p.out.String()
	p.out.Reset()
	return s
}

// head is what a file begins with.
func (*page) head(name, about string) string {
	return fmt.Sprintf("# Session %s in %s\n\nLines that begin with \">\" are what you, the agent or a tool said; so is what stands `like this`. All else is Countersign's.\n\n", name, code(about))
}

// heading begins a part of its own.
func (p *page) heading(at time.Time, speaker, format string, args ...any) {
	p.date(at)
	p.end()
	p.speaker = speaker
	fmt.Fprintf(&p.out, "## %s · %s\n\n", fmt.Sprintf(format, args...), at.Format("15:04:05"))
}

// line is something of ours that happened.
func (p *page) line(at time.Time, format string, args ...any) {
	p.date(at)
	p.speaker = ""
	p.block = true
	fmt.Fprintf(&p.out, "- %s %s\n", at.Format("15:04:05"), fmt.Sprintf(format, args...))
}

func (p *page) date(at time.Time) {
	if day := at.Format("2006-01-02"); day != p.day {
		p.end()
		p.day = day
		fmt.Fprintf(&p.out, "*%s*\n\n", at.Format("Monday, 2 January 2006"))
	}
}

// end ends a list, so that what follows is no part of it.
func (p *page) end() {
	if p.block {
		p.out.WriteByte('\n')
	}
	p.block = false
}

// quote is what somebody said. The empty line behind it ends it: a line right
// behind a quote would belong to it.
func (p *page) quote(text string) {
	text = strings.Trim(text, "\n")
	cut := 0
	if len(text) > maxQuote {
		whole := text
		text = text[:maxQuote]
		for len(text) > 0 && !utf8.RuneStart(whole[len(text)]) {
			text = text[:len(text)-1]
		}
		cut = len(whole) - len(text)
	}
	if text == "" {
		return
	}
	p.end()
	for line := range strings.SplitSeq(text, "\n") {
		p.out.WriteString(strings.TrimRight("> "+quoted(strings.TrimSuffix(line, "\r")), " "))
		p.out.WriteByte('\n')
	}
	p.out.WriteByte('\n')
	if cut > 0 {
		fmt.Fprintf(&p.out, "(%d more bytes are left out here)\n\n", cut)
	}
}

// closing is markup that would end a quote where Markdown becomes HTML.
var closing = regexp.MustCompile(`(?i)<(/?\s*blockquote)`)

func quoted(line string) string {
	fields := strings.Split(line, "\t")
	for i, f := range fields {
		fields[i] = approvals.InLine(f)
	}
	return closing.ReplaceAllString(strings.Join(fields, "\t"), `\<$1`)
}

// fenced quotes a text that is not Markdown.
func (p *page) fenced(language, text string) {
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	p.quote(fence + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence)
}

// code is what somebody else named, inside a line of ours.
func code(s string) string {
	s = approvals.InLine(strings.TrimSpace(s))
	if utf8.RuneCountInString(s) > maxCode {
		s = string([]rune(s)[:maxCode-1]) + "…"
	}
	if s == "" {
		return "(nothing)"
	}
	ticks := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return ticks + s + ticks
}

// longestRun is the length of the longest run of backticks.
func longestRun(s string) int {
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

func (p *page) prompt(at time.Time, text, by string) {
	p.heading(at, "you", "You, from %s", code(by))
	p.quote(text)
}

func (p *page) mode(at time.Time, before, now string) {
	if before == "" {
		p.line(at, "mode %s", code(now))
		return
	}
	p.line(at, "mode %s, was %s", code(now), code(before))
}

func (p *page) resumed(at time.Time, was past) {
	p.block = true // whatever the file ended with
	p.line(at, "**resumed**: the conversation %s goes on", code(was.ID))
}

func (p *page) remark(at time.Time, warning bool, text string) {
	if warning {
		p.line(at, "**warning** %s", code(text))
		return
	}
	p.line(at, "%s", code(text))
}

// event writes down what the agent did; info is how the session does since.
func (p *page) event(at time.Time, e session.Event, info session.Info) {
	switch e := e.(type) {
	case session.Said:
		if strings.TrimSpace(e.Text) == "" {
			return
		}
		speaker, title := "agent", "Agent"
		if e.ParentToolUseID != "" {
			speaker = "agent " + e.ParentToolUseID
			title = "Subagent " + code(cmp.Or(p.agents[e.ParentToolUseID], "without a name"))
		}
		if p.speaker != speaker {
			p.heading(at, speaker, "%s", title)
		}
		p.quote(e.Text)
	case session.ToolUsed:
		what := code(e.Tool)
		if about := inputInShort(e.Input); about != "" {
			what += ": " + code(about)
		}
		by := ""
		if e.ParentToolUseID != "" {
			by = "subagent " + code(cmp.Or(p.agents[e.ParentToolUseID], "without a name")) + " "
		}
		if len(p.tools) < 10_000 {
			p.tools[e.ToolUseID] = what
		}
		p.line(at, "%suses %s", by, what)
	case session.ToolReturned:
		what := cmp.Or(p.tools[e.ToolUseID], "a tool")
		asked := p.asked[e.ToolUseID]
		delete(p.tools, e.ToolUseID)
		delete(p.asked, e.ToolUseID)
		switch {
		case asked && e.Unasked == "":
		case e.Unasked != "" && e.IsError && p.toldOf(e.ToolUseID, "result"):
		case e.Unasked != "" && e.IsError:
			p.line(at, "**nobody was asked**, %s decided: %s failed, or was refused: %s", e.Unasked, what, code(e.Text))
		case e.Unasked != "":
			p.line(at, "**nobody was asked**, %s decided: %s ran", e.Unasked, what)
		case e.IsError:
			p.line(at, "%s ended with an error: %s", what, code(e.Text))
		}
	case session.DeniedUnasked:
		if p.toldOf(e.ToolUseID, "denial") {
			return
		}
		p.line(at, "**denied, and nobody was asked**: %s", code(e.Text))
	case session.Reported:
		p.remark(at, e.Warning, e.Text)
	case session.AgentStarted:
		if len(p.agents) < 10_000 {
			p.agents[e.ToolUseID] = e.Name
		}
		p.line(at, "subagent %s begins", code(e.Name))
	case session.TurnEnded:
		how := "the turn has ended"
		switch {
		case e.Interrupted:
			how = "**the turn was interrupted**"
		case e.IsError:
			how = "**the turn failed**: " + code(e.Text)
		}
		p.line(at, "%s (%d in all, $%.4f)", how, info.Turns, info.CostUSD)
	case session.Exited:
		if !e.Expected {
			p.line(at, "**the agent is gone**: %s", code(e.Explanation))
		} else {
			p.line(at, "%s", code(e.Explanation))
		}
	}
}

// approval writes down what has changed about an approval.
func (p *page) approval(at time.Time, a approvals.Approval) {
	state := string(a.State) + " " + a.Outcome.State
	if p.states[a.ID] == state {
		return // a remark of the desk's, which front ends show
	}
	known := p.states[a.ID] != ""
	p.states[a.ID] = state
	by := ""
	if name := agentName(a.Request); name != "" {
		by = "subagent " + code(name) + " "
	}
	switch {
	case a.State == approvals.Pending:
		if len(p.asked) < 10_000 {
			p.asked[a.Request.ToolUseID] = true
		}
		p.line(at, "%sasks: %s (%s)", by, code(a.Title), code(a.ID))
		return
	case a.Outcome.State == approvals.OutcomeMismatch:
		p.line(at, "**not as approved** %s: %s", code(a.Title), code(a.Outcome.Detail))
	case a.Outcome.State == approvals.OutcomeFailed:
		p.line(at, "failed: %s: %s", code(a.Title), code(a.Outcome.Detail))
	case a.Outcome.State == approvals.OutcomeVerified:
		p.line(at, "done as approved: %s", code(a.Title))
	case a.Outcome.State != "":
		p.line(at, "done: %s", code(a.Title))
	case a.State == approvals.Withdrawn:
		p.line(at, "**withdrawn** %s: %s", code(a.Title), code(a.Reason))
	default:
		p.decision(at, a)
		if a.State == approvals.Allowed {
			return // its outcome is to come
		}
	}
	if known {
		delete(p.states, a.ID) // it is over
	}
}

func (p *page) decision(at time.Time, a approvals.Approval) {
	verb := "**denied**"
	if a.State == approvals.Allowed {
		verb = "**allowed**"
		if a.Amended {
			verb = "**allowed, amended**"
		}
	}
	how := a.By.How
	if a.By.Rule != "" {
		how += ", rule " + a.By.Rule
	}
	p.line(at, "%s %s — by %s (%s)", verb, code(a.Title), code(a.By.FrontEnd), code(how))
	for _, u := range a.Result.UpdatedPermissions {
		p.line(at, "with that: %s", code(approvals.RuleWords(u)))
	}
	switch {
	case a.State == approvals.Denied && a.Result.Interrupt:
		p.line(at, "the turn was ended with it")
	case a.State == approvals.Denied:
		p.quote(a.Result.Message)
	case a.Amendment != "":
		p.fenced("diff", a.Amendment)
	}
}

// inputInShort says what a tool is used on.
func inputInShort(input jsontext.Value) string {
	var in struct {
		Command     any `json:"command"`
		FilePath    any `json:"file_path"`
		Notebook    any `json:"notebook_path"`
		Path        any `json:"path"`
		URL         any `json:"url"`
		Pattern     any `json:"pattern"`
		Query       any `json:"query"`
		Description any `json:"description"`
	}
	if json.Unmarshal(input, &in, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)) != nil {
		return ""
	}
	for _, v := range []any{in.Command, in.FilePath, in.Notebook, in.URL, in.Pattern, in.Query, in.Path, in.Description} {
		if s, ok := v.(string); ok && s != "" {
			return s
		}
	}
	if s := string(input); s != "{}" {
		return s
	}
	return ""
}

// titleOf is what a session is called: the beginning of its first prompt.
func titleOf(prompt string) string {
	for line := range strings.SplitSeq(prompt, "\n") {
		if line = strings.TrimSpace(approvals.InLine(strings.TrimSpace(line))); line == "" {
			continue
		}
		if r := []rune(line); len(r) > 80 {
			return string(r[:79]) + "…"
		}
		return line
	}
	return ""
}

// toldOf notes that a refusal without asking is told of with one of its two
// events, and tells whether the other has told of it already.
func (p *page) toldOf(call, with string) bool {
	other := p.refused[call]
	switch {
	case call == "" || other == with:
	case other != "":
		delete(p.refused, call)
		return true
	case len(p.refused) < 10_000:
		p.refused[call] = with
	}
	return false
}
