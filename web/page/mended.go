package page

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"relock/engine"
	"relock/engine/check"
	"relock/engine/explore/mend"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
	"relock/lessons/advice"
	"relock/web/film"
	"relock/web/link"
	"relock/web/words"
)

// Mended is what we know about the changes that might mend a run.
type Mended struct {
	Going  bool
	Asks   string    // what would have saved what the lock protects: the heading
	Within string    // where each change is tried, "" while that is not known
	Before string    // in how many orders a rule is broken, and within which bounds; "" while that is not known
	Tried  string    // how far the search has come
	Done   int       // changes that were tried
	All    int       // that are to be; 0 while that is not known
	Broken bool      // there is something to mend
	Order  string    // by what Cures are ordered, sentences; "" while there are fewer than two, and while the search goes on
	Cures  []CureRow // that are better than nothing, the best first
	Others []CureRow // that are not
	Lesson string    // what to learn of it, where that is more than Ending says; "" while the search goes on
	Ending string    // what follows from all that, in sentences; "" while the search goes on
	Sound  bool      // something mends it
	Course string    // where the course teaches what is needed, or ""
	Report string    // the run as Markdown for a post-mortem, once the search has ended; filled in by who has the run

	Program string // Go code with the best of the changes, or ""
}

// BestCures is how many changes are shown as cards, the best.
const BestCures = 3

// Best are the changes that are shown as cards, each that is better than nothing.
func (m *Mended) Best() []CureRow { return m.Cures[:min(len(m.Cures), BestCures)] }

// Rest are those that are better than nothing, too, but not among the best.
func (m *Mended) Rest() []CureRow { return m.Cures[len(m.Best()):] }

// CureRow is a change, and what comes of it.
type CureRow struct {
	Name, Title, Note string
	Verdict           string // as the JSON and the style sheet name it
	Good              bool   // nothing that matters is broken any more
	Says              string // what the verdict is, a sentence
	New               string // rules that only the change breaks, a sentence, or ""
	Broken            []BrokenCount
	Helped            bool   // it needs the help of what the lock protects
	Open              string // the link of the scenario with the change, without moves
	Left              string // the link of an order that breaks a rule all the same, or ""
	LeftSays          string // which: the label of what leads there
	Why               CureWhy
}

// CureWhy is what the moves of the run that breaks a rule come to with a change.
type CureWhy struct {
	Says    string       // a sentence, "" while it is not known
	Threads []LockThread // what each did otherwise: a cell as it is, and one with the change
}

// BrokenCount is in how many orders something is broken with a change, in words: a line
// of its card.
type BrokenCount struct {
	What string // a rule's title, or with which pause
	Says string // "42 → 0 of 55 orders", "42 of 55 → 0 of 85 orders" of other totals, "still 42 of 55 orders"
	Tone film.Tone
}

// lateWrites is where the course teaches to have the resource decide.
const lateWrites = "/learn/tokens"

// MendBegun is a search for what mends a run of sc of which nothing is known yet.
func MendBegun(l words.Language, sc *scenario.Scenario) Mended {
	return Mended{Going: true, Asks: mendAsks(l, sc), Tried: l.Say("It begins when the machine has room.")}
}

// mendAsks asks what would have saved what the lock of a scenario protects.
func mendAsks(l words.Language, sc *scenario.Scenario) string {
	if sc.Resource == nil {
		return l.Say("What would have saved it?")
	}
	switch sc.Resource.Kind {
	case scenario.KindCounter:
		return l.Say("What would have saved the counter?")
	case scenario.KindStock:
		return l.Say("What would have saved the stock?")
	case scenario.KindPurchases:
		return l.Say("What would have kept the limit?")
	default:
		return l.Say("What would have saved it?")
	}
}

