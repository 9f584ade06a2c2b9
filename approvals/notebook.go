package approvals

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// NotebookEdit replaces, inserts or deletes one cell of a notebook. What is
// staged is the cell's source; the rest of the notebook's JSON is written
// anew by the agent around it.
type notebookWay struct {
	file   *fileText
	pieces [3]string // the written JSON: before the source, between source and a new cell's id, after
	id     holes     // whether, and on which side of the source, the agent chooses an id
	mode   string    // "replace", "insert", "delete"
	retype bool      // the cell's type changes too, so that its old source alone does not restore it
}

// holes tells what of the written JSON is open.
type holes int

const (
	noHole     holes = iota // all is known: a deletion
	sourceHole              // only the source is open
	idHole                  // the id of a new cell too; it stands before the source
)

var cellNumber = regexp.MustCompile(`^cell-(\d+)$`)

func proposeNotebook(p *Proposal, read ReadFile, limit int64) error {
	source, err := p.input.text("new_source")
	if err != nil {
		return err
	}
	id, _, err := p.input.optionalText("cell_id")
	if err != nil {
		return err
	}
	cellType, typed, err := p.input.optionalText("cell_type")
	if err != nil {
		return err
	}
	mode, moded, err := p.input.optionalText("edit_mode")
	if err != nil {
		return err
	}
	if !moded {
		mode = "replace"
	}
	switch {
	case mode != "replace" && mode != "insert" && mode != "delete":
		return fmt.Errorf(`"edit_mode" in the tool input is %q: not replace, insert or delete`, mode)
	case typed && cellType != "code" && cellType != "markdown":
		return fmt.Errorf(`"cell_type" in the tool input is %q: not code or markdown`, cellType)
	case mode == "insert" && !typed:
		return errors.New(`tool input has no "cell_type", which an insertion needs`)
	case filepath.Ext(p.path) != ".ipynb":
		return fmt.Errorf("%s is not a notebook (.ipynb)", p.path)
	case strings.IndexByte(source, 0) >= 0:
		return &NoPreviewError{Path: p.path, Reason: "the new source holds NUL characters: binary"}
	}
	if err := p.load(read, limit); err != nil {
		return err
	}
	if !p.file.exists {
		return fmt.Errorf("%s does not exist", p.path)
	}
	book, err := parseJS(withoutBOM(p.file.content))
	if err != nil {
		return &NoPreviewError{Path: p.path, Reason: "it is not a notebook: " + err.Error()}
	}
	cells := book.get("cells")
	if err := checkCells(cells); err != nil {
		return &NoPreviewError{Path: p.path, Reason: "it is not a notebook: " + err.Error()}
	}
	at, err := findCell(cells, id, mode == "insert")
	if err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	rendered := p.file.renderBook(book)
	if len(rendered) > maxStringified {
		return &NoPreviewError{Path: p.path, Reason: "it is too large a notebook for the agent to write"}
	}
	if rendered != p.file.content {
		p.note("The agent writes the notebook's JSON anew: its layout changes in other places too.")
	}

	w := notebookWay{file: p.file, mode: mode, id: sourceHole}
	kind := cellType
	switch mode {
	case "insert":
		p.original, p.text = "", source
		if major, _ := book.get("nbformat").number(); major > 4 {
			w.id = idHole
		} else if minor, ok := book.get("nbformat_minor").number(); major == 4 && ok && minor >= 5 {
			w.id = idHole
		}
		cells.items = append(cells.items[:at:at], append([]*jsNode{newCell(kind, w.id == idHole)}, cells.items[at:]...)...)
		p.note(fmt.Sprintf("A new %s cell, at place %d of %d.", kind, at+1, len(cells.items)))
		if w.id == idHole {
			p.note("The agent makes up an id for the new cell.")
		}
	case "delete":
		cell := cells.items[at]
		if p.original, err = cellSource(cell); err != nil {
			return &NoPreviewError{Path: p.path, Reason: err.Error()}
		}
		kind, _ = cell.get("cell_type").string()
		p.text, w.id = "", noHole
		cells.items = append(cells.items[:at:at], cells.items[at+1:]...)
		p.warn(fmt.Sprintf("Cell %d (%s) is deleted, its outputs too. A deletion can be allowed or denied, not amended.", at+1, kind))
	default:
		cell := cells.items[at]
		if p.original, err = cellSource(cell); err != nil {
			return &NoPreviewError{Path: p.path, Reason: err.Error()}
		}
		p.text = source
		was, _ := cell.get("cell_type").string()
		if kind == "" {
			kind = was
		}
		if w.retype = kind != was; w.retype {
			if kind == "code" && hasAttachments(cell) {
				return fmt.Errorf("%s: cell %d has attachments, which a code cell cannot hold; the agent refuses", p.path, at+1)
			}
			p.warn(fmt.Sprintf("The cell turns from %s to %s.", was, kind))
		}
		if outputs := cell.get("outputs"); outputs != nil && len(outputs.items) > 0 {
			p.warn("The cell's outputs are cleared.")
		}
		replaceSource(cell, cellType)
		p.note(fmt.Sprintf("The source of cell %d of %d (%s).", at+1, len(cells.items), kind))
	}
	p.basename += cellExtension(kind, book)
	w.cut(book)
	p.way = w
	p.written, p.unknown, p.holds = w.writes(p.text), w.id == idHole, w.holds(p.text)
	return nil
}

