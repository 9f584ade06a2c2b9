package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"time"

	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/hub"
)

// A link is the way to one hub: the one of the workspace root, or the one that
// owns the storage of a staged document that was opened here. It outlives the
// hub: after a loss it attaches again, and starts a hub only when one is needed.
// Its fields belong to the event loop.
type link struct {
	storage string // absolute; empty until the first attach where it was not given
	root    string // absolute; empty for a link by storage until attached
	byRoot  bool

	hub        Hub                     // nil while not attached
	info       session.Info            // of the current session
	sessions   map[string]session.Info // all that are known, by short name
	asked      map[string]string       // by session: the mode that was asked for here
	connecting bool
	starting   bool // the attempt under way may start a hub
	waiting    []func(Hub, error)
	told       bool // the person knows that there is no hub
	attempts   int  // since the loss
	sent       session.Settings
}

// connectTimeout bounds one attempt to find or start a hub.
const connectTimeout = 20 * time.Second

// rootLink is the link to the hub of the workspace root.
func (s *server) rootLink() *link {
	l := s.links[""]
	if l == nil {
		root := s.client.root
		if root == "" {
			root = s.opts.Dir
		}
		l = &link{root: root, byRoot: true}
		s.links[""] = l
	}
	return l
}

// storageLink is the link to the hub that owns a storage folder.
func (s *server) storageLink(storage string) *link {
	storage = filepath.Clean(storage)
	if l := s.links[""]; l != nil && l.storage == storage {
		return l
	}
	l := s.links[storage]
	if l == nil {
		l = &link{storage: storage}
		s.links[storage] = l
	}
	return l
}

// need runs f with the hub of a link as soon as there is one, on a goroutine of
// its own; it starts a hub where none runs. f gets an error when none can be had.
func (s *server) need(l *link, f func(ctx context.Context, h Hub, err error)) {
	if l.hub != nil {
		h := l.hub
		s.decide(func(ctx context.Context) { f(ctx, h, nil) })
		return
	}
	// Counted from now on, so that the end of the server waits for it.
	ready := make(chan struct{})
	var h Hub
	var err error
	l.waiting = append(l.waiting, func(got Hub, e error) { h, err = got, e; close(ready) })
	s.decide(func(ctx context.Context) {
		select {
		case <-ready:
			f(ctx, h, err)
		case <-ctx.Done():
		}
	})
	s.attach(l, true)
}

// attach tries to reach a link's hub in the background.
func (s *server) attach(l *link, start bool) {
	if l.hub != nil || s.ended {
		return
	}
	if !s.layers.first {
		s.deferred = append(s.deferred, func() { s.attach(l, start) })
		return
	}
	if l.connecting {
		if start && !l.starting {
			l.starting = true // tried again with start once this attempt has failed
		}
		return
	}
	l.connecting, l.starting = true, start
	o := hub.ConnectOptions{Root: l.root, Name: s.client.name, Settings: s.settings.Session, Watch: true, Start: start}
	byRoot, storage := l.byRoot, l.storage
	l.sent = s.settings.Session
	s.work(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, connectTimeout)
		defer cancel()
		var h Hub
		var res hub.AttachResult
		var err error
		if byRoot {
			h, res, err = s.opts.Connect(ctx, o)
		} else {
			h, res, err = s.opts.ConnectStorage(ctx, storage, o)
		}
		if !s.queue.push(func() {
			defer s.recovered("attaching")
			s.attempted(l, start, h, res, err)
		}) && err == nil {
			_ = h.Close()
		}
	})
}

// attempted takes what an attempt to attach came to.
func (s *server) attempted(l *link, started bool, h Hub, res hub.AttachResult, err error) {
	wanted := l.starting
	l.connecting, l.starting = false, false
	if err != nil {
		s.log.Warn("no hub", zap.String("root", l.root), zap.String("storage", l.storage), zap.Error(err))
		if wanted && !started {
			s.attach(l, true)
			return
		}
		if started || len(l.waiting) > 0 {
			if !l.told {
				l.told = true
				s.showError("Countersign cannot reach its hub: %s", sentence(err))
			}
		}
		s.release(l, nil, err)
		if l.byRoot {
			s.reachStaged(l)
		}
		s.retry(l)
		return
	}
	if s.ended && len(l.waiting) == 0 {
		l.hub = h // left with the others
		return
	}
	if l.told {
		l.told = false
		s.showInfo("Countersign is connected to its hub again.")
	}
	l.hub, l.storage, l.root, l.attempts = h, res.Storage, res.Root, 0
	l.attached(res)
	s.touched()
	s.follow(l, h)
	if !reflect.DeepEqual(l.sent, s.settings.Session) {
		s.configureHub(l)
	}
	s.reconcile(l, res.Approvals)
	s.release(l, h, nil)
	s.progress()
	s.recallReasons()
	s.recallTalks(l)
	waits := map[string]bool{}
	for _, a := range res.Approvals {
		waits[a.ID] = true
	}
	storage, now := l.storage, s.now()
	s.work(func(context.Context) { sweep(storage, now, func(id string) bool { return waits[id] }) })
}

// release hands a hub, or the reason why there is none, to those who wait.
func (s *server) release(l *link, h Hub, err error) {
	waiting := l.waiting
	l.waiting = nil
	for _, f := range waiting {
		f(h, err)
	}
}

