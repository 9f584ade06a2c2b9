package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"countersign/session"
	"countersign/session/hub"
)

func send(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags(t, "send")
	w.flag(fs)
	rest, err := parse(fs, args)
	if err != nil {
		return err
	}
	text := strings.Join(rest, " ")
	if text == "-" {
		all, err := io.ReadAll(t.in)
		if err != nil {
			return fmt.Errorf("read the prompt from standard input: %w", err)
		}
		text = string(all)
	}
	if strings.TrimSpace(text) == "" {
		return usagef("write the prompt behind the subcommand, or - to read it from standard input")
	}
	if err := refuseAgent(); err != nil {
		return err
	}
	return w.with(ctx, true, func(c *hub.Client, _ hub.AttachResult) error {
		info, err := c.Send(ctx, hub.SendParams{Text: text, Env: os.Environ()})
		if err != nil {
			return err
		}
		fmt.Fprintf(t.out, "sent; the session is %s\n", info.State)
		return nil
	})
}

func interrupt(ctx context.Context, t *terminal, args []string) error {
	return plain(ctx, t, "interrupt", args, func(c *hub.Client) error {
		if err := c.Interrupt(ctx); err != nil {
			return err
		}
		fmt.Fprintln(t.out, "the agent was told to stop its turn")
		return nil
	})
}

func newSession(ctx context.Context, t *terminal, args []string) error {
	return plain(ctx, t, "new", args, func(c *hub.Client) error {
		info, err := c.NewSession(ctx)
		if err != nil {
			return err
		}
		if info.State == session.StateNone {
			fmt.Fprintln(t.out, "the next prompt starts a new session")
		} else {
			fmt.Fprintf(t.out, "a new session is %s\n", info.State)
		}
		return nil
	})
}

func stop(ctx context.Context, t *terminal, args []string) error {
	return plain(ctx, t, "stop", args, func(c *hub.Client) error {
		if err := c.Stop(ctx); err != nil {
			return err
		}
		fmt.Fprintln(t.out, "the hub has ended, and its agent with it")
		return nil
	})
}

// plain is a subcommand without arguments that needs a running hub and is not
// for agents.
func plain(ctx context.Context, t *terminal, name string, args []string, f func(*hub.Client) error) error {
	var w workspace
	fs := newFlags(t, name)
	w.flag(fs)
	rest, err := parse(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return usagef("it takes no argument %q", rest[0])
	}
	if err := refuseAgent(); err != nil {
		return err
	}
	return w.with(ctx, false, func(c *hub.Client, _ hub.AttachResult) error { return f(c) })
}

func version(_ context.Context, t *terminal, _ []string) error {
	_, err := fmt.Fprintf(t.out, "countersign %s\n", hub.Version())
	return err
}
