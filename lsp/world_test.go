package lsp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/lsp"
	"countersign/lsp/lsptest"
	"countersign/session/hub"
)

// A world is everything but the screen and the model: a real server for
// editors, a real hub with its desk, its journal and a session, an editor that
// behaves as a real one, and an agent that asks what a test tells it to and
// runs what it was allowed. It lives in a synctest bubble, so that time passes
// when everybody waits, and "everybody waits" is what ends each step.
type world struct {
	t       *testing.T
	root    string
	storage string
	hub     *hub.Local
	agent   *agents
	editor  *lsptest.Editor
	kind    lsptest.Kind
	served  chan error // of the server that serves now
	clock   int        // of file times: what is written later is later
	desk    *hub.Client

	mu       sync.Mutex
	observed []string
	names    map[string]string // approval id → name of its request
}

// inWorld runs a test in a world of its own.
func inWorld(t *testing.T, f func(w *world)) {
	dir, err := os.MkdirTemp("", "world") // the test's name has no place in a URI
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, root: filepath.Join(dir, "ws"), names: map[string]string{}}
		for _, d := range []string{w.root, filepath.Join(dir, "storage")} {
			if err := os.Mkdir(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		w.agent = &agents{w: w}
		w.hub, err = hub.NewLocal(hub.RunOptions{Root: w.root, Starter: w.agent, Now: time.Now}, filepath.Join(dir, "storage"))
		if err != nil {
			t.Fatal(err)
		}
		w.storage = w.hub.Storage()
		w.desk, _, err = w.hub.Connect(t.Context(), hub.ConnectOptions{Name: "command line"})
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		f(w)
	})
}

func (w *world) close() {
	if w.editor != nil {
		w.editor.Kill()
		w.await()
	}
	_ = w.desk.Close()
	if err := w.hub.Close(); err != nil {
		w.t.Errorf("closing the hub: %v", err)
	}
	synctest.Wait()
}

// await takes the end of the server.
func (w *world) await() {
	if w.served != nil {
		<-w.served
		w.served = nil
	}
}

// serve starts a server and gives the editor's end of its connection.
func (w *world) serve() io.ReadWriteCloser {
	ours, theirs := net.Pipe()
	served := make(chan error, 1)
	w.served = served
	connect := func(ctx context.Context, o hub.ConnectOptions) (lsp.Hub, hub.AttachResult, error) {
		c, at, err := w.hub.Connect(ctx, o)
		if err != nil {
			return nil, at, err
		}
		return c, at, nil
	}
	go func() {
		served <- lsp.Serve(context.Background(), theirs, lsp.Options{
			Connect: func(ctx context.Context, o hub.ConnectOptions) (lsp.Hub, hub.AttachResult, error) {
				if o.Root != w.root {
					return nil, hub.AttachResult{}, hub.ErrNotRunning
				}
				return connect(ctx, o)
			},
			ConnectStorage: func(ctx context.Context, storage string, o hub.ConnectOptions) (lsp.Hub, hub.AttachResult, error) {
				if storage != w.storage {
					return nil, hub.AttachResult{}, hub.ErrNotRunning
				}
				return connect(ctx, o)
			},
			Version: "test", Dir: w.root,
		})
	}()
	return ours
}

