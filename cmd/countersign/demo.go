package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"countersign/approvals"
	"countersign/diff"
	"countersign/session/claude/scripted"
	"countersign/session/hub"
)

// demo shows the main job: with a scripted editor, or in a real one.
func demo(ctx context.Context, t *terminal, args []string) error {
	fs := newFlags("demo")
	editor := fs.String("editor", "", "open this `EDITOR` (nvim or hx) on a scratch project, to try the gestures by hand")
	agent := fs.String("agent", "scripted", "`AGENT` to use: scripted, or claude (the real CLI, with --editor)")
	rest, err := parse(fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 0:
		return usagef("it takes no argument %q", rest[0])
	case *agent != "scripted" && *agent != "claude":
		return usagef("--agent is scripted or claude, not %q", *agent)
	case *agent == "claude" && *editor == "":
		return usagef("--agent claude goes with --editor: the scripted editor only knows the scripted agent's prompts")
	case *editor != "" && *editor != "nvim" && *editor != "hx":
		return usagef("--editor is nvim or hx, not %q", *editor)
	}
	// Whatever ends the demo early, its hub and its folder go.
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	s, err := newScratch()
	if err != nil {
		return err
	}
	defer s.remove()
	if *editor != "" {
		return demoInEditor(ctx, t, s, *editor, *agent)
	}
	return demoScripted(ctx, t, s)
}

// A scratch is the throw-away world of a demo: a project, and state folders of
// its own, so that nothing of the person's is touched.
type scratch struct {
	dir     string // everything is below it
	project string
	program string // this executable
}

func newScratch() (*scratch, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	// The path is kept short: sockets below it have a length limit.
	dir, err := os.MkdirTemp("", "csdemo")
	if err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, fmt.Errorf("make a scratch folder: %w", err)
	}
	s := &scratch{dir: dir, project: filepath.Join(dir, "project"), program: program}
	for _, d := range []string{s.project, s.at("state"), s.at("run"), filepath.Join(s.project, ".git")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("make a scratch folder: %w", err)
		}
	}
	for name, text := range scripted.DemoFiles() {
		if err := os.WriteFile(filepath.Join(s.project, name), []byte(text), 0o644); err != nil {
			return nil, fmt.Errorf("fill the scratch project: %w", err)
		}
	}
	// The demo is a front end too: it looks for its hub in the same place as
	// the servers that it starts.
	for k, v := range s.places() {
		if err := os.Setenv(k, v); err != nil {
			return nil, fmt.Errorf("set %s: %w", k, err)
		}
	}
	return s, nil
}

func (s *scratch) at(name string) string { return filepath.Join(s.dir, name) }

// places are the environment variables that keep the demo's state in the
// scratch folder, on every system.
func (s *scratch) places() map[string]string {
	return map[string]string{
		"XDG_STATE_HOME": s.at("state"), "XDG_RUNTIME_DIR": s.at("run"), "LOCALAPPDATA": s.at("state"),
		"COUNTERSIGN_STATE": s.at("state"),
	}
}

// remove ends the hub of the scratch project and deletes the folder.
func (s *scratch) remove() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if c, _, err := hub.Connect(ctx, hub.ConnectOptions{Root: s.project, Name: "demo"}); err == nil {
		_ = c.Stop(ctx)
		_ = c.Close()
	}
	_ = os.RemoveAll(s.dir)
}

// options are the settings of the demo: this program is the agent.
func (s *scratch) options() object {
	return object{"agent": object{"command": []string{s.program, "agent", "--script", "demo"}}}
}

// A play is the scripted demo as it runs. The first step that does not hold
// ends it.
type play struct {
	t      *terminal
	s      *scratch
	editor *scriptedEditor
	front  *hub.Client // a second front end, which looks at what the hub recorded
	steps  int
}

// step prints one step's headline.
func (p *play) step(name, format string, args ...any) {
	p.steps++
	fmt.Fprintf(p.t.out, "%s %s  %s\n", p.t.paint(faint, fmt.Sprintf("%2d", p.steps)), p.t.paint(bold, fmt.Sprintf("%-9s", name)), fmt.Sprintf(format, args...))
}

