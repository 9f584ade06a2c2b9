package lsp

import "maps"

// An echo is a request to the editor, by number, whose answer says nothing but
// that the editor has come to it. A span of time says that what an editor does in
// one go is over only where the machine is not busy, and the editor does nothing
// slow in between, such as formatting. An editor that handles one thing after the
// other says so by its answer: all that it sent before has come by then. So what
// is told apart by a span of time is told apart by an echo as well.
type echo struct {
	on       bool
	asked    int // the last one that is to be asked for
	answered int // the last one that was answered
	// saves are the documents that were saved since, with the echo that was asked
	// for then.
	saves map[string]int
}

// HasEcho says that the client answers what it is asked; Asked tells when to ask.
func (g *Gestures) HasEcho() { g.echo.on = true }

// Asked is the number of the last echo that is to be asked for; 0 is none. The
// editor's answer to it is told by an EventEcho of that number.
func (g *Gestures) Asked() int { return g.echo.asked }

// ask asks for an echo; 0 is none, which counts as answered.
func (g *Gestures) ask() int {
	if !g.echo.on || g.ending {
		return 0
	}
	g.echo.asked++
	return g.echo.asked
}

// silent reports whether the editor has not answered since the document was saved
// or held last.
func (g *Gestures) silent(w *watched) bool { return w.asked > g.echo.answered }

// hold has a save or close wait until it comes due.
func (g *Gestures) hold(w *watched) {
	w.asked = g.ask()
	g.wait[w.uri] = w
}

// savedOne asks after a save, while there is something to be decided, so that the
// saves and closes that come with it are known.
func (g *Gestures) savedOne(w *watched) {
	if w.held == nil {
		for _, o := range g.byID {
			if o.state == statePending {
				w.asked = g.ask()
				break
			}
		}
	}
	if g.silent(w) {
		if g.echo.saves == nil {
			g.echo.saves = map[string]int{}
		}
		g.echo.saves[w.uri] = w.asked
	}
}

// echoed takes note of the editor's answer.
func (g *Gestures) echoed(n int) {
	g.echo.answered = max(g.echo.answered, n)
	maps.DeleteFunc(g.echo.saves, func(_ string, asked int) bool { return asked <= g.echo.answered })
}

// inOneGo reports whether the editor has not answered since a save of another
// document than uri.
func (g *Gestures) inOneGo(uri string) bool {
	for other := range g.echo.saves {
		if other != uri {
			return true
		}
	}
	return false
}
