package editors

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestEveryFolderSaysWhatToDo(t *testing.T) {
	folders, err := fs.ReadDir(FS, ".")
	if err != nil || len(folders) == 0 {
		t.Fatalf("%v, %d folders", err, len(folders))
	}
	for _, f := range folders {
		data, err := FS.ReadFile(f.Name() + "/README.md")
		if err != nil || !strings.HasPrefix(string(data), "# ") {
			t.Errorf("%s: %v %.20q", f.Name(), err, data)
		}
	}
}

func TestHelixSnippet(t *testing.T) {
	text := read("helix/languages.toml")
	if n := strings.Count(text, helixCommand); n != 1 {
		t.Fatalf("the command's lines occur %d times", n)
	}
	bare := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(text, "")
	blocks := strings.Split(bare, "[[language]]\n")[1:]
	names := map[string]bool{}
	form := regexp.MustCompile(`(?s)^name = "([a-z+-]+)"\n.*language-servers = \[(?:"[a-z-]+", )*"countersign"\]\s*$`)
	for _, b := range blocks {
		m := form.FindStringSubmatch(b)
		if m == nil || names[m[1]] {
			t.Errorf("not a language that ends with Countersign, or named twice:\n%s", b)
			continue
		}
		names[m[1]] = true
	}
	for _, n := range []string{"bash", "markdown", "json", "text"} { // staged documents of our own
		if !names[n] {
			t.Errorf("no language %s", n)
		}
	}
}

func TestRendered(t *testing.T) {
	c := Config{
		Command:  []string{`C:\a "b"\countersign.exe`, "serve", "tab\there ü"},
		Settings: jsontext.Value(`{"agent":{"command":["x"],"env":{},"args":[]},"armDelayMs":700,"a b":[true,1.5,{"k":"v\u0000"}]}`),
	}
	lua, err := Neovim(c)
	if err != nil {
		t.Fatal(err)
	}
	_, call, _ := strings.Cut(lua, "\nend\nrequire(")
	want := `'countersign').setup({ cmd = { "C:\\a \"b\"\\countersign.exe", "serve", "tab\009here ü" }, settings = ` +
		`{ ["agent"] = { ["command"] = { "x" }, ["env"] = vim.empty_dict(), ["args"] = {} }, ["armDelayMs"] = 700, ["a b"] = { true, 1.5, { ["k"] = "v\000" } } } })` + "\n"
	if call != want {
		t.Errorf("Neovim:\n got %s\nwant %s", call, want)
	}
	toml, err := Helix(c)
	if err != nil {
		t.Fatal(err)
	}
	want = `command = "C:\\a \"b\"\\countersign.exe"` + "\n" + `args = ["serve", "tab\u0009here ü"]` + "\n" +
		`config = { "agent" = { "command" = ["x"], "env" = {}, "args" = [] }, "armDelayMs" = 700, "a b" = [true, 1.5, { "k" = "v\u0000" }] }` + "\n"
	if !strings.Contains(toml, want) || strings.Contains(toml, helixCommand) {
		t.Errorf("Helix lacks\n%s", want)
	}
}

func TestNotRendered(t *testing.T) {
	ok := []string{"countersign"}
	for _, c := range []struct {
		name   string
		config Config
		lua    bool // Lua can
	}{
		{"no command", Config{}, false},
		{"no object", Config{Command: ok, Settings: jsontext.Value(`[]`)}, false},
		{"broken", Config{Command: ok, Settings: jsontext.Value(`{"a":[1,}`)}, false},
		{"cut off", Config{Command: ok, Settings: jsontext.Value(`{"a":`)}, false},
		{"null", Config{Command: ok, Settings: jsontext.Value(`{"a":null}`)}, true},
		{"nothing", Config{Command: ok}, true},
	} {
		_, err := Neovim(c.config)
		if (err == nil) != c.lua {
			t.Errorf("%s: Neovim: %v", c.name, err)
		}
		_, err = Helix(c.config)
		if (err == nil) != (c.name == "nothing") {
			t.Errorf("%s: Helix: %v", c.name, err)
		}
	}
}
