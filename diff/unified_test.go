package diff

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestUnified(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, c := range []struct{ name, a, b, want string }{
		{"equal", "a\n", "a\n", ""},
		{"both empty", "", "", ""},
		{"new file", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"emptied", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"one line", "a\n", "b\n", "@@ -1 +1 @@\n-a\n+b\n"},
		{
			"context", ten, strings.Replace(ten, "5\n", "five\n", 1),
			"@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n",
		},
		{
			"two edits six lines apart share a hunk", ten, "one\n2\n3\n4\n5\n6\n7\neight\n9\n10\n",
			"@@ -1,10 +1,10 @@\n-1\n+one\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+eight\n 9\n 10\n",
		},
		{
			"seven lines apart do not", ten, "one\n2\n3\n4\n5\n6\n7\n8\nnine\n10\n",
			"@@ -1,4 +1,4 @@\n-1\n+one\n 2\n 3\n 4\n@@ -6,5 +6,5 @@\n 6\n 7\n 8\n-9\n+nine\n 10\n",
		},
		{"line end lost", "a\nb\n", "a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n\\ No newline at end of file\n"},
		{"line end gained", "a\nb", "a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"},
		{
			"neither has one", "a\nb", "c\nb", "@@ -1,2 +1,2 @@\n-a\n+c\n b\n\\ No newline at end of file\n",
		},
		{
			"neither has one, and they differ", "a\nb", "a\nc",
			"@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
		},
		{"removed before the last", "a\nb\nc", "a\nc", "@@ -1,3 +1,2 @@\n a\n-b\n c\n\\ No newline at end of file\n"},
		{"carriage returns", "a\r\n", "b\r\n", "@@ -1 +1 @@\n-a\r\n+b\r\n"},
	} {
		want := c.want
		if want != "" {
			want = "--- a/f\n+++ b/f\n" + want
		}
		for name, style := range map[string]Style{"short": Short, "patch": Patch} {
			if got := style.Unified("a/f", "b/f", c.a, c.b); got != want {
				t.Errorf("%s, %s:\n%s\nwant\n%s", c.name, name, got, want)
			}
		}
	}
}

func TestUnifiedIsCapped(t *testing.T) {
	lines := func(n int, s string) string { return strings.Repeat(s+"\n", n) }
	for _, c := range []struct {
		a, b string
		body int    // lines after the names, with the note
		note string // "" if there is none
	}{
		{"", lines(399, "x"), 400, ""},
		{"", lines(400, "x"), 401, "... 1 more line left out\n"},
		{"", lines(5000, "x"), 401, "... 4601 more lines left out\n"},
		{"", lines(397, "x") + "y", 400, ""},
		{"", lines(399, "x") + "y", 401, "... 2 more lines left out\n"},
		{lines(300, "x"), lines(300, "y"), 401, "... 201 more lines left out\n"},
		{lines(300, "x") + "end", lines(300, "y") + "end", 401, "... 203 more lines left out\n"},
	} {
		got := Unified("a", "b", c.a, c.b)
		if n := len(SplitLines(got)) - 2; n != c.body {
			t.Errorf("%d lines, want %d", n, c.body)
		}
		last := SplitLines(got)[c.body+1]
		if c.note == "" && strings.HasPrefix(last, "...") || c.note != "" && last != c.note {
			t.Errorf("last line %q, want note %q", last, c.note)
		}
		if uncapped := Patch.Unified("a", "b", c.a, c.b); !strings.HasPrefix(uncapped, strings.TrimSuffix(got, c.note)) {
			t.Error("the capped diff is not the beginning of the whole one")
		}
	}
}

func TestFileName(t *testing.T) {
	for in, want := range map[string]string{
		"a/f.go":               "a/f.go",
		"/dev/null":            "/dev/null",
		"a/with space":         "a/with space\t",
		"a/é":                  "a/é",
		"a/\n+++ b/etc/passwd": `"a/\n+++ b/etc/passwd"`,
		"a/\"q\"\\":            `"a/\"q\"\\"`,
		"a/\x01\x7f\t":         `"a/\001\177\t"`,
		"a/a\abell":            `"a/a\abell"`,
	} {
		if got := fileName(in); got != want {
			t.Errorf("fileName(%q) = %s, want %s", in, got, want)
		}
	}
}

// patched applies a unified diff to a, strictly: every number and every line
// must be right.
func patched(a, patch string) (string, error) {
	la := SplitLines(a)
	lines := SplitLines(patch)
	var out []string
	at := 0
	if len(lines) > 0 {
		if len(lines) < 3 || !strings.HasPrefix(lines[0], "--- ") || !strings.HasPrefix(lines[1], "+++ ") {
			return "", fmt.Errorf("the patch does not begin with names")
		}
		lines = lines[2:]
	}
	for len(lines) > 0 {
		var from, to [2]int
		header := strings.Fields(lines[0])
		if len(header) != 4 || header[0] != "@@" || header[3] != "@@" {
			return "", fmt.Errorf("no header: %q", lines[0])
		}
		for i, r := range []*[2]int{&from, &to} {
			first, count, counted := strings.Cut(header[i+1][1:], ",")
			r[1] = 1
			r[0], _ = strconv.Atoi(first)
			if counted {
				r[1], _ = strconv.Atoi(count)
			}
			if r[1] > 0 {
				r[0]--
			}
		}
		lines = lines[1:]
		if from[0] < at || from[0] > len(la) {
			return "", fmt.Errorf("hunk at %d after line %d of %d", from[0], at, len(la))
		}
		out = append(out, la[at:from[0]]...)
		at = from[0]
		if len(out) != to[0] {
			return "", fmt.Errorf("hunk at %d of the new text, which has %d lines so far", to[0], len(out))
		}
		for from[1] > 0 || to[1] > 0 || len(lines) > 0 && lines[0][0] == '\\' {
			if len(lines) == 0 {
				return "", fmt.Errorf("hunk ends early")
			}
			op, text := lines[0][0], lines[0][1:]
			lines = lines[1:]
			if len(lines) > 0 && lines[0] == noNewline {
				text = strings.TrimSuffix(text, "\n")
				lines = lines[1:]
			}
			if op != '+' {
				if at == len(la) || la[at] != text {
					return "", fmt.Errorf("line %d is not %q", at, text)
				}
				at, from[1] = at+1, from[1]-1
			}
			if op != '-' {
				out = append(out, text)
				to[1]--
			}
		}
	}
	return strings.Join(append(out, la[at:]...), ""), nil
}

