package approvals

import (
	"github.com/go-json-experiment/json/jsontext"

	"countersign/diff"
)

// This file is what the desk writes into the journal.

const (
	// maxInput bounds the raw input that goes into a record, in bytes. Longer
	// ones are file contents, of which the record has hashes and diffs.
	maxInput = 16 << 10
	// maxText bounds a text that a record keeps in full.
	maxText = 256 << 10
)

// record appends to the journal, if there is one.
func (d *Desk) record(r Record) error {
	if d.o.Journal == nil {
		return nil
	}
	return d.o.Journal.Append(r)
}

// refused records an attempt to decide that decided nothing.
func (d *Desk) refused(a Approval, dec Decision, err error) {
	r := Record{Kind: RecordRefused, ID: InLine(a.ID), Title: a.Title, By: dec.By, Error: err.Error()}
	r.State = Denied
	if dec.Allow {
		r.State = Allowed
	}
	d.record(r)
}

// settled completes the record of an approval that is being settled.
func (r *Record) settled(a Approval) {
	if r.Kind == "" {
		r.Kind = RecordSettled
	}
	r.ID, r.RequestID, r.Session, r.Tool, r.Title, r.Path = a.ID, a.Request.ID, a.Request.Session, a.Request.Tool, a.Title, a.Path
	r.State, r.By, r.Amended, r.Reason, r.ReplacedBy = a.State, a.By, a.Amended || r.Amended, a.Reason, a.ReplacedBy
	r.Message, r.Interrupt, r.Rules = a.Result.Message, a.Result.Interrupt, a.Result.UpdatedPermissions
}

// proposal keeps a file change readable that will not become a file.
func (r *Record) proposal(a Approval) {
	p, ok := a.Document.(*Proposal)
	if !ok {
		return
	}
	r.Base, r.Proposed = p.Base().Hash, p.TextHash()
	r.Diff = diff.Unified(p.Path(), p.Path(), p.Original(), p.Text())
	r.Text = RecordText(p.Text())
}

// amendmentDiff is what a person changed in a document.
func amendmentDiff(a Approval, text string) string {
	name := a.Path
	if name == "" {
		name = a.Document.Basename()
	}
	was, is := sides(a.Document, text)
	return diff.Unified(name+" (proposed)", name+" (amended)", was, is)
}

// sides are what a document proposed and what a text of it says instead. Of a
// plan that is the plan: what is ticked and remarked around it is no change.
func sides(doc Document, text string) (was, is string) {
	if d, ok := doc.(*planDocument); ok {
		if p, err := d.parse(text); err == nil {
			return endLine(d.plan), endLine(p.plan)
		}
	}
	return doc.Text(), text
}

// RecordText is a text as a record keeps it: the beginning of one that is very
// long, which then says so.
func RecordText(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n] + "\n[cut here: the whole has more bytes than are kept]\n"
}

// recordInput is an input for a record; what is no JSON goes in as text.
func recordInput(v jsontext.Value) jsontext.Value {
	c := own(v)
	if len(c) == 0 {
		return nil
	}
	if err := c.Format(append([]jsontext.Options{jsontext.PreserveRawStrings(true)}, lenient...)...); err != nil {
		return appendJSONString(nil, InLine(string(v)))
	}
	return c
}

func hashOf(data []byte) string { return baseOf(data, true).Hash }
