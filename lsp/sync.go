package lsp

import (
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"countersign/staging"
)

// This file turns what happens to documents into events for the gestures. All
// documents are watched, not only staged ones: the rhythm of saves and whether
// the person is typing show on any of them.

// begin starts what must not hold initialize up.
func (s *server) begin() {
	s.begun = true
	for _, text := range s.early {
		s.showWarning("%s", text)
	}
	s.early = nil
	s.registerForSettings()
	s.pullSettings(s.configured)
}

// configured: the settings are in, so that hubs can be looked for. An editor
// that was started in a staged document names no root: its first document then
// says whose hub is meant.
func (s *server) configured() {
	if s.layers.first {
		return
	}
	s.layers.first = true
	for _, f := range s.deferred {
		f()
	}
	s.deferred = nil
	if s.client.root != "" {
		s.attach(s.rootLink(), true)
	}
}

// stagedAt tells whether a URI names a staged document, and of what.
func (s *server) stagedAt(uri string) (storage, id string, ok bool) {
	if at, ok := s.located[uri]; ok {
		return at.storage, at.id, true
	}
	path := pathOf(uri)
	if path == "" {
		return "", "", false
	}
	storage, id, ok = staging.Locate(path)
	if ok && s.isOpen(uri) { // looked up again and again: each time every folder on the way
		s.located[uri] = located{storage, id}
	}
	return storage, id, ok
}

// located is where a staged document lies.
type located struct{ storage, id string }

// idAt is the id that the gestures know a document by: its approval's, or its
// list's; empty for every other document.
func (s *server) idAt(uri string) string {
	if _, id, ok := s.stagedAt(uri); ok {
		return id
	}
	return s.listID(uri)
}

// linkOf is the link to the hub that owns a document: of its storage when it
// lies in one, otherwise of the workspace root. It may be nil.
func (s *server) linkOf(uri string) *link {
	storage, _, ok := s.stagedAt(uri)
	if !ok {
		return s.links[""]
	}
	storage = filepath.Clean(storage)
	if root := s.links[""]; root != nil && root.storage == storage {
		return root // also where the document was seen before the root's hub was known
	}
	return s.links[storage]
}

// reach makes sure that the hub concerned with a document is being looked for.
func (s *server) reach(uri string) *link {
	storage, _, staged := s.stagedAt(uri)
	if l := s.linkOf(uri); l != nil {
		s.attach(l, false)
		return l
	}
	if !staged {
		l := s.rootLink()
		s.attach(l, true)
		return l
	}
	root := s.links[""]
	if root == nil && s.client.root == "" {
		// Started in this document: its hub is the one of the root, too.
		root = &link{storage: filepath.Clean(storage)}
		s.links[""] = root
		s.attach(root, true)
		return root
	}
	if root == nil && !s.layers.first || root != nil && root.storage == "" && root.connecting {
		return nil // the hub of the root may turn out to be the owner: see reachStaged
	}
	l := s.storageLink(storage)
	s.attach(l, false)
	return l
}

// complain logs what a client got wrong.
func (s *server) complain(uri, complaint string) {
	if complaint != "" {
		s.log.Info("the editor's document", zap.String("uri", uri), zap.String("complaint", complaint))
	}
}

// didOpen. Some editors send it twice, or without a language.
func (s *server) didOpen(p didOpenParams) {
	uri := canonical(p.TextDocument.URI)
	s.complain(uri, s.documents.Open(uri, "", version(p.TextDocument.Version, 0), p.TextDocument.Text))
	s.board.opened(uri)
	s.touched(uri)
	s.lensStale = true
	s.reach(uri)
	_, id, staged := s.stagedAt(uri)
	if !staged {
		id = s.listID(uri)
	}
	if staged {
		delete(s.left, uri)
		s.saved[uri] = p.TextDocument.Text
		if l := s.linkOf(uri); l != nil && s.board.cards[id] == nil {
			s.ask(l, id)
		}
	}
	s.recallReason(uri)
	if l := s.linkOf(uri); l != nil {
		s.recallTalk(l, uri)
	}
	s.gesture(Event{Kind: EventOpened, URI: uri, ID: id})
}

