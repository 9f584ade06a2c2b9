package lsp

import (
	"context"
	"maps"
	"slices"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/staging"
)

// openNext opens the next staged document by itself, when the settings let it
// and the person is not typing: keys that are under way would land in it.
func (s *server) openNext() {
	s.openAt = time.Time{}
	if !s.begun || !s.client.showDocument || s.settings.Open == "manual" || s.promptsClosing() {
		return
	}
	now := s.clock()
	u, at, ok := s.gestures.NextToOpen(now)
	if !ok {
		return
	}
	if s.settings.Open != "always" && now.Before(at) {
		s.openAt = at
		return
	}
	// Helix goes there either way. Asked not to, it opens one more split for
	// every proposal, and closing the document leaves the split.
	line := s.lineOf(u)
	behind := s.settledHere(u)
	s.showDocument(u, s.client.is("helix"), func(ctx context.Context) uint32 {
		for _, close := range behind {
			close(ctx)
		}
		return lineWithin(u, line)
	}, nil)
}

// settledHere closes what the person at this editor has settled by a save before
// this document: it stayed, but with each further one there would be a window more.
func (s *server) settledHere(next string) (closing []func(context.Context)) {
	for _, id := range slices.Sorted(maps.Keys(s.board.cards)) {
		c := s.board.cards[id]
		if !c.pending() && c.staged != next && c.By.PID == s.client.pid && c.By.FrontEnd == s.client.name {
			if f := s.closeWay(c); f != nil {
				closing = append(closing, f)
			}
		}
	}
	return closing
}

// lineOf is the line at which a staged document is best shown.
func (s *server) lineOf(u string) uint32 {
	for _, c := range s.board.of(u) {
		if c.staged == u {
			return c.Line
		}
	}
	return 0
}

// showDocument asks the editor to show a document. at finds a line that it has,
// beside the loop, because it may have to read the file; failed, if given, runs
// on the loop when the editor did not show it.
func (s *server) showDocument(u string, focus bool, at func(context.Context) uint32, failed func()) {
	s.gesture(Event{Kind: EventShown, URI: u})
	p := &protocol.ShowDocumentParams{URI: uri.URI(u), TakeFocus: &focus}
	s.work(func(ctx context.Context) {
		if line := at(ctx); line > 0 {
			at := protocol.Position{Line: line}
			p.Selection = &protocol.Range{Start: at, End: at}
		}
		var res protocol.ShowDocumentResult
		err := s.conn.Call(ctx, "window/showDocument", p, &res)
		if err == nil && res.Success {
			return
		}
		s.log.Warn("the editor did not show a document", zap.String("uri", u), zap.Error(err))
		if failed != nil {
			s.push(failed)
		}
	})
}

// lineWithin is the line, or the last one of the file: a change can begin behind
// it, and Neovim 0.12 answers a line that is not there with an error at a prompt.
func lineWithin(u string, line uint32) uint32 {
	if line == 0 {
		return 0
	}
	text, err := readPrivate(pathOf(u))
	if err != nil {
		return 0
	}
	return min(line, lastLine(text))
}

// review shows an approval's document because a person asked for it. By its
// staged document where there is one; otherwise all that there is to say.
func (s *server) review(c *card) {
	if c.staged == "" {
		s.reviewView(c)
		return
	}
	s.bring(c.staged, c.Line, "the proposal for "+s.title(c))
}

// bring shows a document by the best way that the editor has.
func (s *server) bring(u string, line uint32, what string) {
	if doc, open := s.documents.Get(u); open {
		line = min(line, lastLine(doc.Text.String()))
	} else {
		line = lineWithin(u, line)
	}
	s.bringLine(u, line, what)
}

// bringLine is bring at a line that the document has.
func (s *server) bringLine(u string, line uint32, what string) {
	switch {
	case s.client.showDocument:
		s.showDocument(u, true, func(context.Context) uint32 { return line }, func() { s.nameFile(u, what) })
	case s.client.applyEdit && !s.isOpen(u):
		s.editVirtually(u, what)
	default:
		s.nameFile(u, what)
	}
}

