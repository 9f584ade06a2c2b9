package lsp

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// This file holds the wording of warnings about settings.

// kindOf names the kind of a JSON value.
func kindOf(v jsontext.Value) string {
	switch v.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "true or false"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[':
		return "a list"
	case '{':
		return "an object"
	}
	return "no JSON value"
}

// orList joins quoted choices: "a", "b" or "c".
func orList(choices []string) string {
	quoted := make([]string, len(choices))
	for i, c := range choices {
		quoted[i] = strconv.Quote(c)
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

const shownWord = 60 // bytes of a name or word that a warning repeats

// printable is a name as it can be shown: short, and without control characters.
func printable(s string) string {
	q := quoted(s)
	return q[1 : len(q)-1]
}

// quoted is a word in quotes as it can be shown.
func quoted(s string) string {
	if len(s) > shownWord {
		cut := shownWord
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "…"
	}
	return strconv.Quote(s)
}

// nearest is the candidate that s was probably meant to be: equal but for case
// and separators, or a slip or two away. Empty when there is none.
func nearest(s string, candidates []string) string {
	if len(s) == 0 || len(s) > shownWord {
		return ""
	}
	best, bestDistance := "", 3
	for _, c := range candidates {
		a, b := fold(s), fold(c)
		// Short words are near to everything: allow a third of their length.
		if d := distance(a, b); d < bestDistance && d <= max(1, len(b)/3) {
			best, bestDistance = c, d
		}
	}
	return best
}

func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(s))
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that turn a into b, in bytes.
func distance(a, b string) int {
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(b)]
}
