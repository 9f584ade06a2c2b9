package lsp

import (
	"context"
	"strings"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"countersign/session/hub"
	"countersign/session/rpc"
)

// In an editor that asks the server for the text of documents, a transcript is
// such a document: nothing lies on disk, nothing is ever unsaved, and it cannot
// be written in.

const virtualScheme = "countersign"

const virtualSpan = 500 * time.Millisecond // between two refreshes of a document

// virtualURI names the transcript of a session.
func virtualURI(session string) string {
	return canonical(virtualScheme + ":/sessions/" + plainName(session) + "/" + talkName)
}

// virtualSession is the session of such a name.
func virtualSession(u string) (string, bool) {
	rest, ok := strings.CutPrefix(canonical(u), virtualScheme+":/sessions/")
	name, file, cut := strings.Cut(rest, "/")
	return name, ok && cut && file == talkName && name != ""
}

// textDocumentContent answers with the text of a transcript.
func (s *server) textDocumentContent(ctx context.Context, _ *snapshot, p textDocumentContentParams) (any, error) {
	name, ok := virtualSession(p.URI)
	if !ok {
		return nil, rpc.Errorf(rpc.InvalidParams, "there is no document %s", oneLine(p.URI, 120))
	}
	var tr hub.Transcript
	err := s.call(ctx, s.root(), func(ctx context.Context, h Hub) (err error) {
		tr, err = h.Transcript(ctx, hub.SessionParams{Session: name})
		return err
	}, nil)
	if err != nil {
		return nil, err
	}
	s.push(func() {
		if s.shownTalks == nil {
			s.shownTalks = map[string]*refresh{}
		}
		if s.shownTalks[name] == nil {
			s.shownTalks[name] = &refresh{}
		}
	})
	return &protocol.TextDocumentContentResult{Text: tr.Text}, nil
}

// A refresh is when a virtual document was, and is to be, read again.
type refresh struct {
	news bool
	busy bool
	next time.Time
}

// refreshVirtual notes that a transcript has grown.
func (s *server) refreshVirtual(session string) {
	if r := s.shownTalks[plainName(session)]; r != nil {
		r.news = true
	}
}

// refreshTalks has the editor read again what has grown, and tells when the next
// one is due; zero for none.
func (s *server) refreshTalks() (next time.Time) {
	now := s.clock()
	for name, r := range s.shownTalks {
		switch {
		case !r.news || r.busy:
		case now.Before(r.next):
			if next.IsZero() || r.next.Before(next) {
				next = r.next
			}
		default:
			r.news, r.busy, r.next = false, true, now.Add(virtualSpan)
			s.work(func(ctx context.Context) {
				p := &protocol.TextDocumentContentRefreshParams{URI: uri.URI(virtualURI(name))}
				err := s.conn.Call(ctx, "workspace/textDocumentContent/refresh", p, nil)
				s.push(func() {
					r.busy = false
					if err != nil {
						s.log.Info("a transcript was not read again", zap.Error(err))
					}
				})
			})
		}
	}
	return next
}