// renderBook is a notebook as the agent would write it, as LF text.
func (f *fileText) renderBook(book *jsNode) string {
	return f.framed(string(book.append(make([]byte, 0, len(f.content)), 0, nil)))
}

// framed puts around JSON what the file had around it.
func (f *fileText) framed(json string) string {
	if f.bom() {
		json = byteOrderMark + json
	}
	if strings.HasSuffix(f.content, "\n") {
		json += "\n"
	}
	return json
}

// cut writes the changed notebook and cuts it where something is open.
func (w *notebookWay) cut(book *jsNode) {
	var at []int
	text := book.append(make([]byte, 0, len(w.file.content)+256), 0, func(_ *jsNode, n int) { at = append(at, n) })
	whole := string(text)
	switch w.id {
	case noHole:
		at = []int{len(whole), len(whole)}
	case sourceHole:
		at = append(at, at[0]) // nothing between
	}
	framed := w.file.framed(whole)
	skip := strings.Index(framed, whole)
	w.pieces = [3]string{framed[:skip+at[0]], framed[skip+at[0] : skip+at[1]], framed[skip+at[1]:]}
}

// writes is the written notebook; empty where the agent makes up an id.
func (w notebookWay) writes(source string) string {
	switch w.id {
	case idHole:
		return ""
	case noHole:
		return w.file.lineEnded(w.pieces[0] + w.pieces[2])
	}
	return w.file.lineEnded(w.pieces[0] + jsString(source).text + w.pieces[2])
}

// holds tells whether bytes found are the notebook with that source, whatever
// id the agent made up.
func (w notebookWay) holds(source string) func([]byte) bool {
	if w.id != idHole {
		return nil
	}
	before := w.file.encode(w.file.lineEnded(w.pieces[0]))
	after := w.file.encode(w.file.lineEnded(w.pieces[1] + jsString(source).text + w.pieces[2]))
	return func(got []byte) bool {
		mid, ok := bytes.CutPrefix(got, before)
		if !ok {
			return false
		}
		mid, ok = bytes.CutSuffix(mid, after)
		return ok && madeUpID.MatchString(strings.ReplaceAll(string(mid), "\x00", "")) // UTF-16 has a zero in every second byte
	}
}

var madeUpID = regexp.MustCompile(`^"[0-9A-Za-z_-]{1,64}"$`)

func (w notebookWay) amend(p *Proposal, text string) (Amendment, error) {
	if w.mode != "insert" && text == p.original && !w.retype {
		return p.restored(), nil
	}
	if w.mode == "delete" {
		return Amendment{}, fmt.Errorf("%s: a cell's deletion cannot be amended: allow it with an empty text, or deny it", p.path)
	}
	input, err := p.input.splice(TextField("new_source", text))
	if err != nil {
		return Amendment{}, err
	}
	a := Amendment{Input: input, Amended: true, Holds: w.holds(text)}
	if a.Holds == nil {
		a.Want = w.file.encode(w.writes(text))
	}
	return a, nil
}

