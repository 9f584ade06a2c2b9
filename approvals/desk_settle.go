package approvals

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/diff"
)

// Settle decides an approval. It comes back as settled, with its Result to be
// answered and its document and texts for a last time; the notes are for the
// person who decided.
//
// The error is an *UnknownError, a *SettledError (the approval is returned
// too), a *StaleError (its New waits now) or a *RefusedError (it still waits).
// An allow may come back Denied: a person who restored the original text wants
// nothing changed.
func (d *Desk) Settle(id string, dec Decision) (Approval, []Note, error) {
	a, ok := d.Get(id)
	if !ok {
		err := &UnknownError{ID: id}
		d.refused(Approval{ID: id}, dec, err)
		return Approval{}, nil, err
	}
	var settled Approval
	var notes []Note
	var err error
	switch {
	case a.State != Pending:
		settled, err = a, &SettledError{Approval: a}
	case dec.Allow:
		settled, notes, err = d.allow(a, dec)
	default:
		settled, notes, err = d.deny(a, dec)
	}
	var stale *StaleError
	if err != nil && !errors.As(err, &stale) {
		d.refused(a, dec, err)
	}
	if late := (*SettledError)(nil); errors.As(err, &late) && a.State == Pending && dec.Text != nil {
		if text := d.unsent(a, dec.Text); text != nil { // somebody was faster while the text was looked at
			d.keep(a, *text)
		}
	}
	if err != nil || !dec.TellLater {
		d.tell()
	}
	return settled, notes, err
}

// deny settles a as denied.
func (d *Desk) deny(a Approval, dec Decision) (Approval, []Note, error) {
	if err := unfit(a, dec); err != nil {
		return a, nil, refusal(a.ID, err)
	}
	edits := ""
	if dec.WithEdits {
		text, err := d.text(a, dec)
		if err == nil {
			edits, err = feedback(a, text)
		}
		if late := (*SettledError)(nil); errors.As(err, &late) {
			return late.Approval, nil, err
		}
		if err != nil {
			return a, nil, refusal(a.ID, err)
		}
		dec.Text = &text // what was sent back is what is recorded
	}
	said, notes := dec.Message, []Note(nil)
	if p, ok := a.Document.(*planDocument); ok {
		if text := d.unsent(a, dec.Text); text != nil {
			said, notes = p.said(said, *text, dec.WithEdits)
		}
	}
	next := a
	next.State, next.Settled, next.By, next.Reason = Denied, d.o.Now(), dec.By, said
	next.Result = deny(a.Request, a.Surface, said, edits, dec.Interrupt)
	if dec.Interrupt && said != "" {
		// Measured: the model reads a standard text instead of the message.
		notes = append(notes, Note{Text: "The turn is ended, and the agent does not read the reason then.", Warning: true})
	}
	r := Record{}
	r.proposal(a)
	if text := d.unsent(a, dec.Text); text != nil {
		r.Diff = amendmentDiff(a, *text)
		r.Amended = r.Diff != ""
	}
	return d.commit(a, next, r, notes)
}

