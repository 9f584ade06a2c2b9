package mockmodel

import (
	"fmt"
	"net/http"

	"github.com/go-json-experiment/json"
)

// chunk is how many runes of a text or an input one streamed delta carries.
const chunk = 64

// A message is an answer on its way out.
type message struct {
	ID, Model string
	Content   []Block
}

type object = map[string]any

func (m message) stopReason() string {
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			return "tool_use"
		}
	}
	return "end_turn"
}

func (m message) whole() object {
	return object{
		"id": m.ID, "type": "message", "role": "assistant", "model": m.Model,
		"content": m.Content, "stop_reason": m.stopReason(), "stop_sequence": nil,
		"usage": object{"input_tokens": 10, "output_tokens": 5},
	}
}

// stream writes the message as server-sent events, in the order of the API:
// message_start, each block's start, deltas and stop, message_delta, message_stop.
func (m message) stream(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	send := func(kind string, fields object) {
		fields["type"] = kind
		data, err := json.Marshal(fields, json.Deterministic(true))
		if err != nil {
			panic(fmt.Sprintf("mock model: an event does not marshal: %v", err))
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind, data)
	}
	start := m.whole()
	start["content"], start["stop_reason"] = []Block{}, nil
	send("message_start", object{"message": start})
	for i, b := range m.Content {
		var opening, delta object
		key, text := "text", b.Text
		if b.Type == "tool_use" {
			opening = object{"type": b.Type, "id": b.ID, "name": b.Name, "input": object{}}
			delta, key, text = object{"type": "input_json_delta"}, "partial_json", string(b.Input)
		} else {
			opening = object{"type": b.Type, "text": ""}
			delta = object{"type": "text_delta"}
		}
		send("content_block_start", object{"index": i, "content_block": opening})
		for _, part := range pieces(text) {
			delta[key] = part
			send("content_block_delta", object{"index": i, "delta": delta})
		}
		send("content_block_stop", object{"index": i})
		flush(w)
	}
	send("message_delta", object{
		"delta": object{"stop_reason": m.stopReason(), "stop_sequence": nil},
		"usage": object{"output_tokens": 5},
	})
	send("message_stop", object{})
	flush(w)
}

// pieces cuts between runes, in chunks that grow with the text: a text of
// megabytes is not worth a hundred thousand events.
func pieces(text string) []string {
	size := max(chunk, len(text)/100)
	var out []string
	start, n := 0, 0
	for i := range text {
		if n == size {
			out = append(out, text[start:i])
			start, n = i, 0
		}
		n++
	}
	return append(out, text[start:])
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