func checkUnified(t *testing.T, a, b string) {
	t.Helper()
	for context := range 5 {
		patch := Style{Context: context}.Unified("a", "b", a, b)
		got, err := patched(a, patch)
		if err != nil {
			t.Fatalf("from %q to %q: %v:\n%s", a, b, err, patch)
		}
		if got != b {
			t.Fatalf("from %q to %q: applied, it gives %q:\n%s", a, b, got, patch)
		}
	}
	// Hunks must say the same as the text.
	var s strings.Builder
	for _, h := range Hunks(a, b, Lines(a, b), 3) {
		s.WriteString(h.Header() + "\n")
		if len(h.Lines) != h.size() {
			t.Fatalf("from %q to %q: a hunk of %d lines has %d", a, b, h.size(), len(h.Lines))
		}
		for _, line := range h.Lines {
			s.WriteString(string(line.Op) + line.Text)
			if !strings.HasSuffix(line.Text, "\n") {
				s.WriteString("\n" + noNewline)
			}
		}
	}
	whole := Patch.Unified("a", "b", a, b)
	if _, body, _ := strings.Cut(whole, "+++ b\n"); body != s.String() {
		t.Fatalf("from %q to %q: unified\n%s\nhunks\n%s", a, b, body, s.String())
	}
	for most := 1; most < 12; most++ {
		short := Style{3, most}.Unified("a", "b", a, b)
		if total := len(SplitLines(whole)); total <= most+2 {
			if short != whole {
				t.Fatalf("from %q to %q: cut at %d:\n%s", a, b, most, short)
			}
		} else if lines := SplitLines(short); len(lines) != most+3 || !strings.HasPrefix(lines[most+2], fmt.Sprintf("... %d more line", total-most-2)) {
			t.Fatalf("from %q to %q: %d lines are left out of\n%s\nin\n%s", a, b, total-most-2, whole, short)
		}
	}
}

func TestUnifiedOfRandomTexts(t *testing.T) {
	r := source(t)
	for range 3000 {
		a := letters(r, r.IntN(40), 1+r.IntN(30))
		checkUnified(t, a, edited(r, a, r.IntN(6)))
		checkUnified(t, a, letters(r, r.IntN(20), 1+r.IntN(30)))
	}
}

func FuzzUnified(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nx\nc")
	f.Add("", "a")
	f.Add("a\r\n\\ No newline at end of file\n", "--- a\n+++ b\n@@ -1 +1 @@\n")
	f.Fuzz(checkUnified)
}

// The programs that people use must accept what Patch renders.
func TestPatchIsAccepted(t *testing.T) {
	for _, program := range []struct {
		name string
		args []string
	}{
		{"git", []string{"apply", "--whitespace=nowarn", "../all.patch"}},
		{"patch", []string{"-p1", "-s", "-i", "../all.patch"}},
	} {
		t.Run(program.name, func(t *testing.T) {
			if _, err := exec.LookPath(program.name); err != nil {
				t.Skip(err)
			}
			r := source(t)
			dir := t.TempDir()
			work := filepath.Join(dir, "work")
			if err := os.Mkdir(work, 0o700); err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			want := map[string]string{}
			for i := range 300 {
				a := letters(r, 1+r.IntN(60), 1+r.IntN(26))
				b := edited(r, a, 1+r.IntN(6))
				switch i {
				case 0:
					b = ""
				case 1:
					b = "no end"
				case 2:
					a, b = "no end", "no end either"
				case 3:
					a, b = "x\r\ny\r\n", "x\ny\r\n"
				}
				name := fmt.Sprintf("file %d.txt", i)
				if err := os.WriteFile(filepath.Join(work, name), []byte(a), 0o600); err != nil {
					t.Fatal(err)
				}
				want[name] = b
				all.WriteString(Patch.Unified("a/"+name, "b/"+name, a, b))
			}
			want["new.txt"] = "brand\nnew"
			all.WriteString(Patch.Unified("/dev/null", "b/new.txt", "", "brand\nnew"))
			if err := os.WriteFile(filepath.Join(dir, "all.patch"), []byte(all.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(program.name, program.args...)
			cmd.Dir = work
			cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			for name, want := range want {
				got, err := os.ReadFile(filepath.Join(work, name))
				if err != nil && want != "" { // both programs may remove a file that is emptied
					t.Fatal(err)
				}
				if string(got) != want {
					t.Errorf("%s: %q, want %q", name, got, want)
				}
			}
		})
	}
}
