// Package mend asks "what would mend it?": it tries each scenario that is one
// change away from one that breaks a rule, searches every order of it within
// the same bounds, and says what is left.
//
// It tries a change and does not trust it: package explore counts, on the real lock
// engine. A change that only outlasts the scenario's own events, a longer lease above
// all, is also tried with a longer pause, and is no cure if that breaks a rule.
//
// What is left after a change may be broken only because a thread stood still longer
// than its lease. No lease protects from that, so such a change mends.
//
// No lock has a switch for the order of two of its commands: if another order
// is the cure, it is another lock's script.
//
// The package knows explore and scenario, but neither HTTP nor its callers.
package mend

import (
	"cmp"
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"relock/engine/check"
	"relock/engine/explore"
	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/verdict"
)

// States is how many states are searched at most for one change, unless the bounds
// say otherwise: some two seconds on one processor. With Options.Narrow the scenario as it is takes
// only a few of these, because its changes may take more. Of a lock that asks its nodes at once a
// quarter of them is searched: there each takes longer, and nobody would see them all.
const States = 6_000

// Delays and faults that the bounds of a run have, unless somebody says otherwise.
const (
	usualDelays = 2
	mostDelays  = 4
	mostFaults  = 2
)

// BoundsOf are the bounds within which the orders of a scenario are searched unless
// somebody says otherwise: at least 2 delays, as many as its moves have up to 4, and
// as many faults of the kinds that its moves strike, up to 2. The faults that the
// scenario itself has strike in every order.
func BoundsOf(sc *scenario.Scenario) explore.Bounds {
	b := explore.Bounds{Delays: usualDelays, MaxStates: States}
	own, can := 0, sc.StrikeKinds()
	for _, m := range sc.Schedule {
		switch {
		case m.Until > 0:
			own++
		case m.Fault != nil && slices.Contains(can, m.Fault.Do):
			b.MaxFaults = min(b.MaxFaults+1, mostFaults)
			if !slices.Contains(b.Kinds, m.Fault.Do) {
				b.Kinds = append(b.Kinds, m.Fault.Do)
			}
		}
	}
	b.Delays = max(b.Delays, min(own, mostDelays))
	return b
}

// Options say how a search is done. But for Narrow they change nothing of what it
// finds.
type Options struct {
	// Narrow searches with fewer delays than the bounds say where the scenario as it
	// is has more states than they allow: few delays tried out say more than many
	// that were cut short. A change of which there are too many is tried with fewer
	// still.
	Narrow bool
	// Workers is explore.Options.Workers.
	Workers int
	// Found is called on the caller's goroutine with what came of the scenario as it
	// is (a nil Cure), and then of each change, as soon as it is known. Its argument is
	// valid until it returns. Nil is allowed.
	Found func(*Report, *Cure)
	// Searching is explore.Options.Progress of each search. Nil is allowed.
	Searching func(*explore.Space)
}

// Count is what a search of every order has come to.
type Count struct {
	Orders *big.Int // that were tried
	Broken *big.Int // of them, those that break a rule
	Rules  []Broken // the cheapest to break first

	// Standing is how many of the broken ones are only after a thread stood still longer than
	// its lease (explore.Space.ByStandingStill); nil is 0.
	Standing *big.Int
	Delays   int  // at most, in an order
	All      bool // every order within the bounds was tried
	Why      phrase.Wording

	// Judgement is what we can say about the scenario.
	Judgement verdict.Judgement

	scenario *scenario.Scenario
}

// Broken is a rule that some orders break.
type Broken struct {
	Rule     string
	Orders   *big.Int
	Standing *big.Int        // of them, those that break it only after standing still; nil is 0
	Stands   bool            // so do all that were tried
	Delays   int             // in the smallest
	Schedule []scenario.Move // the smallest that breaks it, as explore.Rule has it
}

// Breaks returns what breaks a rule, or nil.
func (c *Count) Breaks(rule string) *Broken {
	for i := range c.Rules {
		if c.Rules[i].Rule == rule {
			return &c.Rules[i]
		}
	}
	return nil
}

// Of is how many orders break a rule, 0 if none does.
func (c *Count) Of(rule string) *big.Int {
	if b := c.Breaks(rule); b != nil {
		return b.Orders
	}
	return new(big.Int)
}

// Example is the scenario with the smallest order that breaks one of its rules, or
// with none where none is broken.
func (c *Count) Example() *scenario.Scenario {
	if len(c.Rules) == 0 {
		return c.scenario
	}
	return c.scenario.WithSchedule(c.Rules[0].Schedule)
}

