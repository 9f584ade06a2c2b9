package approvals

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

func readOnly(files map[string]string) ReadFile {
	return func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
}

const oneQuestion = `{"questions":[{"question":"Which color?","header":"Color","options":[{"label":"Red","description":"warm"},{"label":"Blue","description":"cold","preview":"# blue\n- [x] Red — warm"}],"multiSelect":false}]}`

func TestRoute(t *testing.T) {
	read := readOnly(map[string]string{"/w/a.txt": "one\ntwo\n", "/w/bin": "a\x00b"})
	for name, c := range map[string]struct {
		tool, input string
		own         bool // requires_user_interaction
		panel       bool // reviewEdits
		surface     Surface
		basename    string
		warns       string // what a warning says; empty for none
	}{
		"question":                     {"AskUserQuestion", oneQuestion, true, false, SurfaceQuestion, "question.md", ""},
		"question of an older agent":   {"AskUserQuestion", oneQuestion, false, false, SurfaceQuestion, "question.md", ""},
		"question without questions":   {"AskUserQuestion", `{}`, true, false, SurfaceRefused, "input.json", "cannot be shown"},
		"empty list of questions":      {"AskUserQuestion", `{"questions":[]}`, false, false, SurfaceRefused, "input.json", "no question"},
		"question of another shape":    {"AskUserQuestion", `{"questions":"Which?"}`, false, false, SurfaceRefused, "input.json", "cannot be"},
		"plan":                         {"ExitPlanMode", `{"plan":"# P\n","planFilePath":"/x"}`, true, false, SurfacePlan, "plan.md", ""},
		"plan of an older agent":       {"ExitPlanMode", `{"plan":"# P"}`, false, false, SurfacePlan, "plan.md", ""},
		"plan without a plan":          {"ExitPlanMode", `{}`, true, false, SurfacePlan, "plan.md", "no plan"},
		"plan that is no text":         {"ExitPlanMode", `{"plan":3}`, true, false, SurfaceRefused, "input.json", "cannot be shown"},
		"edit":                         {"Edit", `{"file_path":"/w/a.txt","old_string":"two","new_string":"TWO"}`, false, false, SurfaceProposal, "a.txt", ""},
		"edit by panel":                {"Edit", `{"file_path":"/w/a.txt","old_string":"two","new_string":"TWO"}`, false, true, SurfacePanel, "a.txt", ""},
		"edit with the flag":           {"Edit", `{"file_path":"/w/a.txt","old_string":"two","new_string":"TWO"}`, true, false, SurfaceProposal, "a.txt", ""},
		"edit that fits nothing":       {"Edit", `{"file_path":"/w/a.txt","old_string":"nine","new_string":"x"}`, false, false, SurfacePanel, "input.json", "only the tool's input"},
		"edit of a binary file":        {"Edit", `{"file_path":"/w/bin","old_string":"a","new_string":"x"}`, false, false, SurfacePanel, "input.json", "binary"},
		"edit without fields":          {"Edit", `{"path":"/w/a.txt"}`, false, false, SurfacePanel, "input.json", "file_path"},
		"write of a new file":          {"Write", `{"file_path":"/w/new.go","content":"package x\n"}`, false, false, SurfaceProposal, "new.go", ""},
		"write, too large":             {"Write", `{"file_path":"/w/new.go","content":"` + strings.Repeat("x", 2000) + `"}`, false, false, SurfacePanel, "input.json", "bytes"},
		"bash":                         {"Bash", `{"command":"ls -l"}`, false, false, SurfacePanel, "command.sh", ""},
		"bash outside the sandbox":     {"Bash", `{"command":"ls","dangerouslyDisableSandbox":true}`, false, false, SurfacePanel, "command.sh", "sandbox"},
		"bash without a command":       {"Bash", `{"cmd":"ls"}`, false, false, SurfacePanel, "input.json", ""},
		"bash with a hidden character": {"Bash", "{\"command\":\"ls \u202e# x\"}", false, false, SurfacePanel, "command.sh", "right-to-left override (U+202E)"},
		"web fetch":                    {"WebFetch", `{"url":"https://a.example"}`, false, false, SurfacePanel, "input.json", ""},
		"MCP tool":                     {"mcp__srv__do", `{"a":1}`, false, false, SurfacePanel, "input.json", ""},
		"MCP tool named like ours":     {"mcp__srv__Edit", `{"file_path":"/w/a.txt","old_string":"two","new_string":"TWO"}`, false, false, SurfacePanel, "input.json", ""},
		"own interaction":              {"Novelty", `{"a":1}`, true, false, SurfaceRefused, "input.json", "interaction of its own"},
		"no input":                     {"Novelty", ``, false, false, SurfacePanel, "input.json", "cannot be amended"},
		"input that is no object":      {"Novelty", `[1]`, false, false, SurfacePanel, "input.json", "cannot be amended"},
	} {
		t.Run(name, func(t *testing.T) {
			pol := Policy{MaxPreview: 1000}
			if c.panel {
				pol.ReviewEdits = "panel"
			}
			req := Request{ID: "r", Tool: c.tool, Input: jsontext.Value(c.input), NeedsOwnSurface: c.own, Dir: "/w"}
			surface, doc, notes := Route(req, read, pol)
			if surface != c.surface || doc.Basename() != c.basename {
				t.Fatalf("%s, %s", surface, doc.Basename())
			}
			warned := ""
			for _, n := range notes {
				if n.Warning {
					warned += n.Text + "\n"
				}
			}
			if (c.warns == "") != (warned == "") || !strings.Contains(warned, c.warns) {
				t.Errorf("warnings %q, want %q", warned, c.warns)
			}
		})
	}
}

