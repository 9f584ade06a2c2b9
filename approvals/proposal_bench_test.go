package approvals

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// benchTarget is a text of about 200 KB in a real file.
func benchTarget(b *testing.B, end string) (path, text string) {
	b.Helper()
	var s strings.Builder
	for s.Len() < 200_000 {
		s.WriteString("\tif err := run(ctx, name); err != nil { // a line as they come" + end)
	}
	s.WriteString("the needle" + end)
	path = filepath.Join(b.TempDir(), "a.go")
	if err := os.WriteFile(path, []byte(s.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	return path, s.String()
}

// BenchmarkFloor is what no proposal can do without: the read and the hash.
func BenchmarkFloor(b *testing.B) {
	path, text := benchTarget(b, "\n")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		data, err := os.ReadFile(path)
		if err != nil {
			b.Fatal(err)
		}
		_ = sha256.Sum256(data)
	}
}

func BenchmarkPropose(b *testing.B) {
	for _, c := range []struct{ name, end, old string }{
		{"LF", "\n", "the needle"}, {"CRLF", "\r\n", "the needle"}, {"Curly", "\n", "“the” needle"},
	} {
		b.Run(c.name, func(b *testing.B) {
			path, text := benchTarget(b, c.end)
			if c.name == "Curly" {
				text = strings.Replace(text, "the needle", `"the" needle`, 1)
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					b.Fatal(err)
				}
			}
			req := editRequest(c.old, "found")
			req.Input = []byte(strings.Replace(string(req.Input), "/w/a.txt", filepath.ToSlash(path), 1))
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Propose(req, os.ReadFile, 8<<20); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAmend(b *testing.B) {
	for _, end := range []string{"\n", "\r\n"} {
		b.Run(map[string]string{"\n": "LF", "\r\n": "CRLF"}[end], func(b *testing.B) {
			_, text := benchTarget(b, end)
			p, err := Propose(editRequest("the needle", "found"), oneFile(&text), 0)
			if err != nil {
				b.Fatal(err)
			}
			amended := strings.Replace(text, "the needle", "mine", 1)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if a, err := p.Amend(amended); err != nil || !a.Amended {
					b.Fatal(err)
				}
			}
		})
	}
}
