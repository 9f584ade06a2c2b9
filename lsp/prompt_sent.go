package lsp

import (
	"context"
	"errors"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"
)

// What becomes of a prompt document once its prompt was sent. Where the editor
// closes a document that is deleted, that is done, once nobody types: an emptied
// document would be one with unsaved changes, over which the editor would not
// close or quit. Elsewhere its text is taken out by an edit.

// sentLabel goes with the edit that takes a sent prompt out of its document.
// Countersign's own editor snippets save the document then.
const sentLabel = "Countersign: the prompt was sent"

// endPrompt deals with the document of a prompt that was sent, unless the person
// has written on meanwhile.
func (s *server) endPrompt(uri string, d *promptDoc, version int32) {
	doc, open := s.documents.Get(uri)
	switch {
	case d.talk != nil:
		if open && d.same {
			d.talk.sent = d.sent
		}
	case !open:
		s.resetPrompt(uri)
	case !d.same || doc.Version != version:
	case s.closesDeleted():
		d.version = version
		d.closeAt = s.gestures.idleFrom()
		if now := s.clock(); d.closeAt.Before(now) {
			d.closeAt = now
		}
	default:
		s.emptyPrompt(uri, doc)
	}
}

// closesDeleted tells whether the editor closes a document whose file the server
// has it delete.
func (s *server) closesDeleted() bool {
	return s.client.applyEdit && s.client.deletes && !s.client.is("helix")
}

// emptyPrompt empties an open prompt document.
func (s *server) emptyPrompt(uri string, doc Document) {
	if !s.client.applyEdit {
		return
	}
	edit := replaceAll(doc, promptHint, s.client.versioned, s.documents.Encoding())
	s.gesture(Event{Kind: EventEdited, URI: uri})
	s.work(func(ctx context.Context) {
		if err := s.applyEdit(ctx, sentLabel, edit); err != nil {
			s.log.Info("the prompt document was not emptied", zap.Error(err))
		}
	})
}

var errNotApplied = errors.New("the editor did not apply the edit")

// applyEdit has the editor apply an edit.
func (s *server) applyEdit(ctx context.Context, label string, edit protocol.WorkspaceEdit) error {
	var res protocol.ApplyWorkspaceEditResult
	err := s.conn.Call(ctx, "workspace/applyEdit", &protocol.ApplyWorkspaceEditParams{Label: &label, Edit: edit}, &res)
	if err == nil && !res.Applied {
		return errNotApplied
	}
	return err
}

// closePrompts closes the prompt documents whose time has come, and tells when
// the next one's comes; zero for none.
func (s *server) closePrompts() (next time.Time) {
	now := s.clock()
	for uri, d := range s.prompts {
		if d.closeAt.IsZero() || d.closing {
			continue
		}
		doc, open := s.documents.Get(uri)
		if !open || !d.same || doc.Version != d.version {
			d.closeAt = time.Time{}
			continue
		}
		// Keys under way would land in whatever is behind it.
		if idle := s.gestures.idleFrom(); idle.After(d.closeAt) {
			d.closeAt = idle
		}
		if now.Before(d.closeAt) {
			if next.IsZero() || d.closeAt.Before(next) {
				next = d.closeAt
			}
			continue
		}
		s.closePrompt(uri, d)
	}
	return next
}

// promptsClosing tells whether a prompt document is being closed: what is opened
// meanwhile would be closed with its window, in Neovim.
func (s *server) promptsClosing() bool {
	for _, d := range s.prompts {
		if d.closing && s.clock().Sub(d.closeSince) < closePatience {
			return true
		}
	}
	return false
}

// closePatience is how long the editor may take to close a document.
const closePatience = 2 * time.Second

// closePrompt has the editor close a prompt document by deleting its file.
func (s *server) closePrompt(u string, d *promptDoc) {
	d.closeAt, d.closing, d.closeSince = time.Time{}, true, s.clock()
	s.work(func(ctx context.Context) {
		err := s.applyEdit(ctx, sentLabel, deleteFile(u))
		s.push(func() {
			d.closing = false
			if err != nil {
				s.log.Info("the prompt document was not closed", zap.Error(err))
				if doc, open := s.documents.Get(u); open && d.same && doc.Version == d.version {
					s.emptyPrompt(u, doc)
				}
			}
			after := d.after
			d.after = nil
			for _, f := range after {
				f()
			}
		})
	})
}

// deleteFile is the edit that deletes a file.
func deleteFile(u string) protocol.WorkspaceEdit {
	yes := true
	return protocol.WorkspaceEdit{DocumentChanges: []protocol.DocumentChange{
		&protocol.DeleteFile{Kind: "delete", URI: uri.URI(u), Options: &protocol.DeleteFileOptions{IgnoreIfNotExists: &yes}},
	}}
}

// resetPrompt empties the prompt on disk, if it holds nothing but what was sent.
func (s *server) resetPrompt(uri string) {
	d := s.prompts[uri]
	if d == nil || d.talk != nil || d.sent == "" || d.sending {
		return
	}
	path := pathOf(uri)
	text, err := readPrivate(path)
	if err != nil || promptText(text) != d.sent {
		return
	}
	if err := writePrivate(path, promptHint); err != nil {
		s.log.Warn("the prompt was not emptied", zap.Error(err))
	}
}

func (s *server) promptClosed(uri string) {
	if s.prompts[uri] != nil {
		s.resetPrompt(uri)
	}
}

// tidyPrompts empties at the end what was sent: editors quit without closing.
func (s *server) tidyPrompts() {
	for uri := range s.prompts {
		s.resetPrompt(uri)
	}
}