// sound reports whether no rule is broken in any order.
func (c *Count) sound() bool { return c.All && len(c.Rules) == 0 }

// OnlyStanding reports whether rules are broken, and only because a thread stood still
// longer than its lease: no lock can mend that.
func (c *Count) OnlyStanding() bool {
	return c.All && c.Broken.Sign() > 0 && c.Standing != nil && c.Broken.Cmp(c.Standing) == 0
}

// moving reports whether a rule is broken in some order in which no thread stood still
// longer than its lease.
func (c *Count) moving(rule string) bool {
	b := c.Breaks(rule)
	return b != nil && !b.Stands
}

// always reports whether each order breaks a rule.
func (c *Count) always() bool { return c.Broken.Cmp(c.Orders) == 0 }

// share is what part of the orders breaks one of some rules, those that break
// several counted several times; of any rule where none is named.
func (c *Count) share(rules ...string) float64 {
	if c.Orders.Sign() == 0 {
		return float64(len(c.Rules)) // nothing finished
	}
	broken := new(big.Int)
	if len(rules) == 0 {
		broken = c.Broken
	}
	for _, rule := range rules {
		broken = new(big.Int).Add(broken, c.Of(rule))
	}
	share, _ := new(big.Rat).SetFrac(broken, c.Orders).Float64()
	return share
}

// Verdict is what a change does, within the bounds.
type Verdict string

// The verdicts.
const (
	Mends    Verdict = "mends"     // no order breaks a rule, or only by standing still longer than the lease
	Protects Verdict = "protects"  // what the lock protects comes to no harm any more, though rules of the lock itself are broken as before
	UpTo     Verdict = "up-to"     // no order breaks a rule, or only by standing still, but with a longer pause some do; of a lease at best: none is long enough for all that can happen
	Unsure   Verdict = "unsure"    // none of the orders that were tried does, and not all were
	Partly   Verdict = "partly"    // some rule is no longer broken, or in clearly fewer orders, and none in more
	Nothing  Verdict = "no-better" // no better than without
)

// ranks put the better verdicts first. A change that only outlasts a pause is no
// better than one that helps a bit. Ties: fewest violations, whatever the pause.
var ranks = map[Verdict]int{Mends: 0, Protects: 1, Unsure: 2, UpTo: 3, Partly: 3, Nothing: 4}

// Cure is a change, and what comes of it.
type Cure struct {
	Change

	Verdict Verdict
	After   Count
	Asked   int      // delays of the report's bounds: After may have fewer
	Longer  *Longer  // of a change that turns on how long something takes, else nil
	Cured   []string // rules that are no longer broken, or only by standing still longer than the lease
	Gone    []string // of these, those that are broken no more
	Left    []string // rules that are broken as before
	New     []string // rules that are broken only with the change
}

// Longer is what comes of a change with a longer pause than the scenario has: the
// first of those tried that breaks a rule, or the last.
type Longer struct {
	Pause time.Duration
	Count
}

// Helped reports whether the change needs the help of what the lock protects.
func (c *Cure) Helped() bool { return c.Kind == Resource }

// Report is what was found. It is not safe for concurrent use while the search goes
// on, and does not change afterwards.
type Report struct {
	Scenario *scenario.Scenario // as it is, without moves
	Bounds   explore.Bounds     // of each search
	Before   Count
	Tried    int    // changes
	Changes  int    // that there are to try
	Cures    []Cure // the best first, and of the same verdict those that leave least, then the cheapest
	Stopped  bool   // not all changes were tried, or not to the end
	Narrowed int    // how many delays were asked for, where with so many there are too many states; else 0
}

// Broken reports whether there is something to mend.
func (r *Report) Broken() bool { return len(r.Before.Rules) > 0 }

// Best is the best change that leaves no rule broken, or none by which what the
// lock protects is harmed; nil where none does.
func (r *Report) Best() *Cure {
	if len(r.Cures) > 0 && (r.Cures[0].Verdict == Mends || r.Cures[0].Verdict == Protects) {
		return &r.Cures[0]
	}
	return nil
}

// Protected reports whether what the lock protects comes to no harm as it is, because it
// refuses what comes too late: then what is broken is the lock alone.
func (r *Report) Protected() bool {
	guarded := r.Scenario.Resource != nil && r.Scenario.Resource.Checks != ""
	return guarded && r.Broken() && r.Before.All && len(r.harm()) == 0
}

