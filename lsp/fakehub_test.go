package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/hub"
	"countersign/staging"
)

// A fakeHub is a hub in memory: a desk that takes every first decision.
type fakeHub struct {
	t      *testing.T
	root   string
	store  *staging.Store
	opened int // connections that were had, and that were closed
	closed int
	events chan hub.Event

	mu        sync.Mutex
	approvals map[string]hub.Approval
	order     []string
	details   map[string]hub.Detail
	settles   []hub.SettleParams
	kept      []hub.KeepParams
	sent      []hub.SendParams
	set       []session.Settings
	calls     []string
	refuse    error         // answer of Settle
	hold      chan struct{} // Settle waits for it, if set
	info      session.Info
	entries   []hub.SessionEntry
}

func newFakeHub(t *testing.T, root string) *fakeHub {
	t.Helper()
	store, err := staging.Open(filepath.Join(root, "storage"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &fakeHub{
		t: t, root: root, store: store, events: make(chan hub.Event, 4096),
		approvals: map[string]hub.Approval{}, details: map[string]hub.Detail{},
		info: session.Info{State: session.StateNone},
	}
}

func (h *fakeHub) attached() hub.AttachResult {
	h.mu.Lock()
	defer h.mu.Unlock()
	res := hub.AttachResult{Version: "test", PID: 1, Root: h.root, Storage: h.store.Dir(), Session: h.info}
	for _, id := range h.order {
		if a := h.approvals[id]; a.State == approvals.Pending {
			res.Approvals = append(res.Approvals, a)
		}
	}
	return res
}

// propose registers a file change with its staged document and tells of it.
func (h *fakeHub) propose(request, name, original, text string) hub.Approval {
	h.t.Helper()
	id := staging.NewID(request)
	st, err := h.store.Stage(id, name, text)
	if err != nil {
		h.t.Fatal(err)
	}
	path := filepath.Join(h.root, name)
	if err := os.WriteFile(path, []byte(original), 0o600); err != nil {
		h.t.Fatal(err)
	}
	a := hub.Approval{
		ID: id, Tool: "Edit", Title: "Edit " + name, Path: path, Staged: &st, StagedURI: fileURI(st.Path),
		Surface: approvals.SurfaceProposal, Kind: "file changes", State: approvals.Pending, Since: time.Now(), Line: 1,
		SessionWords: "accept edits without asking, for this session (writes no file)",
	}
	h.details[id] = hub.Detail{Approval: a, Original: original, Text: text}
	h.tell(a)
	return a
}

// command registers a Bash request, with its document.
func (h *fakeHub) command(request, line string) hub.Approval {
	h.t.Helper()
	id := staging.NewID(request)
	st, err := h.store.Stage(id, "command.sh", line+"\n")
	if err != nil {
		h.t.Fatal(err)
	}
	a := hub.Approval{
		ID: id, Tool: "Bash", Title: "Bash: " + line, Staged: &st, StagedURI: fileURI(st.Path),
		Surface: approvals.SurfacePanel, Kind: "Bash commands", State: approvals.Pending, Since: time.Now(),
		SessionWords: "allow without asking every Bash command, for this session",
	}
	h.tell(a)
	return a
}

// tell records an approval and notifies the front end.
func (h *fakeHub) tell(a hub.Approval) {
	h.mu.Lock()
	if _, ok := h.approvals[a.ID]; !ok {
		h.order = append(h.order, a.ID)
	}
	h.approvals[a.ID] = a
	h.mu.Unlock()
	h.say(a)
}

// say delivers an event and waits until the server has done with it.
func (h *fakeHub) say(ev hub.Event) {
	h.events <- ev
	synctest.Wait()
}

// endBy settles an approval as somebody else would.
func (h *fakeHub) endBy(id string, state approvals.State, by approvals.By, reason string) hub.Approval {
	h.mu.Lock()
	a := h.approvals[id]
	h.mu.Unlock()
	a.State, a.By, a.Reason, a.Settled = state, by, reason, time.Now()
	h.tell(a)
	return a
}

func (h *fakeHub) lose() {
	h.events <- hub.Lost{Err: errors.New("killed")}
	close(h.events)
}

func (h *fakeHub) called(format string, args ...any) {
	h.calls = append(h.calls, fmt.Sprintf(format, args...))
}

func (h *fakeHub) Configure(_ context.Context, s session.Settings) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.set = append(h.set, s)
	return nil
}

func (h *fakeHub) Send(_ context.Context, p hub.SendParams) (session.Info, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent = append(h.sent, p)
	h.info.State = session.StateRunning
	return h.info, h.refuse
}

func (h *fakeHub) Show(_ context.Context, p hub.ShowParams) (hub.Detail, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.called("show %s", p.ID)
	a, ok := h.approvals[p.ID]
	if !ok {
		return hub.Detail{}, &hub.Error{Code: hub.CodeUnknown, Message: "no approval has the id " + p.ID}
	}
	d := h.details[p.ID]
	d.Approval = a
	return d, nil
}

func (h *fakeHub) Settle(ctx context.Context, p hub.SettleParams) (hub.Settled, error) {
	h.mu.Lock()
	hold := h.hold
	h.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
			return hub.Settled{}, ctx.Err()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != nil {
		return hub.Settled{}, h.refuse
	}
	a, ok := h.approvals[p.ID]
	switch {
	case !ok:
		return hub.Settled{}, &hub.Error{Code: hub.CodeUnknown, Message: "no approval has the id " + p.ID}
	case a.State != approvals.Pending:
		return hub.Settled{}, &hub.Error{Code: hub.CodeSettled, Message: "settled before", Approval: &a}
	}
	h.settles = append(h.settles, p)
	a.State, a.By, a.Settled = approvals.Denied, approvals.By{FrontEnd: "Neovim 0.10.4", PID: os.Getpid(), How: p.How, Rule: p.Rule}, time.Now()
	a.Reason = p.Message
	if p.Allow {
		a.State = approvals.Allowed
		a.Amended = p.Text != nil && h.details[a.ID].Text != "" && *p.Text != h.details[a.ID].Text
	}
	h.approvals[a.ID] = a
	h.events <- a
	return hub.Settled{Approval: a}, nil
}

func (h *fakeHub) Keep(_ context.Context, p hub.KeepParams) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.kept = append(h.kept, p)
	return nil
}

