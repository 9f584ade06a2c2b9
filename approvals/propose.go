package approvals

import (
	"fmt"
	"path/filepath"
	"strings"

	"countersign/diff"
	"countersign/staging"
)

// Propose computes what a request would make of its target, byte for byte as
// the agent's own tools do it (Write, Edit and NotebookEdit as in the CLI
// 2.1.332; MultiEdit and Update as older agents name and shape them).
//
// limit bounds the bytes of the target and of the result; 0 is no limit.
// The error is ErrNoProposal for a tool that changes no file, a
// *NoPreviewError for a change that no text can show, and any other error for
// an input that does not make sense for the file as it is now. Nothing that an
// input or a file holds makes it panic.
func Propose(req Request, read ReadFile, limit int64) (*Proposal, error) {
	var build func(*Proposal, ReadFile, int64) error
	field := "file_path"
	switch req.Tool {
	case "Write":
		build = proposeWrite
	case "Edit", "Update":
		build = proposeEdit
	case "MultiEdit":
		build = proposeMultiEdit
	case "NotebookEdit":
		build, field = proposeNotebook, "notebook_path"
	default:
		return nil, ErrNoProposal
	}
	in, err := takeApart(own(req.Input))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", req.Tool, err)
	}
	p := &Proposal{input: in}
	if p.path, err = targetPath(in, field); err != nil {
		return nil, fmt.Errorf("%s: %w", req.Tool, err)
	}
	p.basename = filepath.Base(p.path)
	if err := build(p, read, limit); err != nil {
		return nil, fmt.Errorf("%s: %w", req.Tool, err)
	}
	if limit > 0 && int64(len(p.text)) > limit {
		return nil, fmt.Errorf("%s: %w", req.Tool, &NoPreviewError{
			Path:   p.path,
			Reason: fmt.Sprintf("the result has %d bytes, more than the %d that are previewed", len(p.text), limit),
		})
	}
	if strings.Count(p.text, "\r") != strings.Count(p.text, "\r\n") {
		p.warn("The text has lone CR characters, which some editors turn into line ends when they save it.")
	}
	p.aside = later(len(p.text), func() aside {
		return aside{max(0, diff.FirstChange(p.original, p.text)), staging.Hash(p.text)}
	})
	return p, nil
}

// load reads the target into the proposal.
func (p *Proposal) load(read ReadFile, limit int64) error {
	f, data, err := readText(p.path, read, limit)
	if err != nil {
		return err
	}
	p.file, p.base, p.original = f, later(len(data), func() Base { return baseOf(data, f.exists) }), f.original()
	return nil
}

// note adds a remark on the change as proposed.
func (p *Proposal) note(text string) { p.notes = append(p.notes, Note{Text: text}) }

// warn adds a remark that a person should not miss.
func (p *Proposal) warn(text string) { p.notes = append(p.notes, Note{Text: text, Warning: true}) }

// noteEnd remarks on a final newline that comes or goes.
func (p *Proposal) noteEnd() {
	if p.original == "" || p.text == "" {
		return
	}
	switch was, is := strings.HasSuffix(p.original, "\n"), strings.HasSuffix(p.text, "\n"); {
	case was && !is:
		p.note("The final newline goes.")
	case is && !was:
		p.note("A final newline is added.")
	}
}

// noteBOM remarks on the byte order mark, which is not in the staged text.
func (p *Proposal) noteBOM() {
	if !p.file.exists || !p.file.bom() {
		return
	}
	if p.file.enc == encUTF16LE {
		p.note("The file is UTF-16LE and stays so; it is shown here as UTF-8.")
		return
	}
	p.note("The file begins with a byte order mark, which is kept.")
}
