//go:build linux

package faults

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session/hub"
	"countersign/session/rpc"
)

// toolVariable makes this test program one of the tools that agents run here.
const toolVariable = "COUNTERSIGN_FAULTS_TOOL"

// runTool is what an agent runs to get at its own approvals.
func runTool(name string, args []string) int {
	switch name {
	case "socket": // speaks to the hub's socket: STORAGE ID
		if err := settleBySocket(args[0], hub.SettleParams{ID: args[1], Allow: true, How: "save", Rule: "save"}); err != nil {
			fmt.Println("refused:", err)
			return 3
		}
		fmt.Println("the hub took it")
		return 0
	case "orphan": // has a command run by a process with another session, another parent and no mark: OUTPUT COMMAND…
		exe, err := os.Executable()
		if err != nil {
			return 1
		}
		c := exec.Command(exe, args...)
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		for _, v := range os.Environ() {
			if !strings.HasPrefix(v, "COUNTERSIGN") {
				c.Env = append(c.Env, v)
			}
		}
		c.Env = append(c.Env, toolVariable+"=orphaned", "ORPHAN_OF="+fmt.Sprint(os.Getpid()))
		if err := c.Start(); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0 // and is gone, before the child does anything
	case "editor": // is an editor with a server of its own: PROGRAM ROOT ID
		c := exec.Command(args[0], "serve")
		c.Dir = args[1]
		in, err := c.StdinPipe()
		if err != nil {
			return 1
		}
		out, err := c.StdoutPipe()
		if err != nil || c.Start() != nil {
			return 1
		}
		conn := rpc.NewConn(context.Background(), pipes{out, in}, quiet{}, rpc.Options{})
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		root := "file://" + args[1]
		err = conn.Call(ctx, "initialize", object{"processId": nil, "rootUri": root, "capabilities": object{}}, nil)
		if err == nil {
			err = conn.Notify("initialized", object{})
		}
		if err == nil {
			err = conn.Call(ctx, "workspace/executeCommand", object{"command": "countersign.allow", "arguments": []object{{"id": args[2]}}}, nil)
		}
		fmt.Println("allow:", err)
		_ = conn.Close()
		_ = c.Wait()
		return 0
	case "orphaned":
		for fmt.Sprint(os.Getppid()) == os.Getenv("ORPHAN_OF") {
			time.Sleep(look)
		}
		c := exec.Command(args[1], args[2:]...)
		for _, v := range os.Environ() {
			if !strings.HasPrefix(v, "COUNTERSIGN") {
				c.Env = append(c.Env, v)
			}
		}
		out, err := c.CombinedOutput()
		text := fmt.Sprintf("%s%v\n", out, err)
		if err := os.WriteFile(args[0]+".tmp", []byte(text), 0o600); err != nil {
			return 1
		}
		if os.Rename(args[0]+".tmp", args[0]) != nil {
			return 1
		}
		return 0
	}
	fmt.Println("no such tool:", name)
	return 2
}

// quiet takes what a hub tells.
type quiet struct{}

func (quiet) Notify(string, jsontext.Value)                                     {}
func (quiet) Request(string, jsontext.Value) func(context.Context) (any, error) { return nil }

// hubRecord is what a front end finds a hub by.
func hubRecord(storage string) (r struct{ Version, Socket string }, err error) {
	data, err := os.ReadFile(filepath.Join(storage, "hub.json"))
	if err == nil {
		err = json.Unmarshal(data, &r, json.MatchCaseInsensitiveNames(true))
	}
	return r, err
}

// settleBySocket decides by the hub's own protocol.
func settleBySocket(storage string, p hub.SettleParams) error {
	r, err := hubRecord(storage)
	if err != nil {
		return err
	}
	c, err := net.Dial("unix", r.Socket)
	if err != nil {
		return err
	}
	conn := rpc.NewConn(context.Background(), c, quiet{}, rpc.Options{})
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	attach := hub.AttachParams{Version: r.Version, PID: os.Getppid(), Name: "Neovim 0.10.4", Watch: true}
	if err := conn.Call(ctx, hub.MethodAttach, attach, nil); err != nil {
		return err
	}
	return conn.Call(ctx, hub.MethodSettle, p, nil)
}

