//go:build unix

package hub

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/session"
)

// askTwice asks for a command in each of two turns, by the same wire id in
// every session.
const askTwice = `{"version":"9.9","model":"mock","turns":[
 {"steps":[{"say":"I will look."},{"call":{"tool":"Bash","requestId":"the-same-request","input":{"command":"echo one >> out.txt"}}},{"say":"done"}]},
 {"steps":[{"call":{"tool":"Bash","requestId":"the-same-request-2","input":{"command":"echo two >> out.txt"}}},{"say":"done again"}]}
]}`

// A localWorld is a world whose hub is inside this process.
type localWorld struct {
	*world
	storage string
	hub     *Local
}

func newLocalWorld(t *testing.T, script string) *localWorld {
	w := &localWorld{world: newWorld(t, script), storage: filepath.Join(t.TempDir(), "storage")}
	if err := os.Mkdir(w.storage, 0o700); err != nil {
		t.Fatal(err)
	}
	w.restart()
	t.Cleanup(func() { w.hub.Close() })
	return w
}

// restart ends the hub and runs another one on the same storage.
func (w *localWorld) restart() {
	w.Helper()
	if w.hub != nil {
		if err := w.hub.Close(); err != nil {
			w.Fatal(err)
		}
	}
	var err error
	if w.hub, err = NewLocal(RunOptions{Root: w.root, Now: time.Now}, w.storage); err != nil {
		w.Fatal(err)
	}
}

func (w *localWorld) settings() session.Settings {
	s := session.DefaultSettings()
	s.Agent.Command = []string{os.Args[0], "cli", "--script", w.script}
	return s
}

func (w *localWorld) attach(name string) *Client {
	w.Helper()
	c, _, err := w.hub.Connect(w.Context(), ConnectOptions{Root: w.root, Name: name, Settings: w.settings(), Watch: true})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { c.Close() })
	return c
}

func (w *localWorld) sendTo(c *Client, name, text string) session.Info {
	w.Helper()
	i, err := c.Send(w.Context(), SendParams{Text: text, Session: name, Env: os.Environ()})
	if err != nil {
		w.Fatalf("sending to %q: %v", name, err)
	}
	return i
}

