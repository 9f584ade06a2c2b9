//go:build linux

package faults

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"countersign/approvals"
	"countersign/session/claude/scripted"
)

// forever keeps an agent where it is.
var forever = scripted.Step{Delay: time.Hour.String()}

// withdrawn waits until the journal has an approval as withdrawn.
func (w *world) withdrawn(id string) approvals.Record {
	w.t.Helper()
	r := w.recorded(id+" is over", func(r approvals.Record) bool { return r.ID == id && r.Kind == approvals.RecordSettled })
	if r.State != approvals.Withdrawn {
		w.t.Errorf("%s is %s, not withdrawn", id, r.State)
	}
	return r
}

func TestAgentKilledInTheMiddleOfALine(t *testing.T) {
	w := newWorld(t)
	w.agent("", turn(
		open("a", editCall("a.txt", "two", "2")),
		scripted.Step{Partial: `{"type":"control_request","request_id":"half","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"rm -r`},
		forever,
	))
	e := w.edit(w.project, nil)
	e.send("go")
	id := w.awaitPending(1)[0].ID
	w.kill(w.only("agent --script"))
	e.sees("the agent stopped in the middle of a line", "the rest of it is lost")
	e.sees("the agent was ended from outside by a signal (killed)")
	w.awaitPending(0)
	w.withdrawn(id)
	w.undecided()
	w.noLeave()
	w.fails(3, []string{id, "was withdrawn", "the agent that asked is gone"}, "allow", id)
}

// A torn line that happens to be whole JSON up to its newline is still torn: the
// agent ended before it had said all.
func TestAgentEndsWithoutANewline(t *testing.T) {
	w := newWorld(t)
	status := 0
	w.agent("", turn(
		scripted.Step{Partial: `{"type":"control_request","request_id":"half","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"true"},"tool_use_id":"toolu_1"}}`},
		scripted.Step{Exit: &status},
	))
	e := w.edit(w.project, nil)
	e.send("go")
	e.sees("the agent stopped in the middle of a line")
	e.sees("the agent ended by itself") // though it said success: a turn was running
	w.awaitPending(0)
	w.noLeave()
}

func TestAgentFailsWithAWord(t *testing.T) {
	w := newWorld(t)
	status := 7
	w.agent("", turn(
		open("a", writeCall("new.txt", "x\n")),
		scripted.Step{Stderr: "Error: the moon is in the wrong house"},
		scripted.Step{Exit: &status},
	))
	e := w.edit(w.project, nil)
	e.send("go")
	e.sees("the agent failed with exit status 7", "the moon is in the wrong house")
	w.awaitPending(0)
	if s := w.must("status"); !strings.Contains(s, ": the agent failed with exit status 7") {
		t.Errorf("status does not say how the session ended:\n%s", s)
	}
	w.undecided()
	w.noLeave()
}

// What cannot be started: the person is told which command, where it was looked
// for and which setting names it; from the command line and in the editor.
func TestAgentThatCannotStart(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(w *world)
		words   []string
	}{
		{"missing", func(*world) {}, []string{`the agent "claude" was not found in PATH (`, "agent.command"}},
		{"not executable", func(w *world) {
			w.claude("exit 0\n")
			if err := os.Chmod(w.at("bin/claude"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{`the agent "claude" cannot be run: the file is not executable`, "agent.command"}},
		{"a folder", func(w *world) { w.folder(w.at("bin/claude")) }, []string{`"claude"`, "not"}},
		{"not a program", func(w *world) {
			w.program(w.at("bin/claude"), "\x7fELF is what a program begins with\n")
		}, []string{`the agent "claude" is not a program for this machine`, "agent.command"}},
		{"interpreter missing", func(w *world) {
			w.program(w.at("bin/claude"), "#!/nowhere/node\n")
		}, []string{`the agent "claude"`, "first line names is missing"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.prepare(w)
			w.fails(3, c.words, "send", "hello")
			e := w.edit(w.project, nil)
			err := e.do("send", object{"text": "hello"}, nil)
			if err == nil {
				t.Fatal("the prompt was sent")
			}
			for _, word := range c.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("the editor is not told %q: %v", word, err)
				}
			}
			if s := w.status(); s.Session.State != "ended" || s.Session.Error == "" {
				t.Errorf("the session is %+v", s.Session)
			}
		})
	}
}

