package lsp

import (
	"errors"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"

	"countersign/session/rpc"
)

type argKind string

const (
	argText    argKind = "a string"
	argNumber  argKind = "a whole number"
	argFlag    argKind = "true or false"
	argAnswers argKind = "an object of answers by question"
	argNotes   argKind = "an object of remarks by question"
	argRange   argKind = "a range of a document"
	argList    argKind = "a list of strings"
)

// arguments are a command's object, checked.
type arguments struct {
	id, text, message string
	hasText           bool
	suggestion        *int
	destination, mode string
	interrupt, beside bool
	session           string
	answers, notes    map[string]string
	uri               string
	span              *protocol.Range
	problems          []string
}

// lone are the keys that a string alone can stand for, for people who type a
// command; the first one that the command has is meant.
var lone = []string{"id", "text", "mode", "session"}

// read checks the arguments. Some editors send none, some null, some a string.
func (c command) read(name string, raws []jsontext.Value) (arguments, error) {
	var a arguments
	if len(raws) == 0 || absent(raws[0]) {
		return a, nil
	}
	raw := raws[0]
	if i := slices.IndexFunc(lone, func(k string) bool { return c.keys[k] != "" }); raw.Kind() == '"' && i >= 0 {
		if err := a.set(lone[i], raw); err != nil {
			return a, rpc.Errorf(rpc.InvalidParams, "%s: the %s cannot be read: %v", name, lone[i], err)
		}
		return a, nil
	}
	if raw.Kind() != '{' {
		return a, rpc.Errorf(rpc.InvalidParams, "%s takes an object, not %s", name, oneLine(string(raw), 40))
	}
	var object map[string]jsontext.Value
	if err := json.Unmarshal(raw, &object, lenient); err != nil {
		return a, rpc.Errorf(rpc.InvalidParams, "%s: the argument cannot be read: %v", name, err)
	}
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		kind, ok := c.keys[key]
		if !ok {
			return a, rpc.Errorf(rpc.InvalidParams, "%s has no argument %q", name, oneLine(key, 40))
		}
		if absent(object[key]) {
			continue
		}
		if err := a.set(key, object[key]); err != nil {
			return a, rpc.Errorf(rpc.InvalidParams, "%s: %q must be %s", name, key, kind)
		}
	}
	return a, nil
}

func (a *arguments) set(key string, raw jsontext.Value) (err error) {
	switch key {
	case "id":
		return json.Unmarshal(raw, &a.id)
	case "text":
		a.hasText = true
		return json.Unmarshal(raw, &a.text)
	case "message":
		return json.Unmarshal(raw, &a.message)
	case "interrupt":
		return json.Unmarshal(raw, &a.interrupt)
	case "suggestion":
		a.suggestion = new(int)
		if err := json.Unmarshal(raw, a.suggestion); err != nil {
			return err
		}
		if *a.suggestion < 0 {
			return errors.New("negative")
		}
	case "destination":
		return json.Unmarshal(raw, &a.destination)
	case "mode":
		return json.Unmarshal(raw, &a.mode)
	case "session":
		return json.Unmarshal(raw, &a.session)
	case "beside":
		return json.Unmarshal(raw, &a.beside)
	case "answers":
		a.answers, err = readAnswers(raw)
	case "notes":
		a.notes, err = readAnswers(raw)
	case "uri":
		return json.Unmarshal(raw, &a.uri)
	case "range":
		a.span = new(protocol.Range)
		return json.Unmarshal(raw, a.span, lenient)
	case "diagnostics":
		return json.Unmarshal(raw, &a.problems, lenient)
	}
	return err
}

// readAnswers reads answers by question. Several labels may come as a list:
// the agent wants them in one string.
func readAnswers(raw jsontext.Value) (map[string]string, error) {
	var values map[string]jsontext.Value
	if err := json.Unmarshal(raw, &values, lenient); err != nil {
		return nil, err
	}
	answers := make(map[string]string, len(values))
	for q, v := range values {
		var one string
		if v.Kind() == '[' {
			var several []string
			if err := json.Unmarshal(v, &several, lenient); err != nil {
				return nil, err
			}
			one = strings.Join(several, ", ")
		} else if err := json.Unmarshal(v, &one, lenient); err != nil {
			return nil, err
		}
		answers[q] = one
	}
	return answers, nil
}
