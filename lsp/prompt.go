package lsp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"countersign/session"
	"countersign/session/hub"
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
	talk    *talk  // the session that it goes to, where this is the document of a session
	sent    string // what was sent last
	same    bool   // the document was not changed since that save
	sending bool

	version int32     // of the document whose prompt was sent
	closeAt time.Time // when it is closed, if it is to be
	closing bool      // the editor is closing it
	// closeSince is when it was asked to; after what waits for it.
	closeSince time.Time
	after      []func()
}

// draft is the prompt that a text of the document holds.
func (d *promptDoc) draft(text string) string {
	if d.talk != nil {
		return promptText(d.talk.below(text))
	}
	return promptText(text)
}

// promptAt is the prompt document at a URI, if it is one.
func (s *server) promptAt(uri string) *promptDoc {
	if d := s.prompts[uri]; d != nil {
		return d
	}
	for _, l := range s.links {
		if l.storage != "" && uri == promptURI(l.storage) {
			return s.newPrompt(uri, &promptDoc{link: l})
		}
	}
	return nil
}

func (s *server) newPrompt(uri string, d *promptDoc) *promptDoc {
	if s.prompts == nil {
		s.prompts = prompts{}
	}
	s.prompts[uri] = d
	return d
}

func (s *server) promptChanged(uri string) {
	d := s.promptAt(uri)
	if d == nil {
		return
	}
	if doc, ok := s.documents.Get(uri); ok && d.draft(doc.Text.String()) != d.sent {
		d.same = false
	}
}

