package approvals

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/staging"
)

// A RecordKind says what a journal line tells.
type RecordKind string

// The kinds of records.
const (
	RecordRegistered RecordKind = "registered" // a request came onto the desk
	RecordSettled    RecordKind = "settled"    // it was decided: State, By, Reason
	RecordReplaced   RecordKind = "replaced"   // its target changed; ReplacedBy is the new approval
	RecordAnswered   RecordKind = "answered"   // the answer was handed to the agent, or (Error) was not
	RecordOutcome    RecordKind = "outcome"    // what became of an allowed request
	RecordKept       RecordKind = "kept"       // a person's text that was not sent
	RecordRefused    RecordKind = "refused"    // an attempt to decide that decided nothing
	RecordNote       RecordKind = "note"       // anything else worth keeping: Event, Fields
	RecordRepaired   RecordKind = "repaired"   // the journal itself was put right
)

// A Record is one line of the journal. Hashes are lower-case hex SHA-256.
type Record struct {
	Seq  int64      `json:"seq"` // counts from 1
	Time time.Time  `json:"time"`
	Kind RecordKind `json:"kind"`

	ID         string            `json:"id,omitzero"`
	RequestID  string            `json:"request,omitzero"`
	Session    string            `json:"session,omitzero"`
	Agent      string            `json:"agent,omitzero"` // the subagent
	Tool       string            `json:"tool,omitzero"`
	ToolUseID  string            `json:"toolUse,omitzero"`
	Surface    Surface           `json:"surface,omitzero"`
	Title      string            `json:"title,omitzero"`
	Path       string            `json:"path,omitzero"`
	State      State             `json:"state,omitzero"`
	By         By                `json:"by,omitzero"`
	Amended    bool              `json:"amended,omitzero"`
	Rules      []jsontext.Value  `json:"rules,omitzero"` // updatedPermissions of an allow
	Interrupt  bool              `json:"interrupt,omitzero"`
	Message    string            `json:"message,omitzero"` // what the agent reads
	Reason     string            `json:"reason,omitzero"`
	ReplacedBy string            `json:"replacedBy,omitzero"`
	Outcome    Outcome           `json:"outcome,omitzero"`
	Error      string            `json:"error,omitzero"`
	Event      string            `json:"event,omitzero"`
	Fields     map[string]string `json:"fields,omitzero"`

	Base     string         `json:"base,omitzero"`     // hash of the target as it was
	Proposed string         `json:"proposed,omitzero"` // hash of the text as proposed
	Want     string         `json:"want,omitzero"`     // hash of the bytes that the target must have
	Input    jsontext.Value `json:"input,omitzero"`    // the tool's input, or that of the answer, where it is short
	Diff     string         `json:"diff,omitzero"`     // unified: what the request changes; of an amendment, from the proposal to what was allowed
	Text     string         `json:"text,omitzero"`     // a text that lies nowhere else: denied proposals, kept amendments

	Prev string `json:"prev"` // hash of the line before, without its newline; empty in the first
}

// A Journal is an append-only file of JSON lines. Each carries the hash of the
// line before, so that nobody changes what is written without a trace; only
// cutting lines off its end, or writing it anew as a whole, leaves none.
//
// A record is written (write(2)) before its Append returns: it survives the
// death of this process at once. One goroutine, started by OpenJournal and
// ended by Close, syncs the file right after, many records at a time: what the
// power going out may lose is the last few milliseconds. Waiting for the disk
// before each answer would cost a person more than that is worth.
type Journal struct {
	path  string
	now   func() time.Time
	sync  chan struct{} // wakes the syncing goroutine; never blocks
	hurry chan struct{} // makes it sync without a pause; never blocks
	done  chan struct{}

	mu      sync.Mutex
	file    *os.File  // replaced by the syncing goroutine only
	out     io.Writer // the file; tests put a full disk here
	size    int64
	seq     int64
	prev    string
	failed  error // a failed sync or an unrepaired write: nothing is believed to be kept any more
	waiting []chan error
	closed  bool
}

// OpenJournal opens the journal at path, or begins it with mode 0600, and
// continues its chain. A last line that a crash cut short is taken off, and a
// line says so.
func OpenJournal(path string, now func() time.Time) (*Journal, error) {
	f, err := staging.OpenPrivate(path, os.O_RDWR|os.O_APPEND|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("journal %w", err)
	}
	j := &Journal{path: path, now: now, file: f, out: f, sync: make(chan struct{}, 1), hurry: make(chan struct{}, 1), done: make(chan struct{})}
	if err := j.resume(); err != nil {
		f.Close()
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	go j.syncing()
	return j, nil
}

// resume finds the end of the chain.
func (j *Journal) resume() error {
	last, end, torn, err := tail(j.file)
	if err != nil {
		return err
	}
	j.size = end
	if last != nil {
		var r Record
		j.prev = lineHash(last)
		if err := json.Unmarshal(last, &r, lenient...); err != nil || r.Seq <= 0 {
			return j.append(&Record{Kind: RecordRepaired, Event: "the line before this one is no record; the chain goes on from it"})
		}
		j.seq = r.Seq
	}
	if len(torn) > 0 {
		if err := j.file.Truncate(end); err != nil {
			return fmt.Errorf("take off the last line, which was cut short: %w", err)
		}
		return j.append(&Record{Kind: RecordRepaired, Event: "the last line had been cut short and was taken off", Text: InLine(string(torn[:min(len(torn), 512)]))})
	}
	return nil
}

// tail gives the last whole line, the offset behind it, and what is left after
// it. It reads backwards, so that a long journal opens as fast as a short one.
func tail(f io.ReaderAt) (last []byte, end int64, torn []byte, err error) {
	size, err := f.(io.Seeker).Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, nil, err
	}
	var buf []byte
	for from, chunk := size, int64(64<<10); ; chunk *= 2 {
		n := min(from, chunk)
		from -= n
		part := make([]byte, n, n+int64(len(buf)))
		if _, err := f.ReadAt(part, from); err != nil && !errors.Is(err, io.EOF) {
			return nil, 0, nil, err
		}
		buf = append(part, buf...)
		nl := bytes.LastIndexByte(buf, '\n')
		if nl >= 0 {
			before := bytes.LastIndexByte(buf[:nl], '\n')
			if before >= 0 || from == 0 {
				return buf[before+1 : nl], from + int64(nl) + 1, buf[nl+1:], nil
			}
		} else if from == 0 {
			return nil, 0, buf, nil
		}
	}
}

