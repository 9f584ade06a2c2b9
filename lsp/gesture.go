package lsp

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Gestures turns what happens to documents into decisions: save allows, close
// denies, and most saves and closes that editors report are neither. It is a
// pure state machine: events and times in, verdicts out; no timers, no
// goroutines, no locks. One Gestures belongs to one connection and is used by
// one goroutine.
//
// Every document of the editor is watched, not only staged ones: a save of
// another document in the same breath, the rhythm of saves, and whether the
// person is typing all bear on what a gesture means.
//
// A document's life:
//
//	          Staged            Saved, or Closed + grace          Settled
//	foreign ─────────▶ pending ─────────────────────────▶ deciding ─────▶ settled
//	                      ▲                                  │
//	                      └────────────── Unsettled ─────────┘
//
// A verdict that decides is given at most once for each stay in pending.
type Gestures struct {
	set    GestureSettings
	ending bool
	docs   map[string]*watched // by URI
	byID   map[string]*watched // staged ones, by approval
	dirty  map[string]*watched // open with changes since the last save
	wait   map[string]*watched // with a held close or a held save
	seq    int

	rhythm     rhythm
	lastChange time.Time  // of any document
	lastSave   time.Time  // of any document
	saves      lately     // didSave
	appeared   lately     // shown by the server, or staged and opened
	shows      lately     // shown by the server
	previews   bool       // see HasPreviewTabs
	forgotten  []*watched // settled and no longer open, oldest first
	echo       echo       // see HasEcho
}

// Spans that are not settings.
const (
	// saveAllWindow: saves of one :wa or Save All come within this span.
	saveAllWindow = 150 * time.Millisecond
	// actionSpan: a save and a close of one action come within this span
	// (Helix :wbc 1 ms, VS Code 40 ms).
	actionSpan = 150 * time.Millisecond
	// rememberedSettled bounds how many closed, settled documents are known by
	// name; a save of an older one is told to be of an unknown approval.
	rememberedSettled = 4096
)

type docState int

const (
	stateForeign  docState = iota // not staged, as far as is known
	statePending                  // staged, waits for a decision
	stateDeciding                 // a verdict that decides was given, its outcome is not known yet
	stateSettled
)

// watched is one document of the editor.
type watched struct {
	uri, id string
	state   docState
	seq     int // order of staging

	open     bool      // the editor has it open
	openedAt time.Time // when it was last opened
	touched  bool      // changed since then
	opened   bool      // the editor had it open at some time
	closedAt time.Time // when it was last closed
	aside    bool      // the server does not open it by itself
	shown    bool      // the server asked to open it
	shownAt  time.Time

	armedAt   time.Time // the arm delay counts from here
	armedOpen bool      // ... and it was an opening, not an edit of ours
	typedInto bool      // changes moved armedAt

	reason SaveReason // of a will-save whose didSave has not come yet
	times  changeTimes

	savedAt time.Time // last save that decided nothing
	asked   int       // the echo that was asked for when it was saved or held last
	held    *heldSave // a save that allows unless others follow
	text    string    // decided text, while deciding

	closing  bool // a close that waits for its grace to pass
	replaced bool // ... while another document appeared
	withSave bool // ... together with a save that decided nothing

	told map[toldKey]bool
}

type toldKey struct {
	kind VerdictKind
	rule Rule
}

// heldSave is a save that passed every rule: it allows unless another document is
// saved in the same breath. A :wa writes the staged document first when it is the
// older buffer.
type heldSave struct {
	at, until time.Time
	text      string
}

// lately remembers the two documents last concerned by something, so that "the
// last one that is not this" can be asked.
type lately [2]struct {
	uri string
	at  time.Time
}

func (l *lately) note(uri string, now time.Time) {
	if l[0].uri != uri {
		l[1] = l[0]
	}
	l[0].uri, l[0].at = uri, now
}

