//go:build linux

package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// parts are the programs that the suite drives; what is missing is empty.
var parts struct {
	countersign string // built by TestMain
	buildError  string
	claude      string
	tmux        string
	editors     []part
}

// A part is one editor of one suite.
type part struct {
	suite   string // "trixie", "sid", or "own" for one that the environment names
	kind    string // "nvim" or "hx"
	program string
}

func (p part) String() string { return p.kind + "-" + p.suite }

func TestMain(m *testing.M) {
	if os.Getenv(mcpVariable) != "" {
		if err := serveMCP(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv(checkerVariable) != "" {
		if err := serveChecker(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	flag.Parse()
	// The tests wait for other processes most of their time.
	if !given("test.parallel") {
		_ = flag.Set("test.parallel", fmt.Sprint(2*runtime.NumCPU()))
	}
	dir, err := os.MkdirTemp("", "countersign-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)

	parts.countersign = os.Getenv("COUNTERSIGN_BINARY")
	if parts.countersign == "" {
		parts.countersign = filepath.Join(dir, "countersign")
		build := exec.Command("go", "build", "-o", parts.countersign, "countersign/cmd/countersign")
		if out, err := build.CombinedOutput(); err != nil {
			parts.countersign, parts.buildError = "", fmt.Sprintf("%v: %s", err, out)
		}
	}
	parts.claude = find(os.Getenv("COUNTERSIGN_CLAUDE"), ".cache/claude/node_modules/.bin/claude")
	parts.tmux = find(os.Getenv("COUNTERSIGN_TMUX"), "tmux")
	for _, kind := range []string{"nvim", "hx"} {
		if own := os.Getenv("COUNTERSIGN_" + strings.ToUpper(kind)); own != "" {
			parts.editors = append(parts.editors, part{"own", kind, find(own, "")})
			continue
		}
		for _, suite := range []string{"trixie", "sid"} {
			parts.editors = append(parts.editors, part{suite, kind, find("", filepath.Join(".cache", suite, "bin", kind))})
		}
	}
	return m.Run()
}

func given(name string) (yes bool) {
	flag.Visit(func(f *flag.Flag) { yes = yes || f.Name == name })
	return yes
}

// find is the absolute path of a program: the one named, else the usual one.
func find(named, usual string) string {
	if named == "" {
		named = usual
	}
	path, err := exec.LookPath(named)
	if err != nil {
		return ""
	}
	if path, err = filepath.Abs(path); err != nil {
		return ""
	}
	return path
}

// missing skips the test, or fails it where the suite must be complete.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("COUNTERSIGN_E2E") == "1" {
		t.Fatal(what)
	}
	t.Skip(what)
}

// needAgent skips a test that cannot run without the real agent.
func needAgent(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("end-to-end tests are not short")
	}
	if parts.buildError != "" {
		t.Fatalf("countersign does not build: %s", parts.buildError)
	}
	if parts.claude == "" {
		missing(t, "no agent: run e2e/install.sh")
	}
}

// inEditors runs a scenario in every editor, each in a world of its own.
func inEditors(t *testing.T, scenario func(t *testing.T, w *world), options ...option) {
	t.Helper()
	inEditorsOf(t, "", scenario, options...)
}

// inEditorsOf runs a scenario in the editors of one kind.
func inEditorsOf(t *testing.T, kind string, scenario func(t *testing.T, w *world), options ...option) {
	t.Helper()
	needAgent(t)
	if parts.tmux == "" {
		missing(t, "no tmux: run e2e/install.sh")
	}
	for _, p := range parts.editors {
		if kind != "" && p.kind != kind {
			continue
		}
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			switch {
			case p.program != "":
			case p.suite == "sid": // where installable
				t.Skipf("no %s", p)
			default:
				missing(t, fmt.Sprintf("no %s: run e2e/install.sh", p))
			}
			scenario(t, newWorld(t, p, options...))
		})
	}
}
