package rpc

import (
	"bytes"
	"io"
	"net"
	"path/filepath"
	"testing"
)

// sockets are the two ends of a Unix socket.
func sockets(t *testing.T) (ours, theirs *net.UnixConn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); p.Close() })
	return c.(*net.UnixConn), p.(*net.UnixConn)
}

// A frame that the peer has room for is on its way when put returns, and what
// it has no room for follows in order, whoever writes it.
func TestQueueWritesWhatIsTakenAtOnce(t *testing.T) {
	ours, theirs := sockets(t)
	q := newQueue(ours, 64<<20, func(err error) { t.Error(err) })
	var want bytes.Buffer
	put := func(n int, with byte) {
		frame := bytes.Repeat([]byte{with}, n)
		want.Write(frame)
		if err := q.put(frame); err != nil {
			t.Fatal(err)
		}
	}
	put(100, 'a') // nobody runs the queue yet
	if q.size != 0 || len(q.frames) != 0 {
		t.Fatalf("%d bytes wait although the peer has room", q.size)
	}
	for i := range 40 { // more than fits
		put(100_000, byte('b'+i%20))
	}
	if q.size == 0 {
		t.Fatal("nothing waits although the peer does not read")
	}
	go q.run()
	got := make(chan []byte)
	go func() {
		all, _ := io.ReadAll(theirs)
		got <- all
	}()
	for i := range 1000 { // beside run
		put(1+i%300, byte('A'+i%26))
	}
	q.close()
	<-q.drained
	ours.Close()
	if all := <-got; !bytes.Equal(all, want.Bytes()) {
		t.Errorf("%d bytes arrived, not the %d that were put in", len(all), want.Len())
	}
}

// Whoever has gone is noticed by the queue's own goroutine.
func TestQueueMeetsTheErrorOfAWriteAtOnce(t *testing.T) {
	ours, theirs := sockets(t)
	theirs.Close()
	failed := make(chan error, 1)
	q := newQueue(ours, 1<<20, func(err error) { failed <- err })
	if err := q.put([]byte("to nobody")); err != nil {
		t.Fatal(err)
	}
	go q.run()
	if err := <-failed; err == nil {
		t.Error("no error")
	}
	<-q.drained
}
