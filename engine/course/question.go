package course

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"relock/engine"
	"relock/engine/lock"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"

	"go.yaml.in/yaml/v3"
)

// Errors of questions that are made from a run.
var (
	ErrNothingToAsk   = phrase.New("nothing can be asked here: the run is over, or no change makes a visible difference that the stage has not given away")
	ErrBreaksByItself = phrase.New("this run breaks its rules by itself: begin with one that breaks none")
	ErrNothingToBreak = phrase.New("no order breaks a rule of this scenario with at most 2 delays, or with a pause or a crash")
	ErrNothingFound   = phrase.New("no order that was tried breaks a rule of this scenario, but there are too many to try them all")
)

// Question is a predict that was made of a run: what is seen next? Its options
// are what is seen after one change.
type Question struct {
	Run     *Run
	Stand   int // events seen before
	Answers []*Answer

	until   Moment
	next    bool // until is the next event that counts, not a later one
	at      Moment
	asked   []string
	changes map[*Answer]map[string]any
}

// Until is the event that the question is about.
func (q *Question) Until() trace.Event {
	at, _ := q.until.find(q.Run.Events) // it was found when it was made
	return q.Run.Events[at]
}

// Asks is the question as a sentence.
func (q *Question) Asks() phrase.Wording {
	at := q.Until().At.Duration()
	if q.next {
		return phrase.Say("The next thing that counts is at %s. What do we see then?", at)
	}
	return phrase.Say("The run goes on to %s. What do we see then?", at)
}

// alternative is a run one change away.
type alternative struct {
	id      string
	because phrase.Wording // a clause: "with a lease of 400 ms"
	change  map[string]any
}

// Ask makes a question of the moves of sc's schedule: what comes after the
// first at of them? If that can be read off the stage, or no change makes a difference to
// it, it asks for what comes later. It fails with ErrNothingToAsk, or like engine.Paths.Path.
func Ask(ctx context.Context, sc *scenario.Scenario, at int) (*Question, error) {
	b, err := engine.PathOf(ctx, sc)
	if err != nil {
		return nil, fmt.Errorf("course: %w", err)
	}
	here := b.Positions[min(at, len(b.Moves))]
	run, err := play(ctx, sc)
	if err != nil {
		return nil, err
	}
	q := &Question{Run: run, Stand: here.Seq, changes: map[*Answer]map[string]any{}}
	if q.at, err = standing(run, q.Stand); err != nil {
		return nil, err
	}
	known := map[string]*Run{}
	for n, next := range counting(run.Events, q.Stand) {
		if q.until, err = momentOf(run, next); err != nil {
			return nil, err
		}
		q.next = n == 0
		others := played(ctx, sc, alternatives(sc, at, run.Events[next], here), known)
		for _, answered := range []bool{true, false} {
			for _, ask := range asks(run.Events[next].Thread) {
				if err := q.fill(ask, others, next, answered); err != nil {
					return nil, err
				}
				if len(q.Answers) > 2 {
					shuffleAnswers(q)
					return q, nil
				}
			}
		}
	}
	return nil, ErrNothingToAsk
}

// ahead is how far a question looks for something that can be asked.
const ahead = 6

// counting are the events that count after so many: the next, and later ones, each the
// last of its instant.
func counting(events []trace.Event, stand int) []int {
	var list []int
	for i := stand; i < len(events) && len(list) < ahead; i++ {
		o, ended := events[i].Body.(trace.Outcome)
		if !(ended && o.Call != lock.CallRenew) && events[i].Kind() != trace.KindExpired {
			continue
		}
		if n := len(list); n > 1 && events[list[n-1]].At == events[i].At {
			list[n-1] = i
		} else {
			list = append(list, i)
		}
	}
	return list
}

// asks are what can be asked of what a thread, or Redis, does next.
func asks(thread string) [][]string {
	if thread == "" {
		return [][]string{{"key", "belief"}, {"inside", "key"}, {"left"}}
	}
	return [][]string{{"call " + thread, "key"}, {"inside", "key"}, {"call " + thread, "belief"}, {"call " + thread, "left"}, {"key", "left"}}
}

