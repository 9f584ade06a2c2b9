package approvals

import (
	"container/list"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/staging"
)

// DeskOptions are what a desk works with. Now is required; the others have
// defaults, and a desk without Stage shows nothing on disk.
type DeskOptions struct {
	Now      func() time.Time
	NewID    func(requestID string) string
	ReadFile ReadFile
	Stage    func(id, basename, content string) (staging.Staged, error)
	// StageHashed is Stage for a content whose hash is being worked out: hash
	// gives it. nil: Stage is for all.
	StageHashed func(id, basename, content string, hash func() string) (staging.Staged, error)
	ReadStaged  func(staging.Staged) (string, error)
	Unstage     func(id string) // the approval is settled: its staged document has no use any more
	Journal     *Journal        // nil: nothing is recorded
	// Notify is told of every change, in the order of the changes and outside
	// of the desk's lock. It may call the desk.
	Notify func(Approval)
}

// A Desk is the table of approvals. Register, Settle and Withdraw (and what
// comes of them: Answered, Returned) are all that changes an approval, and
// each approval is settled exactly once: the first valid decision wins, and
// whoever comes later is told what was decided.
//
// Files are read and written outside of the lock; what they showed counts only
// if the approval is still pending when the decision is committed. A Desk
// starts no goroutines and never waits for a person.
type Desk struct {
	o DeskOptions

	mu        sync.Mutex
	policy    Policy
	byID      map[string]*entry
	preparing map[string]bool     // ids of what is being routed and staged
	byRequest map[string][]*entry // pending ones by the request's id, oldest first
	byToolUse map[string]*entry   // settled or pending, the newest
	pending   *list.List          // of *entry, oldest first
	settled   *list.List          // of *entry, oldest first; at most maxSettled
	queue     []Approval          // changes that Notify has not been told of
	telling   bool                // somebody is telling Notify
}

// maxSettled bounds how many settled approvals are remembered, so that whoever
// comes late is told what was decided. Older ones are in the journal only.
const maxSettled = 2000

// An entry is an approval on the desk. Its approval is replaced as a whole,
// never changed, so that copies handed out stay as they are.
type entry struct {
	a        Approval
	place    *list.Element           // in Desk.pending or Desk.settled
	wantHash string                  // of the bytes the target must have, once allowed
	holds    func(found []byte) bool // instead of wantHash, see Amendment.Holds
	approved jsontext.Value          // the input allowed, until it is known what ran; nil for a file change
	ran      *Outcome                // what comparing them came to; nil: the agent has not told
	returned bool                    // the tool's result came
	outdated bool                    // its notes say that the target has changed
	allowed  *Proposal               // until the answer is on its way: what was allowed, for the record
	want     []byte                  // the bytes of that
}

// NewDesk makes an empty desk.
func NewDesk(o DeskOptions) *Desk {
	if o.NewID == nil {
		o.NewID = staging.NewID
	}
	if o.ReadFile == nil {
		o.ReadFile = ReadTarget
	}
	if o.ReadStaged == nil {
		o.ReadStaged = func(st staging.Staged) (string, error) {
			f, err := staging.Look(st, 0)
			return f.Text, err
		}
	}
	if o.Unstage == nil {
		o.Unstage = func(string) {}
	}
	if o.Notify == nil {
		o.Notify = func(Approval) {}
	}
	return &Desk{
		o: o, byID: map[string]*entry{}, preparing: map[string]bool{}, byRequest: map[string][]*entry{}, byToolUse: map[string]*entry{},
		pending: list.New(), settled: list.New(),
	}
}

// SetPolicy holds for requests registered from now on.
func (d *Desk) SetPolicy(p Policy) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.policy = p
}

// Register puts a request on the desk. The approval may come back settled
// already: denied, where nobody can be shown the request (SurfaceRefused); its
// Result is then to be sent. A request that is pending already (an agent lists
// its open requests again when it is asked to) comes back as it is.
func (d *Desk) Register(req Request) Approval {
	if a, ok := d.same(req); ok {
		return a
	}
	e := d.prepare(req, d.o.NewID(req.ID), nil)
	var gone []Approval
	d.mu.Lock()
	// The same wire id with another content: the agent cannot wait for both.
	for _, old := range slices.Clone(d.byRequest[req.ID]) {
		if old.a.Request.Session == req.Session {
			gone = append(gone, d.withdraw(old, "the agent asked something else under the same request id"))
		}
	}
	d.insert(e)
	a := e.a
	if a.Surface == SurfaceRefused {
		next := a
		next.State, next.Settled, next.By = Denied, d.o.Now(), By{FrontEnd: "countersign", How: "routing"}
		next.Result = Result{Behavior: "deny", Message: refusedMessage(req)}
		next.Reason = "it cannot be shown here"
		a, _ = d.settle(e, next, Record{}) // a deny with a message is always taken
	}
	d.mu.Unlock()
	for _, old := range gone {
		d.cleared(old)
	}
	d.tell()
	return a
}

// Needs says whether what is staged under an id is needed: its approval waits
// for a decision, or is just being put on the desk.
func (d *Desk) Needs(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.byID[id]
	return d.preparing[id] || e != nil && e.a.State == Pending
}

