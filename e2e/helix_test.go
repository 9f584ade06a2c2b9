//go:build linux

package e2e

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"countersign/editors"
)

// helix drives Helix, by keys and by what its screen shows: it has no other way
// in. Its status line is configured to tell mode, path and unsaved changes, and
// what is typed stands there as it was typed.
type helix struct {
	w       *world
	program string
	term    *terminal
}

func (h *helix) kind() string { return "hx" }

const helixConfig = `[editor]
auto-pairs = false
end-of-line-diagnostics = "disable"
inline-diagnostics = { cursor-line = "disable", other-lines = "disable" }
[editor.statusline]
left = ["mode", "file-absolute-path", "file-modification-indicator"]
center = []
right = ["diagnostics"]
`

func (h *helix) start(name string) {
	h.w.t.Helper()
	languages, err := editors.Helix(h.w.config())
	if err != nil {
		h.w.t.Fatal(err)
	}
	if h.w.languages != nil {
		languages = h.w.languages(languages)
	}
	h.w.write(filepath.Join(h.w.dir, "config/helix/languages.toml"), languages)
	h.w.write(filepath.Join(h.w.dir, "config/helix/config.toml"), helixConfig+h.w.extra)
	h.term = openTerminal(h.w.t, h.w.dir, h.w.project, h.w.env, h.program, name)
	eventually(h.w.t, "Helix shows a document", func() (bool, string) { return h.shown() != "", h.screen() })
}

// statusLine is that of the view in focus: only it tells a mode.
var statusLine = regexp.MustCompile(`(?m) (NOR|INS|SEL)  +(/\S+)( +\[\+\])?`)

func (h *helix) status() (mode, path string, modified bool) {
	m := statusLine.FindStringSubmatch(h.screen())
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], m[3] != ""
}

func (h *helix) shown() string {
	_, path, _ := h.status()
	return path
}

func (h *helix) awaitShown(path string) {
	h.w.t.Helper()
	eventually(h.w.t, "Helix shows "+path, func() (bool, string) { return h.shown() == path, h.screen() })
}

func (h *helix) awaitMode(mode string) {
	h.w.t.Helper()
	eventually(h.w.t, "Helix is in mode "+mode, func() (bool, string) {
		m, _, _ := h.status()
		return m == mode, h.screen()
	})
}

// normal goes to normal mode. It sends no Escape without need: the next key
// right behind one counts as that key with Alt.
func (h *helix) normal() {
	h.w.t.Helper()
	if mode, _, _ := h.status(); mode != "NOR" {
		h.term.press("Escape")
	}
	h.awaitMode("NOR")
}

func (h *helix) text() string   { return h.screen() }
func (h *helix) screen() string { return h.term.screen() }

var commandLine = regexp.MustCompile(`(?m)^:`)

// command types a command, waiting for its prompt first. A document that opens
// at that moment takes the prompt away, so it may have to be asked for again.
func (h *helix) command(line string) {
	h.w.t.Helper()
	h.normal()
	eventually(h.w.t, "the command line", func() (bool, string) {
		h.term.enterText(":")
		seen, ok := within(answer, func() (bool, string) {
			s := h.screen()
			return commandLine.MatchString(s), s
		})
		return ok, seen
	})
	h.term.enterText(line)
	eventually(h.w.t, "the command is typed", func() (bool, string) {
		s := h.screen()
		return strings.Contains(s, "\n:"+line), s
	})
	h.term.press("Enter")
}

func (h *helix) open(path string) {
	h.w.t.Helper()
	h.command("open " + path)
	h.awaitShown(path)
}

// turnTo has nothing to do: Helix puts what it is asked to show in focus.
func (h *helix) turnTo(string) bool { return true }

