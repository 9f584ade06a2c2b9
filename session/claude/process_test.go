//go:build unix

package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"countersign/session"
	"countersign/session/claude/scripted"
)

// shell makes a shell script the agent.
func shell(t *testing.T, script string) session.StartOptions {
	t.Helper()
	o := session.StartOptions{Settings: session.DefaultSettings(), Dir: t.TempDir(), Env: os.Environ(), Marker: "m-1"}
	o.Settings.Agent.Command = []string{"sh", "-c", script, "agent"}
	return o
}

var hurried = patience{stdin: 50 * time.Millisecond, term: 50 * time.Millisecond, write: 20 * time.Millisecond, reply: 50 * time.Millisecond, output: 50 * time.Millisecond}

// hasty starts an agent that is not waited for long.
func hasty(t *testing.T, o session.StartOptions) *agent {
	t.Helper()
	a, err := Starter{patience: hurried}.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		go a.Close()
		for range a.Events() {
		}
	})
	return a.(*agent)
}

// await waits for a condition that is certain to come true.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !cond(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not so: %s", what)
		}
	}
}

// runs says whether a process exists and is no corpse.
func runs(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) || !fileExists("/proc/self/stat")
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z")
}

func fileExists(path string) bool { _, err := os.Stat(path); return err == nil }

func pidIn(t *testing.T, file string) int {
	t.Helper()
	var pid int
	await(t, file+" holds a pid", func() bool {
		data, _ := os.ReadFile(file)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
		return pid > 0
	})
	return pid
}

func TestCloseEndsWhatTheAgentStarted(t *testing.T) {
	for _, c := range []struct{ name, script string }{
		{"agent ends with its stdin", `sleep 1000 & echo $! > pid; cat > /dev/null`},
		{"agent ignores the end of stdin", `sleep 1000 & echo $! > pid; exec sleep 1000`},
		{"agent ignores SIGTERM", `trap "" TERM; sh -c 'trap "" TERM; sleep 1000' & echo $! > pid; while :; do sleep 0.01; done`},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := shell(t, c.script)
			a := hasty(t, o)
			pid := pidIn(t, filepath.Join(o.Dir, "pid"))
			if !runs(pid) {
				t.Fatal("the grandchild does not run")
			}
			go a.Close()
			exit, _ := until[session.Exited](t, a)
			if !exit.Expected || exit.Explanation != "the agent was ended" {
				t.Errorf("%+v", exit)
			}
			await(t, "the grandchild has ended", func() bool { return !runs(pid) })
			if runs(a.cmd.Process.Pid) {
				t.Error("the agent still runs")
			}
		})
	}
}

func TestAgentThatEndsByItselfLeavesNothingBehind(t *testing.T) {
	o := shell(t, `sleep 1000 & echo $! > pid; exit 3`)
	a := hasty(t, o)
	exit, _ := until[session.Exited](t, a)
	if exit.Code != 3 || exit.Expected {
		t.Errorf("%+v", exit)
	}
	pid := pidIn(t, filepath.Join(o.Dir, "pid"))
	await(t, "the grandchild has ended", func() bool { return !runs(pid) })
}

// TestPipesHeldOpenFromOutside: something with a session of its own keeps the
// agent's stdout; its end must be noticed all the same.
func TestPipesHeldOpenFromOutside(t *testing.T) {
	o := shell(t, `command -v setsid > /dev/null || exit 77; setsid sh -c 'echo $$ > pid; exec sleep 1000' & while ! [ -s pid ]; do sleep 0.01; done; exit 0`)
	a := hasty(t, o)
	exit, _ := until[session.Exited](t, a)
	if exit.Code == 77 {
		t.Skip("there is no setsid here")
	}
	if exit.Code != 0 || !exit.Expected {
		t.Errorf("%+v", exit)
	}
	syscall.Kill(pidIn(t, filepath.Join(o.Dir, "pid")), syscall.SIGKILL)
}

