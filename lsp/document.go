package lsp

import (
	"fmt"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
)

// Documents are the documents that one editor has open, as it reports them.
// Whatever an editor sends is taken as far as it makes sense; what does not is
// described in a complaint for the log, because a client's slip must never end
// the connection, and a text that went wrong only makes a save refuse to allow.
//
// One goroutine changes Documents; a Document got from it may be read anywhere.
type Documents struct {
	enc    protocol.PositionEncodingKind
	open   map[string]Document
	closed []Document // the last few, newest last: a didSave may come after its didClose
}

const rememberedClosed = 16

// A Document is one open document at one moment.
type Document struct {
	URI      string
	Language string // languageId as the client says it: may be empty or wrong
	Version  int32
	Text     *Text
}

// A Change is one content change: of a range, or of the whole text when Range is nil.
type Change struct {
	Range *protocol.Range `json:"range"`
	Text  string          `json:"text"`
}

// NewDocuments returns no documents. Positions come in the encoding enc;
// an empty one is UTF-16, as in LSP.
func NewDocuments(enc protocol.PositionEncodingKind) *Documents {
	if enc == "" {
		enc = protocol.PositionEncodingKindUTF16
	}
	return &Documents{enc: enc, open: map[string]Document{}}
}

// Encoding is the encoding of positions.
func (d *Documents) Encoding() protocol.PositionEncodingKind { return d.enc }

// Open takes a didOpen. A second one without a close (Eglot, when the language
// changes) replaces the first, and its version counts anew.
func (d *Documents) Open(uri, language string, version int32, text string) (complaint string) {
	if _, ok := d.open[uri]; ok {
		complaint = "opened twice without a close"
	}
	uri = strings.Clone(uri)
	d.open[uri] = Document{URI: uri, Language: strings.Clone(language), Version: version, Text: NewText(text)}
	d.closed = slices.DeleteFunc(d.closed, func(c Document) bool { return c.URI == uri })
	return complaint
}

// Change takes a didChange. Changes apply one after the other, each to the
// outcome of the one before.
func (d *Documents) Change(uri string, version int32, changes []Change) (complaint string) {
	doc, ok := d.open[uri]
	if !ok {
		return "changed though not open"
	}
	if version <= doc.Version {
		return fmt.Sprintf("version %d follows version %d; the change is left out", version, doc.Version)
	}
	doc.Version = version
	for _, c := range changes {
		if c.Range == nil {
			doc.Text = NewText(c.Text)
			continue
		}
		start, end := doc.Text.Offset(c.Range.Start, d.enc), doc.Text.Offset(c.Range.End, d.enc)
		if end < start {
			complaint = "a range that ends before it starts"
			start, end = end, start
		}
		doc.Text = doc.Text.Replace(start, end, c.Text)
	}
	d.open[doc.URI] = doc
	return complaint
}

// Save takes the text that came with a didSave, if any, and returns the
// document's text: what the editor shows, or showed until it closed the
// document a moment ago. A text sent with the save is the editor's own word.
func (d *Documents) Save(uri string, text *string) (inEditor *Text, known bool, complaint string) {
	doc, ok := d.open[uri]
	if !ok {
		if text != nil {
			return NewText(*text), true, ""
		}
		last, ok := d.Last(uri)
		return last.Text, ok, ""
	}
	if text != nil && *text != doc.Text.String() {
		if !SameText(*text, doc.Text.String()) {
			complaint = "the text sent with the save is not the one the changes led to"
		}
		doc.Text = NewText(*text)
		d.open[doc.URI] = doc
	}
	return doc.Text, true, complaint
}

// Close takes a didClose.
func (d *Documents) Close(uri string) (complaint string) {
	doc, ok := d.open[uri]
	if !ok {
		return "closed though not open"
	}
	delete(d.open, uri)
	if len(d.closed) == rememberedClosed {
		d.closed = slices.Delete(d.closed, 0, 1)
	}
	d.closed = append(d.closed, doc)
	return ""
}

// Get is the open document at uri.
func (d *Documents) Get(uri string) (Document, bool) {
	doc, ok := d.open[uri]
	return doc, ok
}

// Last is the document at uri, open or closed a moment ago.
func (d *Documents) Last(uri string) (Document, bool) {
	if doc, ok := d.open[uri]; ok {
		return doc, true
	}
	for _, c := range slices.Backward(d.closed) {
		if c.URI == uri {
			return c, true
		}
	}
	return Document{}, false
}

// All lists the open documents by URI.
func (d *Documents) All() []Document {
	all := make([]Document, 0, len(d.open))
	for _, doc := range d.open {
		all = append(all, doc)
	}
	slices.SortFunc(all, func(a, b Document) int { return strings.Compare(a.URI, b.URI) })
	return all
}

// Changes are the content changes of a didChange as the protocol types have them.
func Changes(events []protocol.TextDocumentContentChangeEvent) []Change {
	changes := make([]Change, 0, len(events))
	for _, ev := range events {
		switch ev := ev.(type) {
		case *protocol.TextDocumentContentChangePartial:
			changes = append(changes, Change{Range: &ev.Range, Text: ev.Text})
		case *protocol.TextDocumentContentChangeWholeDocument:
			changes = append(changes, Change{Text: ev.Text})
		}
	}
	return changes
}
