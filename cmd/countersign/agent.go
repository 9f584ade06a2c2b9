package main

import (
	"context"
	"fmt"
	"os"

	"countersign/session/claude/scripted"
)

// runAgent is the scripted stand-in for the agent: it takes the flags of the
// real one and ignores them, and follows a script instead of a model.
func runAgent(ctx context.Context, t *terminal, args []string) error {
	name, log := "demo", ""
	for i := 0; i+1 < len(args); i++ {
		switch args[i] {
		case "--script":
			name = args[i+1]
		case "--log":
			log = args[i+1]
		}
	}
	script := scripted.Demo()
	if name != "demo" {
		var err error
		if script, err = scripted.Load(name); err != nil {
			return err
		}
	}
	script.Stderr = t.err
	if log != "" {
		f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("open the log of what the model is told: %w", err)
		}
		defer f.Close()
		script.Log = f
	}
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("find the working directory: %w", err)
	}
	if err := scripted.Run(ctx, t.in, t.out, script, dir); err != nil {
		return exitError(scripted.ExitCode(err))
	}
	return nil
}
