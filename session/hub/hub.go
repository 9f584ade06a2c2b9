package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/rpc"
)

// A desk is what the hub needs of approvals.Desk.
type desk interface {
	Get(id string) (approvals.Approval, bool)
	Pending() []approvals.Approval // oldest first
	Keep(id, text string) error
}

// A hub is the state of the hub process: its front ends, and when it may end.
type hub struct {
	record record
	pid    int // ours: agents are its children
	idle   time.Duration
	after  func(time.Duration, func()) (stop func() bool) // time.AfterFunc
	log    *zap.Logger

	desk    desk
	talks   *roster
	scribe  *scribe
	policy  func(session.Settings)                 // hands settings on to the desk
	refused func(id, text string, by approvals.By) // journals a refused decision
	closed  func() error                           // closes the journal and the storage
	peerOf  func(*net.UnixConn) (peer, error)      // who is at the other end
	started func()                                 // an agent may have been started or ended
	prepare func()                                 // makes ready for the next request
	flush   func() error                           // waits until the journal is on disk
	unclean bool                                   // the hub before this one did not end in order
	// lost are the approvals that a killed hub before this one had pending.
	lost map[string]approvals.Approval

	stopping chan struct{}  // closed when the hub is to end
	left     sync.WaitGroup // goroutines of front ends and of noteAgents
	noting   sync.Mutex     // orders noteAgents

	mu        sync.Mutex
	fronts    map[*front]struct{}
	strangers int // connections that are being refused
	refusals  int // decisions refused to agents
	settings  session.Settings
	waiting   map[string]bool          // ids of pending approvals
	shown     map[string]string        // of them, by id: the hash of what lay staged when a person was last shown it by command
	states    map[string]session.State // of the sessions, by short name
	ending    bool
	reason    string      // why it ends
	quiet     func() bool // stops the idle timer; nil when none runs
}

func newHub(r record, log *zap.Logger) *hub {
	return &hub{
		record: r, pid: r.PID, log: log,
		idle:     10 * time.Second,
		after:    func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop },
		policy:   func(session.Settings) {},
		refused:  func(string, string, approvals.By) {},
		closed:   func() error { return nil },
		peerOf:   peerOf,
		started:  func() {},
		prepare:  func() {},
		flush:    func() error { return nil },
		stopping: make(chan struct{}),
		fronts:   make(map[*front]struct{}),
		settings: session.DefaultSettings(),
		waiting:  make(map[string]bool),
		shown:    make(map[string]string),
		states:   make(map[string]session.State),
	}
}

// Bounds of what front ends can make a hub hold: no person has as many, and none
// that reads leaves as many bytes waiting.
const (
	maxFronts   = 200
	maxSuspects = 20 // of them, front ends that agents have started
	maxQueued   = 32 << 20
)

// accept takes front ends until the listener is closed. Whatever else keeps it
// from taking one, such as too many open files, is waited out: ending the hub
// would lose what is pending.
func (h *hub) accept(ctx context.Context, l *net.UnixListener) error {
	for {
		c, err := l.AcceptUnix()
		switch {
		case err == nil:
			h.admit(ctx, c)
			continue
		case errors.Is(err, net.ErrClosed):
			return err
		}
		h.log.Warn("a connection cannot be taken", zap.Error(err))
		pause := time.NewTimer(50 * time.Millisecond)
		select {
		case <-pause.C:
		case <-h.stopping:
		}
		pause.Stop()
	}
}

// admit makes a front end of a connection, if it is one of this user's.
func (h *hub) admit(ctx context.Context, c *net.UnixConn) {
	p, err := h.peerOf(c)
	if err != nil {
		h.refuse(ctx, c, err)
		return
	}
	if err := p.ours(); err != nil {
		p.release()
		h.refuse(ctx, c, fmt.Errorf("this is the hub of another user: %w", err))
		return
	}
	h.enter(ctx, c, p)
}

// enter makes a front end of a connection whose peer is known.
func (h *hub) enter(ctx context.Context, c io.ReadWriteCloser, p peer) {
	f := &front{hub: h, peer: p, name: fmt.Sprintf("process %d", p.pid), suspect: p.mayDecide(h.pid)}
	h.mu.Lock()
	if why := h.crowded(f.suspect != nil); why != nil {
		h.mu.Unlock()
		p.release()
		h.refuse(ctx, c, why)
		return
	}
	h.fronts[f] = struct{}{}
	f.conn = rpc.NewConn(ctx, c, f, rpc.Options{Name: f.name, Log: h.log, Grace: time.Second, MaxQueued: maxQueued})
	h.mu.Unlock()
	h.left.Go(func() {
		<-f.conn.Done()
		p.release()
		h.mu.Lock()
		delete(h.fronts, f)
		h.mu.Unlock()
		h.reckon()
	})
}

