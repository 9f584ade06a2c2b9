package rpc

import (
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

// takeBatch handles an array of requests and notifications: in order, like
// single ones, but with the answers in one array.
func (c *Conn) takeBatch(body []byte) {
	parsed, err := jsonrpc2.ParseRequests(body)
	if err == nil && len(parsed) == 0 {
		err = Errorf(InvalidRequest, "an empty batch")
	}
	if err != nil {
		c.malformed(err, body, c.reply)
		return
	}
	b := &batch{conn: c, open: 1}
	for _, p := range parsed {
		if _, ok := p.Msg.(*jsonrpc2.Notification); !ok || p.Err != nil {
			b.open++
		}
	}
	for _, p := range parsed {
		if p.Err != nil {
			c.malformed(p.Err, body, b.reply)
			continue
		}
		c.takeMessage(p.Msg, b.reply)
	}
	b.settle(nil)
}

// A batch gathers the answers of one incoming batch.
type batch struct {
	conn *Conn

	mu      sync.Mutex
	open    int // answers still to come, and one for the taking itself
	answers []jsonrpc2.Message
}

func (b *batch) reply(id jsonrpc2.ID, result jsontext.Value, err error) {
	b.settle(jsonrpc2.NewResponse(id, jsonrpc2.RawMessage(result), err))
}

func (b *batch) settle(answer jsonrpc2.Message) {
	b.mu.Lock()
	if answer != nil {
		b.answers = append(b.answers, answer)
	}
	b.open--
	last := b.open == 0 && len(b.answers) > 0
	answers := b.answers
	b.mu.Unlock()
	if last {
		_ = b.conn.send(func(buf []byte) []byte { return jsonrpc2.AppendBatch(buf, answers) })
	}
}
