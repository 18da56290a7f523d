package page

import (
	"context"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/explore"
	"relock/engine/outside/ownlock"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/web/film"
	"relock/web/words"
)

// quoted lists words as tables have them.
func quoted(l words.Language, list []string) string {
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = l.Say("“%s”", one)
	}
	return l.List(out)
}

// Useless reports whether some thread is done in none of the orders that were
// searched: a lock that lets nobody in breaks no rule, and is none.
func Useless(s *explore.Space) bool {
	for n := range s.Scenario().Threads {
		if !slices.ContainsFunc(s.Ends(), func(e explore.End) bool { return e.Results[n] == trace.Done }) {
			return true
		}
	}
	return false
}

// Found is what we know about a search, while it goes on and afterwards.
type Found struct {
	Going   bool
	Title   string // what is searched
	Counted string // how far it came
	Ending  string // how it ended, and why, in sentences
	Sound   bool   // no rule is broken, and nothing is missing that a judgement needs
	Maybe   bool   // no rule is broken, and something is missing

	Unjudged []string // what is missing, and what helps
	Rules    []BrokenRule
	Least    string // the cost of each rule, in words
	Others   string // about the rules that are not listed
	Never    string // which lines of the user's scripts no order reached
	Notes    []string
}

// NotesOn says what the rules do not say about a user's own lock after a search: threads
// that do not finish, and what its scripts may do differently on a Redis than in the box.
func NotesOn(l words.Language, s *explore.Space) []string {
	var list []string
	for n, t := range s.Scenario().Threads {
		done, ends := false, []string(nil)
		for _, e := range s.Ends() {
			switch r := e.Results[n]; {
			case r == trace.Done:
				done = true
			case r != "" && r != trace.Crashed && !slices.Contains(ends, film.Result(l, r)):
				ends = append(ends, film.Result(l, r))
			}
		}
		switch {
		case len(ends) == 0:
		case done:
			list = append(list, l.Say("%s is not done in every order; another end: %s.", t.Name, quoted(l, ends)))
		default:
			list = append(list, l.Say("%s is done in no order; its end: %s.", t.Name, quoted(l, ends)))
		}
	}
	list = append(list, notes(l, s.Notes())...)
	return append(list, NotesOnScripts(l, s.Scenario().Lock)...)
}

// NotesOnRun says what the scripts of a user's own lock did differently in a run than its
// file says, and how they are to be called where the context has a box to try that.
func NotesOnRun(ctx context.Context, l words.Language, sc *scenario.Scenario, events []trace.Event) []string {
	fit, err := ownlock.Try(ctx, sc)
	if err != nil {
		fit = ownlock.Fit{}
	}
	seen := ownlock.NewSeen(sc, fit)
	for i := range events {
		seen.See(events[i])
	}
	list := notes(l, seen.Notes())
	if asks := fit.Asks(); !asks.IsZero() {
		list = slices.Insert(list, 0, l.Clause(asks))
	}
	return list
}

// NotesOnScripts says what the scripts of a user's own lock may do differently on a Redis
// than in the box.
func NotesOnScripts(l words.Language, lock scenario.Lock) []string {
	return notes(l, ownlock.Notes(lock))
}

func notes(l words.Language, notes []ownlock.Note) []string {
	var list []string
	for _, n := range notes {
		list = append(list, l.Say("Note on the script %s: %s", n.Call, l.Clause(n.What)))
	}
	return list
}

// BrokenRule is a broken rule.
type BrokenRule struct {
	Name, Title string
	Orders      string  // how many schedules break it, "" while the search goes on
	Standing    string  // how many of them only after a thread stood still, "" for none
	Share       float64 // of all, 0 to 1
	Cost        string  // of the smallest that does
	Link        string  // opens the smallest, "" where a command does
	Lost        string  // where that becomes inevitable, "" if nobody can say
}

// Begun is a search of which nothing is known yet.
func Begun(l words.Language, from time.Duration, later bool) Found {
	return Found{Going: true, Title: title(l, from, later), Counted: l.Say("It begins when the machine has room.")}
}