// body prints lines below a step.
func (p *play) body(text string) {
	for line := range strings.Lines(p.t.diff(approvals.Visible(text))) {
		fmt.Fprint(p.t.out, "      ", line)
	}
}

func demoScripted(ctx context.Context, t *terminal, s *scratch) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	fmt.Fprintf(t.out, "%s\na scripted agent, a scripted editor, and between them the real countersign serve; project %s\n\n", t.paint(bold, "Countersign demo"), s.project)

	server, err := startServer(ctx, s)
	if err != nil {
		return err
	}
	defer server.end()
	p := &play{t: t, s: s, editor: newScriptedEditor(ctx, server)}
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("step %d did not hold: %w\n%s", p.steps, err, p.editor.lastWords())
	}
	if err := server.wait(); err != nil {
		return fmt.Errorf("the server did not end well: %w", err)
	}
	fmt.Fprintf(t.out, "\n%s in %.1f s. Try the gestures yourself: countersign demo --editor nvim (or hx)\n",
		t.paint(green, fmt.Sprintf("all %d steps held", p.steps)), time.Since(began).Seconds())
	return nil
}

func (p *play) run(ctx context.Context) error {
	e := p.editor
	if err := e.initialize(ctx, p.s.project, p.s.options()); err != nil {
		return err
	}
	file := filepath.Join(p.s.project, "greet.go")
	target, err := e.openFile(file)
	if err != nil {
		return err
	}
	if err := p.prompt(ctx, target); err != nil {
		return err
	}
	if err := p.amended(ctx, file); err != nil {
		return err
	}
	if err := p.closed(ctx, filepath.Join(p.s.project, "notes.md")); err != nil {
		return err
	}
	if err := p.command(ctx, target); err != nil {
		return err
	}
	p.step("quit", "the editor leaves; the hub would keep whatever still waited")
	return e.quit(ctx)
}

// prompt starts the agent the way a person does: by the code action, a
// document and a save.
func (p *play) prompt(ctx context.Context, target *buffer) error {
	const text = "Make the greeting friendlier, and tidy the notes.\n"
	e := p.editor
	if err := e.awaitAction(ctx, target, "Countersign: new prompt"); err != nil {
		return err
	}
	b, err := e.awaitShown(ctx, "the prompt document", func(path string) bool { return filepath.Base(path) == "prompt.md" })
	if err != nil {
		return err
	}
	p.step("prompt", "code action %q opens prompt.md; written and saved:", "Countersign: new prompt")
	p.body("  " + text)
	if err := e.change(b, text); err != nil {
		return err
	}
	if err := e.save(b); err != nil {
		return err
	}
	p.front, _, err = hub.Connect(ctx, hub.ConnectOptions{Root: p.s.project, Name: "demo"})
	return err
}

// proposal waits for the document that proposes a change of file, and prints
// its diff.
func (p *play) proposal(ctx context.Context, file string) (*buffer, hub.Approval, error) {
	b, err := p.editor.awaitShown(ctx, "a proposal for "+filepath.Base(file), func(path string) bool { return filepath.Base(path) == filepath.Base(file) })
	if err != nil {
		return nil, hub.Approval{}, err
	}
	pending, err := p.front.Pending(ctx)
	if err != nil {
		return nil, hub.Approval{}, err
	}
	i := slices.IndexFunc(pending, func(a hub.Approval) bool { return a.Staged != nil && a.Staged.Path == b.path })
	if i < 0 {
		return nil, hub.Approval{}, fmt.Errorf("%s was opened, but no pending approval has it", b.path)
	}
	a := pending[i]
	p.step("request", "the agent asks: %s (approval %s)", a.Title, a.ID)
	before, err := os.ReadFile(file)
	if err != nil {
		return nil, a, err
	}
	if string(before) == b.text {
		return nil, a, fmt.Errorf("the proposal for %s proposes nothing", file)
	}
	p.step("proposal", "it opens in the editor as a document:")
	p.body(diff.Unified("a/"+filepath.Base(file), "b/"+filepath.Base(file), string(before), b.text))
	return b, a, nil
}