func TestAgentThatExitsAtOnce(t *testing.T) {
	for _, c := range []struct{ name, shell, word string }{
		{"with success", "exit 0\n", "the agent ended by itself"},
		{"with failure", "echo 'node: bad option' >&2; exit 9\n", "exit status 9; its last words: node: bad option"},
		{"by a signal", "kill -SEGV $$\n", "signal (segmentation fault)"},
		{"not logged in", "echo 'Not logged in · Please run /login' >&2; exit 1\n", "is not logged in"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.claude(c.shell)
			e := w.edit(w.project, nil)
			err := e.do("send", object{"text": "hello"}, nil)
			// The agent may be gone before or after the prompt is written to it.
			w.eventually("the person is told", func() (bool, string) {
				all := strings.Join(e.said(), "\n")
				if err != nil {
					all += "\n" + err.Error()
				}
				return strings.Contains(all, c.word), all
			})
			w.eventually("the session has ended", func() (bool, string) {
				s := w.status().Session
				return s.State == "ended" && strings.Contains(s.Error, c.word), fmt.Sprintf("%+v", s)
			})
		})
	}
}

// Lines that are no messages of the agent are told and skipped; what is good
// among them counts.
func TestAgentPrintsGarbage(t *testing.T) {
	w := newWorld(t)
	w.agent("echo 'Welcome to the agent!'; printf '\\033[2Jcleared\\n'; echo '{\"type\":'; echo '[1,2]'; printf '\\377\\376\\n'; echo; printf '\\r\\n'",
		turn(
			scripted.Step{Raw: `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","input":{"command":"true"}}}`},
			scripted.Step{Raw: `{"type":"control_request","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"true"}}}`},
			scripted.Step{Raw: `{"type":"control_request","request_id":7,"request":"none"}`},
			scripted.Step{Raw: `{"type":"control_cancel_request","request_id":"never asked"}`},
			scripted.Step{Raw: `{"type":"from_the_future","anything":[]}`},
			ask(editCall("a.txt", "two", "2")),
		))
	e := w.edit(w.project, nil)
	e.send("go")
	e.sees("a line that is not JSON", "Welcome to the agent!")
	e.sees(`\x1b[2Jcleared`)
	e.sees("asked without naming a tool")
	e.sees("asked without a request id")
	id := w.awaitPending(1)[0].ID
	if s := w.must("deny", id, "-m", "not now"); !strings.Contains(s, "denied") {
		t.Error(s)
	}
	w.noLeave()
}

// A whole file of 10 MB in one request is more than is previewed: it is shown as
// the raw input with a note, and waits like any other.
func TestLineOfTenMegabytes(t *testing.T) {
	w := newWorld(t)
	c := writeCall("big.txt", "x")
	c.Bytes = 10 << 20
	w.agent("", turn(ask(c)))
	e := w.edit(w.project, nil)
	e.send("go")
	a := w.awaitPending(1)[0]
	if len(a.Notes) == 0 || !strings.Contains(a.Notes[0].Text, "more than the 8388608 that are previewed") {
		t.Errorf("no note says that the file is too large to be previewed: %+v", a.Notes)
	}
	e.sees("big.txt")
	var d struct{ Input struct{ Content string } }
	if err := json.Unmarshal([]byte(w.must("show", a.ID, "--json")), &d, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	if len(d.Input.Content) < 10<<20 {
		t.Errorf("the input shown has %d bytes of content", len(d.Input.Content))
	}
	w.must("deny", a.ID)
	w.recorded("the deny", func(r approvals.Record) bool { return r.ID == a.ID && r.State == approvals.Denied })
	w.noLeave()
}

// A line beyond any measure is skipped, and the agent goes on.
func TestLineBeyondTheLimit(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 80 MB through pipes")
	}
	w := newWorld(t)
	w.agent("head -c 80000000 /dev/zero | tr '\\0' x; echo", turn(ask(editCall("a.txt", "two", "2"))))
	e := w.edit(w.project, nil)
	e.send("go")
	e.sees("a line of the agent is longer than 64 MiB and was skipped")
	w.awaitPending(1)
	w.noLeave()
}

