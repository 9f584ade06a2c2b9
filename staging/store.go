package staging

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"
)

// proposedName is the folder of a storage that holds the staged documents.
const proposedName = "proposed"

// A Store is the storage folder of one workspace: it stages documents under
// <dir>/proposed. It holds that folder open, so that nobody can put another
// one, or a symlink, in its place while a document is written.
type Store struct {
	dir string // canonical: absolute, without symlinks

	mu       sync.Mutex
	proposed *os.Root // guarded by mu; replaced when the folder was removed
	spare    *spare   // guarded by mu
	closed   bool     // guarded by mu
}

// Open opens the storage folder dir and creates it, and its parents, with mode
// 0700. A folder that is a symlink, that another user owns or may write, or
// that lies below a folder where anybody may put another one in its place, is
// refused.
func Open(dir string) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("storage %s: %w", dir, err)
	}
	parent := filepath.Dir(abs)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("storage %s: %w", abs, err)
	}
	// The parents may well be reached through symlinks (/tmp on macOS, a home
	// on another disk); only the storage folder itself must not be one. From
	// here on the path is canonical, as editors and URIs will report it.
	real, err := filepath.EvalSymlinks(parent)
	if err != nil {
		return nil, fmt.Errorf("storage %s: %w", abs, err)
	}
	if err := refuseOpenParents(real); err != nil {
		return nil, fmt.Errorf("storage %s: %w", abs, err)
	}
	s := &Store{dir: filepath.Join(real, filepath.Base(abs))}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.reopen(); err != nil {
		return nil, err
	}
	dropStale(s.proposed)
	return s, nil
}

// Dir is the storage folder: absolute and without symlinks.
func (s *Store) Dir() string { return s.dir }

// Close gives the open folder back. Staged documents stay where they are.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.dropSpare()
	if s.proposed == nil {
		return nil
	}
	err := s.proposed.Close()
	s.proposed = nil
	return err
}

// reopen creates and opens <dir>/proposed; the caller holds mu.
func (s *Store) reopen() error {
	s.dropSpare()
	if s.proposed != nil {
		s.proposed.Close()
		s.proposed = nil
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("storage %s: %w", s.dir, plain(err))
	}
	storage, err := openDir(s.dir)
	if err != nil {
		return fmt.Errorf("storage %w", err)
	}
	defer storage.Close()
	if err := storage.Mkdir(proposedName, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("storage %s: %w", filepath.Join(s.dir, proposedName), plain(err))
	}
	proposed, err := openBelow(storage, proposedName)
	if err != nil {
		return fmt.Errorf("storage %w", err)
	}
	// Ours by name, so its mode may be put right; the storage folder may be
	// somebody's own and is only checked.
	if fi, err := proposed.Stat("."); err == nil && fi.Mode().Perm()&0o077 != 0 && modesCount {
		if err := proposed.Chmod(".", 0o700); err != nil {
			proposed.Close()
			return fmt.Errorf("storage %s: %w", filepath.Join(s.dir, proposedName), plain(err))
		}
	}
	s.proposed = proposed
	return nil
}

// current gives the open folder of proposals, after making sure that it is
// still the one that lies at its path; the caller holds mu.
func (s *Store) current() (*os.Root, error) {
	if s.proposed != nil {
		there, err1 := os.Lstat(filepath.Join(s.dir, proposedName))
		held, err2 := s.proposed.Stat(".")
		if err1 == nil && err2 == nil && os.SameFile(there, held) {
			return s.proposed, nil
		}
	}
	if err := s.reopen(); err != nil {
		return nil, err
	}
	return s.proposed, nil
}

// Stage writes content to <storage>/proposed/<id>/<basename>, as a whole or
// not at all, and remembers what it wrote. The basename is made safe by
// [Basename]. Staging an id again replaces its document.
//
// The file is not synced: staged documents are written again at need.
func (s *Store) Stage(id, basename, content string) (Staged, error) {
	return s.StageHashed(id, basename, content, hashing(content))
}

// StageHashed is Stage for a content whose hash the caller has, or is working
// out: it is asked for when all the rest is done.
func (s *Store) StageHashed(id, basename, content string, hash func() string) (Staged, error) {
	if !validID(id) {
		return Staged{}, fmt.Errorf("stage: %q is no id of a staged document", id)
	}
	name := Basename(basename)
	path := filepath.Join(s.dir, proposedName, id, name)
	p, err := s.stage(id, name, content, hash)
	if err != nil {
		return Staged{}, fmt.Errorf("stage %s: %w", path, plain(err))
	}
	return Staged{ID: id, Path: path, Print: p}, nil
}

