package claude

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// maxLine is the longest line taken from the agent, in bytes. Lines of many
// megabytes are ordinary (a whole file, with its escapes, inside one request).
const maxLine = 64 << 20

// headSize is how much of a line that is too long is kept: enough for the id of
// a request.
const headSize = 512

// keepBuffer is how much of a grown buffer is kept for the next line.
const keepBuffer = 1 << 20

// A lineReader cuts a stream into lines. It never copies a line that it has
// read in one piece: next returns a part of the buffer, valid until the next
// call.
type lineReader struct {
	r          io.Reader
	buf        []byte
	start, end int // unread bytes
	scanned    int // bytes from start on that hold no newline
	max        int
	err        error
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: r, buf: make([]byte, 64<<10), max: limit}
}

// A tooLongError says that a line was longer than the cap and was skipped up
// to its end.
type tooLongError struct {
	Max  int
	Head []byte // the line's first bytes
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("a line of the agent is longer than %d MiB and was skipped (it begins with %.60q)", e.Max>>20, e.Head)
}

// requestOf is the id of the request that a line was which was too long; empty
// when it was none, or does not begin as the agent writes them. Such a request
// must get an answer: the agent waits for one for ever.
func requestOf(err error) string {
	var long *tooLongError
	if !errors.As(err, &long) {
		return ""
	}
	head := jsontext.NewDecoder(bytes.NewReader(long.Head))
	if t, err := head.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	kind, id := "", ""
	for kind == "" || id == "" {
		name, err := head.ReadToken()
		if err != nil || name.Kind() != '"' {
			return ""
		}
		key := name.String()
		value, err := head.ReadToken()
		if err != nil || value.Kind() != '"' {
			return ""
		}
		switch key {
		case "type":
			kind = value.String()
		case "request_id":
			id = value.String()
		}
	}
	if kind != "control_request" {
		return ""
	}
	return id
}

// A partialError carries what came after the last newline when the stream
// ended: the agent died in the middle of a line.
type partialError struct{ Bytes int }

func (e *partialError) Error() string {
	return fmt.Sprintf("the agent stopped in the middle of a line, after %d bytes; the rest of it is lost", e.Bytes)
}

// next returns the next line without its end ("\n" or "\r\n"). Blank lines are
// skipped. A *tooLongError or *partialError is not the end of the stream: the
// call after it goes on. io.EOF and read errors are.
func (l *lineReader) next() ([]byte, error) {
	for {
		if i := bytes.IndexByte(l.buf[l.start+l.scanned:l.end], '\n'); i >= 0 {
			line := l.buf[l.start : l.start+l.scanned+i]
			l.start += l.scanned + i + 1
			l.scanned = 0
			if len(line) > l.max {
				return nil, &tooLongError{Max: l.max, Head: bytes.Clone(line[:min(len(line), headSize)])}
			}
			line = bytes.TrimSuffix(line, []byte{'\r'})
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			return line, nil
		}
		l.scanned = l.end - l.start
		if l.scanned > l.max {
			return nil, l.skip()
		}
		if l.err != nil {
			rest := bytes.TrimSpace(l.buf[l.start:l.end])
			l.start, l.end, l.scanned = 0, 0, 0
			if len(rest) > 0 {
				return nil, &partialError{Bytes: len(rest)}
			}
			return nil, l.err
		}
		l.fill()
	}
}

// fill reads once more, making room first.
func (l *lineReader) fill() {
	if l.start == l.end && cap(l.buf) > keepBuffer {
		l.buf = make([]byte, 64<<10) // one huge line does not hold its memory for ever
		l.start, l.end = 0, 0
	}
	if l.start > 0 && (l.start == l.end || l.end == len(l.buf)) {
		copy(l.buf, l.buf[l.start:l.end])
		l.end -= l.start
		l.start = 0
	}
	if l.end == len(l.buf) {
		grown := make([]byte, 2*len(l.buf))
		copy(grown, l.buf[:l.end])
		l.buf = grown
	}
	for range 100 { // readers may return nothing now and then, but not for ever
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if err != nil {
			l.err = err
			return
		}
		if n > 0 {
			return
		}
	}
	l.err = io.ErrNoProgress
}

// skip drops the bytes of a line that is too long, up to and with its newline.
func (l *lineReader) skip() error {
	head := bytes.Clone(l.buf[l.start:min(l.start+headSize, l.end)])
	for {
		if i := bytes.IndexByte(l.buf[l.start:l.end], '\n'); i >= 0 {
			l.start += i + 1
			break
		}
		l.start, l.end = 0, 0
		if l.err != nil {
			break
		}
		l.fill()
	}
	l.scanned = 0
	return &tooLongError{Max: l.max, Head: head}
}

// ended says whether err ends the stream.
func ended(err error) bool {
	var long *tooLongError
	var partial *partialError
	return err != nil && !errors.As(err, &long) && !errors.As(err, &partial)
}