// promptSaved sends the prompt, unless the editor saved by itself or nothing is
// new in it.
func (s *server) promptSaved(uri, text string, reason SaveReason) {
	d := s.promptAt(uri)
	if d == nil {
		s.promptEarly(uri, text, reason)
		return
	}
	if d.talk != nil && !d.talk.marked(text) {
		s.showWarning("Nothing was sent: the line below which a prompt is written is gone. Open the session's document again.")
		return
	}
	text = d.draft(text)
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

// promptEarly keeps a save for the moment when the hub is reached: only then it
// is known which document is the prompt. An editor that starts a server for each
// folder may start this one with the prompt.
func (s *server) promptEarly(uri, text string, reason SaveReason) {
	l := s.links[""]
	if l == nil || l.hub != nil || l.storage != "" || filepath.Base(pathOf(uri)) != promptName {
		return
	}
	l.waiting = append(l.waiting, func(_ Hub, err error) {
		if err == nil && !s.ended && s.isOpen(uri) {
			s.promptSaved(uri, text, reason)
		}
	})
	s.attach(l, true)
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
	set, to := s.settings.Session, ""
	if d.talk != nil {
		to = d.talk.session
	}
	s.need(d.link, func(ctx context.Context, h Hub, err error) {
		var info session.Info
		if err == nil {
			info, err = h.Send(ctx, hub.SendParams{Text: text, Session: to, Env: os.Environ(), Settings: &set})
		}
		s.push(func() {
			d.sending = false
			if err != nil {
				d.sent, d.same = "", false
			} else {
				s.sessionHeard(d.link, info)
				s.showInfo("Sent to the agent.")
				s.endPrompt(uri, d, version)
			}
			done(info, err)
		})
	})
}

// promptCommand opens the prompt document.
func (s *server) promptCommand(ctx context.Context, _ *snapshot, _ arguments) (any, error) {
	return s.openPrompt(ctx, "")
}

// openPrompt opens the prompt document, with something added to what it says.
func (s *server) openPrompt(ctx context.Context, more string) (any, error) {
	var uri string
	err := s.call(ctx, s.root(), func(context.Context, Hub) error { return nil }, func(err error) {
		if err != nil {
			return
		}
		if uri = promptURI(s.rootLink().storage); uri == "" {
			return
		}
		s.touched()
		if d := s.promptAt(uri); d != nil && d.closing {
			d.after = append(d.after, func() { s.bringPrompt(uri, more) })
			return
		}
		s.bringPrompt(uri, more)
	})
	if err != nil {
		return nil, err
	}
	return marshal(map[string]string{"uri": uri})
}

// bringPrompt shows the prompt document.
func (s *server) bringPrompt(uri, more string) {
	doc, open := s.documents.Get(uri)
	d := s.promptAt(uri)
	if d != nil {
		d.closeAt = time.Time{}
	}
	if !open {
		s.resetPrompt(uri)
	}
	// An open document may have lost its file: it was deleted to close it.
	if err := createPrivate(pathOf(uri), promptHint); err != nil {
		s.showError("The prompt document cannot be made: %s", sentence(err))
		return
	}
	if open {
		was := doc.Text.String()
		if d != nil && d.same { // sent, and still there
			was = promptHint
		}
		s.changePrompt(uri, doc, joined(was, more))
		return
	}
	if more == "" {
		s.bring(uri, 2, "the prompt document")
		return
	}
	text, err := readPrivate(pathOf(uri))
	if err == nil {
		text = joined(text, more)
		err = writePrivate(pathOf(uri), text)
	}
	if err != nil {
		s.showError("The prompt document cannot be written: %s", sentence(err))
	}
	s.bring(uri, lastLine(text), "the prompt document")
}

// changePrompt gives an open prompt document another text, and shows it.
func (s *server) changePrompt(uri string, doc Document, text string) {
	const what = "the prompt document"
	was := doc.Text.String()
	switch {
	case text == was:
		s.bring(uri, lastLine(was), what)
		return
	case !s.client.applyEdit:
		s.bring(uri, 2, what)
		return
	}
	edit := replaceAll(doc, text, s.client.versioned, s.documents.Encoding())
	s.gesture(Event{Kind: EventEdited, URI: uri})
	s.work(func(ctx context.Context) {
		err := s.applyEdit(ctx, "Countersign: prompt", edit)
		s.push(func() {
			if err != nil {
				s.showError("The prompt document was not changed: %s", sentence(err))
			}
			s.bringLine(uri, lastLine(text), what)
		})
	})
}

// joined is a text with more at its end, a blank line between them, and a line
// to write on.
func joined(text, more string) string {
	if more == "" {
		return text
	}
	text = strings.TrimRight(text, "\n")
	if text != "" {
		text += "\n\n"
	}
	return text + strings.TrimRight(more, "\n") + "\n\n"
}

// lastLine is the number of the last line, where one writes on.
func lastLine(text string) uint32 {
	return uint32(strings.Count(strings.TrimSuffix(text, "\n"), "\n"))
}

// sendCommand sends a text; without one, what the prompt document says.
func (s *server) sendCommand(ctx context.Context, sn *snapshot, a arguments) (any, error) {
	text := strings.TrimSpace(a.text)
	if a.hasText {
		if text == "" {
			return nil, errors.New("there is nothing to send: \"text\" is empty")
		}
		return s.sessionCall(ctx, func(ctx context.Context, h Hub) (session.Info, error) {
			return h.Send(ctx, hub.SendParams{Text: a.text, Session: a.session, Env: os.Environ(), Settings: &sn.settings.Session})
		})
	}
	from := sn.prompt
	if a.uri != "" {
		from = canonical(a.uri)
	}
	if _, talk := sn.talks[from]; from == "" || from != sn.prompt && !talk {
		return nil, errors.New("there is nothing to send: no \"text\", and no prompt document yet")
	}
	type result struct {
		info session.Info
		err  error
	}
	done := make(chan result, 1)
	s.push(func() {
		d := s.promptAt(from)
		if d == nil {
			done <- result{err: errors.New("there is no prompt document any more")}
			return
		}
		if doc, open := s.documents.Get(from); open {
			text = d.draft(doc.Text.String())
		} else if onDisk, err := readPrivate(pathOf(from)); err == nil {
			text = d.draft(onDisk)
		}
		if text == "" {
			done <- result{err: errors.New("the prompt document is empty")}
			return
		}
		s.sendPrompt(from, d, text, func(info session.Info, err error) { done <- result{info, err} })
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
