package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"countersign/approvals"
	"countersign/session/hub"
)

// journalName is the journal's file in the storage.
const journalName = "journal.jsonl"

// printLog prints the journal of a workspace, whether its hub runs or not.
func printLog(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	flags := newFlags("log")
	w.flag(flags)
	asJSON := flags.Bool("json", false, "print the journal's lines as they are")
	brief := flags.Bool("brief", false, "leave out diffs and texts")
	verify := flags.Bool("verify", false, "check that no line was changed, taken out or put in, and which approved files still have that content")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	path, err := w.journal(ctx)
	if err != nil {
		return err
	}
	switch {
	case *verify:
		lines, err := approvals.VerifyChain(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.out, "%s: all %d lines hold together\n", path, lines)
		records, err := approvals.ReadJournal(path)
		if err != nil {
			return err
		}
		files := approvals.VerifyFiles(records, nil)
		_, err = io.WriteString(t.out, approvals.RenderFiles(files, approvals.LogOptions{Location: time.Local, Color: t.colour}))
		return err
	case *asJSON:
		return copyFile(t.out, path)
	}
	records, err := approvals.ReadJournal(path)
	if err != nil {
		return err
	}
	_, err = io.WriteString(t.out, approvals.RenderLog(records, approvals.LogOptions{Location: time.Local, Color: t.colour, Brief: *brief}))
	return err
}

// journal finds the journal of the workspace: the first candidate that has one.
func (w *workspace) journal(ctx context.Context) (string, error) {
	// A running hub completes what it has begun to write.
	_ = w.with(ctx, false, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error { return c.Log(ctx) })
	dirs, err := w.candidates()
	if err != nil {
		return "", err
	}
	for _, dir := range dirs {
		storage, err := hub.StorageOf(dir)
		if err != nil {
			return "", err
		}
		path := filepath.Join(storage, journalName)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no journal for %s: no agent has asked anything there yet", dirs[0])
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
