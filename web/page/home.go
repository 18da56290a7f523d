package page

import (
	"regexp"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/lessons"
	"relock/web/film"
)

// Onward is a link to a scenario.
type Onward struct {
	Name  string
	Title string
}

// Ending is where to go on at the end of a scenario; all may be missing.
type Ending struct {
	Cure  *Onward // what mends what went wrong
	Next  *Onward // what comes after it in reading order
	Learn bool    // the course comes next
}

// Home is the front door.
type Home struct {
	Page   Page   `json:"-"`
	Name   string `json:"-"` // of the scenario that is played
	Viewer Viewer `json:"-"`
	Stops  []Stop `json:"stops"`
	Mend   string `json:"-"`    // where its last button leads
	Last   string `json:"last"` // and what it says
}

// Stop is a moment of the run on the front page.
type Stop struct {
	Row  int    `json:"row"`
	Next string `json:"next"` // what the button says there: the next move

	Standing
}

// StopsOf are the moments of a run that the front page shows: somebody is refused;
// then each row in which a lease ends, a rule breaks, or the second thread leaves. Moves
// are what comes after each but the last.
func StopsOf(rows []film.Row, moves []string) []Stop {
	var stops []Stop
	for i := range rows {
		r := &rows[i]
		if len(stops) == 0 {
			if !slices.ContainsFunc(r.Stage.Beliefs, func(b film.Belief) bool { return b.State == film.Waits }) {
				continue
			}
		} else if r.Mark != film.Expiry && r.Mark != film.Broken && r.Mark != film.Released {
			continue
		}
		stop := Stop{Row: r.Step, Standing: Standing{}.After(r)}
		if len(stops) < len(moves) {
			stop.Next = moves[len(stops)]
		}
		stops = append(stops, stop)
	}
	return stops
}

// Embed is the page that other pages frame.
type Embed struct {
	Page Page
	Open string // a link's text
}

// Gallery is the page of all scenarios.
type Gallery struct {
	Page   Page
	Groups []Group
}

// Group is some scenarios that are read together.
type Group struct {
	ID       string
	Name     string
	Exhibits []Exhibit
}

// Exhibit is a scenario in the gallery.
type Exhibit struct {
	Name     string
	Title    string
	Shows    string // what is seen in it
	Protocol string
	Terms    string   // FoundBy of its scenario
	First    bool     // read it first
	Steps    int      // rows of its run, 0 where it has none
	Minutes  int      // about how long it takes to step through, 0 where nobody would
	Level    int      // how hard it is: 1 to 3
	Broken   []string // rules that its run breaks
	Failed   string   // OnlyFailed
	Picture  templ.Component
}

// Incidents is the page of what really happened to people.
type Incidents struct {
	Page     Page
	Symptoms []Symptom
}

// Symptom is what people see first, and the incidents that began so.
type Symptom struct {
	ID, Name  string
	Incidents []Incident
}

// Incident is what happened, and where to step through it.
type Incident struct {
	ID, Title, Library, Seen, Why, There, Here string
	Terms                                      string // by which it is found beside these
	Sources                                    []lessons.Source
	Cured                                      bool // there is a scenario of what would mend it
}

// secondsAStep is about how long a step is looked at.
const secondsAStep = 5

// MinutesOf is about how long it takes to step through so many rows, in whole
// minutes; 0 for more than anybody steps through.
func MinutesOf(steps int) int {
	const most = 20 * 60 / secondsAStep
	if steps > most {
		return 0
	}
	return max(1, (steps*secondsAStep+30)/60)
}

var commandOf = regexp.MustCompile(`redis\.call\('([A-Z]+)'`)

// FoundBy are the words by which one finds a scenario beside its texts: its lock, the commands
// that this sends, and the faults as files name them.
func FoundBy(sc *scenario.Scenario) string {
	lock := sc.Lock.Implementation()
	terms := []string{lock.Name}
	for _, call := range []string{protocol.CallLock, protocol.CallUnlock, protocol.CallRenew} {
		terms = append(terms, lock.FirstCommand(call, 1))
	}
	for _, s := range lock.Scripts {
		for _, found := range commandOf.FindAllStringSubmatch(s.Source, -1) {
			terms = append(terms, found[1])
		}
	}
	for _, f := range sc.Faults {
		terms = append(terms, f.Do)
	}
	for _, m := range sc.Schedule {
		if m.Fault != nil {
			terms = append(terms, m.Fault.Do)
		}
	}
	slices.Sort(terms)
	return strings.TrimSpace(strings.Join(slices.Compact(terms), " "))
}

// LevelOf is how hard a scenario is, from 1 to 3: the more there is to keep in mind at
// once, the harder.
func LevelOf(sc *scenario.Scenario) int {
	level, deep := 1, false
	for _, t := range sc.Threads {
		deep = deep || t.Depth > 1
	}
	faults := len(sc.Faults)
	for _, m := range sc.Schedule {
		if m.Fault != nil {
			faults++
		}
	}
	for _, more := range []bool{len(sc.Threads) > 2, deep && faults > 0, faults > 0, faults > 1, sc.Lock.Nodes > 1, sc.Lock.Nodes > 1} {
		if more {
			level++
		}
	}
	return min(level, 3)
}