// A thousand requests at once: all are on the desk, the editor is told in a few
// messages, and every one of them can still be settled.
func TestFloodOfRequests(t *testing.T) {
	const n = 1000
	w := newWorld(t)
	w.agent("", turn(scripted.Step{Flood: &scripted.Flood{Count: n, Path: "${DIR}/flood-%d.txt", Text: "wet\n"}}))
	e := w.edit(w.project, object{"open": "always"})
	e.opens(w.path("a.txt"))
	e.send("go")
	list := w.awaitPending(n)
	e.sees("requests wait", "more")
	if titles := e.actions(w.path("a.txt")); len(titles) == 0 || len(titles) > 60 {
		t.Errorf("%d code actions: %.400q", len(titles), titles)
	}
	if said := e.said(); len(said) > 60 {
		t.Errorf("%d messages for %d requests", len(said), n)
	}
	w.must("deny", list[n-1].ID)
	w.must("deny", list[0].ID)
	w.awaitPending(n - 2)
	if err := e.do("interrupt", nil, nil); err != nil {
		t.Fatal(err)
	}
	w.awaitPending(0)
	denied, withdrawn := 0, 0
	for _, r := range w.journal() {
		switch {
		case r.Kind == approvals.RecordSettled && r.State == approvals.Denied:
			denied++
		case r.Kind == approvals.RecordSettled && r.State == approvals.Withdrawn:
			withdrawn++
		}
	}
	if denied != 2 || withdrawn != n-2 {
		t.Errorf("%d denied, %d withdrawn", denied, withdrawn)
	}
	if said := e.said(); len(said) > 80 {
		t.Errorf("%d messages for %d requests", len(said), n)
	}
	w.noLeave()
}

// An agent that does not read, and does not end when asked to, holds nobody up.
func TestAgentThatIsDeaf(t *testing.T) {
	w := newWorld(t)
	w.claude(`trap '' TERM INT HUP
printf '%s\n' '{"type":"control_request","request_id":"r-deaf","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"true"},"tool_use_id":"toolu_1"}}'
sleep 3600 &
while :; do sleep 1; done
`)
	e := w.edit(w.project, nil)
	e.send("go")
	id := w.awaitPending(1)[0].ID
	w.must("deny", id)
	w.must("stop", "--hub")
	if code := e.quits(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	w.nothingRuns()
	w.noLeave()
}

// What an agent started outlives neither its end nor that of the hub.
func TestAgentLeavesProcesses(t *testing.T) {
	w := newWorld(t)
	w.agent("sleep 3600 & setsid sleep 3601 & setsid env -i /bin/sh -c 'echo $$ > "+w.at("hidden")+"; exec sleep 3602' &", turn(ask(editCall("a.txt", "two", "2"))))
	e := w.edit(w.project, nil)
	e.send("go")
	w.awaitPending(1)
	w.hung = append(w.hung, w.pidIn("hidden"))
	w.signal(w.status().PID, syscall.SIGTERM)
	e.sees("Countersign lost its hub")
	e.quits()
	w.nothingRuns()
	w.noLeave()
}

// What an agent of a killed hub had started is ended by the next hub: in the
// agent's group, in a session of its own, and what that started.
func TestKilledHubLeavesProcesses(t *testing.T) {
	w := newWorld(t)
	w.agent("sleep 3600 & setsid sleep 3601 & setsid sh -c 'sleep 3602 & trap : TERM; while :; do sleep 1; done' &", turn(ask(editCall("a.txt", "two", "2"))))
	e := w.edit(w.project, nil)
	e.send("go")
	w.awaitPending(1)
	w.eventually("the agent's processes run", func() (bool, string) {
		for _, line := range w.running() {
			if line == "sleep 3602" {
				return true, ""
			}
		}
		return false, ""
	})
	e.quits()
	w.kill(w.status().PID)
	w.eventually("only what the agent had started is left", func() (bool, string) {
		all := w.running()
		for _, line := range all {
			if !strings.Contains(line, "sleep") {
				return false, fmt.Sprint(all)
			}
		}
		return len(all) >= 3, fmt.Sprint(all)
	})
	e = w.edit(w.project, nil) // starts a hub
	w.eventually("nothing of the agent is left", func() (bool, string) {
		all := fmt.Sprint(w.running())
		return !strings.Contains(all, "sleep"), all
	})
	e.quits()
	w.undecided()
	w.noLeave()
}

// pidIn waits for a pid in a file of the world.
func (w *world) pidIn(name string) int {
	w.t.Helper()
	pid := 0
	w.eventually("a pid in "+name, func() (bool, string) {
		data, _ := os.ReadFile(w.at(name))
		_, err := fmt.Sscanf(string(data), "%d\n", &pid)
		return err == nil, string(data)
	})
	return pid
}
