package lsp

import (
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"
)

// all holds every setting with a value other than the default.
const all = `{
	"agent": {"command": ["/opt/claude", "--x"], "args": ["--verbose"], "env": {"A": "1"}},
	"permissionMode": "auto-edit", "reviewEdits": "panel", "open": "manual", "saveMeans": "amend",
	"closeMeans": "nothing", "armDelayMs": 1000, "closeGraceMs": 2000.0, "maxPreviewBytes": 1024,
	"storage": "workspace", "tellAmendments": false}`

func allSettings() Settings {
	s := DefaultSettings()
	s.Session.Agent.Command = []string{"/opt/claude", "--x"}
	s.Session.Agent.Args = []string{"--verbose"}
	s.Session.Agent.Env = map[string]string{"A": "1"}
	s.Session.PermissionMode = "auto_edit"
	s.Session.ReviewEdits = "panel"
	s.Session.MaxPreviewBytes = 1024
	s.Session.Storage = "workspace"
	s.Session.TellAmendments = false
	s.Open = "manual"
	s.Gestures = GestureSettings{
		SaveMeans: "amend", SaveMeansSet: true, CloseMeans: "nothing",
		ArmDelay: time.Second, CloseGrace: 2 * time.Second,
	}
	return s
}

func TestSettingsForms(t *testing.T) {
	for name, value := range map[string]string{
		"bare":                  all,
		"nested":                `{"countersign": ` + all + `}`,
		"nested beside others":  `{"gopls": {"x": 1}, "countersign": ` + all + `, "other": 3}`,
		"configuration's reply": `[` + all + `]`,
		"nested in the reply":   ` [ {"countersign": ` + all + `} ] `,
	} {
		got, warnings := ParseSettings(Layer{Value: jsontext.Value(value)})
		if diff := cmp.Diff(allSettings(), got); diff != "" || len(warnings) > 0 {
			t.Errorf("%s: %s\nwarnings %q", name, diff, warnings)
		}
	}
}

func TestSettingsThatSayNothing(t *testing.T) {
	for _, value := range []string{
		``, `null`, `{}`, `[]`, `[null]`, `[{}]`, `{"countersign": null}`, `{"countersign": {}}`, `{"countersign": []}`, ` null `,
		`{"saveMeans": null, "agent": null}`, `{"agent": {}}`, `{"agent": []}`, `{"agent": {"command": null}}`,
	} {
		got, warnings := ParseSettings(Layer{Value: jsontext.Value(value)})
		if diff := cmp.Diff(DefaultSettings(), got); diff != "" || len(warnings) > 0 {
			t.Errorf("%q: %s\nwarnings %q", value, diff, warnings)
		}
	}
}