// NewMended words in l what we know about a search for changes that mend a run. Cured is
// what engine.Cured returned, once the search has ended; nil before. It fails only if a
// link cannot be made.
func NewMended(l words.Language, r *mend.Report, cured []engine.Played) (Mended, error) {
	going := cured == nil
	m := Mended{Going: going, Asks: mendAsks(l, r.Scenario), Before: MendBefore(l, r), Broken: r.Broken(), Sound: r.Best() != nil || r.Protected()}
	if m.Broken && r.Before.All {
		m.Within = l.Say("each tried in every order with %s", mendBounds(l, r))
	}
	if r.Changes > 0 {
		m.Tried, m.Done, m.All = l.Say("%[1]d of %[2]d changes tried.", r.Tried, r.Changes), r.Tried, r.Changes
	}
	for i := range r.Cures {
		row, err := newCureRow(l, r, &r.Cures[i])
		if err != nil {
			return m, err
		}
		if !going {
			row.Why = NewCureWhy(l, cured[0], cured[i+1], &r.Cures[i])
		}
		if r.Cures[i].Verdict == mend.Nothing && len(r.Cures[i].Cured) == 0 {
			m.Others = append(m.Others, row)
		} else {
			m.Cures = append(m.Cures, row)
		}
	}
	if !going {
		if len(m.Cures) > 1 {
			m.Order = CureOrder(l)
		}
		if best := r.Best(); best != nil {
			m.Program = programOf(best.Scenario)
		}
		m.Ending = MendEnding(l, r)
		if r.NeedsResource() {
			m.Course = lateWrites
			if r.ByStanding() {
				m.Lesson = l.Say("No lease keeps two out for ever: a pause can always be longer. So let what the lock protects check.")
			}
		}
	}
	return m, nil
}

// programOf is "" of several locks: the programs take one.
func programOf(sc *scenario.Scenario) string {
	if sc.Locks != nil {
		return ""
	}
	checks := ""
	if sc.Resource != nil {
		checks = sc.Resource.Checks
	}
	return advice.Program(sc.Lock.Protocol, checks, sc.Lock.Key)
}

func newCureRow(l words.Language, r *mend.Report, c *mend.Cure) (CureRow, error) {
	row := CureRow{
		Name: c.Name, Title: l.Clause(c.Title), Note: CureNote(l, c), Verdict: string(c.Verdict), Good: c.Verdict == mend.Mends || c.Verdict == mend.Protects, Says: CureSays(l, c), New: CureNew(l, c), Helped: c.Helped(),
	}
	row.Broken = brokenCounts(l, r, c)
	var err error
	if row.Open, err = opens(l, c.Scenario, c); err != nil {
		return row, err
	}
	left := &c.After
	if len(left.Rules) == 0 && c.Longer != nil {
		left = &c.Longer.Count
	}
	if len(left.Rules) > 0 {
		row.LeftSays = l.Clause(check.Title(left.Rules[0].Rule))
		row.Left, err = opens(l, left.Example(), c)
	}
	return row, err
}

// brokenCounts are the lines of a change's card: of each rule that is broken as the
// scenario is, of each that only the change breaks, and with a longer pause.
func brokenCounts(l words.Language, r *mend.Report, c *mend.Cure) []BrokenCount {
	var list []BrokenCount
	of := func(n *big.Int, count *mend.Count) string {
		if !count.All {
			return l.Say("%[1]s of %[2]s orders tried", Grouped(n), Grouped(count.Orders))
		}
		return l.Say("%[1]s of %[2]s orders", Grouped(n), Grouped(count.Orders))
	}
	rules := slices.Clone(r.Before.Rules)
	slices.SortStableFunc(rules, func(a, b mend.Broken) int { return harmFirst(a.Rule, b.Rule) })
	for _, b := range rules {
		after := c.After.Of(b.Rule)
		before := Grouped(b.Orders)
		if c.After.All != r.Before.All || c.After.Orders.Cmp(r.Before.Orders) != 0 {
			before = l.Say("%[1]s of %[2]s", before, Grouped(r.Before.Orders))
		}
		one := BrokenCount{What: l.Clause(check.Title(b.Rule)), Says: l.Say("%[1]s → %[2]s", before, of(after, &c.After)), Tone: film.Plain}
		switch {
		case after.Sign() == 0 && c.After.All:
			one.Tone = film.Good
		case after.Cmp(b.Orders) == 0 && c.After.Orders.Cmp(r.Before.Orders) == 0:
			one.Says = l.Say("still %s", of(after, &c.After))
		case Ratio(after, c.After.Orders) > Ratio(b.Orders, r.Before.Orders):
			one.Tone = film.Bad
		}
		list = append(list, one)
	}
	for _, rule := range c.New {
		list = append(list, BrokenCount{What: l.Clause(check.Title(rule)), Says: l.Say("new: %s", of(c.After.Of(rule), &c.After)), Tone: film.Bad})
	}
	if c.Longer != nil && len(c.Longer.Rules) > 0 {
		list = append(list, BrokenCount{What: l.Say("with a pause of %s", l.Duration(c.Longer.Pause)), Says: of(c.Longer.Broken, &c.Longer.Count), Tone: film.Bad})
	}
	return list
}

