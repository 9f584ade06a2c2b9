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
)

func send(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("send")
	w.flag(fs)
	to := fs.String("session", "", sessionUsage)
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
	return w.with(ctx, true, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error {
		info, err := c.Send(ctx, hub.SendParams{Text: text, Env: os.Environ(), Session: *to})
		if err != nil {
			return err
		}
		fmt.Fprintf(t.out, "sent; the session is %s\n", info.State)
		return nil
	})
}

func interrupt(ctx context.Context, t *terminal, args []string) error {
	var p hub.SessionParams
	return plain(ctx, t, "interrupt", args, func(fs *flag.FlagSet) {
		fs.StringVar(&p.Session, "session", "", sessionUsage)
	}, func(ctx context.Context, c *hub.Client) error {
		if err := c.InterruptSession(ctx, p); err != nil {
			return err
		}
		fmt.Fprintln(t.out, "the agent was told to stop its turn")
		return nil
	})
}

func newSession(ctx context.Context, t *terminal, args []string) error {
	var p hub.NewSessionParams
	return plain(ctx, t, "new", args, func(fs *flag.FlagSet) {
		fs.BoolVar(&p.Beside, "beside", false, "leave the current session as it is, and start another beside it")
	}, func(ctx context.Context, c *hub.Client) error {
		info, err := c.NewSessionWith(ctx, p)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.out, "session %s is new; the next prompt starts its agent\n", info.Name)
		return nil
	})
}

func stop(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	var p hub.SessionParams
	fs := newFlags("stop")
	w.flag(fs)
	fs.StringVar(&p.Session, "session", "", sessionUsage)
	whole := fs.Bool("hub", false, "end the hub of this workspace, with all its sessions")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	if err := refuseAgent(); err != nil {
		return err
	}
	err := w.with(ctx, false, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error {
		if *whole {
			return c.Stop(ctx)
		}
		info, err := c.StopSession(ctx, p)
		if err == nil {
			fmt.Fprintf(t.out, "session %s has stopped; countersign resume goes on with it\n", info.Name)
		}
		return err
	})
	var other *hub.Error
	if *whole && errors.As(err, &other) && other.Code == hub.CodeVersion {
		err = w.stopHub(ctx)
	}
	if err == nil && *whole {
		fmt.Fprintln(t.out, "the hub has ended, and its agents with it")
	}
	return err
}

// plain is a subcommand without arguments that needs a running hub and is not
// for agents. more adds its flags.
func plain(ctx context.Context, t *terminal, name string, args []string, more func(*flag.FlagSet), f func(context.Context, *hub.Client) error) error {
	var w workspace
	fs := newFlags(name)
	w.flag(fs)
	more(fs)
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	if err := refuseAgent(); err != nil {
		return err
	}
	return w.with(ctx, false, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error { return f(ctx, c) })
}

// sessionUsage describes the flag that names a session.
const sessionUsage = "the `SESSION` meant, by its name (default: the current one)"

func version(_ context.Context, t *terminal, _ []string) error {
	_, err := fmt.Fprintf(t.out, "countersign %s\n", hub.Version())
	return err
}