func TestKilledMidLine(t *testing.T) {
	o := options(t, `{"turns":[{"steps":[{"say":"whole"},{"partial":"{\"type\":\"assistant\",\"mess"},{"stderr":"written"},{"delay":"1h"}]}]}`)
	a := started(t, o)
	if err := a.Send("go"); err != nil {
		t.Fatal(err)
	}
	until[session.Said](t, a)
	await(t, "half a line is written", func() bool { return a.tail.String() == "written" })
	a.cmd.Process.Kill()
	r, _ := until[session.Reported](t, a)
	if !r.Warning || !strings.Contains(r.Text, "in the middle of a line") {
		t.Errorf("%+v", r)
	}
	exit, _ := until[session.Exited](t, a)
	if exit.Signal != "killed" || exit.Expected || !strings.Contains(exit.Explanation, "signal (killed)") {
		t.Errorf("%+v", exit)
	}
}

// TestOutputBeforeTheEndIsNotLost: a consumer slower than the patience for the
// last output still gets every line.
func TestOutputBeforeTheEndIsNotLost(t *testing.T) {
	const line = `{"type":"assistant","message":{"content":[{"type":"text","text":"x"}]}}`
	a := hasty(t, shell(t, `i=0; while [ $i -lt 2000 ]; do echo '`+line+`'; i=$((i+1)); done`))
	<-a.exited
	time.Sleep(3 * hurried.output) // being slow is what is tested
	n := 0
	for e := range a.Events() {
		if _, ok := e.(session.Said); ok {
			n++
		}
	}
	if n != 2000 {
		t.Errorf("%d of 2000 lines arrived", n)
	}
}

func TestLargeLineAndFlood(t *testing.T) {
	const size = 10 << 20
	o := options(t, fmt.Sprintf(`{"turns":[{"steps":[
		{"call":{"tool":"Write","bytes":%d,"input":{"file_path":"${DIR}/big.txt"}}},
		{"flood":{"count":1000,"path":"${DIR}/f%%d.txt","text":"x"}}]}]}`, size))
	a := started(t, o)
	if err := a.Send("go"); err != nil {
		t.Fatal(err)
	}
	q, _ := until[session.Requested](t, a)
	if len(q.Request.Input) < size {
		t.Fatalf("the input has %d bytes", len(q.Request.Input))
	}
	if err := a.Answer(q.Request.ID, allow(q)); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for asked < 1000 {
		until[session.Requested](t, a)
		asked++
	}
	if info, err := os.Stat(filepath.Join(o.Dir, "big.txt")); err != nil || info.Size() != size {
		t.Errorf("%v, %v", info, err)
	}
}

// A request in a line beyond the limit is asked of nobody, and refused: the
// agent would wait for its answer for ever.
func TestARequestThatIsTooLongIsRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 70 MB through a pipe")
	}
	a := started(t, shell(t, `
		printf '{"type":"control_request","request_id":"long","request":{"subtype":"can_use_tool","tool_name":"Write","input":{"content":"'
		head -c 70000000 /dev/zero | tr '\0' x
		echo '"}}}'
		while read -r line; do case $line in
			*'"request_id":"long"'*) echo "{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"$(echo "$line" | tr -d '"')\"}";;
		esac; done`))
	told, _ := until[session.Reported](t, a)
	if !told.Warning || !strings.Contains(told.Text, "longer than 64 MiB") {
		t.Errorf("told %+v", told)
	}
	answer, before := until[session.Reported](t, a)
	for _, want := range []string{"subtype:error", "the request is longer than the 64 MiB"} {
		if !strings.Contains(answer.Text, want) {
			t.Errorf("the agent was answered %q, without %q", answer.Text, want)
		}
	}
	for _, e := range before {
		if _, asked := e.(session.Requested); asked {
			t.Errorf("asked: %+v", e)
		}
	}
}