// allow settles a as allowed, if all that an allow needs holds.
func (d *Desk) allow(a Approval, dec Decision) (Approval, []Note, error) {
	refuse := func(err error) (Approval, []Note, error) {
		if late := (*SettledError)(nil); errors.As(err, &late) {
			return late.Approval, nil, err
		}
		return a, nil, refusal(a.ID, err)
	}
	if err := fits(a, dec); err != nil {
		return refuse(err)
	}
	var text string
	if a.Surface != SurfaceQuestion || dec.Answers == nil {
		var err error
		if text, err = d.text(a, dec); err != nil {
			return refuse(err)
		}
		if err := unseen(a, dec, text); err != nil {
			return refuse(err)
		}
	}
	if p, ok := a.Document.(*Proposal); ok {
		text = TakeBackNewline(p.Text(), text)
		if line := diff.Unresolved(text); line >= 0 && diff.Unresolved(p.Text()) < 0 && diff.Unresolved(p.Original()) < 0 {
			return refuse(&DocumentError{Line: line + 1, Reason: "the text still has the marks of a conflict: choose between the two sides first"})
		}
		changed, err := d.stale(p)
		if err != nil {
			return refuse(err)
		}
		if changed {
			return d.replace(a, p, text)
		}
	}
	am, err := amend(a, dec, text)
	if err != nil {
		return refuse(err)
	}
	if am.Declined {
		dec.Allow, dec.Mode, dec.Text = false, "", &text
		denied, notes, err := d.deny(a, dec)
		return denied, append(notes, Note{Text: fmt.Sprintf("%q was ticked, so this is a deny.", keepPlanningWords)}), err
	}
	next := a
	next.Settled, next.By, next.Amended, next.Want, next.holds = d.o.Now(), dec.By, am.Amended, am.Want, am.Holds
	r := Record{}
	if am.Restored {
		next.State, next.Amended, next.Reason = Denied, false, "the original text was restored"
		next.Result = Result{Behavior: "deny", Message: restoredMessage}
		r.proposal(a)
		return d.commit(a, next, r, append(am.Notes, Note{Text: "The original text was put back, so this is a deny: the file stays as it is."}))
	}
	permissions, err := permissions(a, dec, am.Mode)
	if err != nil {
		return refuse(err)
	}
	next.State, next.Result = Allowed, allow(am.Input, permissions...)
	notes := slices.Concat(am.Notes, d.stillWaiting(a, permissions))
	if am.Amended {
		if len(permissions) > 0 && a.Surface != SurfacePlan {
			notes = append(notes, Note{Text: "The rule is about what the agent asked for, not about what you changed it into."})
		}
		if dec.Answers == nil { // answered without its document: nothing of that was changed
			next.Amendment = amendmentDiff(a, text)
		}
		r.Diff = next.Amendment
		if len(am.Input) <= maxInput {
			r.Input = recordInput(am.Input)
		}
	}
	return d.commit(a, next, r, notes)
}

// commit settles the approval if it is still pending. Its staged document
// goes when the answer is out (Answered): nobody should wait for that.
func (d *Desk) commit(a, next Approval, r Record, notes []Note) (Approval, []Note, error) {
	if next.Want != nil {
		r.Want = wantHash(a, next.Want)
	}
	d.mu.Lock()
	e := d.byID[a.ID]
	if e == nil { // settled and forgotten meanwhile
		d.mu.Unlock()
		return a, nil, &UnknownError{ID: a.ID}
	}
	settled, err := d.settle(e, next, r)
	d.mu.Unlock()
	if err != nil {
		return settled, nil, err
	}
	if n := len(settled.Notes); n > len(next.Notes) {
		notes = append(slices.Clone(notes), settled.Notes[n-1])
	}
	return settled, notes, nil
}

// wantHash is the hash of the bytes that a target must have. Mostly these are
// the bytes of the document as it was staged, of which the hash is known.
func wantHash(a Approval, want []byte) string {
	if p, ok := a.Document.(*Proposal); ok && a.Staged != nil && a.Staged.Print.Size == int64(len(want)) && string(want) == p.Text() && !a.carried {
		return a.Staged.Print.Hash
	}
	return hashOf(want)
}

// fits says why a decision to allow does not go with this approval.
func fits(a Approval, dec Decision) error {
	question, plan := a.Surface == SurfaceQuestion, a.Surface == SurfacePlan
	switch {
	case dec.Message != "" || dec.Interrupt:
		return errors.New("an allow has no message and ends no turn")
	case dec.Suggestion != nil && (*dec.Suggestion < 0 || *dec.Suggestion >= len(a.Request.Suggestions)):
		return fmt.Errorf("the agent suggests no rule number %d (it suggests %d)", *dec.Suggestion, len(a.Request.Suggestions))
	case dec.WithEdits:
		return errors.New("changes are sent back as feedback with a deny; an allow runs them")
	case dec.Destination != "" && dec.Suggestion == nil:
		return errors.New("only a suggested rule can be sent to another destination")
	case dec.Suggestion != nil && dec.ForSession:
		return errors.New("either a suggested rule or the session can be allowed, not both")
	case (dec.Answers != nil || dec.Notes != nil) && !question:
		return errors.New("only a question takes answers")
	case dec.Notes != nil && dec.Answers == nil:
		return errors.New("notes on a question go with its answers")
	case dec.Mode != "" && !plan:
		return errors.New("only a plan names the mode that follows")
	case (question || plan) && (dec.ForSession || dec.Suggestion != nil):
		return errors.New("a question or a plan is answered each time: no rule can be made of it")
	}
	return nil
}

