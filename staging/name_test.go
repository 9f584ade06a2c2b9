package staging

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBasename(t *testing.T) {
	long := strings.Repeat("ä", 150)
	for _, c := range []struct{ in, want string }{
		{"index.js", "index.js"},
		{"[id].tsx", "[id].tsx"},
		{"$post 100% #1.tsx", "$post 100% #1.tsx"},
		{"Ünïcode 日本.go", "Ünïcode 日本.go"},
		{"it's.txt", "it's.txt"},
		{"../../etc/passwd", "_.._.._etc_passwd"},
		{`a\b:c*d?e"f<g>h|i.txt`, "a_b_c_d_e_f_g_h_i.txt"},
		{"new\nline\ttab\x00\x1b[31m.txt", "new_line_tab__[31m.txt"},
		{"gpj.\u202eexe.txt", "gpj._exe.txt"},
		{"zero\u200bwidth\ufeff.go", "zero_width_.go"},
		{"nbsp\u00a0x", "nbsp_x"},
		{"bad\xff\xfe.c", "bad__.c"},
		{"-rf", "_-rf"},
		{"", "document"},
		{".", "document_"},
		{"..", "document__"},
		{"trailing. . ", "trailing____"},
		{".gitignore", ".gitignore"},
		{".bashrc", ".bashrc"},
		{".editorconfig", "_.editorconfig"},
		{".dir-locals.el", "_.dir-locals.el"},
		{".eslintrc.js", "_.eslintrc.js"},
		{"eslint.config.mjs", "_eslint.config.mjs"},
		{"CON", "_CON"},
		{"nul.txt", "_nul.txt"},
		{"Com1.tar.gz", "_Com1.tar.gz"},
		{"lpt9", "_lpt9"},
		{"com10", "com10"},
		{"console.log", "console.log"},
		{long + ".go", strings.Repeat("ä", 98) + ".go"},
		{"x" + long, "x" + strings.Repeat("ä", 99)},
	} {
		got := Basename(c.in)
		if got != c.want {
			t.Errorf("Basename(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

func FuzzBasename(f *testing.F) {
	for _, s := range []string{"a.go", "..", "con", strings.Repeat("x", 300) + ".go", "\xff", "é\u202e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := Basename(in)
		if got == "" || got == "." || got == ".." || strings.ContainsAny(got, "/\\\x00\n") || len(got) > maxName+len("document") || !utf8.ValidString(got) {
			t.Fatalf("Basename(%q) = %q", in, got)
		}
		if filepath.Base(got) != got || !filepath.IsLocal(got) {
			t.Fatalf("Basename(%q) = %q is no plain name", in, got)
		}
		if again := Basename(got); len(got) <= maxName && again != got {
			t.Fatalf("not stable: %q, %q, %q", in, got, again)
		}
	})
}

func TestNewID(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range []struct{ request, tail string }{
		{"4c402042-1111-2222-3333-0123456789ab", "456789ab"},
		{"r1", "r1"},
		{"", ""},
		{"0123/../é☃.x", "/../é☃.x"},
	} {
		id := NewID(c.request)
		want := strings.Map(func(r rune) rune {
			if strings.ContainsRune("/.é☃", r) {
				return '_'
			}
			return r
		}, c.tail)
		if !validID(id) || seen[id] || id[tokenLen:] != "-"+want {
			t.Errorf("NewID(%q) = %q, want it to end in -%s", c.request, id, want)
		}
		seen[id] = true
	}
	if a, b := NewID("x"), NewID("x"); a == b {
		t.Errorf("the id %q came twice", a)
	}
}
