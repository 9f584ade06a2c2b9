package approvals

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ReadFile reads a target. A missing file is an error that is fs.ErrNotExist.
// The bytes belong to the one who asked: nobody else may change them later.
type ReadFile func(path string) ([]byte, error)

// ErrNoProposal says that a tool changes no file that could be shown as a
// proposal: its request belongs to another surface.
var ErrNoProposal = errors.New("this tool does not propose a file's text")

// A NoPreviewError says that a request does change a file, but that the result
// cannot be shown as a text: the raw input is to be reviewed instead.
type NoPreviewError struct {
	Path   string
	Reason string // half a sentence about the file: "it holds NUL characters: binary"
}

func (e *NoPreviewError) Error() string {
	return fmt.Sprintf("no preview of %s: %s", e.Path, e.Reason)
}

// A Base is the target as it was when it was proposed to change it. Whether a
// proposal is stale is told by content, never by time stamps.
type Base struct {
	Exists bool   `json:"exists"`
	Hash   string `json:"hash,omitzero"` // lower-case hex SHA-256 of the bytes; empty when the file is missing
}

// baseOf is the base for the bytes read.
func baseOf(data []byte, exists bool) Base {
	if !exists {
		return Base{}
	}
	sum := sha256.Sum256(data)
	return Base{Exists: true, Hash: hex.EncodeToString(sum[:])}
}

// madeFrom says whether those are the bytes of the file that the proposal was
// made from.
func (p *Proposal) madeFrom(data []byte) bool {
	if f := p.file; f != nil && f.exists && f.enc == encUTF8 {
		return string(data) == f.decoded // quicker than to hash them
	}
	return p.Base() == baseOf(data, true)
}

// later works f out beside what its caller does next, where size says that it
// takes long: hashing a large file takes as long as the rest of a proposal.
func later[T any](size int, f func() T) func() T {
	f = sync.OnceValue(f)
	if size >= 64<<10 {
		go f()
	}
	return f
}

// An aside is what others want to know of a proposal's text.
type aside struct {
	line int    // 0-based, the first one that changes
	hash string // of the text as staged
}

// FirstLine is the first line that changes, 0-based.
func (p *Proposal) FirstLine() int { return p.aside().line }

// TextHash is the hash of Text.
func (p *Proposal) TextHash() string { return p.aside().hash }

// A Proposal is what a file would be after a request, and the way back from a
// person's text to the tool's input. It is immutable; its methods are safe for
// concurrent use.
type Proposal struct {
	path     string
	basename string
	base     func() Base
	aside    func() aside
	input    *inputObject
	file     *fileText
	text     string // as staged
	original string // as staged, before the change
	written  string // what an unamended allow writes, not yet encoded
	unknown  bool   // it cannot be known: holds tells
	holds    func(found []byte) bool
	notes    []Note
	way      way
}

// A way is how one tool turns a person's text into its input.
type way interface {
	// amend is called with a text that differs from the proposal's.
	amend(p *Proposal, text string) (Amendment, error)
}

// Basename is the name for the staged file.
func (p *Proposal) Basename() string { return p.basename }

// Path is the target, as the agent named it: absolute.
func (p *Proposal) Path() string { return p.path }

// Base is the target as it was read.
func (p *Proposal) Base() Base {
	if p.base == nil { // no file was looked at
		return Base{}
	}
	return p.base()
}

// Text is the text to stage.
func (p *Proposal) Text() string { return p.text }

// Original is the text before the change.
func (p *Proposal) Original() string { return p.original }

// Notes are remarks on the change as proposed.
func (p *Proposal) Notes() []Note { return p.notes }

// Target gives the whole target before the change and after want was written,
// as text for a journal or a diff. For a notebook that is its JSON, for any
// other file much the same as Original and the text approved.
func (p *Proposal) Target(want []byte) (before, after string) {
	if want != nil {
		if f, err := decode(slices.Clone(want)); err == nil {
			after = withoutBOM(f.decoded)
		}
	}
	return p.file.original(), after
}

// Amend turns a person's text into tool input.
func (p *Proposal) Amend(text string) (Amendment, error) {
	if !utf8.ValidString(text) {
		return Amendment{}, fmt.Errorf("the text for %s is not valid UTF-8", p.path)
	}
	if strings.IndexByte(text, 0) >= 0 {
		return Amendment{}, fmt.Errorf("the text for %s holds a NUL character", p.path)
	}
	if text == p.text {
		return p.unamended(), nil
	}
	return p.way.amend(p, text)
}

// unamended is the request's own input, byte for byte.
func (p *Proposal) unamended(notes ...Note) Amendment {
	return Amendment{Input: p.input.raw, Want: p.want(), Holds: p.holds, Notes: notes}
}

// want is what an unamended allow writes. It is encoded anew each time, since
// most proposals are asked once and kept long.
func (p *Proposal) want() []byte {
	if p.unknown {
		return nil
	}
	return p.file.encode(p.written)
}

// restored says that nothing is left of the change.
func (p *Proposal) restored() Amendment {
	return Amendment{Input: p.input.raw, Restored: true, Notes: []Note{{Text: "The original text is back: nothing is left to allow."}}}
}

// amendedNotes remarks on a person's text, as it will land.
func (p *Proposal) amendedNotes(text string) (notes []Note) {
	if !p.file.exists && text == "" {
		notes = append(notes, Note{Text: "The text is empty: an empty file is created.", Warning: true})
	}
	if !p.file.bom() && strings.HasPrefix(text, byteOrderMark) {
		notes = append(notes, Note{Text: "The text begins with a byte order mark, which the file did not have.", Warning: true})
	}
	was, is := lineEndsOf(p.text), lineEndsOf(text)
	if was != noLineEnds && is != noLineEnds && was != is {
		notes = append(notes, Note{Text: fmt.Sprintf("Line ends change: the proposal has %s, the text %s.", was, is), Warning: true})
	}
	return notes
}

// targetPath checks the path a tool names: what is reviewed must be the very
// file that is written.
func targetPath(in *inputObject, name string) (string, error) {
	path, err := in.text(name)
	if err != nil {
		return "", err
	}
	switch {
	case path == "":
		return "", fmt.Errorf("%q in the tool input is empty", name)
	case strings.IndexByte(path, 0) >= 0:
		return "", fmt.Errorf("%q in the tool input holds a NUL character", name)
	case strings.TrimFunc(path, isTrimmed) != path:
		return "", fmt.Errorf("%q in the tool input begins or ends with white space, which the agent drops: %q", name, path)
	case !filepath.IsAbs(path):
		return "", fmt.Errorf("%q in the tool input is not an absolute path: %q", name, path)
	case strings.HasSuffix(filepath.ToSlash(path), "/"):
		return "", fmt.Errorf("%q in the tool input names a folder: %q", name, path)
	}
	return path, nil
}

// own gives the proposal its own copy of the raw input, so that a buffer the
// caller reuses changes nothing.
func own(raw jsontext.Value) jsontext.Value { return append(jsontext.Value(nil), raw...) }
