package lsp

import (
	"strings"
	"time"
)

// saved judges a didSave, the gesture with the most ways not to be one.
func (g *Gestures) saved(now time.Time, ev Event) []Verdict {
	w := g.watch(ev.URI)
	reason := w.reason
	w.reason = 0 // a will-save speaks for the next save only
	admitted := reason == SaveAfterDelay || reason == SaveFocusOut
	_, dirty := g.dirty[w.uri]
	delete(g.dirty, w.uri)

	together := g.saves.other(w.uri, now, saveAllWindow) || g.inOneGo(w.uri)
	var out []Verdict
	// Of a save-all the first one tells the rhythm.
	if !admitted && !together && !g.ending && g.rhythm.saved(now, &w.times, dirty) && g.Suspected() {
		out = append(out, Verdict{Kind: VerdictSuspect, URI: w.uri, ID: w.id, Rule: RuleAutosaveSuspected})
	}
	w.times.clear()
	out = append(out, g.notAlone(now, w)...)
	g.saves.note(w.uri, now)
	g.lastSave = now

	switch w.state {
	case stateForeign:
		if ev.ID != "" {
			out = append(out, g.inert(w, RuleUnknown, ev))
		}
	case stateSettled:
		out = append(out, g.inert(w, RuleSettled, ev))
	case stateDeciding:
		// The same text again is the same decision, on its way already.
		if ev.Disk.Err != "" || ev.Disk.Text != w.text {
			out = append(out, g.inert(w, RuleSettled, ev))
		}
	case statePending:
		suspect := len(out) > 0 && out[0].Kind == VerdictSuspect
		for _, v := range g.judge(now, w, ev, admitted, together) {
			// Why the text was only kept has just been told.
			v.Again = v.Again || suspect && v.Kind == VerdictKept
			out = append(out, v)
		}
	}
	g.savedOne(w)
	g.forgetForeign(w)
	return out
}

// notAlone is what another document's save, or its announcement, makes of saves
// that are held: they were the first of a save-all.
func (g *Gestures) notAlone(now time.Time, w *watched) (out []Verdict) {
	for _, o := range g.waiting() {
		if o != w && o.held != nil && (!now.After(o.held.until) || g.silent(o)) {
			g.drop(o)
			o.savedAt = now
			out = append(out, g.say(o, VerdictRefused, RuleSaveAll, ""))
		}
	}
	return out
}

// judge applies the rules of a save to a pending document.
func (g *Gestures) judge(now time.Time, w *watched, ev Event, admitted, together bool) []Verdict {
	wasClosing := w.closing
	g.drop(w) // a save outweighs a close of the same moment, and an earlier held save
	rule, text := g.refusal(now, w, ev, admitted)
	if rule != "" {
		w.savedAt = now
		return []Verdict{g.say(w, VerdictRefused, rule, text)}
	}
	if g.amends() || admitted {
		w.savedAt = now
		if !g.amends() {
			return []Verdict{g.say(w, VerdictRefused, RuleAutosave, "")}
		}
		rule := g.amendRule()
		if admitted {
			rule = RuleAutosave
		}
		out := []Verdict{g.say(w, VerdictKept, rule, ev.Disk.Text)}
		if wasClosing {
			out = append(out, g.say(w, VerdictRefused, RuleClosedWithSave, ""))
		}
		return out
	}
	switch {
	case now.Sub(w.armedAt) < g.set.ArmDelay && w.typedInto:
		rule = RuleTypedInto
	case now.Sub(w.armedAt) < g.set.ArmDelay:
		rule = RuleArmDelay
	case together:
		rule = RuleSaveAll
	case len(g.dirty) > 0:
		// Other documents have unsaved changes: this may be the first save of a
		// save-all.
		w.held = &heldSave{at: now, until: now.Add(saveAllWindow), text: ev.Disk.Text}
		g.hold(w)
		return nil
	case g.echo.on:
		// Others may have changes as well that are not told yet: Neovim waits 150 ms
		// with them, Emacs 500.
		w.held = &heldSave{at: now, until: now, text: ev.Disk.Text}
		g.hold(w)
		return nil
	default:
		return []Verdict{g.decide(w, VerdictAllow, RuleSaved, ev.Disk.Text)}
	}
	w.savedAt = now
	return []Verdict{g.say(w, VerdictRefused, rule, "")}
}

// refusal names the rule by which a save is no statement about the document at
// all, whatever saves mean.
func (g *Gestures) refusal(now time.Time, w *watched, ev Event, admitted bool) (rule Rule, text string) {
	justClosed := w.opened && !w.open && now.Sub(w.closedAt) <= g.set.CloseGrace
	switch {
	case g.ending:
		return RuleEnding, ""
	case ev.ID != "" && ev.ID != w.id:
		return RuleWrongID, ""
	case !w.open && !justClosed:
		return RuleOpenedHere, ""
	case ev.Disk.Err != "":
		return RuleUnreadable, ev.Disk.Err
	case !ev.Disk.Written:
		return RuleNotWritten, ""
	case !ev.Disk.Same && !admitted:
		return RuleDiffers, ""
	}
	return "", ""
}

// inert is the verdict on a save that comes too late.
func (g *Gestures) inert(w *watched, rule Rule, ev Event) Verdict {
	v := g.say(w, VerdictInert, rule, ev.Disk.Text)
	if v.ID == "" {
		v.ID = ev.ID
	}
	return v
}

// amends reports whether saves keep the text and decide nothing.
func (g *Gestures) amends() bool { return g.set.SaveMeans != "allow" || g.Suspected() }

func (g *Gestures) amendRule() Rule {
	if g.Suspected() {
		return RuleAutosaveSuspected
	}
	return RuleSaveMeansAmend
}

// SameText reports whether what lies on disk is what the editor shows, give or
// take one final newline (Neovim writes one that its didSave does not have) and
// the form of line ends and the byte order mark, which some editors keep apart
// from the text they report.
func SameText(onDisk, inEditor string) bool {
	if onDisk == inEditor {
		return true
	}
	a, b := plainText(onDisk), plainText(inEditor)
	return a == b || strings.TrimSuffix(a, "\n") == b || a == strings.TrimSuffix(b, "\n")
}

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n")

func plainText(s string) string {
	return lineEnds.Replace(strings.TrimPrefix(s, "\ufeff"))
}