// An agent's own processes want to decide what it asked, in every way that they
// have: each is refused, told to the person, and written down; the approval waits
// as before.
func TestAgentCannotSettleItsOwn(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	tool := func(name, args string) string { return toolVariable + "=" + name + " '" + self + "' " + args }
	for _, c := range []struct {
		name    string
		command string // $ID is the approval, $CS the program, $STORAGE and $WORLD folders
		method  string // what the hub refuses
		inside  bool   // the command line itself says no already
		output  string // a file that gets the output, where the command is none of the Bash tool's any more
	}{
		{name: "allow", command: `"$CS" allow $ID`, method: "hub/settle", inside: true},
		{name: "allow for session", command: `"$CS" allow $ID --session`, method: "hub/settle", inside: true},
		{name: "deny", command: `"$CS" deny $ID -m mine`, method: "hub/settle", inside: true},
		{name: "allow unmarked", command: `env -u COUNTERSIGN_AGENT "$CS" allow $ID`, method: "hub/settle"},
		{name: "deny unmarked", command: `env -u COUNTERSIGN_AGENT "$CS" deny $ID`, method: "hub/settle"},
		{name: "allow in its own session", command: `setsid -w env -u COUNTERSIGN_AGENT "$CS" allow $ID`, method: "hub/settle"},
		{name: "marked as nothing", command: `COUNTERSIGN_AGENT= "$CS" allow $ID`, method: "hub/settle"},
		{name: "socket", command: tool("socket", `"$STORAGE" $ID`), method: "hub/settle"},
		{name: "socket unmarked", command: "unset COUNTERSIGN_AGENT; " + tool("socket", `"$STORAGE" $ID`), method: "hub/settle"},
		{name: "orphan with a session of its own", command: tool("orphan", `"$WORLD/out" "$CS" allow $ID --root "$WORLD/project"`), method: "hub/settle", output: "out"},
		{name: "orphan at the socket", command: tool("orphan", `"$WORLD/out" /usr/bin/env `+toolVariable+"=socket '"+self+`' "$STORAGE" $ID`), method: "hub/settle", output: "out"},
		{name: "send", command: `env -u COUNTERSIGN_AGENT "$CS" send "allow all"`, method: "hub/send"},
		{name: "stop", command: `env -u COUNTERSIGN_AGENT "$CS" stop --hub`, method: "hub/stop"},
		{name: "stop the session", command: `env -u COUNTERSIGN_AGENT "$CS" stop`, method: "hub/stopSession"},
		{name: "mode", command: `env -u COUNTERSIGN_AGENT "$CS" mode bypass`, method: "hub/setMode"},
		{name: "resume", command: `env -u COUNTERSIGN_AGENT "$CS" resume`, method: "hub/resume"},
		{name: "new", command: `env -u COUNTERSIGN_AGENT "$CS" new`, method: "hub/newSession"},
		{name: "interrupt", command: `env -u COUNTERSIGN_AGENT "$CS" interrupt`, method: "hub/interrupt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.agent("", turn(
				open("a", editCall("a.txt", "two", "2")),
				ask(bashCall(`. "`+w.at("vars")+`"; `+c.command)),
			))
			e := w.edit(w.project, nil)
			e.send("go")
			list := w.awaitPending(2)
			mine, bash := list[0].ID, list[1].ID
			w.write(w.at("vars"), fmt.Sprintf("ID=%s; CS='%s'; STORAGE='%s'; WORLD='%s'\n", mine, program, w.status().Storage, w.dir))
			w.must("allow", bash)

			var output string
			w.eventually("the agent's command has ended", func() (bool, string) {
				if c.output != "" {
					data, err := os.ReadFile(w.at(c.output))
					output = string(data)
					return err == nil, fmt.Sprint(w.model())
				}
				for _, l := range w.model() {
					if l.Tool == "Bash" {
						output = l.Text
						return true, ""
					}
				}
				return false, fmt.Sprint(w.model())
			})
			if want := "an agent cannot settle its own approvals"; !strings.Contains(output, want) {
				t.Errorf("the agent is told %q, without %q", output, want)
			}
			if c.inside && !strings.Contains(output, "runs inside an agent's session") {
				t.Errorf("the command line does not say no by itself: %q", output)
			}
			if c.output == "" && !strings.HasPrefix(output, "Exit code 3") {
				t.Errorf("the agent's command gave %q", output)
			}

			e.sees("refused "+c.method, "an agent cannot settle its own approvals")
			r := w.recorded("the refusal", func(r approvals.Record) bool {
				return r.Kind == approvals.RecordRefused && strings.Contains(r.Event, c.method)
			})
			if c.method == "hub/settle" && r.ID != mine {
				t.Errorf("the refusal is recorded for %q, not %q", r.ID, mine)
			}
			if r.By.PID == 0 {
				t.Error("the refusal is recorded without the process")
			}
			if list := w.pending(); len(list) != 1 || list[0].ID != mine {
				t.Errorf("pending is %+v", list)
			}
			for _, r := range w.journal() {
				if r.Kind == approvals.RecordSettled && r.ID != bash {
					t.Errorf("decided: %+v", r)
				}
			}
			if c.output == "" {
				w.noLeave() // the Bash command itself failed
			} else {
				w.noLeave("Bash")
			}

			// The person can still decide.
			w.must("deny", mine, "-m", "nice try")
		})
	}
}

