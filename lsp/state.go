package lsp

import (
	"maps"
	"time"

	"countersign/session"
	"countersign/staging"
)

// state is what the event loop owns. Nothing else touches it; requests see it
// through a snapshot.
type state struct {
	now       func() time.Time
	client    *client
	begun     bool // initialized came
	ended     bool // shutdown, exit or the end of input: nothing is shown or decided any more
	settings  Settings
	layers    layers
	deferred  []func() // what waits for the first settings
	early     []string // warnings from before messages may be shown
	documents *Documents
	gestures  *Gestures
	echo      int // the last one that the gestures had asked for
	board     *board
	prints    map[string]staging.Print // by staged URI: the file at the last save seen

	links     map[string]*link // by storage asked for; "" is the hub of the root
	ours      map[string]bool  // ids that this front end is deciding: no need to announce how they end
	openAt    time.Time        // when the next document may be opened, if there is one
	closeAt   time.Time        // when a prompt that was sent may be closed
	feedAt    time.Time        // when a session's document gets its news
	refreshAt time.Time        // when a virtual one is to be read again
	tell      announcer
	prompts   prompts
	reasons   map[string]string // URI of a reason document → approval id
	views     map[string]string // URI of a view → approval id
	lists     map[string]*list  // by id
	talks     map[string]*talk  // by URI
	// shownTalks are the virtual documents that the editor has asked for, by session.
	shownTalks map[string]*refresh
	details    map[string]*detail
	refused    map[string]refusal    // by staged URI: why the last decision was not taken
	spins      map[string]*spin      // by session
	turns      int                   // begun so far
	located    map[string]located    // by staged URI, of open documents
	left       map[string]string     // by staged URI of what waits: the text as it was closed
	saved      map[string]string     // by staged URI: the text as it was last opened or saved
	why        map[string]SaveReason // by URI: reason of a will-save whose save has not come
	lastNow    time.Time
	arrived    time.Time // when the editor's message in work was read; zero outside of one

	asking     map[string]bool   // ids that a hub is being asked about
	refreshing bool              // a code lens refresh is under way
	stale      map[string]bool   // URIs whose diagnostics may have changed
	published  map[string]string // URI → diagnostics last published
	lensStale  bool
	taken      *snapshot // nil once anything has changed
	timer      *time.Timer
	timerAt    time.Time
}

func newState(now func() time.Time) state {
	st := state{
		now:       now,
		client:    newClient(initializeParams{}),
		settings:  DefaultSettings(),
		documents: NewDocuments(""),
		board:     newBoard(),
		prints:    map[string]staging.Print{},
		links:     map[string]*link{},
		ours:      map[string]bool{},
		reasons:   map[string]string{},
		views:     map[string]string{},
		lists:     map[string]*list{},
		details:   map[string]*detail{},
		spins:     map[string]*spin{},
		refused:   map[string]refusal{},
		located:   map[string]located{},
		left:      map[string]string{},
		saved:     map[string]string{},
		asking:    map[string]bool{},
		why:       map[string]SaveReason{},
		stale:     map[string]bool{},
		published: map[string]string{},
	}
	st.gestures = NewGestures(st.settings.Gestures)
	return st
}

// A snapshot is the state as a request sees it: taken in wire order, never
// changed, safe to read from any goroutine.
type snapshot struct {
	client   *client
	settings Settings
	cards    map[string]*card
	pending  []*card
	byURI    map[string][]*card
	texts    map[string]*Text         // open documents
	prints   map[string]staging.Print // by staged URI: the file at the last save seen
	session  session.Info             // the current one
	sessions []session.Info           // all that are open, the current one first
	several  bool                     // it has to be said whose a request is
	storage  string                   // of the hub of the root; empty while there is none
	reasons  map[string]string        // reason documents: URI → approval id
	talks    map[string]string        // documents of sessions: URI → session
	lists    map[string]string        // lists that are not dealt with: URI → id
	prompt   string                   // URI of the prompt document; empty while there is no hub
}

// snapshot takes one, or gives the last one again when nothing has changed.
func (s *server) snapshot() *snapshot {
	if s.taken == nil {
		sn := &snapshot{
			client:   s.client,
			settings: s.settings,
			cards:    maps.Clone(s.board.cards),
			pending:  s.board.pending,
			byURI:    maps.Clone(s.board.byURI),
			texts:    map[string]*Text{},
			prints:   maps.Clone(s.prints),
			reasons:  maps.Clone(s.reasons),
			several:  s.several(),
			talks:    map[string]string{},
			lists:    map[string]string{},
		}
		for id, l := range s.lists {
			if !l.done {
				sn.lists[l.uri] = id
			}
		}
		for u, t := range s.talks {
			sn.talks[u] = t.session
		}
		for _, d := range s.documents.All() {
			sn.texts[d.URI] = d.Text
		}
		if l := s.links[""]; l != nil {
			sn.session, sn.sessions = l.info, l.all()
			if l.storage != "" {
				sn.storage, sn.prompt = l.storage, promptURI(l.storage)
			}
		}
		s.taken = sn
	}
	return s.taken
}

// touched says that the state has changed and that the diagnostics of those
// documents may have.
func (s *server) touched(uris ...string) {
	s.taken = nil
	for _, u := range uris {
		if u != "" {
			s.stale[u] = true
		}
	}
}

// rest runs after each batch of events: what a change entails is done once for
// all of them.
func (s *server) rest() {
	defer s.recovered("the end of a batch")
	if s.ended {
		return
	}
	s.closeAt = s.closePrompts()
	s.openNext()
	s.feedAt, s.refreshAt = s.feedTalks(), s.refreshTalks()
	s.announce()
	s.publish()
	s.refreshLenses()
	s.setTimer()
}

// setTimer arranges for a tick at the next moment that anything waits for.
func (s *server) setTimer() {
	var at time.Time
	gestureAt, _ := s.gestures.Deadline()
	for _, t := range []time.Time{gestureAt, s.tell.next, s.openAt, s.closeAt, s.feedAt, s.refreshAt} {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	if at.Equal(s.timerAt) {
		return
	}
	if s.timer != nil {
		s.timer.Stop()
	}
	s.timerAt = at
	if at.IsZero() {
		return
	}
	s.timer = time.AfterFunc(at.Sub(s.now()), func() { s.push(s.tick) })
}

// tick is what the timer does.
func (s *server) tick() {
	s.timerAt = time.Time{}
	if s.ended {
		return
	}
	s.gesture(Event{Kind: EventTick})
}

// end is the end of everything that could decide or show something. It is orderly
// where the editor asked for it, behind all that it had to say.
func (s *server) end(orderly bool) {
	if s.ended {
		return
	}
	s.gesture(Event{Kind: EventEnding, Orderly: orderly})
	s.ended = true
	if s.timer != nil {
		s.timer.Stop()
	}
	s.tidyPrompts()
	s.tidyTalks()
}
