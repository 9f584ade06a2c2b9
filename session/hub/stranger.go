package hub

import (
	"context"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/zap"

	"countersign/session/rpc"
)

// How long somebody who is refused may take to hear why.
const refusalPatience = 5 * time.Second

// refuse tells whoever connected why nothing is answered, and hangs up.
func (h *hub) refuse(ctx context.Context, c io.ReadWriteCloser, why error) {
	h.log.Warn("a connection was refused", zap.Error(why))
	h.mu.Lock()
	crowd := h.strangers >= 10
	if !crowd {
		h.strangers++
	}
	h.mu.Unlock()
	if crowd {
		c.Close()
		return
	}
	ctx, cancel := context.WithTimeout(ctx, refusalPatience)
	s := &stranger{why: why, conn: make(chan *rpc.Conn, 1)}
	conn := rpc.NewConn(ctx, c, s, rpc.Options{Name: "a stranger", Log: h.log, Grace: time.Second})
	s.conn <- conn
	h.left.Go(func() {
		defer cancel()
		<-conn.Done()
		h.mu.Lock()
		h.strangers--
		h.mu.Unlock()
	})
}

// A stranger is the handler of a connection that is refused.
type stranger struct {
	why  error
	conn chan *rpc.Conn // capacity 1
}

func (*stranger) Notify(string, jsontext.Value) {}

// Request answers every request with the refusal, and ends the connection after
// the first.
func (s *stranger) Request(string, jsontext.Value) func(context.Context) (any, error) {
	return func(context.Context) (any, error) {
		select {
		case conn := <-s.conn:
			conn.End()
		default:
		}
		return nil, rpc.Errorf(CodeForbidden, "%v", s.why)
	}
}
