//go:build linux

package faults

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"countersign/approvals"
)

// nobody is a user who is not us.
const nobody = 65534

// root says whether files of others can be made here.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can make files that belong to another user")
	}
}

// socketOf starts a hub to learn where its socket lies, and ends it.
func (w *world) socketOf() string {
	w.t.Helper()
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	w.must("send", "go")
	path := w.status().Socket
	w.must("stop", "--hub")
	w.nothingRuns()
	return path
}

// The place of the socket is taken by what is no socket of ours: the person is
// told which file and what to do, nothing is said to whoever listens there, and
// the file stays as it is.
func TestSocketTaken(t *testing.T) {
	for _, c := range []struct {
		name  string
		take  func(t *testing.T, w *world, path string)
		words []string
	}{
		{"by another user's file", func(t *testing.T, w *world, path string) {
			asRoot(t)
			w.write(path, "mine\n")
			if err := os.Chown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}, []string{"belongs to another user (uid 65534", "XDG_RUNTIME_DIR"}},
		{"by another user's socket", func(t *testing.T, _ *world, path string) {
			asRoot(t)
			l, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			if err := os.Chown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}, []string{"belongs to another user (uid 65534", "XDG_RUNTIME_DIR"}},
		{"by a file", func(_ *testing.T, w *world, path string) { w.write(path, "mine\n") }, []string{"is not a socket", "XDG_RUNTIME_DIR"}},
		{"by a folder", func(_ *testing.T, w *world, path string) { w.folder(path) }, []string{"is not a socket", "XDG_RUNTIME_DIR"}},
		{"by a link", func(t *testing.T, w *world, path string) {
			if err := os.Symlink(w.path("b.txt"), path); err != nil {
				t.Fatal(err)
			}
		}, []string{"is not a socket", "XDG_RUNTIME_DIR"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			path := w.socketOf()
			c.take(t, w, path)
			words := append([]string{path}, c.words...)
			w.fails(1, words, "send", "go")
			e := w.edit(w.project, nil)
			err := e.do("send", object{"text": "go"}, nil)
			if err == nil || !strings.Contains(err.Error(), c.words[0]) {
				t.Errorf("the editor is told %v", err)
			}
			e.sees("Countersign cannot reach its hub", path, c.words[0])
			if _, err := os.Lstat(path); err != nil {
				t.Errorf("what took the place was removed: %v", err)
			}
			w.noLeave()
			// The way out that the message names works.
			w.env["XDG_RUNTIME_DIR"] = w.at("run2")
			w.folder(w.at("run2"))
			w.must("send", "go")
			w.awaitPending(1)
			w.undecided()
		})
	}
}

// A record that names another user's socket is not followed.
func TestRecordNamesAnotherUsersSocket(t *testing.T) {
	asRoot(t)
	w, e, a := asking(t)
	st := w.status()
	e.quits()
	w.kill(st.PID)
	w.nothingRuns()
	trap := w.at("trap.sock")
	l, err := net.Listen("unix", trap)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	heard := make(chan string, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			buf := make([]byte, 1000)
			n, _ := c.Read(buf)
			heard <- string(buf[:n])
			c.Close()
		}
	}()
	if err := os.Chown(trap, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(st.Storage, "hub.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	w.write(path, strings.ReplaceAll(string(data), st.Socket, trap))
	w.fails(1, []string{trap, "belongs to another user"}, "allow", a.ID)
	select {
	case text := <-heard:
		t.Errorf("somebody else was told %q", text)
	default:
	}
	w.write(path, string(data))
	w.noLeave()
}

// Where the socket's usual folder is no good, another is taken without a word.
func TestRuntimeFolderThatIsNoGood(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []option
		prepare func(t *testing.T, w *world)
	}{
		{"unset", []option{setting("XDG_RUNTIME_DIR", "")}, nil},
		{"relative", []option{setting("XDG_RUNTIME_DIR", "run")}, nil},
		{"missing", []option{setting("XDG_RUNTIME_DIR", "$WORLD/none")}, nil},
		{"a file", []option{setting("XDG_RUNTIME_DIR", "$WORLD/project/a.txt")}, nil},
		{"open to all", nil, func(t *testing.T, w *world) {
			if err := os.Chmod(w.at("run"), 0o777); err != nil {
				t.Fatal(err)
			}
		}},
		{"another user's", nil, func(t *testing.T, w *world) {
			asRoot(t)
			if err := os.Chown(w.at("run"), nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}},
		{"too long", []option{setting("XDG_RUNTIME_DIR", "$WORLD/"+strings.Repeat("r", 120))}, func(_ *testing.T, w *world) {
			w.folder(w.env["XDG_RUNTIME_DIR"])
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.options...)
			if c.prepare != nil {
				c.prepare(t, w)
			}
			w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
			w.must("send", "go")
			w.awaitPending(1)
			socket := w.status().Socket
			if strings.HasPrefix(socket, w.at("run")+"/") || len(socket) > 108 {
				t.Errorf("the socket is %s", socket)
			}
			fi, err := os.Stat(filepath.Dir(socket))
			if err != nil || fi.Mode().Perm()&0o077 != 0 {
				t.Errorf("others can look into the socket's folder: %v, %v", fi.Mode(), err)
			}
			w.undecided()
			w.noLeave()
		})
	}
}