// action opens the menu of code actions, its first entry chosen, and goes down to the one
// wanted, which may be further down than the menu shows. A menu that has it not yet is closed
// and opened again.
func (h *helix) action(title string) {
	h.w.t.Helper()
	h.normal()
	eventually(h.w.t, "code action "+title, func() (bool, string) {
		h.term.press("Space", "a")
		seen, open := within(answer, func() (bool, string) {
			s := h.screen()
			return len(menu(s)) > 0 || strings.Contains(s, "No code actions") || strings.Contains(s, "not ready"), s
		})
		entries := menu(seen)
		if !open || len(entries) == 0 {
			return false, seen
		}
		down := 0
		for {
			if i := slices.IndexFunc(entries, func(e string) bool { return strings.HasPrefix(e, title) }); i >= 0 {
				for ; down < i; down++ {
					h.term.press("Down")
				}
				h.term.press("Enter")
				return true, ""
			}
			// The entry below the last one that shows comes in when that is chosen.
			last := entries[len(entries)-1]
			for ; down < len(entries); down++ {
				h.term.press("Down")
			}
			more, scrolled := within(answer, func() (bool, string) {
				s := h.screen()
				m := menu(s)
				return len(m) > 0 && m[len(m)-1] != last && m[0] != entries[0], s
			})
			if !scrolled {
				h.term.press("Escape")
				within(answer, func() (bool, string) { return len(menu(h.screen())) == 0, "" })
				return false, seen
			}
			m := menu(more)
			entries = append(entries, m[len(m)-1])
		}
	})
}

var menuEntry = regexp.MustCompile(` (Countersign: .*?) *▐?$`)

// menu are the entries of an open menu that show: nothing but Countersign's
// actions, one below the other.
func menu(screen string) (entries []string) {
	lines := strings.Split(screen, "\n")
	for _, line := range lines[:max(0, len(lines)-2)] { // below are the status and the server's messages
		if m := menuEntry.FindStringSubmatch(line); m != nil {
			entries = append(entries, m[1])
		} else if len(entries) > 0 {
			break
		}
	}
	return entries
}

func (h *helix) append(line string) {
	h.w.t.Helper()
	h.normal()
	h.term.press("g", "e", "o")
	h.awaitMode("INS")
	h.term.enterText(line)
	eventually(h.w.t, "the line was typed", func() (bool, string) {
		s := h.screen()
		return strings.Contains(s, line), s
	})
	h.normal()
}

func (h *helix) replace(from, to string) {
	h.w.t.Helper()
	h.normal()
	h.term.press("g", "g", "/")
	h.term.enterText(regexp.QuoteMeta(from))
	eventually(h.w.t, "the search is typed", func() (bool, string) {
		s := h.screen()
		return strings.Contains(s, "search:"+regexp.QuoteMeta(from)), s
	})
	h.term.press("Enter", "c")
	h.awaitMode("INS")
	h.term.enterText(to)
	eventually(h.w.t, from+" became "+to, func() (bool, string) {
		s := h.screen()
		return strings.Contains(s, to), s
	})
	h.normal()
}

// told is what the screen shows: the server's last message among it.
func (h *helix) told() string { return h.screen() }

func (h *helix) save() {
	h.w.t.Helper()
	path := h.shown()
	before := stamp(path)
	h.command("w")
	awaitWritten(h.w, path, before)
}

func (h *helix) closeDocument() {
	h.w.t.Helper()
	path := h.shown()
	h.command("bc!")
	eventually(h.w.t, "the document is closed", func() (bool, string) { return h.shown() != path, h.screen() })
}

func (h *helix) saveAll() {
	h.w.t.Helper()
	h.command("wa")
}

func (h *helix) saveAs(path string) {
	h.w.t.Helper()
	before := stamp(path)
	h.command("w! " + path)
	awaitWritten(h.w, path, before)
}

func (h *helix) reload() {
	h.w.t.Helper()
	h.command("reload")
	h.awaitMode("NOR")
}

func (h *helix) changeLanguage(language string) {
	h.w.t.Helper()
	h.command("set-language " + language)
	h.awaitMode("NOR")
}

func (h *helix) splitAndCloseOne() {
	h.w.t.Helper()
	count := func(n int) func() (bool, string) {
		return func() (bool, string) {
			s := h.screen()
			return strings.Count(s, h.shown()) == n, s
		}
	}
	h.command("hsplit")
	eventually(h.w.t, "two views", count(2))
	h.command("q")
	eventually(h.w.t, "one view", count(1))
}

func (h *helix) restartServer() {
	h.w.t.Helper()
	before := h.w.servers()
	h.command("lsp-restart")
	awaitNewServer(h.w, before)
}

func (h *helix) quit() {
	h.w.t.Helper()
	h.command("qa!") // with the prompt, which an edit emptied, unsaved
	awaitEnded(h.w, h.term)
}
