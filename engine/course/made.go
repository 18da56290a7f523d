package course

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"relock/engine"
	"relock/engine/explore"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/trial"
)

// Run is a scenario that was played on the virtual clock, or what a lab recorded.
type Run struct {
	Scenario *scenario.Scenario
	Header   trace.Header
	Events   []trace.Event
	Lab      *Lab // what the lab found, or nil
}

// play plays a scenario to the end.
func play(ctx context.Context, sc *scenario.Scenario) (*Run, error) {
	r, err := engine.Start(ctx, sc, engine.Options{})
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	if err := r.Wait(); err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	events, _ := r.Log().Since(0)
	return &Run{Scenario: r.Scenario(), Header: r.Header(), Events: events}, nil
}

// play is the item's run.
func (i *Item) play(ctx context.Context) (*Run, error) {
	if i.lab != nil {
		return i.lab, nil
	}
	return play(ctx, i.Scenario)
}

// play is the option's run.
func (o *Option) play(ctx context.Context) (*Run, error) {
	if o.lab != nil {
		return o.lab, nil
	}
	return play(ctx, o.Scenario)
}

// atWork plays the run in which an option is seen to help, or its own if it names none.
func (o *Option) atWork(ctx context.Context) (*Run, error) {
	if o.helped != nil {
		return play(ctx, o.helped)
	}
	return o.play(ctx)
}

// Made is what was computed of an item. It is not changed any more.
type Made struct {
	Run     *Run
	Stand   int       // how many of its events are seen before an answer
	Answers []*Answer // as they are shown
	Pieces  []Piece   // of order: those of the lock's script, in their order, then the strays
	Solved  *Run      // of break: the solution played; of order: the script at work; of write: what comes of the first script
	Par     int       // of break: the delays and faults of the solution; of mend: the events of Solved; of write: the most commands that the solution sends in one go
	Proven  bool      // of break: no fewer are enough
	Script  Script    // of write
	Review  *Review   // of review
	Steps   []scenario.Move

	Diagnosis *Diagnosis // of diagnose
	Ranking   *Ranking   // of rank

	presses  []Press         // of break
	decisive int             // of these the first that the scheduler would not have made by itself
	wanted   []trial.Outcome // of order: what the lock's script does in each case
	held     wanted          // of write
}

// Answer is one answer of an item, and the run in which it is true.
type Answer struct {
	Option *Option // nil for what happens in the item's own run
	Right  bool
	Says   []phrase.Wording // of predict: what is seen, as clauses
	Run    *Run
	Shown  int    // of its events, where it is seen
	Found  *Found // of mend: what was searched

	Parts *Parting // of diagnose: where its logs begin to differ from the incident's; nil if they never do

	Because phrase.Wording // of a question made of a run: what was changed, a clause
}

// Made computes what an item needs, once. It fails with Mistakes for what the
// item says and its runs do not do. It is safe for concurrent use.
func (i *Item) Made() (*Made, error) {
	i.once.Do(func() {
		i.made, i.err = i.make(context.Background()) // others wait for it
	})
	return i.made, i.err
}

// wrong is a mistake in chapter.yaml.
func (i *Item) wrong(line int, text phrase.Text, args ...any) error {
	return Mistakes{wrongIn(i.Chapter.dir+"/chapter.yaml", cmpLine(line, i.line), about(i.ID, text, args...))}
}