// other reports whether a document other than uri was concerned within span.
func (l *lately) other(uri string, now time.Time, span time.Duration) bool {
	for _, e := range l {
		if e.uri != "" && e.uri != uri && now.Sub(e.at) <= span {
			return true
		}
	}
	return false
}

// NewGestures returns the state of a connection on which nothing happened yet.
func NewGestures(s GestureSettings) *Gestures {
	return &Gestures{
		set: s, docs: map[string]*watched{}, byID: map[string]*watched{},
		dirty: map[string]*watched{}, wait: map[string]*watched{},
	}
}

// Configure changes the settings. Held closes and saves are judged by the
// settings in force when they come due.
func (g *Gestures) Configure(s GestureSettings) { g.set = s }

// HasPreviewTabs says that in this client a document which the server shows takes
// the place of the one shown before it, and that closes are told minutes late:
// VS Code with a client that leaves showDocument to it.
func (g *Gestures) HasPreviewTabs() { g.previews = true }

// Suspected reports whether saves of this client mean amend because of their rhythm.
func (g *Gestures) Suspected() bool {
	return g.rhythm.suspected && g.set.SaveMeans == "allow" && !g.set.SaveMeansSet
}

// Deadline is the moment at which an EventTick is wanted, if any.
func (g *Gestures) Deadline() (at time.Time, ok bool) {
	for _, w := range g.wait {
		if g.silent(w) {
			continue // the editor's answer comes as an event
		}
		if due := g.due(w); !ok || due.Before(at) {
			at, ok = due, true
		}
	}
	return at, ok
}

// due is when a held save or close comes due, unless the editor is silent still.
// A held save is the stronger one.
func (g *Gestures) due(w *watched) time.Time {
	if w.held != nil {
		return w.held.until
	}
	return w.closedAt.Add(g.set.CloseGrace)
}

// Handle takes one event and says what it amounts to: usually nothing, at most
// one decision for a document. Times must not go backwards.
func (g *Gestures) Handle(now time.Time, ev Event) []Verdict {
	switch ev.Kind {
	case EventEnding:
		return g.endingNow(ev.Orderly)
	case EventTick:
		return g.tick(now)
	case EventEcho:
		g.echoed(ev.Echo)
		return g.tick(now)
	case EventSettled, EventUnsettled:
		g.settled(ev)
		return nil
	case EventStaged:
		g.staged(now, ev)
		return nil
	}
	if ev.URI == "" {
		return nil
	}
	if ev.Kind == EventSaved {
		return g.saved(now, ev)
	}
	w := g.watch(ev.URI)
	var out []Verdict
	switch ev.Kind {
	case EventShown:
		w.shown, w.shownAt = true, now
		if w.open {
			// It comes to the front again: keys may be under way as at an opening.
			g.arm(w, now, true)
		}
		g.shows.note(w.uri, now)
		g.appear(w.uri, now)
	case EventOpened:
		out = g.openedNow(now, w)
	case EventChanged:
		g.changed(now, w)
	case EventEdited:
		g.arm(w, now, false)
		if w.open {
			g.dirty[w.uri] = w
		}
	case EventWillSave:
		w.reason = ev.Reason
		out = g.notAlone(now, w)
	case EventClosed:
		out = g.closed(now, w)
	}
	g.forgetForeign(w)
	return out
}

func (g *Gestures) watch(uri string) *watched {
	w := g.docs[uri]
	if w == nil {
		w = &watched{uri: strings.Clone(uri)}
		g.docs[w.uri] = w
	}
	return w
}

// forgetForeign drops what need not be remembered: documents that are neither
// staged nor open.
func (g *Gestures) forgetForeign(w *watched) {
	if w.state == stateForeign && !w.open && w.reason == 0 && !w.shown {
		delete(g.docs, w.uri)
		delete(g.dirty, w.uri)
	}
}

func (g *Gestures) arm(w *watched, now time.Time, opening bool) {
	w.armedAt, w.armedOpen, w.typedInto = now, opening, false
}

