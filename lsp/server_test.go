package lsp

import (
	"strings"
	"testing"
	"time"

	"countersign/approvals"
)

const (
	was = "one\ntwo\nthree\n"
	is  = "one\nTWO\nthree\n"
)

func TestSaveAllows(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		shown := b.sent("window/showDocument")
		if len(shown) != 1 {
			t.Fatalf("shown: %v", shown)
		}
		sameJSON(t, "showDocument", shown[0], `{"uri":"`+a.StagedURI+`","takeFocus":false,
			"selection":{"start":{"line":1,"character":0},"end":{"line":1,"character":0}}}`)
		contains(t, "messages", b.messages(), "3 The agent asks: Edit a.txt (:w allows, :bd denies)")

		b.open(a.StagedURI)
		b.wait(time.Second)
		b.edit(a.StagedURI, "one\nmine\nthree\n")
		b.save(a.StagedURI)
		got := b.settles()
		if len(got) != 1 || !got[0].Allow || got[0].ID != a.ID || got[0].How != "save" || got[0].Rule != string(RuleSaved) {
			t.Fatalf("settled: %+v", got)
		}
		if got[0].Text == nil || *got[0].Text != "one\nmine\nthree\n" {
			t.Errorf("text: %v", got[0].Text)
		}
		contains(t, "messages", b.messages(), "3 Allowed, as you amended it: Edit a.txt.")
		contains(t, "diagnostics", b.diagnostics(a.StagedURI), "It was allowed with amendments by Neovim 0.10.4 (save)")

		b.wait(time.Second)
		b.save(a.StagedURI)
		if n := len(b.settles()); n != 1 {
			t.Errorf("%d decisions", n)
		}
		contains(t, "messages", b.messages(), "1 Nothing was decided by saving Edit a.txt: it was allowed")
		if len(b.hub.kept) != 1 {
			t.Errorf("kept: %v", b.hub.kept)
		}
	})
}

func TestSaveWithinTheArmDelayIsRefused(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(300 * time.Millisecond)
		b.save(a.StagedURI)
		if got := b.settles(); len(got) != 0 {
			t.Fatalf("settled: %+v", got)
		}
		contains(t, "messages", b.messages(), "2 Nothing was decided about Edit a.txt: "+RuleArmDelay.Sentence()+" (rule arm-delay).")
	})
}

func TestSaveElsewhereIsRefused(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		// :w other: the save is announced, but this file was not written.
		b.notify("textDocument/didSave", `{"textDocument":{"uri":"`+a.StagedURI+`"},"text":`+quoteJSON(is)+`}`)
		if got := b.settles(); len(got) != 0 {
			t.Fatalf("settled: %+v", got)
		}
		contains(t, "messages", b.messages(), "(rule not-written)")
	})
}

func TestCloseDeniesAfterTheGrace(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(2 * time.Second)
		b.close(a.StagedURI)
		if got := b.settles(); len(got) != 0 {
			t.Fatalf("settled too early: %+v", got)
		}
		b.wait(1100 * time.Millisecond)
		got := b.settles()
		if len(got) != 1 || got[0].Allow || got[0].How != "close" || got[0].Text != nil {
			t.Fatalf("settled: %+v", got)
		}
		contains(t, "messages", b.messages(), "3 Denied: Edit a.txt.")
	})
}

func TestReloadDoesNotDeny(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(2 * time.Second)
		b.close(a.StagedURI)
		b.open(a.StagedURI)
		b.wait(10 * time.Second)
		if got := b.settles(); len(got) != 0 {
			t.Fatalf("settled: %+v", got)
		}
	})
}

