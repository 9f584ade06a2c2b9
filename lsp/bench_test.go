package lsp

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/session/hub"
	"countersign/session/rpc"
)

// flooded is a server, not connected to anything, with n pending approvals on
// one file.
func flooded(n int) *server {
	s := newServer(Options{Dir: "/w"})
	s.client = newClient(initializeParams{})
	s.client.literal = true
	l := &link{storage: "/s"}
	for i := range n {
		s.learn(l, hub.Approval{
			ID: fmt.Sprintf("flood-%04d", i), Tool: "Edit", Title: "Edit a.txt", Path: "/w/a.txt", Since: time.Unix(int64(i), 0),
			Surface: approvals.SurfaceProposal, State: approvals.Pending,
		})
	}
	return s
}

// BenchmarkCodeActions: the reply with 1,000 approvals pending, right after one
// of them changed.
func BenchmarkCodeActions(b *testing.B) {
	s := flooded(1000)
	p := codeActionParams{TextDocument: documentID{URI: "file:///w/a.txt"}}
	b.ReportAllocs()
	for b.Loop() {
		s.touched()
		as, err := s.codeActions(b.Context(), s.snapshot(), p)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := rpc.Encode(as); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkLearn: a request that comes while 1,000 others are pending.
func BenchmarkLearn(b *testing.B) {
	s := flooded(1000)
	l := &link{storage: "/s"}
	a := hub.Approval{ID: "one-more", Tool: "Edit", Title: "Edit a.txt", Path: "/w/a.txt", Surface: approvals.SurfaceProposal, State: approvals.Pending}
	for b.Loop() {
		s.learn(l, a)
		s.board.remove(s.board.cards[a.ID])
		s.tell = announcer{}
	}
}

// BenchmarkInitialize: the answer to initialize.
func BenchmarkInitialize(b *testing.B) {
	params := []byte(`{"processId":1,"rootUri":"file:///w",` + neovim + `}`)
	for b.Loop() {
		s := newServer(Options{Dir: "/w"})
		result, err := s.initialize(params)(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if _, err := rpc.Encode(result); err != nil {
			b.Fatal(err)
		}
	}
}

// A front end that has seen 500 requests through holds no more than one that
// has seen a few: settled ones are forgotten, and so are closed documents.
func TestMemoryAfterManyRequests(t *testing.T) {
	if testing.Short() {
		t.Skip("stages 500 documents")
	}
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		text := strings.Repeat("a line of a file that is not very small\n", 5000) // 200 KB
		var first, last uint64
		for i := range 500 {
			a := b.hub.propose(fmt.Sprintf("req-%08d", i), "a.txt", was, text)
			b.open(a.StagedURI)
			b.wait(time.Second)
			b.edit(a.StagedURI, text+"mine\n")
			b.save(a.StagedURI)
			b.close(a.StagedURI)
			b.wait(2 * time.Second)
			b.hub.mu.Lock()
			if len(b.hub.settles) != i+1 {
				t.Fatalf("%d decisions after %d requests", len(b.hub.settles), i+1)
			}
			// The test's own memories do not count.
			b.hub.settles[i].Text = nil
			delete(b.hub.details, a.ID)
			delete(b.hub.approvals, a.ID)
			b.hub.order = nil
			b.hub.mu.Unlock()
			b.mu.Lock()
			b.log = nil
			delete(b.texts, a.StagedURI)
			b.mu.Unlock()
			_ = os.RemoveAll(b.hub.store.Dir() + "/proposed/" + a.ID)
			if i == 100 {
				first = heap()
			}
		}
		last = heap()
		if limit := first + 4<<20; last > limit || last > 30<<20 {
			t.Errorf("the heap grew from %d KB after 100 requests to %d KB after 500", first>>10, last>>10)
		}
	})
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
