package hub

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/uri"

	"countersign/approvals"
	"countersign/diff"
	"countersign/session/rpc"
	"countersign/staging"
)

// wireOf turns an approval into what crosses the socket. It computes no diff.
func wireOf(a approvals.Approval) Approval {
	w := Approval{
		ID: a.ID, Tool: a.Request.Tool, Title: a.Title, Path: a.Path, Surface: a.Surface, State: a.State,
		Mode: a.Request.Mode, Agent: agentName(a.Request), Since: a.Since, Session: a.Request.SessionName,
		Staged: a.Staged, Summary: a.Request.Description, Notes: a.Notes,
		By: a.By, Settled: a.Settled, Amended: a.Amended, Reason: a.Reason, Replaced: a.ReplacedBy, Outcome: a.Outcome, Hidden: a.Hidden,
	}
	if a.Staged != nil {
		w.StagedURI = fileURI(a.Staged.Path)
	}
	if p, ok := a.Document.(*approvals.Proposal); ok {
		w.Line = uint32(p.FirstLine())
	} else if a.Document != nil && a.Path != "" {
		w.Line = uint32(max(0, diff.FirstChange(a.Document.Original(), a.Document.Text())))
	}
	w.Rules, w.Questions = ruleWords(a), approvals.Questions(a.Document)
	if a.State == approvals.Pending {
		w.Choices, w.Kind = approvals.RuleChoices(a.Request), approvals.Kind(a.Surface, a.Request.Tool)
		w.QuickAnswers, w.PlanModes = approvals.QuickAnswers(a.Document), approvals.PlanModes(a.Request)
		if a.Surface != approvals.SurfaceQuestion && a.Surface != approvals.SurfacePlan {
			_, w.SessionWords = approvals.ForSession(a.Request)
		}
	}
	return w
}

func agentName(r approvals.Request) string {
	if r.AgentName != "" {
		return r.AgentName
	}
	return r.AgentID
}

// fileURI is the canonical URI of an absolute path. uri.File panics on some of
// what is none.
func fileURI(path string) string {
	path = filepath.Clean(path)
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return ""
	}
	return string(uri.File(path))
}

// detailOf is an approval in full, for somebody who wants to look at it.
// detailOf also gives the hash of what lies staged; empty where nothing does or
// it cannot be read.
func detailOf(a approvals.Approval) (d Detail, staged string) {
	d = Detail{Approval: wireOf(a), Input: a.Request.Input}
	if a.Document != nil {
		d.Original, d.Text = a.Document.Original(), a.Document.Text()
		name := a.Path
		if name == "" {
			name = a.Document.Basename()
		}
		d.Diff = diff.Unified(name, name, d.Original, d.Text)
		if a.Staged != nil {
			// What cannot be read is told when somebody decides on it.
			if now, err := staging.Look(*a.Staged, 0); err == nil {
				staged = now.Print.Hash
				d.Amendment = diff.Unified("proposed", "amended", d.Text, approvals.TakeBackNewline(d.Text, now.Text))
			}
		}
	}
	return d, staged
}

// errorData is the data of an error that concerns an approval.
type errorData struct {
	Approval *Approval `json:"approval,omitzero"`
	Reason   string    `json:"reason,omitzero"`
	Line     int       `json:"line,omitzero"`
	Column   int       `json:"column,omitzero"`
}

func withApproval(code rpc.Code, err error, a *approvals.Approval) error {
	w := wireOf(*a)
	return withData(rpc.Errorf(code, "%v", err), errorData{Approval: &w})
}

func withPlace(err error, r *approvals.RefusedError) error {
	return withData(rpc.Errorf(CodeRefused, "%v", err), errorData{Reason: r.Reason, Line: r.Line, Column: r.Column})
}

func withData(e *rpc.Error, d errorData) error {
	if data, err := json.Marshal(d, jsontext.AllowInvalidUTF8(true)); err == nil {
		e.Data = data
	}
	return e
}

// An Error of the socket, as the client returns it.
func fromWire(err error) error {
	var coded *rpc.Error
	if !errors.As(err, &coded) {
		return err
	}
	out := &Error{Code: int(coded.Code), Message: coded.Message}
	var data errorData
	if len(coded.Data) > 0 && json.Unmarshal(coded.Data, &data) == nil {
		out.Approval, out.Reason, out.Line, out.Column = data.Approval, data.Reason, data.Line, data.Column
	}
	return out
}
