package main

import (
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestParseLine(t *testing.T) {
	red, cube := style{fg: palette[1]}, style{fg: "#ff8700", bold: true}
	for _, tt := range []struct {
		line string
		from style
		want []run
		end  int
		last style
	}{
		{"plain", style{}, []run{{0, "plain", style{}}}, 5, style{}},
		{"a\x1b[31mb\x1b[0mc", style{}, []run{{0, "a", style{}}, {1, "b", red}, {2, "c", style{}}}, 3, style{}},
		{"carried on", red, []run{{0, "carried on", red}}, 10, red},
		{"\x1b[1;38;5;208mx", style{}, []run{{0, "x", cube}}, 1, cube},
		{"\x1b[38;2;1;2;3mx\x1b[m", style{}, []run{{0, "x", style{fg: "#010203"}}}, 1, style{}},
		{"漢x", style{}, []run{{0, "漢x", style{}}}, 3, style{}},
		{"\x1b[2Jx\x1b[", style{}, []run{{0, "x", style{}}}, 1, style{}},
		{"", style{}, nil, 0, style{}},
	} {
		runs, end, last := parseLine(tt.line, tt.from)
		if !slices.Equal(runs, tt.want) || end != tt.end || last != tt.last {
			t.Errorf("%q: %v, %d, %v; want %v, %d, %v", tt.line, runs, end, last, tt.want, tt.end, tt.last)
		}
	}
}

func TestDrawIsXML(t *testing.T) {
	var b strings.Builder
	if err := draw(strings.NewReader("<a & b>\x1b[7m \"q\"\x1b[0m\n\n\x01ü"), &b, "a <title>"); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(strings.NewReader(b.String()))
	var text strings.Builder
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, &b)
		}
		if c, ok := tok.(xml.CharData); ok {
			text.Write(c)
		}
	}
	for _, want := range []string{"a <title>", "<a & b>", ` "q"`, "ü"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in the picture's text %q", want, text.String())
		}
	}
}
