package approvals

func proposeNotebook(p *Proposal, read ReadFile, limit int64) error {
	return &NoPreviewError{Path: p.path, Reason: "notebooks are shown as the tool's input"}
}
