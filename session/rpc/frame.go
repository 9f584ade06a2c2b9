package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Limits of a frame, in bytes.
const (
	maxHeader      = 8 << 10  // all header lines of one frame
	defaultMaxBody = 64 << 20 // body, unless Options.MaxBody says otherwise
	keptBody       = 1 << 20  // a larger read buffer is not kept for the next frame
	readStep       = 1 << 20  // a claimed length is believed this much at a time
)

// headerRoom is kept free in front of a body that is being written:
// "Content-Length: " and at most 19 digits, and two line ends.
const headerRoom = 40

// A frameReader reads Content-Length frames. It bounds what a peer can make it
// hold before anything of it is understood.
type frameReader struct {
	in      *bufio.Reader
	maxBody int
	body    []byte // reused from frame to frame
}

func newFrameReader(r io.Reader, maxBody int) *frameReader {
	return &frameReader{in: bufio.NewReaderSize(r, 32<<10), maxBody: maxBody}
}

// read returns the body of the next frame, valid until the next call. The error
// is io.EOF only at a boundary between frames.
func (r *frameReader) read() ([]byte, error) {
	length, err := r.header()
	if err != nil {
		return nil, err
	}
	if cap(r.body) > keptBody && length <= keptBody {
		r.body = nil
	}
	r.body = r.body[:0]
	for len(r.body) < length {
		step := min(length-len(r.body), max(readStep, len(r.body)))
		start := len(r.body)
		if cap(r.body) < start+step {
			grown := make([]byte, start, start+step)
			copy(grown, r.body)
			r.body = grown
		}
		r.body = r.body[:start+step]
		if _, err := io.ReadFull(r.in, r.body[start:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("reading a frame of %d bytes: %w", length, err)
		}
	}
	return r.body, nil
}

// header reads the header lines of a frame and returns the length they claim.
func (r *frameReader) header() (int, error) {
	length, seen := -1, 0
	for {
		line, err := r.in.ReadSlice('\n')
		seen += len(line)
		switch {
		case seen > maxHeader || errors.Is(err, bufio.ErrBufferFull):
			return 0, fmt.Errorf("the header of a frame is longer than %d bytes", maxHeader)
		case err != nil && errors.Is(err, io.EOF) && seen > 0:
			return 0, fmt.Errorf("reading the header of a frame: %w", io.ErrUnexpectedEOF)
		case err != nil:
			return 0, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return 0, fmt.Errorf("a header line of a frame has no colon: %.40q", line)
		}
		if !bytes.EqualFold(bytes.TrimSpace(name), []byte("content-length")) {
			continue
		}
		value = bytes.TrimSpace(value)
		if length, err = parseLength(value); err != nil {
			return 0, err
		}
		if length > r.maxBody {
			return 0, fmt.Errorf("a frame of %d bytes is announced; at most %d are taken", length, r.maxBody)
		}
	}
	if length < 0 {
		return 0, errors.New("a frame has no Content-Length")
	}
	return length, nil
}

// parseLength reads digits only: no sign, no blanks, no underscores.
func parseLength(value []byte) (int, error) {
	digits := len(value) > 0
	for _, c := range value {
		digits = digits && c >= '0' && c <= '9'
	}
	if !digits {
		return 0, fmt.Errorf("the Content-Length of a frame is not a number: %.40q", value)
	}
	n, err := strconv.ParseInt(string(value), 10, strconv.IntSize)
	if err != nil {
		return 0, fmt.Errorf("the Content-Length of a frame is too large: %.40q", value)
	}
	return int(n), nil
}

// appendFrame builds one frame around the body that appendBody appends. The
// header is written right-aligned into room left for it, so that a large body
// is not moved.
func appendFrame(appendBody func([]byte) []byte) []byte {
	buf := appendBody(make([]byte, headerRoom, 512))
	var header [headerRoom]byte
	h := append(header[:0], "Content-Length: "...)
	h = strconv.AppendInt(h, int64(len(buf)-headerRoom), 10)
	h = append(h, "\r\n\r\n"...)
	start := headerRoom - len(h)
	copy(buf[start:], h)
	return buf[start:]
}
