//go:build linux

package faults

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/session/claude/scripted"
)

// agent makes a script that plays these turns the claude of the world's PATH.
// before is shell that runs first.
func (w *world) agent(before string, turns ...scripted.Turn) {
	w.t.Helper()
	script, err := json.Marshal(scripted.Script{Turns: turns})
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(w.at("script.json"), string(script))
	w.claude(before + "\nexec '" + program + "' agent --script '" + w.at("script.json") + "' --log '" + w.at("model.jsonl") + "' \"$@\"\n")
}

// A told is one line of what the model was told.
type told struct {
	Kind    string `json:"kind"`
	Tool    string `json:"tool"`
	IsError bool   `json:"isError"`
	Text    string `json:"text"`
}

// model is what the model was told so far.
func (w *world) model() []told {
	w.t.Helper()
	data, err := os.ReadFile(w.at("model.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		w.t.Fatal(err)
	}
	var all []told
	for line := range strings.Lines(string(data)) {
		var l told
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			continue // the agent was killed in the middle of it
		}
		all = append(all, l)
	}
	return all
}

func turn(steps ...scripted.Step) scripted.Turn { return scripted.Turn{Steps: steps} }

func call(tool string, input map[string]any) *scripted.Call {
	raw, err := json.Marshal(input, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return &scripted.Call{Tool: tool, Input: jsontext.Value(raw)}
}

func writeCall(path, text string) *scripted.Call {
	return call("Write", map[string]any{"file_path": "${DIR}/" + path, "content": text})
}

func editCall(path, from, to string) *scripted.Call {
	return call("Edit", map[string]any{"file_path": "${DIR}/" + path, "old_string": from, "new_string": to})
}

func bashCall(command string) *scripted.Call {
	return call("Bash", map[string]any{"command": command, "description": "a command"})
}

func ask(c *scripted.Call) scripted.Step { return scripted.Step{Call: c} }

// open asks and goes on at once.
func open(name string, c *scripted.Call) scripted.Step {
	c.Name = name
	return scripted.Step{Open: c}
}
