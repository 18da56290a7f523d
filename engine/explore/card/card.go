// Package card makes a lock's report card: the worst that one fault, at each
// place of a small scenario, can do to it, in any order of the moves. It
// searches with package explore, and keeps ready-made cards of all locks.
//
// The package knows neither HTTP nor the readers of a card.
package card

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"relock/engine/explore"
	"relock/engine/fault"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Delays is how many delays the schedules of a bundled card have at most.
const Delays = 1

// MaxStates is how many states of one cell are searched at most.
const MaxStates = 6_000

// Of a lock that asks its nodes at once there are too many states to see them all in
// minutes. And how many orders are compared with the same moves without the fault.
const (
	statesParallel = 1_500
	orders         = 2_000
)

// Verdict is what a fault can do at worst.
type Verdict string

// The verdicts, the better first.
const (
	Survived   Verdict = "survived"   // every order ends as the same moves do without the fault, and no later
	Late       Verdict = "late"       // the same, but some order later
	Unfinished Verdict = "unfinished" // no rule is broken, but a thread that the fault did not end gives up or fails
	Broken     Verdict = "broken"     // a rule is broken
)

// Place is where a fault strikes.
type Place struct {
	Thread string `json:"thread,omitempty"` // "" for a fault of Redis itself, which strikes at any moment
	At     string `json:"at,omitempty"`     // a place of package fault
	Level  int    `json:"level,omitempty"`  // 0 where there is none
}

// String is "A.lock.1", "A.start", or "redis": unique in a card.
func (p Place) String() string {
	switch {
	case p.Thread == "":
		return "redis"
	case p.Level == 0:
		return p.Thread + "." + p.At
	default:
		return fmt.Sprintf("%s.%s.%d", p.Thread, p.At, p.Level)
	}
}

// Rule is a rule that a fault can break.
type Rule struct {
	Name     string   `json:"rule"`
	Schedule Schedule `json:"schedule"` // the smallest that breaks it, up to there

	// Stands says that each order that breaks it does so only because a thread stood
	// still longer than its lease.
	Stands bool `json:"by_standing_still,omitempty"`
}

// Schedule is a list of moves in JSON, as a scenario has it.
type Schedule = json.RawMessage

// Cell is one fault at one place.
type Cell struct {
	Fault   string  `json:"fault,omitempty"` // "" for no fault
	Place   Place   `json:"place"`
	Verdict Verdict `json:"verdict"`
	Rules   []Rule  `json:"rules,omitempty"` // of Broken: the cheapest first
	// Same says of Broken and Unfinished that the same happens without the fault.
	Same bool `json:"same,omitempty"`
	// LaterMS is of Late: by so many milliseconds at most an order ends later than
	// the same moves without the fault.
	LaterMS float64 `json:"later_ms,omitempty"`
	// Partly says that there are more orders than were tried: what was found is so,
	// and there may be worse.
	Partly bool `json:"partly,omitempty"`

	// Example is a schedule that ends so, of verdicts but Broken.
	Example Schedule `json:"example,omitempty"`
}

// Name is "pause@A.lock.1", or "none" without a fault: unique in a card.
func (c *Cell) Name() string {
	if c.Fault == "" {
		return "none"
	}
	return c.Fault + "@" + c.Place.String()
}

// Card is a lock's report card. It is never changed once made.
type Card struct {
	Protocol string  `json:"protocol"`
	Delays   int     `json:"delays"`  // of a schedule, at most
	Depth    int     `json:"depth"`   // levels of each thread
	Without  *Cell   `json:"without"` // what happens without a fault
	Cells    []*Cell `json:"cells"`

	lock scenario.Lock // of an own lock, its scripts
}

// Cell returns the cell of a fault at a place, or nil where the lock or the
// scenario never comes to that.
func (c *Card) Cell(name string, p Place) *Cell {
	for _, cell := range c.Cells {
		if cell.Fault == name && cell.Place == p {
			return cell
		}
	}
	return nil
}

// Named returns the cell with a name, or nil.
func (c *Card) Named(name string) *Cell {
	for _, cell := range append([]*Cell{c.Without}, c.Cells...) {
		if cell.Name() == name {
			return cell
		}
	}
	return nil
}

