package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"countersign/session/hub"
)

// A reason document is where a person writes why a request is denied: saving it
// with a text denies with that text, closing it does nothing.

const reasonName = "reason.md"

func reasonHint(c *card) string {
	return "<!-- Why is this denied? " + commentText(titleOf(&c.Approval)) +
		"\n     Write below and save: the request is denied and the agent reads your words. Closing decides nothing. -->\n\n"
}

// commentText is text that cannot end an HTML comment.
func commentText(text string) string {
	out := make([]rune, 0, len(text))
	for _, r := range text {
		if r == '>' || r == '<' {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}

const reasonsName = "reasons"

// denyWithReasonCommand denies with what the reason document says; where it does
// not say anything yet, it opens it.
func (s *server) denyWithReasonCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	c, err := sn.pick(a.id)
	if err != nil {
		return nil, err
	}
	for u, id := range sn.reasons {
		if doc, open := sn.texts[u]; open && id == c.ID {
			if text := promptText(doc.String()); text != "" {
				return s.settleNow(ctx, sn, c, hub.SettleParams{ID: c.ID, Message: text, How: "command"})
			}
		}
	}
	err = s.within(ctx, func() { err = s.openReason(c) })
	if err != nil {
		return nil, err
	}
	return marshal(item(c))
}

// recallReasons takes note of reason documents that are open from before: an
// editor restores them, or its server was started again.
func (s *server) recallReasons() {
	for _, d := range s.documents.All() {
		s.recallReason(d.URI)
	}
}

func (s *server) recallReason(uri string) {
	path := pathOf(uri)
	if filepath.Base(path) != reasonName || s.reasons[uri] != "" {
		return
	}
	dir := filepath.Dir(path)
	for _, l := range s.links {
		if l.storage != "" && filepath.Dir(dir) == filepath.Join(l.storage, reasonsName) {
			s.reasons[uri] = filepath.Base(dir)
			s.touched()
		}
	}
}

// openReason makes and shows a reason document.
func (s *server) openReason(c *card) error {
	dir := placeOf(c, reasonsName)
	if dir == "" {
		return errors.New("there is no place for a reason; use countersign.deny with a message")
	}
	path := filepath.Join(dir, reasonName)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the reason document cannot be made: %w", err)
	}
	if err := createPrivate(path, reasonHint(c)); err != nil {
		return fmt.Errorf("the reason document cannot be made: %w", err)
	}
	u := fileURI(path)
	s.reasons[u] = c.ID
	s.touched()
	s.bring(u, 3, "the reason for denying "+titleOf(&c.Approval))
	return nil
}

// reasonSaved denies with the reason, unless the editor saved by itself.
func (s *server) reasonSaved(uri, text string, reason SaveReason) {
	id, ok := s.reasons[uri]
	if !ok {
		return
	}
	text = promptText(text)
	c := s.board.cards[id]
	switch {
	case text == "":
	case c == nil:
		s.showError("Nothing was decided: no request with the id %s is known any more.", oneLine(id, 60))
	case !c.pending():
		s.showError("Nothing was decided about %s: %s.", s.title(c), ended(&c.Approval))
	case reason == SaveAfterDelay || reason == SaveFocusOut || s.gestures.Suspected():
		s.showInfo("Nothing was denied: the editor saves by itself. Deny with the code action in this document.")
	default:
		s.settle(c, hub.SettleParams{ID: c.ID, Message: text, How: "save", Rule: "reason"})
	}
}

// reasonClosed removes a reason document that is of no more use.
func (s *server) reasonClosed(uri string) {
	id, ok := s.reasons[uri]
	if !ok {
		return
	}
	if c := s.board.cards[id]; c == nil || !c.pending() {
		s.dropReason(uri)
	}
}

func (s *server) dropReason(uri string) {
	delete(s.reasons, uri)
	s.touched()
	s.removeOwn(pathOf(uri), reasonsName)
}