// permissions are the updatedPermissions of an allow. mode is the one to follow
// a plan.
func permissions(a Approval, dec Decision, mode string) ([]jsontext.Value, error) {
	switch {
	case a.Surface == SurfacePlan:
		mode, err := planMode(a.Request, mode)
		if err != nil {
			return nil, err
		}
		return []jsontext.Value{setMode(mode)}, nil
	case dec.Suggestion != nil:
		rule, err := redirect(a.Request.Suggestions[*dec.Suggestion], dec.Destination)
		if err != nil {
			return nil, err
		}
		return []jsontext.Value{rule}, nil
	case dec.ForSession:
		updates, _ := ForSession(a.Request)
		return updates, nil
	}
	return nil, nil
}

// stillWaiting tells of the pending approvals of the same session that the
// permissions would have let through: they are not settled, since nobody has
// looked at them.
func (d *Desk) stillWaiting(a Approval, permissions []jsontext.Value) []Note {
	if len(permissions) == 0 {
		return nil
	}
	var titles []string
	pending := d.Pending()
	for _, p := range pending {
		if p.ID == a.ID || p.Request.Session != a.Request.Session {
			continue
		}
		if slices.ContainsFunc(permissions, func(u jsontext.Value) bool { return len(Covered(u, []Approval{p})) > 0 }) {
			titles = append(titles, p.Title)
		}
	}
	switch n := len(titles); {
	case n == 0:
		return nil
	case n == 1:
		return []Note{{Text: "This would let through what was asked before, which still waits for you: " + titles[0] + "."}}
	default:
		words := strings.Join(titles[:min(n, 3)], "; ")
		if n > 3 {
			words += fmt.Sprintf("; and %d more", n-3)
		}
		return []Note{{Text: fmt.Sprintf("This would let through %d approvals that were asked before, which still wait for you: %s.", n, words)}}
	}
}

// amend turns the decision into input.
func amend(a Approval, dec Decision, text string) (Amendment, error) {
	switch doc := a.Document.(type) {
	case *questionDocument:
		if dec.Answers != nil {
			return doc.answered(dec.Answers, dec.Notes)
		}
	case *planDocument:
		return doc.amend(text, dec.Mode)
	}
	return a.Document.Amend(text)
}

// text is what the person decided on: the editor's text, what lies staged, or
// the document as it is where nothing is staged.
func (d *Desk) text(a Approval, dec Decision) (string, error) {
	switch {
	case dec.Text != nil:
		return *dec.Text, nil
	case dec.TextHash != "" && (a.Staged == nil || dec.TextHash != a.Staged.Print.Hash):
		return "", errors.New("the text that was decided on is not the one that was staged, and was not sent along")
	case dec.TextHash != "" && !a.carried:
		return a.Document.Text(), nil
	case a.Staged == nil:
		return a.Document.Text(), nil
	}
	text, err := d.o.ReadStaged(*a.Staged)
	if errors.Is(err, fs.ErrNotExist) {
		// What was in it is not known, so it does not count as unamended.
		return "", d.restage(a)
	}
	if err == nil && dec.TextHash != "" && hashOf([]byte(text)) != dec.TextHash {
		return "", errors.New("the staged document has changed since it was decided on; look at it again")
	}
	return text, err
}

// unseen says why the text, which lies on disk, was not what the person decided
// on: other programs can write there.
func unseen(a Approval, dec Decision, text string) error {
	if dec.Text != nil || dec.TextHash != "" || a.Staged == nil {
		return nil
	}
	switch hash := hashOf([]byte(text)); {
	case hash == a.Staged.Print.Hash || hash == dec.Shown:
		return nil
	case dec.Shown == "":
		return fmt.Errorf("its document %s was changed since the agent asked, and you were not shown how: look at it first (countersign show %s)", a.Staged.Path, a.ID)
	}
	return fmt.Errorf("its document %s was changed since you were shown it: look at it again (countersign show %s)", a.Staged.Path, a.ID)
}

// restage writes a staged document that was removed again; the error says so.
func (d *Desk) restage(a Approval) error {
	if err := d.open(a.ID); err != nil {
		return err // it was removed because the approval was settled
	}
	if d.o.Stage == nil {
		return fmt.Errorf("its staged document %s is gone", a.Staged.Path)
	}
	st, err := d.o.Stage(a.ID, a.Document.Basename(), a.Document.Text())
	if err != nil {
		return fmt.Errorf("its staged document %s is gone and could not be written again: %w", a.Staged.Path, err)
	}
	d.mu.Lock()
	e := d.byID[a.ID]
	if e != nil && e.a.State == Pending {
		e.a.Staged = &st
		d.changed(e)
	}
	d.mu.Unlock()
	if err := d.open(a.ID); err != nil {
		d.o.Unstage(a.ID)
		return err
	}
	return fmt.Errorf("its staged document %s was gone; it is there again as it was proposed, look at it first", st.Path)
}

