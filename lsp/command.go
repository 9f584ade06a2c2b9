package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session/hub"
	"countersign/session/rpc"
)

// A command is one of workspace/executeCommand: it takes at most one object.
// Commands re-check everything, wait for the hub but never for a person, and
// fail with an error that says what happened.
type command struct {
	keys map[string]argKind // the keys that its object may have
	run  func(s *server, ctx context.Context, sn *snapshot, a arguments) (any, error)
}

// commands by name.
var commands map[string]command

func init() { // a literal would refer to itself by way of the server
	id := map[string]argKind{"id": argText}
	session := map[string]argKind{"session": argText}
	commands = map[string]command{
		"countersign.prompt":          {nil, (*server).promptCommand},
		"countersign.send":            {map[string]argKind{"text": argText, "session": argText, "uri": argText}, (*server).sendCommand},
		"countersign.pending":         {nil, (*server).pendingCommand},
		"countersign.review":          {id, (*server).reviewCommand},
		"countersign.allow":           {map[string]argKind{"id": argText, "suggestion": argNumber, "destination": argText, "mode": argText}, (*server).allowCommand},
		"countersign.allowForSession": {id, (*server).allowForSessionCommand},
		"countersign.deny":            {map[string]argKind{"id": argText, "message": argText, "interrupt": argFlag}, (*server).denyCommand},
		"countersign.denyWithReason":  {id, (*server).denyWithReasonCommand},
		"countersign.denyWithEdits":   {id, (*server).denyWithEditsCommand},
		"countersign.answer":          {map[string]argKind{"id": argText, "answers": argAnswers, "notes": argNotes}, (*server).answerCommand},
		"countersign.allowAll":        {map[string]argKind{"id": argText, "uri": argText}, (*server).allowAllCommand},
		"countersign.interrupt":       {session, (*server).interruptCommand},
		"countersign.newSession":      {map[string]argKind{"beside": argFlag}, (*server).newSessionCommand},
		"countersign.setMode":         {map[string]argKind{"mode": argText, "session": argText}, (*server).setModeCommand},
		"countersign.resume":          {session, (*server).resumeCommand},
		"countersign.stop":            {session, (*server).stopCommand},
		"countersign.sessions":        {nil, (*server).sessionsCommand},
		"countersign.showSessions":    {nil, (*server).showSessionsCommand},
		"countersign.transcript":      {session, (*server).transcriptCommand},
		"countersign.ask":             {map[string]argKind{"uri": argText, "range": argRange, "diagnostics": argList}, (*server).askCommand},
		"countersign.status":          {nil, (*server).statusCommand},
	}
}

