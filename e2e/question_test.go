//go:build linux

package e2e

import (
	"testing"

	"countersign/e2e/mockmodel"
)

// question is one question with the options Red and Blue.
func question(text string, multi bool) object {
	return object{"question": text, "header": "Colour", "multiSelect": multi, "options": []object{
		{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"},
	}}
}

// ask is a turn that asks.
func ask(questions ...object) mockmodel.Turn {
	return mockmodel.Use("AskUserQuestion", object{"questions": questions})
}

func TestQuestionsFromTheShell(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.play(
			ask(question("One?", false)),
			ask(question("Many?", true)),
			ask(question("First?", false), question("Second?", false)),
			ask(question("Free?", false)),
			ask(question("Document?", false)),
			ask(question("Declined?", false)),
			mockmodel.Say("Done."),
		)
		w.must("send", "Ask me.")

		a := w.next("AskUserQuestion")
		w.refuses(exitRefused, "", "allow", a.ID) // never a bare allow
		w.refuses(exitUsage, "", "answer", a.ID)
		w.refuses(exitRefused, "an empty answer is never sent", "answer", a.ID, "")
		w.refuses(exitRefused, "one answer", "answer", a.ID, "Red", "Blue")
		w.still(a.ID)
		w.must("answer", a.ID, "Blue")
		w.reads(0, false, `"One?"="Blue"`)

		a = w.next("AskUserQuestion")
		w.must("answer", a.ID, "Red", "Many?=Blue")
		w.reads(1, false, `"Many?"="Red, Blue"`)

		a = w.next("AskUserQuestion")
		w.refuses(exitUsage, "names none", "answer", a.ID, "Third?=Red")
		w.must("answer", a.ID, "First?=Red", "Second?=Blue")
		w.reads(2, false, `"First?"="Red"`, `"Second?"="Blue"`)

		a = w.next("AskUserQuestion")
		w.must("answer", a.ID, "a dark green")
		w.reads(3, false, "a dark green")

		// The document, ticked by whatever writes files, counts for allow too.
		a = w.next("AskUserQuestion")
		w.amend(a, "[ ] Red", "[x] Red", "[ ] Blue", "[x] Blue")
		w.refuses(exitRefused, "second tick", "allow", a.ID)
		w.still(a.ID)
		w.amend(a, "[x] Red", "[ ] Red", "Notes:", "Notes: as the sky")
		w.must("allow", a.ID)
		w.reads(4, false, `"Document?"="Blue"`, "as the sky")

		a = w.next("AskUserQuestion")
		w.must("deny", a.ID, "-m", "ask me tomorrow")
		w.reads(5, true, "ask me tomorrow")
	})
}
