//go:build linux

package faults

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// program is the countersign under test.
var program string

func TestMain(m *testing.M) {
	if tool := os.Getenv(toolVariable); tool != "" {
		os.Exit(runTool(tool, os.Args[1:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "csprog")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Tests that are another user run it too.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program = filepath.Join(dir, "countersign")
	// Without the revision of a clean checkout, a build is told from another by
	// its file: a copy then counts as an upgrade.
	build := exec.Command("go", "build", "-buildvcs=false", fmt.Sprintf("-race=%t", raced), "-o", program, "countersign/cmd/countersign")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "countersign does not build:", err)
		return 1
	}
	return m.Run()
}