func (g *Gestures) staged(now time.Time, ev Event) {
	if ev.URI == "" || ev.ID == "" || g.ending {
		return
	}
	state := statePending
	if old := g.byID[ev.ID]; old != nil {
		if old.uri != "" && old.uri != ev.URI {
			return // ids are never reused; the first place of an approval stands
		}
		state = old.state
	}
	w := g.watch(ev.URI)
	if w.id == ev.ID {
		return // told before; a settled approval stays settled
	}
	if w.id != "" {
		// Another approval at the same place: what was opened was not this one.
		g.drop(w)
		g.tombstone(w.id)
		w.open, w.opened, w.shown, w.told = false, false, false, nil
		delete(g.dirty, w.uri)
	}
	g.seq++
	w.id, w.state, w.seq, w.aside = strings.Clone(ev.ID), state, g.seq, ev.Aside
	g.byID[w.id] = w
	g.arm(w, now, w.open) // a restored tab was open before its approval was known
}

func (g *Gestures) settled(ev Event) {
	w := g.byID[ev.ID]
	switch {
	case ev.ID == "":
	case w == nil && ev.Kind == EventSettled:
		// The news of the settling overtook those of the staging.
		g.tombstone(strings.Clone(ev.ID))
	case w == nil:
	case ev.Kind == EventUnsettled && w.state == stateDeciding:
		w.state, w.text = statePending, ""
	case ev.Kind == EventSettled && w.state != stateSettled:
		g.drop(w)
		w.state, w.text = stateSettled, ""
		g.retire(w)
	}
}

// tombstone keeps an id that has no document from ever being decided here.
func (g *Gestures) tombstone(id string) {
	g.byID[id] = &watched{id: id, state: stateSettled}
	g.retire(g.byID[id])
}

// retire remembers a settled document that is not open as long as there is room.
func (g *Gestures) retire(w *watched) {
	if w.open || w.state != stateSettled {
		return
	}
	g.forgotten = append(g.forgotten, w)
	if len(g.forgotten) <= rememberedSettled {
		return
	}
	old := g.forgotten[0]
	g.forgotten = slices.Delete(g.forgotten, 0, 1)
	if !old.open && g.byID[old.id] == old && !slices.Contains(g.forgotten, old) {
		delete(g.byID, old.id)
		if g.docs[old.uri] == old {
			delete(g.docs, old.uri)
			delete(g.dirty, old.uri)
		}
	}
}

// drop forgets a held save or close.
func (g *Gestures) drop(w *watched) {
	w.held, w.closing, w.replaced, w.withSave = nil, false, false, false
	delete(g.wait, w.uri)
}

// endingNow: from here on nothing decides, and what was held is undecided. Only a
// save that waits for nothing but a sign of the editor (:wq) has it now, in order.
func (g *Gestures) endingNow(orderly bool) []Verdict {
	g.ending = true
	var out []Verdict
	for _, w := range g.waiting() {
		held := w.held
		g.drop(w)
		if orderly && held != nil && held.until.Equal(held.at) && !g.amends() {
			out = append(out, g.decide(w, VerdictAllow, RuleSaved, held.text))
			continue
		}
		out = append(out, g.say(w, VerdictRefused, RuleEnding, ""))
	}
	return out
}

// waiting lists the documents with something held, in order of staging.
func (g *Gestures) waiting() []*watched {
	return slices.SortedFunc(maps.Values(g.wait), func(a, b *watched) int { return a.seq - b.seq })
}