// harmFirst puts rules by which what the lock protects comes to harm before the lock's own.
func harmFirst(a, b string) int {
	switch {
	case check.Harms(a) == check.Harms(b):
		return 0
	case check.Harms(a):
		return -1
	default:
		return 1
	}
}

// opens is the link of a scenario with a change, whose title says what was changed.
func opens(l words.Language, sc *scenario.Scenario, c *mend.Cure) (string, error) {
	l = l.Plain() // it is the scenario's own, in its YAML
	other := *sc
	title := l.Clause(c.Title)
	if sc.Title != "" {
		title = l.Say("%[1]s · %[2]s", l.Clause(lessons.Title(sc.Title)), title)
	}
	if len([]rune(title)) <= scenario.MaxTitle {
		other.Title = title
	}
	text, err := link.Encode(link.Contents{Scenario: &other, At: len(other.Schedule)})
	if err != nil {
		return "", fmt.Errorf("page: %w", err)
	}
	return "/play#" + text, nil
}

// NewCureWhy says what the same moves come to as they are, and with a change: first of
// what breaks a rule only as it is, or else of what goes better, or of what differs.
func NewCureWhy(l words.Language, as, with engine.Played, c *mend.Cure) CureWhy {
	var why CureWhy
	best, says := -1, ""
	mended := func(row LockRow) bool {
		return (row.Differs || row.Cells[0].At != row.Cells[1].At) && mends(as, with, row.Cells[0])
	}
	for _, t := range alignThreads(l, []engine.Played{as, with}) {
		t.Rows = slices.DeleteFunc(t.Rows, func(row LockRow) bool { return !row.Differs && !mended(row) })
		for _, row := range t.Rows {
			telling := 0
			switch {
			case mended(row):
				telling = 3
			case row.Cells[0].Tone != row.Cells[1].Tone:
				telling = 2
			case row.First:
				telling = 1
			}
			if telling > best {
				best, says = telling, l.Say("The same moves, at %[1]s's %[2]s. With the change: %[3]s. Without it: %[4]s.", t.Name, row.What, cellSays(l, row.Cells[1]), cellSays(l, row.Cells[0]))
			}
		}
		if len(t.Rows) > 0 {
			why.Threads = append(why.Threads, t)
		}
	}
	why.Says = says
	still := engine.Broken(with.Events)
	beyond := func(rule string) bool { return c.After.Breaks(rule) == nil }
	switch {
	case best < 3 && slices.ContainsFunc(still, beyond):
		why.Says = l.Say("With it, the same moves are delays beyond these bounds, and still end like this: %s.", l.List(titlesOf(l, still)))
	case says == "":
		why.Says = l.Say("With it, the same moves end the same.")
	case best < 3 && len(still) > 0:
		why.Says = l.Say("The same moves still end like this: %s.", l.List(titlesOf(l, still)))
	}
	return why
}

func cellSays(l words.Language, c LockCell) string {
	if c.Text == "" {
		return l.Say("not done")
	}
	return l.Say("%[1]s (%[2]s)", c.Text, c.At)
}

// mends reports whether a rule was broken by what is in a cell, that is not broken with
// the change.
func mends(as, with engine.Played, c LockCell) bool {
	still := engine.Broken(with.Events)
	return slices.ContainsFunc(as.Events, func(e trace.Event) bool {
		v, is := e.Body.(trace.Violation)
		return is && !slices.Contains(still, v.Rule) && c.seq > 0 && len(v.Events) > 0 && v.Events[len(v.Events)-1] == c.seq
	})
}

// CureNote is what a change does and what it does not, in sentences.
func CureNote(l words.Language, c *mend.Cure) string {
	note := l.Sentence(c.Note)
	if c.Lacks > 0 {
		note = l.Say("%s %s", note, l.Say("Tried without those faults of this scenario that this lock cannot have."))
	}
	return note
}

// CureOrder says by what a report's cures are ordered.
func CureOrder(l words.Language) string {
	return l.Say("Best first. Where two mend it, the cheaper change comes first.")
}

// CureNew says which rules only the change breaks, or nothing.
func CureNew(l words.Language, c *mend.Cure) string {
	if len(c.New) == 0 {
		return ""
	}
	return l.Say("New with it: %s.", l.List(titlesOf(l, c.New)))
}