// fill asks for something, of the run and of others; of the others only those
// in which the thread's call is answered, too, if answered is set.
func (q *Question) fill(ask []string, others map[*alternative]*Run, next int, answered bool) error {
	list := make([]seeing, len(ask))
	for i, one := range ask {
		var err error
		if list[i], err = parseSeeing(one, q.Run.Scenario); err != nil {
			return err
		}
	}
	shown, instant := stepEnd(q.Run.Events, next), q.Run.Events[next].At
	own := &Answer{Right: true, Says: see(list, q.Run, shown, instant), Run: q.Run, Shown: shown}
	q.Answers, q.asked = []*Answer{own}, ask
	if q.readable(own.Says, q.Run) {
		return nil
	}
	seen := map[string]bool{spoken(own.Says): true, uncounted(own.Says): true}
	for _, a := range inOrder(others) {
		run := others[a]
		n := until(run.Events, instant)
		if thread := q.Run.Events[next].Thread; answered && strings.HasPrefix(ask[0], "call ") && !q.answered(run, n, thread) {
			continue
		}
		says := see(list, run, n, instant)
		text := spoken(says)
		if run.Scenario.Lock.Protocol != q.Run.Scenario.Lock.Protocol {
			text = uncounted(says) // whether a lock counts is no outcome
		}
		if seen[text] || n == 0 || len(q.Answers) == 4 || !q.alike(says) || q.readable(says, run) {
			continue
		}
		seen[spoken(says)], seen[uncounted(says)] = true, true
		one := &Answer{Option: &Option{ID: a.id, Scenario: run.Scenario}, Says: says, Run: run, Shown: n, Because: a.because}
		q.Answers = append(q.Answers, one)
		q.changes[one] = a.change
	}
	return nil
}

// answered tells whether a thread's call is answered in another run, too, after
// where the question is asked: a result of before is no guess at what comes.
func (q *Question) answered(run *Run, count int, thread string) bool {
	e, ok := lastCall(run, count, thread)
	return ok && (q.Stand == 0 || e.At > q.Run.Events[q.Stand-1].At)
}

// alike reports whether clauses can be answers beside each other: they say who holds the
// lock as this lock says it, with a count or without, and no two differ only by a few
// milliseconds.
func (q *Question) alike(says []phrase.Wording) bool {
	counts := slices.ContainsFunc(q.Run.Events, func(e trace.Event) bool { return e.Key.Type == trace.TypeHash })
	other := heldTimes
	if counts {
		other = heldOnce
	}
	near := q.Run.Scenario.Lock.Lease / 10
	for i, clause := range says {
		if clause.Text == other || counts && clause.Text == heldForEver {
			return false
		}
		left, isLeft := leftIn(clause)
		for _, a := range q.Answers {
			if own, too := leftIn(a.Says[i]); isLeft && too && (left-own).Abs() < near {
				return false
			}
		}
	}
	return true
}

// readable reports whether what clauses say can be read off the stage, or ruled out
// there: it shows the lease, how long threads work, and what is left at the moment. What
// is left of a lease of another length is not what is left of this one.
func (q *Question) readable(says []phrase.Wording, run *Run) bool {
	sc := q.Run.Scenario
	for _, clause := range says {
		left, ok := leftIn(clause)
		works := func(t scenario.Thread) bool { return t.Work == scenario.Range{Min: left, Max: left} }
		if ok && (left >= sc.Lock.Lease || run.Scenario.Lock.Lease != sc.Lock.Lease || slices.ContainsFunc(sc.Threads, works) ||
			q.Stand > 0 && trace.Millis(q.Run.Events[q.Stand-1].Key.PTTL).Duration() == left) {
			return true
		}
	}
	return false
}

// leftIn is how much a clause says to be left of a lease, if it does.
func leftIn(w phrase.Wording) (left time.Duration, ok bool) {
	if w.Text == leftOf {
		left, ok = w.Args[0].(time.Duration)
	}
	return left, ok
}

