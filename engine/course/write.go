package course

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"relock/engine/explore"
	"relock/engine/outside/box"
	"relock/engine/outside/ownlock"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// writeKind are scripts of a lock that the learner writes.
var writeKind = kind{name: Write, minutes: 3, mended: true, task: func() task { return new(Writing) }}

// Writing is a script that the learner has to write.
type Writing struct {
	Call     string // whose it is: "unlock"
	Start    string // what it begins with
	Solution string // a right one that sends as few commands as are needed
	Bundled  string // what the bundled lock has
	Par      int    // the most commands that the solution sends in one go

	item    *Item
	bundled *scenario.Scenario // the same with the bundled lock
	held    wanted
	fails   *Run // what comes of Start; nil until that is known
}

func (t *Writing) read(r *itemReader) {
	t.item = r.i
	if err := t.begin(); err != nil {
		r.at(0, "%s", err)
	} else if r.y.Solution.Kind != 0 {
		if err := decode(&r.y.Solution, &t.Solution); err != nil {
			r.at(r.y.Solution.Line, "%s: %s", "solution", err)
		}
	}
	r.search(!r.i.goal.Zero())
	r.lacks(!r.i.searches(), "within")
	r.lacks(len(r.y.Options) > 0, "no options")
}

// begin reads which script the learner writes: the only own script of the lock in the
// item's run. The others are those of the lock that it is like.
func (t *Writing) begin() error {
	lock := t.item.Scenario.Lock
	calls := lock.Scripts.Calls()
	if !lock.Own() || lock.Like == "" || len(calls) != 1 {
		return phrase.New("the lock is one of its own, like: a bundled one, with one script to begin with")
	}
	t.Call = calls[0]
	var err error
	t.bundled, err = t.item.Scenario.Change(map[string]any{"lock": map[string]any{"protocol": lock.Like, "like": nil, "scripts": nil, "args": nil, "keys": nil, "replies": nil, "release": nil}})
	if err != nil {
		return fmt.Errorf("%w", err)
	}
	t.Start, t.Bundled = scriptOf(t.item.Scenario, t.Call), code(scriptOf(t.bundled, t.Call))
	if t.Bundled == "" {
		return phrase.New("the lock %s has no script %s", lock.Like, calls[0])
	}
	return nil
}

// scriptOf is the script of a call, "" where it has none.
func scriptOf(sc *scenario.Scenario, call string) string {
	for _, s := range sc.Lock.Implementation().Scripts {
		if s.Call == call {
			return s.Source
		}
	}
	return ""
}

// wanted is what a lock is held to: what the bundled one comes to within the item's
// bounds.
type wanted struct {
	rules []string       // that some order breaks all the same
	ends  []explore.End  // of its orders
	plain []trace.Result // how each thread ends where nothing is late or fails
	times []trace.Millis // and when
	token bool           // every holder has a fencing token
}

// boxed returns a context in which the course's own scripts run, and a function
// that ends their box. If the kernel lacks a wall, they run without it: the author wrote
// the course, and learners' scripts have another box.
func boxed(ctx context.Context) (in context.Context, end func(), err error) {
	b, err := box.New(box.Options{Children: 1})
	if errors.Is(err, box.ErrUnavailable) {
		b, err = box.New(box.Options{Children: 1, Unwalled: true})
	}
	if err != nil {
		return nil, nil, fmt.Errorf("course: %w", err)
	}
	return ownlock.WithBox(ctx, b), func() { _ = b.Close() }, nil
}

func (t *Writing) make(ctx context.Context, i *Item, m *Made) error {
	space, err := t.orders(ctx, t.bundled)
	if err != nil {
		return i.wrong(0, "%s", err)
	}
	for _, r := range space.Rules() {
		t.held.rules = append(t.held.rules, r.Name)
	}
	t.held.ends = space.Ends()
	if i.goal.rule != "" && slices.Contains(t.held.rules, i.goal.rule) {
		return i.wrong(0, "goal: the lock %s breaks %s, too", t.bundled.Lock.Protocol, i.goal.rule)
	}
	plain, err := play(ctx, t.bundled)
	if err != nil {
		return i.wrong(0, "%s", err)
	}
	t.held.plain, t.held.times = endsOf(plain)
	t.held.token = tokenless(plain) == ""
	t.Solution = cmp.Or(t.Solution, t.Bundled)
	solved, err := t.Judge(ctx, t.Solution)
	switch {
	case err != nil:
		return i.wrong(0, "%s: %s", "solution", err)
	case !solved.Solved:
		return i.wrong(0, "solution: it is not right: %s", solved.says())
	case solved.Commands == 0:
		return i.wrong(0, "nobody calls the script %s", t.Call)
	}
	t.Par = solved.Commands
	start, err := t.Judge(ctx, t.Start)
	switch {
	case err != nil:
		return i.wrong(0, "%s", err)
	case start.Solved:
		return i.wrong(0, "there is nothing to write: the script that it begins with is right")
	case start.Run == nil || start.Rule != i.goal.rule:
		return i.wrong(0, "goal: the script that it begins with does not come to %q: %s", i.goal, start.says())
	}
	m.Solved, t.fails = start.Run, start.Run
	return nil
}