func TestSettingsLayers(t *testing.T) {
	got, warnings := ParseSettings(
		Layer{Value: jsontext.Value(`{"open": "manual", "armDelayMs": 100, "agent": {"command": ["a"], "env": {"A": "1", "B": "2"}}}`)},
		Layer{Value: nil},
		Layer{Value: jsontext.Value(`[{"armDelayMs": 200, "agent": {"env": {"A": "3"}}}]`)},
		Layer{Value: jsontext.Value(`{"countersign": {"armDelayMs": "soon"}}`), Source: "didChangeConfiguration"},
	)
	want := DefaultSettings()
	want.Open = "manual"
	want.Gestures.ArmDelay = 200 * time.Millisecond
	want.Session.Agent.Command = []string{"a"}
	want.Session.Agent.Env = map[string]string{"A": "3"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if len(warnings) != 1 || !strings.HasSuffix(warnings[0], "(in didChangeConfiguration)") {
		t.Errorf("warnings %q", warnings)
	}
}

func TestSettingsWarnings(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{`{"armDelayms": 1}`, `there is no setting countersign.armDelayms; did you mean countersign.armDelayMs?`},
		{`{"arm_delay_ms": 1}`, `there is no setting countersign.arm_delay_ms; did you mean countersign.armDelayMs?`},
		{`{"savemeans": "allow"}`, `there is no setting countersign.savemeans; did you mean countersign.saveMeans?`},
		{`{"stroage": "state"}`, `there is no setting countersign.stroage; did you mean countersign.storage?`},
		{`{"colour": "red"}`, `there is no setting countersign.colour; there are agent, armDelayMs, closeGraceMs, closeMeans, maxPreviewBytes, open, permissionMode, reviewEdits, saveMeans, storage, tellAmendments`},
		{`{"agent": {"comand": ["x"]}}`, `there is no setting countersign.agent.comand; did you mean countersign.agent.command?`},
		{`{"agent": {"zzz": 1}}`, `there is no setting countersign.agent.zzz; there are args, command, env`},
		{`{"agent": "claude"}`, `the setting countersign.agent is a string; an object with command, args and env is expected`},
		{`{"agent": {"command": "claude"}}`, `the setting countersign.agent.command is a string; a list of strings is expected`},
		{`{"agent": {"command": []}}`, `the setting countersign.agent.command names no program; a list of strings with the program first is expected`},
		{`{"agent": {"command": ["claude", 1]}}`, `the setting countersign.agent.command[1] is a number; a string is expected`},
		{`{"agent": {"args": {}}}`, `the setting countersign.agent.args is an object; a list of strings is expected`},
		{`{"agent": {"args": ["a\u0000"]}}`, `the setting countersign.agent.args[0] holds a zero byte, which no program can be given`},
		{`{"agent": {"env": ["A=1"]}}`, `the setting countersign.agent.env is a list; an object of strings is expected`},
		{`{"agent": {"env": {"TOKEN": 12345}}}`, `the setting countersign.agent.env.TOKEN is a number; a string is expected`},
		{`{"agent": {"env": {"A=B": "secret"}}}`, `the setting countersign.agent.env.A=B cannot be a variable of an environment`},
		{`{"permissionMode": "defalt"}`, `the setting countersign.permissionMode is "defalt"; "plan", "ask_before_edit", "auto_edit", "auto" or "bypass", or "" for the agent's own choice is expected`},
		{`{"permissionMode": "bypas"}`, `the setting countersign.permissionMode is "bypas"; "plan", "ask_before_edit", "auto_edit", "auto" or "bypass", or "" for the agent's own choice is expected; did you mean "bypass"?`},
		{`{"reviewEdits": true}`, `the setting countersign.reviewEdits is true or false; "document" or "panel" is expected`},
		{`{"open": "allways"}`, `the setting countersign.open is "allways"; "idle", "manual" or "always" is expected; did you mean "always"?`},
		{`{"saveMeans": "deny"}`, `the setting countersign.saveMeans is "deny"; "allow" or "amend" is expected`},
		{`{"closeMeans": 0}`, `the setting countersign.closeMeans is a number; "deny" or "nothing" is expected`},
		{`{"armDelayMs": "700"}`, `the setting countersign.armDelayMs is a string; a whole number of milliseconds from 0 to 60000 is expected`},
		{`{"armDelayMs": -1}`, `the setting countersign.armDelayMs is -1; a whole number of milliseconds from 0 to 60000 is expected`},
		{`{"armDelayMs": 0.5}`, `the setting countersign.armDelayMs is 0.5; a whole number of milliseconds from 0 to 60000 is expected`},
		{`{"armDelayMs": 1e400}`, `the setting countersign.armDelayMs is 1e400; a whole number of milliseconds from 0 to 60000 is expected`},
		{`{"closeGraceMs": 0}`, `the setting countersign.closeGraceMs is 0; a whole number of milliseconds from 20 to 600000 is expected`},
		{`{"maxPreviewBytes": 0}`, `the setting countersign.maxPreviewBytes is 0; a whole number of bytes, at least 1 and at most 1 GiB is expected`},
		{`{"storage": "./x"}`, `the setting countersign.storage is "./x"; "state", "workspace" or an absolute path is expected`},
		{`{"tellAmendments": "yes"}`, `the setting countersign.tellAmendments is a string; true or false is expected`},
		{`"x"`, `the settings of countersign are a string; an object is expected`},
		{`[1, 2]`, `the settings of countersign are a list; an object is expected`},
		{`{"countersign": 3}`, `the setting countersign is a number; an object is expected`},
		{`{"open": `, `the settings of countersign are not JSON`},
		{`{"\u001b[31m": 1}`, `there is no setting countersign.\x1b[31m; there are agent, armDelayMs, closeGraceMs, closeMeans, maxPreviewBytes, open, permissionMode, reviewEdits, saveMeans, storage, tellAmendments`},
	} {
		got, warnings := ParseSettings(Layer{Value: jsontext.Value(c.value)})
		if len(warnings) != 1 || warnings[0] != c.want {
			t.Errorf("%s:\ngot  %q\nwant %q", c.value, warnings, c.want)
		}
		got.Session.Agent.Env = nil
		if diff := cmp.Diff(DefaultSettings(), got); diff != "" {
			t.Errorf("%s changed a setting: %s", c.value, diff)
		}
	}
}

