//go:build linux

package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
)

// An editor does what a person at its keys would do. Each method ends when the
// editor shows that it is done; it says nothing of what Countersign makes of it.
type editor interface {
	kind() string
	// start opens a file of the project in a new terminal, with the snippet of
	// editors/ and the world's settings. A proposal that waits may be in focus then.
	start(name string)
	// shown is the absolute path of the document in focus.
	shown() string
	// open goes to a file.
	open(path string)
	// turnTo moves to the view whose document matches, since the server shows one
	// beside what a person works on. It tells whether there is one.
	turnTo(pattern string) bool
	// action runs the code action with that title, or whose title begins so.
	action(title string)
	// append adds a line at the end of the document in focus.
	append(line string)
	// replace changes the first place where the document has a text, plain and
	// within a line.
	replace(from, to string)
	// told are what the editor shows of what the server found in the document in
	// focus: lines and messages, as far as it can tell them.
	told() string
	// text is the document in focus, as far as the editor can tell it.
	text() string
	// save writes the document in focus, and closeDocument closes it, unsaved or not.
	save()
	closeDocument()
	saveAll()
	saveAs(path string)
	reload()
	changeLanguage(language string)
	splitAndCloseOne()
	restartServer()
	// quit leaves the editor.
	quit()
	screen() string
}

// awaitStaged waits until a proposal with that base name is shown, moves to it,
// and returns its path.
func (w *world) awaitStaged(basename string) string {
	w.t.Helper()
	var path string
	eventually(w.t, "the proposal "+basename+" opens", func() (bool, string) {
		if !w.editor.turnTo("/proposed/*/" + basename) {
			return false, w.editor.screen()
		}
		path = w.editor.shown()
		return isStaged(path) && filepath.Base(path) == basename, path + "\n" + w.editor.screen()
	})
	return path
}

func isStaged(path string) bool {
	return strings.Contains(path, string(filepath.Separator)+"proposed"+string(filepath.Separator))
}

// prompt starts a session or goes on with it, as a person does: the code action, the
// document that opens, a save.
func (w *world) prompt(text string) {
	w.t.Helper()
	w.openPrompt()
	w.editor.append(text)
	w.editor.save()
}

// openPrompt runs the code action and waits for the document.
func (w *world) openPrompt() {
	w.t.Helper()
	w.editor.action("Countersign: new prompt")
	eventually(w.t, "prompt.md opens", func() (bool, string) {
		path := w.editor.shown()
		return filepath.Base(path) == "prompt.md", path + "\n" + w.editor.screen()
	})
}

// awaitTold waits until the editor shows what keeps the document in focus from
// being decided, and in which line that is.
func (w *world) awaitTold(line int, words string) {
	w.t.Helper()
	eventually(w.t, fmt.Sprintf("line %d of the document is told: %s", line, words), func() (bool, string) {
		all := w.editor.told()
		at := fmt.Sprintf("line %d: ", line)
		for l := range strings.Lines(all) {
			if strings.Contains(l, at) && strings.Contains(l, words) {
				return true, all
			}
		}
		return false, all + "\n" + w.editor.screen()
	})
}

// awaitOpened waits until the document of an approval is shown, and moves to it.
func (w *world) awaitOpened(a approval) {
	w.t.Helper()
	eventually(w.t, "the document of "+a.Title+" opens", func() (bool, string) {
		if !w.editor.turnTo(a.staged()) {
			return false, w.editor.screen()
		}
		path := w.editor.shown()
		return path == a.staged(), path + "\n" + w.editor.screen()
	})
}