// same finds the pending approval of the very same request.
func (d *Desk) same(req Request) (Approval, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.byRequest[req.ID] {
		r := e.a.Request
		if r.Session == req.Session && r.Tool == req.Tool && string(r.Input) == string(req.Input) {
			return e.a, true
		}
	}
	return Approval{}, false
}

// prepare routes and stages a request; nothing of it is on the desk yet. Whoever
// does not insert it then takes it from preparing.
// carry is the text to stage in place of the document's own, with what to say
// of it: a person's amendment of the approval that this one replaces.
func (d *Desk) prepare(req Request, id string, carry func(doc Document) (string, []Note)) *entry {
	d.mu.Lock()
	policy := d.policy
	d.preparing[id] = true
	d.mu.Unlock()
	req.Input = own(req.Input)
	surface, doc, notes, hidden := routed(req, d.o.ReadFile, policy)
	a := Approval{ID: id, Request: req, Surface: surface, State: Pending, Since: d.o.Now(), Document: doc, Notes: notes, Hidden: hidden}
	a.Title, a.Path = titleOf(req, surface, doc), pathOf(req)
	proposal, isProposal := doc.(*Proposal)
	if isProposal {
		a.Path = proposal.Path()
	}
	text := doc.Text()
	if carry != nil {
		var more []Note
		text, more = carry(doc)
		if a.carried = text != doc.Text(); a.carried {
			a.Hidden = hiddenIn(doc, text).found
		}
		a.Notes = slices.Concat(more, a.Notes)
	}
	stage := d.o.Stage != nil && surface != SurfaceRefused && !(isProposal && surface == SurfacePanel)
	if stage {
		var st staging.Staged
		var err error
		if isProposal && !a.carried && d.o.StageHashed != nil {
			st, err = d.o.StageHashed(id, doc.Basename(), text, proposal.TextHash)
		} else {
			st, err = d.o.Stage(id, doc.Basename(), text)
		}
		if err != nil {
			a.Notes = append(slices.Clone(a.Notes), Note{Text: "It could not be written for review, so it can only be decided as it was asked: " + err.Error() + ".", Warning: true})
		} else {
			a.Staged = &st
		}
	}
	return &entry{a: a}
}

// insert puts a prepared entry on the desk, journals and announces it; the
// caller holds mu.
func (d *Desk) insert(e *entry) {
	r := Record{
		Kind: RecordRegistered, ID: e.a.ID, RequestID: e.a.Request.ID, Session: e.a.Request.Session, Agent: e.a.Request.AgentID,
		Tool: e.a.Request.Tool, ToolUseID: e.a.Request.ToolUseID, Surface: e.a.Surface, Title: e.a.Title, Path: e.a.Path,
	}
	if p, ok := e.a.Document.(*Proposal); ok {
		r.Base = p.Base().Hash
	}
	if e.a.Staged != nil {
		r.Proposed = e.a.Staged.Print.Hash
	}
	if len(e.a.Request.Input) <= maxInput {
		r.Input = recordInput(e.a.Request.Input)
	}
	if err := d.record(r); err != nil {
		e.a.Notes = append(slices.Clone(e.a.Notes), Note{Text: "Nothing is recorded, and so nothing can be allowed, as long as the journal cannot be written: " + err.Error() + ".", Warning: true})
	}
	delete(d.preparing, e.a.ID)
	d.byID[e.a.ID] = e
	d.byRequest[e.a.Request.ID] = append(d.byRequest[e.a.Request.ID], e)
	if id := e.a.Request.ToolUseID; id != "" {
		d.byToolUse[id] = e
	}
	e.place = d.pending.PushBack(e)
	d.changed(e)
}

// settle commits a decided approval and announces it; the caller holds mu. It
// is the only way out of Pending. An error means that nothing was changed:
// somebody was faster, the decision would not be well formed, or it would not
// be recorded where it must be. r is completed from next.
func (d *Desk) settle(e *entry, next Approval, r Record) (Approval, error) {
	if e.a.State != Pending {
		return e.a, &SettledError{Approval: e.a}
	}
	if err := next.wellFormed(); err != nil {
		return e.a, &RefusedError{ID: e.a.ID, Reason: "this would have been answered with " + err.Error()}
	}
	r.settled(next)
	if err := d.record(r); err != nil {
		// What lets something run must be on record; what keeps it from
		// running must not wait for a full disk to be put right.
		if next.State == Allowed {
			return e.a, &RefusedError{ID: e.a.ID, Reason: unrecorded(err)}
		}
		next.Notes = append(slices.Clone(next.Notes), Note{Text: "This was decided, but could not be recorded: " + err.Error() + ".", Warning: true})
	}
	d.pending.Remove(e.place)
	d.byRequest[next.Request.ID] = slices.DeleteFunc(d.byRequest[next.Request.ID], func(o *entry) bool { return o == e })
	if len(d.byRequest[next.Request.ID]) == 0 {
		delete(d.byRequest, next.Request.ID)
	}
	e.a = next
	e.place = d.settled.PushBack(e)
	d.changed(e)
	if p, ok := next.Document.(*Proposal); ok && next.State == Allowed && next.Want != nil {
		e.allowed, e.want = p, next.Want
	}
	if next.State == Allowed && next.Want == nil && next.holds == nil && len(next.Result.UpdatedInput) <= maxApproved {
		e.approved = next.Result.UpdatedInput
	}
	e.a, e.wantHash, e.holds = remembered(next), r.Want, next.holds
	if d.settled.Len() > maxSettled {
		d.forget(d.settled.Front())
	}
	return next, nil
}

