//go:build linux

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/e2e/mockmodel"
)

// Everything that a person decides in an editor can be decided from a shell
// too, with no editor anywhere. Such worlds are quick, so most of what concerns
// the agent and not the editors is shown in them.

// inShell runs a scenario in a world without an editor.
func inShell(t *testing.T, scenario func(t *testing.T, w *world), options ...option) {
	t.Helper()
	needAgent(t)
	t.Parallel()
	scenario(t, newWorld(t, part{}, options...))
}

// must runs a command of countersign that has to succeed.
func (w *world) must(args ...string) string {
	w.t.Helper()
	out, err := w.command(args...)
	if err != nil {
		w.t.Fatalf("countersign %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return out
}

// Exit codes of the command line, as its help has them.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
)

// refuses runs a command of countersign that has to fail with that exit code,
// and to say those words.
func (w *world) refuses(code int, words string, args ...string) {
	w.t.Helper()
	out, err := w.command(args...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != code || !strings.Contains(out, words) {
		w.t.Errorf("countersign %s: %v, want exit status %d and %q: %s", strings.Join(args, " "), err, code, words, out)
	}
}

// play sets what the model does, one turn after the other, and then ends its turn.
func (w *world) play(turns ...mockmodel.Turn) {
	w.model.Play(mockmodel.Script{Turns: turns})
}

// next waits until exactly one approval waits, of that tool, and returns it.
func (w *world) next(tool string) (a approval) {
	w.t.Helper()
	eventually(w.t, "one approval waits, of "+tool, func() (bool, string) {
		list, seen := w.pending()
		if len(list) == 1 {
			a = list[0]
		}
		return a.Tool == tool, seen
	})
	return a
}

// detail is what countersign show tells of an approval, as far as tests look.
type detail struct {
	Approval struct {
		State   string `json:"state"`
		Reason  string `json:"reason"`
		Amended bool   `json:"amended"`
		Choices []struct {
			Destination string `json:"destination"`
			Words       string `json:"words"`
			Own         bool   `json:"suggested"`
		} `json:"choices"`
		Outcome struct {
			State string `json:"state"`
		} `json:"outcome"`
	} `json:"approval"`
	Input jsontext.Value `json:"input"`
	Diff  string         `json:"diff"`
}

func (w *world) show(id string) (d detail) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.must("show", "--json", id)), &d); err != nil {
		w.t.Fatal(err)
	}
	return d
}

// amend changes the staged document of an approval, as an editor's save would:
// pairs of what stands there, once or more, and what is to stand there instead.
func (w *world) amend(a approval, pairs ...string) {
	w.t.Helper()
	data, err := os.ReadFile(a.staged())
	if err != nil {
		w.t.Fatal(err)
	}
	text := string(data)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			w.t.Fatalf("%s has no %q:\n%s", a.staged(), pairs[i], text)
		}
		text = strings.Replace(text, pairs[i], pairs[i+1], 1)
	}
	w.write(a.staged(), text)
}

// reads waits for what the model is told of the only call of a turn, and checks
// that it reads those words, as an error or not.
func (w *world) reads(turn int, isError bool, words ...string) string {
	w.t.Helper()
	b := w.told(mockmodel.CallID("", turn, 0))
	for _, want := range words {
		if !strings.Contains(b.Text, want) {
			w.t.Errorf("of turn %d the model was told %q, want %q", turn, b.Text, want)
		}
	}
	if b.IsError != isError {
		w.t.Errorf("of turn %d the model was told (error %v, want %v): %q", turn, b.IsError, isError, b.Text)
	}
	return b.Text
}

// still checks that an approval waits, and that nothing came of what was tried.
func (w *world) still(id string) {
	w.t.Helper()
	list, seen := w.pending()
	for _, a := range list {
		if a.ID == id && a.State == "pending" {
			return
		}
	}
	w.t.Errorf("%s no longer waits: %s", id, seen)
}

// waitsFor checks that an approval waits for longer than a close has grace.
func (w *world) waitsFor(a approval) {
	w.t.Helper()
	remains(w.t, a.Title+" waits", 3*closeGrace, func() (bool, string) {
		list, seen := w.pending()
		return len(list) == 1 && list[0].ID == a.ID, seen
	})
}

// A sessionInfo is one session of countersign status.
type sessionInfo struct {
	Name     string `json:"name"`
	ID       string `json:"id"`
	State    string `json:"state"`
	Mode     string `json:"mode"`
	NextMode string `json:"nextMode"`
	Error    string `json:"error"`
	Turns    int    `json:"turns"`
}

// session is the current one.
func (w *world) session() (s sessionInfo, seen string) {
	out, err := w.command("status", "--json")
	var st struct {
		Session sessionInfo `json:"session"`
	}
	if err == nil {
		err = json.Unmarshal([]byte(out), &st)
	}
	if err != nil {
		return s, out + err.Error()
	}
	return st.Session, out
}

// awaitSession waits until the current session is so.
func (w *world) awaitSession(what string, condition func(sessionInfo) bool) (s sessionInfo) {
	w.t.Helper()
	eventually(w.t, "the session "+what, func() (bool, string) {
		var seen string
		s, seen = w.session()
		return condition(s), seen
	})
	return s
}

func (w *world) awaitMode(mode string) {
	w.t.Helper()
	w.awaitSession("is in mode "+mode, func(s sessionInfo) bool { return s.Mode == mode })
}

// awaitIdle waits until that many turns have ended and none runs.
func (w *world) awaitIdle(turns int) {
	w.t.Helper()
	w.awaitSession("has ended its turns and waits", func(s sessionInfo) bool { return s.State == "idle" && s.Turns >= turns })
}

// edit is a turn that replaces a word in a file.
func (w *world) edit(file, from, to string) mockmodel.Turn {
	return mockmodel.Use("Edit", object{"file_path": w.path(file), "old_string": from, "new_string": to})
}

// bash is a turn that runs a command.
func bash(command string) mockmodel.Turn {
	return mockmodel.Use("Bash", object{"command": command, "description": "do it"})
}
