//go:build linux

package faults

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"countersign/approvals"
	"countersign/session/claude/scripted"
	"countersign/session/hub"
)

func floodStep(n int) scripted.Step {
	return scripted.Step{Flood: &scripted.Flood{Count: n, Path: "${DIR}/flood-%d.txt", Text: "wet\n"}}
}

// However a front end goes, nothing is decided by it, and what waited still waits
// when another one comes.
func TestFrontEndGoesWhilePending(t *testing.T) {
	for _, c := range []struct {
		name string
		goes func(e *editor)
		code int // of the server; -1: it was killed
	}{
		{"killed", func(e *editor) { e.kill() }, -1},
		{"quit", func(e *editor) {
			if err := e.call("shutdown", nil, nil); err != nil {
				t.Error(err)
			}
			e.tell("exit", nil)
		}, 0},
		{"exit without shutdown", func(e *editor) { e.tell("exit", nil) }, 1},
		{"closed its end", func(e *editor) { e.stdin.Close() }, 1},
		{"closed its end in the middle of a frame", func(e *editor) {
			// All of an allow but its last byte.
			half := `{"jsonrpc":"2.0","id":99,"method":"workspace/executeCommand","params":{"command":"countersign.allow"}}`
			fmt.Fprintf(e.stdin, "Content-Length: %d\r\n\r\n%s", len(half), half[:len(half)-1])
			e.stdin.Close()
		}, 1},
		{"closed its end in the middle of a header", func(e *editor) {
			io.WriteString(e.stdin, "Content-Len")
			e.stdin.Close()
		}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, e, a := asking(t)
			e.opens(a.Staged.Path)
			c.goes(e)
			if code := e.exited(); code != c.code {
				t.Errorf("the server ended with %d, want %d", code, c.code)
			}
			if list := w.pending(); len(list) != 1 || list[0].ID != a.ID {
				t.Fatalf("pending is %+v", list)
			}
			w.undecided()
			w.noLeave()

			e = w.edit(w.project, nil)
			e.sees("The agent asks: Edit a.txt")
			if err := e.do("allow", object{"id": a.ID}, nil); err != nil {
				t.Fatal(err)
			}
			w.recorded("the change as verified", func(r approvals.Record) bool { return r.ID == a.ID && r.Outcome.State == approvals.OutcomeVerified })
			w.want["a.txt"] = "one\n2\nthree\n"
		})
	}
}

// What is no LSP ends the server with a sentence on its standard error, where
// editors keep it; what is LSP but wrong is answered, and it goes on. Neither
// decides anything.
func TestMalformedFrames(t *testing.T) {
	frame := func(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }
	for _, c := range []struct {
		name, text string
		ends       string // what the server says when it ends; "": it goes on
	}{
		{"a header without a colon", "hello\r\n\r\n", "no colon"},
		{"no length", "Content-Type: text\r\n\r\n{}", "no Content-Length"},
		{"a length that is no number", "Content-Length: ten\r\n\r\n{}", "not a number"},
		{"a negative length", "Content-Length: -5\r\n\r\n{}", "not a number"},
		{"a length beyond measure", "Content-Length: 99999999999999999999\r\n\r\n{}", "too large"},
		{"a length of 1 GB", "Content-Length: 1000000000\r\n\r\n{}", "at most"},
		{"a header for ever", strings.Repeat("X-Header: yes\r\n", 5000), "longer than"},
		{"terminal input", "\x1b[200~:wq\r\n\x1b[201~\r\n", "no colon"},

		{"no JSON", frame("{{{"), ""},
		{"a number", frame("17"), ""},
		{"an empty batch", frame("[]"), ""},
		{"an empty frame", frame(""), ""},
		{"no method", frame(`{"jsonrpc":"2.0","id":3}`), ""},
		{"an answer to nothing", frame(`{"jsonrpc":"2.0","id":4711,"result":{}}`), ""},
		{"an unknown method", frame(`{"jsonrpc":"2.0","id":4,"method":"countersign/allowEverything"}`), ""},
		{"another shape", frame(`{"jsonrpc":"2.0","method":"textDocument/didSave","params":["a",1]}`), ""},
		{"a save of nothing", frame(`{"jsonrpc":"2.0","method":"textDocument/didSave","params":{"textDocument":{"uri":"file:///nowhere"}}}`), ""},
		{"a URI of nothing", frame(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"%zz:\u0000","text":"x"}}}`), ""},
		{"invalid UTF-8", frame("{\"jsonrpc\":\"2.0\",\"method\":\"textDocument/didOpen\",\"params\":{\"textDocument\":{\"uri\":\"file:///x\",\"text\":\"\xff\xfe\"}}}"), ""},
		{"deep nesting", frame(strings.Repeat("[", 20000) + strings.Repeat("]", 20000)), ""},
		{"an allow of nothing", frame(`{"jsonrpc":"2.0","id":5,"method":"workspace/executeCommand","params":{"command":"countersign.allow","arguments":[{"id":""}]}}`), ""},
		{"an allow of everything", frame(`{"jsonrpc":"2.0","id":6,"method":"workspace/executeCommand","params":{"command":"countersign.allow","arguments":[{"id":"*"},{"id":"*"}]}}`), ""},
		{"10 MB of a document", frame(`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file:///x","text":"` + strings.Repeat("x", 10<<20) + `"}}}`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.agent("", turn(open("a", editCall("a.txt", "two", "2")), ask(bashCall("true"))))
			e := w.edit(w.project, nil)
			e.send("go")
			w.awaitPending(2)
			if _, err := io.WriteString(e.stdin, c.text); err != nil && c.ends == "" { // it may end before it has read all
				t.Fatal(err)
			}
			if c.ends != "" {
				if code := e.exited(); code != 1 {
					t.Errorf("the server ended with %d", code)
				}
				last := e.errs.String()
				if !strings.Contains(last, c.ends) || !strings.Contains(last, "countersign serve: ") {
					t.Errorf("the server's last words are %q, without %q", last, c.ends)
				}
			} else if titles := e.actions(w.path("a.txt")); len(titles) == 0 {
				t.Error("the server does not go on")
			}
			if n := len(w.pending()); n != 2 {
				t.Errorf("%d pending", n)
			}
			w.undecided()
			w.noLeave()
		})
	}
}

