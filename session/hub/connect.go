package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"countersign/session"
)

// ConnectOptions say which hub a front end wants, and as what.
type ConnectOptions struct {
	Root     string           // the workspace
	Name     string           // of the front end, for people and the journal
	Settings session.Settings // zero: those that the hub has stay
	Watch    bool             // this front end shows approvals and wants events
	Start    bool             // start a hub if none runs
	// Executable is the program, and its first arguments, that is started as
	// the hub; nil: this one.
	Executable []string
}

// ErrNotRunning: no hub runs, and none was to be started.
var ErrNotRunning = errors.New("no hub runs for this workspace")

// How long Connect goes on trying to reach or start a hub, and to replace one
// of another version.
const connectPatience = 10 * time.Second

// Connect attaches to the hub of a workspace, and starts one when o.Start says
// so. The client returned outlives ctx.
func Connect(ctx context.Context, o ConnectOptions) (*Client, AttachResult, error) {
	p, err := placesOf(o.Root)
	if err != nil {
		return nil, AttachResult{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectPatience, silent{p})
	defer cancel()
	wait := newBackoff()
	replaced, starts := false, 0
	for {
		c, at, err := attachAt(ctx, p.state, o)
		var answered *Error
		switch {
		case err == nil:
			return c, at, nil
		case ctx.Err() != nil:
			return nil, AttachResult{}, context.Cause(ctx)
		case errors.Is(err, errForeign):
			return nil, AttachResult{}, err
		case !errors.As(err, &answered): // there is none, or none any more
			if !o.Start {
				return nil, AttachResult{}, fmt.Errorf("%w: %s", ErrNotRunning, p.root)
			}
			held, err := start(ctx, p, o)
			if err != nil {
				return nil, AttachResult{}, err
			}
			if starts++; !held && starts == 1 {
				continue // it is ready
			}
		case answered.Code == CodeVersion && o.Start && !replaced:
			// An upgrade: a hub of the version before goes, unless it is in use.
			if err := stopOther(ctx, p.state, o, false); err != nil {
				return nil, AttachResult{}, err
			}
			replaced = true
		case answered.Code != int(codeEnding):
			return nil, AttachResult{}, err
		case !o.Start:
			return nil, AttachResult{}, fmt.Errorf("%w: %s", ErrNotRunning, p.root)
		}
		// A hub is about to be ready, or to end.
		if err := wait.next(ctx); err != nil {
			return nil, AttachResult{}, err
		}
	}
}

// ErrSilent: a hub runs and does not answer. Errors of Connect wrap it.
var ErrSilent = errors.New("the hub does not answer")

// silent: the hub of some places does not answer.
type silent struct{ places places }

func (silent) Is(err error) bool { return err == ErrSilent }

func (s silent) Error() string {
	if pid, err := os.ReadFile(s.places.lockFile()); err == nil {
		return fmt.Sprintf("the hub of %s (pid %s) does not answer", s.places.root, strings.TrimSpace(string(pid)))
	}
	return fmt.Sprintf("the hub of %s does not answer", s.places.root)
}

// ConnectStorage attaches to the hub that owns a storage folder, such as the
// one that a staged path lies in.
func ConnectStorage(ctx context.Context, storage string, o ConnectOptions) (*Client, AttachResult, error) {
	rec, err := readRecord(storage)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, AttachResult{}, fmt.Errorf("%w: none is named in %s", ErrNotRunning, storage)
	}
	if err != nil {
		return nil, AttachResult{}, err
	}
	c, at, err := attachTo(ctx, rec, o)
	var answered *Error
	if err == nil || errors.As(err, &answered) && answered.Code != int(codeEnding) || errors.Is(err, errForeign) {
		return c, at, err
	}
	if !o.Start {
		return nil, AttachResult{}, fmt.Errorf("%w: %s", ErrNotRunning, rec.Root)
	}
	o.Root = rec.Root
	return Connect(ctx, o)
}

// attachAt attaches to the hub recorded in a folder.
func attachAt(ctx context.Context, dir string, o ConnectOptions) (*Client, AttachResult, error) {
	rec, err := readRecord(dir)
	if err != nil {
		return nil, AttachResult{}, err
	}
	return attachTo(ctx, rec, o)
}

// attachTo attaches to a recorded hub, if it is still there.
func attachTo(ctx context.Context, rec record, o ConnectOptions) (*Client, AttachResult, error) {
	if rec.ended() {
		return nil, AttachResult{}, ErrNotRunning
	}
	c, err := dial(ctx, rec)
	if err != nil {
		return nil, AttachResult{}, err
	}
	return introduce(ctx, c, o)
}

// introduce attaches a connected client.
func introduce(ctx context.Context, c *Client, o ConnectOptions) (*Client, AttachResult, error) {
	params := AttachParams{Version: Version(), PID: os.Getpid(), Name: o.Name, Watch: o.Watch}
	if len(o.Settings.Agent.Command) > 0 || o.Settings.ReviewEdits != "" {
		params.Settings = &o.Settings
	}
	at, err := call[AttachResult](ctx, c, MethodAttach, params)
	if err != nil {
		c.Close()
		return nil, AttachResult{}, err
	}
	return c, at, nil
}

// errForeign: what is to be the hub's socket is somebody else's.
var errForeign = errors.New("the hub's socket cannot be trusted")

// dial connects to a recorded hub. A socket that is not ours is refused: what
// is said to it would be said to somebody else.
func dial(ctx context.Context, rec record) (*Client, error) {
	if err := ourSocket(rec.Socket); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", errForeign, err)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", rec.Socket)
	if err != nil {
		return nil, err
	}
	if p, err := peerOf(conn.(*net.UnixConn)); err == nil {
		err = p.ours()
		p.release()
		if err != nil {
			conn.Close()
			return nil, fmt.Errorf("%w: %w", errForeign, err)
		}
	}
	return newClient(ctx, conn), nil
}

// StopHub ends the hub of a workspace because a person says so, even one of
// another version that is in use: nobody else could any more. What is pending
// there is withdrawn.
func StopHub(ctx context.Context, o ConnectOptions) error {
	p, err := placesOf(o.Root)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, connectPatience, fmt.Errorf("the hub of %s does not answer", p.root))
	defer cancel()
	return stopOther(ctx, p.state, o, true)
}

// stopOther ends a hub of another version. Without force it may say that it is in
// use.
func stopOther(ctx context.Context, dir string, o ConnectOptions, force bool) error {
	rec, err := readRecord(dir)
	if err != nil || rec.ended() {
		return nil // it has gone meanwhile
	}
	c, err := dial(ctx, rec)
	if err != nil {
		return nil
	}
	defer c.Close()
	// Attaching fails, but says who asks.
	_, _ = call[AttachResult](ctx, c, MethodAttach, AttachParams{Version: Version(), PID: os.Getpid(), Name: o.Name})
	err = tell(ctx, c, MethodStop, StopParams{Force: force})
	var answered *Error
	if errors.As(err, &answered) && answered.Code != int(codeEnding) {
		return err
	}
	select { // its socket is gone when its connections end
	case <-c.conn.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// A backoff waits a little, then longer.
type backoff struct{ d time.Duration }

func newBackoff() *backoff { return &backoff{2 * time.Millisecond} }

func (b *backoff) next(ctx context.Context) error {
	t := time.NewTimer(b.d)
	defer t.Stop()
	b.d = min(2*b.d, 50*time.Millisecond)
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
