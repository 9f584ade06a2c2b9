package lsptest

import (
	"embed"
	"fmt"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Kind is one editor with its habits.
type Kind struct {
	Name         string
	capabilities string // file of the recorded initialize parameters

	firstVersion int32
	keepsVersion bool // versions go on counting after a document is opened again
	noLanguage   bool // languageId is empty

	savesUnmodified bool         // plain save of an unmodified buffer sends didSave
	willSave        bool         // sends willSave where the server wants it ...
	autosaveReason  int          // ... with this reason when a timer saves
	focusOutReason  int          // ... and this one when the editor loses the focus
	newline         newlineHabit // of a missing final newline

	reload   docHabit // the file is read again
	language docHabit // the language of a buffer changes
	saveAs   saveAsHabit
	quit     []string // the messages of quitting
	hides    bool     // closing the last window of a buffer keeps it, hidden

	closeDelay  time.Duration // from the closing of a buffer to its didClose
	apiClose    time.Duration // ... counted from the opening, of one opened by showDocument
	previewTab  bool          // a document shown by the server takes the place of the last one
	answerFirst bool          // showDocument is answered before the document is opened
	dirtyRevert bool          // closing a dirty buffer sends the reverting change first

	deletes      deleteHabit // a DeleteFile of an open document
	asks         bool        // knows window/showMessageRequest
	showsMissing bool        // showDocument of a missing file succeeds
}

type newlineHabit int

const (
	newlineNone   newlineHabit = iota // left missing
	newlineOnDisk                     // written, but neither in the buffer nor in didSave
	newlineChange                     // put into the buffer, with a didChange before the didSave
)

type docHabit int

const (
	docNothing   docHabit = iota
	docChange             // a didChange
	docCloseOpen          // didClose and didOpen, a few milliseconds apart
	docOpen               // a second didOpen without a didClose
)

type saveAsHabit int

const (
	saveAsOld     saveAsHabit = iota // didSave of the old document, nothing else
	saveAsOldMove                    // didSave of the old, didClose of it, didOpen of the new
	saveAsNew                        // didOpen and didSave of the new
)

type deleteHabit int

const (
	deleteCloses deleteHabit = iota
	deleteKeeps              // the file goes, the buffer stays, no didClose
	deleteFails
)

// The kinds.
var (
	Neovim = Kind{
		Name: "nvim", capabilities: "nvim-sid",
		savesUnmodified: true, willSave: true, autosaveReason: 1, focusOutReason: 1, newline: newlineOnDisk,
		reload: docCloseOpen, language: docCloseOpen, saveAs: saveAsOld, quit: []string{"shutdown", "exit"}, hides: true,
		answerFirst: true, asks: true, showsMissing: true,
	}
	Neovim010 = Kind{
		Name: "nvim-0.10", capabilities: "nvim-trixie", noLanguage: true,
		savesUnmodified: true, willSave: true, autosaveReason: 1, focusOutReason: 1, newline: newlineOnDisk,
		reload: docCloseOpen, language: docNothing, saveAs: saveAsOld, quit: []string{"shutdown"}, hides: true,
		asks: true, showsMissing: true,
	}
	Helix = Kind{
		Name: "helix", capabilities: "helix-sid",
		savesUnmodified: true, newline: newlineChange,
		reload: docChange, language: docNothing, saveAs: saveAsOldMove, quit: []string{"shutdown", "exit"}, hides: true,
		deletes: deleteKeeps, asks: true, showsMissing: true,
	}
	Helix2501 = Kind{
		Name: "helix-25.01", capabilities: "helix-trixie",
		savesUnmodified: true, newline: newlineChange,
		reload: docChange, language: docNothing, saveAs: saveAsOldMove, quit: nil, hides: true,
		deletes: deleteKeeps, showsMissing: true,
	}
	Eglot = Kind{
		Name: "eglot", capabilities: "emacs-eglot",
		willSave: true, autosaveReason: 1, focusOutReason: 1, newline: newlineChange,
		reload: docCloseOpen, language: docOpen, saveAs: saveAsOld, quit: nil,
		answerFirst: true, deletes: deleteFails, asks: true,
	}
	// VSCode is VS Code with a generic client: what the server shows comes up in
	// the preview tab, and its didClose comes three minutes after its didOpen.
	VSCode = Kind{
		Name: "vscode", capabilities: "vscode", firstVersion: 1, keepsVersion: true,
		savesUnmodified: true, willSave: true, autosaveReason: 2, focusOutReason: 3,
		reload: docChange, language: docCloseOpen, saveAs: saveAsNew, quit: []string{"shutdown", "exit"},
		closeDelay: 150 * time.Millisecond, apiClose: 180 * time.Second, previewTab: true, dirtyRevert: true,
		asks: true,
	}
	// VSCodeExtension is VS Code with a client that opens documents by command.
	VSCodeExtension = Kind{
		Name: "vscode-extension", capabilities: "vscode-languageclient-11", firstVersion: 1, keepsVersion: true,
		savesUnmodified: true, willSave: true, autosaveReason: 2, focusOutReason: 3,
		reload: docChange, language: docCloseOpen, saveAs: saveAsNew, quit: []string{"shutdown", "exit"},
		closeDelay: 150 * time.Millisecond, dirtyRevert: true,
		asks: true,
	}
)

// Kinds lists them all.
func Kinds() []Kind {
	return []Kind{Neovim, Neovim010, Helix, Helix2501, Eglot, VSCode, VSCodeExtension}
}

// KindNamed finds one by its name.
func KindNamed(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, true
		}
	}
	return Kind{}, false
}

//go:embed capabilities/*.json
var recorded embed.FS

// initializeParams are the recorded parameters of initialize, for a workspace
// at root ("" : none, as an editor started in a file of nowhere says it).
func (k Kind) initializeParams(root string, options jsontext.Value) (map[string]any, error) {
	raw, err := recorded.ReadFile("capabilities/" + k.capabilities + ".json")
	if err != nil {
		return nil, err
	}
	var rec struct {
		Capabilities jsontext.Value `json:"capabilities"`
		ClientInfo   jsontext.Value `json:"clientInfo"`
	}
	if err := json.Unmarshal(raw, &rec); err != nil {
		return nil, fmt.Errorf("recorded capabilities of %s: %w", k.Name, err)
	}
	p := map[string]any{"processId": nil, "capabilities": rec.Capabilities, "clientInfo": rec.ClientInfo, "rootUri": nil, "rootPath": nil}
	if root != "" {
		p["rootUri"], p["rootPath"] = fileURI(root), root
		p["workspaceFolders"] = []any{map[string]any{"uri": fileURI(root), "name": "workspace"}}
	}
	if len(options) > 0 {
		p["initializationOptions"] = options
	}
	return p, nil
}
