package bytetable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"countersign/approvals"
	"countersign/e2e/realcli"
)

// TestRandomEdits lets the agent do edits that nobody thought of. The seed is
// in the name of a failing case; COUNTERSIGN_RANDOM_SEED and
// COUNTERSIGN_RANDOM_COUNT choose others and more.
func TestRandomEdits(t *testing.T) {
	agent := realcli.Path(t)
	seed, count := number("COUNTERSIGN_RANDOM_SEED", 1), number("COUNTERSIGN_RANDOM_COUNT", 200)
	rnd := rand.New(rand.NewPCG(uint64(seed), 0))
	var runs []*run
	for i := range count {
		c := randomCase(rnd)
		c.name = fmt.Sprintf("seed %d case %d", seed, i)
		runs = append(runs, &run{tableCase: c, id: strconv.Itoa(i), amended: rnd.IntN(3) == 0})
	}
	playRuns(t, agent, runs)
	allowed := 0
	for _, r := range runs {
		t.Run(r.title(), func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Logf("%s %q of %q, amended to %q", r.tool, r.call("P"), r.file, r.amend)
				}
			})
			if !r.asked { // then there must be no proposal either
				if old, _ := r.input["old_string"].(string); strings.Contains(old, `\u`) {
					return // the agent had put characters for the escapes before it looked
				}
				_, err := approvals.Propose(approvals.Request{Tool: r.tool, Input: r.call(r.path)}, os.ReadFile, 0)
				if err == nil {
					t.Errorf("the agent did not ask: %.300s", r.result.Text)
				}
				return
			}
			if errors.Is(r.err, errNoAmendment) {
				return // the text happens to be the original or the proposal
			}
			allowed++
			if r.amended && r.err == nil && r.sent.Notes != nil {
				r.lands = decoded(r.sent.Want) // with a note it may be another text
			}
			r.check(t)
		})
	}
	t.Logf("%d of %d edits took place", allowed, count)
}

func number(env string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil {
		return n
	}
	return otherwise
}

var tokens = []string{
	"a", "b", "ab", " ", "\t", "\n", "\n", "\r\n", "\r\n", "\r", "“", "”", "‘", "’", `"`, `'`, "(", "—",
	"é", "É", "𝄞", `\u00e9`, `\u00E9`, `\ud834\udd1e`, `\`, "\u00a0", "$&", "<", "\n\n", "\u2028",
}

func randomText(r *rand.Rand, most int) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteString(tokens[r.IntN(len(tokens))])
	}
	return b.String()
}

func randomCase(r *rand.Rand) tableCase {
	text := randomText(r, 14)
	if r.IntN(3) == 0 { // with line ends of one kind
		text = strings.NewReplacer("\r\n", "\n", "\r", "").Replace(text)
		if r.IntN(2) == 0 {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
	}
	c := tableCase{tool: "Edit", file: []byte(text), amend: randomText(r, 10)}
	switch r.IntN(10) {
	case 0:
		c.file = utf16le(text)
	case 1:
		c.file = []byte("\uFEFF" + text)
	case 2:
		c.file = nil
	}
	if r.IntN(8) == 0 {
		c.tool, c.input = "Write", write(stripped(randomText(r, 8)))
		return c
	}
	old := []rune(strings.ReplaceAll(text, "\r\n", "\n"))
	from := r.IntN(len(old) + 1)
	old = old[from : from+r.IntN(len(old)-from+1)]
	put := ""
	if r.IntN(4) > 0 {
		put = stripped(randomText(r, 6))
	}
	c.input = map[string]any{"old_string": disguised(r, string(old)), "new_string": put}
	if r.IntN(3) == 0 {
		c.input["replace_all"] = true
	}
	return c
}

// stripped is what the agent makes of a new text before it asks.
func stripped(s string) string {
	var b strings.Builder
	for s != "" {
		end := strings.IndexAny(s, "\r\n")
		if end < 0 {
			end = len(s)
		}
		b.WriteString(strings.TrimRightFunc(s[:end], func(r rune) bool { return unicode.IsSpace(r) || r == '\uFEFF' }))
		if end < len(s) {
			b.WriteByte(s[end])
			end++
		}
		s = s[end:]
	}
	return b.String()
}

// disguised writes some characters in another way that the agent still finds.
func disguised(r *rand.Rand, s string) string {
	pairs := []string{"“", `"`, "”", `"`, "‘", "'", "’", "'"}
	switch r.IntN(6) {
	case 0, 1:
		return strings.NewReplacer(pairs...).Replace(s)
	case 2:
		return strings.NewReplacer(`"`, "“", `'`, "’").Replace(s)
	case 3:
		return strings.NewReplacer("é", `\u00e9`, "𝄞", `\ud834\udd1e`).Replace(s)
	case 4:
		return strings.NewReplacer(`\u00e9`, "é", `\u00E9`, "é", `\ud834\udd1e`, "𝄞").Replace(s)
	}
	return s
}