func (s *Store) stage(id, name, content string, hash func() string) (Print, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	proposed, err := s.current()
	if err != nil {
		return Print{}, err
	}
	dir, f, temp, err := s.place(proposed, id, name)
	if err != nil {
		return Print{}, err
	}
	defer dir.Close()
	_, err = io.WriteString(f, content)
	var fi fs.FileInfo
	if err == nil {
		fi, err = f.Stat()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil && temp != name {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		dir.Remove(temp)
		proposed.Remove(id) // if nothing else is in it
		return Print{}, err
	}
	return printWith(fi, hash()), nil
}

// place gives the folder of an id and a new file in it. Its name is temp, from
// which it is to be renamed when that is not name already: in a folder just made
// the document cannot be seen half written, because nobody knows its path yet.
func (s *Store) place(proposed *os.Root, id, name string) (dir *os.Root, f *os.File, temp string, err error) {
	if sp, ok := s.takeSpare(proposed, id); ok {
		return sp.dir, sp.file, sp.temp, nil
	}
	err = proposed.Mkdir(id, 0o700)
	temp = name
	if errors.Is(err, fs.ErrExist) {
		temp, err = tempName(), nil
	}
	if err != nil {
		return nil, nil, "", err
	}
	if dir, err = openBelow(proposed, id); err != nil {
		return nil, nil, "", err
	}
	if f, err = create(dir, temp); err != nil {
		dir.Close()
		return nil, nil, "", err
	}
	return dir, f, temp, nil
}

// Remove takes the staged document of id away, with everything that editors
// left beside it. An id that has none is no error. The folder stays until
// Clear: an editor that still has the document open can save it, and the
// person hears that this decides nothing any more instead of a failed write.
func (s *Store) Remove(id string) error {
	if !validID(id) {
		return fmt.Errorf("remove: %q is no id of a staged document", id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	proposed, err := s.current()
	if err != nil {
		return err
	}
	if err := empty(proposed, id); err != nil {
		return fmt.Errorf("remove %s: %w", filepath.Join(s.dir, proposedName, id), plain(err))
	}
	return nil
}

// empty removes what lies in a folder. What is no folder is removed itself.
func empty(parent *os.Root, name string) error {
	fi, err := parent.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !fi.IsDir():
		return parent.Remove(name)
	}
	entries, err := fs.ReadDir(parent.FS(), name)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		errs = append(errs, parent.RemoveAll(name+"/"+e.Name()))
	}
	return errors.Join(errs...)
}

// Clear removes every staged document but those whose id keep wants to stay.
// What does not bear the name of an id is not ours and stays too.
func (s *Store) Clear(keep func(id string) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	proposed, err := s.current()
	if err != nil {
		return err
	}
	entries, err := fs.ReadDir(proposed.FS(), ".")
	if err != nil {
		return fmt.Errorf("clear %s: %w", filepath.Join(s.dir, proposedName), plain(err))
	}
	var errs []error
	for _, e := range entries {
		if id := e.Name(); validID(id) && !keep(id) {
			if err := proposed.RemoveAll(id); err != nil {
				errs = append(errs, fmt.Errorf("clear %s: %w", filepath.Join(s.dir, proposedName, id), plain(err)))
			}
		}
	}
	return errors.Join(errs...)
}

// printOf is the print of a file with that content.
func printOf(fi fs.FileInfo, content string) Print {
	return printWith(fi, Hash(content))
}

func printWith(fi fs.FileInfo, hash string) Print {
	p := Print{Size: fi.Size(), ModTime: fi.ModTime().UnixNano(), Hash: hash}
	p.Inode, p.Device = identity(fi)
	return p
}

// Hash is the lower-case hex SHA-256 of a content.
func Hash(content string) string {
	sum := sha256.Sum256(unsafe.Slice(unsafe.StringData(content), len(content)))
	return hex.EncodeToString(sum[:])
}

// plain takes the operation and the relative path off a path error: the caller
// names the whole path.
func plain(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	}
	return err
}

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// tokenLen is the length of the unpredictable part of an id: 80 bits.
const tokenLen = 16

func token() string {
	var b [tokenLen * 5 / 8]byte
	rand.Read(b[:]) // never fails
	return lowerBase32.EncodeToString(b[:])
}

// NewID makes the id of a new staged document: ASCII, unpredictable, never the
// same twice, and ending in the last 8 characters of the request's id (other
// characters than letters, digits and '-' become '_').
func NewID(requestID string) string {
	tail := []rune(requestID)
	if len(tail) > 8 {
		tail = tail[len(tail)-8:]
	}
	var b strings.Builder
	b.WriteString(token())
	b.WriteByte('-')
	for _, r := range tail {
		if r < 128 && idByte(byte(r)) {
			b.WriteRune(r)
		} else {
			b.WriteByte('_')
		}
	}
	return b.String()
}

func idByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// validID says whether id can be the name of a staged document's folder.
func validID(id string) bool {
	if id == "" || len(id) > 128 || id[0] == '-' {
		return false
	}
	for i := range len(id) {
		if !idByte(id[i]) {
			return false
		}
	}
	return true
}

// madeID says whether id has the shape that NewID gives.
func madeID(id string) bool {
	if len(id) <= tokenLen || len(id) > tokenLen+1+8 || id[tokenLen] != '-' || !validID(id) {
		return false
	}
	return strings.Trim(id[:tokenLen], "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// Locate finds the storage folder and the id from the path of a staged
// document alone, so that a front end can tell whose it is. Only paths of the
// shape <storage>/proposed/<id>/<name>, with an id as NewID makes them, are
// staged documents. The storage is given without symlinks where it exists: an
// editor may name the same file by another way (/tmp, /private/tmp).
func Locate(path string) (storage, id string, ok bool) {
	if !filepath.IsAbs(path) {
		return "", "", false
	}
	path = filepath.Clean(path)
	dir := filepath.Dir(path)
	if id, ok := locate(dir); ok {
		storage := filepath.Dir(filepath.Dir(dir))
		if real, err := filepath.EvalSymlinks(storage); err == nil {
			storage = real
		}
		return storage, id, true
	}
	// A folder on the way may itself be a symlink to where documents lie.
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", "", false
	}
	if id, ok := locate(real); ok {
		return filepath.Dir(filepath.Dir(real)), id, true
	}
	return "", "", false
}

// Folder is where the document with that id lies in a storage, "" for what is
// no id.
func Folder(storage, id string) string {
	if !validID(id) {
		return ""
	}
	return filepath.Join(storage, proposedName, id)
}

func locate(dir string) (id string, ok bool) {
	id = filepath.Base(dir)
	return id, madeID(id) && filepath.Base(filepath.Dir(dir)) == proposedName
}