// nameFile is the last way to show a document: to say where it lies.
func (s *server) nameFile(u, what string) {
	s.showInfo("Open %s: %s", what, pathOf(u))
}

// editVirtually makes an editor that cannot be asked to show a document load
// it: by an edit that leaves its text as it is. Such editors keep it as a
// changed buffer, so the person is told where it is. A save that this edit
// causes cannot allow: the gestures know of it.
func (s *server) editVirtually(u, what string) {
	found, err := staging.Look(staging.Staged{Path: pathOf(u)}, maxStaged(s.settings))
	if err != nil {
		s.nameFile(u, what)
		return
	}
	s.gesture(Event{Kind: EventShown, URI: u})
	doc := Document{URI: u, Text: NewText(found.Text)}
	edit := replaceAll(doc, found.Text, s.client.versioned, s.documents.Encoding())
	s.work(func(ctx context.Context) {
		var res protocol.ApplyWorkspaceEditResult
		label := "Countersign: review"
		err := s.conn.Call(ctx, "workspace/applyEdit", &protocol.ApplyWorkspaceEditParams{Label: &label, Edit: edit}, &res)
		s.push(func() {
			if err != nil || !res.Applied {
				s.log.Warn("the editor did not take an edit", zap.String("uri", u), zap.Error(err))
			} else {
				s.gesture(Event{Kind: EventEdited, URI: u})
			}
			s.nameFile(u, what)
		})
	})
}

// replaceAll is the edit that replaces the whole text of a document. It names
// no version: some editors drop an edit of a version that they have moved on
// from and say that they applied it.
func replaceAll(doc Document, text string, versioned bool, enc protocol.PositionEncodingKind) protocol.WorkspaceEdit {
	return replaceRange(doc, 0, doc.Text.Len(), text, versioned, enc)
}

func workspaceEdit(of string, edit protocol.TextEdit, versioned bool) protocol.WorkspaceEdit {
	u := uri.URI(of)
	if !versioned {
		return protocol.WorkspaceEdit{Changes: map[uri.URI][]protocol.TextEdit{u: {edit}}}
	}
	id := protocol.OptionalVersionedTextDocumentIdentifier{}
	id.URI = u
	return protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{
		&protocol.TextDocumentEdit{TextDocument: id, Edits: []protocol.TextDocumentEditElement{&edit}},
	}}
}

// reviewInWords shows a request of which no document can be made.
func (s *server) reviewInWords(c *card) {
	text := s.asker(c) + " asks: " + approvals.Visible(c.Title)
	if c.Summary != "" && c.Summary != c.Title {
		text += "\n" + approvals.Visible(c.Summary)
	}
	for _, n := range c.Notes {
		text += "\n" + approvals.Visible(n.Text)
	}
	s.showInfo("%s", text)
}

// closeSettled closes the document of an approval that the person at this editor
// has just settled, or that was settled before the editor restored it, where that does no harm: the editor closes what is deleted,
// the document is open and has no unsaved change, and nobody is typing. After a
// save it stays until the next one opens, because a save may be followed by more
// keys; and what others settle stays, because somebody may be reading it.
func (s *server) closeSettled(c *card) {
	if f := s.closeWay(c); f != nil {
		s.work(f)
	}
}

// closeWay is how the document of a settled approval is closed, nil where that
// would do harm.
func (s *server) closeWay(c *card) func(context.Context) {
	if c.staged == "" || !s.isOpen(c.staged) || !s.client.deletes || s.client.is("helix") {
		return nil
	}
	doc, _ := s.documents.Get(c.staged)
	if saved, ok := s.saved[c.staged]; !ok || saved != doc.Text.String() || !s.gestures.SafeToOpen(s.clock()) {
		return nil
	}
	edit, text := deleteFile(c.staged), doc.Text.String()
	return func(ctx context.Context) {
		defer standIn(pathOf(c.staged), text)()
		var res protocol.ApplyWorkspaceEditResult
		err := s.conn.Call(ctx, "workspace/applyEdit", &protocol.ApplyWorkspaceEditParams{Edit: edit}, &res)
		if err != nil || !res.Applied {
			s.log.Info("a settled document was not closed", zap.String("uri", c.staged), zap.Error(err))
		}
	}
}
