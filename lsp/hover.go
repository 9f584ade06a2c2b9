package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.lsp.dev/protocol"

	"countersign/approvals"
	"countersign/diff"
	"countersign/session/hub"
)

// hoverTimeout bounds what a hover waits for the hub.
const hoverTimeout = 2 * time.Second

// maxHoverLines bounds what a hover shows of a hunk.
const maxHoverLines = 40

// A detail is what the hub has of an approval in full, fetched once.
type detail struct {
	ready chan struct{} // closed when the fetch has ended
	text  hub.Detail
	err   error
}

// hover shows, in a staged document, the original text of the place: the hunk
// as it was.
func (s *server) hover(ctx context.Context, sn *snapshot, p hoverParams) (any, error) {
	uri := canonical(p.TextDocument.URI)
	var c *card
	for _, x := range sn.byURI[uri] {
		if x.staged == uri {
			c = x
		}
	}
	current, open := sn.texts[uri]
	if c == nil || !open {
		return nil, nil
	}
	d, err := s.detailOf(ctx, c)
	if err != nil {
		return nil, nil //nolint:nilerr // nothing to show is not an error for whoever moves the mouse
	}
	h, ok := hunkAt(d.Original, current.String(), int(p.Position.Line))
	if !ok {
		return nil, nil
	}
	return &protocol.Hover{
		Contents: markup(sn.client.markdown, h),
		Range: &protocol.Range{
			Start: protocol.Position{Line: uint32(h.B0)},
			End:   protocol.Position{Line: uint32(max(h.B1, h.B0+1))},
		},
	}, nil
}

// detailOf is the approval in full, from memory if it was fetched before.
func (s *server) detailOf(ctx context.Context, c *card) (hub.Detail, error) {
	ctx, cancel := context.WithTimeout(ctx, hoverTimeout)
	defer cancel()
	var d *detail
	err := s.within(ctx, func() { d = s.detail(c) })
	if err != nil {
		return hub.Detail{}, err
	}
	if d == nil {
		return hub.Detail{}, errors.New("no hub")
	}
	select {
	case <-d.ready:
		if d.err != nil { // tried again the next time
			s.push(func() {
				if s.details[c.ID] == d {
					delete(s.details, c.ID)
				}
			})
		}
		return d.text, d.err
	case <-ctx.Done():
		return hub.Detail{}, ctx.Err()
	case <-s.ctx.Done():
		return hub.Detail{}, s.ctx.Err()
	}
}

// hunkAt is the hunk of the current text at a line, without context.
func hunkAt(original, current string, line int) (diff.Hunk, bool) {
	for _, h := range diff.Hunks(original, current, diff.Lines(original, current), 0) {
		if line >= h.B0 && (line < h.B1 || h.B0 == h.B1 && line <= h.B0) {
			return h, true
		}
	}
	return diff.Hunk{}, false
}

// markup shows a hunk as a diff.
func markup(markdown bool, h diff.Hunk) protocol.HoverContents {
	var b strings.Builder
	removed := 0
	for i, l := range h.Lines {
		if l.Op == diff.Remove {
			removed++
		}
		if i == maxHoverLines {
			fmt.Fprintf(&b, "… %d more lines\n", len(h.Lines)-i)
			break
		}
		b.WriteByte(byte(l.Op))
		b.WriteString(approvals.Visible(strings.TrimRight(l.Text, "\r\n")))
		b.WriteByte('\n')
	}
	head := "As it was"
	if removed == 0 {
		head = "New here"
	}
	body := b.String()
	if !markdown {
		return &protocol.MarkupContent{Kind: protocol.MarkupKindPlainText, Value: head + ":\n" + body}
	}
	fence := strings.Repeat("`", max(3, longestRun(body, '`')+1))
	return &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: head + ":\n\n" + fence + "diff\n" + body + fence + "\n"}
}

// longestRun is the length of the longest run of c in text.
func longestRun(text string, c rune) int {
	longest, run := 0, 0
	for _, r := range text {
		if r == c {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}
