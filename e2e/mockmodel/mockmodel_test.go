package mockmodel

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, s Script) *Server {
	t.Helper()
	m, err := Start(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return m
}

// post sends a Messages call and reads the whole answer.
func post(t *testing.T, ctx context.Context, url, body string) (status int, answer string, err error) {
	t.Helper()
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer a.Body.Close()
	data, err := io.ReadAll(a.Body)
	return a.StatusCode, string(data), err
}

const tools = `"model":"m","tools":[{"name":"Edit"}],`

// plainAnswer is what a call without stream gets.
type plainAnswer struct {
	Content    []Block `json:"content"`
	StopReason string  `json:"stop_reason"`
}

func ask(t *testing.T, m *Server, body string) plainAnswer {
	t.Helper()
	status, text, err := post(t, t.Context(), m.URL()+"/v1/messages?beta=true", body)
	if err != nil || status != 200 {
		t.Fatalf("status %d, error %v: %s", status, err, text)
	}
	var a plainAnswer
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return a
}

func TestTurnFollowsTheConversation(t *testing.T) {
	m := start(t, Script{
		Turns: []Turn{
			{Text: "first", Calls: []Call{{Name: "Edit", Input: map[string]string{"a": "b"}}}},
			{Make: func(r Request) Turn { b, _ := r.Told("toolu_main_0_0"); return Say("I read: " + b.Text) }},
		},
		Conversations: []Conversation{{Match: "for the helper", Turns: []Turn{Say("of the subagent")}}},
	})
	user := `{"role":"user","content":"go"}`
	used := `{"role":"assistant","content":[{"type":"tool_use","id":"toolu_main_0_0","name":"Edit","input":{}}]}`
	told := `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_main_0_0","is_error":true,"content":[{"type":"text","text":"no"}]},{"type":"text","text":"beside it"}]}`
	for _, c := range []struct{ name, messages, text, stop string }{
		{"first turn", user, "first", "tool_use"},
		{"the same again when repeated", user, "first", "tool_use"},
		{"second turn", user + "," + used + "," + told, "I read: no", "end_turn"},
		{"beyond the script", user + "," + used + "," + told + "," + used + "," + told, EndOfScript, "end_turn"},
		{"another conversation", `{"role":"user","content":[{"type":"text","text":"reminder"},{"type":"text","text":"work for the helper"}]}`, "of the subagent", "end_turn"},
	} {
		a := ask(t, m, `{`+tools+`"messages":[`+c.messages+`]}`)
		if a.Content[0].Text != c.text || a.StopReason != c.stop {
			t.Errorf("%s: got %+v", c.name, a)
		}
	}
	rs := m.Requests()
	if len(rs) != 5 || rs[2].Turn != 1 || rs[4].Conversation != "for the helper" {
		t.Errorf("captured %+v", rs)
	}
	if b, ok := rs[2].Told("toolu_main_0_0"); !ok || !b.IsError || b.Text != "no" {
		t.Errorf("told %+v %v", b, ok)
	}
	if !rs[2].Said("beside") || rs[2].Said("no") {
		t.Error("Said does not tell text blocks from results")
	}
}

func TestStreamIsTheSameMessage(t *testing.T) {
	input := jsontext.Value(`{"content":"` + strings.Repeat(`ä\n$& `, 60) + `"}`)
	m := start(t, Script{Turns: []Turn{{Text: strings.Repeat("é", 200), Calls: []Call{{ID: "toolu_x", Name: "Write", Input: input}}}}})
	_, text, err := post(t, t.Context(), m.URL()+"/v1/messages", `{"stream":true,`+tools+`"messages":[{"role":"user","content":"go"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	var said, partial, order strings.Builder
	var last string
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type  string
			Index int
			Delta struct {
				Text       string
				Partial    string `json:"partial_json"`
				StopReason string `json:"stop_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		said.WriteString(e.Delta.Text)
		partial.WriteString(e.Delta.Partial)
		if e.Type != last {
			order.WriteString(e.Type + " ")
		}
		last = e.Type
		if e.Type == "message_delta" && e.Delta.StopReason != "tool_use" {
			t.Errorf("stop reason %q", e.Delta.StopReason)
		}
	}
	if said.String() != strings.Repeat("é", 200) || partial.String() != string(input) {
		t.Errorf("streamed %q and %q", said.String(), partial.String())
	}
	want := "message_start content_block_start content_block_delta content_block_stop content_block_start content_block_delta content_block_stop message_delta message_stop "
	if order.String() != want {
		t.Errorf("events: %s", order.String())
	}
}

func TestHeldTurn(t *testing.T) {
	m := start(t, Script{Turns: []Turn{{Text: "late", Hold: "h"}}})
	body := `{` + tools + `"messages":[{"role":"user","content":"go"}]}`
	answered := make(chan plainAnswer)
	go func() { answered <- ask(t, m, body) }()
	if _, err := m.Await(t.Context(), func(r Request) bool { return !r.Helper }); err != nil {
		t.Fatal(err) // captured though not answered
	}
	select {
	case a := <-answered:
		t.Fatalf("answered before the release: %+v", a)
	default:
	}
	m.Release("h")
	if a := <-answered; a.Content[0].Text != "late" {
		t.Errorf("got %+v", a)
	}
	m.Release("h") // again is harmless, and the turn stays released
	ask(t, m, body)
}

func TestCloseEndsHeldTurnsAndAwait(t *testing.T) {
	m := start(t, Script{Turns: []Turn{{Hold: "never"}}})
	failed := make(chan error)
	go func() {
		_, _, err := post(t, context.Background(), m.URL()+"/v1/messages", `{`+tools+`"messages":[]}`)
		failed <- err
	}()
	if _, err := m.Await(t.Context(), func(Request) bool { return true }); err != nil {
		t.Fatal(err)
	}
	go func() { _, err := m.AwaitTold(context.Background(), "toolu_none"); failed <- err }()
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-failed; err == nil {
			t.Error("ended without an error")
		}
	}
}

func TestAwaitGivesUpWithItsContext(t *testing.T) {
	m := start(t, Script{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Await(ctx, func(Request) bool { return true }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestOtherCalls(t *testing.T) {
	m := start(t, Script{Turns: []Turn{{Status: 529, Error: "overloaded_error"}}})
	for _, c := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1/messages/count_tokens", `{"messages":[]}`, 200, `input_tokens`},
		{"/v1/messages", `{"model":"m","messages":[]}`, 200, `"ok"`},
		{"/v1/messages", `{"model":"m","messages":[],"output_format":{"type":"json_schema"}}`, 200, `title`},
		{"/v1/messages", `{` + tools + `"messages":[]}`, 529, `overloaded_error`},
		{"/v1/messages", `{`, 400, `invalid_request_error`},
		{"/api/event", `{}`, 404, `not_found_error`},
	} {
		status, text, err := post(t, t.Context(), m.URL()+c.path, c.body)
		if err != nil || status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%s %s: %d %s %v", c.path, c.body, status, text, err)
		}
	}
}

func TestReadScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.json")
	for _, c := range []struct {
		text string
		ok   bool
	}{
		{`{"turns":[{"text":"hi","calls":[{"name":"Bash","input":{"command":"ls"}}]}]}`, true},
		{`{"turn":[]}`, false},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ReadScript(path)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v", c.text, err)
		}
		if c.ok && s.Turns[0].Calls[0].Name != "Bash" {
			t.Errorf("read %+v", s)
		}
	}
}
