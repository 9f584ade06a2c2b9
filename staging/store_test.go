package staging

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "state", "ws-1"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func stage(t *testing.T, s *Store, id, name, content string) Staged {
	t.Helper()
	st, err := s.Stage(id, name, content)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// mustFail says that err names the path and contains the words.
func mustFail(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func unixOnly(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("permission bits and symlinks of unix")
	}
}

func TestStageAndLook(t *testing.T) {
	s := open(t)
	st := stage(t, s, "a-1", "index.js", "one\ntwo\n")
	if want := filepath.Join(s.Dir(), "proposed", "a-1", "index.js"); st.Path != want {
		t.Fatalf("path %s, want %s", st.Path, want)
	}
	if runtime.GOOS != "windows" {
		for path, want := range map[string]fs.FileMode{s.Dir(): 0o700, filepath.Join(s.Dir(), "proposed"): 0o700, filepath.Dir(st.Path): 0o700, st.Path: 0o600} {
			if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
				t.Errorf("%s has mode %v, want %v (%v)", path, fi.Mode().Perm(), want, err)
			}
		}
	}
	f, err := Look(st, 0)
	if err != nil || f.Text != "one\ntwo\n" || f.Written || f.Print != st.Print {
		t.Fatalf("%+v, %v", f, err)
	}
	if left, _ := os.ReadDir(filepath.Dir(st.Path)); len(left) != 1 {
		t.Errorf("something was left beside the document: %v", left)
	}
}

func TestLookSeesWrites(t *testing.T) {
	for name, write := range map[string]func(path string) error{
		"in place, other text": func(p string) error { return os.WriteFile(p, []byte("three\n"), 0o600) },
		"by rename, same text": func(p string) error {
			if err := os.WriteFile(p+"~", []byte("one\n"), 0o600); err != nil {
				return err
			}
			return os.Rename(p+"~", p)
		},
		"old one moved to a backup": func(p string) error {
			if err := os.Rename(p, p+"~"); err != nil {
				return err
			}
			return os.WriteFile(p, []byte("one\n"), 0o644)
		},
		"backup is a hard link": func(p string) error {
			if err := os.Link(p, p+"~"); err != nil {
				return err
			}
			return os.WriteFile(p, []byte("x\n"), 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			st := stage(t, s, "a-1", "a.txt", "one\n")
			if err := write(st.Path); err != nil {
				t.Fatal(err)
			}
			want, _ := os.ReadFile(st.Path)
			f, err := Look(st, 0)
			if err != nil || !f.Written || f.Text != string(want) {
				t.Fatalf("%+v, %v", f, err)
			}
			// Seen from the new print, nothing was written.
			st.Print = f.Print
			if f, err = Look(st, 0); err != nil || f.Written {
				t.Fatalf("%+v, %v", f, err)
			}
		})
	}
}

