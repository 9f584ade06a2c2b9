package lsp

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/protocol"
	"go.uber.org/zap"

	"countersign/session/rpc"
)

// configurationTimeout is how long the first look for a hub waits for the
// editor to answer with its settings: they say where the hub's storage lies.
const configurationTimeout = 2 * time.Second

// layers are the settings as they came, the weakest first.
type layers struct {
	options Layer // initializationOptions
	pushed  Layer // of the last didChangeConfiguration
	pulled  Layer // of the last answer to workspace/configuration
	warned  map[string]bool
	first   bool // the first settings are in, however they came
}

// initialSettings are those of initializationOptions.
func (s *server) initialSettings(v jsontext.Value) {
	s.layers.options = Layer{Source: "initializationOptions", Value: v}
	s.applySettings()
}

// didChangeConfiguration brings settings, or only says that there are new ones.
func (s *server) didChangeConfiguration(p configurationParams) {
	if !absent(p.Settings) {
		s.layers.pushed = Layer{Source: "the editor's configuration", Value: p.Settings, Shared: true}
		s.applySettings()
	}
	s.pullSettings(func() {})
}

// pullSettings asks the editor for its settings, where it can be asked, and runs
// then on the loop in any case.
func (s *server) pullSettings(then func()) {
	if !s.client.pulls {
		then()
		return
	}
	s.work(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, configurationTimeout)
		defer cancel()
		var answer jsontext.Value
		err := s.conn.Call(ctx, "workspace/configuration", ourSection(), &answer)
		s.push(func() {
			if err != nil {
				s.log.Warn("the editor does not tell its settings", zap.Error(err))
			} else {
				s.layers.pulled = Layer{Source: "the editor's configuration", Value: answer}
				s.applySettings()
				s.gestures.HasEcho()
			}
			then()
		})
	})
}

func ourSection() *protocol.ConfigurationParams {
	section := Section
	return &protocol.ConfigurationParams{Items: []protocol.ConfigurationItem{{Section: &section}}}
}

// askEcho asks the editor for what gestures wait for: a sign that it has come so
// far. The request is one that it has answered before; what it says is of no
// interest, and an error is an answer as well.
func (s *server) askEcho() {
	n := s.gestures.Asked()
	if n == s.echo {
		return
	}
	s.echo = n
	s.work(func(ctx context.Context) {
		err := s.conn.Call(ctx, "workspace/configuration", ourSection(), nil)
		if refused := (*rpc.Error)(nil); err != nil && !errors.As(err, &refused) {
			return // the end of the connection, say: nothing was answered
		}
		s.push(func() { s.gesture(Event{Kind: EventEcho, Echo: n}) })
	})
}

// registerForSettings asks to be told when the settings change.
func (s *server) registerForSettings() {
	if !s.client.registers {
		return
	}
	raw, err := json.Marshal(map[string]string{"section": Section})
	if err != nil {
		return
	}
	p := &protocol.RegistrationParams{Registrations: []protocol.Registration{{
		ID: "countersign.configuration", Method: "workspace/didChangeConfiguration", RegisterOptions: raw,
	}}}
	s.work(func(ctx context.Context) {
		if err := s.conn.Call(ctx, "client/registerCapability", p, nil); err != nil {
			s.log.Info("the editor takes no registration", zap.Error(err))
		}
	})
}

// applySettings makes the settings of all layers count.
func (s *server) applySettings() {
	set, warnings := ParseSettings(s.layers.options, s.layers.pushed, s.layers.pulled)
	for _, w := range warnings {
		if s.layers.warned == nil {
			s.layers.warned = map[string]bool{}
		}
		if s.layers.warned[w] {
			continue
		}
		s.layers.warned[w] = true
		s.warnLater(w)
	}
	if reflect.DeepEqual(set, s.settings) {
		return
	}
	before := s.settings
	s.settings = set
	s.gestures.Configure(set.Gestures)
	for _, c := range s.board.pending { // they say which gestures decide
		s.touched(c.staged)
	}
	s.touched()
	if reflect.DeepEqual(before.Session, set.Session) {
		return
	}
	for _, l := range s.links {
		if l.hub != nil {
			s.configureHub(l)
		}
	}
}

// warnLater shows a warning about the settings once messages may be sent: not
// before initialize was answered.
func (s *server) warnLater(text string) {
	text = "Countersign: " + text + "."
	if s.begun {
		s.showWarning("%s", text)
		return
	}
	s.early = append(s.early, text)
}
