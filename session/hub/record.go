package hub

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// recordName is the file by which front ends find a hub, in the state folder
// and in the storage.
const recordName = "hub.json"

// A record says where a hub is to be found, and where the one that ran last had
// its storage.
type record struct {
	Version string    `json:"version"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Root    string    `json:"root"`
	Storage string    `json:"storage"`
	Socket  string    `json:"socket"`
	// Ended is when the hub ended in order. Without it the hub runs, or was
	// killed: only the lock and the socket tell.
	Ended time.Time `json:"ended,omitzero"`
}

func (r record) ended() bool { return !r.Ended.IsZero() }

// write puts the record into dir, as a whole or not at all.
func (r record) write(dir string) error {
	data, err := json.Marshal(r, jsontext.WithIndent("  "))
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, recordName), append(data, '\n'))
}

func writeFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// readRecord reads the record in dir. Without one the error is fs.ErrNotExist.
func readRecord(dir string) (record, error) {
	path := filepath.Join(dir, recordName)
	fi, err := os.Lstat(path)
	if err != nil {
		return record{}, err
	}
	if !fi.Mode().IsRegular() {
		return record{}, fmt.Errorf("%s is not a file", path)
	}
	if err := refuseOwner(fi); err != nil {
		return record{}, fmt.Errorf("%s %w", path, err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return record{}, err
	}
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return r, nil
}
