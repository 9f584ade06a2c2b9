package staging

import (
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
)

// A spare is a folder with an empty file in it that lies ready to become the
// next staged document: making both takes a file system that has just removed
// others a millisecond, and a person waits for what is staged.
type spare struct {
	in   *os.Root // the folder of proposals that it lies in
	name string
	dir  *os.Root
	file *os.File
	temp string // name of the file in dir
}

const sparePrefix = ".spare-" // never begins an id

// Prepare makes the next Stage quicker. It may be called at any time, and does
// nothing when there is nothing to do; that it failed shows in the next Stage.
func (s *Store) Prepare() {
	if runtime.GOOS == "windows" { // which renames no open folder
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed { // it opens nothing again
		return
	}
	proposed, err := s.current()
	if err != nil || s.spare != nil && s.spare.in == proposed {
		return
	}
	s.dropSpare()
	sp := &spare{in: proposed, name: sparePrefix + token(), temp: tempName()}
	if err := proposed.Mkdir(sp.name, 0o700); err != nil {
		return
	}
	if sp.dir, err = openBelow(proposed, sp.name); err == nil {
		sp.file, err = create(sp.dir, sp.temp)
	}
	if err != nil {
		sp.drop()
		return
	}
	s.spare = sp
}

// takeSpare makes the spare the folder of a new id, if there is one and the id
// has no folder with something in it yet. The caller holds mu, and owns the
// folder and the file that it gets.
func (s *Store) takeSpare(proposed *os.Root, id string) (*spare, bool) {
	sp := s.spare
	if sp == nil || sp.in != proposed {
		return nil, false
	}
	if _, err := sp.dir.Lstat(sp.temp); err != nil || proposed.Rename(sp.name, id) != nil {
		s.dropSpare()
		return nil, false
	}
	s.spare = nil
	return sp, true
}

// dropSpare removes the spare; the caller holds mu.
func (s *Store) dropSpare() {
	if s.spare != nil {
		s.spare.drop()
		s.spare = nil
	}
}

func (sp *spare) drop() {
	if sp.file != nil {
		sp.file.Close()
	}
	if sp.dir != nil {
		sp.dir.Close()
	}
	sp.in.RemoveAll(sp.name) // an error: it stays, and goes when the store is opened again
}

// dropStale removes the spares that stores before this one have left.
func dropStale(proposed *os.Root) {
	entries, err := fs.ReadDir(proposed.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), sparePrefix) {
			proposed.RemoveAll(e.Name())
		}
	}
}

// create makes a new file of ours.
func create(dir *os.Root, name string) (*os.File, error) {
	return dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func tempName() string { return ".staging-" + token() }

// hashing works out the hash of a content, of a large one beside what the
// caller does until it asks for it.
func hashing(content string) (hash func() string) {
	hash = sync.OnceValue(func() string { return Hash(content) })
	if len(content) >= 64<<10 {
		go hash()
	}
	return hash
}
