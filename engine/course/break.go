package course

import (
	"context"
	"fmt"
	"slices"
	"time"

	"relock/engine"
	"relock/engine/explore"
	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/scenario"

	"go.yaml.in/yaml/v3"
)

// breakKind are runs that the learner schedules until a goal is reached.
var breakKind = kind{name: Break, needs: []string{"goal"}, minutes: 3, task: func() task { return new(Breaking) }, stray: new(Breaking).controls}

type breakYAML struct {
	Controls []placed `yaml:"controls"`
}

// Breaking is a run to be broken, and the smallest way to break it.
type Breaking struct {
	Item     *Item
	Controls []string // beside the threads' steps: "time", and names of faults
	Par      int      // the delays and faults of the solution
	Proven   bool     // no fewer are enough
	Steps    []scenario.Move

	solution []scenario.Move // as it was read
	presses  []Press
	decisive int // of these the first that the scheduler would not have made by itself
}

func (t *Breaking) controls(r *itemReader) {
	for _, p := range r.y.Controls {
		if p.Text != "time" && !isFault(p.Text) {
			r.at(p.Line, "controls: given %q, allowed: time, and faults such as %s", p.Text, fault.Pause)
		}
		t.Controls = append(t.Controls, p.Text)
	}
}

func (t *Breaking) read(r *itemReader) {
	t.Item = r.i
	t.controls(r)
	if r.y.Solution.Kind == 0 {
		r.search(true)
		r.lacks(!r.i.searches(), "within, or a solution")
		return
	}
	var err error
	if t.solution, err = moves(r.i.Scenario, &r.y.Solution); err != nil {
		r.at(r.y.Solution.Line, "%s: %s", "solution", err)
	}
	r.lacks(len(t.solution) == 0 && !r.i.searches(), "within, or a solution")
}

func (t *Breaking) make(ctx context.Context, i *Item, m *Made) error {
	if _, ok := i.goal.find(m.Run.Events); ok {
		return i.wrong(0, "goal: the run comes to %q by itself", i.goal)
	}
	solution, cost := t.solution, -1
	if len(solution) == 0 {
		found, err := i.search(ctx, i.Scenario, nil)
		if err != nil {
			return i.wrong(0, "%s", err)
		}
		if solution, cost = found.Schedule, found.Cost; solution == nil {
			return i.wrong(0, "no schedule within the bounds comes to %q", i.goal)
		}
		t.Proven = true
	}
	hand, err := byHand(ctx, i.Scenario, solution)
	if err != nil {
		return i.wrong(0, "%s: %s", "solution", err)
	}
	solution = hand.b.Moves
	v, run, err := reached(ctx, i.Scenario, solution, i.goal)
	if err != nil {
		return i.wrong(0, "%s: %s", "solution", err)
	}
	if !v.Met {
		return i.wrong(0, "solution: it does not come to %q", i.goal)
	}
	if v.Moves < len(solution) {
		return i.wrong(0, "solution: %q is reached after %d moves already", i.goal, v.Moves)
	}
	if cost >= 0 && v.Own != cost {
		return i.wrong(0, "the solution takes %d delays and faults, and the search found %d", v.Own, cost)
	}
	m.Solved, t.Par, t.Steps, t.presses, t.decisive = run, v.Own, solution, hand.list, max(hand.first, 0)
	return nil
}

// Verdict is what a learner's moves came to.
type Verdict struct {
	Met    bool `json:"met"`
	Moves  int  `json:"moves"`  // made until then; those that were made where it is not met
	Own    int  `json:"own"`    // delays among them, as [explore] counts them, and faults
	Par    int  `json:"par"`    // how few of these are enough
	Proven bool `json:"proven"` // and fewer are not
	Over   bool `json:"over"`   // the run has ended

	Scene Scene `json:"-"` // after all moves
}

// ErrNotBroken is the error for an item that asks nobody to break anything.
var ErrNotBroken = phrase.New("this item has no steps")

// Judge tells whether moves reach the goal. It fails like engine.Paths.Path.
func (t *Breaking) Judge(ctx context.Context, list []scenario.Move) (Verdict, error) {
	v, _, err := reached(ctx, t.Item.Scenario, list, t.Item.goal)
	v.Par, v.Proven = t.Par, t.Proven
	return v, err
}

// Breaks tells whether the moves of sc's schedule break a rule.
func Breaks(ctx context.Context, sc *scenario.Scenario, rule string) (Verdict, error) {
	goal, err := parseMoment("broken "+rule, sc)
	if err != nil {
		return Verdict{}, ErrNothingToBreak
	}
	v, _, err := reached(ctx, sc, sc.Schedule, goal)
	return v, err
}

