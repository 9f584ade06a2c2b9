package approvals

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/go-json-experiment/json"
)

// ReadJournal reads every record of a journal. A last line without its newline
// is one that is being written, or was when its writer died, and is left out.
// Lines that are no records become records of kind "unreadable", with the
// line as their text: one bad line must not hide the others.
func ReadJournal(path string) ([]Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, plainError(err))
	}
	defer f.Close()
	var records []Record
	err = lines(f, func(n int64, line []byte) error {
		records = append(records, readRecord(line))
		return nil
	})
	if err != nil {
		return records, fmt.Errorf("journal %s: %w", path, plainError(err))
	}
	return records, nil
}

// RecordUnreadable is the kind that ReadJournal gives a line that is no record.
const RecordUnreadable RecordKind = "unreadable"

func readRecord(line []byte) Record {
	var r Record
	if err := json.Unmarshal(line, &r, lenient...); err != nil {
		return Record{Kind: RecordUnreadable, Error: err.Error(), Text: InLine(string(line))}
	}
	return r
}

// lines gives every line that has its newline, without it. The slice is only
// good during the call.
func lines(r io.Reader, each func(n int64, line []byte) error) error {
	in := bufio.NewReaderSize(r, 1<<16)
	var long []byte
	for n := int64(1); ; {
		part, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			long = append(long, part...)
			continue
		case errors.Is(err, io.EOF):
			return nil // what is left has no newline
		case err != nil:
			return err
		}
		if len(long) > 0 {
			long = append(long, part...)
			part = long
		}
		if err := each(n, part[:len(part)-1]); err != nil {
			return err
		}
		long = long[:0]
		n++
	}
}

// A ChainError names the line of a journal at which its chain breaks.
type ChainError struct {
	Line   int64 // 1-based
	Reason string
}

func (e *ChainError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// VerifyChain goes through a journal and checks that every line carries the
// hash of the one before and the next number. It returns the number of lines
// that hold together, and a *ChainError for the first that does not.
func VerifyChain(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("journal %s: %w", path, plainError(err))
	}
	defer f.Close()
	n, err := verifyChain(f)
	if err != nil {
		return n, fmt.Errorf("journal %s: %w", path, plainError(err))
	}
	return n, nil
}

func verifyChain(in io.Reader) (int64, error) {
	var good, seq int64
	prev := ""
	unread := false // the line before is no record, so its number is not known
	err := lines(in, func(n int64, line []byte) error {
		r := readRecord(line)
		switch {
		case r.Kind == RecordUnreadable:
			// Told only when nothing vouches for it: a repair that follows does.
			if unread {
				return &ChainError{Line: n, Reason: "is no record"}
			}
			unread = true
			prev, good = lineHash(line), n
			return nil
		case r.Prev != prev && n == 1:
			return &ChainError{Line: n, Reason: "continues a journal whose beginning is not here"}
		case r.Prev != prev:
			return &ChainError{Line: n, Reason: "does not carry the hash of the line before: that line was changed, or lines between them were taken out or put in"}
		case unread && r.Kind != RecordRepaired:
			return &ChainError{Line: n - 1, Reason: "is no record"}
		case !unread && r.Seq != seq+1:
			return &ChainError{Line: n, Reason: fmt.Sprintf("has the number %d after %d", r.Seq, seq)}
		}
		unread, seq, prev, good = false, r.Seq, lineHash(line), n
		return nil
	})
	if err == nil && unread {
		err = &ChainError{Line: good, Reason: "is no record"}
	}
	return good, err
}
