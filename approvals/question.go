package approvals

import (
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Question is one question of an AskUserQuestion request.
type Question struct {
	Question    string           `json:"question"`
	Header      string           `json:"header"`
	Options     []QuestionOption `json:"options"`
	MultiSelect bool             `json:"multiSelect"`
}

// A QuestionOption is one of the answers a question offers.
type QuestionOption struct {
	Label       string `json:"label"`
	Description string `json:"description"`
	Preview     string `json:"preview,omitzero"`
}

// Questions are the questions that a document asks, nil for every document but
// that of an AskUserQuestion request.
func Questions(doc Document) []Question {
	if d, ok := doc.(*questionDocument); ok {
		return slices.Clone(d.questions)
	}
	return nil
}

// A questionDocument shows the questions of an AskUserQuestion request as a
// list of tasks to tick. The agent has no word for an answer that says
// nothing (it takes one silently, and goes on), so there is no way from an
// unanswered document to an allow.
type questionDocument struct {
	input     *inputObject
	questions []Question
	text      string
}

// newQuestion takes an AskUserQuestion request.
func newQuestion(req Request) (*questionDocument, []Note, error) {
	in, err := takeApart(own(req.Input))
	if err != nil {
		return nil, nil, err
	}
	d := &questionDocument{input: in}
	v := in.get("questions")
	if v == nil {
		return nil, nil, fmt.Errorf("tool input has no %q", "questions")
	}
	if err := json.Unmarshal(v, &d.questions, lenient...); err != nil {
		return nil, nil, fmt.Errorf("the questions cannot be read: %w", err)
	}
	if len(d.questions) == 0 {
		return nil, nil, fmt.Errorf("there is no question")
	}
	for i, q := range d.questions {
		if strings.TrimSpace(q.Question) == "" {
			return nil, nil, fmt.Errorf("question %d has no text", i+1)
		}
		if slices.ContainsFunc(d.questions[:i], func(o Question) bool { return o.Question == q.Question }) {
			return nil, nil, fmt.Errorf("question %d is asked twice, and answers are told apart by the question's text", i+1)
		}
	}
	d.text = d.render(InLine)
	return d, nil, nil
}

// hidden finds what the questions hold that does not show. It is written out in
// the document, line for line, so the places are whole lines of that.
func (d *questionDocument) hidden() finder {
	f := find(d.render(rawLine), "", AnyText)
	lines := strings.SplitAfter(d.text, "\n")
	from, n := 0, 0
	for i := range f.found {
		p := &f.found[i]
		for ; n < p.Line-1; n++ {
			from += len(lines[n])
		}
		p.Column, p.Offset, p.Length = 0, from, len(strings.TrimSuffix(lines[n], "\n"))
	}
	return f
}

// rawLine keeps hidden characters, for finding their places.
func rawLine(s string) string { return strings.ReplaceAll(s, "\n", "⏎") }

// Basename makes editors see Markdown.
func (d *questionDocument) Basename() string { return "question.md" }

// Text is the questions as lists of tasks.
func (d *questionDocument) Text() string { return d.text }

// Original is empty: nothing was there before.
func (d *questionDocument) Original() string { return "" }

// The fixed lines of a question document.
const (
	questionIntro = "<!-- Tick your answer with an x, [x], or write one after Other. Then save. Closing the document declines to answer. -->"
	otherMark     = "Other:"
	notesMark     = "Notes:"
)

// render writes the document. Everything of the agent's own goes through line,
// which leaves no newline in it: nothing that it says can look like one of our
// lines at the beginning of a line.
func (d *questionDocument) render(line func(string) string) string {
	var b strings.Builder
	b.WriteString(questionIntro + "\n")
	for i, q := range d.questions {
		b.WriteString("\n" + heading(i, q, line) + "\n\n")
		q.render(&b, line)
		b.WriteString(otherMark + "\n" + notesMark + "\n")
	}
	return b.String()
}

// render writes what stands between a question's heading and the lines to write
// on.
func (q Question) render(b *strings.Builder, line func(string) string) {
	kind := "Choose one"
	switch {
	case len(q.Options) == 0:
		kind = "Write an answer"
	case q.MultiSelect:
		kind = "Choose any"
	}
	if q.Header != "" {
		kind += " (" + line(q.Header) + ")"
	}
	b.WriteString(kind + ".\n\n")
	for _, o := range q.Options {
		b.WriteString("- [ ] " + optionLine(o, line) + "\n")
		if o.Preview != "" {
			for l := range strings.Lines(o.Preview) {
				b.WriteString("  > " + line(strings.TrimRight(l, "\r\n")) + "\n")
			}
		}
	}
	if len(q.Options) > 0 {
		b.WriteByte('\n')
	}
}

// fixed are the lines that a question has besides its options, each without the
// blanks around it.
func (q Question) fixed() map[string]bool {
	var b strings.Builder
	q.render(&b, InLine)
	lines := map[string]bool{}
	for l := range strings.Lines(b.String()) {
		lines[strings.TrimSpace(l)] = true
	}
	return lines
}

func heading(i int, q Question, line func(string) string) string {
	return fmt.Sprintf("## %d. %s", i+1, line(q.Question))
}

func optionLine(o QuestionOption, line func(string) string) string {
	s := line(o.Label)
	if o.Description != "" {
		s += " — " + line(o.Description)
	}
	return s
}

// Amend reads ticks and written answers. A document without any is an error.
func (d *questionDocument) Amend(text string) (Amendment, error) {
	if err := plainText(text); err != nil {
		return Amendment{}, err
	}
	answers, notes, err := d.parse(text)
	if err != nil {
		return Amendment{}, err
	}
	if len(answers) == 0 {
		return Amendment{}, &DocumentError{Line: 3, Reason: "no question is answered: tick an answer with [x] or write one after Other:, or deny to decline"}
	}
	return d.answered(answers, notes)
}

// answered is what an allow with these answers carries.
func (d *questionDocument) answered(answers, notes map[string]string) (Amendment, error) {
	input, err := d.answer(answers, notes)
	if err != nil {
		return Amendment{}, err
	}
	am := Amendment{Input: input, Amended: true}
	for _, q := range d.questions {
		if strings.TrimSpace(answers[q.Question]) == "" {
			am.Notes = append(am.Notes, Note{Text: fmt.Sprintf("Left without an answer: %s", short(q.Question))})
		}
	}
	return am, nil
}

// parse finds the answers in a person's text.
func (d *questionDocument) parse(text string) (answers, notes map[string]string, err error) {
	answers, notes = map[string]string{}, map[string]string{}
	var s *answerSection
	n, first := 0, 0 // first: a line before the first question that is not ours
	for l := range strings.Lines(text) {
		n++
		l = strings.TrimRight(l, "\r\n \t")
		next := 0
		if s != nil {
			next = s.index + 1
		}
		if next < len(d.questions) && l == strings.TrimRight(heading(next, d.questions[next], InLine), " \t") {
			if s != nil {
				if err := s.end(answers, notes); err != nil {
					return nil, nil, err
				}
			}
			s = &answerSection{q: d.questions[next], fixed: d.questions[next].fixed(), index: next, line: n}
			continue
		}
		switch {
		case s != nil:
			if err := s.take(l, n); err != nil {
				return nil, nil, err
			}
		case strings.TrimSpace(l) != "" && strings.TrimSpace(l) != questionIntro && first == 0:
			first = n
		}
	}
	if s != nil {
		if err := s.end(answers, notes); err != nil {
			return nil, nil, err
		}
	}
	if s == nil || s.index != len(d.questions)-1 {
		missing := 0
		if s != nil {
			missing = s.index + 1
		}
		line := max(n, 1)
		if first > 0 {
			line = first
		}
		return nil, nil, &DocumentError{Line: line, Reason: fmt.Sprintf("the line %q was changed or removed: it says which question is answered", heading(missing, d.questions[missing], InLine))}
	}
	if first > 0 {
		return nil, nil, &DocumentError{Line: first, Reason: strayLine}
	}
	return answers, notes, nil
}

// strayLine: what somebody wrote must not be dropped unseen.
const strayLine = "this line belongs to no answer: write answers after " + otherMark + " and remarks after " + notesMark

// An answerSection is one question's part of the document while it is read.
type answerSection struct {
	q           Question
	fixed       map[string]bool
	index, line int
	options     int // seen so far
	ticked      []string
	other       []string
	notes       []string
	otherAt     int // the line of what is written after Other:
	inOther     bool
	inNotes     bool
}

func (s *answerSection) take(l string, n int) error {
	switch {
	case s.inNotes:
		s.notes = append(s.notes, l)
		return nil
	case strings.HasPrefix(l, notesMark):
		s.inNotes = true
		s.notes = append(s.notes, strings.TrimPrefix(l, notesMark))
		return nil
	case strings.HasPrefix(l, otherMark) && !s.inOther:
		s.inOther = true
		l = strings.TrimPrefix(l, otherMark)
		fallthrough
	case s.inOther:
		if s.otherAt == 0 && strings.TrimSpace(l) != "" {
			s.otherAt = n
		}
		s.other = append(s.other, l)
		return nil
	}
	l = strings.TrimSpace(l)
	t, ok := taskLine(l)
	switch {
	case !ok && l != "" && !s.fixed[l]:
		return &DocumentError{Line: n, Reason: strayLine}
	case !ok:
		return nil
	case s.options == len(s.q.Options):
		return &DocumentError{Line: n, Reason: "the question does not offer this option: write another answer after " + otherMark}
	}
	o := s.q.Options[s.options]
	s.options++
	switch {
	case t.rest != strings.TrimSpace(optionLine(o, InLine)):
		return &DocumentError{Line: n, Reason: fmt.Sprintf("the option %q was changed: leave options as they are, and write another answer after %s", InLine(o.Label), otherMark)}
	case t.mark == "":
	case !t.ticked():
		return &DocumentError{Line: n, Reason: t.strange()}
	case len(s.ticked) == 1 && !s.q.MultiSelect:
		return &DocumentError{Line: n, Reason: "this is the second tick, and only one answer can be chosen"}
	default:
		s.ticked = append(s.ticked, o.Label)
	}
	return nil
}

func (s *answerSection) end(answers, notes map[string]string) error {
	if s.options < len(s.q.Options) {
		return &DocumentError{Line: s.line, Reason: fmt.Sprintf("the option %q was removed: options can be left unticked, not deleted", InLine(s.q.Options[s.options].Label))}
	}
	other := strings.TrimSpace(strings.Join(s.other, "\n"))
	if other != "" {
		if len(s.ticked) > 0 && !s.q.MultiSelect {
			return &DocumentError{Line: s.otherAt, Reason: "an option is ticked and another answer is written: only one of them can be the answer"}
		}
		s.ticked = append(s.ticked, other)
	}
	if len(s.ticked) > 0 {
		answers[s.q.Question] = strings.Join(s.ticked, ", ")
	}
	if n := strings.TrimSpace(strings.Join(s.notes, "\n")); n != "" {
		notes[s.q.Question] = n
	}
	return nil
}

// answer puts answers, keyed by the questions' texts, and remarks on them into
// the input.
func (d *questionDocument) answer(answers, notes map[string]string) (jsontext.Value, error) {
	for q := range answers {
		if !d.asks(q) {
			return nil, fmt.Errorf("nobody asked %q", InLine(q))
		}
	}
	for q := range notes {
		if !d.asks(q) {
			return nil, fmt.Errorf("there is a note on %q, which nobody asked", InLine(q))
		}
	}
	object, annotations := []byte{'{'}, []byte{'{'}
	member := func(b []byte, name string, value []byte) []byte {
		if len(b) > 1 {
			b = append(b, ',')
		}
		return append(append(appendJSONString(b, name), ':'), value...)
	}
	for _, q := range d.questions {
		a := strings.TrimSpace(answers[q.Question])
		if a != "" {
			if err := q.takes(a); err != nil {
				return nil, err
			}
			object = member(object, q.Question, appendJSONString(nil, a))
		}
		note := []byte{'{'}
		if i := slices.IndexFunc(q.Options, func(o QuestionOption) bool { return o.Label == a }); i >= 0 && q.Options[i].Preview != "" && !q.MultiSelect {
			note = member(note, "preview", appendJSONString(nil, q.Options[i].Preview))
		}
		if n := strings.TrimSpace(notes[q.Question]); n != "" {
			note = member(note, "notes", appendJSONString(nil, n))
		}
		if len(note) > 1 {
			annotations = member(annotations, q.Question, append(note, '}'))
		}
	}
	if len(object) == 1 {
		return nil, fmt.Errorf("no question is answered: an empty answer is never sent, deny to decline")
	}
	fields := []Field{{Name: "answers", Value: append(object, '}')}}
	if len(annotations) > 1 {
		fields = append(fields, Field{Name: "annotations", Value: append(annotations, '}')})
	}
	return d.input.splice(fields...)
}

func (d *questionDocument) asks(question string) bool {
	return slices.ContainsFunc(d.questions, func(q Question) bool { return q.Question == question })
}

// takes says why a question cannot be answered so. Free text is an answer; two
// of the labels are none where one is asked for.
func (q Question) takes(answer string) error {
	label := func(s string) bool {
		return slices.ContainsFunc(q.Options, func(o QuestionOption) bool { return o.Label == s })
	}
	if q.MultiSelect || label(answer) {
		return nil
	}
	parts := strings.Split(answer, ",")
	for _, p := range parts {
		if !label(strings.TrimSpace(p)) {
			return nil
		}
	}
	if len(parts) < 2 {
		return nil
	}
	return fmt.Errorf("the question %q takes one answer, not %q", InLine(q.Question), answer)
}
