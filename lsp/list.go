package lsp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.lsp.dev/protocol"

	"countersign/approvals"
	"countersign/diff"
	"countersign/session/hub"
)

// A list is a document that shows several pending requests of one kind in full,
// so that they can be allowed together without any of them having been unseen:
// saving it allows those that are still ticked, each as it is shown. The same
// gestures as in a staged document tell whether a save is one.

const (
	listsName = "lists"
	listName  = "allow.md"
	// maxListed bounds the requests of one list.
	maxListed = 50
	// maxShown bounds the lines of one request in a list: a longer one is to be
	// looked at by itself.
	maxShown = 200
)

type list struct {
	id   string // for the gestures: no approval's
	uri  string
	link *link

	items []listed
	ticks string // the lines to tick
	rest  string // from the first line on that only shows
	size  int64  // of the file when it was last seen
	time  time.Time
	busy  bool // its requests are being allowed
	done  bool
}

// listed is one request of a list.
type listed struct {
	id    string
	title string
	line  string // without its tick
	text  string // what is allowed
}

const (
	listHint = "<!-- Saving this document allows the requests that are ticked, each as it is shown below.\n" +
		"     Untick or delete a line to leave its request pending. Closing decides nothing. -->\n"
	listRest = "<!-- What follows only shows the requests. To amend one, use its own document. -->"
)

// kindred counts the pending requests of the kind of c that can be allowed with it.
func (sn *snapshot) kindred(c *card) (n int) {
	for _, x := range sn.pending {
		if akin(x, c) {
			n++
		}
	}
	return n
}

// akin tells whether two requests are of one session and kind.
func akin(a, b *card) bool {
	return a.Session == b.Session && a.Kind == b.Kind && a.link == b.link && a.pending() && aggregates(a)
}

// aggregates tells whether a request can be allowed together with others.
// Questions and plans are each answered by themselves.
func aggregates(c *card) bool { return c.Kind != "" }

// A candidate is a request that may go into a list, with what is known of it.
type candidate struct {
	card   *card
	label  string
	detail hub.Detail
	text   string // what an allow would carry
}

// newList puts requests into a list. Those that cannot be shown in full are
// named, and left out.
func newList(cs []candidate) *list {
	l := &list{}
	var ticks, bodies strings.Builder
	var left []string
	for _, c := range cs {
		fence, shown := fenceOf(c.card), c.text
		if c.card.Surface == approvals.SurfaceProposal {
			fence, shown = "diff", diff.Unified(c.card.Path, c.card.Path, c.detail.Original, c.text)
		}
		switch {
		case shown == "":
			left = append(left, c.label+": it changes nothing")
			continue
		case strings.Count(shown, "\n") > maxShown || longLine(shown):
			left = append(left, c.label+": too long to be shown here")
			continue
		case len(c.card.Hidden) > 0 || strings.IndexFunc(strings.ReplaceAll(shown, "\r\n", "\n"), approvals.Invisible) >= 0:
			left = append(left, c.label+": parts of it do not show")
			continue
		case len(l.items) == maxListed:
			left = append(left, c.label)
			continue
		}
		line := fmt.Sprintf("%d. %s", len(l.items)+1, c.label)
		l.items = append(l.items, listed{id: c.card.ID, title: c.label, line: line, text: c.text})
		ticks.WriteString("- [x] " + line + "\n")
		fmt.Fprintf(&bodies, "\n## %s\n\n", line)
		for _, n := range c.card.Notes {
			fmt.Fprintf(&bodies, "> %s\n\n", oneLine(n.Text, 200))
		}
		bodies.WriteString(fenced(fence, shown))
	}
	var b strings.Builder
	b.WriteString(listRest + "\n")
	b.WriteString(bodies.String())
	if len(left) > 0 {
		b.WriteString("\n## Not in this list: review these one by one\n\n")
		for _, t := range left {
			b.WriteString("- " + t + "\n")
		}
	}
	l.rest = b.String()
	l.ticks = ticks.String()
	return l
}

// longLine tells whether a line is longer than anybody looks at.
func longLine(text string) bool {
	for line := range strings.Lines(text) {
		if len(line) > 1000 {
			return true
		}
	}
	return false
}

// fenceOf is the language of what a request would run.
func fenceOf(c *card) string {
	if c.Staged != nil && strings.HasSuffix(c.Staged.Path, ".sh") {
		return "sh"
	}
	return "json"
}

// fenced puts text between fences that it cannot end.
func fenced(language, text string) string {
	fence := strings.Repeat("`", max(3, longestRun(text, '`')+1))
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return fence + language + "\n" + text + fence + "\n"
}

// text is the document of a list.
func (l *list) text() string { return listHint + "\n" + l.ticks + "\n" + l.rest }