// start starts an editor.
func (w *world) start(kind lsptest.Kind, settings string) {
	w.t.Helper()
	w.kind = kind
	var err error
	w.editor, err = lsptest.Start(context.Background(), kind, w.serve(), lsptest.Options{
		Root: w.root, Settings: jsontext.Value(settings), Observe: w.observe, Wrote: w.stamp,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// stamp gives a written file a time of its own: the bubble's clock stands still
// while files are written, and the file system's own is coarse.
func (w *world) stamp(path string) {
	w.clock++
	at := time.Now().Add(time.Duration(w.clock) * time.Microsecond)
	if err := os.Chtimes(path, at, at); err != nil {
		w.t.Error(err)
	}
}

// observe takes note of what passed between editor and server.
func (w *world) observe(o lsptest.Observation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := o.Kind
	if o.URI != "" {
		line += " " + o.URI
	}
	if o.Text != "" {
		line += " " + o.Text
	}
	if o.Kind == "diagnostics" {
		if len(o.Lines) == 0 {
			line += " none"
		}
		for _, d := range o.Lines {
			line += "\n    " + d
		}
	}
	w.observed = append(w.observed, line)
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observed = append(w.observed, fmt.Sprintf(format, args...))
}

// settle waits until nobody has anything to do before time passes.
func (w *world) settle() { synctest.Wait() }

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// approval is the newest approval of a request.
func (w *world) approval(request string) hub.Approval {
	w.t.Helper()
	w.learn()
	w.mu.Lock()
	var ids []string
	for id, name := range w.names {
		if name == request {
			ids = append(ids, id)
		}
	}
	w.mu.Unlock()
	var newest hub.Approval
	for _, id := range ids {
		d, err := w.desk.Show(w.t.Context(), hub.ShowParams{ID: id})
		if err != nil {
			w.t.Fatalf("show %s: %v", id, err)
		}
		if newest.ID == "" || newest.Replaced != "" {
			newest = d.Approval
		}
	}
	return newest
}

// learn takes the ids of what is pending.
func (w *world) learn() {
	w.t.Helper()
	list, err := w.desk.Pending(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range list {
		w.names[a.ID] = a.ID[strings.LastIndexByte(a.ID, '-')+1:]
	}
}

// path turns a name of a script into a path: @r1 is the staged document of
// request r1, prompt the prompt document, anything else a file of the workspace.
func (w *world) path(name string) string {
	w.t.Helper()
	switch {
	case strings.HasPrefix(name, "@"):
		a := w.approval(name[1:])
		if a.State == approvals.Pending && a.Staged != nil {
			return a.Staged.Path
		}
		for _, b := range w.editor.Buffers() {
			if a.ID != "" && filepath.Base(filepath.Dir(b.Path)) == a.ID {
				return b.Path
			}
		}
		w.t.Fatalf("no staged document of %s", name)
	case name == "prompt":
		return filepath.Join(w.storage, "prompt.md")
	case name == "list" || name == "session" || name == "sessions":
		return w.own(map[string]string{"list": "allow.md", "session": "session.md", "sessions": "sessions.md"}[name])
	}
	return filepath.Join(w.root, name)
}

// own is the path of the last document of that name that the editor has.
func (w *world) own(base string) string {
	w.t.Helper()
	path := ""
	for _, b := range w.editor.Buffers() {
		if filepath.Base(b.Path) == base && strings.HasPrefix(b.Path, w.storage) {
			path = b.Path
		}
	}
	if path == "" {
		w.t.Fatalf("no document %s", base)
	}
	return path
}

// write writes a file of the workspace as some other program does.
func (w *world) write(name, text string) {
	w.t.Helper()
	path := filepath.Join(w.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	w.stamp(path)
}

// read is the content of a file of the workspace.
func (w *world) read(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.root, name))
	if errors.Is(err, os.ErrNotExist) {
		return "(no such file)"
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// take gives what was observed since the last call, sorted by who saw it: what
// the editor sent, what it was shown, and what the agent got. What the editor
// sent and the agent got is in the order of the wire; between the others there is
// none: what the hub tells and what it answers may cross. Progress is left out,
// because how many reports there are depends on who is faster.
func (w *world) take() []string {
	w.learn()
	w.mu.Lock()
	defer w.mu.Unlock()
	ranks := []string{"error:", "sent", "show", "edit", "ask", "message", "diagnostics", "agent"}
	rank := func(line string) int {
		word, _, _ := strings.Cut(line, " ")
		return slices.Index(ranks, word)
	}
	out := w.observed
	w.observed = nil
	// Of what was published for one document the last counts: how often it was
	// published on the way depends on who is faster.
	last := map[string]int{}
	for i, line := range out {
		if f := strings.Fields(line); f[0] == "diagnostics" {
			last[f[1]] = i
		}
	}
	kept := out[:0]
	for i, line := range out {
		if f := strings.Fields(line); f[0] != "diagnostics" || last[f[1]] == i {
			kept = append(kept, line)
		}
	}
	out = kept
	slices.SortStableFunc(out, func(a, b string) int {
		if d := rank(a) - rank(b); d != 0 {
			return d
		}
		if strings.HasPrefix(a, "diagnostics ") || strings.HasPrefix(a, "message ") {
			return strings.Compare(w.plain(a), w.plain(b))
		}
		return 0
	})
	for i, line := range out {
		out[i] = w.plain(line)
	}
	return slices.DeleteFunc(out, func(line string) bool {
		return strings.HasPrefix(line, "log ") || strings.HasPrefix(line, "progress ")
	})
}

// ownFolder is the folder of a document of the server's own.
var ownFolder = regexp.MustCompile(`/(talks|lists|views|sessions)/[^/]+/`)

// machine are numbers of the machine in the answers of commands.
var machine = regexp.MustCompile(`"(modTime|inode|device|pid|uid)":\d+`)

// plain replaces what differs from run to run by names.
func (w *world) plain(s string) string {
	for id, request := range w.names {
		for _, name := range []string{"file.txt", "a.txt", "b.txt", "new.txt", "command.sh", "input.json", "question.md", "plan.md"} {
			s = strings.ReplaceAll(s, "file://"+filepath.Join(w.storage, "proposed", id, name), "@"+request)
			s = strings.ReplaceAll(s, filepath.Join(w.storage, "proposed", id, name), "@"+request)
		}
		s = strings.ReplaceAll(s, id, "<"+request+">")
	}
	s = ownFolder.ReplaceAllString(s, "/$1/…/")
	s = strings.ReplaceAll(s, "file://"+w.storage, "$STORAGE")
	s = strings.ReplaceAll(s, w.storage, "$STORAGE")
	s = strings.ReplaceAll(s, "file://"+w.root+"/", "")
	s = strings.ReplaceAll(s, w.root, "$ROOT")
	return machine.ReplaceAllString(s, `"$1":0`)
}

// begin starts the agent with a prompt.
func (w *world) begin() {
	w.t.Helper()
	if _, err := w.desk.Send(w.t.Context(), hub.SendParams{Text: "go"}); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

// editorHides reports whether closing a window keeps the document there.
func (w *world) editorHides() bool {
	return strings.HasPrefix(w.kind.Name, "nvim") || strings.HasPrefix(w.kind.Name, "helix")
}

// passClose lets the time pass in which the editor reports a close and the
// close denies.
func (w *world) passClose() {
	if w.kind.Name == lsptest.VSCode.Name {
		w.pass(3 * time.Minute)
	}
	w.pass(2 * time.Second)
}

// act runs the first code action whose title begins with "Countersign: WORD".
func (w *world) act(doc, word string) {
	w.t.Helper()
	actions, err := w.editor.Actions(w.t.Context(), doc)
	if err != nil {
		w.t.Fatal(err)
	}
	var titles []string
	for _, a := range actions {
		titles = append(titles, a.Title)
		if strings.HasPrefix(strings.ToLower(strings.TrimPrefix(a.Title, "Countersign: ")), strings.ToLower(word)) {
			if _, err := w.editor.Run(w.t.Context(), a); err != nil {
				w.t.Fatalf("%s: %v", a.Title, err)
			}
			w.settle()
			return
		}
	}
	w.t.Fatalf("no action %q among %q", word, titles)
}

// restart restarts the server as the editor does it in order.
func (w *world) restart() {
	w.t.Helper()
	old := w.served
	stream := w.serve()
	served := w.served
	if err := w.editor.Restart(context.Background(), stream); err != nil {
		w.t.Fatal(err)
	}
	<-old
	w.served = served
	w.settle()
}

// reconnect has the server vanish and another one take its place.
func (w *world) reconnect() {
	w.t.Helper()
	old := w.served
	stream := w.serve()
	served := w.served
	if err := w.editor.Reconnect(context.Background(), stream); err != nil {
		w.t.Fatal(err)
	}
	<-old
	w.served = served
	w.settle()
}

// settleElsewhere decides at the command line.
func (w *world) settleElsewhere(request string, allow bool) {
	w.t.Helper()
	p := hub.SettleParams{ID: w.approval(request).ID, Allow: allow, How: "command", Message: "no"}
	if allow {
		p.Message = ""
	}
	if _, err := w.desk.Settle(w.t.Context(), p); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}