// amended plays: read the proposal, change it, save it. What was saved must be
// what lands.
func (p *play) amended(ctx context.Context, file string) error {
	b, a, err := p.proposal(ctx, file)
	if err != nil {
		return err
	}
	text := strings.Replace(b.text, "How are you?", "Nice to see you.", 1)
	if text == b.text {
		return fmt.Errorf("the proposal is not the one that the demo amends:\n%s", b.text)
	}
	p.step("amend", "the person changes it before saying yes:")
	p.body(diff.Unified("proposed", "amended", b.text, text))
	if err := p.editor.change(b, text); err != nil {
		return err
	}
	// A person reads before saving; a save right after a document popped up
	// would rightly decide nothing.
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	if err := p.editor.save(b); err != nil {
		return err
	}
	done, err := p.settled(ctx, a.ID)
	if err != nil {
		return err
	}
	if done.State != approvals.Allowed || !done.Amended {
		return fmt.Errorf("after the save the approval is %s (amended: %t): %s", done.State, done.Amended, done.Reason)
	}
	p.step("save", "= allow, as it now reads; the agent gets its tool input with the amended text")
	onDisk, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if string(onDisk) != text || done.Outcome.State != "verified" {
		return fmt.Errorf("%s does not hold what was saved (outcome %q): %q", file, done.Outcome.State, onDisk)
	}
	p.step("verified", "%s holds exactly what was saved (sha256 %.6x…)", filepath.Base(file), sha256.Sum256(onDisk))
	return nil
}

// closed plays: look at the proposal and close it. The file must stay as it
// is, and the agent must go on.
func (p *play) closed(ctx context.Context, file string) error {
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	b, a, err := p.proposal(ctx, file)
	if err != nil {
		return err
	}
	if err := pause(ctx, time.Second); err != nil {
		return err
	}
	if err := p.editor.close(b); err != nil {
		return err
	}
	done, err := p.settled(ctx, a.ID)
	if err != nil {
		return err
	}
	if done.State != approvals.Denied {
		return fmt.Errorf("after the close the approval is %s: %s", done.State, done.Reason)
	}
	p.step("close", "= deny; the agent is told so, and goes on")
	after, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if string(after) != string(before) {
		return fmt.Errorf("%s changed although its proposal was denied", file)
	}
	p.step("untouched", "%s is as it was (sha256 %.6x…)", filepath.Base(file), sha256.Sum256(after))
	return nil
}

// command plays: what is no change of file is decided by a code action.
func (p *play) command(ctx context.Context, target *buffer) error {
	var a hub.Approval
	err := poll(ctx, "the request to run a command", func() (bool, error) {
		pending, err := p.front.Pending(ctx)
		if len(pending) > 0 {
			a = pending[0]
		}
		return len(pending) > 0, err
	})
	if err != nil {
		return err
	}
	p.step("request", "the agent asks: %s", a.Title)
	if err := p.editor.awaitAction(ctx, target, "Countersign: allow Bash"); err != nil {
		return err
	}
	done, err := p.settled(ctx, a.ID)
	if err != nil {
		return err
	}
	if done.State != approvals.Allowed {
		return fmt.Errorf("after the code action the approval is %s: %s", done.State, done.Reason)
	}
	p.step("allow", "by code action; it runs, and the agent ends its turn")
	return p.turnOver(ctx)
}

// settled waits until the approval is settled and, when allowed, its outcome
// is known.
func (p *play) settled(ctx context.Context, id string) (hub.Approval, error) {
	var d hub.Detail
	err := poll(ctx, "a decision about "+id, func() (bool, error) {
		var err error
		d, err = p.front.Show(ctx, hub.ShowParams{ID: id})
		return d.Approval.State == approvals.Denied || d.Approval.Outcome.State != "", err
	})
	return d.Approval, err
}

// turnOver waits until the agent has gone on and ended its turn.
func (p *play) turnOver(ctx context.Context) error {
	return poll(ctx, "the end of the agent's turn", func() (bool, error) {
		st, err := p.front.Status(ctx)
		return st.Session.State == "idle", err
	})
}

// poll asks again and again until cond holds; the demo shows seconds, so a
// twentieth of one does not matter.
func poll(ctx context.Context, what string, cond func() (bool, error)) error {
	for {
		ok, err := cond()
		if ok || err != nil {
			return err
		}
		if pause(ctx, 50*time.Millisecond) != nil {
			return fmt.Errorf("%s did not come", what)
		}
	}
}

// pause waits, as a person does who reads.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
