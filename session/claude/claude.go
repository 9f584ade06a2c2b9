// Package claude runs the Claude Code CLI as an agent: its command line, its
// process, the JSON lines on its stdin and stdout, its words for the modes, and
// what to tell a person when it ends.
//
// It knows no desk, no front end and no editor. Lines are UTF-8 JSON, one value
// a line, up to 64 MiB; a tool's input is kept byte for byte as it was written.
//
// Goroutines, for each agent; all of them have ended when Close returns, or
// soon after Exited if the agent ended by itself:
//   - the reader: started by Start, reads stdout, sends the events. It blocks on
//     the process and on whoever drains Events. It ends with the process.
//   - the writer: started by Start, blocks on the process's stdin only. It ends
//     when the process does or the outbox is finished.
//   - the stderr reader: keeps the last lines. It ends with the process.
//   - the waiter: waits for the process, kills what is left of its group, and
//     then lets the reader finish.
package claude

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/nowait"
)

// MarkerVariable marks the environment of an agent, and so of everything that
// it starts: whoever finds it set cannot settle approvals.
const MarkerVariable = "COUNTERSIGN_AGENT"

// A patience is how long is waited at each step with an agent that does not
// react.
type patience struct {
	stdin  time.Duration // for its end, after its stdin was closed
	term   time.Duration // for its end, after SIGTERM to its group
	write  time.Duration // for a line to be taken
	reply  time.Duration // for the reply to set_permission_mode
	output time.Duration // for more output, after its process has ended
}

var usualPatience = patience{
	stdin: 2 * time.Second, term: 2 * time.Second, write: 3 * time.Second, reply: 15 * time.Second, output: 500 * time.Millisecond,
}

// A Starter starts the CLI. The zero value is ready for use.
type Starter struct {
	Log *zap.Logger // nil: nothing is logged

	patience patience // zero: the usual one
}

var (
	_ session.Starter   = Starter{}
	_ session.ModeWords = Starter{}
)

// Args are the arguments that the CLI gets.
func Args(o session.StartOptions) []string {
	args := []string{
		"-p",
		"--input-format", "stream-json",
		"--output-format", "stream-json",
		"--verbose",
		"--permission-prompt-tool", "stdio",
	}
	if o.Mode != "" {
		args = append(args, "--permission-mode", o.Mode)
	}
	if o.Resume != "" {
		args = append(args, "--resume", o.Resume)
	}
	return append(args, o.Settings.Agent.Args...)
}

// Environment is what the CLI gets: the front end's, the settings' on top, and
// the marker. Of two values for one name the last counts.
func Environment(o session.StartOptions) []string {
	env := append([]string(nil), o.Env...)
	for name, value := range o.Settings.Agent.Env {
		env = append(env, name+"="+value)
	}
	env = append(env, MarkerVariable+"="+o.Marker)
	if o.Dir != "" {
		env = append(env, "PWD="+o.Dir)
	}
	return env
}

type agent struct {
	name      string // the command as configured, for messages
	dir       string
	mode      string
	resume    string
	log       *zap.Logger
	patience  patience
	cmd       *exec.Cmd
	group     group
	out       *outbox
	asked     requests
	events    chan session.Event
	lines     *lineReader
	stdin     *os.File
	stdout    *output
	stderr    *output
	tail      tail
	complaint atomic.Pointer[string] // text of the last result that was an error

	// The reader's own, once the process runs:
	mayBypass bool // the CLI can be put into the mode that asks nothing
	plain     bool // initialize was refused with hooks

	closing atomic.Bool   // Close was called
	exited  chan struct{} // closed when the process has been waited for
	read    chan struct{} // closed when the reader has seen the end of stdout
	done    chan struct{} // closed after Exited was sent and Events closed
	stopped sync.Once
}

