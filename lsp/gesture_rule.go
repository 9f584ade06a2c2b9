package lsp

// The rules of gestures, by the names that logs, messages and the journal show.
const (
	RuleSaved             Rule = "saved"               // decides: allow
	RuleClosed            Rule = "closed"              // decides: deny
	RuleOpenedHere        Rule = "opened-here"         // the gesture is on a document this editor never opened
	RuleWrongID           Rule = "wrong-id"            // the path names another approval
	RuleUnknown           Rule = "unknown"             // no approval has this document
	RuleSettled           Rule = "settled"             // decided before
	RuleAutosave          Rule = "autosave"            // will-save said afterDelay or focusOut
	RuleAutosaveSuspected Rule = "autosave-suspected"  // the rhythm of saves is a machine's
	RuleArmDelay          Rule = "arm-delay"           // too soon after opening, or after our own edit
	RuleTypedInto         Rule = "typed-into"          // keys were under way when the document appeared
	RuleUnreadable        Rule = "unreadable"          // the staged file could not be read back
	RuleNotWritten        Rule = "not-written"         // the staged file itself was not written
	RuleDiffers           Rule = "differs-from-editor" // the file holds something else than the editor
	RuleSaveAll           Rule = "save-all"            // other documents were saved in the same breath
	RuleSaveMeansAmend    Rule = "save-means-amend"    // setting saveMeans
	RuleCloseMeansNothing Rule = "close-means-nothing" // setting closeMeans
	RuleReopened          Rule = "reopened"            // a close that was a reload
	RuleReplacedTab       Rule = "replaced-tab"        // another document took the place of this one
	RuleClosedWithSave    Rule = "closed-with-save"    // one action saved and closed, and the save did not allow
	RuleEnding            Rule = "ending"              // the editor or the server is going away
)

var sentences = map[Rule]string{
	RuleSaved:             "saved, which allows it as it now reads",
	RuleClosed:            "closed and not opened again, which denies it",
	RuleOpenedHere:        "this editor did not open it; open it and save it to allow it",
	RuleWrongID:           "the document belongs to another request; decide with a code action",
	RuleUnknown:           "no request is known for this document any more, so saving it decides nothing",
	RuleSettled:           "it was decided before, so this changes nothing",
	RuleAutosave:          "the editor saved it by itself; save it yourself to allow it",
	RuleAutosaveSuspected: `the editor seems to save by itself, so saving only keeps your text; decide with a code action, or set "saveMeans": "allow" if the saves are yours`,
	RuleArmDelay:          "it was saved within moments of appearing; read it and save it again to allow it",
	RuleTypedInto:         "you were still typing when it appeared; check it and save it again to allow it",
	RuleUnreadable:        "its file could not be read back",
	RuleNotWritten:        "the save did not write the proposal's own file (it went to another name?); save it under its own name to allow it",
	RuleDiffers:           "its file does not hold what the editor shows; save it again, or decide with a code action",
	RuleSaveAll:           "other documents were saved at the same moment; save this one alone to allow it",
	RuleSaveMeansAmend:    `saving keeps your text and decides nothing (setting "saveMeans"); decide with a code action`,
	RuleCloseMeansNothing: `closing decides nothing (setting "closeMeans"); it is still pending`,
	RuleReopened:          "it was closed and opened again at once, as a reload does; it is still pending",
	RuleReplacedTab:       "another document took its place as it closed, so that this was perhaps not meant; it is still pending",
	RuleClosedWithSave:    "it was saved and closed in one go, and the save did not allow it; it is still pending",
	RuleEnding:            "the editor is going away, which decides nothing; it is still pending",
}

// Sentence says for people what the rule found, without a subject's name and
// without a full stop: "nothing was decided about a.txt: " goes before it.
func (r Rule) Sentence() string {
	if s, ok := sentences[r]; ok {
		return s
	}
	return "rule " + string(r)
}

// Quiet reports whether nobody needs to be told when a gesture was refused by
// the rule: it goes to the log only.
func (r Rule) Quiet() bool {
	switch r {
	case RuleReopened, RuleEnding:
		return true
	}
	return false
}

// Rules lists every rule.
func Rules() []Rule {
	return []Rule{
		RuleSaved, RuleClosed, RuleOpenedHere, RuleWrongID, RuleUnknown, RuleSettled, RuleAutosave,
		RuleAutosaveSuspected, RuleArmDelay, RuleTypedInto, RuleUnreadable, RuleNotWritten, RuleDiffers,
		RuleSaveAll, RuleSaveMeansAmend, RuleCloseMeansNothing, RuleReopened, RuleReplacedTab,
		RuleClosedWithSave, RuleEnding,
	}
}