// commandNames are the commands in a stable order.
func commandNames() []string {
	names := make([]string, 0, len(commands))
	for name := range commands {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// executeCommand runs one.
func (s *server) executeCommand(ctx context.Context, sn *snapshot, p executeCommandParams) (any, error) {
	cmd, ok := commands[p.Command]
	if !ok {
		return nil, rpc.Errorf(rpc.InvalidParams, "there is no command %q", oneLine(p.Command, 80))
	}
	a, err := cmd.read(p.Command, p.Arguments)
	if err == nil {
		sn, err = s.informed(ctx, sn, p.Command, a)
	}
	if err == nil {
		var result any
		if result, err = cmd.run(s, ctx, sn, a); err == nil {
			return result, nil
		}
	}
	var coded *rpc.Error
	if !errors.As(err, &coded) {
		err = rpc.Errorf(rpc.RequestFailed, "%v", err)
	}
	if !sn.client.tellsErrors() {
		text := err.Error()
		s.push(func() { s.showError("%s", text) })
	}
	return nil, err
}

// A pendingItem is one entry of countersign.pending.
type pendingItem struct {
	ID        string `json:"id"`
	Tool      string `json:"tool"`
	Title     string `json:"title"`
	Path      string `json:"path"`
	StagedURI string `json:"stagedUri"`
	Surface   string `json:"surface"`
	State     string `json:"state"`
	Mode      string `json:"mode"`
	Agent     string `json:"agent"`
	Since     string `json:"since"` // RFC 3339
}

func item(c *card) pendingItem {
	return pendingItem{
		ID: c.ID, Tool: c.Tool, Title: c.Title, Path: c.Path, StagedURI: c.staged, Surface: string(c.Surface),
		State: string(c.State), Mode: c.Mode, Agent: c.Agent, Since: c.Since.Format("2006-01-02T15:04:05.000Z07:00"),
	}
}

func (s *server) pendingCommand(_ context.Context, sn *snapshot, _ arguments) (any, error) {
	items := make([]pendingItem, 0, len(sn.pending))
	for _, c := range sn.pending {
		items = append(items, item(c))
	}
	return marshal(items)
}

// marshal encodes a result of our own, whose types the protocol does not know.
func marshal(v any) (any, error) {
	raw, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return jsontext.Value(raw), nil
}

// informed gives a snapshot that knows what the hub knows. An editor may run a
// command before the server has found the hub of its workspace, or before it has
// heard of a request: what is pending there must not be called unknown, nor what
// was settled before this server was there.
func (s *server) informed(ctx context.Context, sn *snapshot, name string, a arguments) (*snapshot, error) {
	unheard := a.id != "" && sn.cards[a.id] == nil
	if !unheard && (sn.storage != "" || name != "countersign.pending") {
		return sn, nil
	}
	var d hub.Detail
	var known bool
	fresh := sn
	err := s.call(ctx, s.root(), func(ctx context.Context, h Hub) error {
		if !unheard {
			return nil
		}
		var err error
		d, err = h.Show(ctx, hub.ShowParams{ID: a.id})
		known = err == nil
		if he := (*hub.Error)(nil); errors.As(err, &he) && he.Code == hub.CodeUnknown {
			return nil
		}
		return err
	}, func(err error) {
		if known && d.Approval.State == approvals.Pending {
			s.learn(s.rootLink(), d.Approval)
		}
		fresh = s.snapshot()
	})
	switch {
	case err != nil:
		return sn, fmt.Errorf("nothing is known of any request: Countersign cannot reach its hub: %w", err)
	case known && d.Approval.State != approvals.Pending:
		return sn, fmt.Errorf("nothing was decided about %s: %s", titleOf(&d.Approval), ended(&d.Approval))
	}
	return fresh, nil
}

// pick finds the pending approval that a command names.
func (sn *snapshot) pick(id string) (*card, error) {
	if id == "" {
		return nil, rpc.Errorf(rpc.InvalidParams, `which request? Give its id: {"id": "…"}; countersign.pending lists them`)
	}
	c := sn.cards[id]
	if c == nil {
		return nil, fmt.Errorf("no request with the id %q is known", oneLine(id, 60))
	}
	if !c.pending() {
		return nil, fmt.Errorf("nothing was decided about %s: %s", titleOf(&c.Approval), ended(&c.Approval))
	}
	return c, nil
}

// reviewCommand shows the document of a request; without an id, of the oldest
// one that is not on show here.
func (s *server) reviewCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	var c *card
	if a.id == "" {
		if len(sn.pending) == 0 {
			return nil, errors.New("nothing is pending")
		}
		c = sn.pending[0]
		for _, x := range sn.pending {
			if _, open := sn.texts[x.staged]; !open {
				c = x
				break
			}
		}
	} else {
		c = sn.cards[a.id]
		if c == nil || (!c.pending() && c.staged == "") {
			if _, err := sn.pick(a.id); err != nil {
				return nil, err
			}
		}
		if !c.pending() {
			return nil, fmt.Errorf("%s is not pending: %s", titleOf(&c.Approval), ended(&c.Approval))
		}
	}
	if err := s.within(ctx, func() { s.review(c) }); err != nil {
		return nil, err
	}
	return marshal(item(c))
}

// call runs f with the hub of a link that pick names on the loop, and then after
// on the loop, and waits for both. It goes on when the request is cancelled: a
// decision that is under way is not undone by that.
func (s *server) call(ctx context.Context, pick func() *link, f func(context.Context, Hub) error, after func(error)) error {
	done := make(chan error, 1)
	s.push(func() {
		l := pick()
		s.need(l, func(ctx context.Context, h Hub, err error) {
			if err == nil {
				err = f(ctx, h)
			}
			if after == nil {
				done <- err
				return
			}
			if !s.queue.push(func() {
				defer s.recovered("the end of a call")
				after(err)
				done <- err
			}) {
				done <- err
			}
		})
	})
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func (s *server) root() func() *link { return func() *link { return s.rootLink() } }

func (s *server) statusCommand(ctx context.Context, _ *snapshot, _ arguments) (any, error) {
	var st hub.Status
	err := s.call(ctx, s.root(), func(ctx context.Context, h Hub) (err error) {
		st, err = h.Status(ctx)
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	return marshal(st)
}
