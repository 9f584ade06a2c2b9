package session

import "strings"

// A Mode says how far a session may go without asking. It is a closed set of
// named modes, not strings: each mode has to survive two translations, into the
// word the agent is started with and back from the word it reports of itself,
// and bare strings would let the two drift apart unseen.
//
// The zero Mode is no mode at all: none was asked for, or none is known. The
// field is unexported, so nobody outside this package can make a sixth.
type Mode struct{ n modeNumber }

type modeNumber uint8

// The modes.
var (
	Plan          = Mode{1} // plan only: propose, never edit
	AskBeforeEdit = Mode{2} // ask before every edit
	AutoEdit      = Mode{3} // edits pass, other tools still ask
	Auto          = Mode{4} // judge autonomously
	Bypass        = Mode{5} // ask nothing
)

// modeNames is indexed by modeNumber. The spelling has underscores, as the
// agent's own transcripts have.
var modeNames = [...]string{"", "plan", "ask_before_edit", "auto_edit", "auto", "bypass"}

// Modes lists the whole set, from the tightest to the loosest.
func Modes() []Mode {
	all := make([]Mode, 0, len(modeNames)-1)
	for n := 1; n < len(modeNames); n++ {
		all = append(all, Mode{modeNumber(n)})
	}
	return all
}

// ModeNamed finds a mode by its name, written with underscores or hyphens. It
// refuses everything else, also other cases and the agent's own words.
func ModeNamed(name string) (Mode, bool) {
	if name == "" {
		return Mode{}, false
	}
	name = strings.ReplaceAll(name, "-", "_")
	for n, known := range modeNames {
		if name == known {
			return Mode{modeNumber(n)}, true
		}
	}
	return Mode{}, false
}

// String is the mode's name; empty for no mode.
func (m Mode) String() string { return modeNames[m.n] }

// IsZero says that m is no mode.
func (m Mode) IsZero() bool { return m.n == 0 }

// A ModeChange decides whether an agent that runs in a live mode can serve a
// request for another, or has to be started again. Reach it through
// Session.RequiresRestartFor, which knows the live mode.
type ModeChange struct {
	Live Mode // zero: nobody observed it
}

// RequiresRestart says whether the agent must be started again to be in the
// requested mode.
//
// No mode requested: no, there is nothing to compare, and a restart would tear
// down a healthy agent to start the same one. Live mode unknown: yes, reuse
// would bet on a mode that nobody observed, and losing the bet means edits
// under a looser mode than the person chose.
func (c ModeChange) RequiresRestart(requested Mode) bool {
	switch {
	case requested.IsZero():
		return false
	case c.Live.IsZero():
		return true
	default:
		return c.Live != requested
	}
}

// ModeWords translates between modes and the words one kind of agent has for
// them. A Starter that has modes implements it.
type ModeWords interface {
	// WordOf is the agent's word for a mode; empty for no mode.
	WordOf(Mode) string
	// ModeOf understands a word of the agent; false for one that names no mode.
	ModeOf(word string) (Mode, bool)
}
