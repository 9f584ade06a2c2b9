package main

import (
	"context"

	"countersign/session/hub"
)

// runHub is the process that owns the sessions and the desk of a workspace.
// Front ends start it; people have no need to.
func runHub(ctx context.Context, _ *terminal, args []string) error {
	return hub.Main(ctx, args, hub.RunOptions{})
}
