package lsp_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"

	"countersign/lsp/lsptest"
	"countersign/session"
	"countersign/session/hub"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata/scripts")

// TestScripts plays testdata/scripts/*.txtar. The files of an archive are the
// workspace; its comment is the script. A line is a step (see steps), a remark
// after #, or, indented and after a |, what was to be observed since the step
// before: what the editor sent, was shown and was told, and what the agent got.
// Everything is done with a step before the next one begins; time passes only
// by the steps wait and, for gaps within an action, by the editor's habits.
//
// In a script @r1 is the staged document of request r1, <r1> its approval's id,
// prompt the prompt document, and every other name a file of the workspace.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/scripts/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range scripts {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			script, files := parseArchive(string(data))
			var got string
			inWorld(t, func(w *world) { got = w.play(script, files) })
			if got == script || t.Failed() {
				return
			}
			if *update {
				if err := os.WriteFile(file, []byte(got+string(data)[len(script):]), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			t.Errorf("played (-update takes this as right):\n%s", difference(script, got))
		})
	}
}

type archived struct{ name, text string }

// parseArchive parses the txtar format: a comment, then files, each after a
// line "-- NAME --".
func parseArchive(data string) (comment string, files []archived) {
	for _, line := range strings.SplitAfter(data, "\n") {
		name, marked := strings.CutPrefix(strings.TrimSpace(line), "-- ")
		if name, ok := strings.CutSuffix(name, " --"); marked && ok {
			files = append(files, archived{name: name})
			continue
		}
		if len(files) == 0 {
			comment += line
		} else {
			files[len(files)-1].text += line
		}
	}
	return comment, files
}

// difference shows two scripts line by line.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out strings.Builder
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			fmt.Fprintln(&out, "  "+a[i])
			i, j = i+1, j+1
		case i < len(a) && strings.HasPrefix(strings.TrimSpace(a[i]), "|"):
			fmt.Fprintln(&out, "- "+a[i])
			i++
		case j < len(b):
			fmt.Fprintln(&out, "+ "+b[j])
			j++
		default:
			fmt.Fprintln(&out, "- "+a[i])
			i++
		}
	}
	return out.String()
}

// play plays a script and gives it back with what was observed.
func (w *world) play(script string, files []archived) string {
	settings := ""
	for _, f := range files {
		if f.name == "settings.json" {
			settings = f.text
			continue
		}
		w.write(f.name, f.text)
	}
	var out strings.Builder
	for _, line := range strings.SplitAfter(script, "\n") {
		step := strings.TrimSpace(line)
		if strings.HasPrefix(step, "|") {
			continue
		}
		out.WriteString(line)
		if step == "" || strings.HasPrefix(step, "#") {
			continue
		}
		words, err := split(step)
		if err != nil {
			w.t.Fatalf("%s: %v", step, err)
		}
		run, ok := steps[words[0]]
		if !ok {
			w.t.Fatalf("%s: no such step", step)
		}
		if words[0] == "editor" {
			words = append(words, settings)
		}
		if err := run(w, words[1:]); err != nil {
			w.note("error: %v", err)
		}
		w.settle()
		for _, o := range w.take() {
			for _, l := range strings.Split(o, "\n") {
				fmt.Fprintf(&out, "  | %s\n", l)
			}
		}
	}
	return out.String()
}

// split splits a step into words; a word in double quotes is a Go string, one
// that begins with { or [ goes to the end of the line.
func split(line string) ([]string, error) {
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		switch {
		case line[0] == '{', line[0] == '[':
			return append(words, line), nil
		case line[0] == '"':
			quoted, err := strconv.QuotedPrefix(line)
			if err != nil {
				return nil, err
			}
			word, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, err
			}
			words, line = append(words, word), line[len(quoted):]
		default:
			word, rest, _ := strings.Cut(line, " ")
			words, line = append(words, word), rest
		}
	}
	return words, nil
}

type step func(w *world, args []string) error

// on is a step that does something with one document.
func on(f func(e *lsptest.Editor, path string) error) step {
	return func(w *world, args []string) error { return f(w.editor, w.path(args[0])) }
}

var steps map[string]step