// The state folder cannot be had: which one and why is said, in the terminal
// and in the editor, and the editor itself is not disturbed.
func TestStateFolderThatIsNoGood(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []option
		prepare func(t *testing.T, w *world)
		words   []string
	}{
		{"not writable", []option{unprivileged}, func(t *testing.T, w *world) {
			if err := os.Chmod(w.at("state"), 0o500); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(w.at("state"), 0o700) })
		}, []string{"$WORLD/state", "permission denied"}},
		{"not searchable", []option{unprivileged}, func(t *testing.T, w *world) {
			if err := os.Chmod(w.at("state"), 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(w.at("state"), 0o700) })
		}, []string{"$WORLD/state", "permission denied"}},
		{"a file", []option{setting("XDG_STATE_HOME", "$WORLD/project/a.txt")}, nil, []string{"$WORLD/project/a.txt", "not a directory"}},
		{"no home", []option{setting("XDG_STATE_HOME", ""), setting("HOME", "")}, nil, []string{"no place for state", "HOME"}},
		{"a relative home", []option{setting("XDG_STATE_HOME", ""), setting("HOME", "home")}, nil, []string{"no place for state", `"home" is not an absolute path`}},
		{"a link", nil, func(t *testing.T, w *world) {
			w.moveState(t, func(dir string) error { return os.Symlink(w.at("elsewhere"), dir) })
		}, []string{"state/countersign/", "not a folder"}},
		{"another user's", nil, func(t *testing.T, w *world) {
			asRoot(t)
			w.moveState(t, func(dir string) error {
				if err := os.Mkdir(dir, 0o700); err != nil {
					return err
				}
				return os.Chown(dir, nobody, nobody)
			})
		}, []string{"state/countersign/", "belongs to another user"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.options...)
			w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
			if c.prepare != nil {
				c.prepare(t, w)
			}
			var words []string
			for _, word := range c.words {
				words = append(words, strings.ReplaceAll(word, "$WORLD", w.dir))
			}
			w.fails(1, words, "send", "go")
			e := w.edit(w.project, nil)
			err := e.do("send", object{"text": "go"}, nil)
			if err == nil || !strings.Contains(err.Error(), words[1]) {
				t.Errorf("the editor is told %v", err)
			}
			e.sees(append([]string{"Countersign cannot reach its hub"}, words...)...)
			if code := e.quits(); code != 0 {
				t.Errorf("the server ended with %d", code)
			}
			w.noLeave()
		})
	}
}

// moveState puts something else in the place of the workspace's state folder.
func (w *world) moveState(t *testing.T, put func(dir string) error) {
	t.Helper()
	w.must("send", "go")
	dir := w.status().Storage
	w.must("stop", "--hub")
	w.nothingRuns()
	if err := os.Rename(dir, w.at("elsewhere")); err != nil {
		t.Fatal(err)
	}
	if err := put(dir); err != nil {
		t.Fatal(err)
	}
}