func rulesOf(c mend.Count) []string {
	names := make([]string, len(c.Rules))
	for i, b := range c.Rules {
		names[i] = b.Rule
	}
	return names
}

func titlesOf(l words.Language, rules []string) []string {
	titles := make([]string, len(rules))
	for i, rule := range rules {
		titles[i] = l.Clause(check.Title(rule))
	}
	return titles
}

// CureSays is a change's verdict, a sentence.
func CureSays(l words.Language, c *mend.Cure) string {
	orders, broken := Grouped(c.After.Orders), Grouped(c.After.Broken)
	standing := StandingStill(l, c.After.Broken, c.After.Standing)
	switch c.Verdict {
	case mend.Mends:
		if standing != "" {
			return l.Say("%[1]s of %[2]s orders break a rule, %[3]s. Next, have the resource check each write (a fencing token, a version).", broken, orders, standing)
		}
		if c.After.Delays < c.Asked {
			return l.Say("None of %[1]s orders with %[2]s breaks a rule. With more there are too many states.", orders, Delays(l, c.After.Delays))
		}
		return l.Say("None of %s orders breaks a rule.", orders)
	case mend.Protects:
		if len(c.After.Rules) > 1 || c.After.Breaks(check.MutualExclusion) == nil {
			return l.Say("What the lock protects stays intact. In %[1]s of %[2]s orders the lock still breaks a rule of its own: %[3]s.", broken, orders, l.List(titlesOf(l, rulesOf(c.After))))
		}
		return l.Say("What the lock protects stays intact. Two can still be inside at once, in %[1]s of %[2]s orders.", broken, orders)
	case mend.UpTo:
		if standing != "" {
			break // some do
		}
		if c.Longer == nil || len(c.Longer.Rules) == 0 {
			return l.Say("None of %s orders breaks a rule, as long as nothing takes longer than the lease.", orders)
		}
		if c.Longer.Broken.Sign() == 0 { // where a rule is broken, but not gone on from there
			return l.Say("None of %[1]s orders breaks a rule, but not with a pause of %[2]s.", orders, l.Duration(c.Longer.Pause))
		}
		return l.Say("None of %[1]s orders breaks a rule. With a pause of %[2]s, %[3]s of %[4]s do.", orders, l.Duration(c.Longer.Pause), Grouped(c.Longer.Broken), Grouped(c.Longer.Orders))
	case mend.Unsure:
		return l.Say("None of the %s orders tried breaks a rule. There are more.", orders)
	}
	if !c.After.All {
		return l.Say("%[1]s of the %[2]s orders tried break a rule. There are more.", broken, orders)
	}
	says := l.Say("%[1]s of %[2]s orders break a rule.", broken, orders)
	if standing != "" {
		says = l.Say("%[1]s of %[2]s orders break a rule, %[3]s.", broken, orders, standing)
	}
	if c.Verdict == mend.UpTo && c.Longer != nil && c.Longer.Broken.Sign() > 0 {
		says = l.Say("%[1]s With a pause of %[2]s, %[3]s of %[4]s do.", says, l.Duration(c.Longer.Pause), Grouped(c.Longer.Broken), Grouped(c.Longer.Orders))
	}
	if c.Verdict == mend.Partly && len(c.Cured) > 0 {
		says = l.Say("%s %s", says, l.Say("Fixed: %s.", l.List(titlesOf(l, c.Cured))))
	}
	return says
}

// CureByRule says which rules a change cures that leaves others broken, with the counts:
// "deletes another's lock: 25 → 0; two inside stay: 22"; "" where it cures none or all.
func CureByRule(l words.Language, r *mend.Report, c *mend.Cure) string {
	if len(c.Cured) == 0 || c.Verdict == mend.Mends || c.Verdict == mend.UpTo {
		return ""
	}
	var parts []string
	for _, rule := range c.Cured {
		parts = append(parts, l.Say("%[1]s: %[2]s → %[3]s", l.Clause(check.Title(rule)), Grouped(r.Before.Of(rule)), Grouped(c.After.Of(rule))))
	}
	for _, b := range c.After.Rules {
		if !slices.Contains(c.Cured, b.Rule) {
			parts = append(parts, l.Say("%[1]s stays: %[2]s", l.Clause(check.Title(b.Rule)), Grouped(b.Orders)))
		}
	}
	return strings.Join(parts, l.Say("; "))
}

