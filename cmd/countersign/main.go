// Command countersign brings the approvals of an AI coding agent into any
// editor that speaks the Language Server Protocol.
//
// Subcommands of one family share a file. Each parses its flags, calls the
// packages below and turns errors into one line on standard error and an exit
// code: 0 done, 1 failed, 2 called wrongly, 3 refused (an approval that is
// settled or unknown, or a decision that may not be taken).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"countersign/session/hub"

	"golang.org/x/term"
)

// Exit codes of every subcommand.
const (
	exitOK      = 0
	exitFailed  = 1
	exitUsage   = 2
	exitRefused = 3
)

// A terminal is what a subcommand reads and writes.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	colour   bool // out is a terminal that shows colours
	asks     bool // in is a terminal, with a person at it
}

// A command is one subcommand.
type command struct {
	name    string
	args    string // shown after the name in the usage line
	summary string
	hidden  bool // for Countersign itself, not for people
	run     func(ctx context.Context, t *terminal, args []string) error
}

// A usageError says that the command line itself is wrong.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// An exitError ends the program with a code and no further word.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

func commands() []command {
	return []command{
		{name: "serve", summary: "the language server, on stdin and stdout (also without a subcommand)", run: serve},
		{name: "demo", args: "[--editor nvim|hx] [--agent scripted|claude]", summary: "show the main job on a scratch project", run: demo},
		{name: "send", args: "[--session S] TEXT…", summary: "send the agent a prompt; starts a session if none runs", run: send},
		{name: "pending", args: "[--json]", summary: "list the approvals that wait", run: pending},
		{name: "show", args: "ID", summary: "show an approval in full, with its diff and its choices", run: show},
		{name: "allow", args: "ID [--session | --rule N | --mode M]", summary: "allow it as its document now reads", run: allow},
		{name: "deny", args: "ID [-m WHY] [--edits] [--stop]", summary: "deny it, and tell the agent why", run: deny},
		{name: "answer", args: "ID [QUESTION=]LABEL…", summary: "answer a question of the agent", run: answer},
		{name: "mode", args: "[NAME]", summary: "say how far the session may go without asking, or change it", run: mode},
		{name: "interrupt", summary: "end the turn that runs", run: interrupt},
		{name: "sessions", args: "[--json]", summary: "list the sessions of this workspace, open and earlier ones", run: sessions},
		{name: "new", args: "[--beside]", summary: "begin a new session, in the place of the current one or beside it", run: newSession},
		{name: "resume", args: "[SESSION]", summary: "go on with an earlier session, the last one by default", run: resume},
		{name: "stop", args: "[--hub]", summary: "end the session's agent (it can be resumed), or the whole hub", run: stop},
		{name: "transcript", args: "[--path]", summary: "print what happened in the session", run: transcript},
		{name: "status", args: "[--json]", summary: "say how the hub and its session do", run: status},
		{name: "log", args: "[--json] [--verify]", summary: "print the journal of decisions", run: printLog},
		{name: "version", summary: "print the version", run: version},
		{name: "hub", hidden: true, run: runHub},
		{name: "agent", hidden: true, run: runAgent},
	}
}

func main() {
	t := &terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr, colour: showsColour(os.Stdout), asks: term.IsTerminal(int(os.Stdin.Fd()))}
	os.Exit(run(context.Background(), t, os.Args[1:]))
}

// run dispatches to a subcommand and gives the exit code.
func run(ctx context.Context, t *terminal, args []string) int {
	name := "serve"
	if len(args) > 0 {
		switch args[0] {
		case "help", "-h", "--help", "-help":
			printUsage(t.out)
			return exitOK
		case "--version", "-version":
			name, args = "version", args[1:]
		default:
			if !strings.HasPrefix(args[0], "-") {
				name, args = args[0], args[1:]
			}
		}
	}
	for _, c := range commands() {
		if c.name != name {
			continue
		}
		return exitCode(t, c, c.run(ctx, t, args))
	}
	fmt.Fprintf(t.err, "countersign: there is no subcommand %q; countersign help lists them\n", name)
	return exitUsage
}

// exitCode tells the person about err and gives the code to exit with.
func exitCode(t *terminal, c command, err error) int {
	var code exitError
	var usage usageError
	var refused *hub.Error
	var inside exitRefusedError
	var help helpError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &help):
		fmt.Fprintf(t.out, "usage: %s\n%s\n\n", strings.TrimSpace("countersign "+c.name+" "+c.args), c.summary)
		help.flags.SetOutput(t.out)
		help.flags.PrintDefaults()
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintf(t.err, "countersign %s: %v\nusage: %s\n", c.name, err, strings.TrimSpace("countersign "+c.name+" "+c.args))
		return exitUsage
	case errors.As(err, &refused), errors.As(err, &inside):
		fmt.Fprintf(t.err, "countersign %s: %v\n", c.name, err)
		return exitRefused
	}
	fmt.Fprintf(t.err, "countersign %s: %v\n", c.name, err)
	return exitFailed
}

func printUsage(w io.Writer) {
	fmt.Fprint(w, "Countersign: read, amend and decide what your coding agent proposes, in your own editor.\n\nusage: countersign [SUBCOMMAND] [FLAGS]\n\n")
	for _, c := range commands() {
		if !c.hidden {
			fmt.Fprintf(w, "  %-44s %s\n", strings.TrimSpace(c.name+" "+c.args), c.summary)
		}
	}
	fmt.Fprint(w, "\nEvery subcommand that concerns a workspace takes --root DIR (default: the workspace around the current directory).\n")
}

// newFlags makes a flag set that prints nothing by itself: exitCode says what is
// wrong, or helps, once.
func newFlags(name string) *flag.FlagSet {
	fs := flag.NewFlagSet("countersign "+name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	return fs
}

// A helpError says that the flags of a subcommand were asked for.
type helpError struct{ flags *flag.FlagSet }

func (helpError) Error() string { return flag.ErrHelp.Error() }

// given tells whether a flag was named at all: 0 may be a mistake, too.
func given(fs *flag.FlagSet, name string) (yes bool) {
	fs.Visit(func(f *flag.Flag) { yes = yes || f.Name == name })
	return yes
}

// parse reads flags and positional arguments in any order: people write
// "deny ID -m why" as well as "deny -m why ID". After "--" nothing is a flag.
func parse(fs *flag.FlagSet, args []string) ([]string, error) {
	var positional []string
	for {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, helpError{fs}
			}
			return nil, usageError{err}
		}
		rest := fs.Args()
		if len(rest) == 0 {
			return positional, nil
		}
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			return append(positional, rest...), nil
		}
		positional = append(positional, rest[0])
		args = rest[1:]
	}
}

// parseFlags is parse for a subcommand that takes flags only.
func parseFlags(fs *flag.FlagSet, args []string) error {
	rest, err := parse(fs, args)
	if err == nil && len(rest) > 0 {
		return usagef("it takes no argument %q", rest[0])
	}
	return err
}

// showsColour reports whether f is a terminal that wants colours.
func showsColour(f *os.File) bool {
	if os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return false
	}
	st, err := f.Stat()
	return err == nil && st.Mode()&os.ModeCharDevice != 0
}
