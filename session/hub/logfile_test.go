package hub

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestLogFileIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hub.log")
	line := append(bytes.Repeat([]byte("x"), 99), '\n')
	for range 3 { // three hubs, one after the other
		l := &logFile{path: path, limit: 1000}
		for range 25 {
			if n, err := l.Write(line); n != len(line) || err != nil {
				t.Fatal(n, err)
			}
		}
		l.close()
	}
	for _, name := range []string{path, path + ".old"} {
		fi, err := os.Stat(name)
		if err != nil || fi.Size() > 1000 || fi.Size()%100 != 0 || fi.Size() == 0 {
			t.Errorf("%s: %v, %v", name, fi, err)
		}
	}
	// A log that cannot be written is no reason to fail.
	l := &logFile{path: filepath.Join(t.TempDir(), "missing", "hub.log"), limit: 1000}
	if n, err := l.Write(line); n != len(line) || err != nil {
		t.Error(n, err)
	}
	l.close()
}
