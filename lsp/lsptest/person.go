package lsptest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"
)

// This file is what a person does with the editor.

// with runs f on the buffer of a path, under the lock.
func (e *Editor) with(path string, f func(b *Buffer) error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	b := e.buffers[fileURI(path)]
	if b == nil {
		return fmt.Errorf("%s: %w", path, errNoBuffer)
	}
	return f(b)
}

// Open opens a file and brings it to the front.
func (e *Editor) Open(path string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open(path, false)
}

// open is called with the lock held.
func (e *Editor) open(path string, shown bool) error {
	b, fresh, err := e.load(path)
	if err != nil {
		return err
	}
	if fresh && e.kind.previewTab && shown {
		if old := e.buffers[e.preview]; old != nil && !old.Dirty() {
			e.close(old)
		}
		e.preview = b.URI
	}
	if fresh || !b.Open {
		b.Shown = shown
		e.didOpen(b)
	}
	b.Hidden = false
	return nil
}

// Edit replaces the first occurrence of old; an empty old means the end.
func (e *Editor) Edit(path, old, with string) error {
	return e.with(path, func(b *Buffer) error {
		at := strings.Index(b.Text, old)
		if old == "" {
			at = len(b.Text)
		}
		if at < 0 {
			return fmt.Errorf("%s does not hold %q", path, old)
		}
		e.change(b, at, at+len(old), with)
		return nil
	})
}

// SetText replaces the whole text, by one change of the lines that differ.
func (e *Editor) SetText(path, text string) error {
	return e.with(path, func(b *Buffer) error { e.changeTo(b, text); return nil })
}

// Save saves as the plain save command does (:w, C-x C-s, Ctrl+S): some editors
// do nothing when nothing was changed.
func (e *Editor) Save(path string) error {
	return e.with(path, func(b *Buffer) error {
		if !b.Dirty() && !e.kind.savesUnmodified {
			return nil
		}
		return e.save(b, 1)
	})
}

