package hub

import (
	"os"
	"sync"
)

// maxLog is how long the log grows before it is put aside, in bytes.
const maxLog = 1 << 20

// A logFile is a log that keeps at most two files of limit bytes: itself and
// the one before it. What cannot be written is dropped: a hub does not end
// because its log's disk is full.
type logFile struct {
	path  string
	limit int64

	mu   sync.Mutex
	f    *os.File // nil until the first write
	size int64
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		l.open()
	}
	if l.f != nil && l.size+int64(len(p)) > l.limit && l.size > 0 {
		l.f.Close()
		_ = os.Rename(l.path, l.path+".old")
		l.open()
	}
	if l.f != nil {
		n, _ := l.f.Write(p)
		l.size += int64(n)
	}
	return len(p), nil
}

func (l *logFile) open() {
	l.f, l.size = nil, 0
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	if fi, err := f.Stat(); err == nil {
		l.size = fi.Size()
	}
	l.f = f
}

// Sync does nothing: the log is for people, not for proof.
func (l *logFile) Sync() error { return nil }

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f != nil {
		l.f.Close()
		l.f = nil
	}
}