func TestSettingsOfOthers(t *testing.T) {
	value := jsontext.Value(`{"gopls": {"x": 1}, "editor.tabSize": 4}`)
	if _, warnings := ParseSettings(Layer{Value: value, Shared: true}); len(warnings) > 0 {
		t.Errorf("warnings %q about other sections", warnings)
	}
	if _, warnings := ParseSettings(Layer{Value: value}); len(warnings) != 2 {
		t.Errorf("warnings %q", warnings)
	}
	if _, warnings := ParseSettings(Layer{Value: jsontext.Value(`{"savemeans": "allow"}`), Shared: true}); len(warnings) != 1 {
		t.Errorf("a misspelt key among others: %q", warnings)
	}
}

func TestSettingsKnowThatSaveMeansWasSet(t *testing.T) {
	for value, want := range map[string]bool{
		`{}`: false, `{"saveMeans": null}`: false, `{"saveMeans": "x"}`: false,
		`{"saveMeans": "allow"}`: true, `{"saveMeans": "amend"}`: true,
	} {
		if got, _ := ParseSettings(Layer{Value: jsontext.Value(value)}); got.Gestures.SaveMeansSet != want {
			t.Errorf("%s: SaveMeansSet is %v", value, got.Gestures.SaveMeansSet)
		}
	}
}

func FuzzSettings(f *testing.F) {
	for _, s := range []string{
		all, `{"countersign": ` + all + `}`, `[` + all + `]`, ``, `[]`, `{"agent":{"env":{"A":null}}}`,
		`{"open":"idle","open":"always"}`, "{\"\xff\":1}", `{"armDelayMs":1e999}`, `{"armDelayMs":9007199254740993}`,
	} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, shared bool) {
		s, warnings := ParseSettings(Layer{Value: data, Shared: shared}, Layer{Value: data, Source: "x"})
		for _, w := range warnings {
			if strings.ContainsAny(w, "\x00\n\x1b") || len(w) > 2000 {
				t.Errorf("warning %q", w)
			}
		}
		g := s.Gestures
		switch {
		case g.SaveMeans != "allow" && g.SaveMeans != "amend",
			g.CloseMeans != "deny" && g.CloseMeans != "nothing",
			g.ArmDelay < 0 || g.ArmDelay > time.Minute,
			g.CloseGrace < minCloseGraceMs*time.Millisecond || g.CloseGrace > 10*time.Minute,
			s.Open != "idle" && s.Open != "manual" && s.Open != "always",
			s.Session.ReviewEdits != "document" && s.Session.ReviewEdits != "panel",
			s.Session.MaxPreviewBytes < 1,
			len(s.Session.Agent.Command) == 0 || s.Session.Agent.Command[0] == "",
			s.Session.Storage == "":
			t.Errorf("settings %+v", s)
		}
	})
}
