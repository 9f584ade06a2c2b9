package bytetable

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"countersign/approvals"
	"countersign/e2e/mockmodel"
	"countersign/e2e/realcli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A run is one case in one of its two forms: as proposed, or as amended.
type run struct {
	tableCase
	id       string
	path     string
	amended  bool
	asked    bool
	proposal *approvals.Proposal
	sent     approvals.Amendment
	err      error // of the proposal or amendment
	result   toolResult
	disk     []byte // nil: missing
}

func TestByteTable(t *testing.T) {
	agent := realcli.Path(t)
	var runs []*run
	for i, c := range slices.Concat(cases, notebooks) {
		for _, amended := range []bool{false, true} {
			if amended && (c.refused || c.input["edit_mode"] == "delete") {
				continue
			}
			runs = append(runs, &run{tableCase: c, id: fmt.Sprintf("%d_%v", i, amended), amended: amended})
		}
	}
	playRuns(t, agent, runs)
	for _, r := range runs {
		t.Run(r.title(), func(t *testing.T) { r.check(t) })
	}
}

// playRuns lays out the files of all runs and has the agent do them in one session.
func playRuns(t *testing.T, agent string, runs []*run) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*run{}
	for _, r := range runs {
		if r.base == "" {
			r.base = "a.txt"
		}
		folder := filepath.Join(dir, r.id)
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		r.path = filepath.Join(folder, r.base)
		if r.file != nil {
			if err := os.WriteFile(r.path, r.file, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		byID["toolu_"+r.id] = r
	}
	play(t, agent, dir, script(runs), func(l line) (jsontext.Value, error) {
		r := byID[l.Request.ToolUseID]
		if r == nil {
			return nil, errDeclined
		}
		r.asked = true
		return r.decide(l)
	}, func(res toolResult) {
		if r := byID[res.ID]; r != nil {
			r.result = res
			r.disk, _ = os.ReadFile(r.path)
		}
	})
}

func (r *run) title() string {
	if r.amended {
		return r.name + ", as amended"
	}
	return r.name + ", as proposed"
}

// script has the model ask for all runs, a few a turn.
func script(runs []*run) mockmodel.Script {
	const aTurn = 8
	var s mockmodel.Script
	for from := 0; from < len(runs); from += aTurn {
		var read, change []mockmodel.Call
		for _, r := range runs[from:min(from+aTurn, len(runs))] {
			if r.tool == "NotebookEdit" { // is only done after a Read
				read = append(read, mockmodel.Call{ID: "toolu_" + r.id + "_read", Name: "Read", Input: map[string]string{"file_path": r.path}})
			}
			change = append(change, mockmodel.Call{ID: "toolu_" + r.id, Name: r.tool, Input: r.call(r.path)})
		}
		if read != nil {
			s.Turns = append(s.Turns, mockmodel.Turn{Calls: read})
		}
		s.Turns = append(s.Turns, mockmodel.Turn{Calls: change})
	}
	s.Turns = append(s.Turns, mockmodel.Say("done"))
	return s
}

var errNoAmendment = errors.New("the amendment is none")

func (r *run) decide(l line) (jsontext.Value, error) {
	r.proposal, r.err = approvals.Propose(approvals.Request{Tool: l.Request.Tool, Input: l.Request.Input}, os.ReadFile, 0)
	if r.err != nil {
		return nil, r.err
	}
	text := r.proposal.Text()
	if r.amended {
		text = r.amend
	}
	if r.sent, r.err = r.proposal.Amend(text); r.err != nil {
		return nil, r.err
	}
	if r.amended && !r.sent.Amended {
		r.err = errNoAmendment
		return nil, r.err
	}
	return r.sent.Input, nil
}

func (r *run) check(t *testing.T) {
	if r.refused {
		req := approvals.Request{Tool: r.tool, Input: r.call(r.path)}
		if _, err := approvals.Propose(req, os.ReadFile, 0); r.asked || !r.result.IsError || err == nil {
			t.Errorf("asked: %v, result %.300s, proposal's error: %v", r.asked, r.result.Text, err)
		}
		return
	}
	switch {
	case !r.asked:
		t.Fatalf("the agent did not ask: %.300s", r.result.Text)
	case r.err != nil:
		t.Fatal(r.err)
	case r.result.IsError:
		t.Fatalf("the agent refused: %.300s", r.result.Text)
	}
	if r.sent.Holds != nil {
		if !r.sent.Holds(r.disk) {
			t.Errorf("on disk is\n%s\nwhich is not what was proposed", r.disk)
		}
	} else if r.disk == nil || !bytes.Equal(r.disk, r.sent.Want) {
		t.Errorf("on disk is\n%.2000q\nand the proposal wanted\n%.2000q", r.disk, r.sent.Want)
	}
	text := r.proposal.Text()
	if r.amended {
		if text = r.amend; r.lands != "" {
			text = r.lands
			if len(r.sent.Notes) == 0 {
				t.Error("nobody was told that the text does not land as it is")
			}
		}
	}
	if r.tool == "NotebookEdit" {
		if r.input["edit_mode"] != "delete" && !hasSource(r.disk, text) {
			t.Errorf("no cell has the source that was reviewed: %q", text)
		}
		return
	}
	if got := decoded(r.disk); got != text {
		t.Errorf("on disk is the text\n%.200q\nand reviewed was\n%.200q", got, text)
	}
}
