package lsp

import "time"

// When the server may open a document by itself. Keys typed into a window that
// popped up land in the proposal (Neovim) or run as commands on it (Helix).
const (
	idleAfterChange = 1500 * time.Millisecond // no change anywhere for this long: nobody types
	idleAfterSave   = 500 * time.Millisecond
	openingTakes    = 5 * time.Second // a document that was shown has this long to be reported open
)

// SafeToOpen reports whether the person seems not to be typing.
func (g *Gestures) SafeToOpen(now time.Time) bool { return !now.Before(g.idleFrom()) }

// idleFrom is the moment from which the person counts as not typing.
func (g *Gestures) idleFrom() time.Time {
	at := time.Time{}
	if !g.lastChange.IsZero() {
		at = g.lastChange.Add(idleAfterChange)
	}
	if !g.lastSave.IsZero() {
		if s := g.lastSave.Add(idleAfterSave); s.After(at) {
			at = s
		}
	}
	return at
}

// NextToOpen names the staged document that the server may open next by itself:
// the oldest pending one that was neither shown nor opened yet, and only while
// no other one is under review here. At is when the person will have been idle
// long enough if nothing more happens (setting "open": "always" need not wait
// for it); it is now or earlier when that is so already.
func (g *Gestures) NextToOpen(now time.Time) (uri string, at time.Time, ok bool) {
	if g.ending {
		return "", time.Time{}, false
	}
	var next *watched
	wait := g.idleFrom()
	for _, w := range g.docs {
		if w.state != statePending {
			continue
		}
		if w.open || w.closing || w.held != nil {
			return "", time.Time{}, false
		}
		if w.shown {
			// Asked for and not reported open: given up after a while (the
			// client failed, or does not attach to this kind of file).
			if until := w.shownAt.Add(openingTakes); !w.opened && now.Before(until) && until.After(wait) {
				wait = until
			}
			continue
		}
		if !w.opened && !w.aside && (next == nil || w.seq < next.seq) {
			next = w
		}
	}
	if next == nil {
		return "", time.Time{}, false
	}
	return next.uri, wait, true
}

// Reviewing reports whether the staged document is open here and pending.
func (g *Gestures) Reviewing(uri string) bool {
	w := g.docs[uri]
	return w != nil && w.state == statePending && w.open
}
