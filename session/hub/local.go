package hub

import (
	"context"
	"net"
	"os"
	"time"

	"go.uber.org/zap"
)

// A Local is a hub inside this process, reached over pipes in memory: the same
// desk, session, journal and wire as the hub process has, without its election,
// its socket and its idle end. Front ends are tested against it.
type Local struct {
	hub       *hub
	fronts    context.Context
	endFronts context.CancelFunc
}

// NewLocal makes a hub for o.Root with its storage in a folder that exists.
func NewLocal(o RunOptions, storage string) (*Local, error) {
	if o.Log == nil {
		o.Log = zap.NewNop()
	}
	rec := record{Version: Version(), PID: os.Getpid(), Started: o.Now().UTC(), Root: o.Root, Storage: storage}
	h := newHub(rec, o.Log)
	h.after = func(_ time.Duration, _ func()) func() bool { return func() bool { return true } }
	if err := h.assemble(o); err != nil {
		return nil, err
	}
	l := &Local{hub: h}
	l.fronts, l.endFronts = context.WithCancel(context.Background())
	return l, nil
}

// Storage is the hub's storage, by the name that staged paths have.
func (l *Local) Storage() string { return l.hub.record.Storage }

// Connect attaches a front end.
func (l *Local) Connect(ctx context.Context, o ConnectOptions) (*Client, AttachResult, error) {
	ours, theirs := net.Pipe()
	me := peer{uid: uint32(max(os.Geteuid(), 0)), pid: l.hub.pid, alive: func() bool { return true }, release: func() {}}
	l.hub.enter(l.fronts, ours, me)
	return introduce(ctx, newClient(ctx, theirs), o)
}

// Close ends the hub: what is pending is withdrawn, never decided.
func (l *Local) Close() error {
	l.hub.stop("closed")
	return l.hub.windUp(l.endFronts, func() {})
}
