package main

import (
	"context"

	"countersign/session/claude/scripted"
)

// runAgent is the scripted stand-in for the agent: it takes the flags of the
// real one, and follows a script instead of a model.
func runAgent(ctx context.Context, t *terminal, args []string) error {
	if code := scripted.Main(ctx, args, t.in, t.out, t.err); code != 0 {
		return exitError(code)
	}
	return nil
}
