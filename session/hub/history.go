package hub

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of the list of earlier sessions.
const (
	maxPast    = 100     // sessions
	maxHistory = 4 << 20 // bytes that are read of its file
)

// A past is what is kept of a session so that it can be found again and gone on
// with. The agent keeps the conversation itself.
type past struct {
	ID      string    `json:"id"` // the agent's
	Title   string    `json:"title,omitzero"`
	Started time.Time `json:"started"`
	Last    time.Time `json:"last"`
	Mode    string    `json:"mode,omitzero"` // as session.Info has it
	Model   string    `json:"model,omitzero"`
	Folder  string    `json:"folder,omitzero"` // of its transcript, below <storage>/sessions
	CostUSD float64   `json:"costUSD,omitzero"`
	Turns   int       `json:"turns,omitzero"`
}

// A history is the list of a workspace's sessions: a file of JSON lines, the
// last line of a session counts. It is the scribe's own.
type history struct {
	path string
	drop func(folder string) // a session left the list
	warn func(error)

	all   []past // the one that something happened in last is the last
	lines int    // in the file
}

// openHistory reads the list. What cannot be read of it is left out: it is a
// convenience, and no reason for a hub not to run.
func openHistory(path string, drop func(string), warn func(error)) *history {
	h := &history{path: path, drop: drop, warn: warn}
	data, err := readHistory(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		warn(err)
	}
	for line := range bytes.Lines(data) {
		h.lines++
		var p past
		if json.Unmarshal(line, &p) == nil && validID(p.ID) && (p.Folder == "" || plainName(p.Folder)) {
			h.take(p)
		}
	}
	return h
}

func readHistory(path string) ([]byte, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", path)
	}
	if err := refuseOwner(fi); err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	if fi.Size() > maxHistory {
		return nil, fmt.Errorf("%s is too long to be the list of sessions", path)
	}
	return os.ReadFile(path)
}

// take puts a session at the end of the list.
func (h *history) take(p past) {
	h.all = slices.DeleteFunc(h.all, func(o past) bool { return o.ID == p.ID })
	h.all = append(h.all, p)
	for len(h.all) > maxPast {
		gone := h.all[0]
		h.all = slices.Delete(h.all, 0, 1)
		shared := slices.ContainsFunc(h.all, func(o past) bool { return o.Folder == gone.Folder })
		if gone.Folder != "" && !shared {
			h.drop(gone.Folder)
		}
	}
}

// put writes down how a session is now.
func (h *history) put(p past) {
	h.take(p)
	var err error
	if h.lines >= 4*maxPast {
		err = h.rewrite()
	} else {
		err = h.append(p)
	}
	if err != nil {
		h.warn(fmt.Errorf("the list of sessions: %w", err))
	}
}

func (h *history) append(p past) error {
	line, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if fi, err := os.Lstat(h.path); err == nil && !fi.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", h.path)
	}
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	h.lines++
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// rewrite keeps one line a session.
func (h *history) rewrite() error {
	var data []byte
	for _, p := range h.all {
		line, err := json.Marshal(p, jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return err
		}
		data = append(append(data, line...), '\n')
	}
	h.lines = len(h.all)
	return writeFile(h.path, data)
}

// list are the sessions, the last first.
func (h *history) list() []past {
	all := slices.Clone(h.all)
	slices.Reverse(all)
	return all
}

// find is the session with that id.
func (h *history) find(id string) (past, bool) {
	i := slices.IndexFunc(h.all, func(p past) bool { return p.ID == id })
	if i < 0 {
		return past{}, false
	}
	return h.all[i], true
}

// validID says whether an id can be an agent's session: it becomes an argument
// on the agent's command line.
func validID(id string) bool { return len(id) <= 100 && plainName(id) }

// plainName says whether a name is made of nothing but letters, digits and
// inner hyphens, so that it is no option, no path and no other name's start.
func plainName(name string) bool {
	if name == "" || strings.HasPrefix(name, "-") {
		return false
	}
	for _, r := range name {
		if r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return true
}
