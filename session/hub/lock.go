package hub

import (
	"errors"
	"fmt"
	"os"
)

// errHeld: another hub holds the lock of this workspace.
var errHeld = errors.New("another hub of this workspace runs")

// takeLock elects this process as the hub, for as long as the file returned is
// open. The system gives the lock back when the process is gone, however it
// went; the file itself always stays, so that everybody locks the same one.
func takeLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock of this workspace cannot be opened: %w", err)
	}
	if err := lockFile(f); err != nil {
		f.Close()
		if errors.Is(err, errHeld) {
			return nil, err
		}
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	// For people who wonder which process it is.
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "%d\n", os.Getpid())
	}
	return f, nil
}