func init() {
	steps = map[string]step{
		// editor KIND: start it.
		"editor": func(w *world, args []string) error {
			kind, ok := lsptest.KindNamed(args[0])
			if !ok {
				return fmt.Errorf("no kind %s", args[0])
			}
			w.start(kind, args[1])
			return nil
		},
		// wait DURATION
		"wait": func(w *world, args []string) error {
			d, err := time.ParseDuration(args[0])
			w.pass(d)
			return err
		},
		// begin: the command line sends a prompt, which starts the agent.
		"begin": func(w *world, _ []string) error { w.begin(); return nil },
		// ask REQUEST TOOL {INPUT}: the agent asks. $ROOT is the workspace.
		"ask": func(w *world, args []string) error {
			w.agent.ask(args[0], args[1], strings.ReplaceAll(args[2], "$ROOT", w.root))
			return nil
		},
		// suggest [RULES]: the next request comes with these suggestions.
		"suggest": func(w *world, args []string) error {
			return json.Unmarshal([]byte(args[0]), &w.agent.next.Suggestions)
		},
		// subagent NAME: the next request is a subagent's.
		"subagent": func(w *world, args []string) error {
			w.agent.next.AgentID, w.agent.next.AgentName = "agent-"+args[0], args[0]
			return nil
		},
		// agent NUMBER: what follows is about another session's agent.
		"agent": func(w *world, args []string) error {
			n, err := strconv.Atoi(args[0])
			return errors.Join(err, w.agent.choose(n))
		},
		// says TEXT: the agent says something. turns-to MODE: it changes its mode.
		"says": func(w *world, args []string) error {
			w.agent.emit(session.Said{Text: args[0]})
			return nil
		},
		"turns-to": func(w *world, args []string) error {
			w.agent.last.turnTo(args[0])
			return nil
		},
		// cancel REQUEST: the agent takes a request back.
		"cancel": func(w *world, args []string) error { w.agent.cancel(args[0]); return nil },
		// turn-ends, agent-dies
		"turn-ends":  func(w *world, _ []string) error { w.agent.turnEnds(); return nil },
		"agent-dies": func(w *world, _ []string) error { w.agent.dies(); return nil },

		"open":         on((*lsptest.Editor).Open),
		"save":         on((*lsptest.Editor).Save),
		"close":        on((*lsptest.Editor).Close),
		"hide":         on((*lsptest.Editor).Hide),
		"reload":       on((*lsptest.Editor).Reload),
		"autosave":     on((*lsptest.Editor).Autosave),
		"focus-out":    on((*lsptest.Editor).FocusOut),
		"save-close":   on((*lsptest.Editor).SaveAndClose),
		"save-all":     func(w *world, _ []string) error { return w.editor.SaveAll() },
		"flash":        on(func(e *lsptest.Editor, path string) error { return e.FlashSaveClose(path, false) }),
		"flash-closed": on(func(e *lsptest.Editor, path string) error { return e.FlashSaveClose(path, true) }),
		// edit FILE OLD NEW; an empty OLD is the end
		"edit": func(w *world, args []string) error { return w.editor.Edit(w.path(args[0]), args[1], args[2]) },
		// text FILE TEXT: replace the whole text
		"text": func(w *world, args []string) error { return w.editor.SetText(w.path(args[0]), args[1]) },
		// save-as FILE OTHER
		"save-as": func(w *world, args []string) error { return w.editor.SaveAs(w.path(args[0]), w.path(args[1])) },
		// language FILE LANGUAGE
		"language": func(w *world, args []string) error { return w.editor.SetLanguage(w.path(args[0]), args[1]) },
		"restart":  func(w *world, _ []string) error { w.restart(); return nil },
		"crash":    func(w *world, _ []string) error { w.reconnect(); return nil },
		"quit": func(w *world, _ []string) error {
			w.editor.Quit()
			w.await()
			w.editor = nil
			return nil
		},
		// select FILE LINE CHARACTER LINE CHARACTER
		"select": func(w *world, args []string) error {
			var n [4]uint32
			for i := range n {
				v, err := strconv.ParseUint(args[i+1], 10, 32)
				if err != nil {
					return err
				}
				n[i] = uint32(v)
			}
			return w.editor.Select(w.path(args[0]), protocol.Range{
				Start: protocol.Position{Line: n[0], Character: n[1]}, End: protocol.Position{Line: n[2], Character: n[3]},
			})
		},
		// problem FILE LINE TEXT: the cursor is there, and another server says that of the line.
		"problem": func(w *world, args []string) error {
			n, err := strconv.ParseUint(args[1], 10, 32)
			if err != nil {
				return err
			}
			at := protocol.Position{Line: uint32(n)}
			r := protocol.Range{Start: at, End: at}
			return w.editor.Select(w.path(args[0]), r, protocol.Diagnostic{
				Range: r, Severity: protocol.DiagnosticSeverityError, Source: protocol.NewOptional("gopls"), Message: protocol.String(args[2]),
			})
		},
		// actions FILE, do FILE TITLE, hover FILE LINE, lenses FILE
		"actions": func(w *world, args []string) error {
			actions, err := w.editor.Actions(w.t.Context(), w.path(args[0]))
			for _, a := range actions {
				line := a.Title
				if a.Kind != "" {
					line += " [" + a.Kind + "]"
				}
				if a.Preferred {
					line += " preferred"
				}
				w.note("ask action: %s", line)
			}
			return err
		},
		"do": func(w *world, args []string) error {
			actions, err := w.editor.Actions(w.t.Context(), w.path(args[0]))
			if err != nil {
				return err
			}
			for _, a := range actions {
				if strings.HasPrefix(a.Title, args[1]) {
					_, err := w.editor.Run(w.t.Context(), a)
					return err
				}
			}
			return fmt.Errorf("no action %q", args[1])
		},
		"hover": func(w *world, args []string) error {
			line, err := strconv.ParseUint(args[1], 10, 32)
			if err != nil {
				return err
			}
			text, err := w.editor.Hover(w.t.Context(), w.path(args[0]), uint32(line))
			w.note("ask hover:\n%s", strings.TrimRight(text, "\n"))
			return err
		},
		"lenses": func(w *world, args []string) error {
			titles, err := w.editor.Lenses(w.t.Context(), w.path(args[0]))
			for _, title := range titles {
				w.note("ask lens: %s", title)
			}
			return err
		},
		// command NAME [{ARGUMENT}]: <r1> in the argument is an id.
		"command": func(w *world, args []string) error {
			var raw []jsontext.Value
			for _, a := range args[1:] {
				v := jsontext.Value(w.ids(a))
				if a[0] != '{' { // a string alone
					var err error
					if v, err = json.Marshal(w.ids(a)); err != nil {
						return err
					}
				}
				raw = append(raw, v)
			}
			res, err := w.editor.Execute(w.t.Context(), args[0], raw...)
			if err != nil {
				return err
			}
			w.note("ask answer: %s", res)
			return nil
		},
		// settings {JSON}: the configuration changes.
		"settings": func(w *world, args []string) error {
			w.editor.SetSettings(jsontext.Value(args[0]))
			return nil
		},
		// terminal allow|deny REQUEST: the command line decides.
		"terminal": func(w *world, args []string) error {
			p := hub.SettleParams{ID: w.approval(args[1]).ID, Allow: args[0] == "allow", How: "command"}
			_, err := w.desk.Settle(w.t.Context(), p)
			return err
		},
		// write FILE TEXT: another program writes a file.
		"write": func(w *world, args []string) error { w.write(args[0], args[1]); return nil },
		// file FILE: what it holds; state REQUEST: where its approval stands.
		"file": func(w *world, args []string) error {
			w.note("agent's file %s: %q", args[0], w.read(args[0]))
			return nil
		},
		"state": func(w *world, args []string) error {
			a := w.approval(args[0])
			line := string(a.State)
			if a.By.How != "" {
				line += fmt.Sprintf(" by %s, %s %s", a.By.FrontEnd, a.By.How, a.By.Rule)
			}
			if a.Outcome.State != "" {
				line += ", " + a.Outcome.State
			}
			w.note("agent's request %s: %s", args[0], strings.TrimSpace(line))
			return nil
		},
		// look FILE: the text of a buffer, as the editor shows it.
		"look": func(w *world, args []string) error {
			b, ok := w.editor.Buffer(w.path(args[0]))
			if !ok {
				return fmt.Errorf("no buffer %s", args[0])
			}
			changed := ""
			if b.Dirty() {
				changed = ", unsaved"
			}
			w.note("ask %s, version %d%s:\n%s", args[0], b.Version, changed, strings.TrimSuffix(b.Text, "\n"))
			return nil
		},
		// buffers: what the editor has open.
		"buffers": func(w *world, _ []string) error {
			for _, b := range w.editor.Buffers() {
				line := b.URI
				if b.Hidden {
					line += " hidden"
				}
				if b.Dirty() {
					line += " changed"
				}
				w.note("ask buffer: %s %q", line, b.Text)
			}
			return nil
		},
	}
}

// ids puts approvals' ids where a script has <REQUEST>.
func (w *world) ids(s string) string {
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			return s
		}
		j := strings.IndexByte(s[i:], '>')
		if j < 0 {
			return s
		}
		s = s[:i] + w.approval(s[i+1:i+j]).ID + s[i+j+1:]
	}
}
