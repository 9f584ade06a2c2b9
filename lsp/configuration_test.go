package lsp

import (
	"strings"
	"testing"
	"time"
)

const pulling = `"clientInfo":{"name":"Visual Studio Code","version":"1.106.3"},"capabilities":{
	"window":{"showDocument":{"support":true}},
	"workspace":{"configuration":true,"didChangeConfiguration":{"dynamicRegistration":true}}}`

func TestSettingsOfInitialize(t *testing.T) {
	run(t, benchOptions{options: `{"saveMeans":"amend","closeMeens":"nothing"}`}, func(t *testing.T, b *bench) {
		contains(t, "messages", b.messages(), "2 Countersign: there is no setting countersign.closeMeens; did you mean countersign.closeMeans?")
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		contains(t, "messages", b.messages(), "saving keeps your text, :bd denies")
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.save(a.StagedURI)
		if got := b.settles(); len(got) != 0 {
			t.Errorf("settled: %+v", got)
		}
		contains(t, "messages", b.messages(), "Kept your text of Edit a.txt; nothing is decided")
	})
}

// Where the editor can be asked, the hub is looked for with its settings.
func TestPulledSettings(t *testing.T) {
	run(t, benchOptions{client: pulling}, func(t *testing.T, b *bench) {
		// The bench answers method not found: the hub is looked for all the same.
		if len(connects(b)) != 1 {
			t.Fatalf("%d connects", len(connects(b)))
		}
		sameJSON(t, "registration", b.sent("client/registerCapability")[0],
			`{"registrations":[{"id":"countersign.configuration","method":"workspace/didChangeConfiguration","registerOptions":{"section":"countersign"}}]}`)
		sameJSON(t, "configuration", b.sent("workspace/configuration")[0], `{"items":[{"section":"countersign"}]}`)

		b.answerWith("workspace/configuration", func(string) string { return `[{"open":"manual","permissionMode":"plan","armDelayMs":"long"}]` })
		b.notify("workspace/didChangeConfiguration", `{"settings":null}`)
		if len(b.hub.set) != 1 || b.hub.set[0].PermissionMode != "plan" {
			t.Errorf("the hub was configured: %+v", b.hub.set)
		}
		contains(t, "messages", b.messages(), "2 Countersign: the setting countersign.armDelayMs is a string; a whole number of milliseconds")
		b.notify("workspace/didChangeConfiguration", `{"settings":null}`)
		if n := strings.Count(b.messages(), "armDelayMs"); n != 1 {
			t.Errorf("warned %d times", n)
		}
		b.hub.propose("req-00000001", "a.txt", was, is)
		b.wait(time.Minute)
		if n := len(b.sent("window/showDocument")); n != 0 {
			t.Errorf("%d shown", n)
		}
	})
}

func TestPushedSettings(t *testing.T) {
	run(t, benchOptions{}, func(t *testing.T, b *bench) {
		b.notify("workspace/didChangeConfiguration", `{"settings":{"gopls":{"x":1},"countersign":{"closeMeans":"nothing"}}}`)
		lacks(t, "messages", b.messages(), "gopls")
		a := b.hub.propose("req-00000001", "a.txt", was, is)
		b.open(a.StagedURI)
		b.wait(time.Second)
		b.close(a.StagedURI)
		b.wait(time.Minute)
		if got := b.settles(); len(got) != 0 {
			t.Errorf("settled: %+v", got)
		}
	})
}

// An editor that never answers does not keep the server from its hub.
func TestSettingsThatNeverCome(t *testing.T) {
	run(t, benchOptions{client: pulling, silent: true}, func(t *testing.T, b *bench) {
		if len(connects(b)) != 0 {
			t.Fatalf("connected before the settings: %+v", connects(b))
		}
		b.wait(configurationTimeout)
		if len(connects(b)) != 1 {
			t.Errorf("%d connects", len(connects(b)))
		}
	})
}
