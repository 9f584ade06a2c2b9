package approvals

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"countersign/diff"
)

// Withdraw settles the pending approval of a request that the agent takes
// back. Of several with the same wire id (of several sessions), the newest;
// WithdrawIn tells them apart.
func (d *Desk) Withdraw(requestID, reason string) (Approval, bool) {
	return d.withdrawNewest(requestID, reason, func(Request) bool { return true })
}

// WithdrawIn is Withdraw for a request of one session.
func (d *Desk) WithdrawIn(session, requestID, reason string) (Approval, bool) {
	return d.withdrawNewest(requestID, reason, func(r Request) bool { return r.Session == session })
}

func (d *Desk) withdrawNewest(requestID, reason string, of func(Request) bool) (Approval, bool) {
	d.mu.Lock()
	open := d.byRequest[requestID]
	for i := len(open) - 1; i >= 0; i-- {
		if e := open[i]; of(e.a.Request) {
			a := d.withdraw(e, reason)
			d.mu.Unlock()
			d.cleared(a)
			d.tell()
			return a, true
		}
	}
	d.mu.Unlock()
	return Approval{}, false
}

// WithdrawSession settles every pending approval of a session whose agent is
// gone.
func (d *Desk) WithdrawSession(session, reason string) []Approval {
	d.mu.Lock()
	var gone []Approval
	for p := d.pending.Front(); p != nil; {
		e := p.Value.(*entry)
		p = p.Next()
		if e.a.Request.Session == session {
			gone = append(gone, d.withdraw(e, reason))
		}
	}
	d.mu.Unlock()
	for _, a := range gone {
		d.cleared(a)
	}
	d.tell()
	return gone
}

// withdraw settles a pending entry as withdrawn; the caller holds mu and
// clears up afterwards.
func (d *Desk) withdraw(e *entry, reason string) Approval {
	next := e.a
	next.State, next.Settled, next.Reason = Withdrawn, d.o.Now(), reason
	next.By = By{FrontEnd: "agent", How: "withdrawn"}
	r := Record{}
	r.proposal(e.a)
	a, _ := d.settle(e, next, r) // a withdrawal is always taken
	return a
}

// cleared keeps what a person had amended in a withdrawn approval's staged
// document, and takes the document away.
func (d *Desk) cleared(a Approval) {
	if a.Staged == nil {
		return
	}
	if text := d.unsent(a, nil); text != nil {
		d.keep(a, *text)
	}
	d.o.Unstage(a.ID)
}

// Keep puts a text into the journal that a person saved too late: after its
// approval was settled elsewhere, withdrawn, or forgotten.
func (d *Desk) Keep(id, text string) error {
	a, ok := d.Get(id)
	if !ok {
		a = Approval{ID: id}
	}
	return d.keep(a, text)
}

func (d *Desk) keep(a Approval, text string) error {
	r := Record{Kind: RecordKept, ID: a.ID, Title: a.Title, Path: a.Path, State: a.State, Want: hashOf([]byte(text)), Text: RecordText(text)}
	if a.Document != nil {
		r.Diff = amendmentDiff(a, text)
	}
	if err := d.record(r); err != nil {
		return fmt.Errorf("keep the text for %s: %w", InLine(a.ID), err)
	}
	return nil
}

// Answered records that the answer was handed to the agent, or why it was not,
// and takes the staged document away.
// What an allowed change makes of its file is recorded here rather than with
// the decision: nobody waits any more.
func (d *Desk) Answered(id string, err error) {
	d.tell()
	r := Record{Kind: RecordAnswered, ID: id}
	if err != nil {
		r.Error = err.Error()
	}
	d.mu.Lock()
	e := d.byID[id]
	var p *Proposal
	var want []byte
	unstage := false
	if e != nil {
		p, want, e.allowed, e.want = e.allowed, e.want, nil, nil
		unstage = e.a.State != Pending && e.a.Staged != nil
	}
	d.mu.Unlock()
	if unstage {
		d.o.Unstage(id)
	}
	if p != nil {
		before, after := p.Target(want)
		r.Path, r.Diff = p.Path(), diff.Unified(p.Path(), p.Path(), before, after)
	}
	d.mu.Lock()
	d.record(r)
	if e != nil && err != nil && e.a.State == Allowed {
		e.a.Outcome = Outcome{State: OutcomeFailed, Detail: "the answer did not reach the agent: " + err.Error()}
		e.returned = true
		d.changed(e)
	}
	d.mu.Unlock()
	d.tell()
}

