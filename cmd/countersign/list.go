package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/approvals"
	"countersign/session/hub"
)

func pending(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("pending")
	w.flag(fs)
	asJSON := fs.Bool("json", false, "print JSON, one array")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	var list []hub.Approval
	err := w.with(ctx, false, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) (err error) {
		list, err = c.Pending(ctx)
		return err
	})
	if err != nil && !errors.Is(err, hub.ErrNotRunning) {
		return err
	}
	if *asJSON {
		if list == nil {
			list = []hub.Approval{}
		}
		return printJSON(t, list)
	}
	if len(list) == 0 {
		fmt.Fprintln(t.out, "nothing is pending")
		return nil
	}
	tw := tabwriter.NewWriter(t.out, 0, 8, 2, ' ', 0)
	for _, a := range list {
		who := ""
		if a.Agent != "" {
			who = " (" + approvals.Visible(a.Agent) + ")"
		}
		fmt.Fprintf(tw, "%s\t%s\t%s%s\n", a.ID, ago(time.Since(a.Since)), oneLine(a.Title), who)
	}
	return tw.Flush()
}

func show(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("show")
	w.flag(fs)
	asJSON := fs.Bool("json", false, "print JSON")
	rest, err := parse(fs, args)
	if err != nil {
		return err
	}
	id, err := oneID(rest)
	if err != nil {
		return err
	}
	return w.with(ctx, false, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error {
		d, err := c.Show(ctx, hub.ShowParams{ID: id, ToPerson: true})
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(t, d)
		}
		printDetail(t, d)
		return nil
	})
}

// printDetail prints an approval in full, for people.
func printDetail(t *terminal, d hub.Detail) {
	a := d.Approval
	fmt.Fprintf(t.out, "%s\n", t.paint(bold, approvals.Visible(a.Title)))
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(t.out, "  %-9s %s\n", name, approvals.Visible(value))
		}
	}
	row("id", a.ID)
	row("state", string(a.State)+stateWords(a))
	row("tool", a.Tool)
	row("asked by", a.Agent)
	row("file", a.Path)
	if a.Staged != nil {
		row("staged", a.Staged.Path)
	}
	for _, n := range a.Notes {
		row("note", n.Text)
	}
	row("session", a.SessionWords)
	for i, c := range a.Choices {
		row(fmt.Sprintf("rule %d", i+1), c.Words)
	}
	for _, m := range a.PlanModes {
		row("mode", m.Mode+": "+m.Words)
	}
	for _, q := range a.Questions {
		row("question", q.Question)
		for _, o := range q.Options {
			row("", "- "+strings.TrimSuffix(o.Label+": "+o.Description, ": "))
		}
	}
	if d.Diff != "" {
		fmt.Fprintf(t.out, "\n%s", t.diff(approvals.Visible(d.Diff)))
	} else if input := d.Input.Clone(); len(input) > 0 {
		_ = input.Indent(jsontext.WithIndent("  "))
		fmt.Fprintf(t.out, "\n%s\n", approvals.Visible(string(input)))
	}
	if d.Amendment != "" {
		fmt.Fprintf(t.out, "\nit was amended since; allowing it allows it with these changes:\n%s", t.diff(approvals.Visible(d.Amendment)))
	}
}

// stateWords say how and by whom an approval was settled.
func stateWords(a hub.Approval) string {
	words := ""
	if a.By.FrontEnd != "" {
		words += " by " + a.By.FrontEnd + " (" + a.By.How + ")"
	}
	if a.Reason != "" {
		words += ": " + a.Reason
	}
	if a.Outcome.State != "" {
		words += "; outcome " + strings.TrimSpace(a.Outcome.State+" "+a.Outcome.Detail)
	}
	return words
}

func status(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("status")
	w.flag(fs)
	asJSON := fs.Bool("json", false, "print JSON")
	if err := parseFlags(fs, args); err != nil {
		return err
	}
	return w.with(ctx, false, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error {
		st, err := c.Status(ctx)
		if err != nil {
			return err
		}
		if *asJSON {
			return printJSON(t, st)
		}
		fmt.Fprintf(t.out, "workspace  %s\nhub        process %d, version %s, up %s\nstorage    %s\nsession    %s\npending    %d\n",
			approvals.Visible(st.Root), st.PID, st.Version, ago(time.Since(st.Started)), approvals.Visible(st.Storage), sessionWords(st), st.Session.Pending)
		for _, f := range st.FrontEnds {
			fmt.Fprintf(t.out, "front end  %s\n", approvals.Visible(f))
		}
		return nil
	})
}

func sessionWords(st hub.Status) string {
	s := st.Session
	words := string(s.State)
	if s.ID != "" {
		words += ", id " + s.ID
	}
	if s.Mode != "" {
		words += ", mode " + s.Mode
	}
	if s.NextMode != "" {
		words += ", then " + s.NextMode
	}
	if s.Queued > 0 {
		words += fmt.Sprintf(", prompts that wait for the end of the turn: %d", s.Queued)
	}
	if s.Error != "" {
		words += ": " + s.Error
	}
	return approvals.Visible(words)
}

// printJSON prints v for programs.
func printJSON(t *terminal, v any) error {
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	_, err = fmt.Fprintf(t.out, "%s\n", b)
	return err
}

// oneLine makes text fit on one line of a list.
func oneLine(text string) string {
	return strings.Join(strings.Fields(approvals.Visible(text)), " ")
}

// ago says a duration in its largest unit.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
