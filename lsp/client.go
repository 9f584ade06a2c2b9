package lsp

import (
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"go.lsp.dev/protocol"

	"countersign/approvals"
)

// A client is what is known of the editor at the other end. It is fixed by
// initialize and never changes.
type client struct {
	name    string // for people and the journal: "Neovim 0.10.4"
	editor  string // clientInfo.name in lower case, without spaces
	root    string // absolute path; empty when the editor named none
	pid     int    // ours
	utf8    bool   // takes columns in bytes; otherwise in UTF-16 code units
	literal bool   // takes CodeAction objects, not only commands

	showDocument bool
	applyEdit    bool
	versioned    bool // takes documentChanges
	deletes      bool // takes DeleteFile
	pulls        bool // answers workspace/configuration
	registers    bool // takes a registration for didChangeConfiguration
	lenses       bool
	refreshes    bool // takes workspace/codeLens/refresh
	progress     bool
	markdown     bool
	virtual      bool // shows documents whose text the server gives (workspace/textDocumentContent)
}

// newClient reads what initialize says.
func newClient(p initializeParams) *client {
	caps := p.Capabilities
	c := &client{
		name:         "an editor",
		pid:          os.Getpid(),
		utf8:         slices.Contains(caps.General.PositionEncodings, "utf-8"),
		literal:      !absent(caps.TextDocument.CodeAction.CodeActionLiteralSupport),
		showDocument: caps.Window.ShowDocument.Support,
		applyEdit:    caps.Workspace.ApplyEdit,
		versioned:    caps.Workspace.WorkspaceEdit.DocumentChanges,
		deletes:      slices.Contains(caps.Workspace.WorkspaceEdit.ResourceOperations, "delete"),
		pulls:        caps.Workspace.Configuration,
		registers:    caps.Workspace.DidChangeConfiguration.DynamicRegistration,
		lenses:       !absent(caps.TextDocument.CodeLens),
		virtual:      !absent(caps.Workspace.TextDocumentContent) && caps.Window.ShowDocument.Support,
		refreshes:    caps.Workspace.CodeLens.RefreshSupport,
		progress:     caps.Window.WorkDoneProgress,
		markdown:     slices.Contains(caps.TextDocument.Hover.ContentFormat, "markdown"),
	}
	if info := p.ClientInfo; info != nil && info.Name != "" {
		c.name = oneLine(strings.TrimSpace(editorName(info.Name)+" "+editorVersion(info.Version)), 60)
		c.editor = strings.ToLower(strings.ReplaceAll(info.Name, " ", ""))
	}
	// Helix shows documents long before it says so.
	if c.is("helix") {
		c.showDocument = true
	}
	for _, f := range p.WorkspaceFolders {
		if c.root = pathOf(canonical(f.URI)); c.root != "" {
			break
		}
	}
	if c.root == "" && p.RootURI != nil && *p.RootURI != "" {
		c.root = pathOf(canonical(*p.RootURI))
	}
	if c.root == "" && p.RootPath != nil && *p.RootPath != "" {
		c.root = pathOf(fileURI(*p.RootPath))
	}
	return c
}

// editorName gives the names under which editors call themselves a capital.
func editorName(name string) string {
	if name != "" && name[0] >= 'a' && name[0] <= 'z' {
		return strings.ToUpper(name[:1]) + name[1:]
	}
	return name
}

// editorVersion is the first word of a version ("0.10.4" of "0.10.4+g1234 (abc)").
func editorVersion(v string) string {
	v, _, _ = strings.Cut(strings.TrimSpace(v), " ")
	if i := strings.IndexByte(v, '+'); i > 0 {
		v = v[:i]
	}
	if !utf8.ValidString(v) || len(v) > 24 {
		return ""
	}
	return v
}

// encoding is the encoding of positions that was agreed on.
func (c *client) encoding() protocol.PositionEncodingKind {
	if c.utf8 {
		return protocol.PositionEncodingKindUTF8
	}
	return protocol.PositionEncodingKindUTF16
}

// is tells whether the editor's name holds that word.
func (c *client) is(word string) bool { return strings.Contains(c.editor, word) }

// previewTabs tells whether what the server shows takes the place of what it
// showed before, as in VS Code.
func (c *client) previewTabs() bool {
	return c.is("visualstudiocode") || c.is("vscod") || c.is("code-")
}

// tellsErrors tells whether the editor shows the error of a failed command by
// itself. Helix only logs it, so there the server has to say it.
func (c *client) tellsErrors() bool {
	return c.is("neovim") || c.previewTabs() || c.is("emacs") || c.is("eglot")
}

// keys says in a few words which gestures decide in this editor. It only
// promises what was seen to arrive: an unmodified buffer is never saved by
// Emacs, and closing a window tells nothing in Neovim and Helix.
func (c *client) keys(g GestureSettings, surface approvals.Surface) string {
	allows, denies := "allows", "denies"
	switch surface {
	case approvals.SurfaceQuestion:
		allows, denies = "answers", "declines"
	case approvals.SurfacePlan:
		allows, denies = "approves", "keeps planning"
	}
	save, closing := "saving", "closing"
	switch {
	case c.is("neovim"):
		save, closing = ":w", ":bd"
	case c.is("helix"):
		save, closing = ":w", ":bc"
	case c.is("emacs"), c.is("eglot"):
		save, closing = "saving a change", "C-x k"
	}
	save += " " + allows
	if g.SaveMeans == "amend" {
		save = "saving keeps your text"
	}
	if g.CloseMeans == "nothing" {
		return save
	}
	return save + ", " + closing + " " + denies
}
