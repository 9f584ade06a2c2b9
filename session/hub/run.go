package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"countersign/session"
)

// RunOptions say how a hub runs. Only Root is needed.
type RunOptions struct {
	Root    string          // the workspace
	Storage string          // the setting "storage"; "": "state"
	Starter session.Starter // starts agents; nil: the real CLI
	Log     *zap.Logger     // nil: nothing is logged
	Idle    time.Duration   // how long an unused hub stays; 0: 10 s
	Now     func() time.Time
	// Ready is told once: nil when the hub can be connected to, or why it
	// cannot be. Run returns the same error.
	Ready func(error)
	// OwnProcess: this process is nothing but the hub. It adopts and reaps the
	// orphans of its agents, and ends them with itself.
	OwnProcess bool

	// For tests; nil: the real ones.
	after  func(time.Duration, func()) (stop func() bool)
	peerOf func(*net.UnixConn) (peer, error)
}

// IsHeld says whether an error of Run means that another hub already runs for
// this workspace.
func IsHeld(err error) bool { return errors.Is(err, errHeld) }

// Run is the hub process: it returns when the hub has ended, by itself, asked
// to, or because ctx ended. What is pending then is withdrawn, never decided.
func Run(ctx context.Context, o RunOptions) error {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	ready := o.Ready
	if ready == nil {
		ready = func(error) {}
	}
	p, err := placesOf(o.Root)
	if err == nil {
		err = privateFolder(p.state)
	}
	if err != nil {
		ready(err)
		return err
	}
	lock, err := takeLock(p.lockFile())
	if err != nil {
		ready(err)
		return err
	}
	defer lock.Close()
	if err := run(ctx, o, p, ready); err != nil {
		o.Log.Error("the hub ended", zap.Error(err))
		return err
	}
	return nil
}

// run runs the hub while the lock is held.
func run(ctx context.Context, o RunOptions, p places, ready func(error)) (err error) {
	begun := false
	defer func() {
		if !begun {
			ready(err)
		}
	}()
	storage, err := p.storage(o.Storage)
	if err != nil {
		return err
	}
	if err := prepareStorage(p, storage); err != nil {
		return err
	}
	endLeftovers(storage, o.Log)

	rec := record{Version: Version(), PID: os.Getpid(), Started: o.Now().UTC(), Root: p.root, Storage: storage}
	if rec.Socket, err = p.socketPath(); err != nil {
		return err
	}
	h := newHub(rec, o.Log)
	if o.Idle > 0 {
		h.idle = o.Idle
	}
	if o.after != nil {
		h.after = o.after
	}
	if o.peerOf != nil {
		h.peerOf = o.peerOf
	}
	// A hub that ended in order has said so in its record.
	if last, err := readRecord(p.state); err == nil {
		h.unclean = !last.ended()
	}
	if err := h.assemble(o); err != nil {
		return err
	}
	rec = h.record
	listener, err := listen(rec.Socket)
	if err != nil {
		return errors.Join(err, h.closed())
	}
	stopReaping := func() {}
	if o.OwnProcess {
		stopReaping = h.adopt()
	}
	if err := writeRecords(rec, p); err != nil {
		listener.Close()
		stopReaping()
		return errors.Join(fmt.Errorf("hub.json cannot be written: %w", err), h.closed())
	}

	// Front ends outlive ctx by a moment: they see what is withdrawn.
	fronts, endFronts := context.WithCancel(context.WithoutCancel(ctx))
	accepting, accepted := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(accepted)
		accepting <- h.accept(fronts, listener)
	}()
	h.reckon()
	begun = true
	ready(nil)
	o.Log.Info("the hub runs", zap.String("root", rec.Root), zap.String("socket", rec.Socket), zap.String("version", rec.Version))

	select {
	case <-ctx.Done():
		h.stop("told to end")
	case err = <-accepting:
		err = fmt.Errorf("the socket broke: %w", err)
		h.stop("the socket broke")
	case <-h.stopping:
	}
	h.mu.Lock()
	reason := h.reason
	h.mu.Unlock()
	o.Log.Info("the hub ends", zap.String("reason", reason))

	listener.Close() // also takes the socket away
	<-accepted       // nobody comes any more
	err = errors.Join(err, h.windUp(endFronts, stopReaping))
	rec.Ended = o.Now().UTC()
	return errors.Join(err, writeRecords(rec, p))
}

// windUp ends the agents, which decides nothing, then the front ends, then what
// the agents left.
func (h *hub) windUp(endFronts, stopReaping func()) error {
	err := h.talks.close()
	endFronts()
	h.left.Wait()
	stopReaping()
	h.reckon() // stops the idle timer
	h.forgetAgents()
	return errors.Join(err, h.closed())
}

// prepareStorage makes the folder ready before anything is written to it. In a
// workspace it hides itself from version control.
func prepareStorage(p places, storage string) error {
	if storage == p.state {
		return nil
	}
	if err := privateFolder(storage); err != nil {
		return fmt.Errorf("the storage cannot be used: %w", err)
	}
	if filepath.Dir(storage) != p.root {
		return nil
	}
	ignore := filepath.Join(storage, ".gitignore")
	if _, err := os.Lstat(ignore); errors.Is(err, os.ErrNotExist) {
		if err := os.WriteFile(ignore, []byte("*\n"), 0o600); err != nil {
			return fmt.Errorf("the storage cannot be used: %w", err)
		}
	}
	return nil
}

// writeRecords makes the hub, or its end, known: from its root, and from its
// storage alone.
func writeRecords(rec record, p places) error {
	if rec.Storage != p.state {
		if err := rec.write(rec.Storage); err != nil {
			return err
		}
	}
	return rec.write(p.state)
}
