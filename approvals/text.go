package approvals

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
	"unsafe"
)

// byteOrderMark is U+FEFF. At the start of a file the agent treats it as a part of the
// text that matching skips over and writing keeps; it is never part of a staged text.
const byteOrderMark = "\uFEFF"

// lineEndWindow is how much of a file the agent looks at to tell its line
// ends: the first 4096 UTF-16 code units of the decoded text.
const lineEndWindow = 4096

// An encoding is how a target's text lies on disk.
type encoding int

const (
	encUTF8    encoding = iota
	encUTF16LE          // behind its byte order mark only
)

// A fileText is a target as the agent reads it before a change.
type fileText struct {
	exists  bool
	size    int // bytes on disk
	enc     encoding
	decoded string // as on disk, with its byte order mark and its line ends
	content string // what edits match against: CRLF became LF; byte order mark still there
	crlf    bool   // an edit is written back with CRLF
	mixed   bool   // both kinds of line end occur, an edit unifies them
}

// bom tells whether the text starts with a byte order mark.
func (f *fileText) bom() bool { return strings.HasPrefix(f.content, byteOrderMark) }

// original is the text as shown to people.
func (f *fileText) original() string { return withoutBOM(f.decoded) }

// blank tells whether nothing but white space (as the agent's trim sees it) is
// there; an edit with an empty old_string may replace such a file.
func (f *fileText) blank() bool { return strings.TrimFunc(f.content, isTrimmed) == "" }

// isTrimmed are the characters that a JavaScript trim takes away.
func isTrimmed(r rune) bool {
	switch r {
	case '\uFEFF':
		return true
	case '\u0085': // white space for Unicode, not for JavaScript
		return false
	}
	return unicode.IsSpace(r)
}

func withoutBOM(s string) string { return strings.TrimPrefix(s, byteOrderMark) }

// keepBOM gives text the byte order mark of the text it replaces. An empty
// text gets none: that is what the agent does.
func keepBOM(before, text string) string {
	if text != "" && strings.HasPrefix(before, byteOrderMark) && !strings.HasPrefix(text, byteOrderMark) {
		return byteOrderMark + text
	}
	return text
}

// toLF turns CRLF into LF, once over: "\r\r\n" leaves a "\r\n", as in the agent.
func toLF(s string) string {
	at := strings.Index(s, "\r\n")
	if at < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for at >= 0 {
		b.WriteString(s[:at])
		s = s[at+1:]
		if at = strings.IndexByte(s[1:], '\r'); at >= 0 {
			// Mostly the next CRLF; a lone CR needs the longer search.
			if at++; at+1 >= len(s) || s[at+1] != '\n' {
				at = strings.Index(s, "\r\n")
			}
		}
	}
	b.WriteString(s)
	return b.String()
}

// toCRLF is what the agent does to a whole text before it writes a CRLF file.
func toCRLF(s string) string {
	s = toLF(s)
	n := strings.Count(s, "\n")
	if n == 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + n)
	for {
		at := strings.IndexByte(s, '\n')
		if at < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:at])
		b.WriteString("\r\n")
		s = s[at+1:]
	}
}

// readText reads a target for a preview. A missing file is no error.
func readText(path string, read ReadFile, limit int64) (*fileText, []byte, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &fileText{}, nil, nil
	}
	if err != nil {
		return nil, nil, &NoPreviewError{Path: path, Reason: "it cannot be read: " + err.Error()}
	}
	if limit > 0 && int64(len(data)) > limit {
		return nil, nil, &NoPreviewError{Path: path, Reason: fmt.Sprintf("it has %d bytes, more than the %d that are previewed", len(data), limit)}
	}
	f, err := decode(data)
	if err != nil {
		return nil, nil, &NoPreviewError{Path: path, Reason: err.Error()}
	}
	return f, data, nil
}

// decode reads bytes the way the agent does, and refuses what the agent
// refuses to change or what a text document cannot show.
func decode(data []byte) (*fileText, error) {
	f := &fileText{exists: true, size: len(data)}
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}):
		f.enc = encUTF16LE
		s, err := decodeUTF16LE(data)
		if err != nil {
			return nil, err
		}
		f.decoded = s
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}):
		return nil, errors.New("it is UTF-16 big-endian, which the agent does not write")
	case !utf8.Valid(data):
		return nil, errors.New("it is not valid UTF-8: binary, or in another encoding")
	default:
		// The bytes are ours alone (see ReadFile), so they need no copy.
		f.decoded = unsafe.String(unsafe.SliceData(data), len(data))
	}
	if strings.IndexByte(f.decoded, 0) >= 0 {
		return nil, errors.New("it holds NUL characters: binary")
	}
	f.content = toLF(f.decoded)
	if len(f.content) != len(f.decoded) { // the fast path has no CRLF at all
		f.crlf = mostlyCRLF(f.decoded)
		crlf := len(f.decoded) - len(f.content)
		f.mixed = strings.Count(f.content, "\n") != crlf
	}
	return f, nil
}

// mostlyCRLF counts line ends in the first 4096 UTF-16 units; only a strict
// majority of CRLF makes a CRLF file, a tie is LF. A CRLF that the window cuts
// in two does not count.
func mostlyCRLF(s string) bool {
	units, crlf, lf := 0, 0, 0
	prev := rune(0)
	for _, r := range s {
		units++
		if r > 0xFFFF {
			units++
		}
		if units > lineEndWindow {
			break
		}
		if r == '\n' {
			if prev == '\r' {
				crlf++
			} else {
				lf++
			}
		}
		prev = r
	}
	return crlf > lf
}

func decodeUTF16LE(data []byte) (string, error) {
	if len(data)%2 != 0 {
		return "", errors.New("it is UTF-16 with an odd number of bytes")
	}
	var b strings.Builder
	b.Grow(len(data)/2 + len(data)/8)
	for i := 0; i < len(data); i += 2 {
		r := rune(binary.LittleEndian.Uint16(data[i:]))
		if utf16.IsSurrogate(r) {
			if i+3 >= len(data) {
				return "", errors.New("it is UTF-16 with half a character in it")
			}
			if r = utf16.DecodeRune(r, rune(binary.LittleEndian.Uint16(data[i+2:]))); r == utf8.RuneError {
				return "", errors.New("it is UTF-16 with half a character in it")
			}
			i += 2
		}
		b.WriteRune(r)
	}
	return b.String(), nil
}

// encode gives the bytes of a whole text, byte order mark included.
func (f *fileText) encode(s string) []byte {
	if f.enc == encUTF8 {
		return []byte(s)
	}
	out := make([]byte, 0, 2*len(s))
	for _, r := range s {
		if r > 0xFFFF {
			hi, lo := utf16.EncodeRune(r)
			out = binary.LittleEndian.AppendUint16(out, uint16(hi))
			out = binary.LittleEndian.AppendUint16(out, uint16(lo))
			continue
		}
		out = binary.LittleEndian.AppendUint16(out, uint16(r))
	}
	return out
}

// lineEnded is a whole new text with the line ends that an edit of this file
// is written with.
func (f *fileText) lineEnded(s string) string {
	if f.crlf {
		return toCRLF(s)
	}
	return s
}