// open says why an approval cannot be settled any more.
func (d *Desk) open(id string) error {
	a, ok := d.Get(id)
	switch {
	case !ok:
		return &UnknownError{ID: id}
	case a.State != Pending:
		return &SettledError{Approval: a}
	}
	return nil
}

// unsent is a person's text that a deny or a withdrawal leaves unsent, nil
// when it is no different from the document.
func (d *Desk) unsent(a Approval, given *string) *string {
	text := given
	if text == nil && a.Staged != nil {
		if t, err := d.o.ReadStaged(*a.Staged); err == nil {
			text = &t
		}
	}
	if text == nil || a.Document == nil || *text == a.Document.Text() || TakeBackNewline(a.Document.Text(), *text) == a.Document.Text() {
		return nil
	}
	return text
}

// stale says whether the target is no more what the proposal was made from.
func (d *Desk) stale(p *Proposal) (bool, error) {
	data, err := d.o.ReadFile(p.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return p.Base() != baseOf(nil, false), nil
	}
	if err != nil {
		return false, fmt.Errorf("whether %s is still what the change was proposed for cannot be told: %w", p.Path(), err)
	}
	return !p.madeFrom(data), nil
}

// replace puts a new approval, made from the target as it is now, in the place
// of one that is stale. The person's text comes with it.
func (d *Desk) replace(a Approval, p *Proposal, text string) (Approval, []Note, error) {
	var kept *string
	carry := func(doc Document) (string, []Note) {
		fresh, ok := doc.(*Proposal)
		note := Note{Text: "The file has changed since this was proposed; this is the change on the file as it is now.", Warning: true}
		switch {
		case !ok:
			note.Text = "The file has changed since this was proposed, and the change does not fit it any more."
			if text != p.Text() {
				kept = &text
				note.Text += " What you had amended is kept in the journal."
			}
			return doc.Text(), []Note{note}
		case text == p.Text():
			return fresh.Text(), []Note{note}
		}
		merged, conflicts := diff.Sides{Ours: "amended", Theirs: "proposed"}.Merge(p.Text(), text, fresh.Text())
		note.Text += " Your amendments are merged into it."
		if n := len(conflicts); n > 0 {
			note.Text = fmt.Sprintf("The file has changed since this was proposed, and your amendments conflict with the change on it: choose a side at line %d before you allow it (%d in all).", conflicts[0].Merged.Start+1, n)
		}
		return merged, []Note{note}
	}
	fresh := d.prepare(a.Request, d.o.NewID(a.Request.ID), carry)
	if fresh.a.Staged == nil && text != p.Text() {
		kept = &text
	}

	d.mu.Lock()
	e := d.byID[a.ID]
	if e == nil || e.a.State != Pending {
		now := a
		var err error = &UnknownError{ID: a.ID}
		if e != nil {
			now, err = e.a, &SettledError{Approval: e.a}
		}
		delete(d.preparing, fresh.a.ID)
		d.mu.Unlock()
		if fresh.a.Staged != nil {
			d.o.Unstage(fresh.a.ID)
		}
		return now, nil, err
	}
	next := e.a
	next.State, next.Settled, next.ReplacedBy = Withdrawn, d.o.Now(), fresh.a.ID
	next.By, next.Reason = By{FrontEnd: "countersign", How: "rebuilt"}, "its file changed"
	old, err := d.settle(e, next, Record{Kind: RecordReplaced})
	if err != nil { // a withdrawal is always taken
		delete(d.preparing, fresh.a.ID)
		d.mu.Unlock()
		return a, nil, err
	}
	d.insert(fresh)
	stale := &StaleError{Old: old, New: fresh.a}
	d.mu.Unlock()
	if kept != nil {
		d.Keep(a.ID, *kept)
	}
	if a.Staged != nil {
		d.o.Unstage(a.ID)
	}
	return old, nil, stale
}

// refusal makes a *RefusedError of whatever kept a decision from being taken.
func refusal(id string, err error) error {
	var late *SettledError
	var unknown *UnknownError
	if errors.As(err, &late) || errors.As(err, &unknown) {
		return err
	}
	r := &RefusedError{ID: id, Reason: err.Error()}
	var place *DocumentError
	if errors.As(err, &place) {
		r.Line, r.Column, r.Reason = place.Line, place.Column, place.Reason
	}
	return r
}