// The states of an outcome.
const (
	OutcomeVerified = "verified" // the file has exactly the bytes that were approved, or exactly that command ran
	OutcomeMismatch = "mismatch" // it has not, or the agent did what was declined
	OutcomeFailed   = "failed"   // the tool failed, or was never told
	OutcomeDone     = "done"     // the tool ran; there is nothing to compare
)

// Returned is told of a tool's result. For an allowed change the file is
// compared with what was approved, and for any other tool the outcome is what
// Ran came to; it is recorded and announced. It returns false where no approval
// is concerned.
func (d *Desk) Returned(toolUseID string, isError bool, text string) (Approval, bool) {
	d.mu.Lock()
	e := d.byToolUse[toolUseID]
	if toolUseID == "" || e == nil || e.returned || e.a.State == Pending || e.a.State == Withdrawn || e.a.State == Denied && isError && e.ran == nil {
		d.mu.Unlock()
		return Approval{}, false
	}
	e.returned = true
	a, want, holds, ran := e.a, e.wantHash, e.holds, e.ran
	e.holds, e.approved, e.ran = nil, nil, nil
	d.mu.Unlock()

	out := d.outcome(a, want, holds, isError, text)
	if ran != nil && (ran.State == OutcomeMismatch || out.State == OutcomeDone) {
		out = *ran
	}

	d.mu.Lock()
	a.Outcome = out
	e.a.Outcome = out
	d.record(Record{Kind: RecordOutcome, ID: a.ID, Title: a.Title, Path: a.Path, Outcome: out, Want: want})
	if d.byID[a.ID] == e { // else forgotten meanwhile
		d.changed(e)
	}
	d.outdate(a, out.Got)
	d.mu.Unlock()
	d.tell()
	return a, true
}

// outdate remarks on the other pending changes of a file that now has another
// content. They are rebuilt on it when somebody decides on them, and not
// before: a person may be amending one right now. The caller holds mu.
func (d *Desk) outdate(a Approval, got string) {
	if got == "" {
		return
	}
	for place := d.pending.Front(); place != nil; place = place.Next() {
		e := place.Value.(*entry)
		p, ok := e.a.Document.(*Proposal)
		if !ok || e.outdated || p.Path() != a.Path || p.Base().Hash == got {
			continue
		}
		e.outdated = true
		e.a.Notes = append(slices.Clone(e.a.Notes), Note{Text: "The file has changed since this was proposed: " + a.Title + " (" + a.ID + ") was applied. When you decide, this is made anew from the file as it is then.", Warning: true})
		d.changed(e)
	}
}

func (d *Desk) outcome(a Approval, want string, holds func([]byte) bool, isError bool, text string) Outcome {
	switch {
	case a.State == Denied:
		return Outcome{State: OutcomeMismatch, Detail: "the agent reports success for what was declined"}
	case isError:
		return Outcome{State: OutcomeFailed, Detail: short(text)}
	case want == "" && holds == nil:
		return Outcome{State: OutcomeDone}
	}
	data, err := d.o.ReadFile(a.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Outcome{State: OutcomeMismatch, Detail: "the file is not there"}
	case err != nil:
		return Outcome{State: OutcomeMismatch, Detail: "the file cannot be read to be compared: " + err.Error()}
	}
	got := hashOf(data)
	if holds == nil && got != want || holds != nil && !holds(data) {
		return Outcome{State: OutcomeMismatch, Got: got, Detail: "the file does not have the content that was approved: the agent, a hook or another program wrote something else"}
	}
	return Outcome{State: OutcomeVerified, Got: got}
}

// ReadTarget reads a target for a proposal: a regular file, whatever links
// lead to it. Anything else, a pipe above all, could keep the reader waiting.
func ReadTarget(path string) ([]byte, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file (%s)", path, fi.Mode().Type())
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(fi, now) {
		return nil, fmt.Errorf("%s was replaced while it was read", path)
	}
	data := make([]byte, 0, fi.Size()+512)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}
