// Package page has the models of the pages: what a page shows, as plain structs
// of ready-made text in a language. A scenario as a form, runs side by side, what
// a search found, a lock's report card and the glossary are among them. It must
// not know HTTP; templates and the terminal draw from it.
package page

import (
	"relock/engine/lock"
	"relock/engine/run"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/words"
)

// Page is what every page has.
type Page struct {
	Title     string
	Styles    []string // URL paths of the style sheets
	Script    string   // URL path, "" for none
	Preloads  []string // URL paths of all scripts that the page starts with
	Icon      string
	Path      string
	Languages []Language
	Theme     string // "auto", "light", "dark" or "stage"
	Themes    []Theme
	Site      string   // where visitors reach this site, say "https://relock.example.org"; "" if only their browser knows
	Preview   *Preview // nil for a page with nothing to preview
}

// Language is one that can be switched to.
type Language struct {
	Name    string // in itself
	Code    string // as in HTML's lang
	Address string // this page in it
	Current bool
}

// Preview is what other sites show of a page that somebody links to.
type Preview struct {
	Title   string
	Shows   string // what is seen on it, in a line or two
	Address string // of the page, absolute
	OEmbed  string // where it is described for who would frame it, absolute; "" for what is not framed
}

// Theme is a look that can be switched to.
type Theme struct {
	Name    string
	Address string // this page with it
	Current bool
}

// RunPage is the page of a run, or of a trace from elsewhere.
type RunPage struct {
	Page Page
	Run  Run
}

// Example is a scenario that comes with the playground.
type Example struct {
	Name  string
	Title string
}

// Run is a run as its page shows it.
type Run struct {
	ID       string
	Title    string
	Place    string // "embedded miniredis · virtual clock"
	Viewer   Viewer
	LastSeq  int
	Ended    bool
	Verdict  string
	Tone     film.Tone
	Unjudged []string  // below the verdict: Unjudged
	Late     string    // beside the verdict: how late its machine was, "" if it was punctual
	Quiet    int64     // ms since its last event, of one that goes on by the wall's clock
	Socket   string    // URL path, ready for more of its query
	Picture  string    // URL path of its lanes around a row, ready for the row
	Portions string    // URL path of its rows, ready for which
	Exports  string    // URL path, ready for a format
	Files    []File    // the formats
	Step     string    // where it can be stepped; "" if nowhere
	Edit     string    // where its scenario can be changed; "" if nowhere
	Controls []Control // how its threads are steered; nil where they cannot be
	Slow     string    // what to know about the clock
	Log      *Log      // what it was read from, or nil
	Reach    Reach
}

// File is a format in which you can get a run.
type File struct{ Format, Label string }

// Message is a page that says one thing.
type Message struct {
	Page   Page
	Status int
	Head   string
	Text   string
}

// Place says where a run takes place.
func Place(l words.Language, h trace.Header, external string) string {
	lab := h.Store == trace.StoreLab
	switch {
	case h.Log != nil:
		return l.Say("%s, run again on an embedded miniredis", LogFormat(l, h.Log.Format))
	case lab && h.Lab != nil && h.Lab.Redis == trace.StoreExternal:
		return l.Say("the lab, real Redis · wall clock")
	case lab && h.Clock == trace.ClockWall:
		return l.Say("the lab, embedded miniredis · wall clock")
	case lab:
		return l.Say("the lab, embedded miniredis · virtual clock")
	case h.Store == trace.StoreExternal:
		return l.Say("Redis at %s · wall clock", external)
	case h.Clock == trace.ClockWall:
		return l.Say("embedded miniredis · wall clock")
	default:
		return l.Say("embedded miniredis · virtual clock")
	}
}

// Control is how a thread of a live run is steered.
type Control struct {
	Thread  string
	Ordinal int
	Actions []ControlAction
	Note    string // what it is doing, as far as steering goes
}

// ControlAction is a button.
type ControlAction struct {
	Do       string
	Label    string
	Hint     string // what it does, where the label does not say it
	Disabled bool
}