// mendBounds says within which bounds the orders are tried.
func mendBounds(l words.Language, r *mend.Report) string {
	bounds := Bounds(l, r.Bounds)
	if r.Bounds.MaxFaults == 0 && len(r.Scenario.Faults) > 0 {
		bounds = l.Say("%s but the scenario's own", bounds)
	}
	if r.Narrowed > 0 {
		bounds = l.Say("%[1]s (with %[2]d delays there are too many states)", bounds, r.Narrowed)
	}
	return bounds
}

// MendBefore says in how many orders a rule is broken as the scenario is.
func MendBefore(l words.Language, r *mend.Report) string {
	bounds := mendBounds(l, r)
	orders, broken := Grouped(r.Before.Orders), Grouped(r.Before.Broken)
	if standing := StandingStill(l, r.Before.Broken, r.Before.Standing); r.Before.All && standing != "" {
		return l.Say("As it is, %[1]s of %[2]s orders with %[3]s break a rule, %[4]s.", broken, orders, bounds, standing)
	}
	if r.Before.All {
		return l.Say("As it is, %[1]s of %[2]s orders with %[3]s break a rule.", broken, orders, bounds)
	}
	if standing := StandingStill(l, r.Before.Broken, r.Before.Standing); standing != "" {
		broken = l.Say("%[1]s (%[2]s)", broken, standing)
	}
	if r.Before.Why.Text == "" {
		return l.Say("As it is, %[1]s of the %[2]s orders tried with %[3]s break a rule.", broken, orders, bounds)
	}
	return l.Say("As it is, %[1]s of the %[2]s orders tried with %[3]s break a rule: %[4]s.", broken, orders, bounds, l.Clause(r.Before.Why))
}

// MendEnding says what follows from all that was tried.
func MendEnding(l words.Language, r *mend.Report) string {
	switch best := r.Best(); {
	case r.Stopped && r.Before.Orders.Cmp(new(big.Int)) == 0 && !r.Broken():
		return l.Say("The search stopped before it knew anything.")
	case r.Protected() && best == nil:
		return l.Say("What the lock protects is safe already: it refuses late writes. What is left is the lock's own: %s.", l.List(titlesOf(l, rulesOf(r.Before))))
	case !r.Broken() && r.Before.All:
		return l.Say("There is nothing to mend within these bounds. Nothing beyond them was tried.")
	case !r.Broken():
		return l.Say("None of the orders tried breaks a rule, so there is nothing to mend yet.")
	case best != nil && best.Verdict == mend.Mends && r.Stopped:
		return l.Say("The search was stopped. The best so far: %s.", l.Clause(best.Title))
	case best != nil && best.Verdict == mend.Mends && best.After.OnlyStanding():
		return l.Say("%[1]s %[2]s", l.Say("This mends it: %s.", l.Clause(best.Title)), CureSays(l, best))
	case best != nil && best.Verdict == mend.Mends:
		return l.Say("This mends it: %s.", l.Clause(best.Title))
	case best != nil && r.NeedsResource():
		return l.Say("No lock can mend this alone: the resource it protects must decide. %s", l.Say("This protects it: %s.", l.Clause(best.Title)))
	case best != nil:
		return l.Say("This protects it: %s.", l.Clause(best.Title))
	case r.Stopped && r.Tried == 0:
		return l.Say("The search was stopped before it tried a change.")
	case r.Stopped:
		return l.Say("The search was stopped: no change tried so far mends it.")
	case r.NeedsResource() && r.Scenario.Resource == nil:
		return l.Say("No lock can mend this alone: the resource it protects must refuse late writes, by a fencing token or a version. Name it (resource:), and these checks are tried, too.")
	case r.NeedsResource():
		return l.Say("No lock can mend this alone: the resource it protects must refuse late writes, by a fencing token or a version.")
	case r.Before.Breaks(check.ShutOut) != nil && r.Before.Breaks(check.ShutOut).Orders.Cmp(r.Before.Orders) == 0 && slices.ContainsFunc(r.Cures, func(c mend.Cure) bool { return c.Kind == mend.MaxHold }):
		return l.Say("No change ends a thread that hangs. max-hold frees the others: its watchdog stops renewing, and the lease ends.")
	case slices.ContainsFunc(r.Cures, func(c mend.Cure) bool { return c.Verdict == mend.Unsure }):
		return l.Say("None of these changes is certain to mend it within these bounds.")
	default:
		return l.Say("None of these changes mends it within these bounds.")
	}
}
