package lsptest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"

	"countersign/session/rpc"
)

// handler is the editor as its server sees it.
type handler Editor

func unmarshal(raw jsontext.Value, v any) error { return json.Unmarshal(raw, v) }

// Notify takes what the server tells.
func (h *handler) Notify(method string, params jsontext.Value) {
	e := (*Editor)(h)
	switch method {
	case "window/showMessage", "window/logMessage":
		var p struct {
			Type    int    `json:"type"`
			Message string `json:"message"`
		}
		_ = json.Unmarshal(params, &p)
		kind := "message"
		if method == "window/logMessage" {
			kind = "log"
		}
		severity := [...]string{"", "error", "warning", "info", "log", "debug"}[min(max(p.Type, 0), 5)]
		e.opts.Observe(Observation{Kind: kind, Text: severity + ": " + p.Message})
	case "textDocument/publishDiagnostics":
		var p protocol.PublishDiagnosticsParams
		if err := rpc.Decode(params, &p); err != nil {
			e.opts.Observe(Observation{Kind: "message", Text: "unreadable diagnostics: " + err.Error()})
			return
		}
		e.mu.Lock()
		e.diagnostics[string(p.URI)] = p.Diagnostics
		e.mu.Unlock()
		ob := Observation{Kind: "diagnostics", URI: string(p.URI)}
		for _, d := range p.Diagnostics {
			ob.Lines = append(ob.Lines, fmt.Sprintf("%d: %s: %s", d.Range.Start.Line, severityName(d.Severity), messageOf(d)))
		}
		e.opts.Observe(ob)
	case "$/progress":
		var p struct {
			Value struct {
				Kind    string `json:"kind"`
				Title   string `json:"title"`
				Message string `json:"message"`
			} `json:"value"`
		}
		_ = json.Unmarshal(params, &p)
		e.opts.Observe(Observation{Kind: "progress", Text: p.Value.Kind + ": " + p.Value.Title + p.Value.Message})
	}
}

func severityName(s protocol.DiagnosticSeverity) string {
	return [...]string{"none", "error", "warning", "information", "hint"}[min(max(int(s), 0), 4)]
}

func messageOf(d protocol.Diagnostic) string {
	switch m := d.Message.(type) {
	case protocol.String:
		return string(m)
	case *protocol.MarkupContent:
		return m.Value
	}
	return fmt.Sprint(d.Message)
}

// Request answers what the server asks.
func (h *handler) Request(method string, params jsontext.Value) func(context.Context) (any, error) {
	e := (*Editor)(h)
	null := func(context.Context) (any, error) { return nil, nil }
	switch method {
	case "window/showDocument":
		return func(ctx context.Context) (any, error) { return e.showDocument(params) }
	case "workspace/applyEdit":
		return func(ctx context.Context) (any, error) { return e.applyEdit(params) }
	case "workspace/configuration":
		return func(context.Context) (any, error) { return e.configuration(params) }
	case "window/showMessageRequest":
		if !e.kind.asks {
			return nil
		}
		var p struct {
			Message string `json:"message"`
		}
		_ = json.Unmarshal(params, &p)
		e.opts.Observe(Observation{Kind: "ask", Text: p.Message})
		return null
	case "workspace/textDocumentContent/refresh":
		var p struct {
			URI string `json:"uri"`
		}
		_ = json.Unmarshal(params, &p)
		e.opts.Observe(Observation{Kind: "ask", URI: p.URI, Text: "refresh"})
		e.mu.Lock()
		defer e.mu.Unlock()
		e.later(time.Millisecond, func() { e.read(p.URI) })
		return null
	case "client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create",
		"workspace/codeLens/refresh", "workspace/diagnostic/refresh", "workspace/inlayHint/refresh":
		return null
	}
	return nil
}