func title(l words.Language, from time.Duration, later bool) string {
	if later {
		return l.Say("Every order from %s on", l.Duration(from))
	}
	return l.Say("Every order from the start")
}

// NewFound words in l what we know about a search. From is where it begins, since the run
// began.
func NewFound(l words.Language, s *explore.Space, from time.Duration) Found {
	f := Found{Going: s.Ending() == "", Title: title(l, from, len(s.Bounds().From) > 0)}
	states := Grouped(big.NewInt(int64(s.States())))
	if f.Going {
		f.Counted = l.Say("%[1]s states so far, %[2]s decisions to try.", states, Grouped(big.NewInt(int64(s.Waiting()))))
	} else {
		f.Counted = l.Say("%s states, merged where they are the same.", states)
		for _, threads := range s.Alike() {
			f.Counted += " " + l.Say("%s differ only by name: if they change places, the state is the same.", l.List(threads))
		}
		f.Ending = SearchEnding(l, s)
		j := s.Judgement(nil)
		f.Sound = j.Verdict == verdict.Unbroken && !(s.Scenario().Lock.Own() && Useless(s))
		f.Maybe = j.Verdict == verdict.Unjudged
		f.Unjudged = film.Unjudged(l, j)
		if s.Ending() == explore.Exhausted && s.Broken().Sign() > 0 {
			f.Others = l.Say("All other rules hold in every order. Nothing beyond that was searched.")
		}
	}
	if !f.Going && s.Scenario().Lock.Own() && s.Schedules().Sign() > 0 {
		f.Never = unreached(l, s.Unreached())
	}
	f.Least = l.Say("The smallest takes")
	if f.Going || !AllSmallest(s) {
		f.Least = l.Say("The smallest found takes")
	}
	for _, r := range s.Rules() {
		one := BrokenRule{Name: r.Name, Title: l.Clause(s.Scenario().Lock.Kind.Title(r.Name)), Cost: Cost(l, r)}
		if !f.Going {
			one.Orders = Share(l, r.Schedules, s.Schedules())
			one.Standing = StoodStill(l, r)
			one.Share = Ratio(r.Schedules, s.Schedules())
			one.Lost = lost(l, r)
		}
		f.Rules = append(f.Rules, one)
	}
	return f
}

