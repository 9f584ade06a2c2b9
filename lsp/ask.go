package lsp

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"
)

// "Ask about this": the prompt document is begun with the place, the text and
// the diagnostics of a selection. Nothing is sent by that.

// maxAsked bounds the text that is put into a prompt, in lines; the agent can
// read the rest in the file.
const maxAsked = 200

type askArgument struct {
	URI         string         `json:"uri"`
	Range       protocol.Range `json:"range"`
	Diagnostics []string       `json:"diagnostics,omitzero"`
}

// askActions offer to ask about what is selected and what is wrong there, in
// every document but our own.
func (sn *snapshot) askActions(uri string, p *codeActionParams) []action {
	doc, open := sn.texts[uri]
	if !open || sn.ownDocument(uri) {
		return nil
	}
	var as []action
	var problems []string
	for _, d := range p.Context.Diagnostics {
		if text := d.words(); text != "" {
			problems = append(problems, text)
		}
	}
	switch len(problems) {
	case 0:
	case 1:
		as = append(as, action{
			kindAsk, "ask about this diagnostic: " + oneLine(problems[0], maxTitle), "countersign.ask",
			askArgument{uri, p.Range, problems},
		})
	default:
		as = append(as, action{
			kindAsk, fmt.Sprintf("ask about these %d diagnostics", len(problems)), "countersign.ask",
			askArgument{uri, p.Range, problems},
		})
	}
	from, to := doc.Offset(p.Range.Start, sn.client.encoding()), doc.Offset(p.Range.End, sn.client.encoding())
	// Helix always has one character selected.
	if text := doc.String(); from < to && to <= len(text) && len([]rune(text[from:min(to, from+8)])) > 1 {
		lines := linesOf(p.Range)
		as = append(as, action{kindAsk, "ask about this selection (" + lines + ")", "countersign.ask", askArgument{URI: uri, Range: p.Range}})
	}
	return as
}

// ownDocument tells whether a document is one of ours: its path means nothing
// to an agent.
func (sn *snapshot) ownDocument(uri string) bool {
	path := pathOf(uri)
	if path == "" {
		return true
	}
	if sn.storage == "" {
		return false
	}
	rel, err := filepath.Rel(sn.storage, path)
	return err == nil && filepath.IsLocal(rel)
}

// words are a diagnostic as one line: "line 3: error: x is not defined (gopls)".
// Those of our own say nothing about the file.
func (d problem) words() string {
	source, message := stringOf(d.Source), stringOf(d.Message)
	if message == "" {
		var markup struct {
			Value string `json:"value"`
		}
		_ = json.Unmarshal(d.Message, &markup, lenient)
		message = markup.Value
	}
	if source == "countersign" || message == "" {
		return ""
	}
	severity := ""
	var n int
	if json.Unmarshal(d.Severity, &n) == nil && n >= 1 && n <= 4 {
		severity = [...]string{"error: ", "warning: ", "information: ", "hint: "}[n-1]
	}
	if source != "" {
		source = " (" + oneLine(source, 40) + ")"
	}
	return fmt.Sprintf("line %d: %s%s%s", d.Range.Start.Line+1, severity, oneLine(message, 400), source)
}

func stringOf(v jsontext.Value) string {
	var text string
	if v.Kind() != '"' || json.Unmarshal(v, &text, lenient) != nil {
		return ""
	}
	return text
}

// linesOf names the lines of a range, counted from 1. A range that ends at the
// beginning of a line does not have that line.
func linesOf(r protocol.Range) string {
	first, last := r.Start.Line, r.End.Line
	if last > first && r.End.Character == 0 {
		last--
	}
	if first == last {
		return fmt.Sprintf("line %d", first+1)
	}
	return fmt.Sprintf("lines %d-%d", first+1, last+1)
}

// askCommand begins a prompt about a place and opens it.
func (s *server) askCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	u := canonical(a.uri)
	doc, open := sn.texts[u]
	switch {
	case a.uri == "" || a.span == nil:
		return nil, errors.New(`which place? Give it: {"uri": "…", "range": {…}}`)
	case !open || sn.ownDocument(u):
		return nil, fmt.Errorf("%s is not open, or no file to ask about", oneLine(a.uri, 120))
	}
	return s.openPrompt(ctx, about(sn, u, doc, *a.span, a.problems))
}

// about is the beginning of a prompt about a place of a document.
func about(sn *snapshot, u string, doc *Text, r protocol.Range, problems []string) string {
	path := pathOf(u)
	if root := sn.client.root; root != "" {
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) {
			path = filepath.ToSlash(rel)
		}
	}
	// A diagnostic may be of more lines than the cursor is on; what is quoted are
	// whole lines, so that nothing begins in the middle of a word.
	first, last := int(r.Start.Line), int(r.End.Line)
	if last > first && r.End.Character == 0 {
		last--
	}
	last = min(last, doc.Lines()-1)
	first = min(first, last)
	var b strings.Builder
	where := linesOf(protocol.Range{Start: protocol.Position{Line: uint32(first)}, End: protocol.Position{Line: uint32(last), Character: 1}})
	fmt.Fprintf(&b, "About %s, %s:\n\n", path, where)
	var quoted strings.Builder
	for i := first; i <= last && i < first+maxAsked; i++ {
		quoted.WriteString(strings.TrimRight(doc.Line(i), "\r\n") + "\n")
	}
	b.WriteString(fenced(strings.TrimPrefix(filepath.Ext(path), "."), quoted.String()))
	if last >= first+maxAsked {
		fmt.Fprintf(&b, "\n(the first %d of %d lines)\n", maxAsked, last-first+1)
	}
	if len(problems) > 0 {
		b.WriteString("\n")
	}
	for _, p := range problems {
		b.WriteString("- " + oneLine(p, 500) + "\n")
	}
	return b.String()
}