// follow forwards a hub's events to the loop until the hub is lost.
func (s *server) follow(l *link, h Hub) {
	s.work(func(ctx context.Context) {
		events := h.Events()
		for {
			select {
			case ev, ok := <-events:
				if !ok {
					s.push(func() { s.lost(l, h, errors.New("its connection ended")) })
					return
				}
				s.push(func() { s.hubEvent(l, h, ev) })
			case <-ctx.Done():
				return
			}
		}
	})
}

// hubEvent takes one thing that a hub told.
func (s *server) hubEvent(l *link, h Hub, ev hub.Event) {
	if l.hub != h {
		return
	}
	switch ev := ev.(type) {
	case hub.Approval:
		s.learn(l, ev)
	case session.Info:
		s.sessionHeard(l, ev)
	case hub.TranscriptChange:
		s.transcriptChanged(l, ev)
	case hub.Message:
		s.hubMessage(ev)
	case hub.Lost:
		s.lost(l, h, ev.Err)
	}
}

// lost notes that a hub went away. Nothing is decided by that: what was pending
// there stays as it is shown until the hub, or the next one, says otherwise.
func (s *server) lost(l *link, h Hub, err error) {
	if l.hub != h {
		return
	}
	_ = h.Close()
	l.hub = nil
	l.gone()
	s.touched()
	s.progress()
	if s.ended {
		return
	}
	s.log.Warn("lost the hub", zap.String("storage", l.storage), zap.Error(err))
	l.told = true
	s.showWarning("Countersign lost its hub (%s). Nothing was decided; it is started again when needed.", sentence(err))
	s.retry(l)
}

// retry looks for a hub again later, without starting one: another front end
// may have, or the connection alone broke.
func (s *server) retry(l *link) {
	if s.ended || l.hub != nil || l.connecting || l.attempts >= 12 {
		return
	}
	delay := min(250*time.Millisecond<<l.attempts, 30*time.Second)
	l.attempts++
	s.work(func(ctx context.Context) {
		t := time.NewTimer(delay)
		defer t.Stop()
		select {
		case <-t.C:
			s.push(func() { s.attach(l, false) })
		case <-ctx.Done():
		}
	})
}

// reconcile brings the board in line with what a hub has pending.
func (s *server) reconcile(l *link, pending []hub.Approval) {
	there := map[string]bool{}
	for _, a := range pending {
		there[a.ID] = true
		s.learn(l, a)
	}
	for _, c := range s.board.pending {
		if there[c.ID] || c.link != l {
			continue
		}
		s.ask(l, c.ID)
	}
	s.reachStaged(l)
}

// reachStaged is for staged documents that were opened before the hub of l was
// known: those of this hub may be of approvals settled long ago, and those of
// others are still to be looked for.
func (s *server) reachStaged(l *link) {
	for _, d := range s.documents.All() {
		_, id, staged := s.stagedAt(d.URI)
		if !staged || s.board.cards[id] != nil {
			continue
		}
		switch s.linkOf(d.URI) {
		case nil:
			s.reach(d.URI)
		case l:
			s.ask(l, id)
		}
	}
}

// ask has the hub say what became of an approval. One that it does not know
// any more was lost together with the hub that held it.
func (s *server) ask(l *link, id string) {
	h := l.hub
	if h == nil || s.asking[id] {
		return
	}
	s.asking[id] = true
	s.work(func(ctx context.Context) {
		d, err := h.Show(ctx, hub.ShowParams{ID: id})
		s.push(func() {
			delete(s.asking, id)
			var he *hub.Error
			switch {
			case err == nil:
				s.learn(l, d.Approval)
			case errors.As(err, &he) && he.Code == hub.CodeUnknown:
				s.forgotten(l, id)
			}
		})
	})
}

// forgotten marks an approval that no hub knows any more.
func (s *server) forgotten(l *link, id string) {
	c := s.board.cards[id]
	if c == nil {
		for _, d := range s.documents.All() { // it says so at its top
			if _, at, staged := s.stagedAt(d.URI); staged && at == id {
				s.touched(d.URI)
			}
		}
		return
	}
	if !c.pending() {
		return
	}
	a := c.Approval
	a.State = approvals.Withdrawn
	a.Settled = s.now()
	a.By = approvals.By{FrontEnd: "countersign", How: "withdrawn"}
	a.Reason = "the hub that held it is gone, and its agent with it"
	s.learn(l, a)
}

// configureHub hands the settings over.
func (s *server) configureHub(l *link) {
	h, set := l.hub, s.settings.Session
	if h == nil {
		return
	}
	s.work(func(ctx context.Context) {
		if err := h.Configure(ctx, set); err != nil {
			s.push(func() { s.showWarning("Countersign: the hub does not take the settings: %s", sentence(err)) })
		}
	})
}

// closeLinks leaves every hub, at the very end.
func (s *server) closeLinks() {
	for _, l := range s.links {
		if l.hub != nil {
			_ = l.hub.Close()
		}
	}
}

// sentence is an error as the end of a sentence.
func sentence(err error) string {
	if err == nil {
		return "the connection ended"
	}
	return oneLine(fmt.Sprint(err), 300)
}
