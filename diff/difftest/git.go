package difftest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// Git writes the pair to files in dir and gives a function that compares them
// with git as a process: no context, and none of the user's configuration.
func Git(dir string, p Pair, args ...string) (run func() ([]byte, error), err error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"a": p.A, "b": p.B} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	env := append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CEILING_DIRECTORIES="+dir)
	return func() ([]byte, error) {
		cmd := exec.Command("git", append(append([]string{"diff", "--no-index", "-U0"}, args...), "a", "b")...)
		cmd.Dir, cmd.Env = dir, env
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == 1 {
			err = nil // they differ
		}
		return out, err
	}, nil
}

// ScriptSize counts the lines that a unified diff adds and removes.
func ScriptSize(patch []byte) int {
	n := 0
	_, body, _ := bytes.Cut(patch, []byte("\n@@"))
	for line := range bytes.Lines(body) {
		if line[0] == '+' || line[0] == '-' {
			n++
		}
	}
	return n
}
