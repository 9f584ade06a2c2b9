package lsp

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// A witness keeps its own, simpler account of what happened and objects to
// decisions that no rule could have allowed.
type witness struct {
	set   GestureSettings
	ended bool

	endedBefore, orderly bool
	docs                 map[string]*witnessed
	saved                map[string]time.Time // last didSave of each document
	decided              map[string]bool      // by approval, until unsettled
	settled              map[string]bool
	suspect              int

	asked, answered int            // echoes
	savedAsk        map[string]int // by document: what its last save asked for
}

type witnessed struct {
	closeAsk        int    // what its last close asked for
	together        string // a document that was saved in one go with it
	id              string
	open, wasOpen   bool
	armed, closedAt time.Time
	reason          SaveReason
	lastSave        Event // the last didSave
	lastAt          time.Time
	lastAdmitted    bool
	lastArmed       bool
}

func newWitness(set GestureSettings) *witness {
	return &witness{
		set: set, docs: map[string]*witnessed{}, saved: map[string]time.Time{},
		decided: map[string]bool{}, settled: map[string]bool{}, savedAsk: map[string]int{},
	}
}

func (w *witness) doc(uri string) *witnessed {
	if w.docs[uri] == nil {
		w.docs[uri] = &witnessed{}
	}
	return w.docs[uri]
}

// before takes note of an event before the machine sees it.
func (w *witness) before(now time.Time, ev Event) {
	d := w.doc(ev.URI)
	switch ev.Kind {
	case EventStaged:
		for uri, o := range w.docs {
			if o.id == ev.ID && uri != ev.URI {
				return
			}
		}
		if d.id != ev.ID && !w.ended && ev.ID != "" {
			if d.id != "" {
				d.open, d.wasOpen = false, false
			}
			d.id, d.armed = ev.ID, now
		}
	case EventOpened:
		d.open, d.wasOpen, d.armed = true, true, now
	case EventEdited:
		d.armed = now
	case EventWillSave:
		d.reason = ev.Reason
	case EventSaved:
		d.lastSave, d.lastAt = ev, now
		d.lastAdmitted = d.reason == SaveAfterDelay || d.reason == SaveFocusOut
		d.lastArmed = now.Sub(d.armed) >= w.set.ArmDelay
		d.reason = 0
		d.together = ""
		for uri, ask := range w.savedAsk {
			if uri != ev.URI && ask > w.answered {
				d.together, w.doc(uri).together = uri, ev.URI
			}
		}
	case EventClosed:
		if d.open {
			d.closedAt = now
		}
		d.open = false
		if d.id == "" {
			d.reason = 0 // the save it announced was not of a staged document
		}
	case EventSettled:
		w.settled[ev.ID] = true
	case EventUnsettled:
		if !w.settled[ev.ID] {
			delete(w.decided, ev.ID)
		}
	case EventEcho:
		w.answered = max(w.answered, ev.Echo)
	case EventEnding:
		w.ended, w.endedBefore, w.orderly = true, w.ended, ev.Orderly
	default:
		w.endedBefore = w.ended
	}
}