// Nothing that ends a connection decides: neither a close that waits for its
// grace nor an approval that is open.
func TestTheEndDecidesNothing(t *testing.T) {
	for _, how := range []string{"shutdown", "exit", "end of input"} {
		t.Run(how, func(t *testing.T) {
			run(t, benchOptions{}, func(t *testing.T, b *bench) {
				a := b.hub.propose("req-00000001", "a.txt", was, is)
				b.open(a.StagedURI)
				b.wait(2 * time.Second)
				b.close(a.StagedURI)
				switch how {
				case "shutdown":
					b.request("shutdown", "")
				case "exit":
					b.notify("exit", "")
				case "end of input":
					_ = b.conn.Close()
				}
				b.wait(10 * time.Second)
				if got := b.settles(); len(got) != 0 {
					t.Errorf("settled: %+v", got)
				}
			})
		})
	}
}

// :wq sends the save, shutdown and exit in one go: the decision still counts.
func TestADecisionUnderWayOutlivesTheEditor(t *testing.T) {
	for name, late := range map[string]bool{"the hub answers": false, "the hub answers late": true} {
		t.Run(name, func(t *testing.T) { quitWhileDeciding(t, late) })
	}
}

func quitWhileDeciding(t *testing.T, late bool) {
	t.Helper()
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		hold := make(chan struct{})
		b.hub.hold = hold
		b.save(a.StagedURI)
		answered := make(chan struct{})
		go func() { b.request("shutdown", ""); close(answered) }()
		b.wait(100 * time.Millisecond)
		select {
		case <-answered: // the editor may kill the server now
			t.Error("shutdown was answered before the decision was taken")
		default:
		}
		if late {
			<-answered
		} else {
			close(hold)
			<-answered
		}
		b.notify("exit", "")
		b.wait(100 * time.Millisecond)
		if late {
			close(hold)
		}
		if err := <-b.served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		b.served <- nil
		if got := b.settles(); len(got) != 1 || !got[0].Allow {
			t.Errorf("settled: %+v", got)
		}
	})
}

// A save that waits for others to follow it, since another document has unsaved
// changes, decides nothing once the editor goes: it may write all that it has.
func TestAHeldSaveAndTheEnd(t *testing.T) {
	for _, how := range []string{"shutdown", "exit", "end of input"} {
		t.Run(how, func(t *testing.T) {
			run(t, benchOptions{}, func(t *testing.T, b *bench) {
				a := b.hub.propose("req-00000001", "a.txt", was, is)
				b.open(a.StagedURI)
				const other = "file:///elsewhere/b.txt"
				b.openWith(other, "b\n")
				b.edit(other, "changed\n")
				b.wait(time.Second)
				b.save(a.StagedURI)
				switch how {
				case "shutdown":
					b.request("shutdown", "")
					b.notify("exit", "")
				case "exit":
					b.notify("exit", "")
				default:
					_ = b.conn.Close()
				}
				b.wait(10 * time.Second)
				if got := b.settles(); len(got) != 0 {
					t.Errorf("settled: %+v", got)
				}
			})
		})
	}
}

func TestLifeCycle(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		if _, err := b.try("initialize", `{}`); err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("second initialize: %v", err)
		}
		if _, err := b.try("textDocument/definition", `{}`); err == nil {
			t.Error("a method that does not exist")
		}
		b.request("shutdown", "")
		_, err := b.try("textDocument/codeAction", `{}`)
		if err == nil || !strings.Contains(err.Error(), "came after shutdown") {
			t.Errorf("after shutdown: %v", err)
		}
	})
}

func TestSettledElsewhereIsTold(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.hub.endBy(a.ID, approvals.Denied, approvals.By{FrontEnd: "command line", How: "command"}, "")
		contains(t, "messages", b.messages(), "3 Edit a.txt: denied by command line (command)")
		contains(t, "diagnostics", b.diagnostics(a.StagedURI), "It was denied by command line (command)")
		b.edit(a.StagedURI, "mine\n")
		b.save(a.StagedURI)
		if got := b.settles(); len(got) != 0 {
			t.Fatalf("settled: %+v", got)
		}
		contains(t, "messages", b.messages(), "1 Nothing was decided by saving Edit a.txt: it was denied by command line")
		if len(b.hub.kept) != 1 || b.hub.kept[0].Text != "mine\n" {
			t.Errorf("kept: %+v", b.hub.kept)
		}
	})
}
