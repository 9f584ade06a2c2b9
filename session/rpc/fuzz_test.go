package rpc

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzFrames feeds a connection whatever bytes: it must end by itself at the
// end of input, without a panic, and its handler must only see JSON-RPC.
func FuzzFrames(f *testing.F) {
	frame := func(body string) string { return "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body }
	for _, seed := range []string{
		"", "\r\n", "Content-Length: 5\r\n\r\nabc", "Content-Length: 0\r\n\r\n",
		frame(`{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":[1,2.5,"\ud800"]}}`),
		frame(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`),
		frame(`{"jsonrpc":"2.0","id":1,"method":"wait"}`) + frame(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}`),
		frame(`[{"jsonrpc":"2.0","id":1,"method":"wait"},{"jsonrpc":"2.0","id":1,"method":"wait"},1,{}]`),
		frame(`{"jsonrpc":"2.0","id":1,"result":{}}`) + frame(`{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"x"}}`),
		frame(`{"jsonrpc":"2.0","id":1,"method":"panic"}`) + frame(`{"jsonrpc":"2.0","method":"panic"}`),
		frame(strings.Repeat("[", 5000)), frame("[]"), frame("null"), frame("\xff"),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		h := answering(func(ctx context.Context, method string, params jsontext.Value) (any, error) {
			switch method {
			case "wait":
				<-ctx.Done()
				return nil, ctx.Err()
			case "panic":
				panic(method)
			}
			var v any
			return params, Params(params, &v)
		})
		h.notify = func(method string, _ jsontext.Value) {
			if method == "panic" {
				panic(method)
			}
		}
		out := &recorder{}
		c := NewConn(t.Context(), struct {
			io.Reader
			io.WriteCloser
		}{strings.NewReader(input), out}, h, Options{MaxBody: 1 << 20, Grace: time.Hour})
		select {
		case <-c.Done():
		case <-time.After(time.Minute):
			t.Fatal("the connection does not end")
		}
		// Whatever was answered is made of whole frames of JSON-RPC.
		r := newFrameReader(strings.NewReader(out.String()), 1<<30)
		for {
			body, err := r.read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				t.Fatalf("our own output: %v", err)
			}
			if !strings.HasPrefix(string(body), `{"jsonrpc":"2.0"`) && !strings.HasPrefix(string(body), `[{"jsonrpc":"2.0"`) {
				t.Fatalf("our own output: %q", body)
			}
		}
	})
}

// recorder is written by one goroutine and read after the connection's end.
type recorder struct{ strings.Builder }

func (*recorder) Close() error { return nil }
