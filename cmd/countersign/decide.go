package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"countersign/approvals"
	"countersign/session/claude"
	"countersign/session/hub"
)

// errInsideAgent is what a decision from an agent's own environment gets. The
// hub refuses such a caller by its process as well; this only says why, early.
var errInsideAgent = errors.New("this runs inside an agent's session, and an agent cannot settle its own approvals: decide in your editor or in a terminal of your own")

// refuseAgent fails when the environment is that of an agent.
func refuseAgent() error {
	if os.Getenv(claude.MarkerVariable) != "" {
		return exitRefusedError{errInsideAgent}
	}
	return nil
}

// An exitRefusedError exits with exitRefused.
type exitRefusedError struct{ error }

func (e exitRefusedError) Unwrap() error { return e.error }

// settle sends a decision and says what it came to.
func (w *workspace) settle(ctx context.Context, t *terminal, p hub.SettleParams) error {
	return w.settleTold(ctx, t, p, false)
}

// settleTold is settle; told: the person has just been shown how the document
// was changed.
func (w *workspace) settleTold(ctx context.Context, t *terminal, p hub.SettleParams, told bool) error {
	if err := refuseAgent(); err != nil {
		// The hub is told all the same: it journals the attempt and shows it.
		_ = w.with(ctx, false, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error {
			_, err := c.Settle(ctx, p)
			return err
		})
		return err
	}
	p.How = "command"
	return w.with(ctx, false, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error {
		done, err := c.Settle(ctx, p)
		if err != nil {
			return err
		}
		word := t.paint(green, "allowed")
		if done.Approval.State != "allowed" {
			word = t.paint(yellow, string(done.Approval.State))
		}
		if done.Approval.Amended {
			word += " as amended"
		}
		fmt.Fprintf(t.out, "%s: %s\n", word, approvals.Visible(done.Approval.Title))
		for _, n := range done.Notes {
			fmt.Fprintf(t.out, "  %s\n", approvals.Visible(n.Text))
		}
		if !told {
			fmt.Fprint(t.out, t.diff(approvals.Visible(done.Amendment)))
		}
		return nil
	})
}

// oneID takes the approval's id, the only positional argument.
func oneID(args []string) (string, error) {
	switch {
	case len(args) == 1:
		return args[0], nil
	case len(args) == 0:
		return "", usagef("name the approval: countersign pending lists them")
	}
	return "", usagef("one approval at a time, not %q", args)
}

func allow(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("allow")
	w.flag(fs)
	forSession := fs.Bool("session", false, "allow this kind of request for the rest of the session")
	rule := fs.Int("rule", 0, "allow with the rule number `N` that countersign show lists (from 1)")
	mode := fs.String("mode", "", "of a plan: the `MODE` that follows, one that countersign show lists")
	rest, err := parse(fs, args)
	if err != nil {
		return err
	}
	p := hub.SettleParams{Allow: true, ForSession: *forSession, Mode: *mode}
	if p.ID, err = oneID(rest); err != nil {
		return err
	}
	ruled := given(fs, "rule")
	switch {
	case ruled && (*rule < 1 || *forSession):
		return usagef("--rule takes the number of one rule, from 1, and goes without --session")
	case ruled:
		a, err := w.approval(ctx, p.ID)
		if err != nil {
			return err
		}
		if *rule > len(a.Choices) {
			return usagef("there is no rule %d: %s has %d", *rule, p.ID, len(a.Choices))
		}
		choice := a.Choices[*rule-1]
		p.Suggestion, p.Destination = &choice.Suggestion, choice.Destination
	}
	told := false
	if refuseAgent() == nil {
		if told, err = w.shown(ctx, t, p.ID); err != nil {
			return err
		}
	}
	return w.settleTold(ctx, t, p, told)
}

// errNotAllowed is the end of an allow that the person took back.
var errNotAllowed = errors.New("nothing was decided")

// shown shows how an approval's document was changed since the agent asked, if
// that was not shown yet: other programs can write there. At a terminal it asks
// whether that is what the person wants to allow. What the hub then allows is
// what was shown, or nothing.
func (w *workspace) shown(ctx context.Context, t *terminal, id string) (told bool, err error) {
	var d hub.Detail
	err = w.with(ctx, false, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) (err error) {
		d, err = c.Show(ctx, hub.ShowParams{ID: id, ToPerson: true})
		return err
	})
	if err != nil || d.Approval.State != approvals.Pending || d.Amendment == "" || d.Seen {
		return false, err
	}
	fmt.Fprintf(t.out, "%s was changed since the agent asked:\n%s", approvals.Visible(d.Approval.Title), t.diff(approvals.Visible(d.Amendment)))
	if !t.asks {
		return true, nil
	}
	fmt.Fprint(t.err, "Allow it as it now reads? [y/N] ")
	answer, _ := bufio.NewReader(t.in).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return true, errNotAllowed
}

func deny(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("deny")
	w.flag(fs)
	var p hub.SettleParams
	fs.StringVar(&p.Message, "m", "", "`WHY`: what the agent reads")
	fs.BoolVar(&p.WithEdits, "edits", false, "send back what you changed in its document, as a diff")
	fs.BoolVar(&p.Interrupt, "stop", false, "end the agent's turn too (the agent does not read WHY then)")
	rest, err := parse(fs, args)
	if err != nil {
		return err
	}
	if p.ID, err = oneID(rest); err != nil {
		return err
	}
	return w.settle(ctx, t, p)
}

func answer(ctx context.Context, t *terminal, args []string) error {
	var w workspace
	fs := newFlags("answer")
	w.flag(fs)
	rest, err := parse(fs, args)
	if err != nil {
		return err
	}
	if len(rest) < 2 {
		return usagef("name the approval and at least one QUESTION=LABEL, or just LABEL when there is one question")
	}
	p := hub.SettleParams{ID: rest[0], Allow: true, Answers: map[string]string{}}
	if refuseAgent() != nil {
		return w.settle(ctx, t, p) // which refuses, whatever was asked
	}
	approval, err := w.approval(ctx, p.ID)
	if err != nil {
		return err
	}
	var questions []string
	for _, q := range approval.Questions {
		questions = append(questions, q.Question)
	}
	for _, a := range rest[1:] {
		question, label, ok := cutAnswer(a, questions)
		if !ok {
			return usagef("%q names none of the questions %q", a, questions)
		}
		if old := p.Answers[question]; old != "" {
			label = old + ", " + label
		}
		p.Answers[question] = label
	}
	return w.settle(ctx, t, p)
}

// approval looks an approval up.
func (w *workspace) approval(ctx context.Context, id string) (a hub.Approval, err error) {
	err = w.with(ctx, false, func(ctx context.Context, c *hub.Client, _ hub.AttachResult) error {
		d, err := c.Show(ctx, hub.ShowParams{ID: id})
		a = d.Approval
		return err
	})
	return a, err
}

// cutAnswer splits QUESTION=LABEL at the end of a question that was asked;
// with a single question the label alone is enough.
func cutAnswer(arg string, questions []string) (question, label string, ok bool) {
	for _, q := range questions {
		if label, ok := strings.CutPrefix(arg, q+"="); ok {
			return q, label, true
		}
	}
	if len(questions) == 1 {
		return questions[0], arg, true
	}
	return "", "", false
}
