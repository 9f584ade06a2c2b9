// Package realcli lets the tests of several packages run the real CLI: in a
// clean environment, with a home of its own and a model on loopback.
package realcli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"countersign/e2e/mockmodel"
)

// Path is the absolute path of the real CLI: the one that COUNTERSIGN_CLAUDE
// names, or the one that e2e/install.sh installed. Without one the test is
// skipped, or fails where COUNTERSIGN_E2E is 1.
func Path(t testing.TB) string {
	t.Helper()
	path := os.Getenv("COUNTERSIGN_CLAUDE")
	if path == "" {
		path = filepath.Join(module(t), "e2e/.cache/claude/node_modules/.bin/claude")
	}
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err == nil {
		return path
	}
	why := fmt.Sprintf("the real CLI is not there (%v): e2e/install.sh puts it there, COUNTERSIGN_CLAUDE names another", err)
	if os.Getenv("COUNTERSIGN_E2E") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
	return ""
}

// Start starts a model that plays the script until the test ends. Path is the
// CLI that talks to it when it is run in the environment env.
func Start(t testing.TB, script mockmodel.Script) (path string, env []string, model *mockmodel.Server) {
	t.Helper()
	path = Path(t)
	model, err := mockmodel.Start(script)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { model.Close() })
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "tmp"), 0o700); err != nil {
		t.Fatal(err)
	}
	programs := os.Getenv("PATH")
	if node, err := exec.LookPath("node"); err == nil {
		programs = filepath.Dir(node) + string(os.PathListSeparator) + programs
	}
	return path, model.Env(programs, home), model
}

// module is the folder of go.mod, at or above the one that the test runs in.
func module(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("go.mod is neither here nor above")
		}
		dir = up
	}
}
