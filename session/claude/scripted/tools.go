package scripted

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// fields are the inputs of all tools that are carried out.
type fields struct {
	FilePath   string `json:"file_path"`
	Content    string `json:"content"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
	Edits      []struct {
		OldString  string `json:"old_string"`
		NewString  string `json:"new_string"`
		ReplaceAll bool   `json:"replace_all"`
	} `json:"edits"`
	Command   string            `json:"command"`
	Plan      string            `json:"plan"`
	Questions []question        `json:"questions"`
	Answers   map[string]string `json:"answers"`
	Response  string            `json:"response"`
}

type question struct {
	Question string `json:"question"`
	Options  []struct {
		Label string `json:"label"`
	} `json:"options"`
	MultiSelect bool `json:"multiSelect"`
}

func read(v jsontext.Value) (f fields, err error) {
	err = json.Unmarshal(v, &f, jsontext.AllowInvalidUTF8(true))
	return f, err
}

// validate is what the CLI checks before it asks; "" when there is nothing to
// object to.
func (p *player) validate(tool string, input jsontext.Value) string {
	f, err := read(input)
	if err != nil {
		return "" // asked all the same: the host has to cope with it
	}
	switch tool {
	case "Edit":
		if f.OldString == f.NewString {
			return "No changes to make: old_string and new_string are exactly the same."
		}
		data, err := os.ReadFile(f.FilePath)
		if errors.Is(err, fs.ErrNotExist) && f.OldString != "" {
			return "File does not exist. Note: your current working directory is " + p.dir + "."
		}
		if err != nil {
			return ""
		}
		n := strings.Count(plain(data), f.OldString)
		switch {
		case f.OldString == "" && strings.TrimSpace(string(data)) != "":
			return "Cannot create new file - file already exists."
		case f.OldString != "" && n == 0:
			return "String to replace not found in file.\nString: " + f.OldString
		case f.OldString != "" && n > 1 && !f.ReplaceAll:
			return fmt.Sprintf("Found %d matches of the string to replace, but replace_all is false. To replace all occurrences, set replace_all to true. To replace only one occurrence, please provide more context to uniquely identify the instance.\nString: %s", n, f.OldString)
		}
	case "Write":
		if info, err := os.Lstat(f.FilePath); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "Refusing to write " + f.FilePath + ": it is a symbolic link."
		}
	}
	return ""
}

// returned carries a tool out and tells its result.
func (p *player) returned(c *Call, id, agent string, asked, input jsontext.Value, amended bool) error {
	if len(c.Runs) > 0 {
		input = c.Runs
	}
	text, failed := p.carryOut(c.Tool, asked, input, amended)
	if err := p.ran(c.Tool, id, input, failed); err != nil {
		return err
	}
	p.result(c, id, agent, text, failed, amended)
	return nil
}

// ran tells a host that wants to know it what a tool was run with, and waits
// for its leave to go on. Tools that read or write a file are not told of.
func (p *player) ran(tool, id string, input jsontext.Value, failed bool) error {
	p.mu.Lock()
	callback := p.callback
	p.mu.Unlock()
	switch tool {
	case "Read", "Edit", "Write", "MultiEdit", "NotebookEdit":
		return nil
	}
	if callback == "" {
		return nil
	}
	event := "PostToolUse"
	if failed {
		event = "PostToolUseFailure"
	}
	_, err := p.request(uuid(), "", object{
		"subtype": "hook_callback", "callback_id": callback, "tool_use_id": id,
		"input": object{"session_id": p.session, "cwd": p.dir, "hook_event_name": event, "tool_name": tool, "tool_input": input, "tool_use_id": id},
	}, nil)
	return err
}

// result writes a tool's result, and logs it as what the model reads.
func (p *player) result(c *Call, id, agent, text string, failed, amended bool) {
	block := object{"type": "tool_result", "tool_use_id": id, "content": text}
	if failed {
		block["is_error"] = true
	}
	line := object{
		"type": "user", "session_id": p.session, "uuid": uuid(), "parent_tool_use_id": nil,
		"message":         object{"role": "user", "content": []any{block}},
		"tool_use_result": object{"userModified": amended},
	}
	if agent != "" {
		line["agent_id"] = agent
	}
	p.tell(object{"kind": "tool_result", "tool": c.Tool, "id": id, "isError": failed, "text": text})
	p.write(line)
}

// carryOut does what an allowed call says, by the CLI's rules for plain cases.
func (p *player) carryOut(tool string, asked, input jsontext.Value, amended bool) (text string, failed bool) {
	f, err := read(input)
	if err != nil {
		return "The permission handler returned updatedInput for " + tool + " that failed schema validation", true
	}
	switch tool {
	case "Write":
		return p.writeFile(f, amended)
	case "Edit", "Update", "MultiEdit":
		return p.edit(tool, f, amended)
	case "Read":
		data, err := os.ReadFile(f.FilePath)
		if err != nil {
			return "<tool_use_error>File does not exist. Note: your current working directory is " + p.dir + ".</tool_use_error>", true
		}
		var out strings.Builder
		for i, line := range strings.Split(plain(data), "\n") {
			fmt.Fprintf(&out, "%d\t%s\n", i+1, line)
		}
		return strings.TrimSuffix(out.String(), "\n"), false
	case "Bash":
		return p.bash(f.Command)
	case "AskUserQuestion":
		return answers(f)
	case "ExitPlanMode":
		before, _ := read(asked)
		p.mu.Lock()
		mode := p.mode
		p.mu.Unlock()
		if mode == "plan" {
			p.setMode("default")
		}
		heading := "## Approved Plan:"
		if f.Plan != before.Plan {
			heading = "## Approved Plan (edited by user):"
		}
		return "User has approved your plan. You can now start coding. Start with updating your todo list if applicable\n\n" + heading + "\n" + f.Plan, false
	}
	return tool + " done", false
}

func (p *player) writeFile(f fields, amended bool) (string, bool) {
	if f.FilePath == "" {
		return "The permission handler returned updatedInput for Write that failed schema validation", true
	}
	_, err := os.Stat(f.FilePath)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err := put(f.FilePath, []byte(f.Content)); err != nil {
		return err.Error(), true
	}
	text := "The file " + f.FilePath + " has been updated successfully."
	if fresh {
		text = "File created successfully at: " + f.FilePath
	}
	if amended {
		text = strings.TrimSuffix(text, ".") + ". The user modified your proposed content before accepting it."
	}
	return text, false
}

func (p *player) edit(tool string, f fields, amended bool) (string, bool) {
	data, err := os.ReadFile(f.FilePath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err.Error(), true
	}
	edits := f.Edits
	if tool != "MultiEdit" {
		edits = edits[:0:0]
		edits = append(edits, struct {
			OldString  string `json:"old_string"`
			NewString  string `json:"new_string"`
			ReplaceAll bool   `json:"replace_all"`
		}{f.OldString, f.NewString, f.ReplaceAll})
	}
	text := plain(data)
	for _, e := range edits {
		changed, ok := replace(text, e.OldString, e.NewString, e.ReplaceAll)
		if !ok || changed == text {
			return "String not found in file. Failed to apply edit.", true
		}
		text = changed
	}
	if err := put(f.FilePath, likeBefore(data, text)); err != nil {
		return err.Error(), true
	}
	said := "The file " + f.FilePath + " has been updated successfully."
	switch {
	case f.ReplaceAll && tool == "Edit":
		said = "The file " + f.FilePath + " has been updated. All occurrences were successfully replaced."
	case amended:
		said += "  The user modified your proposed changes before accepting them. ."
	}
	return said, false
}

// replace is one edit on text with LF line ends. Deleting text takes the line
// end behind it along, unless the deleted text brings its own.
func replace(text, old, fresh string, all bool) (string, bool) {
	if old == "" {
		return fresh, strings.TrimSpace(text) == ""
	}
	if !strings.Contains(text, old) {
		return text, false
	}
	if fresh == "" && !strings.HasSuffix(old, "\n") && strings.Contains(text, old+"\n") {
		old += "\n"
	}
	n := 1
	if all {
		n = -1
	}
	return strings.Replace(text, old, fresh, n), true
}

const mark = "\ufeff" // byte order mark

// plain is a file's text as edits match it: without mark, with LF line ends.
func plain(data []byte) string {
	return strings.ReplaceAll(strings.TrimPrefix(string(data), mark), "\r\n", "\n")
}

// likeBefore gives an edited text the mark and the line ends that the file had
// for the most part.
func likeBefore(before []byte, text string) []byte {
	crlf := bytes.Count(before, []byte("\r\n"))
	if crlf > 0 && crlf >= bytes.Count(before, []byte("\n"))-crlf {
		text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	if strings.HasPrefix(string(before), mark) && !strings.HasPrefix(text, mark) {
		text = mark + text
	}
	return []byte(text)
}

// put writes a file, with its folders, keeping its mode bits.
func put(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// bash runs a command in the working directory.
func (p *player) bash(command string) (string, bool) {
	cmd := exec.CommandContext(p.ctx, "sh", "-c", command)
	cmd.Dir = p.dir
	out, err := cmd.CombinedOutput()
	text := strings.TrimRight(string(out), "\n")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return text, false
	case errors.As(err, &exit):
		return fmt.Sprintf("Exit code %d\n%s", exit.ExitCode(), text), true
	}
	return err.Error(), true
}

// answers tells the model what a person answered.
func answers(f fields) (string, bool) {
	if f.Response != "" {
		return "The user responded: " + f.Response, false
	}
	var said []string
	known := true
	for _, q := range f.Questions {
		a, ok := f.Answers[q.Question]
		if !ok {
			continue
		}
		said = append(said, fmt.Sprintf("%q=%q", q.Question, a))
		for _, part := range strings.Split(a, ", ") {
			found := false
			for _, o := range q.Options {
				found = found || o.Label == a || q.MultiSelect && o.Label == part
			}
			known = known && found
		}
	}
	switch {
	case len(said) == 0:
		return "The user did not answer the questions.", false
	case known:
		return "Your questions have been answered: " + strings.Join(said, ", ") + ". You can now continue with these answers in mind.", false
	}
	return "The user answered: " + strings.Join(said, ", ") + ". Read the answers carefully — they may request clarification, changes, or that you not proceed — and follow what they actually say.", false
}