// Commands are the commands that the solution sends, each once, in its order.
func (t *Writing) Commands() []string {
	var out []string
	for _, found := range commandIn.FindAllStringSubmatch(t.Solution, -1) {
		if !slices.Contains(out, found[1]) {
			out = append(out, found[1])
		}
	}
	return out
}

var commandIn = regexp.MustCompile(`redis\.p?call\('(\w+)'`)

// code is a script without what its first comment says of it.
func code(source string) string {
	lines := strings.SplitAfter(source, "\n")
	for len(lines) > 1 && strings.HasPrefix(lines[0], "--") {
		lines = lines[1:]
	}
	return strings.Join(lines, "")
}

// Judged is what came of a script that somebody has written: it is right, or one
// of Refused, Rule, Endless, Tokenless and Thread says what is wrong.
type Judged struct {
	Solved  bool
	Refused error // why it is no lock's script: it speaks
	Line    int   // of the script that is refused, from 1; 0 where it is not known

	Rule      string // that some order breaks
	Found     *Found // of that rule
	Endless   bool   // some order does not come to an end
	Tokenless string // a thread that gets in without a fencing token, where the bundled lock gives one

	Thread       string       // that ends otherwise than with the bundled lock, or later
	Ends, Wanted trace.Result // how it does, and is to
	Late, InTime trace.Millis // where nothing is late and it ends too late: when it does, and is to; or 0

	Run      *Run     // where it goes wrong; of what is right, the moves with which what it begins with goes wrong; nil where there is none
	Commands int      // the most that one run of the script has sent
	All      *big.Int // orders that were searched
	Left     []string // rules that some order breaks still, of those that the bundled lock breaks, too
}

// Judge judges a script by every order of the item's run within its bounds: none may
// break a rule that the bundled lock keeps, each thread must end as with that, and
// where nothing is late no later. The script runs in ctx's box. It fails with
// ownlock.ErrNoBox, or like explore.Search.
func (t *Writing) Judge(ctx context.Context, script string) (*Judged, error) {
	sc, err := t.With(script)
	if err != nil {
		return &Judged{Refused: err}, nil //nolint:nilerr // that is what is judged
	}
	return t.judged(ctx, sc)
}

// With returns the item's scenario with a script instead of the one that it begins with.
// It fails for a text that is no script.
func (t *Writing) With(script string) (*scenario.Scenario, error) {
	sc, err := t.item.Scenario.Change(map[string]any{"lock": map[string]any{"scripts": map[string]any{t.Call: strings.ReplaceAll(script, "\r\n", "\n")}}})
	if err != nil {
		return nil, phrase.New("a script has 1 to %d bytes of Lua, without control characters", scenario.MaxScript) // nothing else of it was changed
	}
	return sc, nil
}

// String says in short what came of it.
func (j *Judged) String() string { return j.says().String() }

// says is String in any language.
func (j *Judged) says() phrase.Wording {
	switch {
	case j.Solved:
		return phrase.Say("right, with %d commands", j.Commands)
	case j.Refused != nil:
		return phrase.Wording{Args: []any{j.Refused}}
	case j.Rule != "":
		return phrase.Say("%s of %s orders break %s", j.Found.Broken.String(), j.All.String(), j.Rule)
	case j.Endless:
		return phrase.Say("some order has no end")
	case j.Tokenless != "":
		return phrase.Say("%s has no token", j.Tokenless)
	default:
		return phrase.Say("%s: %s at %s, not %s at %s", j.Thread, string(j.Ends), j.Late.Duration(), string(j.Wanted), j.InTime.Duration())
	}
}

// MaxWritten is how many states are searched to judge a script: some ten times what
// a lock has that works.
const MaxWritten = 10_000

