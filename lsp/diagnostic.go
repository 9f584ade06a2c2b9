package lsp

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"countersign/approvals"
	"countersign/session/rpc"
)

// maxDiagnostics bounds what one document is told: a flood is a number.
const maxDiagnostics = 20

// publish sends the diagnostics of the documents that changed, if they differ
// from what was sent last.
func (s *server) publish() {
	if !s.begun {
		return
	}
	for u := range s.stale {
		delete(s.stale, u)
		ds := s.diagnostics(u)
		raw, err := rpc.Encode(&protocol.PublishDiagnosticsParams{URI: uri.URI(u), Diagnostics: ds})
		if err != nil {
			continue
		}
		text := string(raw)
		if s.published[u] == text || len(ds) == 0 && s.published[u] == "" {
			continue
		}
		if len(ds) == 0 {
			delete(s.published, u)
		} else {
			s.published[u] = text
		}
		_ = s.conn.Notify("textDocument/publishDiagnostics", jsontext.Value(text))
	}
}

// diagnostics are what there is to say about a document: what is asked of it or
// of the file it shows, what was decided, and what went wrong.
func (s *server) diagnostics(u string) []protocol.Diagnostic {
	ds := []protocol.Diagnostic{}
	open := s.isOpen(u)
	waiting := 0
	for _, c := range s.board.of(u) {
		if c.pending() {
			if waiting++; waiting > maxDiagnostics {
				continue
			}
		}
		if len(ds) > maxDiagnostics {
			continue
		}
		if c.staged == u {
			if open || c.pending() {
				ds = append(ds, s.ofStaged(c)...)
			}
		} else {
			ds = append(ds, s.ofTarget(c, u)...)
		}
	}
	if waiting > maxDiagnostics {
		ds = append(ds, s.diagnostic("", 0, u, protocol.DiagnosticSeverityInformation, "pending",
			fmt.Sprintf("%d more requests wait for a decision about this file.", waiting-maxDiagnostics)))
	}
	if l := s.listAt(u); l != nil && open {
		ds = append(ds, s.ofList(l)...)
	}
	if _, id, ok := s.stagedAt(u); ok && open && s.board.cards[id] == nil && !s.asking[id] {
		if l := s.linkOf(u); l != nil && l.hub != nil {
			ds = append(ds, s.diagnostic(id, 0, u, protocol.DiagnosticSeverityInformation, "unknown",
				"No request is known for this document any more. Saving it decides nothing."))
		}
	}
	return ds
}

// ofStaged is what a staged document says at its top.
func (s *server) ofStaged(c *card) []protocol.Diagnostic {
	if !c.pending() {
		text := upper(ended(&c.Approval)) + ". Saving this document decides nothing any more."
		ds := []protocol.Diagnostic{s.diagnostic(c.ID, 0, c.staged, protocol.DiagnosticSeverityInformation, string(c.State), text)}
		return append(ds, s.mismatch(c, 0, c.staged)...)
	}
	text := fmt.Sprintf("%s asks: %s (%s).", s.asker(c), titleOf(&c.Approval), s.client.keys(s.settings.Gestures, c.Surface))
	ds := []protocol.Diagnostic{s.diagnostic(c.ID, 0, c.staged, protocol.DiagnosticSeverityInformation, "pending", text)}
	for i, n := range notesOf(c) {
		if i == 5 {
			break
		}
		severity := protocol.DiagnosticSeverityInformation
		if n.Warning {
			severity = protocol.DiagnosticSeverityWarning
		}
		ds = append(ds, s.diagnostic(c.ID, 0, c.staged, severity, "note", approvals.Visible(n.Text)))
	}
	ds = append(ds, s.ofRefusal(c)...)
	return append(ds, s.ofHidden(c)...)
}

// ofTarget is what the file concerned says, at the place concerned.
func (s *server) ofTarget(c *card, u string) []protocol.Diagnostic {
	if !c.pending() {
		return s.mismatch(c, c.Line, u)
	}
	text := fmt.Sprintf("%s asks: %s (review, allow or deny by code action).", s.asker(c), titleOf(&c.Approval))
	return []protocol.Diagnostic{s.diagnostic(c.ID, c.Line, u, protocol.DiagnosticSeverityInformation, "pending", text)}
}

// mismatch is the one thing about a settled approval that is an error: the file
// is not what was approved.
func (s *server) mismatch(c *card, line uint32, u string) []protocol.Diagnostic {
	if c.State != approvals.Allowed || c.Outcome.State != "mismatch" {
		return nil
	}
	text := fmt.Sprintf("%s is not what was approved: %s", fileOf(&c.Approval), approvals.Visible(c.Outcome.Detail))
	return []protocol.Diagnostic{s.diagnostic(c.ID, line, u, protocol.DiagnosticSeverityError, "mismatch", text)}
}

// diagnostic makes one, over the whole of a line where the text is known.
func (s *server) diagnostic(id string, line uint32, u string, severity protocol.DiagnosticSeverity, code, text string) protocol.Diagnostic {
	end := uint32(1)
	if doc, ok := s.documents.Get(u); ok {
		line = min(line, uint32(doc.Text.Lines()-1))
		from := doc.Text.Offset(protocol.Position{Line: line}, s.documents.Encoding())
		end = max(1, doc.Text.Position(from+len(doc.Text.Line(int(line))), s.documents.Encoding()).Character)
	}
	d := protocol.Diagnostic{
		Range: protocol.Range{
			Start: protocol.Position{Line: line},
			End:   protocol.Position{Line: line, Character: end},
		},
		Severity: severity,
		Code:     protocol.String(code),
		Source:   protocol.NewOptional("countersign"),
		Message:  protocol.String(text),
	}
	if id != "" {
		if raw, err := json.Marshal(idArgument{ID: id}); err == nil {
			d.Data = raw
		}
	}
	return d
}

// idArgument is what code actions, code lenses and diagnostics carry.
type idArgument struct {
	ID string `json:"id"`
}
