package lsp

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"countersign/approvals"
	"countersign/session/hub"
)

func TestConnecting(t *testing.T) {
	run(t, benchOptions{options: `{"permissionMode":"plan"}`}, func(t *testing.T, b *bench) {
		if len(connects(b)) != 1 {
			t.Fatalf("%d connects", len(connects(b)))
		}
		o := connects(b)[0]
		if o.Root != b.dir || o.Name != "Neovim 0.10.4" || !o.Watch || !o.Start || o.Settings.PermissionMode != "plan" {
			t.Errorf("connect: %+v", o)
		}
	})
}

// Approvals that wait already are announced in one message.
func TestPendingAtTheStart(t *testing.T) {
	run(t, benchOptions{connect: func(b *bench, _ int) (Hub, hub.AttachResult, error) {
		for i := range 3 {
			id := fmt.Sprintf("wait-%d", i)
			b.hub.approvals[id] = hub.Approval{ID: id, Tool: "Bash", Title: "Bash: ls " + id, State: approvals.Pending, Surface: approvals.SurfacePanel, Since: time.Now()}
			b.hub.order = append(b.hub.order, id)
		}
		return b.hub, b.hub.attached(), nil
	}}, func(t *testing.T, b *bench) {
		contains(t, "messages", b.messages(), "3 3 requests wait: Bash: ls wait-0; Bash: ls wait-1; Bash: ls wait-2 (review by code action)")
	})
}

func TestAHubThatDoesNotStart(t *testing.T) {
	run(t, benchOptions{connect: func(b *bench, n int) (Hub, hub.AttachResult, error) {
		if n == 0 {
			return nil, hub.AttachResult{}, errors.New("the socket belongs to another user")
		}
		return b.hub, b.hub.attached(), nil
	}}, func(t *testing.T, b *bench) {
		contains(t, "messages", b.messages(), "1 Countersign cannot reach its hub: the socket belongs to another user")
		// The server goes on; what needs the hub tries again.
		contains(t, "code actions", b.codeActions("file:///x", ""), "Countersign: new prompt")
		b.mustCommand("countersign.status", "")
		contains(t, "messages", b.messages(), "3 Countersign is connected to its hub again.")
	})
}

// A command may come before the hub of the workspace is found: it waits for it,
// instead of saying that nothing is known.
func TestACommandBeforeTheHub(t *testing.T) {
	const id = "waiting-00000001"
	o := benchOptions{connect: func(b *bench, _ int) (Hub, hub.AttachResult, error) {
		b.hub.mu.Lock()
		b.hub.order = []string{id}
		b.hub.approvals[id] = hub.Approval{ID: id, Tool: "Bash", Title: "Bash: ls", State: approvals.Pending, Since: time.Now()}
		b.hub.mu.Unlock()
		time.Sleep(3 * time.Second)
		return b.hub, b.hub.attached(), nil
	}}
	run(t, o, func(t *testing.T, b *bench) {
		contains(t, "pending", b.mustCommand("countersign.pending", ""), id)
	})
	run(t, o, func(t *testing.T, b *bench) {
		b.mustCommand("countersign.deny", `{"id":"`+id+`"}`)
		if got := b.settles(); len(got) != 1 || got[0].ID != id || got[0].Allow {
			t.Errorf("settled: %+v", got)
		}
	})
	o.connect = func(*bench, int) (Hub, hub.AttachResult, error) {
		return nil, hub.AttachResult{}, errors.New("the disk is full")
	}
	run(t, o, func(t *testing.T, b *bench) {
		_, err := b.command("countersign.allow", `{"id":"x"}`)
		if err == nil || !strings.Contains(err.Error(), "cannot reach its hub: the disk is full") {
			t.Errorf("%v", err)
		}
	})
}

// A hub that was killed decides nothing; the next one does not know what the
// first held, and a save says so.
func TestALostHub(t *testing.T) {
	run(t, benchOptions{connect: func(b *bench, n int) (Hub, hub.AttachResult, error) {
		if n == 0 {
			return b.hub, b.hub.attached(), nil
		}
		b.mu.Lock()
		start := b.connects[n].Start
		b.mu.Unlock()
		if !start {
			return nil, hub.AttachResult{}, hub.ErrNotRunning
		}
		second := &fakeHub{t: b.t, root: b.dir, store: b.hub.store, events: make(chan hub.Event, 8), approvals: map[string]hub.Approval{}}
		return second, second.attached(), nil
	}}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.hub.lose()
		b.wait(time.Minute)
		contains(t, "messages", b.messages(), "2 Countersign lost its hub (killed). Nothing was decided")
		if n := len(connects(b)); n < 3 || n > 20 {
			t.Errorf("%d attempts in a minute", n)
		}
		for _, o := range connects(b)[1:] {
			if o.Start {
				t.Errorf("started a hub without need: %+v", o)
			}
		}
		contains(t, "still shown", b.diagnostics(a.StagedURI), "The agent asks: Edit a.txt")
		b.save(a.StagedURI)
		contains(t, "messages", b.messages(), "Countersign is connected to its hub again.")
		contains(t, "messages", b.messages(), "1 Nothing was decided about Edit a.txt")
		contains(t, "diagnostics", b.diagnostics(a.StagedURI), "the hub that held it is gone")
		if got := b.settles(); len(got) != 0 {
			t.Errorf("settled: %+v", got)
		}
	})
}