// unreached names lines by their scripts, "" for none.
func unreached(l words.Language, list []explore.Unreached) string {
	var lines []string
	for _, u := range list {
		for _, line := range u.Lines {
			lines = append(lines, l.Say("%[1]s, line %[2]s", strings.TrimSuffix(u.Script, ".lua"), strconv.Itoa(line.Number)))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return l.Say("No order reached these commands: %s.", strings.Join(lines, l.Say("; ")))
}

// StoodStill says how many of the orders that break a rule do so only after a thread
// stood still longer than its lease, "" for none.
func StoodStill(l words.Language, r explore.Rule) string {
	if r.ByStandingStill.Sign() == 0 {
		return ""
	}
	return l.Say("%s after standing still", Grouped(r.ByStandingStill))
}

func lost(l words.Language, r explore.Rule) string {
	switch {
	case r.Lost < 0:
		return ""
	case r.Lost == 0:
		return l.Say("It is inevitable from the start.")
	case r.Lost == len(r.Schedule):
		return l.Say("Until its last move it can still end well.")
	default:
		return l.Say("After move %d it is inevitable.", r.Lost)
	}
}

// Tone is how much of what follows breaks a rule.
type Tone string

// The tones.
const (
	None    Tone = "none"
	Some    Tone = "some"
	All     Tone = "all"
	Unknown Tone = "unknown" // none of those that were tried, and there are others
)

// MoveOutlook is what becomes of a decision.
type MoveOutlook struct {
	Choice int    `json:"choice"` // who moves, or -1: nobody, time passes
	Short  string `json:"short"`  // "3 of 8 break"
	Says   string `json:"says"`
	Tone   Tone   `json:"tone"`
}

// Outlooks words in l what becomes of the choices and the delay at a place. If nobody can
// move before some time has passed, it names the one who then can, and nobody if there
// are several.
func Outlooks(l words.Language, p *explore.Place, now bool) []MoveOutlook {
	list := []MoveOutlook{}
	choices := 0
	for _, o := range p.Options {
		if o.Choice >= 0 {
			choices++
		}
	}
	if !now && choices > 1 {
		return list
	}
	for _, o := range p.Options {
		if o.Fault != nil || o.Delay && !now {
			continue
		}
		one := MoveOutlook{Choice: o.Choice, Short: short(l, o.Prospect), Says: ways(l, o.Prospect), Tone: toneOf(o.Prospect)}
		if o.All.Sign() == 0 {
			one.Says = l.Say("The search did not reach this.")
		}
		list = append(list, one)
	}
	return list
}

// Here says in l what becomes of a place.
func Here(l words.Language, p *explore.Place) (says string, tone Tone) {
	tone = toneOf(p.Prospect)
	switch {
	case p.All.Sign() == 0:
		return l.Say("The search did not go on from here."), tone
	case tone == All && p.All.IsInt64() && p.All.Int64() == 1:
		return l.Say("The only way on from here breaks a rule."), tone
	case tone == All:
		return l.Say("From here on every order breaks a rule: all %s.", Grouped(p.All)), tone
	case tone == None:
		return l.Say("From here on no rule breaks, whatever happens within the bounds."), tone
	default:
		return l.Say("From here %s", ways(l, p.Prospect)), tone
	}
}

// ways says how many ways break a rule, and whether there are others.
func ways(l words.Language, p explore.Prospect) string {
	broken, all := Grouped(p.Broken), Grouped(p.All)
	if p.Complete {
		return l.Say("%[1]s of %[2]s ways break a rule.", broken, all)
	}
	return l.Say("%[1]s of the %[2]s ways tried break a rule; there are others.", broken, all)
}

// short is ways in a few words.
func short(l words.Language, p explore.Prospect) string {
	switch {
	case p.All.Sign() == 0:
		return l.Say("not tried")
	case p.Complete:
		return l.Say("%[1]s of %[2]s break", Grouped(p.Broken), Grouped(p.All))
	default:
		return l.Say("%[1]s of %[2]s tried break", Grouped(p.Broken), Grouped(p.All))
	}
}

// toneOf is Some only where a rule is known to be broken, and None and All only
// where there are no ways but those that were tried.
func toneOf(p explore.Prospect) Tone {
	switch {
	case p.Every():
		return All
	case p.None():
		return None
	case p.Broken.Sign() > 0:
		return Some
	default:
		return Unknown
	}
}

// Parting is the one decision that makes the difference between two branches.
type Parting struct {
	Bad, Good           string // the branches' names
	BadDid, GoodDid     string // what was decided there, clauses
	State               int    // the last one that they share
	At                  string // its instant
	Before              string // what could still come before it, a sentence
	BadAfter, GoodAfter string // and after it: "3 of 8 break"
}

// NewParting says in l what two decisions make of a place.
func NewParting(l words.Language, p *explore.Place, bad, good scenario.Move) Parting {
	before, _ := Here(l, p)
	return Parting{State: p.ID, At: l.Duration(p.At), Before: before, BadAfter: after(l, p, bad), GoodAfter: after(l, p, good)}
}

func after(l words.Language, p *explore.Place, m scenario.Move) string {
	for _, o := range p.Options {
		same := o.Fault == nil && !o.Delay && o.Choice == m.Choice && m.Fault == nil && m.Until == 0
		if same || o.Delay && m.Until > 0 || o.Fault != nil && m.Fault != nil && *o.Fault == *m.Fault {
			return short(l, o.Prospect)
		}
	}
	return l.Say("not tried")
}

// PartingAt finds the last state that two branches share, given the states of each, and
// how many moves each had made there. It reports false where there is none, or where one
// of them has not gone on from there.
func PartingAt(ofBad, ofGood []int) (bad, good int, ok bool) {
	last := map[int]int{}
	for i, id := range ofGood {
		last[id] = i
	}
	for i, id := range slices.Backward(ofBad) {
		if at, both := last[id]; both && id != explore.None {
			return i, at, i+1 < len(ofBad) && at+1 < len(ofGood)
		}
	}
	return 0, 0, false
}
