package lsp

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"countersign/staging"
)

// maxPrivate bounds what is read of a prompt or a reason.
const maxPrivate = 4 << 20

// readPrivate reads a file of ours.
func readPrivate(path string) (string, error) {
	f, err := staging.OpenPrivate(path, os.O_RDONLY)
	if err != nil {
		return "", err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxPrivate))
	return string(raw), err
}

// writePrivate replaces the content of a file of ours.
func writePrivate(path, text string) error {
	f, err := staging.OpenPrivate(path, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	return errors.Join(err, f.Close())
}

// standIn lets a staged document that went with its answer be there once more,
// with the text that the editor shows, since editors close only what they can
// delete. The result takes away what is left of it.
func standIn(path, text string) (remove func()) {
	if _, err := os.Lstat(path); err == nil {
		return func() {}
	}
	dir := filepath.Dir(path)
	made := os.Mkdir(dir, 0o700) == nil
	_ = writePrivate(path, text) // without it the document stays open
	return func() {
		_ = os.Remove(path)
		if made {
			_ = os.Remove(dir)
		}
	}
}

// createPrivate makes a file of ours with that text where there is none, or an
// empty one.
func createPrivate(path, text string) error {
	if old, err := readPrivate(path); err == nil && old != "" {
		return nil
	}
	return writePrivate(path, text)
}