// When only the connection broke, the approvals are still there afterwards.
func TestAConnectionThatBreaks(t *testing.T) {
	run(t, benchOptions{connect: func(b *bench, n int) (Hub, hub.AttachResult, error) {
		if n > 0 {
			b.hub.events = make(chan hub.Event, 8)
		}
		return b.hub, b.hub.attached(), nil
	}}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.hub.lose()
		b.wait(time.Second)
		contains(t, "messages", b.messages(), "connected to its hub again")
		b.save(a.StagedURI)
		if got := b.settles(); len(got) != 1 || !got[0].Allow {
			t.Errorf("settled: %+v", got)
		}
	})
}

// An editor started in a staged document names no root: its hub is found from
// the path alone, and takes the prompts as well.
func TestStartedInAStagedDocument(t *testing.T) {
	run(t, benchOptions{noRoot: true}, func(t *testing.T, b *bench) {
		if len(connects(b)) != 0 {
			t.Fatalf("connected before it was clear where: %+v", connects(b))
		}
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		<-b.hub.events // nobody is attached
		b.open(a.StagedURI)
		if len(storages(b)) != 1 || storages(b)[0] != b.hub.store.Dir() {
			t.Fatalf("storages: %v", storages(b))
		}
		contains(t, "diagnostics", b.diagnostics(a.StagedURI), "The agent asks: Edit a.txt")
		b.wait(time.Second)
		b.save(a.StagedURI)
		if got := b.settles(); len(got) != 1 || !got[0].Allow {
			t.Errorf("settled: %+v", got)
		}
		b.mustCommand("countersign.send", `{"text":"go on"}`)
		if len(connects(b)) != 1 {
			t.Errorf("connects: %+v", connects(b))
		}
	})
}

// A staged document of another workspace goes to the hub that owns it.
func TestAStagedDocumentOfAnotherHub(t *testing.T) {
	var other *fakeHub
	run(t, benchOptions{connect: func(b *bench, n int) (Hub, hub.AttachResult, error) {
		if n == 0 {
			return b.hub, b.hub.attached(), nil
		}
		return other, other.attached(), nil
	}}, func(t *testing.T, b *bench) {
		dir := filepath.Join(b.dir, "elsewhere")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		other = newFakeHub(t, dir)
		a := other.propose("req-00000001", "a.txt", was, is)
		<-other.events
		b.open(a.StagedURI)
		if len(storages(b)) != 1 || storages(b)[0] != other.store.Dir() {
			t.Fatalf("storages: %v", storages(b))
		}
		b.wait(time.Second)
		b.save(a.StagedURI)
		if got := b.settles(); len(got) != 0 {
			t.Errorf("the wrong hub settled: %+v", got)
		}
		if len(other.settles) != 1 {
			t.Errorf("settled: %+v", other.settles)
		}
	})
}

// A save that comes before the hub is reached is not mistaken for one of an
// approval that nobody knows.
func TestASaveBeforeTheHubIsReached(t *testing.T) {
	run(t, benchOptions{connect: func(b *bench, n int) (Hub, hub.AttachResult, error) {
		time.Sleep(3 * time.Second)
		return b.hub, b.hub.attached(), nil
	}}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		<-b.hub.events
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.save(a.StagedURI)
		contains(t, "messages", b.messages(), "1 Nothing was decided by saving this document: its hub is not reached yet. Save it again in a moment.")
		if len(b.hub.kept) != 0 {
			t.Errorf("kept: %v", b.hub.kept)
		}
		b.wait(5 * time.Second)
		b.save(a.StagedURI)
		if got := b.settles(); len(got) != 1 || !got[0].Allow {
			t.Errorf("settled: %+v", got)
		}
	})
}

func TestHubMessagesAreShown(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		b.hub.say(hub.Message{Severity: "error", Text: "the agent\u202e ended"})
		contains(t, "messages", b.messages(), "1 the agent<U+202E> ended")
	})
}

// A front end that is going away does not leave a hub attached that it was
// still connecting to.
func TestTheEndWhileConnecting(t *testing.T) {
	run(t, benchOptions{connect: func(b *bench, n int) (Hub, hub.AttachResult, error) {
		time.Sleep(time.Second)
		return b.hub, b.hub.attached(), nil
	}}, func(t *testing.T, b *bench) {
		b.end()
		b.served <- nil
	})
}

func TestForgottenSettledApprovals(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		for i := range 3 * keptSettled {
			a := hub.Approval{ID: fmt.Sprintf("id-%03d", i), Tool: "Bash", Title: "Bash: ls", State: approvals.Pending, Surface: approvals.SurfacePanel, Since: time.Now()}
			b.hub.tell(a)
			b.hub.endBy(a.ID, approvals.Allowed, approvals.By{FrontEnd: "command line", How: "command"}, "")
		}
		// Of what is forgotten here the hub still knows.
		for id, asked := range map[string]bool{"id-000": true, fmt.Sprintf("id-%03d", 3*keptSettled-1): false} {
			if _, err := b.command("countersign.allow", `{"id":"`+id+`"}`); err == nil || !strings.Contains(err.Error(), "nothing was decided about Bash: ls: it was allowed by command line") {
				t.Errorf("%s: %v", id, err)
			}
			if got := slices.Contains(b.hub.calls, "show "+id); got != asked {
				t.Errorf("the hub was asked about %s: %v", id, got)
			}
		}
	})
}
