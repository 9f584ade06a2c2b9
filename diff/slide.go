package diff

func (t *table) slide(edits []Edit) []Edit { return edits }
