package claude

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"countersign/session"
)

// writeLine is a Write request for a file of 200 KB of source text.
func writeLine() []byte {
	source := strings.Repeat("\tif err := s.do(\"thing\", 7); err != nil {\n\t\treturn fmt.Errorf(\"do it: %w\", err)\n\t}\n", 2500)[:200_000]
	quoted, _ := jsontext.AppendQuote(nil, source)
	return fmt.Appendf(nil, `{"type":"control_request","request_id":"4c402042-0000-4000-8000-000000000000","request":{"subtype":"can_use_tool","tool_name":"Write","display_name":"Write","input":{"file_path":"/work-example/a.go","content":%s},"description":"a.go","permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}],"tool_use_id":"toolu_1"}}`+"\n", quoted)
}

// repeated reads the same bytes again and again.
type repeated struct {
	data []byte
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.data[r.at:])
	r.at = (r.at + n) % len(r.data)
	return n, nil
}

// BenchmarkWriteLine is one line from the pipe's side to its event.
func BenchmarkWriteLine(b *testing.B) {
	line := writeLine()
	a := &agent{log: zap.NewNop(), out: newOutbox(), events: make(chan session.Event, 1), lines: newLineReader(&repeated{data: line}, maxLine)}
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		l, err := a.lines.next()
		if err != nil {
			b.Fatal(err)
		}
		a.handle(l)
		<-a.events
	}
}

// BenchmarkWriteLineFloor is the least that one pass can cost: finding the
// line, checking that it is JSON, and copying it once.
func BenchmarkWriteLineFloor(b *testing.B) {
	line := writeLine()
	lines := newLineReader(&repeated{data: line}, maxLine)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		l, err := lines.next()
		if err != nil {
			b.Fatal(err)
		}
		if !jsontext.Value(l).IsValid() {
			b.Fatal("not valid")
		}
		if len(bytes.Clone(l)) == 0 {
			b.Fatal(io.EOF)
		}
	}
}

// BenchmarkAnswer is the way back: the same input, whole, in an answer.
func BenchmarkAnswer(b *testing.B) {
	line := writeLine()
	a := &agent{log: zap.NewNop(), out: newOutbox(), events: make(chan session.Event, 1)}
	a.handle(bytes.TrimSpace(line))
	q := (<-a.events).(session.Requested)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := answer(q.Request.ID, allow(q)); err != nil {
			b.Fatal(err)
		}
	}
}
