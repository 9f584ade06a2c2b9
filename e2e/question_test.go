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

// Answers are ticked and written in the document, and saved.
func TestQuestionsInTheirDocument(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		parts := question("Which parts?", true)
		parts["options"] = []object{{"label": "Top", "description": "above"}, {"label": "Bottom", "description": "below"}}
		w.play(
			ask(question("Which colour?", false), parts),
			ask(question("Which shade?", false)),
			ask(question("Anything else?", false)),
			mockmodel.Say("Done."),
		)
		w.editor.start("a.txt")
		w.prompt("Ask me.")
		a := w.next("AskUserQuestion")
		w.awaitOpened(a)
		w.editor.replace("[ ] Red", "[x] Red")
		w.editor.replace("[ ] Blue", "[x] Blue")
		w.editor.save() // two ticks, where one is asked for
		w.awaitTold(8, "second tick")
		w.still(a.ID)
		w.editor.replace("[x] Red", "[ ] Red")
		w.editor.replace("[ ] Top", "[x] Top")
		w.editor.replace("[ ] Bottom", "[x] Bottom")
		w.editor.save()
		w.reads(0, false, `"Which colour?"="Blue"`, `"Which parts?"="Top, Bottom"`)

		a = w.next("AskUserQuestion")
		w.awaitOpened(a)
		w.editor.replace("Other:", "Other: a dark green")
		w.editor.save()
		w.reads(1, false, "a dark green")

		a = w.next("AskUserQuestion")
		w.awaitOpened(a)
		w.waitsFor(a) // also so long that its close is no replaced tab
		w.editor.closeDocument()
		w.reads(2, true, "declined")
	})
}
