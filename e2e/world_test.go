//go:build linux

package e2e

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/e2e/mockmodel"
	"countersign/editors"
)

// closeGrace is long beside the few milliseconds in which an editor closes and
// reopens a document, on a machine that is busy too.
const closeGrace = time.Second

// A world is all that one test touches: a home, a project, a model and an editor
// that knows no other.
type world struct {
	t       *testing.T
	dir     string // short: sockets lie below it
	project string // the workspace, a repository
	model   *mockmodel.Server
	env     []string
	editor  editor

	settings map[string]any // Countersign's, until the editor starts
	extra    string         // the editor's own configuration beside the snippet
	own      string         // … and instead of it

	languages func(string) string // changes Helix's languages, where it is set
}

// An option changes a world before its editor is configured.
type option func(*world)

// with sets one of Countersign's settings.
func with(name string, value any) option {
	return func(w *world) { w.settings[name] = value }
}

// configured adds lines to the configuration of one kind of editor.
func configured(kind, lines string) option {
	return func(w *world) {
		if w.editor.kind() == kind {
			w.extra += lines + "\n"
		}
	}
}

func newWorld(t *testing.T, p part, options ...option) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "cs-") // t.TempDir is too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, project: filepath.Join(dir, "project"), settings: map[string]any{
		"agent":        map[string]any{"command": []string{parts.claude}},
		"armDelayMs":   1, // tests are quicker than people
		"closeGraceMs": closeGrace.Milliseconds(),
	}}
	t.Cleanup(w.end)
	for _, d := range []string{"home/tmp", "config", "state", "run", "data", "cache", "project"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.model, err = mockmodel.Start(mockmodel.Script{})
	if err != nil {
		t.Fatal(err)
	}
	// In PATH, for sessions that a command line starts before the editor's settings are there.
	path := filepath.Dir(parts.claude) + string(os.PathListSeparator) + os.Getenv("PATH")
	w.env = w.model.Env(path, filepath.Join(dir, "home"))
	for _, v := range []string{"CONFIG", "STATE", "DATA", "CACHE"} {
		w.env = append(w.env, "XDG_"+v+"_HOME="+filepath.Join(dir, strings.ToLower(v)))
	}
	w.env = append(w.env, "XDG_RUNTIME_DIR="+filepath.Join(dir, "run"), "SHELL=/bin/sh")
	w.run(exec.Command("git", "init", "-q", w.project))

	switch p.kind {
	case "nvim":
		w.editor = &neovim{w: w, program: p.program}
	case "hx":
		w.editor = &helix{w: w, program: p.program}
	}
	for _, o := range options {
		o(w)
	}
	return w
}

// config is what the editor's snippet is rendered from.
func (w *world) config() editors.Config {
	settings, err := json.Marshal(w.settings, json.Deterministic(true))
	if err != nil {
		w.t.Fatal(err)
	}
	return editors.Config{Command: []string{parts.countersign, "serve"}, Settings: jsontext.Value(settings)}
}

// path is a file of the project.
func (w *world) path(name string) string { return filepath.Join(w.project, name) }

// file writes a file of the project.
func (w *world) file(name, text string) {
	w.t.Helper()
	w.write(w.path(name), text)
}

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// disk is the content of a file of the project.
func (w *world) disk(name string) string {
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(data)
}

// command runs a command of countersign in the project, as a person in a shell would.
func (w *world) command(args ...string) (string, error) {
	c := exec.Command(parts.countersign, args...)
	c.Dir, c.Env = w.project, w.env
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	return out.String() + errs.String(), err
}

func (w *world) run(c *exec.Cmd) string {
	w.t.Helper()
	c.Env = w.env
	out, err := c.CombinedOutput()
	if err != nil {
		w.t.Fatalf("%v: %v: %s", c.Args, err, out)
	}
	return string(out)
}

// end closes everything and fails the test if a process is left behind: whatever
// of this world still runs has its home in its environment.
func (w *world) end() {
	if w.model != nil {
		_ = w.model.Close()
	}
	defer os.RemoveAll(w.dir)
	if w.t.Failed() {
		w.report()
	}
	// The hub ends by itself some seconds after its last front end; asked to stop it must
	// take its agent with it.
	_, _ = w.command("stop", "--hub")
	seen, gone := within(time.Minute, func() (bool, string) {
		left := w.processes()
		return len(left) == 0, strings.Join(left, "\n")
	})
	if !gone {
		w.t.Errorf("left behind:\n%s", seen)
		for _, line := range w.processes() {
			pid, _, _ := strings.Cut(line, " ")
			if n, err := strconv.Atoi(pid); err == nil {
				_ = syscall.Kill(n, syscall.SIGKILL)
			}
		}
	}
}

// processes are those of this world: "pid command line".
func (w *world) processes() (found []string) {
	mark := []byte("HOME=" + filepath.Join(w.dir, "home") + "\x00")
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range all {
		env, err := os.ReadFile(p + "/environ")
		if err != nil || !bytes.Contains(append(env, 0), mark) {
			continue
		}
		line, _ := os.ReadFile(p + "/cmdline")
		found = append(found, filepath.Base(p)+" "+string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return found
}

// report logs what helps to understand a failure.
func (w *world) report() {
	files, _ := filepath.Glob(filepath.Join(w.dir, "state", "countersign", "*", "*"))
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil || len(data) == 0 {
			continue
		}
		if len(data) > 6000 {
			data = append([]byte("…"), data[len(data)-6000:]...)
		}
		w.t.Logf("%s:\n%s", filepath.Base(f), data)
	}
	for _, r := range w.model.Requests() {
		w.t.Logf("model call %d: %s conversation %q turn %d, %d messages", r.N, r.Path, r.Conversation, r.Turn, len(r.Messages))
	}
	w.t.Logf("processes:\n%s", strings.Join(w.processes(), "\n"))
}

// An approval is one line of countersign pending --json, as far as tests look.
type approval struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Title     string `json:"title"`
	Path      string `json:"path"`
	StagedURI string `json:"stagedUri"`
	State     string `json:"state"`
	Agent     string `json:"agent"`
	Session   string `json:"session"`
}

// staged is the path of the document that shows the approval.
func (a approval) staged() string {
	u, err := url.Parse(a.StagedURI)
	if err != nil {
		return ""
	}
	return u.Path
}

// file is the name of the file concerned.
func (a approval) file() string { return filepath.Base(a.Path) }

// pending are the approvals that wait.
func (w *world) pending() (list []approval, seen string) {
	out, err := w.command("pending", "--json")
	if err != nil {
		return nil, out + err.Error()
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		return nil, out + err.Error()
	}
	return list, out
}

// awaitPending waits until that many approvals wait, and returns them.
func (w *world) awaitPending(n int) (list []approval) {
	w.t.Helper()
	eventually(w.t, "pending approvals: "+strconv.Itoa(n), func() (bool, string) {
		var seen string
		list, seen = w.pending()
		return len(list) == n, seen
	})
	return list
}

// told waits for what the model is told of a call.
func (w *world) told(callID string) mockmodel.Block {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	b, err := w.model.AwaitTold(ctx, callID)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// hears waits until the model reads a text that a person wrote, or that was
// told in a person's place.
func (w *world) hears(text string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if _, err := w.model.Await(ctx, func(r mockmodel.Request) bool { return r.Said(text) }); err != nil {
		w.t.Fatalf("the model reads %q: %v", text, err)
	}
}
