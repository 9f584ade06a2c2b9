package hub

import (
	"context"

	"countersign/session"
)

// SetMode asks for a permission mode. It counts at once where the agent takes
// it, and otherwise from the next prompt on; the answer says which.
func (c *Client) SetMode(ctx context.Context, p ModeParams) (session.Info, error) {
	return call[session.Info](ctx, c, MethodSetMode, p)
}

// Resume goes on with a session and makes it the current one.
func (c *Client) Resume(ctx context.Context, p ResumeParams) (session.Info, error) {
	return call[session.Info](ctx, c, MethodResume, p)
}

// Sessions lists the open sessions, then the earlier ones, the last first.
func (c *Client) Sessions(ctx context.Context) ([]SessionEntry, error) {
	return call[[]SessionEntry](ctx, c, MethodSessions, nil)
}

// StopSession ends a session's agent. The session can be resumed.
func (c *Client) StopSession(ctx context.Context, p SessionParams) (session.Info, error) {
	return call[session.Info](ctx, c, MethodStopSession, p)
}

// Transcript is what happened in a session.
func (c *Client) Transcript(ctx context.Context, p SessionParams) (Transcript, error) {
	return call[Transcript](ctx, c, MethodTranscript, p)
}

// NewSessionWith is NewSession, also beside the current session.
func (c *Client) NewSessionWith(ctx context.Context, p NewSessionParams) (session.Info, error) {
	return call[session.Info](ctx, c, MethodNewSession, p)
}

// InterruptSession ends the running turn of a session.
func (c *Client) InterruptSession(ctx context.Context, p SessionParams) error {
	return tell(ctx, c, MethodInterrupt, p)
}
