package approvals

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"countersign/staging"
)

func benchDesk(b *testing.B, n int) (*Desk, func() Request) {
	store, err := staging.Open(filepath.Join(b.TempDir(), "storage"))
	if err != nil {
		b.Fatal(err)
	}
	j, err := OpenJournal(filepath.Join(store.Dir(), "journal.jsonl"), time.Now)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { j.Close(); store.Close() })
	d := NewDesk(DeskOptions{Now: time.Now, Stage: store.Stage, Unstage: func(id string) { store.Remove(id) }, Journal: j})
	path := filepath.Join(b.TempDir(), "a.go")
	content := strings.Repeat("a line of a file that is changed\n", 200<<10/33) + "two\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
	i := 0
	next := func() Request {
		i++
		return Request{
			ID: fmt.Sprintf("request-%08d", i), Tool: "Edit", Session: "s", ToolUseID: fmt.Sprint("t", i),
			Input: []byte(fmt.Sprintf(`{"file_path":%q,"old_string":"two","new_string":"TWO"}`, path)),
		}
	}
	for range n {
		r := next()
		r.Tool, r.Input = "Bash", []byte(`{"command":"ls"}`)
		d.Register(r)
	}
	return d, next
}

// BenchmarkRegister and BenchmarkSettle use a 200 KB file, with few and with
// many other approvals pending.
func BenchmarkRegister(b *testing.B) {
	for _, n := range []int{0, 1000} {
		b.Run(fmt.Sprint("pending=", n), func(b *testing.B) {
			d, next := benchDesk(b, n)
			for b.Loop() {
				a := d.Register(next())
				b.StopTimer()
				d.Settle(a.ID, Decision{})
				d.Answered(a.ID, nil)
				b.StartTimer()
			}
		})
	}
}

func BenchmarkSettle(b *testing.B) {
	for _, n := range []int{0, 1000} {
		b.Run(fmt.Sprint("pending=", n), func(b *testing.B) {
			d, next := benchDesk(b, n)
			for b.Loop() {
				b.StopTimer()
				a := d.Register(next())
				text := a.Document.Text() // as the editor that saved it read it back
				b.StartTimer()
				if _, _, err := d.Settle(a.ID, Decision{Allow: true, Text: &text}); err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				d.Answered(a.ID, nil)
				b.StartTimer()
			}
		})
	}
}

func BenchmarkPending1000(b *testing.B) {
	d, _ := benchDesk(b, 1000)
	for b.Loop() {
		d.Pending()
	}
}