// lineHash is the hash that the next line carries.
func lineHash(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:])
}

// Path is where the journal lies.
func (j *Journal) Path() string { return j.path }

// Append writes a record, with its number, time and chain. An error means that
// the journal does not have it.
func (j *Journal) Append(r Record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.append(&r); err != nil {
		return fmt.Errorf("journal %s: %w", j.path, plainError(err))
	}
	j.wake()
	return nil
}

// wake makes the syncing goroutine sync; the caller holds mu, and the journal
// is not closed.
func (j *Journal) wake() {
	select {
	case j.sync <- struct{}{}:
	default: // it will
	}
}

// append is Append; the caller holds mu.
func (j *Journal) append(r *Record) error {
	switch {
	case j.closed:
		return errors.New("is closed")
	case j.failed != nil:
		return j.failed
	}
	r.Seq, r.Time, r.Prev = j.seq+1, j.now().UTC().Round(0), j.prev
	line, err := json.Marshal(r, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.EscapeForJS(true))
	if err != nil {
		return fmt.Errorf("record %q: %w", r.Kind, err)
	}
	n, err := j.out.Write(append(line, '\n'))
	if err != nil {
		// Half a line would join the next one: take it off again.
		if n > 0 {
			if terr := j.file.Truncate(j.size); terr != nil {
				j.failed = fmt.Errorf("half a line could not be taken off (%w) after: %w", terr, err)
			}
		}
		return err
	}
	j.size += int64(n)
	j.seq, j.prev = r.Seq, lineHash(line)
	return nil
}

// Note records anything that belongs to no approval, or to one that is not on
// the desk: an attempt refused because its process descends from an agent, a
// session's start.
func (j *Journal) Note(event string, fields map[string]string) error {
	return j.Append(Record{Kind: RecordNote, Event: event, Fields: fields})
}

// Flush waits until everything appended so far is on the disk.
func (j *Journal) Flush() error {
	j.mu.Lock()
	if j.closed || j.failed != nil {
		defer j.mu.Unlock()
		return j.failed
	}
	c := make(chan error, 1)
	j.waiting = append(j.waiting, c)
	j.wake()
	j.hasten()
	j.mu.Unlock()
	return <-c
}

// syncPause is how long a record waits for others to be synced with: syncing
// takes the disk and a processor just when a person is to be shown what was
// recorded, or an agent to be answered.
const syncPause = 5 * time.Millisecond

// hasten ends the pause: somebody waits.
func (j *Journal) hasten() {
	select {
	case j.hurry <- struct{}{}:
	default:
	}
}

// syncing is the goroutine that syncs.
func (j *Journal) syncing() {
	defer close(j.done)
	for range j.sync {
		pause := time.NewTimer(syncPause)
		select {
		case <-pause.C:
		case <-j.hurry:
		}
		pause.Stop()
		select {
		case <-j.sync: // of what this sync covers
		default:
		}
		j.mu.Lock()
		waiting := j.waiting
		j.waiting = nil
		j.mu.Unlock()
		err := j.file.Sync()
		if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
			err = nil // a file system that has no sync: what is written is all there is
		}
		if err == nil {
			err = j.putBack()
		}
		if err != nil {
			// After a failed sync the system may have thrown the data away, and
			// a later sync that works says nothing about it.
			j.mu.Lock()
			if j.failed == nil {
				j.failed = fmt.Errorf("%w (nothing more is recorded until the hub is started anew)", plainError(err))
			}
			j.mu.Unlock()
		}
		for _, c := range waiting {
			c <- err
		}
	}
}

// putBack looks whether the file still lies at the journal's path. One that was
// taken away is written again from the one still open; one that has another in
// its place is an error, for what is appended goes where nobody finds it.
func (j *Journal) putBack() error {
	there, err := os.Lstat(j.path)
	if err == nil {
		ours, err := j.file.Stat()
		if err == nil && !os.SameFile(there, ours) {
			err = errors.New("another file was put in its place")
		}
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	f, err := staging.OpenPrivate(j.path, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("the file was taken away: %w", err)
	}
	n, err := io.Copy(f, io.NewSectionReader(j.file, 0, j.size))
	if err != nil || n != j.size {
		f.Close()
		return fmt.Errorf("the file was taken away and could not be written again: %w", errors.Join(err, os.Remove(j.path)))
	}
	j.file.Close()
	j.file, j.out = f, f
	if err := j.append(&Record{Kind: RecordRepaired, Event: "the file had been taken away and was written again"}); err != nil {
		return err
	}
	return f.Sync()
}

// Err is what keeps the journal from recording, nil when nothing does.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failed
}

// Close syncs what is left and ends the syncing goroutine.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.wake()
	j.hasten()
	j.closed = true
	close(j.sync)
	j.mu.Unlock()
	<-j.done
	j.mu.Lock()
	defer j.mu.Unlock()
	return errors.Join(j.failed, j.file.Close())
}

// plainError takes the path off a path error, where the caller names it.
func plainError(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
