package claude

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readAll reads lines to the end; what is no line is shown in angle brackets.
func readAll(r io.Reader, limit int) []string {
	l := newLineReader(r, limit)
	var out []string
	for {
		line, err := l.next()
		var long *tooLongError
		var partial *partialError
		switch {
		case err == nil:
			out = append(out, string(line))
		case errors.As(err, &long):
			out = append(out, "<long "+string(long.Head)+">")
		case errors.As(err, &partial):
			out = append(out, fmt.Sprintf("<partial %d>", partial.Bytes))
		default:
			return out
		}
	}
}

// Of a line that is too long only the beginning is known: enough to refuse it,
// where it is a request.
func TestRequestOfALineThatIsTooLong(t *testing.T) {
	for _, c := range []struct{ head, want string }{
		{`{"type":"control_request","request_id":"r-1","request":{"subtype":"can_use_tool","input":{"content":"xxx`, "r-1"},
		{`{"request_id":"r-1","type":"control_request","request":{"sub`, "r-1"},
		{` { "type" : "control_request" , "request_id" : "r\u002d1" , "re`, "r-1"},
		{`{"type":"control_response","request_id":"r-1","request":`, ""},
		{`{"type":"control_request","request":{"request_id":"r-1"`, ""},
		{`{"type":"control_request","request_id":7,"x":"`, ""},
		{`{"type":"control_request","request_id":"r-1`, ""},
		{`{"type":"assistant","message":{"content":"\"type\":\"control_request\",\"request_id\":\"r-1\"`, ""},
		{`["type","control_request","request_id","r-1"`, ""},
		{"xxxx", ""},
		{"", ""},
	} {
		if got := requestOf(fmt.Errorf("wrapped: %w", &tooLongError{Head: []byte(c.head)})); got != c.want {
			t.Errorf("%s: %q, want %q", c.head, got, c.want)
		}
	}
	if got := requestOf(io.EOF); got != "" {
		t.Errorf("of another error: %q", got)
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		name, in string
		limit    int
		want     []string
	}{
		{"plain", "a\nb\n", 100, []string{"a", "b"}},
		{"carriage returns", "a\r\nb\r\n", 100, []string{"a", "b"}},
		{"blank lines", "\n\r\n  \na\n\n", 100, []string{"a"}},
		{"no last newline", "a\nbcd", 100, []string{"a", "<partial 3>"}},
		{"blank rest", "a\n  ", 100, []string{"a"}},
		{"too long, skipped to its end", "a\n" + strings.Repeat("x", 40) + "\nb\n", 20, []string{"a", "<long " + strings.Repeat("x", 40) + ">", "b"}},
		{"too long and cut", strings.Repeat("x", 40), 20, []string{"<long " + strings.Repeat("x", 40) + ">"}},
		{"empty", "", 100, nil},
	} {
		for how, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "by byte": iotest.OneByteReader, "data with the error": iotest.DataErrReader,
		} {
			got := readAll(wrap(strings.NewReader(c.in)), c.limit)
			if how == "by byte" && c.limit == 20 {
				for i := range got { // fewer bytes are at hand when it is given up
					if strings.HasPrefix(got[i], "<long ") {
						got[i] = "<long " + strings.Repeat("x", 40) + ">"
					}
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s, %s: %q, want %q", c.name, how, got, c.want)
			}
		}
	}
}

func TestLinesOfManyMegabytes(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 10<<16) // 10 MiB
	in := append(append([]byte("before\n"), big...), "\nafter\n"...)
	l := newLineReader(iotest.HalfReader(bytes.NewReader(in)), maxLine)
	for i, want := range [][]byte{[]byte("before"), big, []byte("after")} {
		got, err := l.next()
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("line %d: %d bytes, %v", i, len(got), err)
		}
	}
	if _, err := l.next(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
	if cap(l.buf) > keepBuffer {
		t.Errorf("%d bytes are kept after a large line", cap(l.buf))
	}
}

func TestReaderWithoutProgressEnds(t *testing.T) {
	l := newLineReader(iotest.ErrReader(nil), 100)
	if _, err := l.next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("%v", err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 3)
	f.Add([]byte(strings.Repeat("x", 300)+"\ny\n"), 7)
	f.Fuzz(func(t *testing.T, in []byte, chunk int) {
		if chunk < 1 || chunk > 1000 {
			chunk = 5
		}
		limit := 200
		var want []string
		lines := bytes.SplitAfter(in, []byte("\n"))
		for _, line := range lines {
			whole := bytes.HasSuffix(line, []byte("\n"))
			text := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
			switch {
			case whole && len(line)-1 > limit || !whole && len(line) > limit:
				want = append(want, "<long>")
			case len(bytes.TrimSpace(text)) == 0:
			case !whole:
				want = append(want, fmt.Sprintf("<partial %d>", len(bytes.TrimSpace(line))))
			default:
				want = append(want, string(text))
			}
		}
		got := readAll(chunked{bytes.NewReader(in), chunk}, limit)
		for i := range got {
			if strings.HasPrefix(got[i], "<long ") {
				got[i] = "<long>" // how much of it is at hand depends on the chunks
			}
		}
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

type chunked struct {
	r io.Reader
	n int
}

func (c chunked) Read(p []byte) (int, error) { return c.r.Read(p[:min(c.n, len(p))]) }
