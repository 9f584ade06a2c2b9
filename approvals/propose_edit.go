package approvals

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// An edit is one replacement of an Edit or MultiEdit.
type edit struct {
	old, put string
	all      bool
}

// Bounds of a MultiEdit that keep it from holding up everybody else.
const (
	maxEdits     = 1000
	maxEditBytes = 1 << 31 // edits times bytes of the file
)

// editWay turns a person's text into an edit that replaces the whole file.
// Matching is done on LF text, so that is what old_string is given in; the
// line ends of the file come back when the agent writes.
type editWay struct {
	after string // content after the request's own edits: LF, with the byte order mark
	multi bool   // the input has edits[] instead of its own old_string
	all   bool   // the request's replace_all
}

func proposeEdit(p *Proposal, read ReadFile, limit int64) error {
	e, err := oneEdit(p.input)
	if err != nil {
		return err
	}
	if err := p.load(read, limit); err != nil {
		return err
	}
	return p.edits([]edit{e}, editWay{all: e.all})
}

func proposeMultiEdit(p *Proposal, read ReadFile, limit int64) error {
	v := p.input.get("edits")
	if v == nil {
		return errors.New(`tool input has no "edits"`)
	}
	edits, err := manyEdits(v)
	if err != nil {
		return err
	}
	if err := p.load(read, limit); err != nil {
		return err
	}
	if len(edits) > maxEdits || len(edits)*len(p.file.content) > maxEditBytes {
		return &NoPreviewError{Path: p.path, Reason: fmt.Sprintf("there are %d edits of %d bytes, more than are worked out", len(edits), p.file.size)}
	}
	return p.edits(edits, editWay{multi: true})
}

func oneEdit(in *inputObject) (e edit, err error) {
	if e.old, err = in.text("old_string"); err != nil {
		return e, err
	}
	if e.put, err = in.text("new_string"); err != nil {
		return e, err
	}
	e.all, err = in.flag("replace_all")
	return e, err
}

func manyEdits(v jsontext.Value) ([]edit, error) {
	if v.Kind() != '[' {
		return nil, fmt.Errorf(`"edits" in the tool input is a JSON %s, not an array`, kindName(v.Kind()))
	}
	items, err := arrayItems(v)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, errors.New(`"edits" in the tool input is empty`)
	}
	edits := make([]edit, len(items))
	for i, item := range items {
		in, err := takeApart(item)
		if err == nil {
			edits[i], err = oneEdit(in)
		}
		if err != nil {
			return nil, fmt.Errorf("edit %d of %d: %w", i+1, len(items), err)
		}
	}
	return edits, nil
}

// edits fills in the proposal.
func (p *Proposal) edits(edits []edit, w editWay) error {
	for _, e := range edits {
		if strings.IndexByte(e.put, 0) >= 0 {
			return &NoPreviewError{Path: p.path, Reason: "the new text holds NUL characters: binary"}
		}
		if e.old == e.put {
			return fmt.Errorf("%s: old_string and new_string are the same, which the agent refuses", p.path)
		}
	}
	after, notes, err := applyEdits(p.file, edits)
	if err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	w.after = after
	written := p.file.lineEnded(after)
	p.text, p.written, p.way = withoutBOM(written), written, w

	p.noteBOM()
	p.notes = append(p.notes, notes...)
	switch {
	case p.file.mixed && p.file.crlf:
		p.warn("The file has mixed line ends; the agent will make all of them CRLF.")
	case p.file.mixed:
		p.warn("The file has mixed line ends; the agent will make all of them LF.")
	case p.file.exists && !p.file.crlf && len(p.file.content) != len(p.file.decoded):
		// CRLF throughout, but not in the part that the agent looks at.
		p.warn("The file's CRLF line ends begin too late for the agent to see them; it will make all of them LF.")
	}
	if p.file.exists && !p.file.crlf && slices.ContainsFunc(edits, func(e edit) bool { return strings.Contains(e.put, "\r\n") }) {
		p.warn("The new text brings CRLF into a file with LF line ends.")
	}
	p.noteEnd()
	return nil
}

// applyEdits is the agent's own computation on content, and what people
// should know of it.
func applyEdits(f *fileText, edits []edit) (after string, notes []Note, err error) {
	after = f.content
	for i, e := range edits {
		where := ""
		if len(edits) > 1 {
			where = fmt.Sprintf("edit %d of %d: ", i+1, len(edits))
		}
		trimmed := strings.TrimRight(e.old, "\n")
		for _, earlier := range edits[:i] {
			if trimmed != "" && strings.Contains(earlier.put, trimmed) {
				return "", nil, errors.New(where + "old_string is part of an earlier edit's new_string, which the agent refuses")
			}
		}
		next, note, err := applyEdit(f, after, e, i == 0)
		if err != nil {
			return "", nil, fmt.Errorf("%s%w", where, err)
		}
		if next == after && !(f.content == "" && next == "" && len(edits) == 1) {
			return "", nil, errors.New(where + "it changes nothing, which the agent refuses")
		}
		if note.Text != "" {
			notes = append(notes, note)
		}
		after = next
	}
	return after, notes, nil
}