// judge objects to a verdict.
func (w *witness) judge(now time.Time, v Verdict) error {
	d := w.doc(v.URI)
	if v.Kind == VerdictSuspect {
		if w.suspect++; w.suspect > 1 {
			return fmt.Errorf("suspected twice")
		}
		return nil
	}
	if v.Kind != VerdictAllow && v.Kind != VerdictDeny {
		return nil
	}
	switch {
	case w.ended && (w.ended == w.endedBefore || !w.orderly || v.Kind != VerdictAllow):
		return fmt.Errorf("decided after the end")
	case v.ID == "" || v.ID != d.id:
		return fmt.Errorf("decided %q, the document's approval is %q", v.ID, d.id)
	case w.decided[v.ID]:
		return fmt.Errorf("decided twice")
	case w.settled[v.ID]:
		return fmt.Errorf("decided though settled")
	case !d.wasOpen:
		return fmt.Errorf("decided though never opened")
	}
	w.decided[v.ID] = true
	if v.Kind == VerdictDeny {
		switch {
		case w.set.CloseMeans != "deny":
			return fmt.Errorf("denied by a close that means nothing")
		case d.open:
			return fmt.Errorf("denied while open")
		case d.closeAsk > w.answered:
			return fmt.Errorf("denied though the editor has not answered since the close")
		case now.Sub(d.closedAt) < w.set.CloseGrace:
			return fmt.Errorf("denied %v after the close", now.Sub(d.closedAt))
		case !d.lastAt.IsZero() && d.lastAt.After(d.closedAt):
			return fmt.Errorf("denied though saved after the close")
		}
		return nil
	}
	ev := d.lastSave
	switch {
	case w.set.SaveMeans != "allow":
		return fmt.Errorf("allowed by a save that means amend")
	case ev.Kind != EventSaved || now.Sub(d.lastAt) > saveAllWindow+time.Hour:
		return fmt.Errorf("allowed without a save")
	case d.lastAdmitted:
		return fmt.Errorf("allowed by an autosave")
	case !d.lastArmed:
		return fmt.Errorf("allowed inside the arm delay")
	case !ev.Disk.Written || !ev.Disk.Same || ev.Disk.Err != "":
		return fmt.Errorf("allowed with disk %+v", ev.Disk)
	case ev.Disk.Text != v.Text:
		return fmt.Errorf("allowed %q, saved %q", v.Text, ev.Disk.Text)
	case ev.ID != "" && ev.ID != v.ID:
		return fmt.Errorf("allowed by a save of %q", ev.ID)
	}
	for uri, at := range w.saved {
		if uri != v.URI && !at.After(d.lastAt) && d.lastAt.Sub(at) <= saveAllWindow {
			return fmt.Errorf("allowed %v after a save of %s", d.lastAt.Sub(at), uri)
		}
	}
	if d.together != "" {
		return fmt.Errorf("allowed though %s was saved and the editor had not answered in between", d.together)
	}
	return nil
}

// after takes note of what judge must not know beforehand.
func (w *witness) after(now time.Time, ev Event, asked int) {
	if ev.Kind == EventSaved {
		w.saved[ev.URI] = now
	}
	if asked == w.asked {
		return
	}
	w.asked = asked
	switch ev.Kind {
	case EventSaved:
		w.savedAsk[ev.URI] = asked
	case EventClosed:
		w.doc(ev.URI).closeAsk = asked
	}
}

// adversary turns numbers into events, with the times that matter in reach.
type adversary struct {
	next func() int
	now  time.Time
	log  []string
}

func (a *adversary) event() Event {
	// At the edges of every span, and by the way.
	steps := []time.Duration{
		0, time.Millisecond, 40 * time.Millisecond, saveAllWindow, saveAllWindow + time.Millisecond,
		500 * time.Millisecond, 699 * time.Millisecond, 700 * time.Millisecond, 999 * time.Millisecond,
		time.Second, 3 * time.Second,
	}
	a.now = a.now.Add(steps[a.next()%len(steps)])
	kinds := []EventKind{
		EventStaged, EventShown, EventOpened, EventOpened, EventOpened, EventChanged, EventChanged, EventEdited, EventWillSave,
		EventSaved, EventSaved, EventSaved, EventSaved, EventClosed, EventClosed, EventTick, EventSettled, EventUnsettled,
		EventEcho, EventEcho, EventEcho, EventEcho, EventEcho, EventEcho,
	}
	k := a.next()
	ev := Event{Kind: kinds[k%len(kinds)]}
	if k%211 == 210 {
		ev.Kind, ev.Orderly = EventEnding, k%2 == 0
	}
	doc := a.next() % 4
	ev.URI = "file:///" + string(rune('A'+doc))
	b := a.next()
	switch ev.Kind {
	case EventStaged, EventSettled, EventUnsettled:
		ev.ID = string(rune('a' + doc))
		if b%13 == 0 {
			ev.ID = string(rune('a' + b%6))
		}
	case EventWillSave:
		ev.Reason = SaveReason(b % 5)
	case EventEcho:
		ev.Echo = b % 3
	case EventSaved:
		ev.Disk = Disk{Written: b%8 != 0, Same: b%9 != 0, Text: fmt.Sprint("text ", b%3)}
		if b%11 == 0 {
			ev.Disk = Disk{Err: "gone"}
		}
		if b%5 == 0 {
			ev.ID = string(rune('a' + b%6))
		}
	}
	a.log = append(a.log, fmt.Sprintf("%v %s %s id=%q reason=%d echo=%d %+v", a.now.Sub(start), ev.Kind, ev.URI, ev.ID, ev.Reason, ev.Echo, ev.Disk))
	return ev
}

