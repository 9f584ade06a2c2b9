package approvals

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxTitle bounds a title in characters; what is cut ends in "…".
const maxTitle = 80

// titleOf is a short sentence for an approval. It is one line, and what is
// invisible in it is written out.
func titleOf(req Request, surface Surface, doc Document) string {
	switch d := doc.(type) {
	case *Proposal:
		verb := req.Tool
		switch {
		case req.Tool == "Write" && !d.Base().Exists:
			verb = "Create"
		case req.Tool == "NotebookEdit":
			verb = "Edit a cell of"
		case req.Tool == "MultiEdit" || req.Tool == "Update":
			verb = "Edit"
		}
		return short(verb + " " + relative(req.Dir, d.Path()))
	case *commandDocument:
		return short(req.Tool + ": " + d.command)
	case *questionDocument:
		if n := len(d.questions); n > 1 {
			return short(fmt.Sprintf("%d questions: %s", n, d.questions[0].Question))
		}
		return short("Question: " + d.questions[0].Question)
	case *planDocument:
		return short("Plan: " + d.heading())
	}
	name := toolName(req)
	if path := pathOf(req); path != "" {
		return short(name + " " + relative(req.Dir, path))
	}
	if req.Title != "" {
		return short(name + ": " + req.Title)
	}
	if req.Description != "" {
		return short(name + ": " + req.Description)
	}
	return short(name)
}

// toolName is a tool's name for people: an MCP tool's wire name,
// mcp__server__tool, is taken apart.
func toolName(req Request) string {
	if rest, ok := strings.CutPrefix(req.Tool, "mcp__"); ok {
		if server, tool, ok := strings.Cut(rest, "__"); ok {
			return server + "/" + tool
		}
	}
	return req.Tool
}

// relative shortens a path inside the session's directory.
func relative(dir, path string) string {
	if dir != "" {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return path
}

// short makes one visible line of at most maxTitle characters.
func short(s string) string {
	s = InLine(strings.Join(strings.FieldsFunc(strings.TrimSpace(s), func(r rune) bool { return r == '\n' || r == '\r' }), " ⏎ "))
	if utf8.RuneCountInString(s) <= maxTitle {
		return s
	}
	n := 0
	for i := range s {
		if n == maxTitle-1 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// isFileTool: the tools that change a file, under all the names that agents
// had for them.
func isFileTool(tool string) bool {
	switch tool {
	case "Write", "Edit", "MultiEdit", "Update", "NotebookEdit":
		return true
	}
	return false
}

// pathField is the member of a file tool's input that names its target.
func pathField(tool string) string {
	if tool == "NotebookEdit" {
		return "notebook_path"
	}
	return "file_path"
}

// pathOf is the target of a file tool as its input names it; empty for other
// tools and where the input does not name an absolute path.
func pathOf(req Request) string {
	if !isFileTool(req.Tool) {
		return ""
	}
	in, err := takeApart(req.Input)
	if err != nil {
		return ""
	}
	path, err := in.text(pathField(req.Tool))
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return path
}