// NeedsResource reports whether no lock and no setting mends it, however many there
// are: what it protects must refuse what comes too late.
func (r *Report) NeedsResource() bool {
	if !r.Broken() || r.Stopped || r.Protected() || r.Before.Breaks(check.MutualExclusion) == nil {
		return false
	}
	if r.Before.OnlyStanding() || !r.Before.All {
		return r.Before.OnlyStanding() && (r.Best() == nil || r.Best().Verdict != Mends) // no lease protects from that
	}
	if !r.Before.moving(check.MutualExclusion) {
		return false
	}
	return !slices.ContainsFunc(r.Cures, func(c Cure) bool {
		unknown := (c.Kind == Lock || c.Kind == Script) && !c.After.All && c.After.Breaks(check.MutualExclusion) == nil
		return !c.Helped() && c.Verdict != UpTo && (unknown || c.Verdict == Mends || c.Verdict == Unsure || slices.Contains(c.Cured, check.MutualExclusion))
	})
}

// ByStanding reports whether the lock breaks in some order that it tried because a lease
// ends while its thread stands still, with a pause long enough for that.
func (r *Report) ByStanding() bool {
	b := r.Before.Breaks(check.MutualExclusion)
	if b == nil || r.Scenario.Lock.Implementation().Guard != protocol.InRedis {
		return false
	}
	return b.Standing != nil && b.Standing.Sign() > 0 || slices.ContainsFunc(r.Scenario.Faults, func(f scenario.Fault) bool { return f.Do == fault.Pause })
}

// Search tries the changes of sc, whose own moves say no more than BoundsOf, within
// the bounds. The same scenario, bounds and Narrow give the same Report, on any
// number of workers, unless ctx ends: then it is Stopped, with what was found, and no
// error. It fails like explore.Search, with a *panics.Error, or where a lock's own scripts
// work when they are called otherwise, with what to write.
func Search(ctx context.Context, sc *scenario.Scenario, b explore.Bounds, o Options) (*Report, error) {
	s := searcher{o: o}
	r := &Report{Scenario: sc.WithSchedule(nil), Bounds: b}
	if r.Bounds.MaxStates == 0 {
		r.Bounds.MaxStates = States
	}
	err := s.before(ctx, r)
	if err != nil {
		return nil, err
	}
	if lacks := r.Before.Judgement.Unjudged; len(lacks) > 0 && lacks[0].Reason == verdict.Arguments {
		return nil, phrase.Saying(lacks[0].Says)
	}
	if ctx.Err() != nil {
		r.Stopped = true
		return r, nil //nolint:nilerr // it was stopped, and that is no error
	}
	var changes []Change
	if r.Broken() {
		if changes, err = s.changes(ctx, sc); err != nil && ctx.Err() == nil {
			return nil, err
		}
	}
	r.Changes = len(changes)
	single := len(changes)
	s.found(r, nil)
	for i := 0; i < len(changes); i++ {
		cure, err := s.cure(ctx, r, changes[i])
		if ctx.Err() != nil {
			r.Stopped = true
			return r, nil //nolint:nilerr // it was stopped, and that is no error
		}
		if err != nil {
			return nil, err
		}
		r.Tried++
		r.Cures = append(r.Cures, *cure)
		slices.SortStableFunc(r.Cures, func(a, b Cure) int { return r.compare(&a, &b) })
		if r.Tried == single {
			for _, both := range []*Change{r.stopping(), r.both()} {
				if both != nil {
					changes, r.Changes = append(changes, *both), r.Changes+1
				}
			}
		}
		s.found(r, cure)
	}
	r.Stopped = ctx.Err() != nil
	return r, nil
}

// stopping is the best lock with a better script together with stopping when the lock is lost, if
// nothing cheaper than another lock mends it and two are inside; else nil.
func (r *Report) stopping() *Change {
	if best := r.Best(); best != nil && best.Verdict == Mends && best.Kind != Lock || !r.Before.moving(check.MutualExclusion) {
		return nil
	}
	for i := range r.Cures {
		if c := &r.Cures[i]; c.Kind == Script {
			return c.Change.stopping()
		}
	}
	return nil
}

// both is the best check of what the lock protects together with the best lock that
// breaks none of the rules that the check alone leaves; nil where it leaves none but that
// two are inside, where there is no such lock, and where one change mends it alone.
func (r *Report) both() *Change {
	helps := slices.IndexFunc(r.Cures, func(c Cure) bool {
		return c.Helped() && c.Scenario.Lock.Protocol == r.Scenario.Lock.Protocol
	})
	if best := r.Best(); helps < 0 || best != nil && best.Verdict == Mends {
		return nil
	}
	guard := &r.Cures[helps]
	left := slices.DeleteFunc(slices.Clone(guard.After.Rules), func(b Broken) bool { return b.Rule == check.MutualExclusion })
	if len(left) == 0 {
		return nil
	}
	for _, kind := range []Kind{Script, Lock} { // the cheaper first
		for i := range r.Cures {
			lock := &r.Cures[i]
			leaves := func(b Broken) bool { return lock.After.Breaks(b.Rule) != nil }
			if lock.Kind != kind || slices.ContainsFunc(left, leaves) {
				continue
			}
			if c := guard.Change.and(&lock.Change); c != nil {
				return c
			}
		}
	}
	return nil
}

