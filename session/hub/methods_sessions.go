package hub

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/session"
	"countersign/session/rpc"
)

// with finds the session that the parameters name and answers what act says of
// it.
func (f *front) with(ref string, act func(*opened) (session.Info, error)) (any, error) {
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
	return f.with(p.Session, func(c *opened) (session.Info, error) {
		c.story.prompt(p.Text, f.by("", "").FrontEnd)
		info, err := c.Send(p.Text, p.Env, settings)
		if err != nil {
			c.story.remark(true, err.Error())
		}
		return info, err
	})
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
		return f.with("", (*opened).Renew)
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
	return f.with(p.Session, func(c *opened) (session.Info, error) { return c.SetMode(p.Mode) })
}

func (f *front) stopSession(params jsontext.Value) (any, error) {
	var p SessionParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	return f.with(p.Session, (*opened).Stop)
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
	if err == nil && p.Session == "" {
		switch i := c.Info(); {
		case active(i):
			return nil, sessionError(fmt.Errorf("session %s is under way: name the one to go on with", i.Name))
		case !i.Resumable:
			err = session.ErrNothingToResume
		}
	}
	var was past
	if err != nil {
		if was, err = f.hub.earlier(p.Session, err); err == nil {
			c, err = talks.find("")
		}
		if err == nil && active(c.Info()) {
			c, err = talks.beside()
		}
		if err != nil {
			return nil, sessionError(err)
		}
		c.story.resume(was)
	}
	if !active(c.Info()) {
		if _, err := c.Resume(session.Past{ID: was.ID, Mode: was.Mode, CostUSD: was.CostUSD, Turns: was.Turns}, p.Env, settings); err != nil {
			return nil, sessionError(err)
		}
	}
	talks.choose(c.name)
	f.hub.tellSessions()
	return talks.seen(c.Info()), nil
}

func (f *front) sessions(jsontext.Value) (any, error) { return f.hub.entries(), nil }

func (f *front) transcript(params jsontext.Value) (any, error) {
	var p SessionParams
	if err := rpc.Params(params, &p); err != nil {
		return nil, err
	}
	t, err := f.hub.transcript(p.Session)
	if err != nil {
		return nil, sessionError(err)
	}
	return t, nil
}

// transcript is that of an open session or of an earlier one.
func (h *hub) transcript(ref string) (t Transcript, err error) {
	c, missing := h.talks.find(ref)
	err = missing
	h.scribe.ask(func() {
		if c == nil {
			p, ok := h.scribe.past.find(ref)
			if !ok || p.Folder == "" {
				return
			}
			t.Session, t.Path = p.ID, h.scribe.pathOf(p.Folder)
			t.Text, err = h.scribe.readTranscript(p.Folder)
			return
		}
		t.Session = c.name
		if t.Path, err = c.story.path(); err == nil {
			t.Text, err = h.scribe.readTranscript(c.story.folder)
		}
	})
	return t, err
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
	open := make(map[string]bool)
	for _, i := range all {
		open[i.ID] = true
		entries = append(entries, SessionEntry{ID: i.ID, Name: i.Name, Mode: i.Mode, Model: i.Model, State: i.State, Current: i.Current})
	}
	h.scribe.ask(func() {
		for n := range entries {
			e := &entries[n]
			if c := h.talks.named(e.Name); c != nil {
				e.Title, e.Started, e.Last = c.story.entry.Title, c.story.entry.Started, c.story.entry.Last
				e.Mode, e.Model = cmp.Or(e.Mode, c.story.entry.Mode), cmp.Or(e.Model, c.story.entry.Model)
			}
		}
		for _, p := range h.scribe.past.list() {
			if !open[p.ID] {
				entries = append(entries, SessionEntry{ID: p.ID, Title: p.Title, Started: p.Started, Last: p.Last, Mode: p.Mode, Model: p.Model, State: session.StateNone})
			}
		}
	})
	return entries
}

// earlier finds a session that is not open: the last one for "". One that only
// the agent may know, because it was begun elsewhere, is taken at its word.
func (h *hub) earlier(ref string, why error) (p past, err error) {
	all, _ := h.talks.infos()
	ok := false
	h.scribe.ask(func() {
		if ref != "" {
			p, ok = h.scribe.past.find(ref)
			return
		}
		for _, q := range h.scribe.past.list() {
			if !slices.ContainsFunc(all, func(i session.Info) bool { return i.ID == q.ID }) {
				p, ok = q, true
				return
			}
		}
	})
	switch {
	case ok:
		return p, nil
	case ref == "" || !validID(ref) || len(ref) < 8:
		return past{}, why
	}
	return past{ID: ref}, nil
}