// crowded says why no further front end is taken. Those that an agent started
// cannot take the places of others. The caller holds mu.
func (h *hub) crowded(suspect bool) error {
	if len(h.fronts) >= maxFronts {
		return fmt.Errorf("%d front ends are connected already", maxFronts)
	}
	n := 0
	for f := range h.fronts {
		if f.suspect != nil {
			n++
		}
	}
	if suspect && n >= maxSuspects {
		return fmt.Errorf("%d processes of agents are connected already", maxSuspects)
	}
	return nil
}

// reckon starts or stops the idle timer, after whatever it depends on changed.
func (h *hub) reckon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	busy := h.busy(nil) != "" || h.ending
	switch {
	case busy && h.quiet != nil:
		h.quiet()
		h.quiet = nil
	case !busy && h.quiet == nil:
		h.quiet = h.after(h.idle, h.idled)
	}
}

// busy says why the hub cannot end by itself, as if without were not there; ""
// when it can. The caller holds mu.
func (h *hub) busy(without *front) string {
	for f := range h.fronts {
		if f.watch && f != without {
			return f.name + " is attached"
		}
	}
	if len(h.waiting) > 0 {
		return "approvals are pending"
	}
	for _, state := range h.states {
		if state == session.StateRunning || state == session.StateStarting {
			return "the agent works"
		}
	}
	return ""
}

// idled is the idle timer's: it ends the hub if nothing has changed meanwhile.
func (h *hub) idled() {
	h.mu.Lock()
	h.quiet = nil
	if h.busy(nil) == "" {
		h.end("idle")
	}
	h.mu.Unlock()
	h.reckon()
}

// stop ends the hub.
func (h *hub) stop(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.end(reason)
}

// end marks the hub as ending: from now on nobody is attached. The caller holds mu.
func (h *hub) end(reason string) {
	if !h.ending {
		h.ending, h.reason = true, reason
		close(h.stopping)
	}
}

func (h *hub) configure(s session.Settings) {
	h.mu.Lock()
	moved := s.Storage != "" && s.Storage != h.settings.Storage
	h.settings = s
	h.mu.Unlock()
	h.policy(s)
	if moved {
		h.log.Info("another storage is configured; it counts from the next start of the hub", zap.String("storage", s.Storage))
	}
}

func (h *hub) pendingApprovals() []Approval {
	list := h.desk.Pending()
	out := make([]Approval, 0, len(list))
	for _, a := range list {
		out = append(out, wireOf(a))
	}
	return out
}

// approvalChanged is the desk's Notify: in order, and lean, since it lies
// between the agent's line and the person's screen.
func (h *hub) approvalChanged(a approvals.Approval) {
	h.mu.Lock()
	if a.State == approvals.Pending {
		h.waiting[a.ID] = true
	} else {
		delete(h.waiting, a.ID)
		delete(h.shown, a.ID)
	}
	h.mu.Unlock()
	h.broadcast(NotifyApproval, wireOf(a))
	if c := h.talks.named(a.Request.SessionName); c != nil {
		c.story.approval(a)
	}
	h.reckon()
	if a.State == approvals.Pending {
		h.prepare()
	}
}

// sessionChanged is the session's Notify.
func (h *hub) sessionChanged(i session.Info) {
	h.mu.Lock()
	changed := h.states[i.Name] != i.State
	h.states[i.Name] = i.State
	h.mu.Unlock()
	h.broadcast(NotifySession, h.talks.seen(i))
	if changed {
		h.started()
		h.reckon()
	}
}

// report tells every front end something for the person.
func (h *hub) report(warning bool, text, id string) {
	m := Message{Severity: "info", Text: text, ID: id}
	if warning {
		m.Severity = "warning"
	}
	h.broadcast(NotifyMessage, m)
}

// broadcast queues a notification for every watching front end. The lock keeps
// the order the same for all.
func (h *hub) broadcast(method string, v any) {
	raw, err := rpc.Encode(v)
	if err != nil {
		h.log.Error("a notification cannot be encoded", zap.String("method", method), zap.Error(err))
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for f := range h.fronts {
		if f.watch {
			_ = f.conn.Notify(method, raw) // an error: it has just gone
		}
	}
}
