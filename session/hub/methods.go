package hub

import (
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/rpc"
)

// codeEnding: the hub is about to end; whoever gets this starts another one.
const codeEnding rpc.Code = -32099

var errEnding = rpc.Errorf(codeEnding, "the hub is ending")

func (f *front) attach(params jsontext.Value) (any, error) {
	var p AttachParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	h := f.hub
	if p.Version != h.record.Version {
		f.named(p.Name)
		return nil, rpc.Errorf(CodeVersion,
			"the hub of %s (pid %d) is another version of countersign (%s, this is %s): end it with \"countersign stop --hub\", which withdraws what is pending there, and try again",
			h.record.Root, h.record.PID, h.record.Version, p.Version)
	}
	if p.Settings != nil && f.mayDecide() == nil {
		h.configure(*p.Settings)
	}
	h.mu.Lock()
	if h.ending {
		h.mu.Unlock()
		return nil, errEnding
	}
	f.attached, f.watch, f.version = true, p.Watch, p.Version
	f.name = cut(p.Name, 100)
	// From here on this front end is notified of every change; what the desk
	// says afterwards is therefore never older than what it will be told.
	h.mu.Unlock()
	h.reckon()
	all, current := h.talks.infos()
	return AttachResult{
		Version: h.record.Version, PID: h.record.PID, Root: h.record.Root, Storage: h.record.Storage,
		Session: current, Sessions: all, Approvals: h.pendingApprovals(),
	}, nil
}

// named remembers what a front end calls itself before it is attached.
func (f *front) named(name string) {
	f.hub.mu.Lock()
	defer f.hub.mu.Unlock()
	f.name = cut(name, 100)
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}

func (f *front) configure(params jsontext.Value) (any, error) {
	var s session.Settings
	if err := rpc.Params(params, &s); err != nil {
		return nil, err
	}
	f.hub.configure(s)
	return nil, nil
}

func (f *front) pending(jsontext.Value) (any, error) { return f.hub.pendingApprovals(), nil }

func (f *front) show(params jsontext.Value) (any, error) {
	var p ShowParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	a, ok := f.hub.desk.Get(p.ID)
	if !ok {
		if a, ok = f.hub.lost[p.ID]; !ok {
			return nil, settleError(&approvals.UnknownError{ID: p.ID})
		}
	}
	d, hash := detailOf(a)
	d.Seen = hash != "" && hash == f.hub.shownOf(p.ID)
	if p.ToPerson && hash != "" && f.mayDecide() == nil {
		f.hub.show(p.ID, hash)
	}
	return d, nil
}

// show remembers what of a pending approval's document a person was shown by
// command; shownOf gives it.
func (h *hub) show(id, hash string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.waiting[id] {
		h.shown[id] = hash
	}
}

func (h *hub) shownOf(id string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.shown[id]
}

func (f *front) settle(params jsontext.Value) (any, error) {
	var p SettleParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	a, _ := f.hub.desk.Get(p.ID)
	a, notes, err := f.hub.talks.of(a).Settle(p.ID, approvals.Decision{
		Allow: p.Allow, Text: p.Text, TextHash: p.Staged, Shown: f.hub.shownOf(p.ID), Suggestion: p.Suggestion, Destination: p.Destination, ForSession: p.ForSession,
		Answers: p.Answers, Notes: p.Notes, Mode: p.Mode, Message: p.Message, WithEdits: p.WithEdits, Interrupt: p.Interrupt,
		By: f.by(p.How, p.Rule),
	})
	if a, ok := f.hub.lost[p.ID]; ok && err != nil {
		err = &approvals.SettledError{Approval: a}
	}
	if err != nil {
		return nil, settleError(err)
	}
	return Settled{Approval: wireOf(a), Notes: notes, Amendment: a.Amendment}, nil
}

func (f *front) keep(params jsontext.Value) (any, error) {
	var p KeepParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	if err := f.hub.desk.Keep(p.ID, p.Text); err != nil {
		return nil, settleError(err)
	}
	return nil, nil
}

func (f *front) status(jsontext.Value) (any, error) {
	h := f.hub
	all, current := h.talks.infos()
	st := Status{
		Version: h.record.Version, PID: h.record.PID, Root: h.record.Root, Storage: h.record.Storage,
		Socket: h.record.Socket, Started: h.record.Started, Session: current, Sessions: all, FrontEnds: []string{},
	}
	h.mu.Lock()
	for other := range h.fronts {
		if other.attached && other != f {
			st.FrontEnds = append(st.FrontEnds, fmt.Sprintf("%s (pid %d)", other.name, other.peer.pid))
		}
	}
	h.mu.Unlock()
	slices.Sort(st.FrontEnds)
	return st, nil
}

// log makes sure that all of the journal is on disk.
func (f *front) log(jsontext.Value) (any, error) { return nil, f.hub.flush() }

// stop ends the hub. A front end of another version may ask for that while
// nothing would be lost by it.
func (f *front) stop(params jsontext.Value) (any, error) {
	var p StopParams
	if len(params) > 0 && params.Kind() != 'n' {
		if err := rpc.Params(params, &p); err != nil {
			return nil, err
		}
	}
	h := f.hub
	h.mu.Lock()
	attached, busy := f.attached, h.busy(f)
	h.mu.Unlock()
	if !attached && busy != "" && !p.Force {
		return nil, rpc.Errorf(CodeVersion,
			"the hub of %s (pid %d) is another version of countersign (%s) and is not replaced now: %s (\"countersign stop --hub\" ends it all the same, and withdraws what is pending)",
			h.record.Root, h.record.PID, h.record.Version, busy)
	}
	h.stop("asked by " + f.by("", "").FrontEnd)
	return nil, nil
}

func sessionError(err error) error {
	if coded := (*rpc.Error)(nil); errors.As(err, &coded) {
		return err
	}
	return rpc.Errorf(CodeSession, "%v", err)
}
