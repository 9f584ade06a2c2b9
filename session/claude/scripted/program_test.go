//go:build unix

package scripted

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// A program can be run as soon as it is written, whatever else is started meanwhile.
func TestAWrittenProgramRunsAtOnce(t *testing.T) {
	dir := t.TempDir()
	stop := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = exec.Command("/bin/sh", "-c", ":").Run()
				}
			}
		})
	}
	defer others.Wait()
	defer close(stop)
	for i := range 200 {
		path := filepath.Join(dir, strconv.Itoa(i))
		if err := WriteProgram(path, []byte("#!/bin/sh\nexit 0\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := exec.Command(path).Run(); err != nil {
			t.Fatalf("program %d: %v", i, err)
		}
	}
}
