package staging

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"
)

// DefaultLimit bounds what Look reads when the caller names no limit: a saved
// document is a person's text, not a disk image.
const DefaultLimit = 64 << 20

// Found is what a look at a staged document shows.
type Found struct {
	Text    string // the content, byte for byte
	Written bool   // somebody wrote the file since Print was taken, be it with the same content
	Print   Print  // as it is now
}

// Look reads a staged document back. The file must be a regular file of this
// user, in folders of this user, reached without any symlink, and no larger
// than max bytes (DefaultLimit when max is not positive). Editors that save by
// renaming a new file into place are fine, and so are hard links: editors and
// backup programs make them, and whoever can make one here could as well
// write the file.
//
// Any process of the user may look; no Store is needed.
func Look(st Staged, max int64) (Found, error) {
	if max <= 0 {
		max = DefaultLimit
	}
	text, p, err := look(st.Path, max)
	if err != nil {
		return Found{}, fmt.Errorf("staged document %s: %w", st.Path, plain(err))
	}
	return Found{Text: text, Written: p != st.Print, Print: p}, nil
}

func look(path string, max int64) (string, Print, error) {
	dir, err := openStagedDir(path)
	if err != nil {
		return "", Print{}, err
	}
	defer dir.Close()
	name := filepath.Base(path)
	// A save may be under way: the file is replaced, or grows, while it is
	// read. Then it is read again; whoever saves for ever is not believed.
	for range 4 {
		text, fi, again, err := read(dir, name, max)
		if err != nil {
			return "", Print{}, err
		}
		if !again {
			return text, printOf(fi, text), nil
		}
	}
	return "", Print{}, errors.New("is being written again and again, no stable content could be read")
}

// read reads the regular file name in dir. again: it changed meanwhile.
func read(dir *os.Root, name string, max int64) (text string, fi fs.FileInfo, again bool, err error) {
	f, fi, err := openRegular(dir, name, os.O_RDONLY)
	if err != nil {
		return "", nil, errors.Is(err, errReplaced), ifNot(err, errReplaced)
	}
	defer f.Close()
	if fi.Size() > max {
		return "", nil, false, fmt.Errorf("is %d bytes long, more than the %d allowed", fi.Size(), max)
	}
	buf := make([]byte, fi.Size()+1) // one more than there should be
	n, err := io.ReadFull(f, buf)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", nil, false, err
	}
	after, err := f.Stat()
	if err != nil {
		return "", nil, false, err
	}
	if int64(n) != fi.Size() || after.Size() != fi.Size() || !after.ModTime().Equal(fi.ModTime()) {
		return "", nil, true, nil
	}
	return unsafe.String(unsafe.SliceData(buf), n), fi, false, nil // nobody else has buf
}

func ifNot(err, target error) error {
	if errors.Is(err, target) {
		return nil
	}
	return err
}

// openStagedDir opens the folder of a staged document step by step from the
// storage folder down; none of the three may be a symlink or another user's.
func openStagedDir(path string) (*os.Root, error) {
	dir := filepath.Dir(path)
	id := filepath.Base(dir)
	proposed := filepath.Dir(dir)
	if !filepath.IsAbs(path) || filepath.Clean(path) != path || !validID(id) || filepath.Base(proposed) != proposedName {
		return nil, errors.New("is not the path of a staged document")
	}
	storage, err := openDir(filepath.Dir(proposed))
	if err != nil {
		return nil, err
	}
	defer storage.Close()
	p, err := openBelow(storage, proposedName)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return openBelow(p, id)
}

// OpenPrivate opens a file of this user in a folder of this user, or creates
// it with mode 0600 when flag says so. Neither the file nor its folder may be a
// symlink; the file must be a regular one.
func OpenPrivate(path string, flag int) (*os.File, error) {
	dir, err := openDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := filepath.Base(path)
	if flag&os.O_CREATE != 0 {
		f, err := dir.OpenFile(name, flag|os.O_EXCL, 0o600)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, plain(err))
			}
			return f, nil
		}
		flag &^= os.O_CREATE
	}
	f, _, err := openRegular(dir, name, flag)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	return f, nil
}

var errReplaced = errors.New("was replaced while it was opened")

// openRegular opens the regular file name in dir, which this user must own,
// and never what a symlink points to.
func openRegular(dir *os.Root, name string, flag int) (*os.File, fs.FileInfo, error) {
	li, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case li.Mode()&fs.ModeSymlink != 0:
		return nil, nil, errors.New("is a symlink, which is not followed")
	case !li.Mode().IsRegular():
		return nil, nil, fmt.Errorf("is not a regular file (%s)", li.Mode().Type())
	}
	if err := refuseOwner(li); err != nil {
		return nil, nil, err
	}
	// The file that was opened must be the one just looked at: a symlink or a
	// pipe put there in between is another file. openExtra keeps the opening of
	// such a pipe from waiting for a writer.
	f, err := dir.OpenFile(name, flag|openExtra, 0)
	if err != nil {
		return nil, nil, err
	}
	fi, err := f.Stat()
	if err == nil && !os.SameFile(li, fi) {
		err = errReplaced
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, fi, nil
}

// openDir opens a folder that this user owns and nobody else may write.
func openDir(path string) (*os.Root, error) {
	li, err := os.Lstat(path)
	if err == nil {
		err = refuseDir(li)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	return same(root, li, path)
}

// openBelow is openDir for a folder inside an open one.
func openBelow(parent *os.Root, name string) (*os.Root, error) {
	path := filepath.Join(parent.Name(), name)
	li, err := parent.Lstat(name)
	if err == nil {
		err = refuseDir(li)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	root, err := parent.OpenRoot(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	return same(root, li, path)
}

func same(root *os.Root, li fs.FileInfo, path string) (*os.Root, error) {
	fi, err := root.Stat(".")
	if err == nil && !os.SameFile(li, fi) {
		err = errReplaced
	}
	if err != nil {
		root.Close()
		return nil, fmt.Errorf("%s: %w", path, plain(err))
	}
	return root, nil
}

// refuseDir says why a folder cannot hold staged documents.
func refuseDir(li fs.FileInfo) error {
	switch {
	case li.Mode()&fs.ModeSymlink != 0:
		return errors.New("is a symlink, which is not followed")
	case !li.IsDir():
		return errors.New("is not a folder")
	}
	if err := refuseOwner(li); err != nil {
		return err
	}
	if modesCount && li.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("may be written by other users (mode %04o); chmod 700 puts that right", li.Mode().Perm())
	}
	return nil
}

// refuseOpenParents says which folder on the way to dir, dir included, lets
// anybody put another folder in the place of what lies below it.
func refuseOpenParents(dir string) error {
	if !modesCount {
		return nil
	}
	for {
		fi, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if fi.Mode().Perm()&0o002 != 0 && fi.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("its parent folder %s may be written by everybody (mode %04o, not sticky)", dir, fi.Mode().Perm())
		}
		up := filepath.Dir(dir)
		if up == dir {
			return nil
		}
		dir = up
	}
}