func TestLookRefuses(t *testing.T) {
	unixOnly(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		attack func(t *testing.T, path string)
		max    int64
		words  []string
	}{
		"gone": {func(t *testing.T, p string) { os.Remove(p) }, 0, []string{"no such file"}},
		"symlink": {func(t *testing.T, p string) {
			os.Remove(p)
			os.Symlink(secret, p)
		}, 0, []string{"symlink"}},
		"symlink inside": {func(t *testing.T, p string) {
			os.Rename(p, p+"2")
			os.Symlink(filepath.Base(p)+"2", p)
		}, 0, []string{"symlink"}},
		"directory": {func(t *testing.T, p string) { os.Remove(p); os.Mkdir(p, 0o700) }, 0, []string{"not a regular file"}},
		"folder is a symlink": {func(t *testing.T, p string) {
			dir := filepath.Dir(p)
			os.Rename(dir, dir+"2")
			os.Symlink(dir+"2", dir)
		}, 0, []string{"symlink"}},
		"proposed is a symlink": {func(t *testing.T, p string) {
			dir := filepath.Dir(filepath.Dir(p))
			os.Rename(dir, dir+"2")
			os.Symlink(dir+"2", dir)
		}, 0, []string{"symlink"}},
		"folder may be written by others": {func(t *testing.T, p string) { os.Chmod(filepath.Dir(p), 0o777) }, 0, []string{"other users"}},
		"too large":                       {func(t *testing.T, p string) {}, 3, []string{"4 bytes", "3 allowed"}},
		"another user's": {func(t *testing.T, p string) {
			if os.Geteuid() != 0 {
				t.Skip("needs root")
			}
			os.Chown(p, 12345, 12345)
		}, 0, []string{"another user"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			st := stage(t, s, "a-1", "a.txt", "one\n")
			c.attack(t, st.Path)
			_, err := Look(st, c.max)
			mustFail(t, err, append(c.words, st.Path)...)
			if name == "gone" && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%v is no fs.ErrNotExist", err)
			}
		})
	}
	for _, p := range []string{"", "a", "/etc/passwd", "/x/proposed/../etc/passwd", filepath.Join(t.TempDir(), "other", "a-1", "x")} {
		if _, err := Look(Staged{ID: "a-1", Path: p}, 0); err == nil {
			t.Errorf("Look(%q) did not fail", p)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	unixOnly(t)
	for name, c := range map[string]struct {
		make  func(t *testing.T, dir string)
		words []string
	}{
		"symlink": {func(t *testing.T, dir string) { os.Symlink(t.TempDir(), dir) }, []string{"symlink"}},
		"file":    {func(t *testing.T, dir string) { os.WriteFile(dir, nil, 0o600) }, []string{"not a"}},
		"others may write": {func(t *testing.T, dir string) {
			os.Mkdir(dir, 0o700)
			os.Chmod(dir, 0o770)
		}, []string{"other users", "0770"}},
		"proposed is a symlink": {func(t *testing.T, dir string) {
			os.Mkdir(dir, 0o700)
			os.Symlink(t.TempDir(), filepath.Join(dir, "proposed"))
		}, []string{"symlink", "proposed"}},
		"parent open to all": {func(t *testing.T, dir string) { os.Chmod(filepath.Dir(dir), 0o777) }, []string{"everybody"}},
		"another user's": {func(t *testing.T, dir string) {
			if os.Geteuid() != 0 {
				t.Skip("needs root")
			}
			os.Mkdir(dir, 0o700)
			os.Chown(dir, 12345, 12345)
		}, []string{"another user", "12345"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ws")
			c.make(t, dir)
			_, err := Open(dir)
			mustFail(t, err, append(c.words, dir)...)
		})
	}
}

func TestOpenThroughLinkedParents(t *testing.T) {
	unixOnly(t)
	base := t.TempDir()
	os.Mkdir(filepath.Join(base, "real"), 0o700)
	os.Symlink("real", filepath.Join(base, "link"))
	s, err := Open(filepath.Join(base, "link", "ws"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if want := filepath.Join(base, "real", "ws"); s.Dir() != want {
		t.Fatalf("Dir %s, want %s", s.Dir(), want)
	}
	id := NewID("r-1")
	st := stage(t, s, id, "a.txt", "x")
	for _, p := range []string{st.Path, filepath.Join(base, "link", "ws", "proposed", id, "a.txt")} {
		storage, got, ok := Locate(p)
		if !ok || got != id || storage != s.Dir() {
			t.Errorf("Locate(%s) = %s, %s, %v", p, storage, got, ok)
		}
	}
	os.Symlink(filepath.Join(s.Dir(), "proposed", id), filepath.Join(base, "short"))
	if storage, got, ok := Locate(filepath.Join(base, "short", "a.txt")); !ok || got != id || storage != s.Dir() {
		t.Errorf("Locate through a linked folder: %s, %s, %v", storage, got, ok)
	}
}

func TestLocate(t *testing.T) {
	id := NewID("12345678")
	for p, want := range map[string]bool{
		"/nowhere/ws/proposed/" + id + "/a.txt":    true,
		"/nowhere/ws/proposed/" + id:               false,
		"/nowhere/ws/proposed/" + id + "/sub/a":    false,
		"/nowhere/ws/other/" + id + "/a.txt":       false,
		"/nowhere/ws/proposed/feature-1/a.txt":     false,
		"/home/me/proposed/abcdefghijklmnop/a.txt": false,
		"proposed/" + id + "/a.txt":                false,
		"":                                         false,
	} {
		if _, _, ok := Locate(filepath.FromSlash(p)); ok != want && runtime.GOOS != "windows" {
			t.Errorf("Locate(%q): %v", p, ok)
		}
	}
}

func TestStageNeverFollows(t *testing.T) {
	unixOnly(t)
	s := open(t)
	victim := filepath.Join(t.TempDir(), "victim")
	os.WriteFile(victim, []byte("mine"), 0o600)

	// The document's name is a symlink: replaced, not followed.
	st := stage(t, s, "a-1", "a.txt", "one")
	os.Remove(st.Path)
	os.Symlink(victim, st.Path)
	stage(t, s, "a-1", "a.txt", "two")
	if got, _ := os.ReadFile(victim); string(got) != "mine" {
		t.Fatalf("a symlink was followed: %s", got)
	}
	if fi, _ := os.Lstat(st.Path); !fi.Mode().IsRegular() {
		t.Fatal("the symlink is still there")
	}

	// The id's folder is a symlink: refused.
	away := t.TempDir()
	os.Symlink(away, filepath.Join(s.Dir(), "proposed", "b-1"))
	_, err := s.Stage("b-1", "a.txt", "x")
	mustFail(t, err, "symlink", filepath.Join(s.Dir(), "proposed", "b-1", "a.txt"))

	// The folder of proposals was exchanged for a symlink while it was open.
	proposed := filepath.Join(s.Dir(), "proposed")
	os.Rename(proposed, proposed+"2")
	os.Symlink(away, proposed)
	_, err = s.Stage("c-1", "a.txt", "x")
	mustFail(t, err, "symlink", proposed)
	if left, _ := os.ReadDir(away); len(left) != 0 {
		t.Errorf("written through a symlink: %v", left)
	}
}

func TestStageAfterTheStorageWasRemoved(t *testing.T) {
	s := open(t)
	stage(t, s, "a-1", "a.txt", "x")
	if err := os.RemoveAll(s.Dir()); err != nil {
		t.Fatal(err)
	}
	st := stage(t, s, "a-2", "a.txt", "y")
	if f, err := Look(st, 0); err != nil || f.Text != "y" {
		t.Fatalf("%+v, %v", f, err)
	}
}

func TestStageErrorsNameThePath(t *testing.T) {
	s := open(t)
	os.WriteFile(filepath.Join(s.Dir(), "proposed", "a-1"), nil, 0o600)
	_, err := s.Stage("a-1", "a.txt", "x")
	mustFail(t, err, filepath.Join(s.Dir(), "proposed", "a-1"), "not a folder")
	for _, id := range []string{"", "..", "a/b", "-x", "é", strings.Repeat("x", 200)} {
		if _, err := s.Stage(id, "a", "x"); err == nil {
			t.Errorf("id %q was taken", id)
		}
		if err := s.Remove(id); err == nil {
			t.Errorf("id %q was removed", id)
		}
	}
}

func TestRemoveAndClear(t *testing.T) {
	s := open(t)
	for _, id := range []string{"a-1", "b-2", "c-3"} {
		stage(t, s, id, "x.txt", id)
	}
	if err := s.Remove("a-1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove("a-1"); err != nil {
		t.Fatalf("removing twice: %v", err)
	}
	foreign := filepath.Join(s.Dir(), "proposed", ".keep me")
	os.WriteFile(foreign, nil, 0o600)
	if err := s.Clear(func(id string) bool { return id == "c-3" }); err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadDir(filepath.Join(s.Dir(), "proposed"))
	if len(left) != 2 || left[0].Name() != ".keep me" || left[1].Name() != "c-3" {
		t.Errorf("left: %v", left)
	}
}

func TestManyAtOnce(t *testing.T) {
	s := open(t)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			id := NewID("request")
			st, err := s.Stage(id, "a.txt", id)
			if err != nil {
				t.Error(err)
				return
			}
			if f, err := Look(st, 0); err != nil || f.Text != id || f.Written {
				t.Errorf("%+v, %v", f, err)
			}
			if err := s.Remove(id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestOpenPrivate(t *testing.T) {
	unixOnly(t)
	s := open(t)
	path := filepath.Join(s.Dir(), "journal.jsonl")
	flag := os.O_RDWR | os.O_APPEND | os.O_CREATE
	for range 2 {
		f, err := OpenPrivate(path, flag)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString("line\n"); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if b, _ := os.ReadFile(path); string(b) != "line\nline\n" {
		t.Fatalf("%q", b)
	}
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", fi.Mode())
	}
	os.Rename(path, path+"2")
	os.Symlink(path+"2", path)
	_, err := OpenPrivate(path, flag)
	mustFail(t, err, "symlink", path)
}

// An editor may have the document open when its approval is settled: a save
// must still work, so that it can be said that it decides nothing.
func TestRemovedDocumentCanBeSavedAgain(t *testing.T) {
	s := open(t)
	id := NewID("request")
	st, err := s.Stage(id, "a.txt", "text\n")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(st.Path), "a.txt~"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(id); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(st.Path)); err != nil || len(left) != 0 {
		t.Fatalf("after Remove: %v, %v", left, err)
	}
	if err := os.WriteFile(st.Path, []byte("late\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Clear(func(string) bool { return false }); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(st.Path)); !os.IsNotExist(err) {
		t.Fatalf("after Clear: %v", err)
	}
}
