package claude

import (
	"errors"
	"os"
	"sync/atomic"
	"time"
)

// An output is the reading end of a pipe from the process. While the process
// lives a read waits without limit. After its end, what it wrote is still read
// however slowly; but something that it started and that left its group may
// hold the pipe open for ever, so a read that finds nothing for a while, and any
// read later than drainTime, ends the stream.
type output struct {
	file  *os.File
	quiet time.Duration             // how long a read may find nothing after that
	limit atomic.Pointer[time.Time] // set once the process has ended
}

const drainTime = time.Minute

// Read reads from the pipe.
func (o *output) Read(p []byte) (int, error) {
	limit := o.limit.Load()
	if limit != nil {
		o.setDeadline(*limit)
	}
	n, err := o.file.Read(p)
	if n == 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		// On a busy machine the deadline may pass before the read begins, and
		// then it fails whatever the pipe holds.
		if limit = o.limit.Load(); limit != nil && time.Now().Before(*limit) {
			return readNow(o.file, p)
		}
	}
	return n, err
}

// processEnded bounds the reads from now on, also one that is under way.
func (o *output) processEnded() {
	limit := time.Now().Add(drainTime)
	o.limit.Store(&limit)
	o.setDeadline(limit)
}

func (o *output) setDeadline(limit time.Time) {
	soon := time.Now().Add(o.quiet)
	if soon.After(limit) {
		soon = limit
	}
	o.file.SetReadDeadline(soon)
}
