package session

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"countersign/approvals"
)

// FuzzSession has people, agents and time do what they like with a session on a
// real desk, step by step or all at once, and checks what must hold whatever
// they do:
//
//   - an agent reads no allow that no person gave for that very request, and no
//     two answers to one;
//   - what an agent waits for waits on the desk as well, and nothing else does;
//   - a prompt that was taken is read by an agent, once, or the person is told;
//   - in a mode looser than the person asked for last no prompt is read;
//   - nothing waits for ever.
func FuzzSession(f *testing.F) {
	for _, seed := range []string{
		"\x00\x01\x02\x04\x06", "\x00\x01\x02\x02\x05\x04\x06\x00\x06", "\x00\x01\x02\x07\x00\x01\x02\x04", "\x00\x01\x02\x03\x04\x06\x0a\x0c\x01",
		"\x08\x00\x01\x18\x02\x04\x06\x00\x06", "\x00\x01\x02\x09\x00\x0b\x00\x01", "\x00\x01\x0f\x28\x00\x06\x01\x00", "\x00\x00\x80\x81\x82\x87\x80\x8a\x8c",
		"\x08\x00\x01\x13\x34\x06\x00", "\x08\x00\x01\x13\x05\x06\x00", "\x28\x00\x01\x0d\x2d\x02\x00\x04", "\x00\x09\x01\x00\x0a\x00\x01\x0b\x00\x07",
		// found once
		",\vx\x80~\xb8\xf0\xf5\x81\x86\u07b8\xf8\x0eh\x92\n\xdb.,",
		"0\xa1X80",
		"0b8b\x98\x98\x98\x98,\x80O80",
		"\x80x0\xa1\xb380",
		"\x04^䪜\x93\xbc\xe0\xb6*L\xbb}ԥજ\x93\xbc\x16\xf2\xb7\x10\xe4\xd88800",
		"010\xd0\xc8M-&",
		"\x1801\xcd800000000.\x03ˇ\x01\xd8\xe3\xe9&",
		"\x1801\xcd8000000000\x0100000000000000000000000.&",
		".bb\xfe\xcebb\u07b8\xf8,\x0eh\x92\n\xdb>,",
		"0r\x85@rrrr\xc3\xb5r",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, steps []byte) {
		if len(steps) > 60 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWild(t)
			for _, b := range steps {
				w.step(int(b&0x1f), int(b>>5&3))
				if b < 0x80 { // else the next comes at the same time
					synctest.Wait()
					w.check()
				}
			}
			w.end()
		})
	})
}

// wild is a session, its agents as they see it, and what people did.
type wild struct {
	t    *testing.T
	s    *Session
	desk *approvals.Desk

	mu       sync.Mutex
	agents   []*wildAgent
	n        int // ids
	refuses  error
	unknown  bool                // resumed conversations are unknown
	allowed  map[string]int      // by request: allows that people gave
	prompts  map[string]bool     // taken by Send
	told     []string            // reports
	ops      sync.WaitGroup      // of people
	asked    map[string]struct{} // all ids of requests
	bound    string              // the mode asked for last, in the agent's words; "" none, or it is not clear
	answered []string            // request ids with an answer

	changes   int  // changes of the mode or the conversation under way
	contested bool // several at once: which one comes last is open
}

func newWild(t *testing.T) *wild {
	w := &wild{t: t, allowed: map[string]int{}, prompts: map[string]bool{}, asked: map[string]struct{}{}}
	w.desk = approvals.NewDesk(approvals.DeskOptions{Now: time.Now})
	w.s = New(Options{
		Desk: w.desk, Starter: w, Dir: "/w", Marker: "m",
		Report: func(_ bool, text, _ string) { w.mu.Lock(); w.told = append(w.told, text); w.mu.Unlock() },
	})
	return w
}

func (w *wild) Start(o StartOptions) (Agent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	a := &wildAgent{w: w, events: make(chan Event), id: fmt.Sprintf("s-%d", w.n), mode: o.Mode, open: map[string]int{}, took: map[string]bool{}}
	if a.mode == "" {
		a.mode = "default"
	}
	if o.Resume != "" {
		a.id = o.Resume
		if w.unknown {
			go a.emitLast(Exited{Explanation: "no such conversation", UnknownSession: true})
		}
	}
	w.agents = append(w.agents, a)
	return a, nil
}

func (w *wild) WordOf(m Mode) string             { return (*fakeAgents)(nil).WordOf(m) }
func (w *wild) ModeOf(word string) (Mode, bool)  { return (*fakeAgents)(nil).ModeOf(word) }
func (w *wild) Tight(word string) bool           { return word == "dontAsk" }
func (w *wild) failf(format string, args ...any) { w.t.Errorf(format, args...) }

// live is the agent that was started last, if it lives; nil otherwise.
func (w *wild) live() *wildAgent {
	w.mu.Lock()
	all := w.agents
	w.mu.Unlock()
	if len(all) == 0 || all[len(all)-1].gone() { // not with mu held: what an agent emits may wait for it
		return nil
	}
	return all[len(all)-1]
}

