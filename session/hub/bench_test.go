//go:build unix

package hub

import (
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkConnect measures what a front end waits for: attaching to a hub that
// runs, and to one that has to be started first.
func BenchmarkConnect(b *testing.B) {
	dir := b.TempDir()
	b.Setenv("XDG_STATE_HOME", filepath.Join(dir, "state"))
	b.Setenv("XDG_RUNTIME_DIR", dir)
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		b.Fatal(err)
	}
	o := ConnectOptions{Root: root, Name: "bench", Watch: true, Start: true}
	b.Run("not up", func(b *testing.B) {
		for b.Loop() {
			c, _, err := Connect(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			if err := c.Stop(b.Context()); err != nil {
				b.Fatal(err)
			}
			for range c.Events() {
			}
			p, _ := placesOf(root)
			for {
				if lock, err := takeLock(p.lockFile()); err == nil {
					lock.Close()
					break
				}
			}
			b.StartTimer()
		}
	})
	b.Run("up", func(b *testing.B) {
		first, _, err := Connect(b.Context(), o)
		if err != nil {
			b.Fatal(err)
		}
		defer first.Close()
		defer first.Stop(b.Context())
		for b.Loop() {
			c, _, err := Connect(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			c.Close()
		}
	})
}