func checkCells(cells *jsNode) error {
	if cells == nil || cells.kind != '[' {
		return errors.New("it has no cells")
	}
	for i, c := range cells.items {
		source := c.get("source")
		if source == nil || source.kind != '"' && source.kind != '[' {
			return fmt.Errorf("cell %d has no source", i+1)
		}
		for _, line := range source.items {
			if line.kind != '"' {
				return fmt.Errorf("the source of cell %d is not text", i+1)
			}
		}
	}
	return nil
}

// findCell gives the place of the cell that is meant, or where a new one goes:
// after the one that is named, or first.
func findCell(cells *jsNode, id string, insert bool) (int, error) {
	if id == "" {
		if insert {
			return 0, nil
		}
		return 0, errors.New(`tool input has no "cell_id"`)
	}
	at := -1
	for i, c := range cells.items {
		if s, ok := c.get("id").string(); ok && s == id {
			at = i
			break
		}
	}
	if at < 0 {
		m := cellNumber.FindStringSubmatch(id)
		if m == nil {
			return 0, fmt.Errorf("the notebook has no cell %q", id)
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n >= len(cells.items) {
			return 0, fmt.Errorf("the notebook has no cell %q", id)
		}
		at = n
	}
	if insert {
		at++
	}
	return at, nil
}

func cellSource(cell *jsNode) (string, error) {
	source := cell.get("source")
	if source.kind == '"' {
		source = &jsNode{items: []*jsNode{source}}
	}
	var b strings.Builder
	for _, line := range source.items {
		s, ok := line.string()
		if !ok {
			return "", errors.New("the cell's source holds half a character")
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

func newCell(kind string, withID bool) *jsNode {
	cell := &jsNode{kind: '{'}
	cell.put("cell_type", jsString(kind))
	if withID {
		cell.put("id", &jsNode{kind: kindHole})
	}
	cell.put("source", &jsNode{kind: kindHole})
	cell.put("metadata", &jsNode{kind: '{'})
	if kind == "code" {
		cell.put("execution_count", jsNull())
		cell.put("outputs", jsArray())
	}
	return cell
}

// replaceSource does to a cell what a replacement does: the source is open,
// results go, and what does not belong to the cell's type goes with them.
func replaceSource(cell *jsNode, cellType string) {
	cell.put("source", &jsNode{kind: kindHole})
	if cellType != "" {
		cell.put("cell_type", jsString(cellType))
	}
	switch kind, _ := cell.get("cell_type").string(); kind {
	case "code":
		cell.put("execution_count", jsNull())
		cell.put("outputs", jsArray())
		if !hasAttachments(cell) {
			cell.drop("attachments")
		}
	case "markdown", "raw":
		cell.drop("execution_count")
		cell.drop("outputs")
	}
}

func hasAttachments(cell *jsNode) bool {
	a := cell.get("attachments")
	return a != nil && a.kind == '{' && len(a.items) > 0
}

var fileExtension = regexp.MustCompile(`^\.[A-Za-z0-9]{1,10}$`)

// cellExtension is what is put behind the notebook's name so that an editor
// knows the language of the cell.
func cellExtension(kind string, book *jsNode) string {
	switch kind {
	case "markdown":
		return ".md"
	case "code":
	default:
		return ".txt"
	}
	language := book.get("metadata").get("language_info")
	if ext, _ := language.get("file_extension").string(); fileExtension.MatchString(ext) {
		return ext
	}
	name, ok := language.get("name").string()
	if !ok {
		name, ok = book.get("metadata").get("kernelspec").get("language").string()
	}
	if !ok {
		return ".py" // what the agent assumes
	}
	switch strings.ToLower(name) {
	case "python", "ipython":
		return ".py"
	case "r":
		return ".r"
	case "julia":
		return ".jl"
	case "javascript", "node":
		return ".js"
	case "typescript":
		return ".ts"
	case "scala":
		return ".scala"
	case "rust":
		return ".rs"
	case "go":
		return ".go"
	case "ruby":
		return ".rb"
	case "c++":
		return ".cpp"
	case "c#":
		return ".cs"
	case "bash", "sh":
		return ".sh"
	case "sql":
		return ".sql"
	}
	return ".txt"
}
