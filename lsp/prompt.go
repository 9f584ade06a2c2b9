package lsp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"countersign/session"
	"countersign/session/hub"
	"countersign/staging"
)

// The prompt document is where a person writes to the agent: saving it sends
// it. It is the one document of the storage that is the person's and ours at
// once, so it is emptied after it was sent: by an edit where it is open, on disk
// where it is not. The file is never written while it is open, because editors
// then refuse the next save.

const promptName = "prompt.md"

// promptHint is what an empty prompt document holds; comments are not sent.
const promptHint = "<!-- Write to the agent below this line and save: saving sends it. -->\n\n"

func promptURI(storage string) string { return fileURI(filepath.Join(storage, promptName)) }

// promptText is what of a document is the person's: without comments and blank
// ends.
func promptText(text string) string {
	for {
		i := strings.Index(text, "<!--")
		if i < 0 {
			break
		}
		j := strings.Index(text[i:], "-->")
		if j < 0 {
			break
		}
		text = text[:i] + text[i+j+len("-->"):]
	}
	return strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
}

// prompts is what is known of prompt documents, by URI.
type prompts map[string]*promptDoc

type promptDoc struct {
	link    *link
	sent    string // what was sent last
	same    bool   // the document was not changed since that save
	sending bool
}

// promptAt is the prompt document at a URI, if it is one.
func (s *server) promptAt(uri string) *promptDoc {
	if d := s.prompts[uri]; d != nil {
		return d
	}
	for _, l := range s.links {
		if l.storage != "" && uri == promptURI(l.storage) {
			d := &promptDoc{link: l}
			if s.prompts == nil {
				s.prompts = prompts{}
			}
			s.prompts[uri] = d
			return d
		}
	}
	return nil
}

func (s *server) promptChanged(uri string) {
	d := s.promptAt(uri)
	if d == nil {
		return
	}
	if doc, ok := s.documents.Get(uri); ok && promptText(doc.Text.String()) != d.sent {
		d.same = false
	}
}

// promptSaved sends the prompt, unless the editor saved by itself or nothing is
// new in it.
func (s *server) promptSaved(uri, text string, reason SaveReason) {
	d := s.promptAt(uri)
	if d == nil {
		return
	}
	text = promptText(text)
	switch {
	case text == "":
		return
	case d.same && text == d.sent:
		s.showInfo("This prompt was sent already; change it to send another one.")
	case reason == SaveAfterDelay || reason == SaveFocusOut || s.gestures.Suspected():
		s.showInfo("The prompt was not sent: the editor saves by itself. Send it with the code action “Countersign: send this prompt”.")
	default:
		s.sendPrompt(uri, d, text, nil)
	}
}

// sendPrompt hands a prompt to the hub. done, if given, gets what it came to.
func (s *server) sendPrompt(uri string, d *promptDoc, text string, done func(session.Info, error)) {
	if done == nil {
		done = func(_ session.Info, err error) {
			if err != nil {
				s.showError("The prompt was not sent: %s", sentence(err))
			}
		}
	}
	if d.sending {
		done(session.Info{}, errors.New("the last one is still being sent"))
		return
	}
	d.sending, d.sent, d.same = true, text, true
	version := int32(-1)
	if doc, ok := s.documents.Get(uri); ok {
		version = doc.Version
	}
	set := s.settings.Session
	s.need(d.link, func(ctx context.Context, h Hub, err error) {
		var info session.Info
		if err == nil {
			info, err = h.Send(ctx, hub.SendParams{Text: text, Env: os.Environ(), Settings: &set})
		}
		s.push(func() {
			d.sending = false
			if err != nil {
				d.sent, d.same = "", false
			} else {
				d.link.info = info
				s.touched()
				s.progress()
				s.showInfo("Sent to the agent.")
				s.emptyPrompt(uri, d, version)
			}
			done(info, err)
		})
	})
}

