// Package mockmodel is a scripted stand-in for the model that an agent talks
// to: the Anthropic Messages API on loopback, streaming or plain. It lets the
// real agent run without an account and makes what it does repeatable, and it
// keeps every request, so that a test can assert what the model was told.
//
// It knows nothing of Countersign. One goroutine serves each HTTP request (net/http
// starts it; it may block on a held turn and ends with its client or with
// Close). Texts are UTF-8, sizes are bytes.
package mockmodel

import (
	"fmt"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Script is everything the model will say. The zero Script answers
// every call with EndOfScript.
type Script struct {
	// Turns are the answers of every conversation that no Conversation claims.
	Turns []Turn `json:"turns,omitzero"`
	// Conversations are tried in order: the first whose Match occurs in the
	// first user message answers. Subagents are told apart by their prompt.
	Conversations []Conversation `json:"conversations,omitzero"`
	// Helper answers calls that offer no tools (titles, summaries); empty means
	// "ok", or a small JSON object where the call asks for a schema.
	Helper string `json:"helper,omitzero"`
}

// A Conversation is a list of turns chosen by a text in its first user message.
type Conversation struct {
	Match string `json:"match"`
	Turns []Turn `json:"turns"`
}

// A Turn is the answer to one model call. Which one is given follows from how
// far the conversation is, the number of assistant messages in the request, so a
// call that the agent repeats gets the same answer again.
type Turn struct {
	Text  string `json:"text,omitzero"`
	Calls []Call `json:"calls,omitzero"`
	// Hold withholds the answer until Server.Release(Hold), the client goes
	// away, or the server closes. The request is captured before.
	Hold string `json:"hold,omitzero"`
	// Status other than 0 answers an HTTP error of that status, with Error as
	// its type ("overloaded_error").
	Status int    `json:"status,omitzero"`
	Error  string `json:"error,omitzero"`
	// Make computes the turn from the request; the other fields are then unused.
	Make func(Request) Turn `json:"-"`
}

// A Call is a tool call. Input is anything that marshals to a JSON object; a
// jsontext.Value is sent as it is.
type Call struct {
	ID    string `json:"id,omitzero"` // empty: see CallID
	Name  string `json:"name"`
	Input any    `json:"input"`
}

// EndOfScript is what the model says once its turns are used up.
const EndOfScript = "(end of script)"

// Say is a turn of text alone.
func Say(text string) Turn { return Turn{Text: text} }

// Use is a turn with one tool call.
func Use(name string, input any) Turn { return Turn{Calls: []Call{{Name: name, Input: input}}} }

// CallID is the id of a call that has none of its own: turn and call count from
// 0, conversation is the Match of its conversation, empty for Script.Turns.
func CallID(conversation string, turn, call int) string {
	var name strings.Builder
	for _, r := range conversation {
		if r < 0x80 && (r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') && name.Len() < 40 {
			name.WriteRune(r)
		}
	}
	if name.Len() == 0 {
		name.WriteString("main")
	}
	return fmt.Sprintf("toolu_%s_%d_%d", name.String(), turn, call)
}

// ReadScript reads a script from a JSON file. Unknown names are errors.
func ReadScript(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, fmt.Errorf("read the model's script: %w", err)
	}
	var s Script
	if err := json.Unmarshal(data, &s, json.RejectUnknownMembers(true)); err != nil {
		return Script{}, fmt.Errorf("read the model's script %s: %w", path, err)
	}
	return s, nil
}

// turn finds what answers the request, and notes in it where that came from.
func (s Script) turn(r *Request) Turn {
	turns := s.Turns
	for _, c := range s.Conversations {
		if strings.Contains(r.FirstUserText(), c.Match) {
			turns, r.Conversation = c.Turns, c.Match
			break
		}
	}
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			r.Turn++
		}
	}
	if r.Turn >= len(turns) {
		return Say(EndOfScript)
	}
	t := turns[r.Turn]
	if t.Make != nil {
		t = t.Make(*r)
	}
	return t
}

// content is the answer of a turn as the API's content blocks.
func (t Turn) content(r *Request) ([]Block, error) {
	var blocks []Block
	if t.Text != "" {
		blocks = append(blocks, Block{Type: "text", Text: t.Text})
	}
	for i, c := range t.Calls {
		input, err := rawInput(c.Input)
		if err != nil {
			return nil, fmt.Errorf("input of the scripted call of %s: %w", c.Name, err)
		}
		id := c.ID
		if id == "" {
			id = CallID(r.Conversation, r.Turn, i)
		}
		blocks = append(blocks, Block{Type: "tool_use", ID: id, Name: c.Name, Input: input})
	}
	if len(blocks) == 0 {
		blocks = []Block{{Type: "text", Text: "ok"}}
	}
	return blocks, nil
}

func rawInput(input any) (jsontext.Value, error) {
	switch in := input.(type) {
	case nil:
		return jsontext.Value("{}"), nil
	case jsontext.Value:
		return in, nil
	}
	return json.Marshal(input, json.Deterministic(true))
}