// orders searches all orders of a scenario within the item's bounds.
func (t *Writing) orders(ctx context.Context, sc *scenario.Scenario) (*explore.Space, error) {
	within := t.item.within
	within.MaxStates = MaxWritten
	space, err := explore.Search(ctx, sc, within, explore.Options{Workers: 1})
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	if space.Ending() == explore.Stopped {
		return nil, phrase.New("not every order could be seen: %s", context.Cause(ctx))
	}
	return space, nil
}

func (t *Writing) judged(ctx context.Context, sc *scenario.Scenario) (*Judged, error) {
	j := &Judged{}
	space, err := t.orders(ctx, sc)
	var mistake *ownlock.Mistake
	switch {
	case errors.As(err, &mistake):
		j.Refused, j.Line = mistake, mistake.Line
		return j, nil
	case err != nil:
		return nil, err
	}
	j.Commands, j.All = space.Most(t.Call), space.Schedules()
	for _, r := range space.Rules() {
		if slices.Contains(t.held.rules, r.Name) {
			j.Left = append(j.Left, r.Name)
		}
	}
	rules := slices.DeleteFunc(slices.Clone(space.Rules()), func(r explore.Rule) bool { return slices.Contains(t.held.rules, r.Name) })
	if at := slices.IndexFunc(rules, func(r explore.Rule) bool { return r.Name == t.item.goal.rule }); at > 0 {
		rules[0] = rules[at]
	}
	if len(rules) > 0 {
		r := rules[0]
		j.Rule = r.Name
		j.Found = &Found{Schedule: r.Schedule, All: j.All, Broken: r.Schedules, Standing: r.ByStandingStill, Cost: r.Least, Within: t.item.within}
		j.Run, err = play(ctx, sc.WithSchedule(r.Schedule))
		return j, err
	}
	if space.Ending() != explore.Exhausted {
		j.Endless = true
		return j, nil
	}
	plain, err := play(ctx, sc)
	if err != nil {
		return nil, err
	}
	j.Run = plain
	if j.Tokenless = tokenless(plain); !t.held.token {
		j.Tokenless = ""
	}
	if j.Tokenless != "" {
		return j, nil
	}
	results, times := endsOf(plain)
	for n := range results {
		if results[n] != t.held.plain[n] || times[n] > t.held.times[n] {
			j.Thread, j.Ends, j.Wanted = sc.Threads[n].Name, results[n], t.held.plain[n]
			j.Late, j.InTime = times[n], t.held.times[n]
			return j, nil
		}
	}
	if other, err := t.endsOtherwise(ctx, sc, space, j); other || err != nil {
		return j, err
	}
	j.Solved = true
	if t.fails != nil { // its moves, if this script has them, too
		if again, err := play(ctx, sc.WithSchedule(t.fails.Scenario.Schedule)); err == nil {
			j.Run = again
		}
	}
	return j, nil
}

// endsOtherwise notes in j the first order in which the threads end as they never may, if
// there is one.
func (t *Writing) endsOtherwise(ctx context.Context, sc *scenario.Scenario, space *explore.Space, j *Judged) (bool, error) {
	for _, e := range space.Ends() {
		if slices.ContainsFunc(t.held.ends, func(w explore.End) bool { return slices.Equal(w.Results, e.Results) }) {
			continue
		}
		moves, err := space.Moves(ctx, e)
		if err != nil {
			return false, fmt.Errorf("course: %w", err)
		}
		for n, r := range e.Results {
			if r != t.held.plain[n] {
				j.Thread, j.Ends, j.Wanted = sc.Threads[n].Name, r, t.held.plain[n]
			}
		}
		j.Run, err = play(ctx, sc.WithSchedule(moves))
		return true, err
	}
	return false, nil
}

// tokenless is a thread that gets in without a fencing token, or "".
func tokenless(run *Run) string {
	for _, e := range run.Events {
		if o, ok := e.Body.(trace.Outcome); ok && o.Result == trace.Acquired && o.Token == 0 {
			return e.Thread
		}
	}
	return ""
}

// endsOf is how each thread of a run ends, in the scenario's order, and when.
func endsOf(run *Run) ([]trace.Result, []trace.Millis) {
	results, times := make([]trace.Result, len(run.Scenario.Threads)), make([]trace.Millis, len(run.Scenario.Threads))
	for n, t := range run.Scenario.Threads {
		for _, e := range run.Events {
			if end, ok := e.Body.(trace.End); ok && e.Thread == t.Name {
				results[n], times[n] = end.Result, e.At
			}
		}
	}
	return results, times
}
