package hub

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"countersign/approvals"
	"countersign/session"
)

// maxOpen is how many sessions a hub keeps open side by side: each may be a
// process of some hundred megabytes.
const maxOpen = 20

// A conversation is what the hub needs of session.Session.
type conversation interface {
	Send(text string, env []string, s session.Settings) (session.Info, error)
	Settle(id string, d approvals.Decision) (approvals.Approval, []approvals.Note, error)
	SetMode(name string) (session.Info, error)
	Resume(was session.Past, env []string, s session.Settings) (session.Info, error)
	Interrupt() error
	Info() session.Info
	Renew() (session.Info, error)
	Stop() (session.Info, error)
	Close() error
}

// An opened is a session that is open, with what is written down of it.
type opened struct {
	conversation
	name  string // short
	story *transcript
}

// A roster holds the sessions that are open side by side. One of them is always
// the current one.
type roster struct {
	make func(name string) *opened

	mu sync.Mutex
	// guarded by mu; never held while a session is called:
	open    map[string]*opened // by short name
	names   []string           // in the order in which they were opened
	current string
	last    int // the number that was given last
	closed  bool
}

var errRosterClosed = errors.New("the hub is ending: no session is opened any more")

// newRoster makes a roster with one session, which has no agent yet.
func newRoster(open func(name string) *opened) *roster {
	t := &roster{make: open, open: make(map[string]*opened)}
	t.beside()
	return t
}

// beside opens another session, which becomes the current one. Those that have
// no agent and wait for nothing make room: they are in the history.
func (t *roster) beside() (*opened, error) {
	for _, c := range t.all() {
		if !active(c.Info()) {
			t.drop(c)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errRosterClosed
	}
	if len(t.names) >= maxOpen {
		return nil, fmt.Errorf("%d sessions are open already: stop one of them first", maxOpen)
	}
	t.last++
	name := strconv.Itoa(t.last)
	t.open[name] = t.make(name)
	t.names = append(t.names, name)
	t.current = name
	return t.open[name], nil
}

// active says whether a session has an agent.
func active(i session.Info) bool {
	return i.State == session.StateStarting || i.State == session.StateRunning || i.State == session.StateIdle
}

// drop forgets a session without an agent. It is closed, so that a prompt that
// is on its way to it is refused and starts nothing that nobody holds.
func (t *roster) drop(c *opened) {
	t.mu.Lock()
	delete(t.open, c.name)
	t.names = slices.DeleteFunc(t.names, func(n string) bool { return n == c.name })
	t.mu.Unlock()
	_ = c.Close()
	c.story.ended()
}

// find is the session of that short name or agent's id; the current one for "".
func (t *roster) find(ref string) (*opened, error) {
	t.mu.Lock()
	if ref == "" {
		ref = t.current
	}
	c := t.open[ref]
	t.mu.Unlock()
	if c != nil {
		return c, nil
	}
	for _, c := range t.all() {
		if c.Info().ID == ref {
			return c, nil
		}
	}
	return nil, fmt.Errorf("no session %q is open", ref)
}

// of is the session that an approval belongs to; the current one if that is not
// open any more, since the desk then refuses the decision whoever brings it.
func (t *roster) of(a approvals.Approval) *opened {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.open[a.Request.SessionName]; c != nil {
		return c
	}
	return t.open[t.current]
}

// named is the session of that short name, nil if it is not open.
func (t *roster) named(name string) *opened {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[name]
}

// choose makes a session the current one.
func (t *roster) choose(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open[name] != nil {
		t.current = name
	}
}

// all are the open sessions, in the order in which they were opened.
func (t *roster) all() []*opened {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*opened, 0, len(t.names))
	for _, name := range t.names {
		all = append(all, t.open[name])
	}
	return all
}

// seen completes what a session says of itself.
func (t *roster) seen(i session.Info) session.Info {
	t.mu.Lock()
	defer t.mu.Unlock()
	i.Current = i.Name == t.current
	return i
}

// infos tell of all open sessions, and of the current one.
func (t *roster) infos() (all []session.Info, current session.Info) {
	for _, c := range t.all() {
		i := t.seen(c.Info())
		if i.Current {
			current = i
		}
		all = append(all, i)
	}
	return all, current
}

// close ends every agent, all at the same time. Nothing is decided by it.
func (t *roster) close() error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	all := t.all()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() { errs[i] = c.Close() })
	}
	wg.Wait()
	for _, c := range all {
		c.story.ended()
	}
	return errors.Join(errs...)
}