// SaveAll saves every changed buffer, in the order of their opening.
func (e *Editor) SaveAll() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, u := range e.order {
		if b := e.buffers[u]; b != nil && b.Dirty() {
			if err := e.save(b, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// Autosave saves a changed buffer as a timer does.
func (e *Editor) Autosave(path string) error {
	return e.with(path, func(b *Buffer) error {
		if !b.Dirty() {
			return nil
		}
		return e.save(b, e.kind.autosaveReason)
	})
}

// FocusOut saves a changed buffer as losing the focus does.
func (e *Editor) FocusOut(path string) error {
	return e.with(path, func(b *Buffer) error {
		if !b.Dirty() {
			return nil
		}
		return e.save(b, e.kind.focusOutReason)
	})
}

// SaveAs writes the buffer to another path (:w other, write-file, Save As).
func (e *Editor) SaveAs(path, other string) error {
	return e.with(path, func(b *Buffer) error {
		said, err := e.write(b, other)
		if err != nil {
			return err
		}
		switch e.kind.saveAs {
		case saveAsOld:
			e.didSave(b, said)
		case saveAsOldMove:
			e.didSave(b, said)
			e.close(b)
			return e.open(other, false)
		case saveAsNew:
			if err := e.open(other, false); err != nil {
				return err
			}
			e.didSave(e.buffers[fileURI(other)], said)
		}
		return nil
	})
}

// Close closes the buffer (:bd!, :bc!, C-x k, the tab's cross and "Don't save"):
// unsaved changes are thrown away.
func (e *Editor) Close(path string) error {
	return e.with(path, func(b *Buffer) error {
		if b.Dirty() && e.kind.dirtyRevert {
			e.changeTo(b, b.Disk)
		}
		e.close(b)
		return nil
	})
}

// SaveAndClose does both by one action (:wbc, the tab's cross and "Save").
func (e *Editor) SaveAndClose(path string) error {
	err := e.with(path, func(b *Buffer) error {
		if !b.Dirty() && !e.kind.savesUnmodified {
			return nil
		}
		return e.save(b, 1)
	})
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	return e.with(path, func(b *Buffer) error {
		e.closeAfter(b, e.kind.closeDelay)
		return nil
	})
}

// FlashSaveClose is what VS Code does with the edits of a code action: the
// document is opened, saved and closed within 40 ms, unseen; closeFirst has the
// didClose come before the didSave.
func (e *Editor) FlashSaveClose(path string, closeFirst bool) error {
	if err := e.Open(path); err != nil {
		return err
	}
	time.Sleep(38 * time.Millisecond)
	return e.with(path, func(b *Buffer) error {
		e.willSave(b, 1)
		said, err := e.write(b, b.Path)
		if err != nil {
			return err
		}
		if !closeFirst {
			e.didSave(b, said)
		}
		e.closeAfter(b, 0)
		if closeFirst {
			e.didSave(b, said)
		}
		return nil
	})
}

// Hide closes the last window of a buffer (:q while another window stays). In
// some editors the buffer lives on, hidden, and nothing is said.
func (e *Editor) Hide(path string) error {
	return e.with(path, func(b *Buffer) error {
		if e.kind.hides {
			b.Hidden = true
			return nil
		}
		e.close(b)
		return nil
	})
}

// Reload reads the file again, throwing changes away (:e!, revert).
func (e *Editor) Reload(path string) error {
	gap := time.Duration(0)
	err := e.with(path, func(b *Buffer) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := string(data)
		switch e.kind.reload {
		case docCloseOpen:
			e.didClose(b)
			gap = 3 * time.Millisecond
			b.Text = text
		case docChange:
			if b.Text != text {
				e.changeTo(b, text)
			}
		}
		b.Disk = text
		return nil
	})
	return e.reopen(path, gap, err)
}

// SetLanguage changes the language of a buffer.
func (e *Editor) SetLanguage(path, language string) error {
	gap := time.Duration(0)
	err := e.with(path, func(b *Buffer) error {
		b.Language = language
		switch e.kind.language {
		case docCloseOpen:
			e.didClose(b)
			gap = time.Millisecond
		case docOpen:
			e.didOpen(b)
		}
		return nil
	})
	return e.reopen(path, gap, err)
}

func (e *Editor) reopen(path string, gap time.Duration, err error) error {
	if err != nil || gap == 0 {
		return err
	}
	time.Sleep(gap)
	return e.with(path, func(b *Buffer) error { e.didOpen(b); return nil })
}

// An Action is a code action or command that the server offers.
type Action struct {
	Title     string                   `json:"title"`
	Kind      string                   `json:"kind"`
	Preferred bool                     `json:"isPreferred"`
	Edit      jsontext.Value           `json:"edit"`
	Command   jsontext.Value           `json:"command"`
	Arguments []jsontext.Value         `json:"arguments"` // of a bare command
	Disabled  *struct{ Reason string } `json:"disabled"`
}

// Actions asks for the code actions at the start of a document.
func (e *Editor) Actions(ctx context.Context, path string) ([]Action, error) {
	var actions []Action
	b, _ := e.Buffer(path)
	problems := append([]protocol.Diagnostic{}, b.Problems...)
	err := e.call(ctx, "textDocument/codeAction", map[string]any{
		"textDocument": map[string]any{"uri": fileURI(path)},
		"range":        b.Selection,
		"context":      map[string]any{"diagnostics": problems, "triggerKind": 1},
	}, &actions)
	return actions, err
}

// Select selects a part of a document, with what other servers say about it.
func (e *Editor) Select(path string, r protocol.Range, problems ...protocol.Diagnostic) error {
	return e.with(path, func(b *Buffer) error {
		b.Selection, b.Problems = r, problems
		return nil
	})
}

// Run runs an action: its command, as every editor does.
func (e *Editor) Run(ctx context.Context, a Action) (jsontext.Value, error) {
	if len(a.Edit) > 0 {
		return nil, fmt.Errorf("%q carries an edit", a.Title)
	}
	var cmd struct {
		Command   string           `json:"command"`
		Arguments []jsontext.Value `json:"arguments"`
	}
	if a.Command.Kind() == '"' {
		cmd.Arguments = a.Arguments
		if err := unmarshal(a.Command, &cmd.Command); err != nil {
			return nil, err
		}
	} else if err := unmarshal(a.Command, &cmd); err != nil {
		return nil, err
	}
	return e.Execute(ctx, cmd.Command, cmd.Arguments...)
}

// Execute runs a command of the server.
func (e *Editor) Execute(ctx context.Context, command string, arguments ...jsontext.Value) (jsontext.Value, error) {
	var res jsontext.Value
	p := map[string]any{"command": command}
	if len(arguments) > 0 {
		p["arguments"] = arguments
	}
	err := e.call(ctx, "workspace/executeCommand", p, &res)
	return res, err
}

// Hover asks for the hover at a line of a document.
func (e *Editor) Hover(ctx context.Context, path string, line uint32) (string, error) {
	var res *struct {
		Contents jsontext.Value `json:"contents"`
	}
	err := e.call(ctx, "textDocument/hover", map[string]any{
		"textDocument": map[string]any{"uri": fileURI(path)}, "position": protocol.Position{Line: line},
	}, &res)
	if err != nil || res == nil {
		return "", err
	}
	var text string
	if res.Contents.Kind() == '"' {
		return text, unmarshal(res.Contents, &text)
	}
	var markup struct {
		Value string `json:"value"`
	}
	err = unmarshal(res.Contents, &markup)
	return markup.Value, err
}

// Lenses asks for the code lenses of a document and gives their titles.
func (e *Editor) Lenses(ctx context.Context, path string) ([]string, error) {
	var lenses []struct {
		Command *struct {
			Title string `json:"title"`
		} `json:"command"`
	}
	if err := e.call(ctx, "textDocument/codeLens", map[string]any{"textDocument": map[string]any{"uri": fileURI(path)}}, &lenses); err != nil {
		return nil, err
	}
	var titles []string
	for _, l := range lenses {
		if l.Command != nil {
			titles = append(titles, l.Command.Title)
		}
	}
	return titles, nil
}

// SetSettings changes the settings and tells the server.
func (e *Editor) SetSettings(settings jsontext.Value) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.opts.Settings = settings
	e.notify("workspace/didChangeConfiguration", map[string]any{"settings": map[string]any{"countersign": settings}})
}

// Send sends any notification, for what no editor should send.
func (e *Editor) Send(method string, params any) error {
	e.mu.Lock()
	conn := e.conn
	e.mu.Unlock()
	return conn.Notify(method, params)
}

func (e *Editor) call(ctx context.Context, method string, params, result any) error {
	e.mu.Lock()
	conn := e.conn
	e.mu.Unlock()
	return conn.Call(ctx, method, params, result)
}
