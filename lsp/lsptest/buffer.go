package lsptest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"countersign/lsp"
)

// This file is what the editor says of its buffers. Everything here is called
// with the editor's lock held.

func (e *Editor) didOpen(b *Buffer) {
	if !e.kind.keepsVersion || b.Version == 0 {
		b.Version = e.kind.firstVersion
	}
	b.Open, b.openedAt = true, time.Now()
	language := b.Language
	if e.kind.noLanguage {
		language = ""
	}
	e.sent("didOpen", b.URI)
	e.notify("textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": b.URI, "languageId": language, "version": b.Version, "text": b.Text,
	}})
}

func (e *Editor) didClose(b *Buffer) {
	b.Open = false
	e.sent("didClose", b.URI)
	e.notify("textDocument/didClose", map[string]any{"textDocument": map[string]any{"uri": b.URI}})
}

// change replaces the bytes from start up to end.
func (e *Editor) change(b *Buffer, start, end int, with string) {
	text := lsp.NewText(b.Text)
	change := map[string]any{"text": with}
	if e.incremental {
		change["range"] = text.Range(start, end, e.enc)
	}
	b.Text = text.Replace(start, end, with).String()
	if !e.incremental {
		change["text"] = b.Text
	}
	b.Version++
	e.sent("didChange", b.URI)
	e.notify("textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": b.URI, "version": b.Version},
		"contentChanges": []any{change},
	})
}

// changeTo turns the buffer's text into another by one change.
func (e *Editor) changeTo(b *Buffer, text string) {
	start := 0
	for start < len(text) && start < len(b.Text) && text[start] == b.Text[start] {
		start++
	}
	for start > 0 && b.Text[start-1] != '\n' {
		start-- // whole lines, so that no code point and no \r\n is cut
	}
	tail := 0
	for tail < len(text)-start && tail < len(b.Text)-start && text[len(text)-1-tail] == b.Text[len(b.Text)-1-tail] {
		tail++
	}
	for tail > 0 && b.Text[len(b.Text)-1-tail] != '\n' {
		tail--
		if len(b.Text)-1-tail < start {
			break
		}
	}
	if start+tail > len(b.Text) || start+tail > len(text) {
		start, tail = 0, 0
	}
	e.change(b, start, len(b.Text)-tail, text[start:len(text)-tail])
}

func (e *Editor) willSave(b *Buffer, reason int) {
	if !e.wantsWill || reason == 0 {
		return
	}
	e.sent(fmt.Sprintf("willSave %d", reason), b.URI)
	e.notify("textDocument/willSave", map[string]any{"textDocument": map[string]any{"uri": b.URI}, "reason": reason})
}

func (e *Editor) didSave(b *Buffer, text string) {
	p := map[string]any{"textDocument": map[string]any{"uri": b.URI}}
	if e.wantsText {
		p["text"] = text
	}
	e.sent("didSave", b.URI)
	e.notify("textDocument/didSave", p)
}

// write writes a buffer's text to a path and returns what the save will say
// that the text is.
func (e *Editor) write(b *Buffer, path string) (string, error) {
	said, disk := b.Text, b.Text
	if disk != "" && !strings.HasSuffix(disk, "\n") {
		switch e.kind.newline {
		case newlineOnDisk:
			disk += "\n"
		case newlineChange:
			e.change(b, len(b.Text), len(b.Text), "\n")
			said, disk = b.Text, b.Text
		}
	}
	if err := os.WriteFile(path, []byte(disk), 0o600); err != nil {
		return "", err
	}
	e.opts.Wrote(path)
	return said, nil
}

// save is the whole of a save with a will-save reason (0: none is sent).
func (e *Editor) save(b *Buffer, reason int) error {
	e.willSave(b, reason)
	said, err := e.write(b, b.Path)
	if err != nil {
		return err // a save that fails sends no didSave
	}
	b.Disk = b.Text
	e.didSave(b, said)
	return nil
}

// load is the buffer of a path; it reads the file when there is none.
func (e *Editor) load(path string) (*Buffer, bool, error) {
	u := fileURI(path)
	if b := e.buffers[u]; b != nil {
		return b, false, nil
	}
	data, err := os.ReadFile(path)
	if err != nil && !(os.IsNotExist(err) && e.kind.showsMissing) {
		return nil, false, err
	}
	b := &Buffer{URI: u, Path: path, Text: string(data), Disk: string(data), Language: language(path)}
	e.buffers[u] = b
	if !slices.Contains(e.order, u) {
		e.order = append(e.order, u)
	}
	return b, true, nil
}

// close unloads a buffer and tells the server when the kind does.
func (e *Editor) close(b *Buffer) {
	delay := e.kind.closeDelay
	if b.Shown && e.kind.apiClose > 0 {
		delay = max(delay, e.kind.apiClose-time.Since(b.openedAt))
	}
	e.closeAfter(b, delay)
}

// closeAfter unloads a buffer and tells the server after a while.
func (e *Editor) closeAfter(b *Buffer, delay time.Duration) {
	delete(e.buffers, b.URI)
	e.order = slices.DeleteFunc(e.order, func(u string) bool { return u == b.URI })
	if e.preview == b.URI {
		e.preview = ""
	}
	switch {
	case !b.Open:
	case delay <= 0:
		e.didClose(b)
	default:
		e.later(delay, func() {
			// Opened again meanwhile: the editor never says that it was closed.
			if e.buffers[b.URI] == nil {
				e.didClose(b)
			}
		})
	}
}

func language(path string) string {
	switch i := strings.LastIndexByte(path, '.'); {
	case i < 0:
		return "plaintext"
	case path[i:] == ".go":
		return "go"
	case path[i:] == ".md":
		return "markdown"
	case path[i:] == ".sh":
		return "shellscript"
	case path[i:] == ".json":
		return "json"
	}
	return "plaintext"
}

// apply applies text edits, all of which refer to the buffer as it is.
func (e *Editor) apply(b *Buffer, edits []*protocol.TextEdit) {
	type span struct {
		start, end int
		text       string
	}
	text := lsp.NewText(b.Text)
	spans := make([]span, 0, len(edits))
	for _, ed := range edits {
		spans = append(spans, span{text.Offset(ed.Range.Start, e.enc), text.Offset(ed.Range.End, e.enc), ed.NewText})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return b.start - a.start })
	for _, s := range spans {
		e.change(b, s.start, max(s.start, s.end), s.text)
	}
}

func pathOf(u string) string { return uri.URI(u).FsPath() }