// reached plays moves: what they came to, and the run.
func reached(ctx context.Context, sc *scenario.Scenario, list []scenario.Move, goal Moment) (Verdict, *Run, error) {
	b, err := engine.PathOf(ctx, sc.WithSchedule(list))
	if err != nil {
		return Verdict{}, nil, fmt.Errorf("course: %w", err)
	}
	run := &Run{Scenario: sc.WithSchedule(list), Header: b.Header, Events: b.Events}
	at, ok := goal.find(b.Events)
	n := len(list)
	if ok {
		seq := b.Events[at].Seq
		n = slices.IndexFunc(b.Positions, func(p engine.Position) bool { return p.Seq >= seq })
	}
	own, err := spent(ctx, sc, list[:n])
	if err != nil {
		return Verdict{}, nil, err
	}
	return Verdict{Met: ok, Moves: n, Own: own, Over: b.End().Over, Scene: SceneOf(run, len(run.Events))}, run, nil
}

// spent counts the delays and faults of moves. Time that passes over several
// events at once, or where nobody could move, costs what it would have cost event
// by event.
func spent(ctx context.Context, sc *scenario.Scenario, list []scenario.Move) (int, error) {
	p := engine.NewPaths(sc)
	defer p.Close()
	b, err := p.Path(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("course: %w", err)
	}
	n := 0
	for _, m := range list {
		for done := false; !done; {
			here, one := b.End(), m
			done = m.Until == 0 || here.Next == 0 || here.Next >= m.Until
			if !done {
				one.Until = here.Next
			}
			if m.Fault != nil || m.Until > 0 && here.Movable() {
				n++
			}
			if b, err = p.Try(ctx, b.Moves, engine.Wish{Move: &one}); err != nil {
				return 0, fmt.Errorf("course: %w", err)
			}
		}
	}
	return n, nil
}

// Solution has the presses that solve it, and which of them is the first that the
// scheduler would not have made by itself.
func (t *Breaking) Solution() (list []Press, first int) { return t.presses, t.decisive }

// scene is where the solution has reached the goal.
func (t *Breaking) scene(i *Item, m *Made) (Scene, bool) {
	n, ok := i.goal.stand(m.Solved.Events)
	return SceneOf(m.Solved, n), ok
}

// Bounds of the search for something to break.
const (
	madeDelays = 2
	madeStates = 60_000
	madeTime   = 5 * time.Second
)

// BreakOf makes something to break from a scenario, whose goal is to break a rule: the one that
// takes least. It fails with ErrNothingToBreak, with ErrNothingFound where a search was
// cut short, or with ErrBreaksByItself where the run needs nobody to break what there is
// to break.
func BreakOf(ctx context.Context, sc *scenario.Scenario) (*Breaking, error) {
	ctx, cancel := context.WithTimeout(ctx, madeTime)
	defer cancel()
	bare := sc.WithSchedule(nil)
	run, err := play(ctx, bare)
	if err != nil {
		return nil, err
	}
	var kinds []string
	for _, kind := range []string{"pause", "crash"} {
		if slices.Contains(bare.StrikeKinds(), kind) {
			kinds = append(kinds, kind)
		}
	}
	alone, cut := false, false
	for _, within := range []explore.Bounds{{Delays: madeDelays, MaxStates: madeStates}, {Kinds: kinds, MaxFaults: 1, MaxStates: madeStates}} {
		if within.MaxFaults > 0 && len(kinds) == 0 {
			continue
		}
		space, err := explore.Search(ctx, bare, within, explore.Options{Workers: 1})
		if err != nil {
			return nil, fmt.Errorf("course: %w", err)
		}
		cut = cut || space.Ending() != explore.Exhausted
		for _, r := range space.Rules() {
			goal, err := parseMoment("broken "+r.Name, bare)
			if err != nil || r.Schedule == nil {
				continue
			}
			if _, already := goal.find(run.Events); already {
				alone = true
				continue
			}
			t := &Breaking{Controls: append([]string{"time"}, within.Kinds...), solution: r.Schedule}
			t.Item = &Item{
				Chapter: &Chapter{dir: "made"}, ID: "break-it", Kind: Break, Scenario: bare,
				goal: goal, within: within, at: Moment{text: "start", edge: "start"}, task: t,
			}
			if _, err := t.Item.Made(); err == nil {
				return t, nil
			}
		}
	}
	switch {
	case alone:
		return nil, ErrBreaksByItself
	case cut:
		return nil, ErrNothingFound
	default:
		return nil, ErrNothingToBreak
	}
}

// YAML is a made break as an item of a chapter.
func (t *Breaking) YAML() (string, error) {
	i := t.Item
	text, err := raw(i.Scenario)
	if err != nil {
		return "", err
	}
	var run any
	if err := yaml.Unmarshal(text, &run); err != nil {
		return "", fmt.Errorf("course: %w", err)
	}
	within := map[string]any{}
	if i.within.Delays > 0 {
		within["delays"] = i.within.Delays
	}
	if i.within.MaxFaults > 0 {
		within["faults"], within["max-faults"] = i.within.Kinds, i.within.MaxFaults
	}
	return listed(struct {
		ID       string         `yaml:"id"`
		Kind     Kind           `yaml:"kind"`
		Run      any            `yaml:"run"`
		Goal     string         `yaml:"goal"`
		Controls []string       `yaml:"controls,flow"`
		Within   map[string]any `yaml:"within,flow"`
	}{i.ID, Break, run, i.goal.text, t.Controls, within})
}
