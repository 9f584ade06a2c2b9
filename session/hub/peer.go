package hub

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
)

// A peer is the process at the other end of a connection, as the system names
// it. Where the system does not, its pid is 0.
type peer struct {
	uid     uint32
	pid     int
	started string // when that process began, in the system's own form; "" when it could not be seen
	alive   func() bool
	release func()
}

// maxAncestors bounds a walk that a changing process table could keep going.
const maxAncestors = 1000

// mayDecide says why the process behind p may not settle anything: it descends
// from an agent, or cannot be told from one. The agents are children of the hub,
// and orphans of theirs come back to it where the system lets it adopt them.
// It is asked when the peer connects, which is when it has the most ancestors: a
// process whose parent ends goes to one further up that adopts, or to init, and
// so loses ancestors but never gains one. For each decision only [peer.there] is
// asked again; walking up takes as long as all the rest of a decision. Beyond
// that is what another program does at an agent's
// asking: a job scheduler, a terminal multiplexer, an editor's own socket.
func (p peer) mayDecide(hub int) error {
	if p.pid == 0 || p.pid == hub {
		return nil
	}
	if err := p.there(); err != nil {
		return err
	}
	err := errMoved
	for try := 0; try < 20 && errors.Is(err, errMoved); try++ {
		err = descends(p.pid, hub)
	}
	if err != nil {
		return err
	}
	return p.there()
}

// there says if the process that connected is gone: what its connection says
// then is another's word.
func (p peer) there() error {
	if p.pid != 0 && !p.alive() {
		return fmt.Errorf("the process that connected, pid %d, is gone", p.pid)
	}
	return nil
}

// errMoved: an ancestor ended while the line of ancestors was walked, and what
// it had started has another parent by now.
var errMoved = errors.New("the ancestors of the process change all the time")

// descends says why the process pid descends from an agent.
func descends(pid, hub int) error {
	for at, n := pid, 0; at > 1 && (at == pid || !hidden(at)); n++ {
		if n == maxAncestors {
			return errMoved
		}
		if marked(at) {
			return fmt.Errorf("process %d was started by an agent", pid)
		}
		parent, err := parentOf(at)
		switch {
		case err != nil && at == pid:
			return fmt.Errorf("process %d cannot be seen: %w", pid, err)
		case err != nil:
			return errMoved
		case parent == hub:
			return fmt.Errorf("process %d was started by an agent of this hub", pid)
		}
		at = parent
	}
	return nil
}

// peerOf asks the system who is at the other end.
func peerOf(c *net.UnixConn) (peer, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return peer{}, err
	}
	var p peer
	var inner error
	if err := raw.Control(func(fd uintptr) { p, inner = peerOfSocket(fd) }); err != nil {
		return peer{}, err
	}
	if inner != nil {
		return peer{}, fmt.Errorf("the peer cannot be identified: %w", inner)
	}
	if p.alive == nil {
		pid, started := p.pid, p.started
		p.alive = func() bool {
			now, err := startOf(pid)
			return err == nil && now == started && started != ""
		}
	}
	if p.release == nil {
		p.release = func() {}
	}
	return p, nil
}

// ours says whether the peer is of this user, as far as the system tells.
func (p peer) ours() error {
	if (runtime.GOOS == "linux" || runtime.GOOS == "darwin") && int64(p.uid) != int64(os.Geteuid()) {
		return fmt.Errorf("process %d is another user's (uid %d, not %d)", p.pid, p.uid, os.Geteuid())
	}
	return nil
}
