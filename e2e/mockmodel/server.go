package mockmodel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"sync"

	"github.com/go-json-experiment/json"
)

// A Server plays a script on a port of loopback. Its methods are safe for
// concurrent use.
type Server struct {
	listener net.Listener
	http     *http.Server
	done     chan struct{} // closed by Close: ends held turns
	serving  sync.WaitGroup

	mu       sync.Mutex
	script   Script
	requests []Request
	changed  chan struct{}            // closed and replaced with each captured request
	released map[string]chan struct{} // by Turn.Hold
	closed   bool
}

// Start listens on a free port of 127.0.0.1 and plays the script.
func Start(script Script) (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the agent's model calls: %w", err)
	}
	s := &Server{
		listener: l, script: script, done: make(chan struct{}),
		changed: make(chan struct{}), released: map[string]chan struct{}{},
	}
	s.http = &http.Server{Handler: s}
	s.serving.Go(func() { _ = s.http.Serve(l) })
	return s, nil
}

// URL is what ANTHROPIC_BASE_URL must be.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Env is a clean environment for an agent that talks to this model and to
// nobody else: path is its PATH, home its own home folder.
func (s *Server) Env(path, home string) []string {
	return []string{
		"PATH=" + path,
		"HOME=" + home,
		"TMPDIR=" + filepath.Join(home, "tmp"),
		"LANG=C.UTF-8",
		"TERM=xterm-256color",
		"ANTHROPIC_BASE_URL=" + s.URL(),
		"ANTHROPIC_API_KEY=sk-dummy-key-of-a-test",
		"DISABLE_TELEMETRY=1",
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_ERROR_REPORTING=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}
}

// Play replaces the script. Captured requests stay.
func (s *Server) Play(script Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// Release lets the turns held under that name go on, now and later.
func (s *Server) Release(hold string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.hold(hold)
	select {
	case <-c:
	default:
		close(c)
	}
}

// hold needs mu.
func (s *Server) hold(name string) chan struct{} {
	c := s.released[name]
	if c == nil {
		c = make(chan struct{})
		s.released[name] = c
	}
	return c
}

// Requests are the calls captured so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Await waits until a captured request satisfies the condition, looking at all
// of them again whenever one arrives.
func (s *Server) Await(ctx context.Context, condition func(Request) bool) (Request, error) {
	for seen := 0; ; {
		s.mu.Lock()
		all, changed := s.requests, s.changed
		s.mu.Unlock()
		for ; seen < len(all); seen++ {
			if condition(all[seen]) {
				return all[seen], nil
			}
		}
		select {
		case <-changed:
		case <-s.done:
			return Request{}, errors.New("the mock model was closed before the awaited call came")
		case <-ctx.Done():
			return Request{}, fmt.Errorf("the awaited model call did not come among %d: %w", len(all), ctx.Err())
		}
	}
}

// AwaitTold waits until a call tells the result of the tool call with that id.
func (s *Server) AwaitTold(ctx context.Context, callID string) (Block, error) {
	r, err := s.Await(ctx, func(r Request) bool { _, ok := r.Told(callID); return ok })
	if err != nil {
		return Block{}, fmt.Errorf("result of tool call %s: %w", callID, err)
	}
	b, _ := r.Told(callID)
	return b, nil
}

// Close ends the server, its connections and every held turn, and waits.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	close(s.done)
	s.mu.Unlock()
	err := s.http.Close()
	s.serving.Wait()
	return err
}

// ServeHTTP answers one call of the agent.
func (s *Server) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	s.mu.Lock()
	if s.closed { // Close waits for what was counted before
		s.mu.Unlock()
		return
	}
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()

	r := Request{Method: q.Method, Path: q.URL.Path}
	var body wireRequest
	if q.Method == http.MethodPost {
		if err := json.UnmarshalRead(q.Body, &body); err != nil {
			s.capture(&r)
			refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error())
			return
		}
		body.fill(&r)
	}
	switch {
	case q.Method == http.MethodPost && r.Path == "/v1/messages":
		s.answer(w, q, r, body)
	case q.Method == http.MethodPost && r.Path == "/v1/messages/count_tokens":
		s.capture(&r)
		reply(w, http.StatusOK, map[string]any{"input_tokens": 100})
	case r.Path == "/v1/models":
		s.capture(&r)
		reply(w, http.StatusOK, map[string]any{"data": []string{}, "has_more": false})
	case q.Method == http.MethodHead:
		w.WriteHeader(http.StatusOK)
	default:
		s.capture(&r)
		refuse(w, http.StatusNotFound, "not_found_error", "the mock model has no "+r.Path)
	}
}

// capture numbers and keeps the request, and wakes those who wait.
func (s *Server) capture(r *Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.N = len(s.requests)
	s.requests = append(s.requests, *r)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) answer(w http.ResponseWriter, q *http.Request, r Request, body wireRequest) {
	s.mu.Lock()
	script := s.script
	s.mu.Unlock()

	var turn Turn
	switch {
	case !r.Helper:
		turn = script.turn(&r)
	case script.Helper != "":
		turn = Say(script.Helper)
	case body.wantsSchema():
		turn = Say(`{"title":"Mock title"}`)
	}
	content, err := turn.content(&r)
	s.capture(&r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error())
		return
	}
	if turn.Hold != "" {
		s.mu.Lock()
		released := s.hold(turn.Hold)
		s.mu.Unlock()
		select {
		case <-released:
		case <-q.Context().Done():
			panic(http.ErrAbortHandler) // cuts the connection: an empty 200 would be an answer
		case <-s.done:
			panic(http.ErrAbortHandler)
		}
	}
	if turn.Status != 0 {
		refuse(w, turn.Status, turn.Error, "scripted error")
		return
	}
	m := message{ID: fmt.Sprintf("msg_mock_%d", r.N), Model: r.Model, Content: content}
	if r.Stream {
		m.stream(w)
		return
	}
	reply(w, http.StatusOK, m.whole())
}

func refuse(w http.ResponseWriter, status int, kind, text string) {
	if kind == "" {
		kind = "api_error"
	}
	reply(w, status, map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": text}})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.MarshalWrite(w, v) // a client that went away is its own affair
}
