package rpc

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
)

// Encode turns v into JSON: raw JSON passes through, everything else goes
// through the LSP types' own encoder, which knows their unions.
func Encode(v any) (jsontext.Value, error) {
	switch raw := v.(type) {
	case nil:
		return nil, nil
	case jsontext.Value:
		return raw, nil
	case jsonrpc2.RawMessage:
		return jsontext.Value(raw), nil
	}
	return protocol.Marshal(v)
}

// Decode fills v from JSON. Absent parameters and null leave v as it is.
// Strings in v may share one copy of the whole message: clone those that are
// kept for long.
func Decode(raw jsontext.Value, v any) error {
	switch p := v.(type) {
	case nil:
		return nil
	case *jsontext.Value:
		*p = bytes.Clone(raw)
		return nil
	case *jsonrpc2.RawMessage:
		*p = bytes.Clone(raw)
		return nil
	}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
		return nil
	}
	return protocol.Unmarshal(raw, v)
}

// Params is Decode for a handler: its error is the one to answer.
func Params(raw jsontext.Value, v any) error {
	if err := Decode(raw, v); err != nil {
		return &Error{Code: InvalidParams, Message: fmt.Sprintf("the parameters cannot be read: %v", err)}
	}
	return nil
}