// person has somebody do something, which may take until something else happens.
func (w *wild) person(do func()) {
	w.ops.Add(1)
	go func() {
		defer w.ops.Done()
		do()
	}()
}

// rebind begins what changes the mode that prompts may be read in, or the
// conversation that it holds for; rebound is its end.
func (w *wild) rebind() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bound = ""
	w.changes++
	w.contested = w.contested || w.changes > 1
}

func (w *wild) rebound(word string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil && w.refuses == nil && !w.contested {
		w.bound = word
	}
	if w.changes--; w.changes == 0 {
		w.contested = false
	}
}

var wildModes = []string{"plan", "ask_before_edit", "auto_edit", "bypass"}

func (w *wild) step(what, which int) {
	a := w.live()
	switch what {
	case 0, 16: // a prompt
		w.mu.Lock()
		w.n++
		text := fmt.Sprintf("prompt %d.", w.n)
		w.mu.Unlock()
		w.person(func() {
			if _, err := w.s.Send(text, nil, DefaultSettings()); err == nil {
				w.mu.Lock()
				w.prompts[text] = true
				w.mu.Unlock()
			}
		})
	case 4, 5, 20, 21: // a decision
		pending := w.desk.Pending()
		if len(pending) == 0 {
			return
		}
		p := pending[which%len(pending)]
		allow := what == 4 || what == 20
		if allow {
			w.mu.Lock()
			w.allowed[p.Request.ID]++
			w.mu.Unlock()
		}
		dec := approvals.Decision{Allow: allow, Message: "no"}
		plan := p.Surface == approvals.SurfacePlan
		if plan {
			w.rebind() // what becomes of the mode is tested elsewhere
			if allow {
				dec.Message, dec.Mode = "", []string{"", "default", "acceptEdits", "auto"}[which]
			}
		}
		w.person(func() {
			if plan {
				defer w.rebound("", nil)
			}
			if _, _, err := w.s.Settle(p.ID, dec); err != nil && allow {
				w.mu.Lock()
				w.allowed[p.Request.ID]--
				w.mu.Unlock()
			}
		})
	case 8, 24: // a mode
		m, _ := ModeNamed(wildModes[which])
		w.rebind()
		w.person(func() {
			_, err := w.s.SetMode(m.String())
			w.rebound(w.WordOf(m), err)
		})
	case 9:
		w.person(func() { _ = w.s.Interrupt() })
	case 10:
		w.person(func() { _, _ = w.s.Stop() })
	case 11:
		w.rebind()
		w.person(func() {
			_, err := w.s.Renew()
			w.rebound("", err)
		})
	case 12:
		past := Past{}
		if which == 1 {
			past = Past{ID: "s-old", Mode: "bypass"}
		}
		w.rebind()
		w.person(func() {
			defer w.rebound("", nil)
			if _, err := w.s.Resume(past, nil, DefaultSettings()); err != nil {
				w.mu.Lock()
				w.told = append(w.told, err.Error())
				w.mu.Unlock()
			}
		})
	case 13: // how agents take a mode
		w.mu.Lock()
		w.refuses = []error{nil, fmt.Errorf("no: %w", ErrNoMode), errors.New("not now"), nil}[which]
		if w.refuses != nil {
			w.bound = ""
		}
		w.mu.Unlock()
	case 14:
		w.mu.Lock()
		w.unknown = which == 1
		w.mu.Unlock()
	case 15:
		time.Sleep(time.Duration(which+1) * 15 * time.Second)
	}
	if a != nil {
		a.step(what, which)
	}
}

// check holds at rest.
func (w *wild) check() {
	waits := map[string]bool{}
	for _, p := range w.desk.Pending() {
		waits[p.Request.ID] = true
	}
	if a := w.live(); a != nil {
		a.mu.Lock()
		a.odd = false
		for id := range a.open {
			if !waits[id] {
				w.failf("the agent waits for %s, and the desk does not know", id)
			}
			delete(waits, id)
		}
		a.mu.Unlock()
	}
	for id := range waits {
		w.failf("%s waits on the desk, and no agent for it", id)
	}
}

// end has all that people began come to its end, and looks for prompts that are
// lost.
func (w *wild) end() {
	time.Sleep(time.Minute)
	synctest.Wait()
	w.check()
	if err := w.s.Close(); err != nil {
		w.failf("Close: %v", err)
	}
	w.ops.Wait()
	if n := len(w.desk.Pending()); n != 0 {
		w.failf("%d wait after the end", n)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	told := strings.Join(w.told, "\n") + w.s.Info().Error
	for text := range w.prompts {
		read := 0
		for _, a := range w.agents {
			n := 0
			for _, r := range a.read {
				if r == text {
					n++
				}
			}
			if n > 1 {
				w.failf("%q is read %d times by one agent", text, n)
			}
			read += n
		}
		if read == 0 && !strings.Contains(told, text) {
			w.failf("%q was taken, read by nobody, and nobody was told: %q", text, w.told)
		}
	}
}
