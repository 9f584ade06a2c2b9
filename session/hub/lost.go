package hub

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.uber.org/zap"

	"countersign/approvals"
	"countersign/staging"
)

// lostDocument finds what still lies staged for an approval that was lost with
// its hub, so that editors which have it open are told what it is. What the
// person had written into it goes into the journal: the document itself goes when
// the next session begins.
func (h *hub) lostDocument(journal *approvals.Journal, r approvals.Record) *staging.Staged {
	st, text, ok := lyingStaged(h.record.Storage, r)
	if !ok {
		return nil
	}
	if st.Print.Hash == r.Proposed {
		return &st
	}
	err := journal.Append(approvals.Record{
		Kind: approvals.RecordKept, ID: r.ID, Title: r.Title, Path: r.Path, State: approvals.Withdrawn, Want: st.Print.Hash, Text: approvals.RecordText(text),
	})
	if err != nil {
		h.log.Warn("a person's text is not in the journal, only in its file", zap.String("id", r.ID), zap.Error(err))
	}
	return &st
}

// lyingStaged reads what lies staged for the approval of a record. The document
// of a file has the file's name; that of anything else is alone in its folder,
// but for what editors leave beside it.
func lyingStaged(storage string, r approvals.Record) (st staging.Staged, text string, ok bool) {
	dir := staging.Folder(storage, r.ID)
	if dir == "" || r.Proposed == "" {
		return st, "", false
	}
	name := ""
	if r.Path != "" {
		name = staging.Basename(filepath.Base(r.Path))
	} else {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return st, "", false
		}
		for _, e := range entries {
			if n := e.Name(); e.Type() == fs.FileMode(0) && !strings.HasPrefix(n, ".") && !strings.HasSuffix(n, "~") {
				if name != "" {
					return st, "", false // which of them is not certain
				}
				name = n
			}
		}
	}
	st = staging.Staged{ID: r.ID, Path: filepath.Join(dir, name)}
	found, err := staging.Look(st, 0)
	st.Print = found.Print
	return st, found.Text, err == nil
}