// TestAgentThatDoesNotRead: nothing waits for it without limit, and what did
// not reach it is not claimed to have.
func TestAgentThatDoesNotRead(t *testing.T) {
	a := hasty(t, shell(t, `exec sleep 1000`))
	big := strings.Repeat("x", 4<<20)
	if err := a.Send(big); err != nil {
		t.Errorf("a slow agent: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- a.SetMode("plan") }()
	if err := <-done; err == nil {
		t.Error("a mode was set without a reply")
	}
	dead := make(chan error, 1)
	line, _ := userMessage("never written")
	if err := a.out.put(line, dead); err != nil {
		t.Fatal(err)
	}
	a.cmd.Process.Kill()
	until[session.Exited](t, a)
	if err := <-dead; !errors.Is(err, session.ErrGone) {
		t.Errorf("an unwritten line: %v", err)
	}
	if err := a.Send("x"); !errors.Is(err, session.ErrGone) {
		t.Errorf("after the end: %v", err)
	}
}

func TestExitsAreExplained(t *testing.T) {
	for _, c := range []struct {
		name, script, mode, resume string
		want                       string
		unknown                    bool
	}{
		{
			name: "mode", mode: "nonsense", want: `does not take the mode "nonsense"`,
			script: `echo "error: option '--permission-mode <mode>' argument 'nonsense' is invalid. Allowed choices are acceptEdits, auto." >&2; exit 1`,
		},
		{
			name: "resume", resume: "id-7", want: "knows no session id-7", unknown: true,
			script: `echo "No conversation found with session ID: id-7" >&2; exit 1`,
		},
		{
			name: "root", mode: "bypassPermissions", want: "as root",
			script: `echo "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons" >&2; exit 1`,
		},
		{
			name: "option", want: "does not know one of its options",
			script: `echo "error: unknown option '--permission-prompt-tool'" >&2; exit 1`,
		},
		{
			name: "not logged in", want: "is not logged in",
			script: `echo '{"type":"result","is_error":true,"subtype":"success","result":"Not logged in · Please run /login"}'; exit 1`,
		},
		{
			name: "anything", want: "exit status 9; its last words: line 3\nline 4\nline 5\nline 6\nline 7",
			script: `for i in 1 2 3 4 5 6 7; do echo "line $i" >&2; done; exit 9`,
		},
		{
			name: "much on stderr", want: "its last words: the end",
			script: `head -c 100000 /dev/zero | tr '\0' 'x' >&2; echo >&2; echo "the end" >&2; exit 9`,
		},
		{name: "by itself", script: `exit 0`, want: "ended by itself"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := shell(t, c.script)
			o.Mode, o.Resume = c.mode, c.resume
			exit, _ := until[session.Exited](t, hasty(t, o))
			if !strings.Contains(exit.Explanation, c.want) || exit.UnknownSession != c.unknown {
				t.Errorf("%+v, want %q", exit, c.want)
			}
			if len(exit.Stderr) > tailSize {
				t.Errorf("%d bytes of stderr are kept", len(exit.Stderr))
			}
		})
	}
}

func TestStartsThatFailAreExplained(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := scripted.WriteProgram(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		name    string
		command []string
		dir     string
		want    string
	}{
		{"not installed", []string{"no-such-agent"}, dir, `"no-such-agent" was not found in PATH (` + dir + `)`},
		{"no such file", []string{dir + "/nothing"}, dir, `was not found; the setting agent.command`},
		{"not executable", []string{write("plain", "x", 0o600)}, dir, "not executable"},
		{"not executable, in PATH", []string{"plain"}, dir, "not executable"},
		{"a folder", []string{dir}, dir, "is a folder"},
		{"no interpreter", []string{write("script", "#!/no/such/interpreter\n", 0o700)}, dir, "the interpreter that its first line names is missing"},
		{"no interpreter, in PATH", []string{"script"}, dir, dir + "/script) but cannot be run: the interpreter that its first line names is missing"},
		{"no program", []string{write("odd", "\x00\x01", 0o700)}, dir, "not a program for this machine"},
		{"no folder", []string{"/bin/sh"}, dir + "/gone", "no folder any more"},
		{"nothing configured", nil, dir, "agent.command is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := session.StartOptions{Dir: c.dir, Env: []string{"PATH=" + dir}}
			o.Settings.Agent.Command = c.command
			a, err := Starter{}.Start(o)
			if err == nil {
				go a.Close()
				for range a.Events() {
				}
				t.Fatal("it started")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
