package hub

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// Version tells builds of this program apart. A hub and a front end must be
// the same build, because what crosses the socket is no promise to others.
func Version() string { return version() }

// The executable is looked at once, early: later another one may lie there.
var version = sync.OnceValue(func() string {
	revision, dirty := "", true
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				revision = s.Value[:min(len(s.Value), 12)]
			case "vcs.modified":
				dirty = s.Value == "true"
			}
		}
	}
	if revision != "" && !dirty {
		return revision
	}
	if revision == "" {
		revision = "dev"
	}
	exe, err := ownExecutable()
	if err != nil {
		return revision
	}
	fi, err := os.Stat(exe)
	if err != nil {
		return revision
	}
	// Not a hash of its content: that takes longer than a front end has.
	return fmt.Sprintf("%s-%x-%x", revision, fi.Size(), fi.ModTime().UnixNano())
})

func init() { version() }

// ownExecutable is the very file that this process runs. On Linux that is so
// even when another build lies at its path by now, or nothing.
func ownExecutable() (string, error) {
	const self = "/proc/self/exe"
	if runtime.GOOS == "linux" {
		if _, err := os.Stat(self); err == nil {
			return self, nil
		}
	}
	return os.Executable()
}