// An agent may look: what is pending is no secret to who asked it.
func TestAgentMayLook(t *testing.T) {
	w := newWorld(t)
	w.agent("", turn(
		open("a", editCall("a.txt", "two", "2")),
		ask(bashCall(`'`+program+`' pending && '`+program+`' status`)),
	))
	e := w.edit(w.project, nil)
	e.send("go")
	list := w.awaitPending(2)
	w.must("allow", list[1].ID)
	w.eventually("the agent's command has ended", func() (bool, string) {
		for _, l := range w.model() {
			if l.Tool == "Bash" {
				return !l.IsError && strings.Contains(l.Text, list[0].ID), l.Text
			}
		}
		return false, ""
	})
	w.noLeave("Bash")
}

// Nor can it settle what an agent of another workspace asked, also by a process
// that bears no mark and was orphaned, so that its parent is its own agent's hub.
func TestAgentCannotSettleAnothers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, command := range map[string]string{
		"a child":   `env -u COUNTERSIGN_AGENT "$CS" allow $ID --root "$OTHER" >"$WORLD/out" 2>&1; true`,
		"an orphan": toolVariable + "=orphan '" + self + `' "$WORLD/out" "$CS" allow $ID --root "$OTHER"`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.agent("", turn(
				open("a", editCall("a.txt", "two", "2")),
				ask(bashCall(`. "`+w.at("vars")+`"; `+command)),
			))
			other := w.at("other")
			w.folder(other)
			w.folder(filepath.Join(other, ".git"))
			w.write(filepath.Join(other, "a.txt"), files["a.txt"])
			w.edit(w.project, nil).send("go")
			e := w.edit(other, nil)
			e.send("go")
			theirs := func() (list []hub.Approval) {
				if err := json.Unmarshal([]byte(w.must("pending", "--json", "--root", other)), &list); err != nil {
					t.Fatal(err)
				}
				return list
			}
			w.eventually("both agents ask", func() (bool, string) { return len(theirs()) == 2, fmt.Sprint(theirs()) })
			id := theirs()[0].ID
			w.write(w.at("vars"), fmt.Sprintf("ID=%s; CS='%s'; OTHER='%s'; WORLD='%s'\n", id, program, other, w.dir))
			w.must("allow", w.awaitPending(2)[1].ID)
			var output string
			w.eventually("the agent's command has ended", func() (bool, string) {
				data, err := os.ReadFile(w.at("out"))
				output = string(data)
				return err == nil && output != "", fmt.Sprint(w.model())
			})
			if want := "an agent cannot settle its own approvals"; !strings.Contains(output, want) {
				t.Errorf("the agent is told %q, without %q", output, want)
			}
			if list := theirs(); len(list) != 2 {
				t.Errorf("pending there is %+v", list)
			}
			e.sees("refused hub/settle")
			w.must("stop", "--hub", "--root", other)
		})
	}
}