// NewControls words how the threads are steered.
func NewControls(l words.Language, list []run.Control) []Control {
	out := make([]Control, 0, len(list))
	for i, c := range list {
		pause := ControlAction{Do: string(run.Suspend), Label: l.Say("Pause")}
		gate := ControlAction{Do: string(run.Gate), Label: l.Say("Gate its calls"), Hint: l.Say("From now on each of its calls to the lock waits until you let it pass.")}
		v := Control{Thread: c.Thread, Ordinal: i}
		if c.Suspended {
			pause = ControlAction{Do: string(run.Resume), Label: l.Say("Resume")}
			v.Note = l.Say("paused")
		}
		if c.Gated {
			gate = ControlAction{Do: string(run.Ungate), Label: l.Say("Open the gate"), Hint: l.Say("The waiting call passes, and no later one waits.")}
		}
		waits := c.At != lock.Call{}
		admit := ControlAction{Do: string(run.Admit), Label: l.Say("Let one call pass"), Disabled: !waits}
		if waits {
			v.Note = l.Say("at the gate: %s", callInWords(l, c.At))
		}
		v.Actions = []ControlAction{pause, gate, admit, {Do: string(run.Crash), Label: l.Say("Crash")}}
		if c.Ended {
			v.Note = l.Say("has ended")
			for n := range v.Actions {
				v.Actions[n].Disabled = true
			}
		}
		out = append(out, v)
	}
	return out
}

// callInWords words a call: "lock, level 2".
func callInWords(l words.Language, c lock.Call) string {
	switch {
	case inRounds(c):
		return l.Say("%s, round %d", c.Name, c.Attempt)
	case c.Attempt > 1:
		return l.Say("%s, level %d, retry %d", c.Name, c.Level, c.Attempt-1)
	}
	return levelInWords(l, c)
}

// levelInWords words a call without its number.
func levelInWords(l words.Language, c lock.Call) string {
	if c.Name == lock.CallRenew {
		return c.Name // of all levels
	}
	return l.Say("%s, level %d", c.Name, c.Level)
}

// ClockNote says what a clock means for what is shown.
func ClockNote(l words.Language, clock string, slow int) string {
	if clock == trace.ClockVirtual {
		return l.Say("Virtual clock: the same scenario and seed give the same run, to the byte.")
	}
	if slow > 1 {
		return l.Say("Wall clock in slow motion: every duration is %d times as long, the lease too, and time really passes.", slow)
	}
	return l.Say("Wall clock: time really passes, and no two runs are quite the same.")
}

// Lateness is what to know beside the verdict on a run: how late its machine was, "" if it was
// punctual.
func Lateness(rows []film.Row) string {
	if len(rows) == 0 {
		return ""
	}
	return rows[len(rows)-1].Late
}

// Unjudged is what keeps a run from being judged, and what helps; film.Unjudged, nil where
// nothing does, or while it goes on.
func Unjudged(rows []film.Row) []string {
	if len(rows) == 0 {
		return nil
	}
	return rows[len(rows)-1].Unjudged
}

// Verdict sums up a run from its rows, which are in l.
func Verdict(l words.Language, rows []film.Row, ended bool) (string, film.Tone) {
	broken := 0
	for _, r := range rows {
		broken += len(r.Violations)
	}
	switch {
	case broken > 0 && ended && rows[len(rows)-1].EventTone == film.Good: // what the lock protects has refused a late write
		return l.Say("two were inside, and no harm came of it"), film.Good
	case broken == 1:
		return l.Say("1 rule was broken"), film.Bad
	case broken > 1:
		return l.Say("a rule was broken %d times", broken), film.Bad
	case !ended:
		return l.Say("running"), film.Quiet
	case len(rows) > 0 && rows[len(rows)-1].Failed != "":
		return rows[len(rows)-1].Failed, film.Bad
	case len(rows) > 0 && rows[len(rows)-1].EventTone == film.Bad:
		return rows[len(rows)-1].Event, film.Bad
	case len(Unjudged(rows)) > 0:
		return l.Say("no rule was broken, but this cannot be judged"), film.Quiet
	default:
		return l.Say("no rule was broken"), film.Good
	}
}
