package session

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
)

// A wildAgent is an agent as it sees itself.
type wildAgent struct {
	w      *wild
	events chan Event
	id     string

	emitting sync.Mutex // orders its events
	over     bool

	mu   sync.Mutex
	mode string
	odd  bool            // it changed its mode by itself, and nobody may have heard of that yet
	open map[string]int  // requests without an answer, by id: always 1
	took map[string]bool // requests that it took back; an answer may have been under way
	read []string
	box  []Event // to be emitted
}

func (a *wildAgent) Events() <-chan Event { return a.events }
func (a *wildAgent) Interrupt() error     { return nil }
func (a *wildAgent) Send(text string) error {
	if a.gone() {
		return ErrGone
	}
	a.w.mu.Lock()
	bound := a.w.bound // before the mode: what was asked for by now is in force
	a.w.mu.Unlock()
	a.mu.Lock()
	a.read = append(a.read, text)
	mode, odd := a.mode, a.odd
	a.mu.Unlock()
	if bound != "" && !odd && a.w.s.looser(mode, bound) {
		a.w.failf("%q is read in mode %s, and %s was asked for", text, mode, bound)
	}
	return nil
}

func (a *wildAgent) Answer(id string, r approvals.Result) error {
	if a.gone() {
		return ErrGone
	}
	a.mu.Lock()
	a.open[id]--
	n := a.open[id]
	delete(a.open, id)
	late := a.took[id]
	delete(a.took, id)
	a.mu.Unlock()
	a.w.mu.Lock()
	defer a.w.mu.Unlock()
	a.w.answered = append(a.w.answered, id)
	if n != 0 && !late {
		a.w.failf("an answer to %s, which the agent does not wait for", id)
	}
	for _, u := range r.UpdatedPermissions { // as the CLI does
		if _, mode, set := strings.Cut(string(u), `"mode":"`); set {
			mode, _, _ = strings.Cut(mode, `"`)
			a.mu.Lock()
			a.mode = mode
			a.mu.Unlock()
			a.later(ModeReported{Mode: mode})
		}
	}
	if r.Behavior == "allow" {
		if a.w.allowed[id]--; a.w.allowed[id] < 0 {
			a.w.failf("%s is allowed by nobody", id)
		}
	}
	return nil
}

func (a *wildAgent) SetMode(mode string) error {
	if a.gone() {
		return ErrGone
	}
	a.w.mu.Lock()
	err := a.w.refuses
	a.w.mu.Unlock()
	if err == nil {
		a.mu.Lock()
		a.mode = mode
		a.mu.Unlock()
		a.later(ModeReported{Mode: mode}) // as the CLI does
	}
	return err
}

func (a *wildAgent) Close() error {
	a.emitLast(Exited{Expected: true, Explanation: "it was ended"})
	return nil
}

func (a *wildAgent) gone() bool {
	a.emitting.Lock()
	defer a.emitting.Unlock()
	return a.over
}

func (a *wildAgent) emit(e Event) bool {
	a.emitting.Lock()
	defer a.emitting.Unlock()
	if !a.over {
		a.events <- e
	}
	return !a.over
}

// later emits an event behind those that were given before: what an agent says of
// its mode comes in order.
func (a *wildAgent) later(e Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.box = append(a.box, e)
	if len(a.box) > 1 {
		return // somebody is at it
	}
	go func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		for len(a.box) > 0 { // seen under the lock that took the last one out: one at a time is at it
			next := a.box[0]
			a.mu.Unlock()
			a.emit(next)
			a.mu.Lock()
			a.box = a.box[1:]
		}
	}()
}

func (a *wildAgent) emitLast(e Exited) {
	a.emitting.Lock()
	defer a.emitting.Unlock()
	if !a.over {
		a.over = true
		a.events <- e
		close(a.events)
	}
}

// step is what an agent does.
func (a *wildAgent) step(what, which int) {
	w := a.w
	switch what {
	case 1, 17:
		a.mu.Lock()
		mode := a.mode
		a.mu.Unlock()
		a.later(Initialized{SessionID: a.id, Mode: mode, Version: "1"})
	case 2, 18, 19: // it asks, under a new id or one that has its answer
		w.mu.Lock()
		w.n++
		id := fmt.Sprintf("r-%d", w.n)
		if which == 3 && len(w.answered) > 0 {
			id = w.answered[len(w.answered)-1]
		}
		w.asked[id] = struct{}{}
		w.mu.Unlock()
		a.mu.Lock()
		// An id that it took back is not used again: an answer under way to what was
		// asked before would be taken for one to what is asked now, and nobody can tell.
		twice := a.open[id] != 0 || a.took[id]
		if !twice {
			a.open[id] = 1
		}
		a.mu.Unlock()
		r := approvals.Request{ID: id, Tool: "Bash", ToolUseID: "t-" + id, Input: jsontext.Value(`{"command":"ls"}`)}
		if what == 19 {
			r.Tool, r.Input, r.NeedsOwnSurface = "ExitPlanMode", jsontext.Value(`{"plan":"# Plan"}`), true
		}
		if !twice && !a.emit(Requested{r}) {
			a.mu.Lock()
			delete(a.open, id)
			a.mu.Unlock()
		}
	case 3: // it takes something back
		a.mu.Lock()
		var open []string
		for id := range a.open {
			open = append(open, id)
		}
		slices.Sort(open)
		a.mu.Unlock()
		if len(open) > 0 {
			id := open[which%len(open)]
			a.mu.Lock()
			delete(a.open, id)
			a.took[id] = true
			a.mu.Unlock()
			a.emit(Cancelled{RequestID: id})
		}
	case 6, 22:
		a.emit(TurnEnded{})
	case 7:
		a.emitLast(Exited{Explanation: "it crashed", UnknownSession: which == 2})
	case 25:
		a.emit(BackgroundChanged{which})
	case 26:
		a.emit(ToolReturned{ToolUseID: fmt.Sprintf("t-r-%d", which+3), IsError: which == 1, Text: "x"})
	case 23: // a mode of its own
		m, _ := ModeNamed(wildModes[which])
		a.mu.Lock()
		a.mode, a.odd = w.WordOf(m), true
		a.mu.Unlock()
		a.later(ModeReported{Mode: w.WordOf(m)})
	}
}
