package approvals

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Policy is what a person configured about approvals.
type Policy struct {
	ReviewEdits string // "document" (also ""): stage a file change; "panel": only show it
	MaxPreview  int64  // bytes of a file that is shown as a proposal; 0 is no limit
}

// Route picks the surface on which a request is shown, the document that is
// reviewed there, and what the person should know before deciding. It goes by
// the tool's name and the fields of its input, and by requires_user_interaction
// only for tools that it does not know: older agents do not send the flag, and
// a tool that has it is not always beyond handling.
//
// It never fails: what cannot be shown better is shown as the input's JSON.
func Route(req Request, read ReadFile, pol Policy) (Surface, Document, []Note) {
	surface, doc, notes, _ := routed(req, read, pol)
	return surface, doc, notes
}

// routed is Route with the places that do not show in the document's text.
func routed(req Request, read ReadFile, pol Policy) (Surface, Document, []Note, []HiddenPlace) {
	surface, doc, notes := route(req, read, pol)
	f := hiddenIn(doc, doc.Text())
	return surface, doc, slices.Concat(notes, placeNotes(f.found, f.more), requestNotes(req)), f.found
}

func route(req Request, read ReadFile, pol Policy) (Surface, Document, []Note) {
	switch req.Tool {
	case "AskUserQuestion":
		doc, notes, err := newQuestion(req)
		if err != nil {
			return refused(req, err)
		}
		return SurfaceQuestion, doc, notes
	case "ExitPlanMode":
		doc, notes, err := newPlan(req)
		if err != nil {
			return refused(req, err)
		}
		return SurfacePlan, doc, notes
	}
	p, err := Propose(req, read, pol.MaxPreview)
	switch {
	case err == nil:
		if pol.ReviewEdits == "panel" {
			return SurfacePanel, p, p.Notes()
		}
		return SurfaceProposal, p, p.Notes()
	case !errors.Is(err, ErrNoProposal):
		doc, notes := newInput(req)
		return SurfacePanel, doc, append([]Note{{Text: "The file cannot be shown as it would become, only the tool's input: " + InLine(err.Error()) + ".", Warning: true}}, notes...)
	case req.NeedsOwnSurface:
		return refused(req, nil)
	}
	if req.Tool == "Bash" {
		if doc, notes, err := newCommand(req); err == nil {
			return SurfacePanel, doc, notes
		}
	}
	doc, notes := newInput(req)
	return SurfacePanel, doc, notes
}

// refused is the surface of what cannot be answered by anybody here. Its
// document is only for looking at.
func refused(req Request, why error) (Surface, Document, []Note) {
	doc, notes := newInput(req)
	text := fmt.Sprintf("%s needs an interaction of its own that is not supported; it is denied with that explanation.", InLine(req.Tool))
	if why != nil {
		text = fmt.Sprintf("%s cannot be shown and is denied with an explanation: %s.", InLine(req.Tool), InLine(why.Error()))
	}
	return SurfaceRefused, doc, append([]Note{{Text: text, Warning: true}}, notes...)
}

// requestNotes are what the agent itself remarks on its request.
func requestNotes(req Request) []Note {
	var notes []Note
	if req.AgentID != "" {
		name := req.AgentName
		if name == "" {
			name = req.AgentID
		}
		notes = append(notes, Note{Text: "Asked by the subagent " + short(name) + "."})
	}
	if req.BlockedPath != "" {
		notes = append(notes, Note{Text: "It concerns " + InLine(req.BlockedPath) + ", which the agent's rules do not let it touch unasked."})
	}
	if r := strings.TrimSpace(req.DecisionReason); r != "" {
		notes = append(notes, Note{Text: "Why the agent asks: " + strings.TrimRight(InLine(r), ".") + ".", Warning: req.ReasonType == "safetyCheck"})
	}
	return notes
}
