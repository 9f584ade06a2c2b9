package rpc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestBrokenFrames(t *testing.T) {
	for _, test := range []struct{ name, input, want string }{
		{"huge length", "Content-Length: 1000000\r\n\r\n", "at most 100000 are taken"},
		{"absurd length", "Content-Length: 99999999999999999999999\r\n\r\n", "too large"},
		{"negative", "Content-Length: -1\r\n\r\n", "not a number"},
		{"blank", "Content-Length: \r\n\r\n", "not a number"},
		{"underscore", "Content-Length: 1_0\r\n\r\n", "not a number"},
		{"no length", "Content-Type: x\r\n\r\n", "no Content-Length"},
		{"no colon", "hello\r\n\r\n", "no colon"},
		{"endless line", strings.Repeat("x", 1<<20), "longer than 8192"},
		{"many lines", strings.Repeat("a: b\r\n", 10000), "longer than 8192"},
		{"cut in the header", "Content-Le", "unexpected EOF"},
		{"cut in the body", "Content-Length: 10\r\n\r\n{", "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, w := pair(t, handler{}, Options{MaxBody: 100_000})
			go func() { // the connection may end before all of it is taken
				_, _ = io.WriteString(w.conn, test.input)
				w.conn.Close()
			}()
			wait(t, "Done", c.Done())
			if err := c.Err(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the end is explained with %v, want %q", err, test.want)
			}
		})
	}
}

func TestLenientFrames(t *testing.T) {
	c, w := pair(t, answering(func(context.Context, string, jsontext.Value) (any, error) { return nil, nil }), Options{})
	_ = c
	body := `{"jsonrpc":"2.0","id":1,"method":"x"}`
	for _, header := range []string{"content-length:%d\n\n", "Content-Type: a; b\r\nCONTENT-LENGTH:   %d  \r\n\r\n"} {
		fmt.Fprintf(w.conn, header+"%s", len(body), body)
		w.want(`{"jsonrpc":"2.0","id":1,"result":null}`)
	}
}

// The buffer of a large frame is not kept.
func TestLargeFrameIsLetGo(t *testing.T) {
	large := strings.Repeat(" ", 10<<20)
	input := fmt.Sprintf("Content-Length: %d\r\n\r\n%sContent-Length: 2\r\n\r\n{}", len(large), large)
	r := newFrameReader(bufio.NewReader(strings.NewReader(input)), 64<<20)
	if body, err := r.read(); err != nil || len(body) != len(large) {
		t.Fatal(len(body), err)
	}
	if body, err := r.read(); err != nil || string(body) != "{}" {
		t.Fatal(string(body), err)
	}
	if cap(r.body) > keptBody {
		t.Errorf("%d bytes are kept", cap(r.body))
	}
}

// A claimed length costs nothing before its bytes come.
func TestClaimedLengthIsNotAllocated(t *testing.T) {
	r := newFrameReader(strings.NewReader("Content-Length: 60000000\r\n\r\n{"), 64<<20)
	if _, err := r.read(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	if cap(r.body) > 2*readStep {
		t.Errorf("%d bytes are allocated", cap(r.body))
	}
}

func TestStdioIsAStream(t *testing.T) {
	in, out := os.Stdin, os.Stdout
	defer func() { os.Stdin, os.Stdout = in, out }()
	inR, inW, _ := os.Pipe()
	outR, outW, _ := os.Pipe()
	os.Stdin, os.Stdout = inR, outW
	c := NewConn(t.Context(), Stdio(), answering(func(context.Context, string, jsontext.Value) (any, error) { return nil, nil }), Options{})
	body := `{"jsonrpc":"2.0","id":1,"method":"x"}`
	fmt.Fprintf(inW, "Content-Length: %d\r\n\r\n%s", len(body), body)
	got, err := newFrameReader(outR, 1000).read()
	if err != nil || string(got) != `{"jsonrpc":"2.0","id":1,"result":null}` {
		t.Errorf("%s, %v", got, err)
	}
	inW.Close()
	wait(t, "Done", c.Done())
	outR.Close()
}
