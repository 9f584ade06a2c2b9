package lsp

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"countersign/session"
)

// Section is the name of our section in an editor's configuration.
const Section = "countersign"

// Settings are everything that a person configures about the front end and the
// sessions that it starts.
type Settings struct {
	Session  session.Settings
	Gestures GestureSettings
	Open     string // when the server opens documents by itself: "idle", "manual" or "always"
}

// DefaultSettings are the settings of somebody who configured nothing.
func DefaultSettings() Settings {
	return Settings{Session: session.DefaultSettings(), Gestures: DefaultGestureSettings(), Open: "idle"}
}

// A Layer is one source of settings: initializationOptions, the answer to
// workspace/configuration, the settings of a didChangeConfiguration.
type Layer struct {
	Source string // for warnings; empty where it goes without saying
	Value  jsontext.Value
	// Shared: the value may hold the sections of other servers beside ours (a
	// didChangeConfiguration of some clients), so that what is not ours there
	// is nobody's mistake.
	Shared bool
}

// ParseSettings reads layers on top of the defaults, later ones over earlier
// ones, key by key. Each value is our section itself, or an object that holds
// it under "countersign", or a list with one of these (the answer to
// workspace/configuration); null, an empty list and no value at all say nothing.
//
// It never fails: what cannot be understood is described in a warning that
// names the key, what was found and what is expected, and leaves the setting as
// it was. Values are not repeated in warnings, but for short words, because an
// environment may hold secrets.
func ParseSettings(layers ...Layer) (Settings, []string) {
	r := settingsReader{set: DefaultSettings()}
	for _, l := range layers {
		r.layer(l)
	}
	return r.set, r.warnings
}

type settingsReader struct {
	set      Settings
	source   string
	warnings []string
}

func (r *settingsReader) warn(format string, args ...any) {
	w := fmt.Sprintf(format, args...)
	if r.source != "" {
		w += " (in " + r.source + ")"
	}
	if !slices.Contains(r.warnings, w) {
		r.warnings = append(r.warnings, w)
	}
}

// members is a JSON object in the order of its names, or nil.
func members(v jsontext.Value) map[string]jsontext.Value {
	var m map[string]jsontext.Value
	if v.Kind() != '{' || json.Unmarshal(v, &m, lenient) != nil {
		return nil
	}
	return m
}

// lenient are the options for reading what editors write: the last of two equal names counts.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

func (r *settingsReader) layer(l Layer) {
	r.source = l.Source
	v := jsontext.Value(strings.TrimSpace(string(l.Value)))
	if len(v) > 0 && !v.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) {
		r.warn("the settings of %s are not JSON", Section)
		return
	}
	if v.Kind() == '[' {
		var list []jsontext.Value
		if json.Unmarshal(v, &list, lenient) == nil && len(list) == 1 {
			v = list[0]
		} else if len(list) == 0 {
			return // an empty table of Lua
		}
	}
	if len(v) == 0 || v.Kind() == 'n' {
		return
	}
	m := members(v)
	if m == nil {
		r.warn("the settings of %s are %s; an object is expected", Section, kindOf(v))
		return
	}
	shared := l.Shared
	if own, ok := m[Section]; ok {
		// Beside our section lie those of others.
		switch m, shared = members(own), false; {
		case own.Kind() == 'n' || string(own) == "[]":
			return
		case m == nil:
			r.warn("the setting %s is %s; an object is expected", Section, kindOf(own))
			return
		}
	}
	r.object(m, "", topKeys, shared)
}

// object reads the members of an object in order of name, so that warnings come
// in the same order each time.
func (r *settingsReader) object(m map[string]jsontext.Value, prefix string, keys map[string]setting, shared bool) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		v := m[name]
		key := Section + "." + prefix + name
		k, ok := keys[name]
		if !ok {
			near := nearest(name, slices.Sorted(maps.Keys(keys)))
			switch {
			case near != "":
				r.warn("there is no setting %s; did you mean %s?", printable(key), Section+"."+prefix+near)
			case !shared:
				r.warn("there is no setting %s; there are %s", printable(key), strings.Join(slices.Sorted(maps.Keys(keys)), ", "))
			}
			continue
		}
		if v.Kind() == 'n' {
			continue // not set: VS Code sends every key that it knows
		}
		k(r, key, v)
	}
}

// A setting reads one value into r.set, or warns.
type setting func(r *settingsReader, key string, v jsontext.Value)

var topKeys, agentKeys map[string]setting

func init() { // a composite literal would refer to itself through object
	agentKeys = map[string]setting{
		"command": words(1, func(r *settingsReader) *[]string { return &r.set.Session.Agent.Command }),
		"args":    words(0, func(r *settingsReader) *[]string { return &r.set.Session.Agent.Args }),
		"env":     environment,
	}
	topKeys = map[string]setting{
		"agent": func(r *settingsReader, key string, v jsontext.Value) {
			m := members(v)
			if m == nil && string(v) != "[]" {
				r.wrong(key, v, "an object with command, args and env")
				return
			}
			r.object(m, "agent.", agentKeys, false)
		},
		"permissionMode":  permissionMode,
		"reviewEdits":     oneOf(func(r *settingsReader) *string { return &r.set.Session.ReviewEdits }, "document", "panel"),
		"open":            oneOf(func(r *settingsReader) *string { return &r.set.Open }, "idle", "manual", "always"),
		"saveMeans":       saveMeans,
		"closeMeans":      oneOf(func(r *settingsReader) *string { return &r.set.Gestures.CloseMeans }, "deny", "nothing"),
		"armDelayMs":      milliseconds(0, 60_000, func(r *settingsReader) *time.Duration { return &r.set.Gestures.ArmDelay }),
		"closeGraceMs":    milliseconds(minCloseGraceMs, 600_000, func(r *settingsReader) *time.Duration { return &r.set.Gestures.CloseGrace }),
		"maxPreviewBytes": maxPreviewBytes,
		"storage":         storage,
		"tellAmendments": func(r *settingsReader, key string, v jsontext.Value) {
			switch v.Kind() {
			case 't', 'f':
				r.set.Session.TellAmendments = v.Kind() == 't'
			default:
				r.wrong(key, v, "true or false")
			}
		},
	}
}