// before searches the scenario as it is. To narrow the bounds it begins with no delay:
// what is too much with few is not tried with more.
func (s searcher) before(ctx context.Context, r *Report) (err error) {
	if !s.o.Narrow {
		r.Before, err = s.count(ctx, r.Scenario, r.Bounds)
		return err
	}
	within := r.Bounds
	within.MaxStates = min(within.MaxStates, asItIs)
	for within.Delays = 0; within.Delays <= r.Bounds.Delays; within.Delays++ {
		count, err := s.count(ctx, r.Scenario, within)
		switch {
		case err != nil:
			return err
		case !count.All && within.Delays > 0 && ctx.Err() == nil:
			r.Narrowed, r.Bounds.Delays = r.Bounds.Delays, within.Delays-1
			return nil
		}
		r.Before = count
		if !count.All {
			break
		}
	}
	if within.Delays < r.Bounds.Delays {
		r.Narrowed, r.Bounds.Delays = r.Bounds.Delays, within.Delays
	}
	return nil
}

// asItIs is how many states the scenario as it is has at most where the bounds are
// narrowed: some twenty changes are then tried in as many seconds on one processor.
const asItIs = 1_200

// searcher does the searches.
type searcher struct{ o Options }

func (s searcher) found(r *Report, c *Cure) {
	if s.o.Found != nil {
		s.o.Found(r, c)
	}
}