var count = regexp.MustCompile(`, with a count of \d+`)

// uncounted are clauses as we tell them apart, without hold counts.
func uncounted(says []phrase.Wording) string { return count.ReplaceAllString(spoken(says), "") }

func inOrder(others map[*alternative]*Run) []*alternative {
	var list []*alternative
	for a := range others {
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b *alternative) int { return strings.Compare(a.id, b.id) })
	return list
}

func shuffleAnswers(q *Question) {
	list := make([]*Option, len(q.Answers))
	for n, a := range q.Answers {
		id := "here"
		if a.Option != nil {
			id = a.Option.ID
		}
		list[n] = &Option{ID: id, line: n}
	}
	shuffle(q.until.text, list)
	sorted := make([]*Answer, len(list))
	for at, o := range list {
		sorted[at] = q.Answers[o.line]
	}
	q.Answers = sorted
}

// alternatives are the changes that a question may have as options; ids are in
// the order in which they are tried.
func alternatives(sc *scenario.Scenario, at int, next trace.Event, here engine.Position) []*alternative {
	var list []*alternative
	add := func(because phrase.Wording, change map[string]any) {
		list = append(list, &alternative{fmt.Sprintf("other-%02d", len(list)+1), because, change})
	}
	moves := func(more any) map[string]any {
		var schedule []any
		for _, m := range sc.Schedule[:min(at, len(sc.Schedule))] {
			schedule = append(schedule, m)
		}
		return map[string]any{"schedule": append(schedule, more)}
	}
	lock := func(key string, value any) map[string]any {
		return map[string]any{"lock": map[string]any{key: value}}
	}
	for _, o := range here.Options {
		if o.Choice > 0 && o.Thread != next.Thread && !o.Background {
			add(phrase.Say("if %s moves first", o.Thread), moves(o.Choice))
		}
	}
	if sc.Lock.Watchdog > 0 {
		add(phrase.Say("without a watchdog"), lock("watchdog", "off"))
	} else if sc.Lock.Lease >= 3*time.Millisecond {
		add(phrase.Say("with a watchdog"), lock("watchdog", phrase.Duration((sc.Lock.Lease/3).Truncate(time.Millisecond))))
	}
	add(phrase.Say("with a lease of %s", 2*sc.Lock.Lease), lock("lease", phrase.Duration(2*sc.Lock.Lease)))
	add(phrase.Say("with a lease of %s", sc.Lock.Lease/2), lock("lease", phrase.Duration((sc.Lock.Lease/2).Truncate(time.Millisecond))))
	add(phrase.Say("if threads stop when they lose the lock"), map[string]any{"defaults": map[string]any{"on-lost": scenario.OnLostStop}})
	for _, protocol := range []string{"reentrant", "mutex", "mutex-unsafe", "value", "fenced", "reentrant-notify"} {
		if protocol != sc.Lock.Protocol {
			add(phrase.Say("with the lock %s", protocol), lock("protocol", protocol))
		}
	}
	if next.Thread != "" {
		add(phrase.Say("if %s crashes before that", next.Thread), moves(map[string]any{"do": "crash", "thread": next.Thread}))
		add(phrase.Say("if %s is paused before that", next.Thread), moves(map[string]any{"do": "pause", "thread": next.Thread, "for": "300ms"}))
	}
	return list
}

// played plays those that can be played, and are not known yet.
func played(ctx context.Context, sc *scenario.Scenario, list []*alternative, known map[string]*Run) map[*alternative]*Run {
	out := map[*alternative]*Run{}
	base, err := raw(sc)
	if err != nil {
		return out
	}
	for _, a := range list {
		text, err := yaml.Marshal(jsonable(a.change))
		if err != nil {
			continue
		}
		if run, ok := known[string(text)]; ok {
			if run != nil {
				out[a] = run
			}
			continue
		}
		known[string(text)] = nil
		var node yaml.Node
		if err := yaml.Unmarshal(text, &node); err != nil || len(node.Content) == 0 {
			continue
		}
		other, err := changed(base, node.Content[0])
		if err != nil {
			continue // this lock has no such setting
		}
		if run, err := play(ctx, other); err == nil { // the moves fit
			out[a], known[string(text)] = run, run
		}
	}
	return out
}