// Start starts the CLI and sends it initialize. An error explains, for the
// person, why there is no process; what goes wrong later arrives as Exited.
func (s Starter) Start(o session.StartOptions) (session.Agent, error) {
	if len(o.Settings.Agent.Command) == 0 || o.Settings.Agent.Command[0] == "" {
		return nil, errors.New("no agent is configured: the setting agent.command is empty")
	}
	name := o.Settings.Agent.Command[0]
	env := Environment(o)
	path, err := lookPath(name, o.Dir, env)
	if err != nil {
		return nil, explainStart(name, "", o.Dir, env, err)
	}
	a := &agent{
		name: strings.Join(o.Settings.Agent.Command, " "), dir: o.Dir, mode: o.Mode, resume: o.Resume, log: s.Log,
		out: newOutbox(), mayBypass: mayBypass(o),
		events: make(chan session.Event, 16),
		exited: make(chan struct{}),
		read:   make(chan struct{}),
		done:   make(chan struct{}),
	}
	if a.log == nil {
		a.log = zap.NewNop()
	}
	if a.patience = s.patience; a.patience == (patience{}) {
		a.patience = usualPatience
	}
	err = a.spawn(path, append(o.Settings.Agent.Command[1:len(o.Settings.Agent.Command):len(o.Settings.Agent.Command)], Args(o)...), env)
	if err != nil {
		return nil, explainStart(name, path, o.Dir, env, err)
	}
	a.lines = newLineReader(a.stdout, maxLine)
	a.out.now = nowait.Writer(a.stdin)
	a.greet()
	go a.out.run(a.stdin)
	stderrRead := make(chan struct{})
	go func() {
		defer close(stderrRead)
		a.tail.readFrom(a.stderr)
	}()
	go a.readEvents()
	go a.wait(stderrRead)
	return a, nil
}

// greet sends initialize.
func (a *agent) greet() {
	line, err := hello(a.asked.add("initialize", nil))
	if a.plain {
		line, err = controlRequest(a.asked.add("initialize", nil), "initialize", "")
	}
	if err == nil {
		err = a.out.put(line, nil)
	}
	if err != nil {
		a.log.Error("initialize was not sent", zap.Error(err))
	}
}

// mayBypass says whether the CLI, started like this, can be put into the mode
// that asks nothing: that has to be allowed at its start.
func mayBypass(o session.StartOptions) bool {
	return o.Mode == wordOf[session.Bypass] || slices.ContainsFunc(o.Settings.Agent.Args, func(arg string) bool {
		return arg == "--dangerously-skip-permissions" || arg == "--allow-dangerously-skip-permissions"
	})
}

// spawn starts the process with pipes of our own, so that its end is noticed
// even while something that it started still holds them open.
func (a *agent) spawn(path string, args, env []string) (err error) {
	var files [6]*os.File
	defer func() {
		if err != nil {
			for _, f := range files {
				if f != nil {
					f.Close()
				}
			}
		}
	}()
	for i := 0; i < len(files); i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			return err
		}
	}
	widen(files[0])
	widen(files[2])
	a.cmd = &exec.Cmd{
		Path: path, Args: append([]string{a.cmdName(path)}, args...), Env: env, Dir: a.dir,
		Stdin: files[0], Stdout: files[3], Stderr: files[5],
	}
	if a.group, err = startGroup(a.cmd); err != nil {
		return err
	}
	files[0].Close()
	files[3].Close()
	files[5].Close()
	a.stdin, a.stdout, a.stderr = files[1], &output{file: files[2], quiet: a.patience.output}, &output{file: files[4], quiet: a.patience.output}
	return nil
}

func (a *agent) cmdName(path string) string {
	if name, _, _ := strings.Cut(a.name, " "); name != "" {
		return name
	}
	return filepath.Base(path)
}

// command is the agent's command as configured, for messages.
func (a *agent) command() string { return a.name }

// Events delivers what the agent does; it must be drained until it is closed.
func (a *agent) Events() <-chan session.Event { return a.events }

func (a *agent) emit(e session.Event) { a.events <- e }