func (s searcher) changes(ctx context.Context, sc *scenario.Scenario) (list []Change, err error) {
	err = panics.Catch(func() (err error) {
		list, err = Changes(ctx, sc)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("mend: %w", err)
	}
	return list, nil
}

// count searches one scenario. Kinds of faults that its lock cannot have do not
// strike.
func (s searcher) count(ctx context.Context, sc *scenario.Scenario, b explore.Bounds) (Count, error) {
	if can := sc.StrikeKinds(); b.MaxFaults > 0 {
		b.Kinds = slices.DeleteFunc(slices.Clone(b.Kinds), func(kind string) bool { return !slices.Contains(can, kind) })
		if len(b.Kinds) == 0 {
			b.MaxFaults = 0
		}
	}
	if sc.Lock.Implementation().Parallel {
		b.MaxStates = max(b.MaxStates/4, 1)
	}
	var space *explore.Space
	err := panics.Catch(func() (err error) {
		space, err = explore.Search(ctx, sc, b, explore.Options{Workers: s.o.Workers, Progress: s.o.Searching})
		return err
	})
	if err != nil {
		return Count{}, fmt.Errorf("mend: %w", err)
	}
	c := Count{
		Orders: space.Schedules(), Broken: space.Broken(), Standing: space.ByStandingStill(), Delays: b.Delays,
		All: space.Ending() == explore.Exhausted, Why: space.Why(), Judgement: space.Judgement(nil), scenario: sc,
	}
	for _, r := range space.Rules() {
		c.Rules = append(c.Rules, Broken{r.Name, r.Schedules, r.ByStandingStill, r.Stands(), r.Delays, r.Schedule})
	}
	return c, nil
}

// within searches a change. If it has too many states, and the bounds are narrowed, it is
// searched with fewer delays, as long as these suffice for what the scenario breaks as it
// is.
func (s searcher) within(ctx context.Context, r *Report, sc *scenario.Scenario) (Count, error) {
	count, err := s.count(ctx, sc, r.Bounds)
	b := r.Bounds
	known := func(one Broken) bool { return count.moving(one.Rule) } // no fewer delays make it unknown
	for err == nil && !count.All && !slices.ContainsFunc(count.Rules, known) && s.o.Narrow && b.Delays > 0 && ctx.Err() == nil {
		b.Delays--
		if slices.ContainsFunc(r.Before.Rules, func(one Broken) bool { return r.Before.moving(one.Rule) && one.Delays > b.Delays }) {
			break
		}
		count, err = s.count(ctx, sc, b)
	}
	return count, err
}

// cure tries a change.
func (s searcher) cure(ctx context.Context, r *Report, change Change) (*Cure, error) {
	c := &Cure{Change: change, Asked: r.Bounds.Delays}
	var err error
	if c.After, err = s.within(ctx, r, change.Scenario); err != nil {
		return nil, err
	}
	for _, l := range change.longer {
		if c.Longer != nil && len(c.Longer.Rules) > 0 {
			break
		}
		c.Longer = &Longer{Pause: l.pause}
		if c.Longer.Count, err = s.count(ctx, l.scenario, r.Bounds); err != nil {
			return nil, err
		}
	}
	for _, b := range r.Before.Rules {
		if c.After.Breaks(b.Rule) != nil {
			c.Left = append(c.Left, b.Rule)
		} else {
			c.Gone = append(c.Gone, b.Rule)
		}
		if c.After.All && !c.After.moving(b.Rule) && (c.After.Breaks(b.Rule) == nil || r.Before.moving(b.Rule)) {
			c.Cured = append(c.Cured, b.Rule)
		}
	}
	for _, b := range c.After.Rules {
		if r.Before.Breaks(b.Rule) == nil {
			c.New = append(c.New, b.Rule)
		}
	}
	c.Verdict = r.verdict(c)
	return c, nil
}

// harm are the rules that are broken at the expense of what the lock protects: two
// inside at once may do none.
func (r *Report) harm() []string {
	var list []string
	for _, b := range r.Before.Rules {
		if check.Harms(b.Rule) {
			list = append(list, b.Rule)
		}
	}
	return list
}

// protects reports whether a change keeps what the lock protects from all harm, and makes
// nothing else worse.
func (r *Report) protects(c *Cure) bool {
	return c.Helped() && len(r.harm()) > 0 && c.After.All && !slices.ContainsFunc(c.After.Rules, func(b Broken) bool {
		return check.Harms(b.Rule) || r.Before.Breaks(b.Rule) == nil || c.After.share(b.Rule) > r.Before.share(b.Rule)/clearly
	})
}

func (r *Report) verdict(c *Cure) Verdict {
	settles := func(c *Count) bool { return c.sound() || c.OnlyStanding() && !c.always() && !r.Before.OnlyStanding() }
	switch {
	case settles(&c.After) && c.Kind != Lease && !c.chosen() && !c.apart() && (c.Longer == nil || settles(&c.Longer.Count)):
		return Mends
	case r.protects(c):
		return Protects
	case settles(&c.After):
		return UpTo
	case len(c.After.Rules) == 0:
		return Unsure
	case c.After.always():
		return Nothing
	case r.fewer(c) || r.cures(c):
		return Partly
	default:
		return Nothing
	}
}

// cures reports whether a change keeps some rule, and makes none clearly worse.
func (r *Report) cures(c *Cure) bool {
	return len(c.Cured) > 0 && !slices.ContainsFunc(c.After.Rules, func(b Broken) bool {
		return c.After.moving(b.Rule) && c.After.share(b.Rule) > r.Before.share(b.Rule)/clearly
	})
}

// clearly is by how much the part of the orders that break a rule must fall to mean
// something: a change makes other orders, and some more or fewer of them.
const clearly = 0.75

// fewer reports whether a clearly smaller part of the orders breaks a rule than before,
// or breaks one of them while none is broken in a clearly larger part. Of orders that
// were cut short nobody knows.
func (r *Report) fewer(c *Cure) bool {
	if !c.After.All || c.After.share() < r.Before.share()*clearly {
		return c.After.All
	}
	fewer := false
	for _, b := range append(slices.Clone(r.Before.Rules), c.After.Rules...) {
		before, after := r.Before.share(b.Rule), c.After.share(b.Rule)
		if after > before/clearly {
			return false
		}
		fewer = fewer || after < before*clearly
	}
	return fewer
}

// compare puts the better cure first.
func (r *Report) compare(a, b *Cure) int {
	worst := func(c *Cure, rules ...string) float64 {
		share := c.After.share(rules...)
		if c.Longer != nil {
			share = max(share, c.Longer.share(rules...))
		}
		return share
	}
	harm := func(c *Cure) float64 {
		if rules := r.harm(); len(rules) > 0 {
			return worst(c, rules...)
		}
		return 0
	}
	left := cmp.Or(cmp.Compare(harm(a), harm(b)), cmp.Compare(worst(a), worst(b)))
	if a.Verdict == Mends && b.Verdict == Mends { // only standing still is left
		left = cmp.Compare(len(a.New), len(b.New))
	}
	return cmp.Or(
		cmp.Compare(ranks[a.Verdict], ranks[b.Verdict]), left,
		cmp.Compare(a.Lacks, b.Lacks),
		cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(a.place, b.place),
	)
}
