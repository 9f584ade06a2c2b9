// Package scripted is a stand-in for the Claude Code CLI: it speaks the same
// lines over stdin and stdout, follows a script instead of a model, and really
// carries out what it is allowed to do. The demonstration and the tests run it
// where no account and no model are at hand.
//
// It knows nothing of the rest of Countersign, so that it cannot agree with it
// by accident. Goroutines: Run reads its input on one, which ends with the
// input; each open request waits on its own, bounded by Run's context. Texts
// are UTF-8.
package scripted

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Script is what the stand-in does. Each prompt plays the next turn; when all
// are played, a prompt gets a closing word.
type Script struct {
	Session string `json:"session,omitzero"` // session id; made up when empty
	Version string `json:"version,omitzero"`
	Model   string `json:"model,omitzero"`
	Mode    string `json:"mode,omitzero"` // in the CLI's words; "default" when empty
	Turns   []Turn `json:"turns"`

	Log    io.Writer `json:"-"` // gets, as JSON lines, everything that the model would read
	Stderr io.Writer `json:"-"`
}

// A Turn is what follows one prompt.
type Turn struct {
	Steps []Step `json:"steps"`
}

// A Step is one act. Exactly one field is set. In strings "${DIR}" stands for
// the working directory.
type Step struct {
	Say        string  `json:"say,omitzero"`        // text of the assistant
	Call       *Call   `json:"call,omitzero"`       // one tool: ask, wait, carry out, tell the result
	Parallel   []*Call `json:"parallel,omitzero"`   // asked at the same time; goes on when all are done
	Open       *Call   `json:"open,omitzero"`       // like Call, but goes on at once
	Await      string  `json:"await,omitzero"`      // waits for the open call of that name; "*" for all
	Cancel     string  `json:"cancel,omitzero"`     // withdraws the open call of that name
	Background *Call   `json:"background,omitzero"` // a subagent: its call is asked after the turn's result
	Flood      *Flood  `json:"flood,omitzero"`      // many calls asked at the same time
	Mode       string  `json:"mode,omitzero"`       // changes its mode by itself
	Denied     string  `json:"denied,omitzero"`     // tells that this tool was denied without asking
	Inform     string  `json:"inform,omitzero"`     // an informational line
	Delay      string  `json:"delay,omitzero"`      // a Go duration
	Raw        string  `json:"raw,omitzero"`        // writes this as a line of its own, whatever it is
	Partial    string  `json:"partial,omitzero"`    // writes this without an end of line
	Stderr     string  `json:"stderr,omitzero"`     // writes this line to stderr
	Exit       *int    `json:"exit,omitzero"`       // ends at once with this status, without a result
}

// A Call is the use of a tool.
type Call struct {
	Tool        string           `json:"tool"`
	Input       jsontext.Value   `json:"input"`
	Name        string           `json:"name,omitzero"`        // for Await and Cancel
	Description string           `json:"description,omitzero"` // shown with the request
	Agent       string           `json:"agent,omitzero"`       // the subagent that calls, by its name
	Suggestions []jsontext.Value `json:"suggestions,omitzero"` // permission_suggestions; a usual one when absent
	RequestID   string           `json:"requestId,omitzero"`   // made up when empty
	Bytes       int              `json:"bytes,omitzero"`       // Write: fill content up to this size
	Runs        jsontext.Value   `json:"runs,omitzero"`        // runs this instead of what was allowed, as a hook might make it do
}

// A Flood asks for a file each, all at the same time.
type Flood struct {
	Count int    `json:"count"`
	Path  string `json:"path"` // "%d" is the number
	Text  string `json:"text"`
}

// Parse reads a script. An unknown name in it is an error.
func Parse(data []byte) (Script, error) {
	var s Script
	if err := json.Unmarshal(data, &s, json.RejectUnknownMembers(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return Script{}, fmt.Errorf("the script cannot be read: %w", err)
	}
	for i, t := range s.Turns {
		for j, step := range t.Steps {
			if step.Delay == "" {
				continue
			}
			if _, err := time.ParseDuration(step.Delay); err != nil {
				return Script{}, fmt.Errorf("turn %d, step %d of the script: %w", i+1, j+1, err)
			}
		}
	}
	return s, nil
}

// Load reads a script from a file.
func Load(path string) (Script, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Script{}, err
	}
	s, err := Parse(data)
	if err != nil {
		return Script{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

//go:embed demo.json
var demo []byte

// DemoFiles are the files of the scratch project that Demo works on.
func DemoFiles() map[string]string {
	return map[string]string{
		"greet.go": "package main\n\nimport \"fmt\"\n\n// greet says hello.\nfunc greet(name string) string {\n\treturn \"Hello, \" + name\n}\n\nfunc main() {\n\tfmt.Println(greet(\"world\"))\n}\n",
		"notes.md": "# Notes\n\nKeep this file as it is.\n",
	}
}

// Demo is the script of the demonstration: it edits greet.go, wants to rewrite
// notes.md, and runs a command.
func Demo() Script {
	s, err := Parse(demo)
	if err != nil {
		panic(err) // embedded
	}
	return s
}

// An ExitError is the way the stand-in ended, when it was not by itself.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// ExitCode is the status of a process that Run ended with err.
func ExitCode(err error) int {
	var exit *ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.Code
	}
	return 1
}

// Main is the stand-in as a command: it takes the CLI's arguments, of which it
// heeds the mode and the session, and its own --script FILE ("demo" is the
// demonstration's, and the default) and --log FILE. It returns the exit status.
func Main(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	script := Demo()
	var logPath string
	var mode, resume string
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		next := func() string {
			if joined {
				return value
			}
			if i+1 < len(args) {
				i++
				return args[i]
			}
			return ""
		}
		switch name {
		case "--script":
			file := next()
			if file == "demo" {
				continue
			}
			loaded, err := Load(file)
			if err != nil {
				fmt.Fprintln(stderr, "error:", err)
				return 1
			}
			script = loaded
		case "--log":
			logPath = next()
		case "--permission-mode":
			mode = next()
			if !knownMode(mode) {
				fmt.Fprintf(stderr, "error: option '--permission-mode <mode>' argument '%s' is invalid. Allowed choices are acceptEdits, auto, bypassPermissions, manual, dontAsk, plan.\n", mode)
				return 1
			}
		case "--resume":
			resume = next()
		case "--input-format", "--output-format", "--permission-prompt-tool", "--model":
			next()
		case "--version":
			fmt.Fprintln(stdout, script.version())
			return 0
		}
	}
	if mode != "" {
		script.Mode = mode
	}
	if resume != "" {
		script.Session = resume
	}
	script.Stderr = stderr
	if logPath != "" {
		log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			fmt.Fprintln(stderr, "error:", err)
			return 1
		}
		defer log.Close()
		script.Log = log
	}
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return 1
	}
	return ExitCode(Run(ctx, stdin, stdout, script, dir))
}

func (s *Script) version() string {
	if s.Version == "" {
		return "scripted"
	}
	return s.Version
}

func knownMode(m string) bool {
	switch m {
	case "acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan", "default":
		return true
	}
	return false
}
