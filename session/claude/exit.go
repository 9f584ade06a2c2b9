package claude

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"countersign/session"
)

// tailSize is how much of the end of stderr is kept, in bytes.
const tailSize = 8 << 10

// A tail keeps the end of what was written to it.
type tail struct {
	mu sync.Mutex
	// guarded by mu:
	kept []byte
	cut  bool
}

func (t *tail) readFrom(r io.Reader) {
	buf := make([]byte, 4<<10)
	for {
		n, err := r.Read(buf)
		t.mu.Lock()
		t.kept = append(t.kept, buf[:n]...)
		if over := len(t.kept) - tailSize; over > 0 {
			t.kept = append(t.kept[:0], t.kept[over:]...)
			t.cut = true
		}
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// String is the kept text, beginning with a whole line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := string(t.kept)
	if t.cut {
		if i := strings.IndexByte(s, '\n'); i >= 0 {
			s = s[i+1:]
		}
	}
	return strings.ToValidUTF8(strings.TrimSpace(s), "\uFFFD")
}

// lastLines is the end of s: at most n lines.
func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// lookPath finds the command as the front end's shell would: in the PATH of the
// session's environment, not in that of whichever process started the hub.
func lookPath(name, dir string, env []string) (string, error) {
	if runtime.GOOS == "windows" {
		return exec.LookPath(name)
	}
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	err := fs.ErrNotExist
	for _, folder := range filepath.SplitList(lookup(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			continue // a name in the workspace is not a command
		}
		path := filepath.Join(folder, name)
		switch found := executable(path); {
		case found == nil:
			return path, nil
		case errors.Is(found, fs.ErrPermission):
			err = found
		}
	}
	return "", err
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return &fs.PathError{Op: "run", Path: path, Err: syscall.EISDIR}
	case info.Mode()&0o111 == 0:
		return &fs.PathError{Op: "run", Path: path, Err: fs.ErrPermission}
	}
	return nil
}

// lookup is the value that a process with env sees for name.
func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// explainStart says, for the person, why the agent's process could not start.
// path is where the command was found, "" where it was not.
func explainStart(name, path, dir string, env []string, err error) error {
	if info, bad := os.Stat(dir); dir != "" && (bad != nil || !info.IsDir()) {
		return fmt.Errorf("the agent cannot be started in %s: that is no folder any more: %w", dir, err)
	}
	const hint = "the setting agent.command names the agent"
	switch {
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the agent %q cannot be run: the file is not executable; %s: %w", name, hint, err)
	case errors.Is(err, syscall.EISDIR):
		return fmt.Errorf("the agent %q is a folder, not a command; %s", name, hint)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("the agent %q is not a program for this machine; %s: %w", name, hint, err)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		if path != "" {
			if _, bad := os.Stat(path); bad == nil {
				return fmt.Errorf("the agent %q is there (%s) but cannot be run: the interpreter that its first line names is missing: %w", name, path, err)
			}
		}
		if strings.ContainsRune(name, filepath.Separator) {
			return fmt.Errorf("the agent %q was not found; %s: %w", name, hint, err)
		}
		return fmt.Errorf("the agent %q was not found in PATH (%s): install it, or give its full path in the setting agent.command: %w", name, lookup(env, "PATH"), err)
	}
	return fmt.Errorf("the agent %q cannot be started: %w", name, err)
}

// explainComplaint recognises what the CLI says when it cannot work at all, in
// the texts seen on 2.1.332. It is empty for everything else.
func explainComplaint(said, command string) string {
	switch {
	case strings.Contains(said, "Not logged in"):
		return fmt.Sprintf("the agent is not logged in: run %q in a terminal and log in with /login, or give it a key in the setting agent.env (it says: %s)", command, said)
	case strings.Contains(said, "Invalid API key"), strings.Contains(said, "invalid x-api-key"), strings.Contains(said, "authentication_error"):
		return fmt.Sprintf("the agent's key was not accepted (it says: %s)", said)
	}
	return ""
}

// explainExit is the last event: what became of the process, and a sentence
// for the person.
func (a *agent) explainExit(err error) session.Exited {
	e := session.Exited{Stderr: a.tail.String(), Expected: a.closing.Load()}
	var status *exec.ExitError
	switch {
	case err == nil:
		e.Expected = true
	case errors.As(err, &status):
		e.Code = status.ExitCode()
		e.Signal = exitSignal(status)
	default:
		e.Code = -1
	}
	complaint := ""
	if c := a.complaint.Load(); c != nil {
		complaint = *c
	}
	said := e.Stderr + "\n" + complaint
	switch {
	case e.Expected && a.closing.Load():
		e.Explanation = "the agent was ended"
	case strings.Contains(said, "No conversation found with session ID"):
		e.UnknownSession = true
		e.Explanation = fmt.Sprintf("the agent knows no session %s: its history was removed, or it belongs to another folder; start a new session", a.resume)
	case strings.Contains(said, "--permission-mode") && strings.Contains(said, "is invalid"):
		e.RefusedMode = true
		e.Explanation = fmt.Sprintf("the agent does not take the mode %q (it says: %s)", a.mode, lastLines(e.Stderr, 1))
	case strings.Contains(said, "cannot be used with root"):
		e.RefusedMode = true
		e.Explanation = fmt.Sprintf("the agent does not run in mode %q as root; choose another mode, or run as another user", a.mode)
	case strings.Contains(said, "unknown option"):
		e.Explanation = fmt.Sprintf("the agent does not know one of its options; is %q a current Claude Code, and is the setting agent.args right? (it says: %s)", a.name, lastLines(e.Stderr, 1))
	case explainComplaint(said, a.name) != "":
		e.Explanation = explainComplaint(strings.TrimSpace(said), a.name)
	case e.Signal != "":
		e.Explanation = fmt.Sprintf("the agent was ended from outside by a signal (%s)%s", e.Signal, quoteStderr(e.Stderr))
	case e.Expected:
		e.Explanation = "the agent ended by itself" + quoteStderr(e.Stderr)
	case e.Code == -1:
		e.Explanation = fmt.Sprintf("the agent was lost: %v", err)
	default:
		e.Explanation = fmt.Sprintf("the agent failed with exit status %d%s", e.Code, quoteStderr(e.Stderr))
	}
	return e
}

func quoteStderr(s string) string {
	if s == "" {
		return ""
	}
	return "; its last words: " + lastLines(s, 5)
}
