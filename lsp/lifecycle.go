package lsp

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"countersign/session/rpc"
)

// A phase is where a connection stands. It only grows.
type phase int32

const (
	created      phase = iota // before initialize
	initializing              // initialize was answered
	initialized               // the editor said initialized
	ending                    // shutdown was asked for
)

func (p phase) String() string {
	return [...]string{"created", "initializing", "initialized", "shut down"}[p]
}

// life is the life-cycle of a connection. The reader alone changes it.
type life struct {
	phase    phase
	gone     bool // exit came
	shutDown atomic.Bool
}

// refusal is the error for a request that comes too early or too late.
func (s *server) refusal(method string) error {
	switch s.phase {
	case created:
		return rpc.Errorf(rpc.ServerNotInitialized, "%s came before initialize", method)
	case ending:
		return rpc.Errorf(rpc.InvalidRequest, "%s came after shutdown", method)
	}
	return nil
}

// serving tells whether notifications count.
func (s *server) serving() bool { return s.phase == initializing || s.phase == initialized }

// initialize answers at once: the hub is looked for after initialized.
func (s *server) initialize(params jsontext.Value) func(context.Context) (any, error) {
	fail := func(err error) func(context.Context) (any, error) {
		return func(context.Context) (any, error) { return nil, err }
	}
	if s.phase != created {
		return fail(rpc.Errorf(rpc.InvalidRequest, "initialize came twice"))
	}
	var p initializeParams
	if err := read(params, &p); err != nil {
		// Better a plain editor than none.
		s.log.Warn("initialize cannot be read in full", zap.Error(err))
	}
	s.phase = initializing
	c := newClient(p)
	s.push(func() {
		s.client = c
		s.documents = NewDocuments(c.encoding())
		if c.previewTabs() {
			s.gestures.HasPreviewTabs()
		}
		s.initialSettings(p.InitializationOptions)
	})
	result := &protocol.InitializeResult{
		Capabilities: s.capabilities(c),
		ServerInfo:   protocol.ServerInfo{Name: "countersign", Version: protocol.NewOptional(s.opts.Version)},
	}
	return func(context.Context) (any, error) { return result, nil }
}

// capabilities are what the server can do for that client.
func (s *server) capabilities(c *client) protocol.ServerCapabilities {
	yes := true
	incremental := protocol.TextDocumentSyncKindIncremental
	caps := protocol.ServerCapabilities{
		PositionEncoding: c.encoding(),
		TextDocumentSync: &protocol.TextDocumentSyncOptions{
			OpenClose: &yes,
			Change:    &incremental,
			WillSave:  &yes,
			Save:      &protocol.SaveOptions{IncludeText: &yes},
		},
		HoverProvider:          protocol.Boolean(true),
		CodeLensProvider:       &protocol.CodeLensOptions{},
		ExecuteCommandProvider: protocol.ExecuteCommandOptions{Commands: commandNames()},
		CodeActionProvider:     protocol.Boolean(true),
		Workspace: &protocol.WorkspaceOptions{
			WorkspaceFolders: &protocol.WorkspaceFoldersServerCapabilities{Supported: &yes, ChangeNotifications: protocol.Boolean(false)},
		},
	}
	if c.virtual {
		caps.Workspace.TextDocumentContent = &protocol.TextDocumentContentOptions{Schemes: []string{virtualScheme}}
	}
	if c.literal {
		caps.CodeActionProvider = &protocol.CodeActionOptions{CodeActionKinds: codeActionKinds()}
	}
	return caps
}

// initialized notes that notification; it tells whether it is the first.
func (s *server) initialized() bool {
	if s.phase != initializing {
		return false
	}
	s.phase = initialized
	return true
}

// quitGrace is how long the answer to shutdown waits for decisions under way.
// VS Code gives a server two seconds, Helix three.
const quitGrace = 1500 * time.Millisecond

// shutdown ends the serving; it decides nothing, but that a save was alone. What
// was decided before is on
// its way, and an editor may kill its servers once it has the answer, so the
// answer waits until the hub has that.
func (s *server) shutdown() func(context.Context) (any, error) {
	if err := s.refusal("shutdown"); err != nil {
		return func(context.Context) (any, error) { return nil, err }
	}
	s.phase = ending
	s.shutDown.Store(true)
	ended := make(chan struct{})
	s.push(func() { s.end(true); close(ended) })
	return func(ctx context.Context) (any, error) {
		select {
		case <-ended:
			s.decided(quitGrace)
		case <-ctx.Done():
		}
		return nil, nil
	}
}

// exit ends Serve.
func (s *server) exit() {
	if !s.gone {
		s.gone = true
		close(s.exited)
	}
}