// attack plays n events, with the ticks a punctual (or, for odd lazy, a late)
// server sends, and returns the first objection.
func attack(set GestureSettings, n int, lazy, echo bool, next func() int) (log []string, allows, denies int, err error) {
	g, w := NewGestures(set), newWitness(set)
	if echo {
		g.HasEcho()
	}
	a := &adversary{next: next, now: start}
	feed := func(now time.Time, ev Event) error {
		w.before(now, ev)
		seen := map[string]bool{}
		for _, v := range g.Handle(now, ev) {
			if err := w.judge(now, v); err != nil {
				return fmt.Errorf("%+v: %w", v, err)
			}
			if v.Kind == VerdictAllow || v.Kind == VerdictDeny {
				if seen[v.URI] {
					return fmt.Errorf("%+v: two decisions for one event", v)
				}
				seen[v.URI] = true
				if v.Kind == VerdictAllow {
					allows++
				} else {
					denies++
				}
			}
		}
		w.after(now, ev, g.Asked())
		return nil
	}
	for range n {
		from := a.now
		ev := a.event()
		if ev.Kind == EventEcho { // this or an earlier one, in order
			ev.Echo = max(w.answered, g.Asked()-ev.Echo)
		}
		for !lazy {
			due, ok := g.Deadline()
			if !ok || !due.Before(a.now) {
				break
			}
			if due.Before(from) {
				due = from
			}
			if err := feed(due, Event{Kind: EventTick}); err != nil {
				return a.log, allows, denies, err
			}
			if again, ok := g.Deadline(); ok && !again.After(due) {
				return a.log, allows, denies, fmt.Errorf("deadline %v stands still", again)
			}
		}
		if err := feed(a.now, ev); err != nil {
			return a.log, allows, denies, err
		}
		g.NextToOpen(a.now)
	}
	return a.log, allows, denies, nil
}

func adversarySettings(n int) GestureSettings {
	set := DefaultGestureSettings()
	set.SaveMeansSet = n&1 == 1
	if n&6 == 6 {
		set.SaveMeans = "amend"
	}
	if n&24 == 24 {
		set.CloseMeans = "nothing"
	}
	return set
}

func TestGesturesAgainstAdversary(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 800
	}
	var allows, denies int
	for seed := range rounds {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		log, a, d, err := attack(adversarySettings(seed), 120, seed%7 == 0, seed%3 != 0, func() int { return r.IntN(1 << 20) })
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, strings.Join(log, "\n"))
		}
		allows, denies = allows+a, denies+d
	}
	// An adversary that never gets anything decided shows nothing.
	if allows < rounds/10 || denies < rounds/10 {
		t.Errorf("only %d allows and %d denies in %d rounds", allows, denies, rounds)
	}
}

func FuzzGestures(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 0, 2, 0, 1, 7, 9, 0, 1}, uint8(0))                            // staged, open, save after the delay
	f.Add([]byte{0, 0, 0, 1, 0, 2, 0, 1, 10, 13, 0, 1, 9, 15, 0, 1}, uint8(1))             // staged, open, close, grace
	f.Add([]byte{0, 0, 0, 1, 0, 2, 0, 1, 2, 9, 0, 1, 0, 13, 0, 1, 10, 15, 0, 1}, uint8(0)) // saved and closed unseen
	f.Fuzz(func(t *testing.T, data []byte, settings uint8) {
		i := 0
		next := func() int {
			if i >= len(data) {
				return 0
			}
			i++
			return int(data[i-1])
		}
		if log, _, _, err := attack(adversarySettings(int(settings)), min(len(data)/4+1, 300), settings&32 != 0, settings&64 != 0, next); err != nil {
			t.Fatalf("%v\n%s", err, strings.Join(log, "\n"))
		}
	})
}