func applyEdit(f *fileText, content string, e edit, first bool) (string, Note, error) {
	if e.old == "" {
		if !first || !f.blank() {
			return "", Note{}, errors.New("old_string is empty and the file is not, which the agent refuses")
		}
		note := Note{}
		if f.content != "" && f.content != byteOrderMark {
			note = Note{Text: "The file holds only white space, all of which is replaced.", Warning: true}
		}
		return keepBOM(content, e.put), note, nil
	}
	if !f.exists && first {
		return "", Note{}, errors.New("the file does not exist and old_string is not empty")
	}
	m, ok := findMatch(content, e.old, e.put)
	if !ok {
		return "", Note{}, errors.New("old_string is not in the file")
	}
	if !e.all && strings.Contains(content[m.at+len(m.found):], m.found) {
		return "", Note{}, fmt.Errorf("old_string is in the file %d times and replace_all is not set", strings.Count(content, m.found))
	}
	note := Note{}
	if m.fuzzy != "" {
		note = Note{Text: "old_string is not in the file as it stands: " + m.fuzzy + ".", Warning: true}
	}
	// A deletion takes the line end after it along, where there is one.
	if m.put == "" && !strings.HasSuffix(m.found, "\n") {
		line := m.found + "\n"
		if at := strings.Index(content[m.at:], line); at >= 0 {
			at += m.at
			next := replace(content, at, line, "", e.all)
			if e.all && strings.Contains(next, m.found) {
				note = Note{Text: "Only the occurrences at a line's end go: the agent deletes those with their newline and leaves the others.", Warning: true}
			} else if note.Text == "" && at > 0 && content[at-1] != '\n' {
				note = Note{Text: "The deletion takes the newline after it along: two lines become one.", Warning: true}
			}
			return next, note, nil
		}
	}
	return replace(content, m.at, m.found, m.put, e.all), note, nil
}

// replace replaces old, which is first at that offset: there only, or everywhere.
func replace(s string, at int, old, put string, all bool) string {
	if all {
		return strings.ReplaceAll(s, old, put)
	}
	return s[:at] + put + s[at+len(old):]
}

func (w editWay) amend(p *Proposal, text string) (Amendment, error) {
	f := p.file
	if text == p.original && f.exists {
		return p.restored(), nil
	}
	put := text
	if f.bom() {
		put = withoutBOM(put)
	}
	if f.crlf {
		put = toLF(put) // the agent writes CRLF whichever is given
	}
	full := put
	if f.bom() {
		full = byteOrderMark + put
	}
	if full == w.after {
		return p.unamended(p.writtenNote(text, w.after)...), nil
	}
	if f.exists && full == f.content {
		return p.restored(), nil
	}
	e := edit{old: withoutBOM(f.content), put: put}
	if f.blank() {
		e.old = "" // what the agent wants for a file with nothing in it
	}
	after, _, err := applyEdits(f, []edit{e})
	if err != nil {
		return Amendment{}, fmt.Errorf("%s: the text cannot be put as an edit of the whole file: %w", p.path, err)
	}
	input, err := w.input(p.input, e)
	if err != nil {
		return Amendment{}, err
	}
	written := f.lineEnded(after)
	a := Amendment{Input: input, Amended: true, Want: f.encode(written), Notes: p.writtenNote(text, after)}
	a.Notes = append(a.Notes, p.amendedNotes(landed(f, written))...)
	return a, nil
}

// landed is a written text as people see it: without a byte order mark that
// was there before.
func landed(f *fileText, written string) string {
	if f.bom() {
		return withoutBOM(written)
	}
	return written
}

// input is the request's own, with the replacement of the whole file in it.
func (w editWay) input(in *inputObject, e edit) (jsontext.Value, error) {
	old, put := TextField("old_string", e.old), TextField("new_string", e.put)
	if w.multi {
		one, err := Splice(jsontext.Value(`{}`), old, put)
		if err != nil {
			return nil, err
		}
		return in.splice(Field{Name: "edits", Value: append(append(jsontext.Value{'['}, one...), ']')})
	}
	if in.get("replace_all") != nil && !w.all {
		return in.splice(old, put)
	}
	return in.splice(old, put, Field{Name: "replace_all", Value: jsontext.Value("false")})
}

// writtenNote says where the agent cannot write exactly the person's text.
func (p *Proposal) writtenNote(text, after string) []Note {
	if written := withoutBOM(p.file.lineEnded(after)); written != withoutBOM(text) {
		return []Note{{Text: "The agent writes this file with CRLF line ends throughout.", Warning: true}}
	}
	return nil
}
