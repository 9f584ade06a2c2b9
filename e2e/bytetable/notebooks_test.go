package bytetable

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
)

// book is a notebook whose JSON JavaScript writes in another way in every place
// where it can: numbers, names, escapes, layout.
const book = `{
 "cells": [
  {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title\n", "text"]},
  {
   "cell_type": "code", "execution_count": 3, "id": "c1",
   "metadata": {"tags": [], "2": 1.0, "1": -0, "b": 1e21, "a": 12345678901234567890, "x": 1e-7, "y": 0.000001, "z": 1E400, "b": 2.50},
   "outputs": [{"output_type": "stream", "name": "stdout", "text": ["\u001b[31mred\u001b[0m \/ \u00e9 \ud83d\ude00 \ud83d \u2028\n"]}],
   "source": ["import os\n", "print('a')"], "attachments": {}
  },
  {"cell_type": "code", "metadata": {}, "source": "x = 1", "outputs": [], "execution_count": null},
  {"cell_type": "raw", "metadata": {}, "source": [], "id": "raw", "outputs": []}
 ],
 "metadata": {"kernelspec": {"name": "python3"}, "language_info": {"name": "python", "file_extension": ".py"}},
 "nbformat": 4,
 "nbformat_minor": 5
}
`

var book44 = strings.Replace(book, `"nbformat_minor": 5`, `"nbformat_minor": 4`, 1)

// plain is a notebook in the very layout that the agent writes.
const plain = `{
 "cells": [
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "c1",
   "metadata": {},
   "outputs": [],
   "source": "x = 1"
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}`

func cell(id, source string, more ...string) map[string]any {
	in := map[string]any{"new_source": source}
	if id != "" {
		in["cell_id"] = id
	}
	for i := 0; i < len(more); i += 2 {
		in[more[i]] = more[i+1]
	}
	return in
}

// notebooks is the table's part for notebooks.
var notebooks = inNotebooks([]tableCase{
	{name: "replace", file: []byte(book), input: cell("c1", "import sys\nprint(\"b\")  "), amend: "import re\n"},
	{name: "replace, plain layout", file: []byte(plain), input: cell("c1", "y = 2"), amend: "z = \"\u2028\\\\\x01é𝄞\"\t"},
	{name: "replace by number", file: []byte(book), input: cell("cell-2", "y = 2"), amend: "z"},
	{name: "replace Markdown", file: []byte(book), input: cell("intro", "# Other\n"), amend: "# Third  \n"},
	{name: "replace raw", file: []byte(book), input: cell("raw", "raw"), amend: "rawer"},
	{name: "replace, emptied", file: []byte(book), input: cell("c1", "x"), amend: ""},
	{name: "turn into Markdown", file: []byte(book), input: cell("c1", "# now text", "cell_type", "markdown"), amend: "# else"},
	{name: "turn into code", file: []byte(book), input: cell("intro", "x", "cell_type", "code"), amend: "y"},
	{name: "insert first", file: []byte(book), input: cell("", "x = 0", "cell_type", "code", "edit_mode", "insert"), amend: "y = 0"},
	{name: "insert after", file: []byte(book), input: cell("c1", "*x*", "cell_type", "markdown", "edit_mode", "insert"), amend: "*y*"},
	{name: "insert without id", file: []byte(book44), input: cell("cell-3", "x = 0", "cell_type", "code", "edit_mode", "insert"), amend: "y = 0"},
	{name: "delete", file: []byte(book), input: cell("c1", "", "edit_mode", "delete")},
	{name: "delete the only one", file: []byte(plain), input: cell("c1", "", "edit_mode", "delete")},
	{name: "CRLF", file: []byte(strings.ReplaceAll(book, "\n", "\r\n")), input: cell("c1", "a\nb"), amend: "a\r\nb"},
	{name: "byte order mark", file: []byte("\uFEFF" + plain), input: cell("c1", "a"), amend: "b"},
})

func inNotebooks(cases []tableCase) []tableCase {
	for i := range cases {
		cases[i].name = "notebook: " + cases[i].name
		cases[i].tool, cases[i].base = "NotebookEdit", "a.ipynb"
	}
	return cases
}

// hasSource tells whether a notebook has a cell whose source is that text.
func hasSource(data []byte, source string) bool {
	var nb struct {
		Cells []struct {
			Source any `json:"source"`
		} `json:"cells"`
	}
	if json.Unmarshal([]byte(decoded(data)), &nb, lenient) != nil {
		return false
	}
	return slices.ContainsFunc(nb.Cells, func(c struct {
		Source any `json:"source"`
	},
	) bool {
		return c.Source == source
	})
}
