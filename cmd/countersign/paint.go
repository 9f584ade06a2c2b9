package main

import (
	"strings"
)

// A paint is an ANSI colour sequence.
type paint string

const (
	bold   paint = "\x1b[1m"
	faint  paint = "\x1b[2m"
	red    paint = "\x1b[31m"
	green  paint = "\x1b[32m"
	yellow paint = "\x1b[33m"
	cyan   paint = "\x1b[36m"
)

// paint colours text where the terminal shows colours.
func (t *terminal) paint(p paint, text string) string {
	if !t.colour || text == "" {
		return text
	}
	return string(p) + text + "\x1b[0m"
}

// diff colours a unified diff line by line.
func (t *terminal) diff(unified string) string {
	if !t.colour {
		return unified
	}
	var b strings.Builder
	for line := range strings.Lines(unified) {
		text, nl := strings.CutSuffix(line, "\n")
		switch {
		case strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "---"):
			text = t.paint(bold, text)
		case strings.HasPrefix(text, "@@"):
			text = t.paint(cyan, text)
		case strings.HasPrefix(text, "+"):
			text = t.paint(green, text)
		case strings.HasPrefix(text, "-"):
			text = t.paint(red, text)
		}
		b.WriteString(text)
		if nl {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
