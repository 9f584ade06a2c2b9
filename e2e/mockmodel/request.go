package mockmodel

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Request is one call that the agent made, as a test looks at it.
type Request struct {
	N        int    // counts from 0, in order of arrival
	Method   string // HTTP
	Path     string // without the query
	Model    string
	Stream   bool
	Tools    []string // names of the tools offered; none for a helper call
	System   string   // the system prompt
	Messages []Message

	Conversation string // Match of the conversation that answered; empty for Script.Turns
	Turn         int    // assistant messages so far: index of the turn that answered
	Helper       bool   // no tools offered
}

// A Message is one message of a conversation.
type Message struct {
	Role   string // "user" or "assistant"
	Blocks []Block
}

// A Block is one content block of a message, flattened: a tool_result's own
// text blocks are joined in Text.
type Block struct {
	Type      string         `json:"type"` // "text", "tool_use", "tool_result", …
	Text      string         `json:"text,omitzero"`
	ID        string         `json:"id,omitzero"`          // of a tool_use
	Name      string         `json:"name,omitzero"`        // of a tool_use
	Input     jsontext.Value `json:"input,omitzero"`       // of a tool_use
	ToolUseID string         `json:"tool_use_id,omitzero"` // of a tool_result
	IsError   bool           `json:"is_error,omitzero"`    // of a tool_result
}

// FirstUserText is the text of the first user message, which chooses the conversation.
func (r Request) FirstUserText() string {
	for _, m := range r.Messages {
		if m.Role == "user" {
			return m.Text()
		}
	}
	return ""
}

// Told is the result of a tool call as this request tells it.
func (r Request) Told(callID string) (result Block, ok bool) {
	for _, m := range r.Messages {
		for _, b := range m.Blocks {
			if b.Type == "tool_result" && b.ToolUseID == callID {
				result, ok = b, true
			}
		}
	}
	return result, ok
}

// Said tells whether a user message of this request has text in a text block:
// what a person wrote, or what was told beside the tool results.
func (r Request) Said(text string) bool {
	for _, m := range r.Messages {
		if m.Role != "user" {
			continue
		}
		for _, b := range m.Blocks {
			if b.Type == "text" && strings.Contains(b.Text, text) {
				return true
			}
		}
	}
	return false
}

// Text is the text blocks of a message, one a line.
func (m Message) Text() string {
	var texts []string
	for _, b := range m.Blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// wireRequest is the body of a Messages call, as far as it matters here.
type wireRequest struct {
	Model    string         `json:"model"`
	Stream   bool           `json:"stream"`
	System   jsontext.Value `json:"system"`
	Tools    []wireTool     `json:"tools"`
	Messages []struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
	} `json:"messages"`
	OutputFormat jsontext.Value `json:"output_format"`
	OutputConfig struct {
		Format jsontext.Value `json:"format"`
	} `json:"output_config"`
}

type wireTool struct {
	Name string `json:"name"`
	Type string `json:"type"`
}

func (w wireRequest) wantsSchema() bool {
	return present(w.OutputFormat) || present(w.OutputConfig.Format)
}

func present(v jsontext.Value) bool { return len(v) > 0 && v.Kind() != 'n' }

// fill copies what the body says into r.
func (w wireRequest) fill(r *Request) {
	r.Model, r.Stream = w.Model, w.Stream
	r.Helper = len(w.Tools) == 0
	for _, t := range w.Tools {
		if t.Name == "" {
			t.Name = t.Type
		}
		r.Tools = append(r.Tools, t.Name)
	}
	r.System = Message{Blocks: blocksOf(w.System)}.Text()
	for _, m := range w.Messages {
		r.Messages = append(r.Messages, Message{Role: m.Role, Blocks: blocksOf(m.Content)})
	}
}

// blocksOf reads content, which is a string or a list of blocks; a tool_result
// has content of its own. What it cannot read it leaves out: a test sees that
// by what it misses.
func blocksOf(content jsontext.Value) []Block {
	switch content.Kind() {
	case '"':
		var s string
		if json.Unmarshal(content, &s) != nil {
			return nil
		}
		return []Block{{Type: "text", Text: s}}
	case '[':
		var wire []struct {
			Block
			Content jsontext.Value `json:"content"`
		}
		if json.Unmarshal(content, &wire) != nil {
			return nil
		}
		blocks := make([]Block, len(wire))
		for i, w := range wire {
			blocks[i] = w.Block
			if w.Type == "tool_result" {
				blocks[i].Text = Message{Blocks: blocksOf(w.Content)}.Text()
			}
		}
		return blocks
	}
	return nil
}