// Everything is too long for a socket: the person is told what to set.
func TestNoPlaceForTheSocketIsShortEnough(t *testing.T) {
	long := strings.Repeat("l", 110)
	w := newWorld(t, setting("XDG_RUNTIME_DIR", ""), setting("XDG_STATE_HOME", "$WORLD/"+long), setting("TMPDIR", "$WORLD/t"+long))
	w.folder(w.env["TMPDIR"])
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	w.fails(1, []string{"no place for the socket is short enough", "set XDG_RUNTIME_DIR"}, "send", "go")
	w.env["XDG_RUNTIME_DIR"] = w.at("run")
	w.must("send", "go")
	w.awaitPending(1)
	w.noLeave()
}

// A whole round in workspaces with names that trip programs: asked, opened,
// amended, saved, verified, and found again from within by the command line.
func TestOddWorkspaces(t *testing.T) {
	deep := strings.Repeat("/"+strings.Repeat("d", 200), 12)
	for name, path := range map[string]string{
		"blank": "a b", "percent": "100%41", "hash": "c#d", "question": "what?", "brackets": "[x]{y}", "dollar": "$HOME", "quotes": `it's "q"`,
		"ampersand": "a&b;c|d", "plus": "c++", "colon": "c:drive", "CJK": "日本語プロジェクト", "emoji": "🦀", "decomposed": "e\u0301te\u0301", "backslash": `back\slash`,
		"dash": "-rf", "dots": "..x..", "newline": "two\nlines", "long": strings.Repeat("w", 255), "deep": "deep" + deep, "CJK long": strings.Repeat("長", 85),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, projectAt("p/"+path))
			w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
			e := w.edit(w.project, nil)
			e.opens(w.path("a.txt"))
			e.send("go")
			a := w.awaitPending(1)[0]
			e.marks(w.path("a.txt"), "The agent asks")
			if s := e.opens(a.Staged.Path); s != "one\n2\nthree\n" {
				t.Errorf("the proposal is %q", s)
			}
			w.saveUntilDecided(e, a.Staged.Path, "one\nmine\nthree\n")
			w.recorded("the change as verified", func(r approvals.Record) bool { return r.ID == a.ID && r.Outcome.State == approvals.OutcomeVerified })
			w.want["a.txt"] = "one\nmine\nthree\n"
			w.noLeave("Edit")
		})
	}
}

// saveUntilDecided saves a staged document as a person does who was told that a
// save came too soon.
func (w *world) saveUntilDecided(e *editor, path, text string) {
	w.t.Helper()
	saves := 0
	w.eventually("a save is taken", func() (bool, string) {
		if n := len(w.pending()); n == 0 {
			return true, ""
		}
		saves++
		e.saves(path, text)
		return false, fmt.Sprint(e.said())
	})
}

// A workspace that is reached through a link is the same workspace: one hub, and
// the editor's own names of the files are understood.
func TestWorkspaceThroughALink(t *testing.T) {
	w := newWorld(t)
	link := w.at("link")
	if err := os.Symlink(w.project, link); err != nil {
		t.Fatal(err)
	}
	w.agent("", turn(ask(editCall("a.txt", "two", "2"))))
	e := w.edit(link, nil)
	e.opens(filepath.Join(link, "a.txt"))
	e.send("go")
	a := w.awaitPending(1)[0]
	if root := w.status().Root; root != w.project {
		t.Errorf("the hub's root is %s", root)
	}
	if s := w.must("pending", "--root", link); !strings.Contains(s, a.ID) {
		t.Errorf("by way of the link is pending: %s", s)
	}
	e.marks(filepath.Join(link, "a.txt"), "The agent asks")
	titles := e.actions(filepath.Join(link, "a.txt"))
	if !strings.Contains(strings.Join(titles, "\n"), "llow") {
		t.Errorf("the actions on the file under its other name are %q", titles)
	}
	w.must("deny", a.ID)
	w.noLeave()
}

// A workspace that is removed, or replaced by another one of that name, takes
// nothing with it.
func TestWorkspaceRemoved(t *testing.T) {
	w, e, a := asking(t)
	if err := os.Rename(w.project, w.at("moved")); err != nil {
		t.Fatal(err)
	}
	err := e.do("allow", object{"id": a.ID}, nil)
	if err == nil || !strings.Contains(err.Error(), "a.txt") {
		t.Errorf("allowing a change of a file that is gone: %v", err)
	}
	t.Logf("told: %v", err)
	if err := os.Rename(w.at("moved"), w.project); err != nil {
		t.Fatal(err)
	}
	w.noLeave()
}
