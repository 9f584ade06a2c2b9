//go:build linux

package e2e

import (
	"context"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/go-json-experiment/json"

	"countersign/e2e/mockmodel"
)

// agents are the process ids of the agents of this world, oldest first.
func (w *world) agents() (pids []string) {
	for _, p := range w.processes() {
		pid, line, _ := strings.Cut(p, " ")
		if strings.Contains(line, "--permission-prompt-tool") {
			pids = append(pids, pid)
		}
	}
	return pids
}

// hearsBoth waits until one call of the model has both texts in it.
func (w *world) hearsBoth(one, two string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if _, err := w.model.Await(ctx, func(r mockmodel.Request) bool { return r.Said(one) && r.Said(two) }); err != nil {
		w.t.Fatalf("the model reads %q and %q in one conversation: %v", one, two, err)
	}
}

// kill ends every agent as a crash would.
func (w *world) kill() {
	w.t.Helper()
	pids := w.agents()
	if len(pids) == 0 {
		w.t.Fatalf("no agent runs: %v", w.processes())
	}
	for _, pid := range pids {
		n, err := strconv.Atoi(pid)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
			w.t.Fatal(err)
		}
	}
}

// sessions are those of countersign sessions.
func (w *world) sessions() (list []struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Title   string `json:"title"`
	State   string `json:"state"`
	Current bool   `json:"current"`
},
) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(w.must("sessions", "--json")), &list); err != nil {
		w.t.Fatal(err)
	}
	return list
}

// What an agent that was killed had asked is withdrawn, not decided; resumed, it
// knows what was said and can ask again.
func TestResumeAfterKill(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(mockmodel.Say("I remember."), w.edit("a.txt", "two", "TWO"), mockmodel.Say("Never said."))
		w.must("send", "Remember the word.")
		w.awaitIdle(1)
		w.must("send", "Edit.")
		a := w.next("Edit")
		before, _ := w.session()
		w.kill()
		w.awaitPending(0)
		s := w.awaitSession("has lost its agent", func(s sessionInfo) bool { return s.State == "ended" })
		if s.Error == "" {
			t.Error("nobody is told that the agent is gone")
		}
		w.refuses(exitRefused, "withdrawn", "allow", a.ID)
		if got := w.disk("a.txt"); got != original {
			t.Errorf("a.txt is %q", got)
		}

		w.must("resume")
		s = w.awaitSession("is back", func(s sessionInfo) bool { return s.State == "idle" })
		if s.ID != before.ID {
			t.Errorf("the session was %s and is %s", before.ID, s.ID)
		}
		w.model.Play(mockmodel.Script{Turns: []mockmodel.Turn{{}, {}, {}, {}, {}, {}}}) // whatever the agent counts as its turns
		w.must("send", "Which word?")
		w.hearsBoth("Remember the word.", "Which word?")
	})
}

// The same in an editor: the proposal of the agent that is gone decides nothing
// more, and the session is gone on with from the prompt.
func TestResumeAfterKillByCodeAction(t *testing.T) {
	inEditors(t, func(t *testing.T, w *world) {
		call, _ := w.proposed()
		before, _ := w.session()
		w.kill()
		w.awaitPending(0)
		w.awaitSession("has lost its agent", func(s sessionInfo) bool { return s.State == "ended" && s.Error != "" })
		w.openPrompt()
		w.editor.action("Countersign: resume the last session")
		s := w.awaitSession("is back", func(s sessionInfo) bool { return s.State == "idle" })
		if s.ID != before.ID {
			t.Errorf("the session was %s and is %s", before.ID, s.ID)
		}
		w.model.Play(mockmodel.Script{Turns: []mockmodel.Turn{{}, {}, {}, {}, {}, {}}}) // whatever the agent counts as its turns
		w.openPrompt()
		w.editor.append("What was it?")
		w.editor.save()
		w.hearsBoth("Please edit a.txt.", "What was it?")
		if got := w.disk("a.txt"); got != original {
			t.Errorf("after %s a.txt is %q", call, got)
		}
	})
}

// A session is left, another begun, and the first chosen from the list.
func TestResumeAnEarlierSession(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.play(mockmodel.Say("One."), mockmodel.Say("Two."))
		w.must("send", "The first conversation.")
		w.awaitIdle(1)
		first, _ := w.session()
		w.must("new")
		w.must("send", "The second conversation.")
		second := w.awaitSession("is another", func(s sessionInfo) bool { return s.ID != first.ID && s.ID != "" && s.State == "idle" })
		for _, r := range w.model.Requests() {
			if r.Said("The first conversation.") && r.Said("The second conversation.") {
				t.Error("the new session knows the old one")
			}
		}
		w.must("stop")
		titles := map[string]string{}
		for _, s := range w.sessions() {
			titles[s.ID] = s.Title
		}
		if !strings.Contains(titles[first.ID], "first conversation") || !strings.Contains(titles[second.ID], "second conversation") {
			t.Errorf("sessions: %v, want %s and %s", titles, first.ID, second.ID)
		}
		w.must("resume", first.ID)
		w.must("send", "Back to the first.")
		w.hearsBoth("The first conversation.", "Back to the first.")

		// One that the agent does not know: it is told, and nothing is lost.
		w.awaitSession("waits", func(s sessionInfo) bool { return s.ID == first.ID && s.State == "idle" })
		if out, err := w.command("resume", "00000000-0000-4000-8000-000000000000"); err == nil || !strings.Contains(out+err.Error(), "knows no session") {
			t.Errorf("resume of a session that nobody knows: %v: %s", err, out)
		}
		w.awaitSession("tells what the agent does not know", func(s sessionInfo) bool {
			return s.State == "ended" && strings.Contains(s.Error, "knows no session")
		})
		w.must("resume", first.ID)
		w.must("send", "And back again.")
		w.hearsBoth("Back to the first.", "And back again.")
	})
}

func TestTranscriptAndLog(t *testing.T) {
	inShell(t, func(t *testing.T, w *world) {
		w.file("a.txt", original)
		w.play(w.edit("a.txt", "two", "TWO"), bash("touch made"), mockmodel.Say("All is done."))
		w.must("send", "Please work.")
		w.must("allow", w.next("Edit").ID)
		w.must("deny", w.next("Bash").ID, "-m", "no new files")
		w.awaitIdle(1)
		eventually(t, "the transcript tells all", func() (bool, string) {
			out, err := w.command("transcript")
			all := err == nil
			for _, want := range []string{"Please work.", "a.txt", "touch made", "no new files", "All is done."} {
				all = all && strings.Contains(out, want)
			}
			return all, out
		})
		if out := w.must("log", "--verify"); !strings.Contains(out, "hold together") || !strings.Contains(out, "a.txt") {
			t.Errorf("log --verify: %s", out)
		}
		w.file("a.txt", "changed since\n")
		if out, err := w.command("log", "--verify"); !strings.Contains(out, "a.txt") || strings.Count(out, "\n") < 2 {
			t.Errorf("log --verify of a changed file: %v: %s", err, out)
		}
	})
}
