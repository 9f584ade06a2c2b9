package approvals

import (
	"fmt"
	"strings"
)

// A TextKind says what text is looked through for what does not show.
type TextKind int

// The kinds of text.
const (
	AnyText     TextKind = iota // lines may end with a carriage return
	CommandText                 // a carriage return is part of what runs
	JSONText                    // hidden characters are written as \u escapes, and found all the same
)

// TextKindOf is the kind of a staged document, from its surface and its name.
func TextKindOf(surface Surface, basename string) TextKind {
	switch {
	case surface != SurfacePanel:
	case basename == commandName:
		return CommandText
	case basename == inputName:
		return JSONText
	}
	return AnyText
}

// A HiddenPlace is a place of a text at which a person does not see what is
// there: a character that does not show or turns the text around, padding that
// moves text out of sight, a line too long to be looked at.
type HiddenPlace struct {
	Line   int    `json:"line"`               // counts from 1
	Column int    `json:"column,omitzero"`    // counts from 1, in characters (code points); 0: the whole line
	Offset int    `json:"offset"`             // in bytes of the text
	Length int    `json:"length"`             // in bytes
	Rune   rune   `json:"character,omitzero"` // 0 where it is no character
	Words  string `json:"words"`              // "zero-width character (U+200B)", "text after 60 blanks"
}

func (p HiddenPlace) String() string {
	if p.Column == 0 {
		return fmt.Sprintf("Line %d: %s", p.Line, p.Words)
	}
	return fmt.Sprintf("Line %d, column %d: %s", p.Line, p.Column, p.Words)
}

const (
	// maxPlaces bounds the places found in one text.
	maxPlaces = 100
	// maxFound bounds the notes about one text; the rest is counted.
	maxFound = 6
)

// Hidden finds what does not show in a text, at most a hundred places. Lines
// that baseline has as well are not the request's doing and are left out.
func Hidden(text, baseline string, kind TextKind) []HiddenPlace {
	f := find(text, baseline, kind)
	return f.found
}

func find(text, baseline string, kind TextKind) finder {
	f := finder{original: baseline}
	escaped := kind == JSONText
	from := sameLines(text, baseline)
	line := strings.Count(text[:from], "\n")
	end := len(text) - sameEnd(text[from:], baseline[from:])
	for empty := 0; from < end; {
		line++
		l, next := text[from:end], end
		if i := strings.IndexByte(l, '\n'); i >= 0 {
			l, next = l[:i], from+i+1
		}
		if kind != CommandText {
			l = strings.TrimSuffix(l, "\r")
		}
		if strings.TrimLeft(l, " \t") == "" {
			empty++
			from = next
			continue
		}
		if empty >= padLines {
			f.add("", HiddenPlace{Line: line, Offset: from, Length: len(l), Words: fmt.Sprintf("%d empty lines come before this one", empty)})
		}
		empty = 0
		f.line(l, line, from, escaped)
		from = next
	}
	return f
}

// hiddenNotes says where text holds what a person would not see.
func hiddenNotes(text, baseline string, kind TextKind) []Note {
	f := find(text, baseline, kind)
	return placeNotes(f.found, f.more)
}

// placeNotes are the notes on places, and on so many more.
func placeNotes(places []HiddenPlace, more int) []Note {
	if len(places) == 0 {
		return nil
	}
	if n := len(places) - maxFound; n > 0 {
		places, more = places[:maxFound], more+n
	}
	notes := make([]Note, 0, len(places)+1)
	for _, p := range places {
		notes = append(notes, Note{Text: p.String() + ".", Warning: true})
	}
	if more > 0 {
		notes = append(notes, Note{Text: fmt.Sprintf("And %d more places with characters or padding that do not show.", more), Warning: true})
	}
	return notes
}

// hiddenIn finds what does not show in a text of a document, its own mostly.
func hiddenIn(doc Document, text string) finder {
	switch d := doc.(type) {
	case *questionDocument:
		return d.hidden()
	case *commandDocument:
		return find(text, "", CommandText)
	case *inputDocument:
		return find(text, "", JSONText)
	}
	return find(text, doc.Original(), AnyText)
}
