package staging

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// spares lists what lies ready in a storage.
func spares(t *testing.T, s *Store) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.Dir(), proposedName))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), sparePrefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// prepared is a store with a spare.
func prepared(t *testing.T) *Store {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("nothing is prepared here")
	}
	s, err := Open(filepath.Join(t.TempDir(), "storage"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.Prepare()
	s.Prepare()
	if n := len(spares(t, s)); n != 1 {
		t.Fatalf("%d spares, not one", n)
	}
	return s
}

// staged stages a document and looks at it as anybody would.
func staged(t *testing.T, s *Store, id, content string) {
	t.Helper()
	st, err := s.Stage(id, "a.go", content)
	if err != nil {
		t.Fatal(err)
	}
	found, err := Look(st, 0)
	if err != nil {
		t.Fatal(err)
	}
	if found.Text != content || found.Written {
		t.Errorf("found %d bytes, written: %v", len(found.Text), found.Written)
	}
	entries, err := os.ReadDir(filepath.Dir(st.Path))
	if err != nil || len(entries) != 1 || entries[0].Name() != "a.go" {
		t.Errorf("beside the document: %v, %v", entries, err)
	}
	fi, err := os.Stat(st.Path)
	if err != nil || modesCount && fi.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", fi.Mode(), err)
	}
}

func TestStageTakesTheSpare(t *testing.T) {
	s := prepared(t)
	for _, size := range []int{0, 10, 300_000} {
		s.Prepare()
		staged(t, s, NewID("12345678"), strings.Repeat("x", size))
		if left := spares(t, s); len(left) != 0 {
			t.Errorf("the spare was not taken: %v", left)
		}
	}
	staged(t, s, NewID("12345678"), "without one")
}

func TestSpareDoesNotReplaceADocument(t *testing.T) {
	s := prepared(t)
	id := NewID("12345678")
	staged(t, s, id, "first")
	s.Prepare()
	staged(t, s, id, "second")
}

func TestSpareThatWasTamperedWithIsNotTaken(t *testing.T) {
	for name, tamper := range map[string]func(path string) error{
		"removed":  os.RemoveAll,
		"emptied":  func(path string) error { return os.RemoveAll(path + "/" + only(t, path)) },
		"replaced": func(path string) error { os.RemoveAll(path); return os.Symlink(os.TempDir(), path) },
		"all gone": func(path string) error { return os.RemoveAll(filepath.Dir(path)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := prepared(t)
			if err := tamper(filepath.Join(s.Dir(), proposedName, spares(t, s)[0])); err != nil {
				t.Fatal(err)
			}
			id := NewID("12345678")
			st, err := s.Stage(id, "a.go", "text")
			if err != nil {
				t.Fatal(err)
			}
			if found, err := Look(st, 0); err != nil || found.Text != "text" {
				t.Errorf("%q, %v", found.Text, err)
			}
		})
	}
}

// only is the one name in a folder.
func only(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	return entries[0].Name()
}

func TestSparesDoNotStay(t *testing.T) {
	s := prepared(t)
	dir := s.Dir()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s.Prepare()
	if left := spares(t, s); len(left) != 0 {
		t.Errorf("after Close: %v", left)
	}
	if err := os.MkdirAll(filepath.Join(dir, proposedName, sparePrefix+"old", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	again, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if left := spares(t, again); len(left) != 0 {
		t.Errorf("from a store before: %v", left)
	}
}