// Places returns the places of threads with so many levels, in the order in which
// each comes to them, the watchdog's last.
func Places(depth int) []Place {
	var list []Place
	for _, thread := range []string{first, second} {
		list = append(list, Place{thread, fault.AtStart, 0})
		for level := 1; level <= depth; level++ {
			list = append(list, Place{thread, fault.AtLock, level}, Place{thread, fault.AtWork, level})
		}
		for level := depth; level > 0; level-- {
			list = append(list, Place{thread, fault.AtUnlock, level})
		}
		list = append(list, Place{thread, fault.AtRenew, 0})
	}
	return list
}

// Faults returns the names of the faults in a card, in the order in which they
// are explained: first those of threads, then those of Redis. A Redis that
// answers again is not among them: none was down before.
func Faults() (ofThreads, ofRedis []string) {
	for _, k := range fault.Kinds() {
		switch {
		case k.Name == fault.Up:
		case k.Target == fault.Redis:
			ofRedis = append(ofRedis, k.Name)
		default:
			ofThreads = append(ofThreads, k.Name)
		}
	}
	return ofThreads, ofRedis
}

// Options say how a card is made.
type Options struct {
	Delays   int // of a schedule, at most
	Workers  int // explore.Options.Workers
	Progress func(done, all int)
	Only     func(name string) bool // cells to make; nil: all
}

// Make searches for what each fault can do to a lock, of which it takes the
// protocol and, of an own one, the scripts. It fails with ErrProtocol, with the
// context's cause, or with the error of a run.
func Make(ctx context.Context, l scenario.Lock, o Options) (*Card, error) {
	f, err := formOf(ctx, l)
	if err != nil {
		return nil, err
	}
	sound, err := f.scenario()
	if err != nil {
		return nil, err
	}
	m := maker{form: f, o: o, card: &Card{Protocol: l.Protocol, Delays: o.Delays, Depth: f.Threads[0].Depth, lock: l}}
	if m.sound, err = explore.NewYardstick(ctx, sound); err != nil {
		return nil, fmt.Errorf("card: %w", err)
	}
	defer func() { _ = m.sound.Close() }() // in memory: there is nothing to lose
	if err := m.without(ctx); err != nil {
		return nil, err
	}
	ofThreads, ofRedis := Faults()
	places := Places(m.card.Depth)
	all, done := len(ofThreads)*len(places)+len(ofRedis), 0
	try := func(name string, p Place) error {
		if o.Progress != nil {
			o.Progress(done, all)
		}
		done++
		cell := &Cell{Fault: name, Place: p}
		if o.Only != nil && !o.Only(cell.Name()) {
			return nil
		}
		return m.cell(ctx, cell)
	}
	for _, name := range ofThreads {
		for _, p := range places {
			if err := try(name, p); err != nil {
				return nil, err
			}
		}
	}
	for _, name := range ofRedis {
		if err := try(name, Place{}); err != nil {
			return nil, err
		}
	}
	return m.card, nil
}

// maker makes one card.
type maker struct {
	form scenarioForm
	o    Options
	card *Card

	sound *explore.Yardstick // the scenario without a fault
}

func (m *maker) bounds() explore.Bounds {
	most := MaxStates
	if m.card.lock.Implementation().Parallel {
		most = statesParallel
	}
	return explore.Bounds{Delays: m.o.Delays, MaxStates: most}
}

func (m *maker) search(ctx context.Context, sc *scenario.Scenario, b explore.Bounds) (*explore.Space, error) {
	space, err := explore.Search(ctx, sc, b, explore.Options{Workers: m.o.Workers})
	if err != nil {
		return nil, fmt.Errorf("card: %s: %w", m.card.Protocol, err)
	}
	if space.Ending() == explore.Stopped {
		return nil, fmt.Errorf("card: %w", context.Cause(ctx))
	}
	return space, nil
}

// without finds out what happens without a fault.
func (m *maker) without(ctx context.Context) error {
	sc, err := m.form.scenario()
	if err != nil {
		return err
	}
	space, err := m.search(ctx, sc, m.bounds())
	if err != nil {
		return err
	}
	m.card.Without = &Cell{}
	return m.judge(ctx, m.card.Without, space, "")
}

