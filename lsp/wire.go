package lsp

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"

	"countersign/session/rpc"
)

// This file is what the server reads of an editor's messages. Editors are not
// strict: a languageId may be null, a version absent, a range null. So the
// fields that are needed are read by name, and nothing else can fail a message.
// What the server sends is built of the protocol package's types.

type documentID struct {
	URI string `json:"uri"`
}

type didOpenParams struct {
	TextDocument struct {
		URI        string         `json:"uri"`
		LanguageID jsontext.Value `json:"languageId"`
		Version    jsontext.Value `json:"version"`
		Text       string         `json:"text"`
	} `json:"textDocument"`
}

type didChangeParams struct {
	TextDocument struct {
		URI     string         `json:"uri"`
		Version jsontext.Value `json:"version"`
	} `json:"textDocument"`
	ContentChanges []Change `json:"contentChanges"`
}

type willSaveParams struct {
	TextDocument documentID `json:"textDocument"`
	Reason       int        `json:"reason"`
}

type didSaveParams struct {
	TextDocument documentID `json:"textDocument"`
	Text         *string    `json:"text"`
}

type documentParams struct { // of didClose, codeLens
	TextDocument documentID `json:"textDocument"`
}

type hoverParams struct {
	TextDocument documentID        `json:"textDocument"`
	Position     protocol.Position `json:"position"`
}

type codeActionParams struct {
	TextDocument documentID     `json:"textDocument"`
	Range        protocol.Range `json:"range"`
	Context      struct {
		Only        []string  `json:"only"`
		Diagnostics []problem `json:"diagnostics"`
	} `json:"context"`
}

// A problem is a diagnostic as an editor sends it back.
type problem struct {
	Range    protocol.Range `json:"range"`
	Severity jsontext.Value `json:"severity"`
	Source   jsontext.Value `json:"source"`
	Message  jsontext.Value `json:"message"`
}

type textDocumentContentParams struct {
	URI string `json:"uri"`
}

type executeCommandParams struct {
	Command   string           `json:"command"`
	Arguments []jsontext.Value `json:"arguments"`
}

type configurationParams struct { // of didChangeConfiguration
	Settings jsontext.Value `json:"settings"`
}

type progressCancelParams struct {
	Token jsontext.Value `json:"token"`
}

type initializeParams struct {
	ClientInfo *struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	} `json:"clientInfo"`
	RootPath              *string        `json:"rootPath"`
	RootURI               *string        `json:"rootUri"`
	InitializationOptions jsontext.Value `json:"initializationOptions"`
	Capabilities          capabilities   `json:"capabilities"`
	WorkspaceFolders      []struct {
		URI string `json:"uri"`
	} `json:"workspaceFolders"`
}

// capabilities are the ones that change what the server does.
type capabilities struct {
	Workspace struct {
		ApplyEdit     bool `json:"applyEdit"`
		WorkspaceEdit struct {
			DocumentChanges    bool     `json:"documentChanges"`
			ResourceOperations []string `json:"resourceOperations"`
		} `json:"workspaceEdit"`
		Configuration          bool `json:"configuration"`
		DidChangeConfiguration struct {
			DynamicRegistration bool `json:"dynamicRegistration"`
		} `json:"didChangeConfiguration"`
		CodeLens struct {
			RefreshSupport bool `json:"refreshSupport"`
		} `json:"codeLens"`
		TextDocumentContent jsontext.Value `json:"textDocumentContent"`
	} `json:"workspace"`
	TextDocument struct {
		CodeAction struct {
			CodeActionLiteralSupport jsontext.Value `json:"codeActionLiteralSupport"`
		} `json:"codeAction"`
		CodeLens jsontext.Value `json:"codeLens"`
		Hover    struct {
			ContentFormat []string `json:"contentFormat"`
		} `json:"hover"`
	} `json:"textDocument"`
	Window struct {
		WorkDoneProgress bool `json:"workDoneProgress"`
		ShowDocument     struct {
			Support bool `json:"support"`
		} `json:"showDocument"`
	} `json:"window"`
	General struct {
		PositionEncodings []string `json:"positionEncodings"`
	} `json:"general"`
}

// read decodes the parameters of a message. Absent and null ones leave v as it is.
func read(params jsontext.Value, v any) error {
	if absent(params) {
		return nil
	}
	if err := json.Unmarshal(params, v, lenient); err != nil {
		return rpc.Errorf(rpc.InvalidParams, "the parameters cannot be read: %v", err)
	}
	return nil
}

// absent tells whether a JSON value is missing or null.
func absent(v jsontext.Value) bool { return len(v) == 0 || v.Kind() == 'n' }

// version reads a document's version, which some clients leave out: then it is
// the one that is expected.
func version(v jsontext.Value, expected int32) int32 {
	var n int32
	if absent(v) || json.Unmarshal(v, &n) != nil {
		return expected
	}
	return n
}
