package approvals

import (
	"fmt"
	"strings"
)

// Write replaces the whole file with its content as given: nothing is done to
// the line ends, whatever the file had. Only encoding and byte order mark of an
// existing file are kept.
type writeWay struct {
	contentBOM bool // the request's content itself begins with a byte order mark
}

func proposeWrite(p *Proposal, read ReadFile, limit int64) error {
	content, err := p.input.text("content")
	if err != nil {
		return err
	}
	if strings.IndexByte(content, 0) >= 0 {
		return &NoPreviewError{Path: p.path, Reason: "the new content holds NUL characters: binary"}
	}
	if err := p.load(read, limit); err != nil {
		return err
	}
	after := keepBOM(p.file.content, content)
	p.text, p.written = withoutBOM(after), after
	p.way = writeWay{contentBOM: strings.HasPrefix(content, byteOrderMark)}

	p.noteBOM()
	switch bom := strings.HasPrefix(after, byteOrderMark); {
	case bom && !p.file.bom():
		p.note("A byte order mark is written at the start of the file.")
	case !bom && p.file.bom():
		p.warn("The file becomes empty and loses its byte order mark.")
	}
	if p.file.exists {
		was, is := lineEndsOf(p.original), lineEndsOf(p.text)
		if was != noLineEnds && is != noLineEnds && was != is {
			p.warn(fmt.Sprintf("Line ends change: the file has %s, the new content %s.", was, is))
		}
	} else if lineEndsOf(p.text) == mixedLineEnds {
		p.warn("The new content has mixed line ends.")
	}
	p.noteEnd()
	return nil
}

func (w writeWay) amend(p *Proposal, text string) (Amendment, error) {
	if p.file.exists && text == p.original { // which may begin with a mark of its own
		return p.restored(), nil
	}
	if p.file.bom() || w.contentBOM {
		// The mark is not part of the text; an editor that adds one of its
		// own means the same one.
		if text = withoutBOM(text); text == p.text {
			return p.unamended(), nil
		}
	}
	if p.file.exists && text == p.original {
		return p.restored(), nil
	}
	content := text
	if w.contentBOM {
		content = byteOrderMark + text
	}
	input, err := p.input.splice(TextField("content", content))
	if err != nil {
		return Amendment{}, err
	}
	after := keepBOM(p.file.content, content)
	a := Amendment{Input: input, Amended: true, Want: p.file.encode(after)}
	a.Notes = append(a.Notes, p.amendedNotes(text)...)
	return a, nil
}

// lineEnds names what a text's lines end with, for notes.
type lineEnds string

const (
	noLineEnds    lineEnds = "no line ends"
	lfLineEnds    lineEnds = "LF"
	crlfLineEnds  lineEnds = "CRLF"
	mixedLineEnds lineEnds = "LF and CRLF mixed"
)

func lineEndsOf(s string) lineEnds {
	lf := strings.Count(s, "\n")
	if lf == 0 {
		return noLineEnds
	}
	switch strings.Count(s, "\r\n") {
	case 0:
		return lfLineEnds
	case lf:
		return crlfLineEnds
	}
	return mixedLineEnds
}
