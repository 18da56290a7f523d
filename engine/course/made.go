package course

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"relock/engine"
	"relock/engine/explore"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
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
	Solved  *Run      // of break: the solution played; of mend: the run that is to be mended; of order: the script at work; of write: what comes of the first script
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
	if i.Scenario.Lock.Own() { // the author wrote its scripts; anybody else's run only in a walled box
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
	if err := i.task.make(ctx, i, m); err != nil {
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

// until is how many events there are when an instant is over.
func until(events []trace.Event, at trace.Millis) int {
	n := 0
	for n < len(events) && events[n].At <= at {
		n++
	}
	return n
}

// Found is what a search of every schedule within an item's bounds has found.
type Found struct {
	Schedule []scenario.Move // the smallest that breaks the item's rule, nil where none does
	All      *big.Int        // schedules
	Broken   *big.Int        // of them, those that break the rule
	Standing *big.Int        // of these, those that break it only after a thread stood still longer than its lease
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
	v, run, err := reached(ctx, sc, found.Schedule, i.goal)
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
	if i.anyLength {
		within.Lengths = lengthsOf(sc, Steps)
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
	add(c.TryClaims(context.Background(), Steps))
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
	k := kindOf(i.Kind)
	t := teller{l: l, run: made.Run, options: map[string]*Run{}}
	if k.mended {
		t.run = made.Solved
	}
	for _, a := range made.Answers {
		if a.Option != nil {
			t.options[a.Option.ID] = a.Run
		}
	}
	if more, ok := i.task.(telling); ok {
		maps.Copy(t.options, more.runs(made))
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
		if k.labelled {
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
	labels, says := i.headings()
	for _, id := range labels {
		if p.Labels[id], err = one.parts[id].markdown(t); err != nil {
			return nil, err
		}
	}
	for _, id := range says {
		if p.Says[id], err = one.parts[id].markdown(t); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// headings are those that its kind has in the item's text, beside its options'.
func (i *Item) headings() (labels, says []string) {
	if t, ok := i.task.(headed); ok {
		return t.headings()
	}
	return nil, nil
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
	if kindOf(i.Kind).mended {
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
