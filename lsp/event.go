package lsp

import "time"

// This file is the vocabulary of gestures: what can happen to a document, and
// what the pure state machine in gesture.go makes of it.

// An EventKind is one of the things that can happen to a document.
type EventKind string

// The kinds of events. Staged, Shown, Edited, Settled, Unsettled, Ending and
// Tick come from our own side; the others are the editor's.
const (
	EventStaged   EventKind = "staged"    // an approval's document now lies at URI
	EventShown    EventKind = "shown"     // the server asked the editor to open URI
	EventOpened   EventKind = "opened"    // didOpen
	EventChanged  EventKind = "changed"   // didChange
	EventEdited   EventKind = "edited"    // the server's own workspace edit changed URI
	EventWillSave EventKind = "will-save" // willSave, with Reason
	EventSaved    EventKind = "saved"     // didSave, with Disk
	EventClosed   EventKind = "closed"    // didClose
	EventSettled  EventKind = "settled"   // the approval of URI is settled, by whomever
	// EventUnsettled: a verdict of ours came to nothing (the hub refused it or
	// was not there), so the approval is pending still and may be decided again.
	EventUnsettled EventKind = "unsettled"
	EventEnding    EventKind = "ending" // shutdown, exit, end of input, signal: nothing decides any more
	EventTick      EventKind = "tick"   // a deadline named by Gestures.Deadline has passed
	EventEcho      EventKind = "echo"   // the editor answered what Gestures.Asked told to ask
)

// SaveReason is the reason of a willSave: TextDocumentSaveReason of LSP.
type SaveReason int

// The reasons of LSP.
const (
	SaveManual     SaveReason = 1
	SaveAfterDelay SaveReason = 2
	SaveFocusOut   SaveReason = 3
)

// Disk is what a look at a staged file showed right after a save.
type Disk struct {
	Written bool   // the file was written since it was staged, or since the last save seen
	Same    bool   // its text equals the editor's text, give or take one final newline
	Text    string // its content
	Err     string // why it could not be read; empty when it was
}

// An Event is one thing that happened to one document. URIs are canonical.
type Event struct {
	Kind EventKind
	URI  string
	// ID is the approval: always for EventStaged, EventSettled and
	// EventUnsettled; for the editor's events the id that the path names, where
	// it is a staged path (so that a save of a document nobody remembers is told
	// to the person instead of vanishing).
	ID     string
	Reason SaveReason // for EventWillSave
	Echo   int        // for EventEcho: the number that Gestures.Asked gave
	Disk   Disk       // for EventSaved of a staged document
	Aside  bool       // for EventStaged: the server does not open it by itself
	// Orderly, for EventEnding: the editor has asked for it, so that what it sent
	// before has come.
	Orderly bool
}

// A VerdictKind is what an event amounts to.
type VerdictKind string

// The kinds of verdicts.
const (
	VerdictAllow   VerdictKind = "allow"   // settle: allow with Text
	VerdictDeny    VerdictKind = "deny"    // settle: deny
	VerdictKept    VerdictKind = "kept"    // a save that means amend: the text is kept, nothing decided
	VerdictRefused VerdictKind = "refused" // a save or close that decided nothing; Rule says why, tell the person
	VerdictInert   VerdictKind = "inert"   // a save of a document whose approval is settled or unknown; say so loudly, keep Text
	VerdictSuspect VerdictKind = "suspect" // autosave is suspected from now on: tell the person once
)

// A Verdict is what the state machine says about an event.
type Verdict struct {
	Kind VerdictKind
	URI  string
	ID   string
	Rule Rule   // the rule that decided or refused
	Text string // for VerdictAllow, VerdictKept and VerdictInert: the content on disk; for RuleUnreadable: the error
	// Again: a save that an editor may well repeat every second (it kept the
	// text, or was an autosave) got the same answer on this document before, so
	// the person has been told.
	Again bool
}

// A Rule is the name of a gesture rule, as shown in logs, messages and the journal.
type Rule string

// GestureSettings are what a person configures about gestures.
type GestureSettings struct {
	SaveMeans  string        // "allow" or "amend"
	CloseMeans string        // "deny" or "nothing"
	ArmDelay   time.Duration // a save this soon after opening decides nothing
	CloseGrace time.Duration // a reopening this soon after a close undoes the close
	// SaveMeansSet: the person configured SaveMeans, so that "allow" holds even
	// where the rhythm of saves looks like an autosave.
	SaveMeansSet bool
}

// DefaultGestureSettings are the settings of somebody who configured nothing.
func DefaultGestureSettings() GestureSettings {
	return GestureSettings{
		SaveMeans: "allow", CloseMeans: "deny",
		ArmDelay: 700 * time.Millisecond, CloseGrace: time.Second,
	}
}