// readEvents is the reader.
func (a *agent) readEvents() {
	defer close(a.read)
	for {
		line, err := a.lines.next()
		switch {
		case err == nil:
			a.handle(line)
		case ended(err):
			if !errors.Is(err, os.ErrClosed) {
				a.log.Debug("the agent's output ended", zap.Error(err))
			}
			return
		default:
			if id := requestOf(err); id != "" {
				a.refuse(id, fmt.Sprintf("the request is longer than the %d MiB that can be shown to the user, so it was not asked; make it smaller", maxLine>>20))
			}
			a.emit(session.Reported{Warning: true, Text: err.Error()})
		}
	}
}

// wait is the waiter.
func (a *agent) wait(stderrRead <-chan struct{}) {
	err := a.group.wait()
	disown(a.cmd.Process.Pid)
	close(a.exited)
	a.out.fail(session.ErrGone)
	a.stdin.Close()

	// What it wrote before its end is still to be read.
	a.stdout.processEnded()
	a.stderr.processEnded()
	<-stderrRead
	<-a.read
	a.stdout.file.Close()
	a.stderr.file.Close()
	a.emit(a.explainExit(err))
	close(a.events)
	close(a.done)
}

// Send hands the agent a user message. While a turn runs the CLI folds it into
// that turn at the next call of the model.
func (a *agent) Send(text string) error {
	line, err := userMessage(text)
	if err != nil {
		return err
	}
	return a.deliver(line)
}

// Answer settles a request. No error means that the line was written, or waits
// in line for an agent that is slow to read.
func (a *agent) Answer(requestID string, r approvals.Result) error {
	line, err := answer(requestID, r)
	if err != nil {
		return err
	}
	return a.deliver(line)
}

func (a *agent) deliver(line []byte) error {
	written := make(chan error, 1)
	if err := a.out.put(line, written); err != nil {
		return err
	}
	slow := time.NewTimer(a.patience.write)
	defer slow.Stop()
	select {
	case err := <-written:
		return err
	case <-slow.C:
		return nil
	}
}

// Interrupt ends the running turn. Requests that are open are then withdrawn
// by the CLI, each with its own Cancelled.
func (a *agent) Interrupt() error {
	line, err := controlRequest(a.asked.add("interrupt", nil), "interrupt", "")
	if err != nil {
		return err
	}
	return a.deliver(line)
}

// SetMode asks for a mode and waits for the agent's reply; a no is a
// *RefusedError.
func (a *agent) SetMode(mode string) error {
	reply := make(chan error, 1)
	id := a.asked.add("set_permission_mode", reply)
	line, err := controlRequest(id, "set_permission_mode", mode)
	if err == nil {
		err = a.deliver(line)
	}
	if err != nil {
		a.asked.take(id)
		return err
	}
	late := time.NewTimer(a.patience.reply)
	defer late.Stop()
	select {
	case err := <-reply:
		return err
	case <-a.exited:
		return session.ErrGone
	case <-late.C:
		a.asked.take(id)
		return fmt.Errorf("the agent did not answer set_permission_mode within %v", a.patience.reply)
	}
}

// refuse answers a request of the CLI with an error. It never waits.
func (a *agent) refuse(requestID, why string) {
	line, err := refusal(requestID, why)
	if err == nil {
		err = a.out.put(line, nil)
	}
	if err != nil {
		a.log.Debug("a refusal was not sent", zap.String("id", requestID), zap.Error(err))
	}
}

// Close ends the agent: its stdin is closed, which lets it finish what it
// writes, then its group is asked to end, then killed. Somebody must drain
// Events meanwhile; Close itself waits for the process only.
func (a *agent) Close() error {
	a.stopped.Do(func() {
		a.closing.Store(true)
		a.out.finish()
		go func() {
			if a.endsWithin(a.patience.stdin) {
				return
			}
			a.group.terminate()
			if a.endsWithin(a.patience.term) {
				return
			}
			a.group.kill()
		}()
	})
	<-a.exited
	return nil
}

func (a *agent) endsWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-a.exited:
		return true
	case <-timer.C:
		return false
	}
}