// Two front ends race to settle each of many: one decision counts, the same for
// the agent, the journal and the file, and the other is told which.
func TestFrontEndsRace(t *testing.T) {
	const n = 12
	w := newWorld(t)
	w.agent("", turn(floodStep(n)))
	one, two := w.edit(w.project, nil), w.edit(w.project, nil)
	one.send("go")
	list := w.awaitPending(n)
	// Each gives nil, or what the one who came late is told.
	inEditor := func(e *editor, what, id string) error { return e.do(what, object{"id": id}, nil) }
	inTerminal := func(what, id string) error {
		s := w.cs(what, id)
		if s.code == 0 {
			return nil
		}
		if s.code != 3 {
			t.Errorf("countersign %s that came late: %v", what, s)
		}
		return errors.New(s.err)
	}
	allowedBy := make([]bool, n)
	for i, a := range list {
		var race sync.WaitGroup
		start := make(chan struct{})
		var allowed, denied error
		race.Go(func() {
			<-start
			if i%2 == 0 {
				allowed = inEditor(one, "allow", a.ID)
			} else {
				allowed = inTerminal("allow", a.ID)
			}
		})
		race.Go(func() {
			<-start
			if i%2 == 0 {
				denied = inEditor(two, "deny", a.ID)
			} else {
				denied = inTerminal("deny", a.ID)
			}
		})
		close(start)
		race.Wait()
		if (allowed == nil) == (denied == nil) {
			t.Fatalf("not one decision about %s counts: allow %v, deny %v", a.ID, allowed, denied)
		}
		late, want := allowed, "was denied"
		if allowed == nil {
			late, want = denied, "was allowed"
			allowedBy[i] = true
			w.want[strings.TrimPrefix(a.Path, w.project+"/")] = "wet\n"
		}
		if !strings.Contains(late.Error(), want) {
			t.Errorf("who came late is told %v, want %q", late, want)
		}
	}
	w.eventually("the agent has all its answers", func() (bool, string) {
		results := 0
		for _, l := range w.model() {
			if l.Kind == "tool_result" {
				results++
			}
		}
		return results == n, fmt.Sprint(w.model())
	})
	settled, leave := map[string]approvals.State{}, 0
	for _, r := range w.journal() {
		if r.Kind == approvals.RecordSettled {
			if settled[r.ID] != "" {
				t.Errorf("%s was settled twice", r.ID)
			}
			settled[r.ID] = r.State
		}
	}
	var tools []string
	for i, a := range list {
		if (settled[a.ID] == approvals.Allowed) != allowedBy[i] {
			t.Errorf("the journal has %s as %s, the front ends saw it allowed: %v", a.ID, settled[a.ID], allowedBy[i])
		}
		if allowedBy[i] {
			leave++
			tools = append(tools, "Write")
		}
	}
	w.noLeave(tools...)
	t.Logf("%d of %d were allowed", leave, n)
}

// One front end's loss is told to the other, and nothing that the second shows
// is of yesterday.
func TestSecondFrontEndSeesTheDecision(t *testing.T) {
	w, first, a := asking(t)
	second := w.edit(w.project, nil)
	second.sees("The agent asks: Edit a.txt")
	second.opens(a.Staged.Path)
	if err := first.do("deny", object{"id": a.ID, "message": "no"}, nil); err != nil {
		t.Fatal(err)
	}
	second.sees("a.txt", "denied by")
	second.marks(a.Staged.Path, "denied", "decides nothing")
	err := second.do("allow", object{"id": a.ID}, nil)
	if err == nil || !strings.Contains(err.Error(), "denied") {
		t.Errorf("a late allow is told %v", err)
	}
	w.noLeave()
}

// A save that arrives together with the end of the editor: it may count or not,
// but what the person is told, the journal and the file agree.
func TestSaveAndQuit(t *testing.T) {
	w, e, a := asking(t)
	e.opens(a.Staged.Path)
	e.saves(a.Staged.Path, "one\nmy two\nthree\n")
	e.quits()
	var now hub.Approval
	for _, p := range w.pending() {
		now = p
	}
	if now.ID == "" {
		w.recorded("the change as verified", func(r approvals.Record) bool { return r.ID == a.ID && r.Outcome.State == approvals.OutcomeVerified })
		w.want["a.txt"] = "one\nmy two\nthree\n"
		return
	}
	w.undecided()
	w.noLeave()
}
