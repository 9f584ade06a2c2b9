package lsp

import (
	"errors"
	"io"
	"os"

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

// createPrivate makes a file of ours with that text where there is none, or an
// empty one.
func createPrivate(path, text string) error {
	if old, err := readPrivate(path); err == nil && old != "" {
		return nil
	}
	return writePrivate(path, text)
}
