package lsp

import (
	"context"

	"countersign/session"
	"countersign/session/hub"
)

// A Hub is a hub that this front end is attached to: the methods of
// *hub.Client. Errors that the hub answered are *hub.Error; any other error
// means that the hub could not be reached, and that nothing is known of what
// became of the request.
type Hub interface {
	Configure(ctx context.Context, s session.Settings) error
	Send(ctx context.Context, p hub.SendParams) (session.Info, error)
	Show(ctx context.Context, p hub.ShowParams) (hub.Detail, error)
	Settle(ctx context.Context, p hub.SettleParams) (hub.Settled, error)
	Keep(ctx context.Context, p hub.KeepParams) error
	InterruptSession(ctx context.Context, p hub.SessionParams) error
	NewSessionWith(ctx context.Context, p hub.NewSessionParams) (session.Info, error)
	SetMode(ctx context.Context, p hub.ModeParams) (session.Info, error)
	Resume(ctx context.Context, p hub.ResumeParams) (session.Info, error)
	Sessions(ctx context.Context) ([]hub.SessionEntry, error)
	StopSession(ctx context.Context, p hub.SessionParams) (session.Info, error)
	Transcript(ctx context.Context, p hub.SessionParams) (hub.Transcript, error)
	Status(ctx context.Context) (hub.Status, error)

	// Events delivers what changes after the attach result, in order. Lost is
	// the last one; then the channel is closed.
	Events() <-chan hub.Event
	Close() error
}