// A placeError is why a document of ours cannot be read, and where.
type placeError struct {
	line   int // 1-based
	reason string
}

func (e *placeError) Error() string { return e.reason }

// read finds the requests that a saved list still allows.
func (l *list) read(text string) ([]listed, error) {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\ufeff")
	i := strings.Index(text, listRest)
	if i < 0 {
		return nil, &placeError{1, "the line that says where the requests are shown was changed or removed"}
	}
	head, rest := text[:i], text[i:]
	if strings.TrimRight(rest, "\n") != strings.TrimRight(l.rest, "\n") {
		return nil, &placeError{strings.Count(head, "\n") + 1 + firstDifference(rest, l.rest), "what is shown here was changed, which changes no request: amend a request in its own document"}
	}
	var chosen []listed
	comment := false
	n := 0
	for line := range strings.Lines(head) {
		n++
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "<!--") {
			comment = true
		}
		inside := comment
		if strings.HasSuffix(line, "-->") {
			comment = false
		}
		if line == "" || inside {
			continue
		}
		item, ticked, ok := l.item(line)
		switch {
		case !ok:
			return nil, &placeError{n, "this line is none of the list's: untick or delete lines, and leave them as they are otherwise"}
		case !ticked:
		default:
			for _, c := range chosen {
				if c.id == item.id {
					return nil, &placeError{n, "this request is listed twice"}
				}
			}
			chosen = append(chosen, item)
		}
	}
	return chosen, nil
}

// item is the request of a line like "- [x] 1. Edit a.txt".
func (l *list) item(line string) (item listed, ticked, ok bool) {
	rest, found := strings.CutPrefix(line, "- [")
	mark, name, closed := strings.Cut(rest, "]")
	if !found || !closed {
		return listed{}, false, false
	}
	for _, it := range l.items {
		if strings.TrimSpace(name) != it.line {
			continue
		}
		switch strings.TrimSpace(mark) {
		case "":
			return it, false, true
		case "x", "X":
			return it, true, true
		}
	}
	return listed{}, false, false
}

// firstDifference is the number of the first line in which two texts differ.
func firstDifference(a, b string) int {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return i
		}
	}
	return max(0, min(len(as), len(bs))-1)
}

// write puts the list's document on disk.
func (l *list) write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the list cannot be made: %w", err)
	}
	path := filepath.Join(dir, listName)
	if err := writePrivate(path, l.text()); err != nil {
		return fmt.Errorf("the list cannot be made: %w", err)
	}
	l.uri = fileURI(path)
	fi, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("the list cannot be made: %w", err)
	}
	l.size, l.time = fi.Size(), fi.ModTime()
	return nil
}

// look reads the list's document back after a save.
func (l *list) look(text *Text, known bool) Disk {
	path := pathOf(l.uri)
	onDisk, err := readPrivate(path)
	fi, err2 := os.Stat(path)
	if err = errors.Join(err, err2); err != nil {
		return Disk{Err: err.Error()}
	}
	written := fi.Size() != l.size || !fi.ModTime().Equal(l.time)
	l.size, l.time = fi.Size(), fi.ModTime()
	return Disk{Written: written, Same: known && SameText(onDisk, text.String()), Text: onDisk}
}

// listID is the id of the list that a URI names, of this server or of another
// time; empty for every other document.
func (s *server) listID(uri string) string {
	if l := s.listAt(uri); l != nil {
		return l.id
	}
	path := pathOf(uri)
	dir := filepath.Dir(path)
	if filepath.Base(path) != listName || filepath.Base(filepath.Dir(dir)) != listsName {
		return ""
	}
	storage := filepath.Dir(filepath.Dir(dir))
	for _, l := range s.links {
		if l.storage == storage {
			return filepath.Base(dir)
		}
	}
	return ""
}

func (s *server) listAt(uri string) *list {
	for _, l := range s.lists {
		if l.uri == uri {
			return l
		}
	}
	return nil
}

// ofList is what a list says at its top, and where it cannot be read.
func (s *server) ofList(l *list) []protocol.Diagnostic {
	text := requests(len(l.items)) + " can be allowed here. Saving allows what is ticked; closing decides nothing."
	if l.done {
		text = "This list was dealt with. Saving it decides nothing any more."
	}
	ds := []protocol.Diagnostic{s.diagnostic("", 0, l.uri, protocol.DiagnosticSeverityInformation, "list", text)}
	if r, ok := s.refused[l.uri]; ok {
		ds = append(ds, s.diagnostic("", uint32(max(0, r.line-1)), l.uri, protocol.DiagnosticSeverityError, "refused", "Nothing was decided: "+r.words+"."))
	}
	return ds
}
