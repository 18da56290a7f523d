package view

import (
	"fmt"

	"relock/engine/run"
	"relock/engine/trace"
)

// Page is what every page has.
type Page struct {
	Title    string
	Style    string   // the style sheet's text
	Script   string   // URL paths
	Preloads []string // scripts that the first one imports
	Icon     string
	Path     string
	English  string // this page in that language
	Chinese  string
	Theme    string // "auto", "light", "dark" or "stage"
	Themes   []Theme
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

// Examples are those of one lock.
type Examples struct {
	Protocol string
	List     []Example
}

// Example is a scenario that comes with the playground.
type Example struct {
	Name    string
	Title   string
	Current bool
}

// Run is a run as its page shows it.
type Run struct {
	ID        string
	Title     string
	Place     string // "embedded miniredis · virtual clock"
	Seed      uint64
	Threads   []Thread
	Key       string
	Lease     string
	Watchdog  string
	Rows      []Row
	LastSeq   int
	Ended     bool
	Verdict   string
	Tone      Tone
	Socket    string // URL paths
	TracePath string
	Step      string    // where it can be stepped
	Edit      string    // where its scenario can be changed
	Controls  []Control // how its threads are steered; nil where they cannot be
	Slow      string    // what to know about the clock
}

// Message is a page that says one thing.
type Message struct {
	Page   Page
	Status int
	Head   string
	Text   string
}

// Place says where a run takes place.
func Place(h trace.Header, external string) string {
	store := "embedded miniredis"
	if h.Store == trace.StoreExternal {
		store = "Redis at " + external
	}
	return store + " · " + h.Clock + " clock"
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
	Disabled bool
}

// NewControls words how the threads are steered.
func NewControls(list []run.Control) []Control {
	out := make([]Control, 0, len(list))
	for i, c := range list {
		pause, gate := ControlAction{Do: string(run.Suspend), Label: "Pause"}, ControlAction{Do: string(run.Gate), Label: "Gate its calls"}
		v := Control{Thread: c.Thread, Ordinal: i}
		if c.Suspended {
			pause = ControlAction{Do: string(run.Resume), Label: "Resume"}
			v.Note = "paused"
		}
		if c.Gated {
			gate = ControlAction{Do: string(run.Ungate), Label: "Open the gate"}
		}
		admit := ControlAction{Do: string(run.Admit), Label: "Let one call pass", Disabled: c.At == ""}
		if c.At != "" {
			v.Note = "at the gate: " + c.At
		}
		v.Actions = []ControlAction{pause, gate, admit, {Do: string(run.Crash), Label: "Crash"}}
		if c.Ended {
			v.Note = "has ended"
			for n := range v.Actions {
				v.Actions[n].Disabled = true
			}
		}
		out = append(out, v)
	}
	return out
}

// ClockNote says what a clock means for what is shown.
func ClockNote(clock string, slow int) string {
	if clock == trace.ClockVirtual {
		return "Virtual clock: the same scenario and seed give the same run, to the byte."
	}
	if slow > 1 {
		return fmt.Sprintf("Wall clock in slow motion: every duration is %d times as long, the lease too, and it really runs.", slow)
	}
	return "Wall clock: time really passes, and no two runs are quite the same."
}

// Verdict sums up a run from its rows.
func Verdict(rows []Row, ended bool) (string, Tone) {
	broken := 0
	for _, r := range rows {
		broken += len(r.Violations)
	}
	switch {
	case broken == 1:
		return "1 rule was broken", Bad
	case broken > 1:
		return fmt.Sprintf("%d times a rule was broken", broken), Bad
	case !ended:
		return "running", Quiet
	case len(rows) > 0 && rows[len(rows)-1].EventTone == Bad:
		return rows[len(rows)-1].Event, Bad
	default:
		return "no rule was broken", Good
	}
}
