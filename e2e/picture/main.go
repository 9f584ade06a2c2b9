// Command picture draws a terminal screen as an SVG, for the documentation:
//
//	tmux capture-pane -e -p | go run ./e2e/picture > docs/proposal.svg
//
// Input is what a terminal shows, lines of UTF-8 text with SGR sequences
// (colours and attributes); other escape sequences are left out. Every cell of
// the screen is one column wide except East Asian wide characters, which are
// given two.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"html"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Metrics of a cell, in SVG user units.
const (
	cellWidth  = 8.4
	cellHeight = 18.0
	margin     = 12.0
)

func main() {
	title := flag.String("title", "", "what the picture shows, for those who cannot see it")
	flag.Parse()
	if err := draw(os.Stdin, os.Stdout, *title); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// A style is how a run of text looks. Colours are "#rrggbb", empty for the
// screen's own.
type style struct {
	fg, bg                   string
	bold, underline, reverse bool
}

// A run is text of one style that begins at a column.
type run struct {
	column int
	text   string
	style  style
}

// The screen's own colours, and the sixteen of the terminal.
const (
	foreground = "#d8dee9"
	background = "#14161b"
)

var palette = [16]string{
	"#2e3440", "#e06c75", "#98c379", "#e5c07b", "#61afef", "#c678dd", "#56b6c2", "#abb2bf",
	"#5c6370", "#ff7b86", "#b5e890", "#ffd68a", "#82c4ff", "#dd9bf0", "#7fd5de", "#ffffff",
}

// draw reads a screen and writes it as an SVG.
func draw(in io.Reader, out io.Writer, title string) error {
	var lines [][]run
	columns := 0
	scan := bufio.NewScanner(in)
	scan.Buffer(nil, 1<<20)
	var s style
	for scan.Scan() {
		var runs []run
		var end int
		runs, end, s = parseLine(scan.Text(), s)
		lines = append(lines, runs)
		columns = max(columns, end)
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("read the screen: %w", err)
	}
	w := bufio.NewWriter(out)
	wide, high := float64(columns)*cellWidth+2*margin, float64(len(lines))*cellHeight+2*margin
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" role="img">`+"\n", wide, high, wide, high)
	fmt.Fprintf(w, "<title>%s</title>\n", html.EscapeString(title))
	fmt.Fprintf(w, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", background)
	fmt.Fprint(w, `<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" xml:space="preserve">`+"\n")
	for row, runs := range lines {
		for _, r := range runs {
			drawRun(w, row, r)
		}
	}
	fmt.Fprint(w, "</g>\n</svg>\n")
	return w.Flush()
}

func drawRun(w io.Writer, row int, r run) {
	fg, bg := r.style.fg, r.style.bg
	if r.style.reverse {
		fg, bg = or(bg, background), or(fg, foreground)
	}
	x, y := margin+float64(r.column)*cellWidth, margin+float64(row)*cellHeight
	length := float64(columnsOf(r.text)) * cellWidth
	if bg != "" && bg != background {
		fmt.Fprintf(w, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", x, y, length, cellHeight, bg)
	}
	if strings.TrimSpace(r.text) == "" {
		return
	}
	extra := ""
	if r.style.bold {
		extra += ` font-weight="bold"`
	}
	if r.style.underline {
		extra += ` text-decoration="underline"`
	}
	fmt.Fprintf(w, `<text x="%.1f" y="%.1f" textLength="%.1f" fill="%s"%s>%s</text>`+"\n",
		x, y+cellHeight*0.76, length, or(fg, foreground), extra, html.EscapeString(r.text))
}

func or(colour, otherwise string) string {
	if colour == "" {
		return otherwise
	}
	return colour
}

// parseLine splits a line into runs. It begins in style s and gives the style
// that it ends in, since a terminal carries it on to the next line.
func parseLine(line string, s style) (runs []run, end int, last style) {
	var text strings.Builder
	column, start := 0, 0
	flush := func() {
		if text.Len() > 0 {
			runs = append(runs, run{column: start, text: text.String(), style: s})
			text.Reset()
		}
		start = column
	}
	for len(line) > 0 {
		if params, final, rest, ok := cutEscape(line); ok {
			if final == 'm' {
				flush()
				s = s.apply(params)
			}
			line = rest
			continue
		}
		r, n := utf8.DecodeRuneInString(line)
		if r < ' ' && r != '\t' {
			line = line[n:]
			continue
		}
		text.WriteString(line[:n])
		column += columnsOf(line[:n])
		line = line[n:]
	}
	flush()
	return runs, column, s
}

// cutEscape takes a CSI sequence off the front of line.
func cutEscape(line string) (params string, final byte, rest string, ok bool) {
	body, ok := strings.CutPrefix(line, "\x1b[")
	if !ok {
		return "", 0, "", false
	}
	i := strings.IndexFunc(body, func(r rune) bool { return r >= 0x40 && r <= 0x7e })
	if i < 0 {
		return "", 0, "", true
	}
	return body[:i], body[i], body[i+1:], true
}

// apply changes a style by the parameters of an SGR sequence.
func (s style) apply(params string) style {
	codes := []int{}
	for _, p := range strings.FieldsFunc(params+";", func(r rune) bool { return r == ';' || r == ':' }) {
		n, err := strconv.Atoi(p)
		if err != nil {
			return s
		}
		codes = append(codes, n)
	}
	if len(codes) == 0 {
		return style{}
	}
	for i := 0; i < len(codes); i++ {
		switch c := codes[i]; {
		case c == 0:
			s = style{}
		case c == 1:
			s.bold = true
		case c == 22:
			s.bold = false
		case c == 4:
			s.underline = true
		case c == 24:
			s.underline = false
		case c == 7:
			s.reverse = true
		case c == 27:
			s.reverse = false
		case c >= 30 && c <= 37:
			s.fg = palette[c-30]
		case c >= 90 && c <= 97:
			s.fg = palette[c-90+8]
		case c >= 40 && c <= 47:
			s.bg = palette[c-40]
		case c >= 100 && c <= 107:
			s.bg = palette[c-100+8]
		case c == 39:
			s.fg = ""
		case c == 49:
			s.bg = ""
		case c == 38 || c == 48:
			colour, used := extended(codes[i+1:])
			if c == 38 {
				s.fg = colour
			} else {
				s.bg = colour
			}
			i += used
		}
	}
	return s
}

// extended reads a colour of 256 (5;n) or of all (2;r;g;b), and says how many
// codes it took.
func extended(codes []int) (colour string, used int) {
	switch {
	case len(codes) >= 2 && codes[0] == 5:
		return indexed(codes[1]), 2
	case len(codes) >= 4 && codes[0] == 2:
		return fmt.Sprintf("#%02x%02x%02x", codes[1]&255, codes[2]&255, codes[3]&255), 4
	}
	return "", len(codes)
}

// indexed is a colour of the usual 256: sixteen, a cube, and greys.
func indexed(n int) string {
	switch {
	case n < 0 || n > 255:
		return ""
	case n < 16:
		return palette[n]
	case n >= 232:
		g := 8 + (n-232)*10
		return fmt.Sprintf("#%02x%02x%02x", g, g, g)
	}
	level := func(v int) int {
		if v == 0 {
			return 0
		}
		return 55 + v*40
	}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
}

// columnsOf is the width of text in cells.
func columnsOf(text string) int {
	n := 0
	for _, r := range text {
		switch width.LookupRune(r).Kind() {
		case width.EastAsianWide, width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
