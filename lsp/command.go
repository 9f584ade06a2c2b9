package lsp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/session"
	"countersign/session/hub"
	"countersign/session/rpc"
	"countersign/staging"
)

// A command is one of workspace/executeCommand: it takes at most one object.
// Commands re-check everything, wait for the hub but never for a person, and
// fail with an error that says what happened.
type command struct {
	keys map[string]argKind // the keys that its object may have
	run  func(s *server, ctx context.Context, sn *snapshot, a arguments) (any, error)
}

type argKind string

const (
	argText   argKind = "a string"
	argNumber argKind = "a whole number"
	argFlag   argKind = "true or false"
)

// commands by name.
var commands map[string]command

func init() { // a literal would refer to itself by way of the server
	id := map[string]argKind{"id": argText}
	commands = map[string]command{
		"countersign.prompt":          {nil, (*server).promptCommand},
		"countersign.send":            {map[string]argKind{"text": argText}, (*server).sendCommand},
		"countersign.pending":         {nil, (*server).pendingCommand},
		"countersign.review":          {id, (*server).reviewCommand},
		"countersign.allow":           {map[string]argKind{"id": argText, "suggestion": argNumber}, (*server).allowCommand},
		"countersign.allowForSession": {id, (*server).allowForSessionCommand},
		"countersign.deny":            {map[string]argKind{"id": argText, "message": argText, "interrupt": argFlag}, (*server).denyCommand},
		"countersign.denyWithReason":  {id, (*server).denyWithReasonCommand},
		"countersign.interrupt":       {nil, (*server).interruptCommand},
		"countersign.newSession":      {nil, (*server).newSessionCommand},
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

// arguments are a command's object, checked.
type arguments struct {
	id, text, message string
	hasText           bool
	suggestion        *int
	interrupt         bool
}

// executeCommand runs one.
func (s *server) executeCommand(ctx context.Context, sn *snapshot, p executeCommandParams) (any, error) {
	cmd, ok := commands[p.Command]
	if !ok {
		return nil, rpc.Errorf(rpc.InvalidParams, "there is no command %q", oneLine(p.Command, 80))
	}
	a, err := cmd.read(p.Command, p.Arguments)
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

// read checks the arguments. Some editors send none, some null, some a string.
func (c command) read(name string, raws []jsontext.Value) (arguments, error) {
	var a arguments
	if len(raws) == 0 || absent(raws[0]) {
		return a, nil
	}
	raw := raws[0]
	if raw.Kind() == '"' && c.keys["id"] != "" { // for people who type it: the id alone
		if err := json.Unmarshal(raw, &a.id); err != nil {
			return a, rpc.Errorf(rpc.InvalidParams, "%s: the id cannot be read: %v", name, err)
		}
		return a, nil
	}
	if raw.Kind() != '{' {
		return a, rpc.Errorf(rpc.InvalidParams, "%s takes an object, not %s", name, oneLine(string(raw), 40))
	}
	var object map[string]jsontext.Value
	if err := json.Unmarshal(raw, &object, lenient); err != nil {
		return a, rpc.Errorf(rpc.InvalidParams, "%s: the argument cannot be read: %v", name, err)
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		kind, ok := c.keys[key]
		if !ok {
			return a, rpc.Errorf(rpc.InvalidParams, "%s has no argument %q", name, oneLine(key, 40))
		}
		if absent(object[key]) {
			continue
		}
		if err := a.set(key, object[key]); err != nil {
			return a, rpc.Errorf(rpc.InvalidParams, "%s: %q must be %s", name, key, kind)
		}
	}
	return a, nil
}

func (a *arguments) set(key string, raw jsontext.Value) error {
	switch key {
	case "id":
		return json.Unmarshal(raw, &a.id)
	case "text":
		a.hasText = true
		return json.Unmarshal(raw, &a.text)
	case "message":
		return json.Unmarshal(raw, &a.message)
	case "interrupt":
		return json.Unmarshal(raw, &a.interrupt)
	case "suggestion":
		a.suggestion = new(int)
		if err := json.Unmarshal(raw, a.suggestion); err != nil {
			return err
		}
		if *a.suggestion < 0 {
			return errors.New("negative")
		}
	}
	return nil
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
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsontext.Value(raw), nil
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

func (s *server) allowCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	c, err := sn.pick(a.id)
	if err != nil {
		return nil, err
	}
	if a.suggestion != nil && *a.suggestion >= len(c.Rules) {
		return nil, rpc.Errorf(rpc.InvalidParams, `"suggestion" is %d, but %s has %d`, *a.suggestion, titleOf(&c.Approval), len(c.Rules))
	}
	p := hub.SettleParams{ID: c.ID, Allow: true, Suggestion: a.suggestion, How: "command"}
	return s.settleNow(ctx, sn, c, p)
}

func (s *server) allowForSessionCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	c, err := sn.pick(a.id)
	if err != nil {
		return nil, err
	}
	return s.settleNow(ctx, sn, c, hub.SettleParams{ID: c.ID, Allow: true, ForSession: true, How: "command"})
}

func (s *server) denyCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	c, err := sn.pick(a.id)
	if err != nil {
		return nil, err
	}
	p := hub.SettleParams{ID: c.ID, Message: a.message, Interrupt: a.interrupt, How: "command"}
	return s.settleNow(ctx, sn, c, p)
}

// editorText is the text of an open staged document where it says something
// else than the file: an allow by command takes what the person sees.
func (sn *snapshot) editorText(c *card) *string {
	doc, open := sn.texts[c.staged]
	if !open || c.Staged == nil {
		return nil
	}
	text := doc.String()
	found, err := staging.Look(*c.Staged, maxStaged(sn.settings))
	if err == nil {
		if SameText(found.Text, text) {
			return nil
		}
		// Emacs reports the lines of a CRLF file without their carriage returns.
		if strings.Contains(found.Text, "\r\n") && !strings.Contains(text, "\r") && strings.Count(found.Text, "\n") == strings.Count(found.Text, "\r\n") {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		if bom := "\uFEFF"; strings.HasPrefix(found.Text, bom) && !strings.HasPrefix(text, bom) {
			text = bom + text
		}
	}
	return &text
}

// settleNow hands a command's decision to the hub and waits for its word.
func (s *server) settleNow(ctx context.Context, sn *snapshot, c *card, p hub.SettleParams) (any, error) {
	if p.Allow && c.staged != "" {
		p.Text = sn.editorText(c)
	}
	var res hub.Settled
	err := s.call(ctx, func() *link { s.ours[c.ID] = true; return c.link }, func(ctx context.Context, h Hub) (err error) {
		res, err = h.Settle(ctx, p)
		return err
	}, func(err error) {
		if err == nil {
			s.learn(c.link, res.Approval)
			s.showInfo("%s.", outcomeWords(&res.Approval, titleOf(&c.Approval)))
			for _, n := range res.Notes {
				s.showNote(n)
			}
		} else {
			s.notSettled(c.link, c.ID, err)
		}
		delete(s.ours, c.ID)
	})
	var he *hub.Error
	switch {
	case err == nil:
		return marshal(res)
	case errors.As(err, &he) && he.Code == hub.CodeSettled && he.Approval != nil:
		return nil, fmt.Errorf("nothing was decided about %s: %s", titleOf(&c.Approval), ended(he.Approval))
	case errors.As(err, &he):
		return nil, fmt.Errorf("nothing was decided about %s: %s", titleOf(&c.Approval), sentence(err))
	}
	return nil, fmt.Errorf("nothing is known to be decided about %s: %s", titleOf(&c.Approval), sentence(err))
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

func (s *server) interruptCommand(ctx context.Context, _ *snapshot, _ arguments) (any, error) {
	return nil, s.call(ctx, s.root(), func(ctx context.Context, h Hub) error { return h.Interrupt(ctx) }, nil)
}

func (s *server) newSessionCommand(ctx context.Context, _ *snapshot, _ arguments) (any, error) {
	return s.sessionCall(ctx, func(ctx context.Context, h Hub) (session.Info, error) { return h.NewSession(ctx) })
}

// sessionCall is a call whose result is how the session does.
func (s *server) sessionCall(ctx context.Context, f func(context.Context, Hub) (session.Info, error)) (any, error) {
	var info session.Info
	err := s.call(ctx, s.root(), func(ctx context.Context, h Hub) (err error) {
		info, err = f(ctx, h)
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	return marshal(info)
}

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
