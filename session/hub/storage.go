package hub

// StorageOf is the storage of the last hub of a workspace, whether it still
// runs or not: where its journal lies. Of a workspace that never had one it is
// the folder that a hub would use by default.
func StorageOf(root string) (string, error) {
	p, err := placesOf(root)
	if err != nil {
		return "", err
	}
	if rec, err := readRecord(p.state); err == nil && rec.Storage != "" {
		return rec.Storage, nil
	}
	return p.state, nil
}
