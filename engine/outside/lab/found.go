package lab

import (
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/outside/infer"
	"relock/engine/phrase"
	"relock/engine/recall"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// Endings of a search.
const (
	Exhausted = "exhausted" // every order within the bounds was tried
	Bound     = "bound"     // there are more than MaxOrders
	Stopped   = "stopped"   // somebody has stopped it
	Worker    = "worker"    // a worker failed
)

// Found is the result of a search.
type Found struct {
	Ending   string
	Orders   int // tried, without those that were drawn
	Broken   int // of them, those that break a rule
	Diverged int // replays that diverged
	First    *Divergence
	Rules    []Rule
	Key      string // the lock's, "" if no command has made one
	Store    string
	Failed   *WorkerError // of the ending Worker
	Drawn    *Drawn       // of the ending Bound
	Took     time.Duration
	Sent     int  // commands that were answered
	Started  bool // each order took new processes: a worker asks for no rounds
	Evidence verdict.Evidence
	Checked  recall.Checked // what the second Redis has answered

	roles infer.Roles // what commands were seen to do to the lock, in any order
}

// Judgement is what we can say about the lock.
func (f *Found) Judgement() verdict.Judgement { return f.Evidence.Judge() }

// Ended says how a search has ended, in a sentence: of all orders tried some break a rule, "0" where
// none does. It says "all" only if each replay went as it was asked to, and "none" only if that is
// a verdict.
func Ended(ending, all, some string, diverged int, v verdict.Verdict) phrase.Wording {
	switch {
	case ending == Worker:
		return phrase.Say("The search has ended: a worker failed. Of the %s orders tried, %s break a rule.", all, some)
	case ending == Stopped:
		return phrase.Say("The search was stopped: %s orders were tried, %s break a rule.", all, some)
	case ending == Bound:
		return phrase.Say("There are more than %s orders. Of those tried, %s break a rule; the rest were not tried.", all, some)
	case diverged > 0 && some != "0":
		return phrase.Say("%s orders were tried: %s break a rule. There may be others.", all, some)
	case diverged > 0 && v == verdict.Unbroken:
		return phrase.Say("%s orders were tried: none breaks a rule. There may be others.", all)
	case diverged > 0:
		return phrase.Say("%s orders were tried. There may be others.", all)
	case some != "0":
		return phrase.Say("All %s orders were tried: %s break a rule.", all, some)
	case v == verdict.Unbroken:
		return phrase.Say("All %s orders were tried: none breaks a rule.", all)
	default:
		return phrase.Say("All %s orders were tried.", all)
	}
}

// Divergence is where a replay first diverged.
type Divergence struct {
	At   int // decision, from 1
	Want Decision
	Have string
}

// Rule is a broken rule, with the smallest order that breaks it.
type Rule struct {
	Name   string
	Orders int // that break it
	By     string
	Order  *Order
}

// Smallest returns the broken rules with the decisions of their smallest orders.
func (f *Found) Smallest() []Broken {
	var list []Broken
	for _, r := range f.Rules {
		after, _ := r.Order.final.Shut()
		list = append(list, Broken{r.Name, r.By, r.Orders, r.Order.Decisions, r.Name == check.ShutOut && after == check.Never})
	}
	return list
}

// Drawn is the result of orders drawn at random.
type Drawn struct {
	Orders, Broken int
	Rules          []string
	Low, High      float64 // share that breaks a rule among orders so drawn, with 95 % confidence
}

// Order is one order of decisions, and its result.
type Order struct {
	Decisions []Decision
	Faults    int
	Rules     []string // broken

	records  []infer.Record
	began    time.Time // the instant, by the wall's clock, from which its records count
	final    infer.Over
	marks    bool
	lease    int64 // the longest that was seen, in ms, also in rounds before it
	hash     bool  // the lock is one
	diverged *Divergence
	cut      bool            // it cannot differ from one that was tried
	struck   map[string]bool // faults that did
	failed   failures
}

// note adds the outcome of a decision, or what happened by itself.
func (o *Order) note(r infer.Record) {
	o.records = append(o.records, r)
	for i := range len(r.Also) + 1 {
		after := r.Of(i).After
		o.lease, o.hash = max(o.lease, after.PTTL), o.hash || after.Type == trace.TypeHash
	}
}

// count adds an order that was tried.
func (s *search) count(o *Order) {
	s.found.Orders++
	j := s.judge(o)
	s.shows(o, j)
	o.Rules = s.o.counted(j.Rules())
	if len(o.Rules) > 0 {
		s.found.Broken++
	}
	s.tried.add(o.Rules)
	for _, name := range o.Rules {
		i := slices.IndexFunc(s.found.Rules, func(r Rule) bool { return r.Name == name })
		if i < 0 {
			s.found.Rules = append(s.found.Rules, Rule{Name: name, Order: o, By: s.by()})
			i = len(s.found.Rules) - 1
		}
		r := &s.found.Rules[i]
		r.Orders++
		if o.smaller(r.Order) {
			r.Order = o
		}
	}
}

func (s *search) by() string {
	if s.marks {
		return trace.ByMarks
	}
	return trace.ByEffects
}

func (o *Order) smaller(than *Order) bool {
	if o.Faults != than.Faults {
		return o.Faults < than.Faults
	}
	return len(o.Decisions) < len(than.Decisions)
}

// sort puts the rule with the smallest order first.
func (s *search) sort() {
	slices.SortStableFunc(s.found.Rules, func(a, b Rule) int {
		switch {
		case a.Order.smaller(b.Order):
			return -1
		case b.Order.smaller(a.Order):
			return 1
		default:
			return slices.Index(infer.Rules(), a.Name) - slices.Index(infer.Rules(), b.Name)
		}
	})
}

// Diverged returns where the order first differed from its decisions, or nil.
func (o *Order) Diverged() *Divergence { return o.diverged }
