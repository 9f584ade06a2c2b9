package hub

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/session"
	"countersign/session/claude"
	"countersign/session/rpc"
	"countersign/staging"
)

// journalName is the journal's file in the storage.
const journalName = "journal.jsonl"

// JournalPath is where the journal of a storage lies.
func JournalPath(storage string) string { return filepath.Join(storage, journalName) }

// prepareAfter is when the next request is made ready for: what follows from
// the last one has the processor to itself until then.
const prepareAfter = 10 * time.Millisecond

// assemble puts the desk, the journal, the storage and the session together.
func (h *hub) assemble(o RunOptions) error {
	store, err := staging.Open(h.record.Storage)
	if err != nil {
		return fmt.Errorf("the storage cannot be used: %w", err)
	}
	// From here on the storage has the name that editors and URIs will report.
	h.record.Storage = store.Dir()
	journal, err := approvals.OpenJournal(JournalPath(store.Dir()), o.Now)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	store.Prepare()
	h.prepare = func() { time.AfterFunc(prepareAfter, store.Prepare) }
	h.closed = func() error { return errors.Join(journal.Close(), store.Close()) }
	h.flush = journal.Flush
	if err := h.recoverLost(journal); err != nil {
		// What was lost stays lost, whether it is written down or not.
		h.log.Warn("the journal of the hub before cannot be read", zap.Error(err))
	}

	d := approvals.NewDesk(approvals.DeskOptions{
		Now: o.Now, Stage: store.Stage, StageHashed: store.StageHashed, Journal: journal, Notify: h.approvalChanged,
		Unstage: func(id string) {
			if err := store.Remove(id); err != nil {
				h.log.Warn("a staged document cannot be removed", zap.Error(err))
			}
		},
	})
	h.desk = d
	h.policy = func(s session.Settings) {
		d.SetPolicy(approvals.Policy{ReviewEdits: s.ReviewEdits, MaxPreview: s.MaxPreviewBytes})
	}
	h.policy(h.settings)
	h.refused = func(id, text string, by approvals.By) {
		if err := journal.Append(approvals.Record{Kind: approvals.RecordRefused, ID: id, By: by, Event: text}); err != nil {
			h.log.Warn("a refusal cannot be journalled", zap.Error(err))
		}
	}
	starter := o.Starter
	if starter == nil {
		starter = claude.Starter{Log: h.log}
	}
	if h.scribe, err = newScribe(store.Dir(), o.Now, h.log, func(c TranscriptChange) { h.broadcast(NotifyTranscript, c) }); err != nil {
		return errors.Join(err, h.closed())
	}
	closed := h.closed
	h.closed = func() error { return errors.Join(h.scribe.close(), closed()) }
	h.talks = newRoster(func(name string) *opened {
		c := &opened{name: name, story: h.scribe.begin(name, h.record.Root)}
		c.conversation = session.New(session.Options{
			Desk: d, Starter: starter, Dir: h.record.Root, Marker: h.record.Storage, Name: name,
			Notify: func(i session.Info) {
				c.story.changed(i)
				h.sessionChanged(i)
			},
			Report: h.report, Observe: c.story.event,
			Clear: func() {
				c.story.renew()
				if err := store.Clear(d.Needs); err != nil {
					h.log.Warn("staged documents cannot be cleared", zap.Error(err))
				}
			},
		})
		return c
	})
	if o.OwnProcess {
		h.started = func() { h.left.Go(h.noteAgents) }
	}
	return nil
}

// recoverLost writes down what became of the approvals that were pending when a
// hub before this one was killed: their agent is gone, and nobody decided.
func (h *hub) recoverLost(journal *approvals.Journal) error {
	if !h.unclean {
		return nil
	}
	records, err := approvals.ReadJournal(journal.Path())
	if err != nil {
		return err
	}
	h.lost = map[string]approvals.Approval{}
	open := map[string]approvals.Record{}
	var order []string
	for _, r := range records {
		switch r.Kind {
		case approvals.RecordRegistered:
			open[r.ID] = r
			order = append(order, r.ID)
		case approvals.RecordSettled, approvals.RecordReplaced:
			delete(open, r.ID)
		}
	}
	var errs []error
	for _, id := range order {
		r, ok := open[id]
		if !ok {
			continue
		}
		document := h.lostDocument(journal, r)
		errs = append(errs, journal.Append(approvals.Record{
			Kind: approvals.RecordSettled, ID: r.ID, RequestID: r.RequestID, Session: r.Session, Agent: r.Agent,
			Tool: r.Tool, ToolUseID: r.ToolUseID, Surface: r.Surface, Title: r.Title, Path: r.Path,
			State: approvals.Withdrawn, By: approvals.By{FrontEnd: "countersign", How: "withdrawn"}, Reason: lostReason,
		}))
		h.lost[id] = approvals.Approval{
			ID: r.ID, Surface: r.Surface, Title: r.Title, Path: r.Path, State: approvals.Withdrawn,
			Request: approvals.Request{ID: r.RequestID, Tool: r.Tool, ToolUseID: r.ToolUseID, Session: r.Session, Input: r.Input},
			Since:   r.Time, Settled: h.record.Started, Reason: lostReason, Staged: document,
		}
		h.log.Warn("an approval was lost with its agent", zap.String("id", id))
	}
	return errors.Join(errs...)
}

const lostReason = "lost with its agent: the hub was killed"

// ruleWords says in words what each suggestion of a request lets through.
func ruleWords(a approvals.Approval) []string {
	if len(a.Request.Suggestions) == 0 {
		return nil
	}
	words := make([]string, 0, len(a.Request.Suggestions))
	for _, s := range a.Request.Suggestions {
		words = append(words, approvals.RuleWords(s))
	}
	return words
}

// settleError gives what the desk answers its code.
func settleError(err error) error {
	var (
		unknownID *approvals.UnknownError
		settled   *approvals.SettledError
		stale     *approvals.StaleError
		refused   *approvals.RefusedError
	)
	switch {
	case errors.As(err, &unknownID):
		return rpc.Errorf(CodeUnknown, "%v", err)
	case errors.As(err, &settled):
		return withApproval(CodeSettled, err, &settled.Approval)
	case errors.As(err, &stale):
		return withApproval(CodeStale, err, &stale.New)
	case errors.As(err, &refused):
		return withPlace(err, refused)
	}
	return sessionError(err)
}