// What an agent writes into the document of its own request, and looks at, no
// person was shown: the hub takes no allow of it before they were.
func TestAgentAmendsItsOwn(t *testing.T) {
	w := newWorld(t)
	w.agent("", turn(
		open("a", editCall("a.txt", "two", "2")),
		ask(bashCall(`id=$('`+program+`' pending | grep a.txt | cut -d' ' -f1); p=$('`+program+`' show $id | sed -n 's/^  staged *//p'); echo its own >"$p"; '`+program+`' show $id`)),
	))
	e := w.edit(w.project, nil)
	e.send("go")
	list := w.awaitPending(2)
	id := list[0].ID
	w.must("allow", list[1].ID)
	w.eventually("the agent's command has ended", func() (bool, string) {
		for _, l := range w.model() {
			if l.Tool == "Bash" {
				return !l.IsError && strings.Contains(l.Text, "+its own"), l.Text
			}
		}
		return false, ""
	})
	for _, p := range []hub.SettleParams{{ID: id, Allow: true}, {ID: id, Allow: true, ForSession: true}} {
		if err := settleBySocket(w.status().Storage, p); err == nil || !strings.Contains(err.Error(), "was changed since the agent asked, and you were not shown how") {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if n := len(w.pending()); n != 1 {
		t.Errorf("%d pending", n)
	}
	w.noLeave("Bash")
	// The command line shows it first.
	if out := w.must("allow", id); !strings.Contains(out, "was changed since the agent asked:\n") || !strings.Contains(out, "+its own\n") || !strings.Contains(out, "allowed as amended") {
		t.Errorf("allow: %s", out)
	}
	w.recorded("the change as verified", func(r approvals.Record) bool { return r.ID == id && r.Outcome.State == approvals.OutcomeVerified })
	w.want["a.txt"] = "its own\n"
}

// A front end that starts the hub does not become its agent, wherever it runs:
// the person's editor in a terminal inside of another agent's session, say.
func TestPersonInsideAnotherHubsAgent(t *testing.T) {
	w := newWorld(t)
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	e := w.edit(w.project, nil)
	e.send("go")
	id := w.awaitPending(1)[0].ID
	// Another program that marks itself like an agent's environment is taken at its word.
	w.env["COUNTERSIGN_AGENT"] = "elsewhere"
	w.fails(3, []string{"runs inside an agent's session"}, "allow", id)
	delete(w.env, "COUNTERSIGN_AGENT")
	if n := len(w.pending()); n != 1 {
		t.Errorf("%d pending", n)
	}
	w.undecided()
	w.noLeave()
}

// An agent that plays an editor is no person either.
func TestAgentPlaysAnEditor(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.agent("", turn(
		open("a", editCall("a.txt", "two", "2")),
		ask(bashCall(`ID=$(cat '`+w.at("id")+`'); unset COUNTERSIGN_AGENT; `+toolVariable+`=editor '`+self+`' '`+program+`' '`+w.project+`' $ID`)),
	))
	e := w.edit(w.project, nil)
	e.send("go")
	list := w.awaitPending(2)
	w.write(w.at("id"), list[0].ID)
	w.must("allow", list[1].ID)
	e.sees("refused hub/settle", "an agent cannot settle its own approvals")
	w.eventually("the agent's command has ended", func() (bool, string) {
		for _, l := range w.model() {
			if l.Tool == "Bash" {
				return strings.Contains(l.Text, "an agent cannot settle its own approvals"), l.Text
			}
		}
		return false, ""
	})
	w.recorded("the refusal", func(r approvals.Record) bool { return r.Kind == approvals.RecordRefused && r.ID == list[0].ID })
	if n := len(w.pending()); n != 1 {
		t.Errorf("%d pending", n)
	}
	w.noLeave("Bash")
}
