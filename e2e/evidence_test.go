//go:build linux

package e2e

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// answer is how long a reply of the editor is waited for before it is asked again.
const answer = 2 * time.Second

// stamp changes with every write of a file, also one that leaves its content.
func stamp(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return "none"
	}
	var inode uint64
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = s.Ino
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size(), inode)
}

// awaitWritten waits until the file was written: also a staged one, which may be gone
// at once since the save settled it.
func awaitWritten(w *world, path, before string) {
	w.t.Helper()
	eventually(w.t, path+" is written", func() (bool, string) {
		return stamp(path) != before, before + "\n" + w.editor.screen()
	})
}

// servers are the processes that speak LSP.
func (w *world) servers() (pids []string) {
	for _, p := range w.processes() {
		pid, line, _ := strings.Cut(p, " ")
		if strings.HasPrefix(line, parts.countersign+" serve") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// awaitNewServer waits until exactly one server runs, and none of those before.
func awaitNewServer(w *world, before []string) {
	w.t.Helper()
	eventually(w.t, "another server in place of "+strings.Join(before, " "), func() (bool, string) {
		now := w.servers()
		return len(now) == 1 && !strings.Contains(strings.Join(before, " "), now[0]), strings.Join(now, " ") + "\n" + w.editor.screen()
	})
}

func awaitEnded(w *world, x *terminal) {
	w.t.Helper()
	eventually(w.t, "the editor ends", func() (bool, string) { return x.ended(), x.screen() })
}
