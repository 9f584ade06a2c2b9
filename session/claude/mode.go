package claude

import "countersign/session"

// wordOf is the forward map from modes to the CLI's words, which are both the
// values of --permission-mode and what the CLI reports of itself.
//
// "default" names the mode that asks before edits; it does not mean "follow
// the person's settings", and the flag overrides them. So no mode, no flag.
var wordOf = map[session.Mode]string{
	session.Plan:          "plan",
	session.AskBeforeEdit: "default",
	session.AutoEdit:      "acceptEdits",
	session.Auto:          "auto",
	session.Bypass:        "bypassPermissions",
}

// modeOf is the way back, derived from wordOf so that the two cannot drift
// apart, and the one synonym: 2.1.332 documents "manual" for "default", takes
// both and reports "default". "dontAsk" is no mode of ours and stays unknown.
var modeOf = func() map[string]session.Mode {
	back := make(map[string]session.Mode, len(wordOf)+1)
	for mode, word := range wordOf {
		back[word] = mode
	}
	back["manual"] = back["default"]
	return back
}()

// WordOf is the CLI's word for a mode; empty for no mode.
func (Starter) WordOf(m session.Mode) string { return wordOf[m] }

// ModeOf understands a word of the CLI.
func (Starter) ModeOf(word string) (session.Mode, bool) {
	m, ok := modeOf[word]
	return m, ok
}

// Tight says whether a word that names no mode of ours is one in which nothing
// passes that would be asked for otherwise: "dontAsk" denies it all.
func (Starter) Tight(word string) bool { return word == "dontAsk" }