func (g *Gestures) tick(now time.Time) []Verdict {
	var out []Verdict
	for _, w := range g.waiting() {
		if g.silent(w) || now.Before(g.due(w)) {
			continue
		}
		held, replaced, withSave := w.held, w.replaced, w.withSave
		g.drop(w)
		switch {
		case held != nil && g.amends():
			w.savedAt = held.at
			out = append(out, g.say(w, VerdictKept, g.amendRule(), held.text))
		case held != nil:
			out = append(out, g.decide(w, VerdictAllow, RuleSaved, held.text))
		case g.set.CloseMeans != "deny":
			out = append(out, g.say(w, VerdictRefused, RuleCloseMeansNothing, ""))
		case replaced:
			out = append(out, g.say(w, VerdictRefused, RuleReplacedTab, ""))
		case withSave:
			out = append(out, g.say(w, VerdictRefused, RuleClosedWithSave, ""))
		default:
			out = append(out, g.decide(w, VerdictDeny, RuleClosed, ""))
		}
	}
	return out
}

// appear takes note that a document came before the person's eyes: a close of
// another one in that time was perhaps a tab that this one replaced.
func (g *Gestures) appear(uri string, now time.Time) {
	g.appeared.note(strings.Clone(uri), now)
	for _, w := range g.wait {
		if w.closing && w.uri != uri {
			w.replaced = true
		}
	}
}

func (g *Gestures) openedNow(now time.Time, w *watched) []Verdict {
	var out []Verdict
	if w.closing {
		g.drop(w)
		out = append(out, g.say(w, VerdictRefused, RuleReopened, ""))
	}
	w.open, w.opened, w.openedAt, w.touched = true, true, now, false
	w.times.clear()
	delete(g.dirty, w.uri)
	g.arm(w, now, true)
	if w.state != stateForeign {
		g.appear(w.uri, now)
	}
	return out
}

func (g *Gestures) changed(now time.Time, w *watched) {
	_, dirty := g.dirty[w.uri]
	g.rhythm.changed(now, &w.times, dirty)
	w.times.add(now)
	g.lastChange = now
	if !w.open {
		return
	}
	g.dirty[w.uri], w.touched = w, true
	if now.Sub(w.armedAt) < g.set.ArmDelay {
		// Typing that began before anyone could have read the document goes on:
		// the delay counts from its end.
		w.armedAt, w.typedInto = now, w.armedOpen
	}
}

func (g *Gestures) closed(now time.Time, w *watched) []Verdict {
	wasOpen := w.open
	w.open = false
	if wasOpen {
		w.closedAt = now
	}
	w.times.clear()
	delete(g.dirty, w.uri)
	switch {
	case w.state == stateSettled:
		if wasOpen {
			g.retire(w)
		}
	case w.state == stateForeign:
		w.reason, w.shown = 0, false
	case w.state != statePending || g.ending:
	case w.closing: // closed twice: the first one counts
	case !wasOpen:
		return []Verdict{g.say(w, VerdictRefused, RuleOpenedHere, "")}
	case w.held != nil:
		// Saved and closed in one go: the save decides.
	default:
		w.closing = true
		w.replaced = g.appeared.other(w.uri, now, g.set.CloseGrace) ||
			// A tab that nobody typed in gave way to what was shown after it.
			g.previews && w.shown && !w.touched && g.shows.other(w.uri, now, now.Sub(w.openedAt))
		w.withSave = !w.savedAt.IsZero() && (now.Sub(w.savedAt) <= actionSpan || g.silent(w))
		g.hold(w)
	}
	return nil
}

// say is a verdict about the document that decides nothing.
func (g *Gestures) say(w *watched, kind VerdictKind, rule Rule, text string) Verdict {
	again := false
	if kind == VerdictKept || rule == RuleAutosave {
		key := toldKey{kind, rule}
		again = w.told[key]
		if w.told == nil {
			w.told = map[toldKey]bool{}
		}
		w.told[key] = true
	}
	return Verdict{Kind: kind, URI: w.uri, ID: w.id, Rule: rule, Text: text, Again: again}
}

// decide is a verdict that decides.
func (g *Gestures) decide(w *watched, kind VerdictKind, rule Rule, text string) Verdict {
	g.drop(w)
	w.state, w.text = stateDeciding, text
	return Verdict{Kind: kind, URI: w.uri, ID: w.id, Rule: rule, Text: text}
}
