package session

import "testing"

func TestModeNamed(t *testing.T) {
	for _, c := range []struct {
		name string
		want Mode
		ok   bool
	}{
		{"plan", Plan, true},
		{"ask_before_edit", AskBeforeEdit, true},
		{"ask-before-edit", AskBeforeEdit, true},
		{"auto_edit", AutoEdit, true},
		{"auto-edit", AutoEdit, true},
		{"auto", Auto, true},
		{"bypass", Bypass, true},
		{"", Mode{}, false},
		{"-", Mode{}, false},
		{"nonsense", Mode{}, false},
		{"Plan", Mode{}, false},
		{"plan ", Mode{}, false},
		{"acceptEdits", Mode{}, false},
		{"default", Mode{}, false},
		{"bypassPermissions", Mode{}, false},
		{"dontAsk", Mode{}, false},
	} {
		got, ok := ModeNamed(c.name)
		if got != c.want || ok != c.ok {
			t.Errorf("ModeNamed(%q) = %v, %v; want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestModesAreFiveAndNameThemselves(t *testing.T) {
	all := Modes()
	if len(all) != 5 {
		t.Fatalf("there are %d modes, not five", len(all))
	}
	for _, m := range all {
		if got, ok := ModeNamed(m.String()); !ok || got != m {
			t.Errorf("ModeNamed(%q) = %v, %v", m.String(), got, ok)
		}
		if m.IsZero() {
			t.Errorf("%v counts as no mode", m)
		}
	}
	if !(Mode{}).IsZero() || (Mode{}).String() != "" {
		t.Error("the zero Mode is not no mode")
	}
}

func TestRequiresRestart(t *testing.T) {
	for _, c := range []struct {
		name            string
		live, requested Mode
		want            bool
	}{
		{"nothing requested", Plan, Mode{}, false},
		{"nothing requested, nothing known", Mode{}, Mode{}, false},
		{"live mode unknown", Mode{}, Plan, true},
		{"live mode unknown, loosest requested", Mode{}, Bypass, true},
		{"same", AutoEdit, AutoEdit, false},
		{"tighter", AutoEdit, Plan, true},
		{"looser", Plan, AutoEdit, true},
	} {
		if got := (ModeChange{Live: c.live}).RequiresRestart(c.requested); got != c.want {
			t.Errorf("%s: RequiresRestart = %v, want %v", c.name, got, c.want)
		}
	}
}