// minCloseGraceMs: reloads close and open a document within 10 ms; with a
// shorter grace each of them would deny.
const minCloseGraceMs = 20

func (r *settingsReader) wrong(key string, v jsontext.Value, expected string) {
	r.warn("the setting %s is %s; %s is expected", key, kindOf(v), expected)
}

// word reads a string; ok is false after a warning.
func (r *settingsReader) word(key string, v jsontext.Value, expected string) (s string, ok bool) {
	if v.Kind() != '"' || json.Unmarshal(v, &s, lenient) != nil {
		r.wrong(key, v, expected)
		return "", false
	}
	return s, true
}

func oneOf(at func(*settingsReader) *string, choices ...string) setting {
	expected := orList(choices)
	return func(r *settingsReader, key string, v jsontext.Value) {
		s, ok := r.word(key, v, expected)
		if !ok {
			return
		}
		if slices.Contains(choices, s) {
			*at(r) = s
			return
		}
		hint := ""
		if near := nearest(s, choices); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		r.warn("the setting %s is %s; %s is expected%s", key, quoted(s), expected, hint)
	}
}

func saveMeans(r *settingsReader, key string, v jsontext.Value) {
	before := len(r.warnings)
	oneOf(func(r *settingsReader) *string { return &r.set.Gestures.SaveMeans }, "allow", "amend")(r, key, v)
	if len(r.warnings) == before {
		r.set.Gestures.SaveMeansSet = true
	}
}

// number reads a whole number; ok is false after a warning. Emacs and Lua send
// 700.0 where 700 is meant.
func (r *settingsReader) number(key string, v jsontext.Value, expected string, low, high int64) (n int64, ok bool) {
	if v.Kind() != '0' {
		r.wrong(key, v, expected)
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != math.Trunc(f) || f < float64(low) || f > float64(high) {
		r.warn("the setting %s is %s; %s is expected", key, printable(string(v)), expected)
		return 0, false
	}
	return int64(f), true
}

func milliseconds(low, high int64, at func(*settingsReader) *time.Duration) setting {
	expected := fmt.Sprintf("a whole number of milliseconds from %d to %d", low, high)
	return func(r *settingsReader, key string, v jsontext.Value) {
		if n, ok := r.number(key, v, expected, low, high); ok {
			*at(r) = time.Duration(n) * time.Millisecond
		}
	}
}

func maxPreviewBytes(r *settingsReader, key string, v jsontext.Value) {
	if n, ok := r.number(key, v, "a whole number of bytes, at least 1 and at most 1 GiB", 1, 1<<30); ok {
		r.set.Session.MaxPreviewBytes = n
	}
}

func words(least int, at func(*settingsReader) *[]string) setting {
	return func(r *settingsReader, key string, v jsontext.Value) {
		const expected = "a list of strings"
		var raw []jsontext.Value
		if v.Kind() != '[' || json.Unmarshal(v, &raw, lenient) != nil {
			r.wrong(key, v, expected)
			return
		}
		list := make([]string, 0, len(raw))
		for i, e := range raw {
			s, ok := r.word(fmt.Sprintf("%s[%d]", key, i), e, "a string")
			if !ok {
				return
			}
			if strings.ContainsRune(s, 0) {
				r.warn("the setting %s[%d] holds a zero byte, which no program can be given", key, i)
				return
			}
			list = append(list, s)
		}
		if len(list) < least || least > 0 && strings.TrimSpace(list[0]) == "" {
			r.warn("the setting %s names no program; a list of strings with the program first is expected", key)
			return
		}
		*at(r) = list
	}
}

func environment(r *settingsReader, key string, v jsontext.Value) {
	m := members(v)
	if m == nil {
		if string(v) != "[]" {
			r.wrong(key, v, "an object of strings")
			return
		}
		m = map[string]jsontext.Value{}
	}
	env := make(map[string]string, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		s, ok := r.word(key+"."+printable(name), m[name], "a string")
		if !ok {
			continue
		}
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.ContainsRune(s, 0) {
			r.warn("the setting %s.%s cannot be a variable of an environment", key, printable(name))
			continue
		}
		env[name] = s
	}
	r.set.Session.Agent.Env = env
}

func permissionMode(r *settingsReader, key string, v jsontext.Value) {
	names := make([]string, 0, 5)
	for _, m := range session.Modes() {
		names = append(names, m.String())
	}
	expected := orList(names) + `, or "" for the agent's own choice`
	s, ok := r.word(key, v, expected)
	if !ok {
		return
	}
	m, known := session.ModeNamed(s)
	if s == "" || known {
		r.set.Session.PermissionMode = m.String()
		return
	}
	hint := ""
	if near := nearest(s, names); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	r.warn("the setting %s is %s; %s is expected%s", key, quoted(s), expected, hint)
}

func storage(r *settingsReader, key string, v jsontext.Value) {
	const expected = `"state", "workspace" or an absolute path`
	s, ok := r.word(key, v, expected)
	switch {
	case !ok:
	case s == "state" || s == "workspace" || filepath.IsAbs(s) && !strings.ContainsRune(s, 0):
		r.set.Session.Storage = s
	default:
		r.warn("the setting %s is %s; %s is expected", key, quoted(s), expected)
	}
}