func (i *Item) make(ctx context.Context) (*Made, error) {
	if i.Kind == Write {
		in, end, err := boxed(ctx)
		if err != nil {
			return nil, i.wrong(0, "%s", err)
		}
		defer end()
		ctx = in
	}
	run, err := i.play(ctx)
	if err != nil {
		return nil, i.wrong(0, "%s", err)
	}
	m := &Made{Run: run}
	var ok bool
	if m.Stand, ok = i.at.stand(run.Events); !ok {
		return nil, i.wrong(0, "at: the run never comes to %q", i.at)
	}
	switch i.Kind {
	case Predict:
		err = i.makePredict(ctx, m)
	case Why:
		err = i.makeWhy(ctx, m)
	case Rank:
		err = i.makeRank(ctx, m)
	case Break:
		err = i.makeBreak(ctx, m)
	case Mend:
		err = i.makeMend(ctx, m)
	case Arrange:
		err = i.makeArrange(ctx, m)
	case Write:
		err = i.makeWrite(ctx, m)
	case ReviewCode:
		err = i.makeReview(ctx, m)
	case Diagnose:
		err = i.makeDiagnose(ctx, m)
	case Read:
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// joined are clauses as one.
func joined(says []phrase.Wording) phrase.Wording {
	var one phrase.Wording
	for i, s := range says {
		if i > 0 {
			one.Args = append(one.Args, phrase.Say("; "))
		}
		one.Args = append(one.Args, s)
	}
	return one
}

// spoken are clauses as we tell them apart: by their English.
func spoken(says []phrase.Wording) string { return joined(says).String() }

func (i *Item) makePredict(ctx context.Context, m *Made) error {
	at, ok := i.until.find(m.Run.Events)
	if !ok {
		return i.wrong(0, "until: the run never comes to %q", i.until)
	}
	if at < m.Stand {
		return i.wrong(0, "until: %q is seen already where the stage stands", i.until)
	}
	shown := stepEnd(m.Run.Events, at)
	instant := m.Run.Events[at].At
	own := &Answer{Right: true, Says: see(i.ask, m.Run, shown, instant), Run: m.Run, Shown: shown}
	seen := map[string]phrase.Wording{spoken(own.Says): phrase.Say("what happens here")}
	list := make([]*Option, 0, len(i.Options)+1)
	answers := map[*Option]*Answer{}
	for _, o := range i.Options {
		run, err := o.play(ctx)
		if err != nil {
			return i.wrong(o.line, "option %s: %s", o.ID, err)
		}
		a := &Answer{Option: o, Run: run}
		if o.until.Zero() {
			a.Shown = until(run.Events, instant)
		} else if a.Shown, ok = o.until.stand(run.Events); !ok {
			return i.wrong(o.line, "option %s: the run never comes to %q", o.ID, o.until)
		}
		seenAt := instant
		if !o.until.Zero() && a.Shown > 0 {
			seenAt = run.Events[a.Shown-1].At
		}
		a.Says = see(i.ask, run, a.Shown, seenAt)
		if other, twice := seen[spoken(a.Says)]; twice {
			return i.wrong(o.line, "option %s: \"%s\" is %s", o.ID, joined(a.Says), other)
		}
		seen[spoken(a.Says)] = phrase.Say("option %s", o.ID)
		answers[o], list = a, append(list, o)
	}
	// The right answer is put among the others as one of them.
	here := &Option{ID: "here"}
	answers[here] = own
	list = append(list, here)
	shuffle(i.ID, list)
	for _, o := range list {
		m.Answers = append(m.Answers, answers[o])
	}
	return nil
}

// until is how many events there are when an instant is over.
func until(events []trace.Event, at trace.Millis) int {
	n := 0
	for n < len(events) && events[n].At <= at {
		n++
	}
	return n
}

func (i *Item) makeWhy(ctx context.Context, m *Made) error {
	if _, ok := i.goal.find(m.Run.Events); !ok {
		return i.wrong(0, "goal: the run never comes to %q", i.goal)
	}
	var right []string
	for _, o := range i.Options { // none of them is the last
		run, err := o.play(ctx)
		if err != nil {
			return i.wrong(o.line, "option %s: %s", o.ID, err)
		}
		if err := i.helped(ctx, o); err != nil {
			return err
		}
		a := &Answer{Option: o, Run: run, Shown: len(run.Events)}
		if n, ok := i.goal.stand(run.Events); ok && (!o.None || len(right) > 0) {
			a.Shown = n
		} else if o.lab != nil && o.lab.Lab.Breaks(i.goal.rule).Sign() > 0 {
			return i.wrong(o.line, "option %s: other orders that the lab has tried come to %q", o.ID, i.goal)
		} else {
			a.Right = true
			right = append(right, o.ID)
		}
		m.Answers = append(m.Answers, a)
	}
	if len(right) != 1 {
		return i.wrong(0, "exactly one option is to prevent %q; these do: %s", i.goal, strings.Join(right, ", "))
	}
	return nil
}

// helped fails unless an option mends the run that its helps: names.
func (i *Item) helped(ctx context.Context, o *Option) error {
	for _, one := range []struct {
		sc    *scenario.Scenario
		comes bool
		but   phrase.Text
	}{{o.elsewhere, true, "the run does not come to %q without it"}, {o.helped, false, "the run comes to %q all the same"}} {
		if one.sc == nil {
			continue
		}
		run, err := play(ctx, one.sc)
		if err != nil {
			return i.wrong(o.line, "option %s: %s: %s", o.ID, "helps", err)
		}
		if _, comes := i.goal.find(run.Events); comes != one.comes {
			return i.wrong(o.line, "option %s: %s: %s", o.ID, "helps", phrase.Say(one.but, i.goal))
		}
	}
	return nil
}

// Found is what a search of every schedule within an item's bounds has found.
type Found struct {
	Schedule []scenario.Move // the smallest that breaks the item's rule, nil where none does
	All      *big.Int        // schedules
	Broken   *big.Int        // of them, those that break the rule
	Standing *big.Int        // of these, those that break it only because a thread stood still longer than its lease
	Cost     int             // delays and faults of the smallest of all
	Within   explore.Bounds
}

// None reports whether no schedule breaks the rule.
func (f *Found) None() bool { return f.Broken.Sign() == 0 }

// breaks is the run in which the item's rule is broken: that of the schedule that was
// found, or what the lab kept.
func (i *Item) breaks(ctx context.Context, sc *scenario.Scenario, found *Found, lab *Run) (*Run, error) {
	if lab != nil {
		if _, ok := i.goal.find(lab.Events); !ok {
			return nil, phrase.New("what is kept of the lab %s does not come to %q", lab.Lab.Name, i.goal)
		}
		return lab, nil
	}
	v, run, err := i.verdict(ctx, sc, found.Schedule)
	if err == nil && !v.Met {
		err = phrase.New("the schedule that was found does not come to %q", i.goal)
	}
	return run, err
}

// search searches for the schedules of sc that break the item's rule; a lab has.
func (i *Item) search(ctx context.Context, sc *scenario.Scenario, lab *Run) (*Found, error) {
	if lab != nil {
		return lab.Lab.found(i.goal.rule), nil
	}
	within := i.within
	can := sc.StrikeKinds()
	// A fault that cannot happen to this lock is no danger to it.
	within.Kinds = slices.DeleteFunc(slices.Clone(within.Kinds), func(kind string) bool { return !slices.Contains(can, kind) })
	if len(within.Kinds) == 0 {
		within.MaxFaults = 0
	}
	key, err := searchKey(sc, i.goal.rule, within)
	if err != nil {
		return nil, err
	}
	if known, ok := i.kept[key]; ok {
		return known.found(sc, i.within)
	}
	space, err := explore.Search(ctx, sc, within, explore.Options{Workers: 1})
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	if space.Ending() != explore.Exhausted {
		return nil, phrase.New("not every schedule could be seen (%s): choose smaller bounds", space.Why())
	}
	found := &Found{All: space.Schedules(), Broken: big.NewInt(0), Standing: big.NewInt(0), Within: i.within}
	for _, r := range space.Rules() {
		if r.Name == i.goal.rule {
			found.Schedule, found.Broken, found.Standing, found.Cost = r.Schedule, r.Schedules, r.ByStandingStill, r.Least
		}
	}
	if i.searched == nil {
		i.searched = map[string]keptFound{}
	}
	i.searched[key], err = keep(found)
	return found, err
}

func (i *Item) makeMend(ctx context.Context, m *Made) error {
	broken, err := i.search(ctx, i.Scenario, i.lab)
	if err != nil {
		return i.wrong(0, "%s", err)
	}
	if broken.None() {
		return i.wrong(0, "there is nothing to mend: no schedule within the bounds breaks %s", i.goal.rule)
	}
	run, err := i.breaks(ctx, i.Scenario, broken, i.lab)
	if err != nil {
		return i.wrong(0, "%s", err)
	}
	m.Solved, m.Par = run, len(run.Events)
	right := 0
	for _, o := range i.Options {
		a := &Answer{Option: o}
		if a.Found, err = i.search(ctx, o.Scenario, o.lab); err != nil {
			return i.wrong(o.line, "option %s: %s", o.ID, err)
		}
		if a.Found.None() {
			a.Right = true
			right++
			if a.Run, err = o.atWork(ctx); err != nil {
				return i.wrong(o.line, "option %s: %s", o.ID, err)
			}
			if err := i.helped(ctx, o); err != nil {
				return err
			}
		} else if a.Run, err = i.breaks(ctx, o.Scenario, a.Found, o.lab); err != nil {
			return i.wrong(o.line, "option %s: %s", o.ID, err)
		}
		a.Shown = len(a.Run.Events)
		m.Answers = append(m.Answers, a)
	}
	if right == 0 || right == len(i.Options) {
		return i.wrong(0, "%d of %d options mend it; some are to, and some not", right, len(i.Options))
	}
	return nil
}

func (i *Item) makeBreak(ctx context.Context, m *Made) error {
	if _, ok := i.goal.find(m.Run.Events); ok {
		return i.wrong(0, "goal: the run comes to %q by itself", i.goal)
	}
	solution, cost := i.solution, -1
	if len(solution) == 0 {
		found, err := i.search(ctx, i.Scenario, nil)
		if err != nil {
			return i.wrong(0, "%s", err)
		}
		if solution, cost = found.Schedule, found.Cost; solution == nil {
			return i.wrong(0, "no schedule within the bounds comes to %q", i.goal)
		}
		m.Proven = true
	}
	hand, err := byHand(ctx, i.Scenario, solution)
	if err != nil {
		return i.wrong(0, "%s: %s", "solution", err)
	}
	solution = hand.b.Moves
	v, run, err := i.verdict(ctx, i.Scenario, solution)
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
	m.Solved, m.Par, m.Steps, m.presses, m.decisive = run, v.Own, solution, hand.list, max(hand.first, 0)
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

// Judge tells whether moves reach the goal of an item of the kind break. It
// fails with ErrNotBroken, or like engine.Paths.Path.
func (i *Item) Judge(ctx context.Context, list []scenario.Move) (Verdict, error) {
	if i.Kind != Break {
		return Verdict{}, ErrNotBroken
	}
	m, err := i.Made()
	if err != nil {
		return Verdict{}, err
	}
	v, _, err := i.verdict(ctx, i.Scenario, list)
	v.Par, v.Proven = m.Par, m.Proven
	return v, err
}

// Breaks tells whether the moves of sc's schedule break a rule.
func Breaks(ctx context.Context, sc *scenario.Scenario, rule string) (Verdict, error) {
	goal, err := parseMoment("broken "+rule, sc)
	if err != nil {
		return Verdict{}, ErrNothingToBreak
	}
	i := &Item{goal: goal}
	v, _, err := i.verdict(ctx, sc, sc.Schedule)
	return v, err
}

// verdict plays moves: what they came to, and the run.
func (i *Item) verdict(ctx context.Context, sc *scenario.Scenario, list []scenario.Move) (Verdict, *Run, error) {
	b, err := engine.PathOf(ctx, sc.WithSchedule(list))
	if err != nil {
		return Verdict{}, nil, fmt.Errorf("course: %w", err)
	}
	run := &Run{Scenario: sc.WithSchedule(list), Header: b.Header, Events: b.Events}
	at, ok := i.goal.find(b.Events)
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

// Prove plays everything that the course's items need, in every language, and
// fails with all Mistakes.
func (c *Course) Prove() error {
	var all Mistakes
	add := func(err error) {
		var m Mistakes
		switch {
		case err == nil:
		case errors.As(err, &m):
			all = append(all, m...)
		default:
			all = append(all, wrongIn("", 0, phrase.Wording{Args: []any{err}}))
		}
	}
	chapters := c.Chapters
	if c.Check != nil {
		chapters = append(slices.Clone(chapters), c.Check)
	}
	for _, i := range c.All() {
		if _, err := i.Made(); err != nil {
			add(err)
			continue
		}
		for _, l := range c.languages {
			_, err := i.Prose(l)
			add(err)
		}
	}
	for _, ch := range chapters {
		for _, l := range c.languages {
			_, err := ch.Intro(l)
			add(err)
		}
	}
	if len(all) > 0 {
		return all
	}
	return nil
}

// Prose is an item's texts in a language, as Markdown but for the title.
type Prose struct {
	Title, Body, Goal, Nudge, After string

	Labels map[string]string // by option: what is chosen, none of predict; of rank also by situation
	Says   map[string]string // by option: the answer to those who chose it
}

// Prose fills in an item's texts. It fails with Mistakes.
func (i *Item) Prose(l Language) (*Prose, error) {
	made, err := i.Made()
	if err != nil {
		return nil, err
	}
	one := i.Chapter.in(l).items[i.ID]
	t := teller{l: l, run: made.Run, options: map[string]*Run{}}
	if i.Kind == Mend || i.Kind == Write {
		t.run = made.Solved
	}
	for _, a := range made.Answers {
		if a.Option != nil {
			t.options[a.Option.ID] = a.Run
		}
	}
	if made.Ranking != nil {
		for n, s := range i.Situations {
			t.options[s.ID] = made.Ranking.Wrong[n]
		}
	}
	if i.review != nil {
		t.options["mended"] = &Run{Scenario: made.Run.Scenario, Header: made.Run.Header, Events: made.Run.Events, Lab: i.review.Mended()}
	}
	p := &Prose{Title: one.title, Labels: map[string]string{}, Says: map[string]string{}}
	for _, part := range []struct {
		of   string
		into *string
	}{{"", &p.Body}, {"goal", &p.Goal}, {"nudge", &p.Nudge}} {
		if *part.into, err = one.parts[part.of].markdown(t); err != nil {
			return nil, err
		}
	}
	after := t
	if i.Kind == Break {
		after.run = made.Solved
	}
	if p.After, err = one.parts["after"].markdown(after); err != nil {
		return nil, err
	}
	for _, o := range i.Options {
		said := one.parts[o.ID]
		if i.Kind == Why || i.Kind == Mend || i.Kind == Diagnose || i.Kind == Rank {
			var label *part
			if label, said = said.split(); label != nil {
				if p.Labels[o.ID], err = label.markdown(t); err != nil {
					return nil, err
				}
			}
		}
		if p.Says[o.ID], err = said.markdown(t); err != nil {
			return nil, err
		}
	}
	for _, s := range i.Situations {
		if p.Labels[s.ID], err = one.parts[s.ID].markdown(t); err != nil {
			return nil, err
		}
	}
	if i.review != nil {
		for _, id := range i.review.Faults {
			if p.Says[id], err = one.parts[id].markdown(t); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// in is the chapter's text in a language; where there is none, in another.
func (ch *Chapter) in(l Language) *text {
	if t := ch.texts[l.Code()]; t != nil {
		return t
	}
	return ch.fallback
}

// Title is the course's own title in a language, "" if it has none.
func (c *Course) Title(l Language) string {
	if title := c.titles[l.Code()]; title != "" {
		return title
	}
	for _, other := range c.languages {
		if title := c.titles[other.Code()]; title != "" {
			return title
		}
	}
	return ""
}

// Title is the chapter's title in a language.
func (ch *Chapter) Title(l Language) string { return ch.in(l).title }

// Intro is what a chapter begins with, as Markdown.
func (ch *Chapter) Intro(l Language) (string, error) { return ch.in(l).intro.markdown(nobody) }

// Title is an item's title in a language.
func (i *Item) Title(l Language) string { return i.Chapter.in(l).items[i.ID].title }

// Asked is the first event of what a predict asks for.
func (m *Made) Asked() trace.Event {
	for _, a := range m.Answers {
		if a.Right {
			return m.Run.Events[a.Shown-1]
		}
	}
	return trace.Event{}
}

// About is the thread that an item of the kinds predict, why and mend turns
// on; "" where that is Redis.
func (m *Made) About(i *Item) string {
	moment := i.goal
	if i.Kind == Predict {
		moment = i.until
	}
	run := m.Run
	if i.Kind == Mend || i.Kind == Write {
		run = m.Solved
	}
	at, ok := moment.find(run.Events)
	if !ok || at < 0 {
		return ""
	}
	e := run.Events[at]
	if v, broken := e.Body.(trace.Violation); broken && e.Thread == "" && len(v.Threads) > 0 {
		return v.Threads[0]
	}
	return e.Thread
}

// Plays tells whether sc is the item's scenario, whatever its moves. A lab's recording
// has none.
func (i *Item) Plays(sc *scenario.Scenario) bool {
	bare := func(sc *scenario.Scenario) string {
		one := *sc.WithSchedule(nil)
		one.Expect = nil
		text, err := one.Compact()
		if err != nil {
			return ""
		}
		return string(text)
	}
	own := bare(i.Scenario)
	return i.lab == nil && own != "" && own == bare(sc)
}

// Play plays a scenario, as YAML, on the virtual clock.
func Play(ctx context.Context, yaml []byte) (*Run, error) {
	sc, err := scenario.Parse(yaml)
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	return play(ctx, sc)
}