func TestTitles(t *testing.T) {
	read := readOnly(map[string]string{"/w/a.txt": "one\n", "/elsewhere/b": "x"})
	for _, c := range []struct{ tool, input, want string }{
		{"Edit", `{"file_path":"/w/a.txt","old_string":"one","new_string":"x"}`, "Edit a.txt"},
		{"Update", `{"file_path":"/w/a.txt","old_string":"one","new_string":"x"}`, "Edit a.txt"},
		{"Write", `{"file_path":"/w/src/n.go","content":"x"}`, "Create src/n.go"},
		{"Write", `{"file_path":"/w/a.txt","content":"x"}`, "Write a.txt"},
		{"Write", `{"file_path":"/elsewhere/b","content":"y"}`, "Write /elsewhere/b"},
		{"Edit", `{"file_path":"/w/a.txt","old_string":"nine","new_string":"x"}`, "Edit a.txt"},
		{"Bash", `{"command":"go test ./...\nrm -rf /"}`, "Bash: go test ./... ⏎ rm -rf /"},
		{"Bash", `{"command":"` + strings.Repeat("é", 100) + `"}`, "Bash: " + strings.Repeat("é", 73) + "…"},
		{"Bash", `{"command":"a\u001b[2Kb"}`, "Bash: a<U+001B>[2Kb"},
		{"AskUserQuestion", oneQuestion, "Question: Which color?"},
		{"ExitPlanMode", `{"plan":"\n\n# The plan\n1. x\n"}`, "Plan: The plan"},
		{"ExitPlanMode", `{}`, "Plan: no text"},
		{"mcp__srv__do_it", `{}`, "srv/do_it"},
		{"WebFetch", `{"url":"https://a.example"}`, "WebFetch: a.example"},
	} {
		req := Request{ID: "r", Tool: c.tool, Input: jsontext.Value(c.input), Dir: "/w"}
		if c.tool == "WebFetch" {
			req.Description = "a.example"
		}
		surface, doc, _ := Route(req, read, Policy{})
		if got := titleOf(req, surface, doc); got != filepath.FromSlash(c.want) && got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

func TestHiddenNotes(t *testing.T) {
	for name, c := range map[string]struct {
		text, original string
		kind           TextKind
		want           []string // beginnings of the notes
	}{
		"plain":               {"ls -l | grep é 日本\n\techo 'ok'\n", "", CommandText, nil},
		"bidi":                {"a\nb \u202ec", "", CommandText, []string{"Line 2, column 3: bidirectional right-to-left override (U+202E)"}},
		"zero width":          {"r\u200bm", "", CommandText, []string{"Line 1, column 2: zero-width character (U+200B)"}},
		"escape":              {"echo \x1b[8m", "", CommandText, []string{"Line 1, column 6: escape character (U+001B)"}},
		"no-break space":      {"rm\u00a0x", "", CommandText, []string{"Line 1, column 3: no-break space"}},
		"carriage return":     {"ls\r\n", "", CommandText, []string{"Line 1, column 3: carriage return"}},
		"CRLF file":           {"ls\r\nx\r\n", "", AnyText, nil},
		"CR in a file":        {"ls\rx\n", "", AnyText, []string{"Line 1, column 3: carriage return"}},
		"padding":             {"ls" + strings.Repeat(" ", 60) + "; rm x", "", CommandText, []string{"Line 1, column 63: text after 60 blanks"}},
		"tabs":                {"ls" + strings.Repeat("\t", 60) + "; rm x", "", CommandText, []string{"Line 1, column 63: text after 60 blanks"}},
		"indentation":         {strings.Repeat(" ", 60) + "x", "", AnyText, nil},
		"far to the right":    {strings.Repeat(" ", 300) + "x", "", CommandText, []string{"Line 1, column 301: text after 300 blanks"}},
		"blanks at the end":   {"ls" + strings.Repeat(" ", 60) + "\n", "", CommandText, nil},
		"empty lines":         {"ls\n" + strings.Repeat("\n", 30) + "rm x\n", "", CommandText, []string{"Line 32: 30 empty lines come before"}},
		"empty lines, spaces": {"ls\n" + strings.Repeat("  \n", 30) + "rm x\n", "", CommandText, []string{"Line 32: 30 empty lines come before"}},
		"long line":           {strings.Repeat("x", 3000), "", CommandText, []string{"Line 1: is 3000 characters long"}},
		"was there before":    {"a\u200bb\nnew\n", "x\na\u200bb\n", AnyText, nil},
		"not there before":    {"a\u200bb\nnew\u200b\n", "x\na\u200bb\n", AnyText, []string{"Line 2, column 4"}},
		"emoji":               {"👩‍💻 ❤️ 1️⃣ 👨🏽‍🚀", "", AnyText, nil},
		"joiner in a word":    {"a\u200db", "", AnyText, []string{"Line 1, column 2: zero-width"}},
		"variation selector":  {"a\ufe01b", "", AnyText, []string{"Line 1, column 2: variation selector"}},
		"tags":                {"x\U000e0041", "", AnyText, []string{"Line 1, column 2: tag"}},
		"fillers":             {"x\u3164y\u2800", "", AnyText, []string{"Line 1, column 2: blank filler", "Line 1, column 4: blank filler"}},
		"JSON escape":         {`{"a":"x\u202e \\u202e \n"}`, "", JSONText, []string{`Line 1, column 8: bidirectional`}},
		"JSON tag":            {`"\udb40\udc41"`, "", JSONText, []string{"Line 1, column 2: tag or variation character (U+E0041)"}},
		"JSON half":           {`"\ud800"`, "", JSONText, []string{"Line 1, column 2: half a character"}},
		"not UTF-8":           {"a\xffb", "", AnyText, []string{"Line 1, column 2: a byte that is no UTF-8"}},
		"many":                {strings.Repeat("\u200b\n", 9), "", AnyText, []string{"Line 1", "Line 2", "Line 3", "Line 4", "Line 5", "Line 6", "And 3 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			notes := hiddenNotes(c.text, c.original, c.kind)
			if len(notes) != len(c.want) {
				t.Fatalf("%v, want %v", notes, c.want)
			}
			for i, n := range notes {
				if !n.Warning || !strings.HasPrefix(n.Text, c.want[i]) {
					t.Errorf("%q, want %q", n.Text, c.want[i])
				}
			}
		})
	}
}

func TestCommandDocument(t *testing.T) {
	for _, c := range []struct{ command, text, want string }{ // want: the command, "" for unamended
		{"ls", "ls\n", ""},
		{"ls", "ls", ""},
		{"ls\n", "ls\n", ""},
		{"ls", "ls -l\n", "ls -l"},
		{"ls", "ls -l", "ls -l"},
		{"ls", "ls\npwd\n", "ls\npwd"},
		{"ls", "ls\n\n", "ls\n"},
		{"ls\n", "ls", "ls"},
		{"ls", "ls -l\r\n", "ls -l"},
		{"cat <<E\nx\nE", "cat <<E\ny\nE\n", "cat <<E\ny\nE"},
	} {
		raw, err := Splice(jsontext.Value(`{"command":"", "timeout": 1e3,"description":"d\u0065"}`), TextField("command", c.command))
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := newCommand(jsonRequest("Bash", string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		am, err := d.Amend(c.text)
		if err != nil || am.Amended != (c.want != "") {
			t.Errorf("%q → %q: %+v, %v", c.command, c.text, am, err)
			continue
		}
		if c.want == "" {
			if string(am.Input) != string(raw) {
				t.Errorf("%q: %s", c.command, am.Input)
			}
			continue
		}
		if memberText(t, am.Input, "command") != c.want || !strings.Contains(string(am.Input), ` "timeout": 1e3,"description":"d\u0065"`) {
			t.Errorf("%q → %q: %s", c.command, c.text, am.Input)
		}
	}
	d, _, _ := newCommand(jsonRequest("Bash", `{"command":"ls"}`))
	for _, bad := range []string{"", " \n\n", "a\x00b", "a\xffb"} {
		if _, err := d.Amend(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func FuzzRoute(f *testing.F) {
	for _, s := range []string{oneQuestion, `{"file_path":"/w/a","old_string":"one","new_string":"x"}`, `{"command":"ls"}`, `{"plan":"x"}`, ``, `null`, `{"command":"\ud800"}`} {
		for tool := range uint8(8) {
			f.Add(tool, s, "one\ntwo\n", true)
		}
	}
	tools := []string{"Bash", "Edit", "Write", "MultiEdit", "NotebookEdit", "AskUserQuestion", "ExitPlanMode", "X"}
	f.Fuzz(func(t *testing.T, tool uint8, input, file string, own bool) {
		req := Request{ID: "r", Tool: tools[int(tool)%len(tools)], Input: jsontext.Value(input), NeedsOwnSurface: own, Dir: "/w"}
		surface, doc, notes := Route(req, func(string) ([]byte, error) {
			if file == "" {
				return nil, os.ErrNotExist
			}
			return []byte(file), nil
		}, Policy{MaxPreview: 1 << 20})
		if surface == "" || doc == nil {
			t.Fatal("nothing to show")
		}
		title := titleOf(req, surface, doc)
		if title == "" || !utf8.ValidString(title) || strings.ContainsAny(title, "\n\x1b\u202e") || utf8.RuneCountInString(title) > maxTitle {
			t.Fatalf("title %q", title)
		}
		for _, n := range notes {
			if !utf8.ValidString(n.Text) || strings.ContainsAny(n.Text, "\x1b\u202e") {
				t.Fatalf("note %q", n.Text)
			}
		}
		am, err := doc.Amend(doc.Text())
		if surface == SurfaceQuestion {
			if err == nil {
				t.Fatal("questions answered by leaving them alone")
			}
			return
		}
		if err != nil && utf8.ValidString(doc.Text()) && !strings.Contains(doc.Text(), "\x00") {
			t.Fatalf("left alone: %v", err)
		}
		if err == nil && (am.Amended || string(am.Input) != input && strings.TrimSpace(input) != "") {
			t.Fatalf("left alone: %q, amended %v", am.Input, am.Amended)
		}
	})
}
