package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/hub"
)

func mode(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("mode")
	w.flag(fs)
	of := fs.String("session", "", sessionUsage)
	rest, err := parse(fs, args)
	switch {
	case err != nil:
		return err
	case len(rest) > 1:
		return usagef("one mode, not %q", rest)
	case len(rest) == 1:
		if _, ok := session.ModeNamed(rest[0]); !ok {
			return usagef("there is no mode %q: the modes are %v", rest[0], session.Modes())
		}
		if err := refuseAgent(); err != nil {
			return err
		}
	}
	return w.with(ctx, len(rest) == 1, func(ctx context.Context, c *hub.Client, state hub.AttachResult) error {
		info := state.Session
		if len(rest) == 1 {
			if info, err = c.SetMode(ctx, hub.ModeParams{Mode: rest[0], Session: *of}); err != nil {
				return err
			}
		}
		name := info.Mode
		if name == "" {
			name = "not known: the agent has not said"
		}
		fmt.Fprintf(t.out, "mode %s\n", name)
		if len(rest) == 1 && info.Mode != "" && !sameMode(info.Mode, rest[0]) {
			fmt.Fprintf(t.out, "%s follows with the next prompt\n", rest[0])
		}
		return nil
	})
}

// sameMode compares two names of modes in either spelling.
func sameMode(a, b string) bool {
	x, okX := session.ModeNamed(a)
	y, okY := session.ModeNamed(b)
	return okX && okY && x == y
}

func sessions(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("sessions")
	w.flag(fs)
	asJSON := fs.Bool("json", false, "print JSON, one array")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	var list []hub.SessionEntry
	err := w.with(ctx, true, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) (err error) {
		list, err = c.Sessions(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if *asJSON {
		if list == nil {
			list = []hub.SessionEntry{}
		}
		return printJSON(t, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(t.out, "there is no session yet")
		return nil
	}
	tw := tabwriter.NewWriter(t.out, 0, 8, 2, ' ', 0)
	for _, s := range list {
		mark, name, last := " ", s.Name, ""
		if s.Current {
			mark = "*"
		}
		if name == "" {
			name = s.ID
		}
		if !s.Last.IsZero() {
			last = ago(time.Since(s.Last))
		}
		fmt.Fprintf(tw, "%s %s\t%s\t%s\t%s\t%s\n", mark, name, s.State, s.Mode, last, oneLine(s.Title))
	}
	return tw.Flush()
}

func resume(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("resume")
	w.flag(fs)
	rest, err := parse(fs, args)
	if err != nil {
		return err
	}
	if len(rest) > 1 {
		return usagef("one session, not %q: countersign sessions lists them", rest)
	}
	if err := refuseAgent(); err != nil {
		return err
	}
	p := hub.ResumeParams{Env: os.Environ()}
	if len(rest) == 1 {
		p.Session = rest[0]
	}
	return w.with(ctx, true, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error {
		info, err := c.Resume(ctx, p)
		if err != nil {
			return err
		}
		fmt.Fprintf(t.out, "session %s is the current one (%s)\n", info.Name, info.State)
		return nil
	})
}

func transcript(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("transcript")
	w.flag(fs)
	of := fs.String("session", "", sessionUsage)
	onlyPath := fs.Bool("path", false, "print only where its file lies")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	return w.with(ctx, true, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error {
		tr, err := c.Transcript(ctx, hub.SessionParams{Session: *of})
		if err != nil {
			return err
		}
		if *onlyPath {
			fmt.Fprintln(t.out, tr.Path)
			return nil
		}
		_, err = io.WriteString(t.out, approvals.Visible(tr.Text))
		return err
	})
}