// jsonable is a value as YAML has it, moves as scenarios write them.
func jsonable(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, one := range v {
			out[key] = jsonable(one)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = jsonable(one)
		}
		return out
	case scenario.Move:
		text, err := v.MarshalJSON()
		if err != nil {
			return nil
		}
		var out any
		if err := yaml.Unmarshal(text, &out); err != nil {
			return nil
		}
		return out
	default:
		return v
	}
}

// momentOf is a moment that is the event at i.
func momentOf(run *Run, i int) (Moment, error) {
	e := run.Events[i]
	var texts []string
	switch b := e.Body.(type) {
	case trace.Outcome:
		texts = []string{e.Thread + " " + string(b.Result)}
	case trace.Command:
		texts = []string{e.Thread + " " + strings.ToUpper(b.Arg(0))}
	case trace.Expired:
		texts = []string{"expired"}
	case trace.Fault:
		texts = []string{strings.TrimSpace(e.Thread + " " + b.Do)}
	case trace.Violation:
		texts = []string{"broken " + b.Rule}
	case trace.Work:
		texts = []string{e.Thread + " works", e.Thread + " worked"}
	case trace.Wait:
		texts = []string{e.Thread + " waits"}
	case trace.Resource:
		texts = []string{e.Thread + " reads", e.Thread + " writes"}
	case trace.End:
		texts = []string{e.Thread + " ended"}
	}
	for _, text := range texts {
		m, err := parseMoment(text, run.Scenario)
		if err != nil || m.is == nil || !m.is(e) {
			continue
		}
		nth := 0
		for _, other := range run.Events[:i+1] {
			if m.is(other) {
				nth++
			}
		}
		if nth > 1 {
			return parseMoment(fmt.Sprintf("%s %d", text, nth), run.Scenario)
		}
		return m, nil
	}
	return Moment{}, ErrNothingToAsk
}

// standing is the moment after which there are count events.
func standing(run *Run, count int) (Moment, error) {
	if count == 0 {
		return parseMoment("start", run.Scenario)
	}
	for i := count - 1; i >= 0 && run.Events[i].Step == run.Events[count-1].Step; i-- {
		m, err := momentOf(run, i)
		if err != nil {
			continue
		}
		if n, ok := m.stand(run.Events); ok && n == count {
			return m, nil
		}
	}
	return Moment{}, ErrNothingToAsk
}

// YAML is the question as an item of a chapter.
func (q *Question) YAML() (string, error) {
	text, err := raw(q.Run.Scenario)
	if err != nil {
		return "", err
	}
	var run any
	if err := yaml.Unmarshal(text, &run); err != nil {
		return "", fmt.Errorf("course: %w", err)
	}
	type optionOut struct {
		ID     string `yaml:"id"`
		Change any    `yaml:"change"`
	}
	item := struct {
		ID      string      `yaml:"id"`
		Kind    Kind        `yaml:"kind"`
		Run     any         `yaml:"run"`
		At      string      `yaml:"at"`
		Until   string      `yaml:"until"`
		Ask     []string    `yaml:"ask,flow"`
		Options []optionOut `yaml:"options"`
	}{ID: "what-next", Kind: Predict, Run: run, At: q.at.text, Until: q.until.text, Ask: q.asked}
	for _, a := range q.Answers {
		if !a.Right {
			item.Options = append(item.Options, optionOut{a.Option.ID, jsonable(q.changes[a])})
		}
	}
	return listed(item)
}

func listed(item any) (string, error) {
	out, err := yaml.Marshal([]any{item})
	if err != nil {
		return "", fmt.Errorf("course: %w", err)
	}
	return string(out), nil
}