// emptyPrompt empties the document of a prompt that was sent, unless the person
// has written on meanwhile.
func (s *server) emptyPrompt(uri string, d *promptDoc, version int32) {
	doc, open := s.documents.Get(uri)
	if !open {
		s.resetPrompt(uri)
		return
	}
	if !d.same || doc.Version != version || !s.client.applyEdit {
		return
	}
	edit := replaceAll(doc, promptHint, s.client.versioned, s.documents.Encoding())
	s.gesture(Event{Kind: EventEdited, URI: uri})
	s.work(func(ctx context.Context) {
		var res protocol.ApplyWorkspaceEditResult
		label := "Countersign: the prompt was sent"
		err := s.conn.Call(ctx, "workspace/applyEdit", &protocol.ApplyWorkspaceEditParams{Label: &label, Edit: edit}, &res)
		if err != nil || !res.Applied {
			s.log.Info("the prompt document was not emptied", zap.Error(err))
		}
	})
}

// resetPrompt empties the prompt on disk, if it holds nothing but what was sent.
func (s *server) resetPrompt(uri string) {
	d := s.prompts[uri]
	if d == nil || d.sent == "" || d.sending {
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

// promptCommand opens the prompt document.
func (s *server) promptCommand(ctx context.Context, _ *snapshot, _ arguments) (any, error) {
	var uri string
	err := s.call(ctx, s.root(), func(context.Context, Hub) error { return nil }, func(err error) {
		if err != nil {
			return
		}
		l := s.rootLink()
		uri = promptURI(l.storage)
		if uri == "" {
			return
		}
		s.touched()
		_, open := s.documents.Get(uri)
		if !open {
			s.resetPrompt(uri)
			if e := createPrivate(pathOf(uri), promptHint); e != nil {
				s.showError("The prompt document cannot be made: %s", sentence(e))
				return
			}
		}
		s.bring(uri, 2, "the prompt document")
	})
	if err != nil {
		return nil, err
	}
	return marshal(map[string]string{"uri": uri})
}

// sendCommand sends a text; without one, what the prompt document says.
func (s *server) sendCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	text := strings.TrimSpace(a.text)
	if a.hasText {
		if text == "" {
			return nil, errors.New("there is nothing to send: \"text\" is empty")
		}
		return s.sessionCall(ctx, func(ctx context.Context, h Hub) (session.Info, error) {
			return h.Send(ctx, hub.SendParams{Text: a.text, Env: os.Environ(), Settings: &sn.settings.Session})
		})
	}
	if sn.prompt == "" {
		return nil, errors.New("there is nothing to send: no \"text\", and no prompt document yet")
	}
	if doc, open := sn.texts[sn.prompt]; open {
		text = promptText(doc.String())
	} else if onDisk, err := readPrivate(pathOf(sn.prompt)); err == nil {
		text = promptText(onDisk)
	}
	if text == "" {
		return nil, errors.New("there is nothing to send: the prompt document is empty")
	}
	type result struct {
		info session.Info
		err  error
	}
	done := make(chan result, 1)
	s.push(func() {
		d := s.promptAt(sn.prompt)
		if d == nil {
			done <- result{err: errors.New("there is no prompt document any more")}
			return
		}
		s.sendPrompt(sn.prompt, d, text, func(info session.Info, err error) { done <- result{info, err} })
	})
	select {
	case r := <-done:
		if r.err != nil {
			return nil, fmt.Errorf("the prompt was not sent: %w", r.err)
		}
		return marshal(r.info)
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// maxPrivate bounds what is read of a prompt or a reason.
const maxPrivate = 4 << 20

// readPrivate reads a file of ours.
func readPrivate(path string) (string, error) {
	f, err := staging.OpenPrivate(path, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxPrivate))
	return string(raw), err
}

// writePrivate replaces the content of a file of ours.
func writePrivate(path, text string) error {
	f, err := staging.OpenPrivate(path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	return errors.Join(err, f.Close())
}

// createPrivate makes a file of ours with that text where there is none, or an
// empty one.
func createPrivate(path, text string) error {
	if old, err := readPrivate(path); err == nil && old != "" {
		return nil
	}
	return writePrivate(path, text)
}
