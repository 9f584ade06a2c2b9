package lsp

import (
	"slices"
	"time"
)

// Autosave plugins of Neovim, Helix and Emacs do not admit what they are: their
// will-save says "manual", or there is none. What betrays them is the rhythm: a
// timer saves at the same short delay after the last change, time after time.
const (
	rhythmSaves   = 3                      // this many saves in a row
	rhythmMin     = 250 * time.Millisecond // people with a save key are this fast, and regular
	rhythmMax     = 6 * time.Second        // Emacs waits 5 s, Helix 3 s, plugins 0.5 to 1 s
	rhythmSpread  = 60 * time.Millisecond  // how far the delays may lie apart, at most
	rhythmOwnEdit = 100 * time.Millisecond // changes this close to the save belong to it (formatters, final newlines)
)

// A rhythm watches the saves of one client, on all of its documents.
type rhythm struct {
	delays    []time.Duration // of the last saves, at most rhythmSaves
	suspected bool
}

// spread is the tolerance for delays of about d: a tenth of it, within limits.
func spread(d time.Duration) time.Duration { return min(d/10, rhythmSpread) }

// changed takes note of a change. A pause in a document with unsaved changes
// that is longer than the supposed timer, with no save in it, shows that there
// is no such timer.
func (r *rhythm) changed(now time.Time, t *changeTimes, dirty bool) {
	if len(r.delays) == 0 || !dirty {
		return
	}
	last, ok := t.last()
	if longest := slices.Max(r.delays); ok && now.Sub(last) > longest+spread(longest) {
		r.delays = r.delays[:0]
	}
}

// saved takes note of a save that the client did not admit to be automatic and
// reports whether it is the one that arouses suspicion.
func (r *rhythm) saved(now time.Time, t *changeTimes, dirty bool) bool {
	if r.suspected {
		return false
	}
	last, ok := t.lastBefore(now.Add(-rhythmOwnEdit))
	delay := now.Sub(last)
	if !dirty || !ok || delay < rhythmMin || delay > rhythmMax {
		r.delays = r.delays[:0]
		return false
	}
	if len(r.delays) == rhythmSaves {
		r.delays = slices.Delete(r.delays, 0, 1)
	}
	r.delays = append(r.delays, delay)
	if len(r.delays) < rhythmSaves {
		return false
	}
	low, high := slices.Min(r.delays), slices.Max(r.delays)
	r.suspected = high-low <= spread(high)
	return r.suspected
}

// changeTimes are the times of a document's last changes.
type changeTimes struct {
	ring [16]time.Time
	n    int
}

func (t *changeTimes) add(now time.Time) {
	t.ring[t.n%len(t.ring)] = now
	t.n++
}

func (t *changeTimes) clear() { t.n = 0 }

func (t *changeTimes) last() (time.Time, bool) {
	if t.n == 0 {
		return time.Time{}, false
	}
	return t.ring[(t.n-1)%len(t.ring)], true
}

// lastBefore is the last change not after limit, among those remembered.
func (t *changeTimes) lastBefore(limit time.Time) (time.Time, bool) {
	for i := t.n - 1; i >= 0 && i >= t.n-len(t.ring); i-- {
		if at := t.ring[i%len(t.ring)]; !at.After(limit) {
			return at, true
		}
	}
	return time.Time{}, false
}