func (h *fakeHub) InterruptSession(_ context.Context, p hub.SessionParams) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.called("%s", strings.TrimSpace("interrupt "+p.Session))
	return nil
}

func (h *fakeHub) NewSessionWith(_ context.Context, p hub.NewSessionParams) (session.Info, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.called("newSession%s", map[bool]string{true: " beside"}[p.Beside])
	return session.Info{State: session.StateNone}, nil
}

func (h *fakeHub) SetMode(_ context.Context, p hub.ModeParams) (session.Info, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.called("%s", strings.TrimSpace("mode "+p.Mode+" "+p.Session))
	if h.refuse != nil {
		return session.Info{}, h.refuse
	}
	if h.info.Mode != "" { // an agent runs
		h.info.Mode = p.Mode
		h.events <- h.info
	} else {
		h.info.NextMode = p.Mode
	}
	return h.info, nil
}

func (h *fakeHub) Resume(_ context.Context, p hub.ResumeParams) (session.Info, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.called("%s", strings.TrimSpace("resume "+p.Session))
	return h.info, h.refuse
}

func (h *fakeHub) Sessions(context.Context) ([]hub.SessionEntry, error) { return h.entries, nil }

func (h *fakeHub) StopSession(_ context.Context, p hub.SessionParams) (session.Info, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.called("%s", strings.TrimSpace("stop "+p.Session))
	return h.info, h.refuse
}

// Transcript is the transcript of session 1, kept in a file of the storage.
func (h *fakeHub) Transcript(_ context.Context, p hub.SessionParams) (hub.Transcript, error) {
	text, err := os.ReadFile(h.transcriptPath())
	return hub.Transcript{Session: "1", Path: h.transcriptPath(), Text: string(text)}, err
}

func (h *fakeHub) transcriptPath() string { return filepath.Join(h.store.Dir(), "transcript.md") }

// happens lets the transcript grow.
func (h *fakeHub) happens(text string) {
	h.t.Helper()
	f, err := os.OpenFile(h.transcriptPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		h.t.Fatal(err)
	}
	h.say(hub.TranscriptChange{Session: "1", Path: h.transcriptPath(), Added: text})
}

func (h *fakeHub) Status(context.Context) (hub.Status, error) {
	return hub.Status{Version: "test", Root: h.root, Storage: h.store.Dir()}, nil
}

func (h *fakeHub) Events() <-chan hub.Event { return h.events }

func (h *fakeHub) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed++
	return nil
}
