package staging

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxName bounds a staged file's name in bytes. Most file systems take 255;
// editors put their swap and backup files beside it and lengthen the name.
const maxName = 200

// Basename makes a file name safe to stage while keeping what editors read off
// it, the extension above all:
//
//   - separators, characters that Windows or a URI's reader trips over, control
//     and invisible characters and bytes that are no UTF-8 become '_';
//   - a name that Windows reserves, that begins with '-', or that a tool would
//     obey when it finds the file beside a document (.editorconfig,
//     .dir-locals.el, eslint.config.js: looking at a proposal must not run it)
//     gets a '_' in front; of the names that begin with a dot, those that
//     editors detect by their whole name and nothing obeys stay as they are;
//   - a name that is too long is cut, its extension stays.
func Basename(name string) string {
	var b strings.Builder
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == utf8.RuneError && n == 1,
			strings.ContainsRune(`/\:*?"<>|`, r),
			!unicode.IsPrint(r) && r != ' ', // also the bidirectional and zero-width ones
			unicode.Is(unicode.Variation_Selector, r),
			r == '\u2800', r == '\u3164', r == '\u115f', r == '\u1160', r == '\uffa0': // blank, though letters or symbols
			b.WriteByte('_')
		default:
			b.WriteRune(r)
		}
		i += n
	}
	name = cut(b.String())
	if t := strings.TrimRight(name, ". "); t != name { // Windows would drop them
		name = t + strings.Repeat("_", len(name)-len(t))
	}
	switch {
	case strings.Trim(name, "_") == "":
		return "document" + name
	case name[0] == '-', reserved(name), name[0] == '.' && !detected(name), obeyed(name):
		return "_" + name
	}
	return name
}

// cut shortens a name to maxName bytes, between characters, before its
// extension.
func cut(name string) string {
	if len(name) <= maxName {
		return name
	}
	ext := filepath.Ext(name)
	if len(ext) > 32 || len(ext) == len(name) {
		ext = ""
	}
	head := name[:maxName-len(ext)]
	for !utf8.RuneStart(name[len(head)]) {
		head = head[:len(head)-1]
	}
	return head + ext
}

// reserved: the devices of Windows, with any extension.
func reserved(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToLower(strings.TrimRight(stem, " "))
	switch stem {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	if digit, ok := strings.CutPrefix(stem, "com"); ok || strings.HasPrefix(stem, "lpt") {
		if !ok {
			digit = strings.TrimPrefix(stem, "lpt")
		}
		switch digit {
		case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
			return true
		}
	}
	return false
}

// detected: names with a leading dot that tell editors the language and that
// nothing reads only because they lie beside an open document.
func detected(name string) bool {
	switch name {
	case ".gitignore", ".gitattributes", ".gitmodules", ".gitconfig", ".dockerignore", ".npmignore", ".ignore",
		".bashrc", ".bash_profile", ".bash_aliases", ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile",
		".inputrc", ".tmux.conf", ".htaccess":
		return true
	}
	return false
}

// obeyed: names without a leading dot that a tool of an editor runs, or takes
// its orders from, when it finds them beside a document.
func obeyed(name string) bool {
	stem := strings.ToLower(name)
	for _, p := range []string{"eslint.config.", "prettier.config.", "stylelint.config.", "biome.json", "tslint.json", "_vimrc", "_gvimrc", "_exrc"} {
		if strings.HasPrefix(stem, p) {
			return true
		}
	}
	return false
}
