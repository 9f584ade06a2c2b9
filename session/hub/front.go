package hub

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session/rpc"
)

// A front is one front end at the hub's socket. It is its connection's handler.
type front struct {
	hub  *hub
	peer peer
	conn *rpc.Conn
	// suspect is why the peer may not decide, as seen when it connected.
	suspect error

	// Guarded by hub.mu:
	attached bool
	watch    bool
	name     string // for people
	version  string
}

// A method is one method of the socket.
type method struct {
	decides bool // refused to agents and what they start
	early   bool // taken before hub/attach
	call    func(f *front, params jsontext.Value) (any, error)
}

var methods = map[string]method{
	MethodAttach:      {early: true, call: (*front).attach},
	MethodConfigure:   {decides: true, call: (*front).configure},
	MethodSend:        {decides: true, call: (*front).send},
	MethodPending:     {call: (*front).pending},
	MethodShow:        {call: (*front).show},
	MethodSettle:      {decides: true, call: (*front).settle},
	MethodKeep:        {decides: true, call: (*front).keep},
	MethodInterrupt:   {decides: true, call: (*front).interrupt},
	MethodNewSession:  {decides: true, call: (*front).newSession},
	MethodSetMode:     {decides: true, call: (*front).setMode},
	MethodResume:      {decides: true, call: (*front).resume},
	MethodSessions:    {call: (*front).sessions},
	MethodStopSession: {decides: true, call: (*front).stopSession},
	MethodTranscript:  {call: (*front).transcript},
	MethodStatus:      {call: (*front).status},
	MethodLog:         {call: (*front).log},
	MethodStop:        {decides: true, early: true, call: (*front).stop},
}

// Notify: front ends have nothing to notify.
func (f *front) Notify(string, jsontext.Value) {}

// Request finds the method; all of it runs concurrently, because a front end
// waits for the answers that it needs in order.
func (f *front) Request(name string, params jsontext.Value) func(context.Context) (any, error) {
	m, ok := methods[name]
	if !ok {
		return nil
	}
	return func(context.Context) (any, error) {
		if err := f.admitted(name, m); err != nil {
			return nil, err
		}
		if m.decides {
			if err := f.mayDecide(); err != nil {
				return nil, f.forbid(name, params, err)
			}
		}
		return m.call(f, params)
	}
}

func (f *front) admitted(name string, m method) error {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	if !m.early && !f.attached {
		return rpc.Errorf(rpc.InvalidRequest, "%s before %s", name, MethodAttach)
	}
	if f.hub.ending && name != MethodStop {
		return errEnding
	}
	return nil
}

func (f *front) mayDecide() error {
	if f.suspect != nil {
		return f.suspect
	}
	if f.peer.pid == f.hub.pid {
		return nil
	}
	return f.peer.there()
}

// forbid refuses a decision of an agent's own process, journals the attempt and
// tells the person.
func (f *front) forbid(name string, params jsontext.Value, why error) error {
	var id struct {
		ID string `json:"id"`
	}
	_ = rpc.Decode(params, &id)
	text := fmt.Sprintf("refused %s: %v, and an agent cannot settle its own approvals", name, why)
	f.hub.mu.Lock()
	f.hub.refusals++
	n := f.hub.refusals
	f.hub.mu.Unlock()
	// Whoever tries for ever shall neither fill the disk nor bury the person.
	told := n&(n-1) == 0
	if told || n <= 1000 {
		f.hub.log.Warn("a decision was refused", zap.String("method", name), zap.Int("pid", f.peer.pid), zap.Error(why), zap.Int("refusals", n))
		f.hub.refused(id.ID, text, f.by(name, ""))
	}
	if told || n <= 10 {
		f.hub.report(true, text, id.ID)
	}
	return rpc.Errorf(CodeForbidden, "%s", text)
}

// by says who this front end is, for the desk and the journal.
func (f *front) by(how, rule string) approvals.By {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	return approvals.By{FrontEnd: f.name, PID: f.peer.pid, How: how, Rule: rule, User: f.peer.uid}
}