func (s *server) didChange(p didChangeParams) {
	uri := canonical(p.TextDocument.URI)
	expected := int32(0)
	if doc, ok := s.documents.Get(uri); ok {
		expected = doc.Version + 1
	}
	s.complain(uri, s.documents.Change(uri, version(p.TextDocument.Version, expected), p.ContentChanges))
	s.taken = nil
	s.promptChanged(uri)
	if s.ownChange(uri) {
		return
	}
	s.unrefused(uri)
	s.hiddenMoved(uri)
	s.gesture(Event{Kind: EventChanged, URI: uri, ID: s.idAt(uri)})
}

func (s *server) willSave(p willSaveParams) {
	uri := canonical(p.TextDocument.URI)
	s.why[uri] = SaveReason(p.Reason)
	s.gesture(Event{Kind: EventWillSave, URI: uri, ID: s.idAt(uri), Reason: SaveReason(p.Reason)})
}

// didSave looks at once at what was written: it is what will count.
func (s *server) didSave(p didSaveParams) {
	uri := canonical(p.TextDocument.URI)
	text, known, complaint := s.documents.Save(uri, p.Text)
	s.complain(uri, complaint)
	s.taken = nil
	reason := s.why[uri]
	delete(s.why, uri)
	ev := Event{Kind: EventSaved, URI: uri}
	if _, id, staged := s.stagedAt(uri); staged {
		ev.ID = id
		ev.Disk = s.lookAt(uri, id, text, known)
		if known {
			s.saved[uri] = text.String()
		}
		s.reach(uri)
	} else if ev.ID = s.listID(uri); ev.ID != "" {
		if l := s.listAt(uri); l != nil {
			ev.Disk = l.look(text, known)
		}
	}
	s.gesture(ev)
	if known {
		s.promptSaved(uri, text.String(), reason)
		s.reasonSaved(uri, text.String(), reason)
	}
}

// lookAt reads a staged document back after a save.
func (s *server) lookAt(uri, id string, text *Text, known bool) Disk {
	st := staging.Staged{ID: id, Path: pathOf(uri)}
	if c := s.board.cards[id]; c != nil && c.Staged != nil && c.staged == uri {
		st = *c.Staged
	}
	if p, ok := s.prints[uri]; ok {
		st.Print = p
	}
	found, err := staging.Look(st, maxStaged(s.settings))
	if err != nil {
		return Disk{Err: err.Error()}
	}
	s.prints[uri] = found.Print
	return Disk{Written: found.Written, Same: known && SameText(found.Text, text.String()), Text: found.Text}
}

// maxStaged bounds what is read back: a person may add to a document, but a
// document that grew beyond this is not what they reviewed.
func maxStaged(set Settings) int64 { return 2*max(set.Session.MaxPreviewBytes, 1<<20) + 1<<20 }

func (s *server) didClose(p documentParams) {
	uri := canonical(p.TextDocument.URI)
	if _, id, staged := s.stagedAt(uri); staged {
		if c := s.board.cards[id]; c != nil && c.pending() && c.staged == uri {
			if doc, open := s.documents.Get(uri); open {
				s.left[uri] = doc.Text.String()
			}
		}
	}
	s.complain(uri, s.documents.Close(uri))
	s.board.closed(uri)
	s.touched(uri)
	s.gesture(Event{Kind: EventClosed, URI: uri, ID: s.idAt(uri)})
	s.promptClosed(uri)
	s.talkClosed(uri)
	s.reasonClosed(uri)
	s.viewClosed(uri)
	s.listClosed(uri)
	delete(s.saved, uri)
	delete(s.located, uri)
	delete(s.why, uri)
	s.forget()
}

// forget drops what settled approvals and closed documents leave behind.
func (s *server) forget() {
	for _, c := range s.board.prune(s.isOpen) {
		s.touched(s.board.documents(c)...)
		delete(s.prints, c.staged)
		delete(s.left, c.staged)
		delete(s.details, c.ID)
		delete(s.ours, c.ID)
	}
}

// isOpen tells whether the editor has a document open.
func (s *server) isOpen(uri string) bool {
	_, ok := s.documents.Get(uri)
	return ok
}

// gesture hands an event to the gestures and acts on what it amounts to.
func (s *server) gesture(ev Event) {
	if s.ended {
		return
	}
	for _, v := range s.gestures.Handle(s.clock(), ev) {
		s.act(v)
	}
	s.askEcho()
}

// clock is the time, or when the editor's message in work came, never going
// backwards.
func (s *server) clock() time.Time {
	t := s.arrived
	if t.IsZero() {
		t = s.now()
	}
	if t.After(s.lastNow) {
		s.lastNow = t
	}
	return s.lastNow
}