func (e *Editor) showDocument(params jsontext.Value) (any, error) {
	var p struct {
		URI       string `json:"uri"`
		TakeFocus *bool  `json:"takeFocus"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	e.opts.Observe(Observation{Kind: "show", URI: p.URI, Text: fmt.Sprintf("focus=%v", p.TakeFocus != nil && *p.TakeFocus)})
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.quitting {
		return map[string]any{"success": false}, nil
	}
	if !strings.HasPrefix(p.URI, "file:") {
		e.later(time.Millisecond, func() { e.read(p.URI) })
		return map[string]any{"success": true}, nil
	}
	path := pathOf(p.URI)
	if _, err := os.Stat(path); err != nil && !e.kind.showsMissing {
		return map[string]any{"success": false}, nil
	}
	if e.kind.answerFirst {
		e.later(2*time.Millisecond, func() { _ = e.open(path, true) })
		return map[string]any{"success": true}, nil
	}
	if err := e.open(path, true); err != nil {
		return map[string]any{"success": false}, nil
	}
	return map[string]any{"success": true}, nil
}

// read reads a virtual document anew, in the background. The caller holds mu.
func (e *Editor) read(u string) {
	conn, ctx := e.conn, e.ctx
	e.late.Go(func() {
		var res struct {
			Text string `json:"text"`
		}
		err := conn.Call(ctx, "workspace/textDocumentContent", map[string]any{"uri": u}, &res)
		text := res.Text
		if err != nil {
			text = err.Error()
		}
		e.opts.Observe(Observation{Kind: "ask", URI: u, Text: "reads:\n" + strings.TrimSuffix(text, "\n")})
	})
}

func (e *Editor) configuration(params jsontext.Value) (any, error) {
	var p struct {
		Items []struct {
			Section string `json:"section"`
		} `json:"items"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	answer := make([]jsontext.Value, len(p.Items))
	for i, it := range p.Items {
		answer[i] = jsontext.Value("null")
		if it.Section == "countersign" && len(e.opts.Settings) > 0 {
			answer[i] = e.opts.Settings
		}
	}
	return answer, nil
}

func (e *Editor) applyEdit(params jsontext.Value) (any, error) {
	var p struct {
		Edit struct {
			Changes         map[string][]*protocol.TextEdit `json:"changes"`
			DocumentChanges []struct {
				Kind         string `json:"kind"`
				URI          string `json:"uri"`
				TextDocument struct {
					URI     string `json:"uri"`
					Version *int32 `json:"version"`
				} `json:"textDocument"`
				Edits []*protocol.TextEdit `json:"edits"`
			} `json:"documentChanges"`
		} `json:"edit"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for u, edits := range p.Edit.Changes {
		if err := e.editVirtual(u, edits); err != nil {
			return nil, err
		}
	}
	for _, c := range p.Edit.DocumentChanges {
		switch c.Kind {
		case "":
			if err := e.editVirtual(c.TextDocument.URI, c.Edits); err != nil {
				return nil, err
			}
		case "delete":
			e.opts.Observe(Observation{Kind: "edit", URI: c.URI, Text: "delete"})
			if e.kind.deletes == deleteFails {
				return nil, rpc.Errorf(rpc.InternalError, "Internal error")
			}
			_ = os.Remove(pathOf(c.URI))
			if b := e.buffers[c.URI]; b != nil && e.kind.deletes == deleteCloses {
				e.closeAfter(b, 0)
			}
		default:
			return map[string]any{"applied": false, "failureReason": "not understood: " + c.Kind}, nil
		}
	}
	return map[string]any{"applied": true}, nil
}

// editVirtual applies a server's edits; a file that is not open becomes a
// hidden, changed buffer.
func (e *Editor) editVirtual(u string, edits []*protocol.TextEdit) error {
	e.opts.Observe(Observation{Kind: "edit", URI: u, Text: "text"})
	b, fresh, err := e.load(pathOf(u))
	if err != nil {
		return rpc.Errorf(rpc.InternalError, "%v", err)
	}
	if fresh {
		b.Hidden = true
	}
	if !b.Open {
		e.didOpen(b)
	}
	e.apply(b, edits)
	return nil
}