// forget drops the oldest settled approval; the caller holds mu.
func (d *Desk) forget(place *list.Element) {
	old := d.settled.Remove(place).(*entry)
	delete(d.byID, old.a.ID)
	if id := old.a.Request.ToolUseID; d.byToolUse[id] == old {
		delete(d.byToolUse, id)
	}
}

// remembered is what the desk keeps of a settled approval: enough to tell what
// was decided, without the texts.
func remembered(a Approval) Approval {
	a.Document, a.Want, a.holds, a.Result.UpdatedInput, a.Hidden = nil, nil, nil, nil, nil
	if len(a.Request.Input) > maxInput {
		a.Request.Input = nil
	}
	a.Request.Suggestions = nil
	return a
}

// changed checks an entry that was just changed and queues its announcement;
// the caller holds mu. Every mutation ends here.
func (d *Desk) changed(e *entry) {
	if broken := d.check(e); broken != "" {
		if invariantBroken != nil {
			invariantBroken(broken)
		}
		d.record(Record{Kind: RecordNote, ID: e.a.ID, Event: "the desk is in disorder: " + broken})
	}
	d.queue = append(d.queue, e.a)
}

// invariantBroken is set by tests, to fail.
var invariantBroken func(string)

// check says which rule of the desk an entry breaks; the caller holds mu. It
// looks at one entry and at counts, so that it costs the same with any number
// of approvals.
func (d *Desk) check(e *entry) string {
	a := e.a
	open := slices.Contains(d.byRequest[a.Request.ID], e)
	switch {
	case d.byID[a.ID] != e:
		return a.ID + " is not found under its id"
	case a.State == Pending && (!open || a.Document == nil || !a.Settled.IsZero() || a.Result.Behavior != ""):
		return a.ID + " is pending but not complete"
	case a.State != Pending && (open || a.Settled.IsZero()):
		return a.ID + " is settled but still open"
	case e.place == nil || e.place.Value != e:
		return a.ID + " has no place"
	case d.pending.Len()+d.settled.Len() != len(d.byID):
		return fmt.Sprintf("%d pending and %d settled approvals, but %d in all", d.pending.Len(), d.settled.Len(), len(d.byID))
	}
	return ""
}

// wellFormed says what is wrong with a settled approval and its answer.
func (a Approval) wellFormed() error {
	switch a.State {
	case Withdrawn:
		if a.Result.Behavior != "" {
			return fmt.Errorf("a result to a request that nobody waits for")
		}
		return nil
	case Allowed, Denied:
	default:
		return fmt.Errorf("the state %q", a.State)
	}
	if err := a.Result.wellFormed(); err != nil {
		return err
	}
	if (a.State == Allowed) != (a.Result.Behavior == "allow") {
		return fmt.Errorf("%q to an approval that is %s", a.Result.Behavior, a.State)
	}
	if a.State == Denied {
		return nil
	}
	// What must never leave the desk, whichever way a decision came.
	switch a.Request.Tool {
	case "AskUserQuestion":
		in, err := takeApart(a.Result.UpdatedInput)
		if err != nil || len(in.get("answers")) <= len("{}") {
			return fmt.Errorf("an empty answer to a question")
		}
	case "ExitPlanMode":
		if !slices.ContainsFunc(a.Result.UpdatedPermissions, func(v jsontext.Value) bool {
			u, ok := readUpdate(v)
			return ok && u.Type == "setMode" && u.Mode != "plan"
		}) {
			return fmt.Errorf("a plan's allow without the mode that follows")
		}
	}
	return nil
}

// tell hands queued changes to Notify, in order. One goroutine does it at a
// time; one that finds another at it leaves its changes to that one, and a
// Notify that calls the desk does not come back here.
func (d *Desk) tell() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.telling {
		return
	}
	d.telling = true
	defer func() { d.telling = false }()
	for len(d.queue) > 0 {
		next := d.queue
		d.queue = nil
		d.mu.Unlock()
		for _, a := range next {
			d.o.Notify(a)
		}
		d.mu.Lock()
	}
}

// Get finds an approval, settled ones included as long as they are
// remembered; those have no Document any more.
func (d *Desk) Get(id string) (Approval, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.byID[id]; e != nil {
		return e.a, true
	}
	return Approval{}, false
}

// Pending are the approvals that wait, oldest first.
func (d *Desk) Pending() []Approval {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := make([]Approval, 0, d.pending.Len())
	for p := d.pending.Front(); p != nil; p = p.Next() {
		all = append(all, p.Value.(*entry).a)
	}
	return all
}
