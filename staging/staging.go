// Package staging keeps staged documents on disk: the real files in which a
// person reviews what an agent proposes.
//
// A staged document lies at <storage>/proposed/<id>/<basename>. It knows
// nothing of what an approval means: it writes bytes, remembers what it wrote,
// reads them back verified, and clears them. Paths are absolute file system
// paths; contents are raw bytes. The package starts no goroutines but to
// hash a large document while it is written; a Store is safe for concurrent use.
package staging

// A Print is what is remembered of a file when it was staged, so that a later
// look at the same path can tell whether anybody wrote it since. It crosses
// the hub's socket as JSON.
type Print struct {
	Size    int64  `json:"size"`            // bytes
	ModTime int64  `json:"modTime"`         // nanoseconds since the Unix epoch
	Inode   uint64 `json:"inode,omitzero"`  // 0 where the system has none
	Device  uint64 `json:"device,omitzero"` // 0 where the system has none
	Hash    string `json:"hash"`            // lower-case hex SHA-256 of the content
}

// Staged is one document that lies on disk for review.
type Staged struct {
	ID    string `json:"id"`   // the approval's id, also the directory's name
	Path  string `json:"path"` // absolute
	Print Print  `json:"print"`
}
