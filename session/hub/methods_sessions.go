package hub

import (
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/session"
	"countersign/session/rpc"
)

// with finds the session that the parameters name and answers what f says of it.
func (f *front) with(ref string, act func(conversation) (session.Info, error)) (any, error) {
	c, err := f.hub.talks.find(ref)
	if err != nil {
		return nil, sessionError(err)
	}
	info, err := act(c)
	if err != nil {
		return nil, sessionError(err)
	}
	return f.hub.talks.seen(info), nil
}

func (f *front) send(params jsontext.Value) (any, error) {
	var p SendParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	settings := f.hub.settled(p.Settings)
	return f.with(p.Session, func(c conversation) (session.Info, error) { return c.Send(p.Text, p.Env, settings) })
}

func (f *front) interrupt(params jsontext.Value) (any, error) {
	var p SessionParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	c, err := f.hub.talks.find(p.Session)
	if err == nil {
		err = c.Interrupt()
	}
	if err != nil {
		return nil, sessionError(err)
	}
	return nil, nil
}

func (f *front) newSession(params jsontext.Value) (any, error) {
	var p NewSessionParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	if !p.Beside {
		return f.with("", conversation.Renew)
	}
	c, err := f.hub.talks.beside()
	if err != nil {
		return nil, sessionError(err)
	}
	f.hub.tellSessions()
	return f.hub.talks.seen(c.Info()), nil
}

func (f *front) setMode(params jsontext.Value) (any, error) {
	var p ModeParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	return f.with(p.Session, func(c conversation) (session.Info, error) { return c.SetMode(p.Mode) })
}

func (f *front) stopSession(params jsontext.Value) (any, error) {
	var p SessionParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	return f.with(p.Session, conversation.Stop)
}

// resume makes a session the current one, and goes on with it if it has no
// agent. One that is not open takes the place of a current one without an
// agent, and is opened beside one that has its own.
func (f *front) resume(params jsontext.Value) (any, error) {
	var p ResumeParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	settings := f.hub.settled(p.Settings)
	talks := f.hub.talks
	c, err := talks.find(p.Session)
	id := ""
	if err == nil && p.Session == "" && !active(c.Info()) && !c.Info().Resumable {
		err = session.ErrNothingToResume
	}
	if err != nil {
		if id, err = f.hub.earlier(p.Session, err); err == nil {
			c, err = talks.find("")
		}
		if err == nil && active(c.Info()) {
			c, err = talks.beside()
		}
		if err != nil {
			return nil, sessionError(err)
		}
	}
	if i := c.Info(); !active(i) {
		if _, err := c.Resume(id, p.Env, settings); err != nil {
			return nil, sessionError(err)
		}
	}
	talks.choose(c.Info().Name)
	f.hub.tellSessions()
	return talks.seen(c.Info()), nil
}

func (f *front) sessions(jsontext.Value) (any, error) { return f.hub.entries(), nil }

func (f *front) transcript(params jsontext.Value) (any, error) {
	var p SessionParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	return nil, sessionError(errors.New("no transcript is kept yet"))
}

// settled are the settings that count now: those that came along, else those
// that were configured last.
func (h *hub) settled(s *session.Settings) session.Settings {
	if s != nil {
		h.configure(*s)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.settings
}

// tellSessions tells how every open session does, after another became the
// current one.
func (h *hub) tellSessions() {
	all, _ := h.talks.infos()
	for _, i := range all {
		h.broadcast(NotifySession, i)
	}
}

// entries are the sessions of this workspace: the open ones, then the earlier.
func (h *hub) entries() []SessionEntry {
	entries := []SessionEntry{}
	all, _ := h.talks.infos()
	for _, i := range all {
		entries = append(entries, SessionEntry{ID: i.ID, Name: i.Name, Mode: i.Mode, Model: i.Model, State: i.State, Current: i.Current})
	}
	return entries
}

// earlier is the agent's id of an earlier session: of the last one for "".
func (h *hub) earlier(ref string, why error) (string, error) {
	if ref == "" {
		return "", why
	}
	return ref, nil
}