// cell finds out what a fault does, and adds that to the card; it adds nothing
// where the fault cannot strike.
func (m *maker) cell(ctx context.Context, c *Cell) error {
	k, _ := fault.Named(c.Fault)
	b := m.bounds()
	var sc *scenario.Scenario
	var err error
	if k.Target == fault.Redis {
		if sc, err = m.form.scenario(); err != nil {
			return err
		}
		if !slices.Contains(sc.StrikeKinds(), k.Name) {
			return nil
		}
		b.Kinds, b.MaxFaults = []string{k.Name}, 1
	} else if sc, err = m.form.with(k, c.Place); err != nil || sc == nil {
		return err
	}
	space, err := m.search(ctx, sc, b)
	if err != nil || !space.Struck() {
		return err
	}
	victim := ""
	if slices.Contains([]string{fault.Crash, fault.Panic, fault.Stall}, k.Name) {
		victim = c.Place.Thread
	}
	m.card.Cells = append(m.card.Cells, c)
	return m.judge(ctx, c, space, victim)
}

// judge fills in what a search has found. What happens to the victim is the fault itself.
func (m *maker) judge(ctx context.Context, c *Cell, space *explore.Space, victim string) error {
	c.Partly = space.Ending() != explore.Exhausted
	if rules := space.Rules(); len(rules) > 0 {
		c.Verdict, c.Same = Broken, c != m.card.Without
		for _, r := range rules {
			text, err := json.Marshal(r.Schedule)
			if err != nil {
				return fmt.Errorf("card: %w", err)
			}
			c.Rules = append(c.Rules, Rule{r.Name, text, r.Stands() && !c.Partly})
			c.Same = c.Same && !c.Partly && slices.ContainsFunc(m.card.Without.Rules, func(w Rule) bool { return w.Name == r.Name })
		}
		return nil
	}
	ends := space.Ends()
	if len(ends) == 0 {
		return fmt.Errorf("card: %s, %s: no order came to an end", m.card.Protocol, c.Name())
	}
	worst := ends[0]
	for _, e := range ends[1:] {
		a, b := m.finished(e.Results, victim), m.finished(worst.Results, victim)
		if !a && b || a == b && e.At > worst.At {
			worst = e
		}
	}
	moves, err := space.Moves(ctx, worst)
	if err != nil {
		return fmt.Errorf("card: %s: %w", m.card.Protocol, err)
	}
	switch {
	case !m.finished(worst.Results, victim):
		c.Verdict, c.Same = Unfinished, c != m.card.Without && !c.Partly && m.card.Without.Verdict == Unfinished
	case c == m.card.Without:
		c.Verdict = Survived
	default:
		c.Verdict = Survived
		later, late, err := m.later(ctx, c, space)
		if err != nil {
			return err
		}
		if later > 0 {
			c.Verdict, c.LaterMS, moves = Late, float64(later.Microseconds())/1000, late
		}
	}
	if c.Example, err = json.Marshal(moves); err != nil {
		return fmt.Errorf("card: %w", err)
	}
	return nil
}

// later returns by how much an order ends later at most than the same moves
// without the fault, and that order, or 0. An order that goes wrong without the
// fault is no measure of what the fault takes.
func (m *maker) later(ctx context.Context, c *Cell, space *explore.Space) (time.Duration, []scenario.Move, error) {
	var most time.Duration
	var latest explore.Pair
	all, err := space.Without(ctx, m.sound, orders, func(p explore.Pair) {
		if later := p.With.At - p.Without.At; later > most && m.finished(p.Without.Results, "") {
			most, latest = later, p
		}
	})
	if err != nil {
		return 0, nil, fmt.Errorf("card: %s, %s: %w", m.card.Protocol, c.Name(), err)
	}
	c.Partly = c.Partly || !all
	if most == 0 {
		return 0, nil, nil
	}
	moves, err := space.Schedule(ctx, latest)
	if err != nil {
		return 0, nil, fmt.Errorf("card: %s: %w", m.card.Protocol, err)
	}
	return most, moves, nil
}

// finished reports whether all threads but the victim have done their work.
func (m *maker) finished(results []trace.Result, victim string) bool {
	for i, t := range m.form.Threads {
		if t.Name != victim && results[i] != trace.Done {
			return false
		}
	}
	return true
}
