package approvals

import (
	"strings"
	"unicode/utf8"
)

// A commandDocument is a shell command for review. Its text is the command and
// nothing else, so that the whole of it is what runs.
type commandDocument struct {
	input   *inputObject
	command string
}

const commandName = "command.sh"

// newCommand takes a Bash request's input.
func newCommand(req Request) (*commandDocument, []Note, error) {
	in, err := takeApart(own(req.Input))
	if err != nil {
		return nil, nil, err
	}
	command, err := in.text("command")
	if err != nil {
		return nil, nil, err
	}
	d := &commandDocument{input: in, command: command}
	var notes []Note
	if v := in.get("dangerouslyDisableSandbox"); v != nil && v.Kind() != 'f' {
		notes = append(notes, Note{Text: "It asks to run outside the sandbox.", Warning: true})
	}
	if v := in.get("run_in_background"); v != nil && v.Kind() != 'f' {
		notes = append(notes, Note{Text: "It runs in the background."})
	}
	return d, notes, nil
}

// Basename makes editors see a shell script.
func (d *commandDocument) Basename() string { return commandName }

// Text is the command as a file of lines: editors end the last line anyway, so
// it is staged ended, and Amend takes that newline back.
func (d *commandDocument) Text() string { return endLine(d.command) }

// Original is empty: nothing was there before.
func (d *commandDocument) Original() string { return "" }

// Amend replaces the command in the input.
func (d *commandDocument) Amend(text string) (Amendment, error) {
	if err := plainText(text); err != nil {
		return Amendment{}, err
	}
	command := unendLine(d.command, text)
	switch {
	case command == d.command:
		return Amendment{Input: d.input.raw}, nil
	case strings.TrimSpace(command) == "":
		return Amendment{}, &DocumentError{Line: 1, Reason: "the command is empty: deny it instead"}
	}
	input, err := d.input.splice(TextField("command", command))
	if err != nil {
		return Amendment{}, err
	}
	return Amendment{Input: input, Amended: true, Notes: hiddenNotes(command, d.command, CommandText)}, nil
}

// endLine ends the last line of a text that is staged.
func endLine(s string) string {
	if strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// unendLine is the way back: the newline that endLine added goes. It may be
// gone already, where the text did not come through an editor.
func unendLine(was, text string) string {
	if strings.HasSuffix(was, "\n") {
		return text
	}
	if t, ok := strings.CutSuffix(text, "\r\n"); ok && !strings.Contains(t, "\n") {
		return t
	}
	return strings.TrimSuffix(text, "\n")
}

// plainText refuses what no input can carry.
func plainText(text string) error {
	if i := strings.IndexByte(text, 0); i >= 0 {
		return at(text, i, "the text holds a NUL character")
	}
	if utf8.ValidString(text) {
		return nil
	}
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\xef\xbf\xbd") {
			return at(text, i, "the text is not valid UTF-8")
		}
	}
	return nil
}