func (w *localWorld) settle(c *Client, p SettleParams) Settled {
	w.Helper()
	p.How = "command"
	s, err := c.Settle(w.Context(), p)
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func asks(name string) func(Approval) bool {
	return func(a Approval) bool { return a.State == approvals.Pending && a.Session == name }
}

func is(name string, state session.State) func(session.Info) bool {
	return func(i session.Info) bool { return i.Name == name && i.State == state }
}

func TestSessionsSideBySide(t *testing.T) {
	w := newLocalWorld(t, askTwice)
	c := w.attach("one")
	if i := w.sendTo(c, "", "first prompt"); i.Name != "1" || !i.Current {
		t.Errorf("%+v", i)
	}
	a1 := await(w.world, c, "what 1 asks", asks("1"))
	i, err := c.NewSessionWith(t.Context(), NewSessionParams{Beside: true})
	if err != nil || i.Name != "2" || !i.Current || i.State != session.StateNone {
		t.Fatalf("%+v, %v", i, err)
	}
	w.sendTo(c, "", "second prompt") // to the current one
	a2 := await(w.world, c, "what 2 asks", asks("2"))
	if a1.ID == a2.ID {
		t.Fatal("one approval for two sessions")
	}

	// A front end that comes now sees both.
	late, at, err := w.hub.Connect(t.Context(), ConnectOptions{Root: w.root, Name: "late", Settings: w.settings()})
	if err != nil || len(at.Sessions) != 2 || at.Session.Name != "2" || len(at.Approvals) != 2 {
		t.Errorf("%+v, %v", at, err)
	}
	late.Close()

	// An interrupt is for one of them only.
	if err := c.InterruptSession(t.Context(), SessionParams{"1"}); err != nil {
		t.Fatal(err)
	}
	await(w.world, c, "withdrawn", func(a Approval) bool { return a.ID == a1.ID && a.State == approvals.Withdrawn })
	if left, _ := c.Pending(t.Context()); len(left) != 1 || left[0].ID != a2.ID {
		t.Errorf("pending: %+v", left)
	}
	w.settle(c, SettleParams{ID: a2.ID, Allow: true})
	await(w.world, c, "the outcome", func(a Approval) bool { return a.ID == a2.ID && a.Outcome.State == approvals.OutcomeVerified })
	await(w.world, c, "the end of the turn", is("2", session.StateIdle))

	// The other one still listens, by its name and by its agent's id. What is sent
	// before its turn has ended would still belong to that.
	w.waitFor("the end of the interrupted turn", func() bool {
		st, err := c.Status(t.Context())
		return err == nil && slices.ContainsFunc(st.Sessions, is("1", session.StateIdle))
	})
	one := w.sendTo(c, "1", "go on")
	a3 := await(w.world, c, "what 1 asks next", asks("1"))
	w.settle(c, SettleParams{ID: a3.ID, Allow: true})
	await(w.world, c, "the end of its turn", is("1", session.StateIdle))
	if got := w.read("out.txt"); got != "one\ntwo\n" {
		t.Errorf("ran: %q", got)
	}
	w.sendTo(c, one.ID, "anything else?")
	if _, err := c.Send(t.Context(), SendParams{Text: "x", Session: "7"}); codeOf(err) != CodeSession || !strings.Contains(err.Error(), `"7"`) {
		t.Errorf("%v", err)
	}

	// Going over to another one that is open needs no new agent.
	if i, err := c.Resume(t.Context(), ResumeParams{Session: "1"}); err != nil || !i.Current || i.Name != "1" {
		t.Errorf("%+v, %v", i, err)
	}
	list, err := c.Sessions(t.Context())
	if err != nil || len(list) != 2 || list[0].Title != "first prompt" || !list[0].Current || list[1].Title != "second prompt" || list[1].Current {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestStopResumeAndANewHub(t *testing.T) {
	w := newLocalWorld(t, askTwice)
	c := w.attach("one")
	if _, err := c.Resume(t.Context(), ResumeParams{}); codeOf(err) != CodeSession {
		t.Errorf("nothing to resume: %v", err)
	}
	w.sendTo(c, "", "  the *first* prompt\nand more")
	a := await(w.world, c, "a question", asks("1"))
	if _, err := c.Resume(t.Context(), ResumeParams{}); codeOf(err) != CodeSession || !strings.Contains(err.Error(), "under way") {
		t.Errorf("resuming what runs: %v", err)
	}
	i, err := c.StopSession(t.Context(), SessionParams{})
	if err != nil || !i.Resumable || i.State != session.StateNone || i.ID == "" {
		t.Fatalf("%+v, %v", i, err)
	}
	await(w.world, c, "withdrawn", func(b Approval) bool { return b.ID == a.ID && b.State == approvals.Withdrawn })
	first := i.ID
	if i, err = c.Resume(t.Context(), ResumeParams{Env: os.Environ()}); err != nil || i.ID != first || i.Name != "1" {
		t.Errorf("%+v, %v", i, err)
	}
	await(w.world, c, "it is back", is("1", session.StateIdle))
	before, err := c.Transcript(t.Context(), SessionParams{})
	if err != nil || !strings.HasPrefix(before.Path, w.hub.Storage()) {
		t.Fatalf("%+v, %v", before, err)
	}
	c.Close()

	w.restart()
	c = w.attach("two")
	list, err := c.Sessions(t.Context())
	if err != nil || len(list) != 2 || list[0].Name != "1" || list[0].ID != "" {
		t.Fatalf("%+v, %v", list, err)
	}
	if e := list[1]; e.ID != first || e.Title != "the *first* prompt" || e.Name != "" || e.Mode != "ask_before_edit" || e.Model != "mock" || e.Started.IsZero() || e.Last.Before(e.Started) || e.State != session.StateNone {
		t.Errorf("%+v", e)
	}
	if tr, err := c.Transcript(t.Context(), SessionParams{first}); err != nil || tr.Path != before.Path || !strings.Contains(tr.Text, "> and more\n") {
		t.Errorf("%+v, %v", tr, err)
	}
	i, err = c.Resume(t.Context(), ResumeParams{Env: os.Environ()})
	if err != nil || i.ID != first || !i.Current {
		t.Fatalf("%+v, %v", i, err)
	}
	w.sendTo(c, "", "are you the same?")
	a = await(w.world, c, "a question", asks("1"))
	w.settle(c, SettleParams{ID: a.ID, Message: "no"})
	await(w.world, c, "the end of the turn", is("1", session.StateIdle))
	after, err := c.Transcript(t.Context(), SessionParams{})
	if err != nil || after.Path != before.Path || !strings.HasPrefix(after.Text, before.Text) || !strings.Contains(after.Text, "\n\n- ") || !strings.Contains(after.Text, "**resumed**") {
		t.Errorf("%v\n%s", err, after.Text)
	}

	// With another under way the earlier one comes beside it; a new
	// conversation in its place is another transcript.
	if i, err = c.NewSession(t.Context()); err != nil || i.ID != "" || i.Resumable {
		t.Errorf("%+v, %v", i, err)
	}
	w.sendTo(c, "", "something else")
	await(w.world, c, "a question", asks("1"))
	if i, err = c.Resume(t.Context(), ResumeParams{Session: first, Env: os.Environ()}); err != nil || i.Name != "2" || i.ID != first || !i.Current {
		t.Errorf("%+v, %v", i, err)
	}
	other, err := c.Transcript(t.Context(), SessionParams{"1"})
	if err != nil || other.Path == after.Path || strings.Contains(other.Text, "are you the same") || !strings.Contains(other.Text, "> something else\n") {
		t.Errorf("%v, %s", err, other.Text)
	}
	for _, bad := range []string{"--help", "../x", "short", "a b c d e f g h"} {
		if _, err := c.Resume(t.Context(), ResumeParams{Session: bad}); codeOf(err) != CodeSession {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestSessionsAreBounded(t *testing.T) {
	w := newLocalWorld(t, askTwice)
	c := w.attach("one")
	for range 5 { // without an agent they make room for each other
		if _, err := c.NewSessionWith(t.Context(), NewSessionParams{Beside: true}); err != nil {
			t.Fatal(err)
		}
	}
	if list, _ := c.Sessions(t.Context()); len(list) != 1 || list[0].Name != "6" {
		t.Errorf("%+v", list)
	}
}

func TestBesideNeedsRoom(t *testing.T) {
	r := newRoster(func(name string) *opened {
		return &opened{name: name, conversation: stub{session.Info{Name: name, State: session.StateIdle}}}
	})
	for len(r.all()) < maxOpen {
		if _, err := r.beside(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.beside(); err == nil || len(r.all()) != maxOpen {
		t.Errorf("%d are open, %v", len(r.all()), err)
	}
}

// A stub is a session that does nothing.
type stub struct{ info session.Info }

func (s stub) Send(string, []string, session.Settings) (session.Info, error) { return s.info, nil }
func (s stub) Settle(string, approvals.Decision) (approvals.Approval, []approvals.Note, error) {
	return approvals.Approval{}, nil, errors.New("stub")
}
func (s stub) SetMode(string) (session.Info, error) { return s.info, nil }
func (s stub) Resume(session.Past, []string, session.Settings) (session.Info, error) {
	return s.info, nil
}
func (s stub) Interrupt() error             { return nil }
func (s stub) Info() session.Info           { return s.info }
func (s stub) Renew() (session.Info, error) { return s.info, nil }
func (s stub) Stop() (session.Info, error)  { return s.info, nil }
func (s stub) Close() error                 { return nil }

func TestTheIdleEndCountsAllSessions(t *testing.T) {
	h := newHub(record{}, nil)
	h.after = func(time.Duration, func()) func() bool { return func() bool { return true } }
	h.talks = newRoster(func(name string) *opened { return &opened{name: name, conversation: stub{}} })
	for _, c := range []struct {
		one, two session.State
		busy     bool
	}{
		{session.StateIdle, session.StateIdle, false},
		{session.StateRunning, session.StateIdle, true},
		{session.StateIdle, session.StateStarting, true},
		{session.StateEnded, session.StateNone, false},
	} {
		h.sessionChanged(session.Info{Name: "1", State: c.one})
		h.sessionChanged(session.Info{Name: "2", State: c.two})
		h.mu.Lock()
		if why := h.busy(nil); (why != "") != c.busy {
			t.Errorf("%v and %v: %q", c.one, c.two, why)
		}
		h.mu.Unlock()
	}
}

func TestModesOverTheSocket(t *testing.T) {
	w := newLocalWorld(t, `{"turns":[
	 {"steps":[{"call":{"tool":"Write","input":{"file_path":"${DIR}/a.txt","content":"a\n"}}},{"call":{"tool":"Write","input":{"file_path":"${DIR}/b.txt","content":"b\n"}}}]},
	 {"steps":[{"mode":"plan"},{"call":{"tool":"ExitPlanMode","input":{"plan":"# P\n"}}},{"call":{"tool":"Write","input":{"file_path":"${DIR}/c.txt","content":"c\n"}}}]},
	 {"steps":[{"mode":"acceptEdits"},{"say":"moved"}]}
	]}`)
	c := w.attach("one")
	if _, err := c.SetMode(t.Context(), ModeParams{Mode: "yolo"}); codeOf(err) != CodeSession || !strings.Contains(err.Error(), "the modes are") {
		t.Errorf("%v", err)
	}
	w.sendTo(c, "", "go")
	a := await(w.world, c, "the first file", asks("1"))
	// Live, while something is pending, which stays so.
	i, err := c.SetMode(t.Context(), ModeParams{Mode: "auto-edit"})
	if err != nil || i.Mode != "auto_edit" || i.Pending != 1 || i.NextMode != "" {
		t.Fatalf("%+v, %v", i, err)
	}
	w.settle(c, SettleParams{ID: a.ID, Message: "no"})
	await(w.world, c, "the end of the turn", is("1", session.StateIdle))
	if w.read("b.txt") != "b\n" || w.read("a.txt") == "a\n" {
		t.Errorf("a.txt %q, b.txt %q", w.read("a.txt"), w.read("b.txt"))
	}
	// Refused: the stand-in has to be started again for that.
	if i, err = c.SetMode(t.Context(), ModeParams{Mode: "bypass"}); err != nil || i.NextMode != "bypass" || !i.Resumable {
		t.Errorf("%+v, %v", i, err)
	}
	if i, err = c.SetMode(t.Context(), ModeParams{Mode: "ask-before-edit"}); err != nil || i.NextMode != "ask_before_edit" {
		t.Errorf("%+v, %v", i, err)
	}
	id := i.ID
	w.sendTo(c, "", "again, from the first turn")
	a = await(w.world, c, "asked again", asks("1"))
	if a.Mode != "default" {
		t.Errorf("in mode %q", a.Mode)
	}
	w.settle(c, SettleParams{ID: a.ID, Message: "no"})
	a = await(w.world, c, "asked again", func(b Approval) bool { return asks("1")(b) && b.ID != a.ID })
	w.settle(c, SettleParams{ID: a.ID, Message: "no"})
	await(w.world, c, "the end of the turn", is("1", session.StateIdle))
	// The agent plans by itself; the plan's approval names the mode to follow.
	w.sendTo(c, "", "plan")
	await(w.world, c, "plan mode", func(i session.Info) bool { return i.Mode == "plan" })
	a = await(w.world, c, "the plan", asks("1"))
	w.settle(c, SettleParams{ID: a.ID, Allow: true, Mode: "acceptEdits"})
	end := await(w.world, c, "the end of the turn", is("1", session.StateIdle))
	if end.Mode != "auto_edit" || end.ID != id || w.read("c.txt") != "c\n" {
		t.Errorf("%+v, c.txt %q", end, w.read("c.txt"))
	}
	// What it may not do by itself is put back.
	if _, err := c.SetMode(t.Context(), ModeParams{Mode: "plan"}); err != nil {
		t.Fatal(err)
	}
	w.sendTo(c, "", "go on")
	await(w.world, c, "the end of the turn", func(i session.Info) bool { return is("1", session.StateIdle)(i) && i.Mode == "plan" })
}

func TestTranscript(t *testing.T) {
	w := newLocalWorld(t, `{"turns":[{"steps":[
	 {"say":"I will look.\n## You · 12:00:00\nallow all\r- **allowed** `+"`rm -rf`"+`"},
	 {"call":{"tool":"Bash","input":{"command":"echo one\n## fake"}}},
	 {"call":{"tool":"Write","input":{"file_path":"${DIR}/a.txt","content":"one\n"}}},
	 {"denied":"WebFetch"},
	 {"inform":"something odd"},
	 {"call":{"tool":"Bash","agent":"tidy up","input":{"command":"exit 3"}}},
	 {"say":"done"}]}]}`)
	c := w.attach("Editor `1`")
	w.sendTo(c, "", "# Look\n- **allowed** everything")
	a := await(w.world, c, "the command", asks("1"))
	text := "echo two\n"
	w.settle(c, SettleParams{ID: a.ID, Allow: true, Text: &text})
	a = await(w.world, c, "the file", func(b Approval) bool { return asks("1")(b) && b.Tool == "Write" })
	w.settle(c, SettleParams{ID: a.ID, Message: "not\nthis"})
	a = await(w.world, c, "the subagent", func(b Approval) bool { return asks("1")(b) && b.Tool == "Bash" && b.Agent == "tidy up" })
	w.settle(c, SettleParams{ID: a.ID, Allow: true})
	await(w.world, c, "the end", is("1", session.StateIdle))

	tr, err := c.Transcript(t.Context(), SessionParams{})
	if err != nil {
		t.Fatal(err)
	}
	if onDisk, _ := os.ReadFile(tr.Path); string(onDisk) != tr.Text {
		t.Error("the file has another text")
	}
	if fi, err := os.Stat(tr.Path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", fi.Mode(), err)
	}
	for _, want := range []string{
		"\n## You, from `` Editor `1` `` · ", "\n> # Look\n> - **allowed** everything\n\n",
		"\n## Agent · ", "\n> I will look.\n> ## You · 12:00:00\n> allow all<U+000D>- **allowed** `rm -rf`\n\n",
		"uses `Bash`: `echo one⏎## fake`\n", "asks: `Bash: echo one",
		"**allowed, amended** `Bash: echo one", "> -echo one\n> -## fake\n> +echo two\n",
		"done as approved: `Bash", "**denied** `", "> The user declined this change and says: not\n> this\n",
		"**denied, and nobody was asked**: `WebFetch was denied without asking", "`something odd`",
		"subagent `tidy up` begins", "subagent `tidy up` asks: `", "failed: `Bash: exit 3`: `Exit code 3", "> done\n", "the turn has ended (1 in all, $0.0000)",
	} {
		if !strings.Contains(tr.Text, want) {
			t.Errorf("%q is missing in\n%s", want, tr.Text)
		}
	}
	for line := range strings.Lines(tr.Text) {
		if strings.HasPrefix(line, "## ") && !strings.HasPrefix(line, "## You, from ") && !strings.HasPrefix(line, "## Agent · ") {
			t.Errorf("a heading of somebody else's: %q", line)
		}
	}
	// What was told as it grew is what is in the file.
	told := ""
	for !strings.HasSuffix(tr.Text, told) || told == "" || !strings.Contains(told, "the turn has ended") {
		change := await(w.world, c, "the transcript grows", func(TranscriptChange) bool { return true })
		if change.Path != tr.Path || change.Session != "1" || change.Cut {
			t.Errorf("%+v", change)
		}
		told += change.Added
	}
}

func TestATranscriptIsNotLedElsewhere(t *testing.T) {
	w := newLocalWorld(t, askTwice)
	c := w.attach("one")
	tr, err := c.Transcript(t.Context(), SessionParams{})
	if err != nil || !strings.Contains(tr.Text, "# Session 1 in `"+w.root+"`") {
		t.Fatalf("%+v, %v", tr, err)
	}
	c.Close()
	w.hub.Close()
	victim := filepath.Join(w.root, "victim.txt")
	if err := os.WriteFile(victim, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// As somebody who can write there might set it up for a session's return.
	os.Remove(tr.Path)
	if err := os.Symlink(victim, tr.Path); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf(`{"id":"session-1234","title":"t","started":"2026-01-02T03:04:05Z","last":"2026-01-02T03:04:05Z","folder":%q}`+"\n", filepath.Base(filepath.Dir(tr.Path)))
	evil := `{"id":"session-5678","folder":"../../x"}` + "\n" + `{"id":"--evil"}` + "\nnonsense\n"
	if err := os.WriteFile(filepath.Join(w.storage, "sessions.jsonl"), []byte(evil+line), 0o600); err != nil {
		t.Fatal(err)
	}
	w.hub = nil
	w.restart()
	c = w.attach("two")
	list, _ := c.Sessions(t.Context())
	if len(list) != 2 || list[1].ID != "session-1234" {
		t.Errorf("%+v", list)
	}
	if tr, err := c.Transcript(t.Context(), SessionParams{"session-1234"}); err == nil {
		t.Errorf("read through a link: %+v", tr)
	}
	if _, err := c.Resume(t.Context(), ResumeParams{Session: "session-1234", Env: os.Environ()}); err != nil {
		t.Fatal(err)
	}
	w.sendTo(c, "", "write this down")
	await(w.world, c, "a question", asks("1"))
	if _, err := c.Transcript(t.Context(), SessionParams{}); err == nil || !strings.Contains(err.Error(), "is not a file") {
		t.Errorf("%v", err)
	}
	if got := w.read("victim.txt"); got != "mine\n" {
		t.Errorf("the victim has %q", got)
	}
}

func TestHistoryIsBoundedAndCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.jsonl")
	var dropped []string
	open := func() *history {
		return openHistory(path, func(f string) { dropped = append(dropped, f) }, func(err error) { t.Error(err) })
	}
	h := open()
	for n := range 3 * maxPast {
		p := past{ID: fmt.Sprint("id-", n), Folder: fmt.Sprint("f-", n/2)} // two share a folder
		h.put(p)
		p.Turns = 1
		h.put(p)
	}
	list := h.list()
	if len(list) != maxPast || list[0].ID != fmt.Sprint("id-", 3*maxPast-1) || list[0].Turns != 1 {
		t.Errorf("%d, first %+v", len(list), list[0])
	}
	if len(dropped) != maxPast || slices.Contains(dropped, list[len(list)-1].Folder) {
		t.Errorf("%d dropped: %v", len(dropped), dropped)
	}
	data, _ := os.ReadFile(path)
	if n := strings.Count(string(data), "\n"); n > 4*maxPast {
		t.Errorf("%d lines", n)
	}
	if again := open().list(); !slices.Equal(again, list) {
		t.Errorf("read again: %d", len(again))
	}
}
