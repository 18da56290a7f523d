package course

import (
	"context"
	"slices"

	"relock/engine/phrase"
	"relock/engine/scenario"

	"go.yaml.in/yaml/v3"
)

// ErrNotRanked is the error for an item that asks for no order of mends.
var ErrNotRanked = phrase.New("this item has nothing to put in order")

// Situation is a run of an item in which something goes wrong, and of which it is asked
// which mends save it.
type Situation struct {
	ID       string
	Scenario *scenario.Scenario // without a mend

	change yaml.Node
	line   int
}

// Ranking is which mends save which situations, as their runs show. It is not changed after
// it was made.
type Ranking struct {
	Situations []*Situation
	Wrong      []*Run  // by situation: what goes wrong without a mend
	Saves      []Saves // by answer, as they are shown
	Best       []int   // the answers in the right order: who saves the most comes first
}

// Saves is what came of a mend in each situation.
type Saves struct {
	Count int
	In    []Saved // by situation
}

// Saved is a mend in a situation: its run, and how many of its events are seen.
type Saved struct {
	OK    bool // it does not come to the goal
	Run   *Run
	Shown int
}

// situations reads those of an item, each a change of its run. Their IDs are headings of its
// text, as those of its options are.
func (i *Item) situations(at func(int, phrase.Text, ...any), base []byte, list []situationYAML) {
	if i.Kind != Rank && len(list) > 0 {
		at(list[0].ID.Line, "situations are for items of the kind rank")
		return
	}
	for _, y := range list {
		s := &Situation{ID: y.ID.Text, change: y.Change, line: y.ID.Line}
		if !name.MatchString(s.ID) || slices.Contains(reserved, s.ID) || i.Situation(s.ID) != nil {
			at(y.ID.Line, "situation %q: allowed: an id of its own in small letters", s.ID)
			continue
		}
		var err error
		if s.Scenario, err = changed(base, &y.Change); err != nil {
			at(cmpLine(y.Change.Line, s.line), "situation %s: change: %v", s.ID, err)
			continue
		}
		i.Situations = append(i.Situations, s)
	}
}

// mends reads an option's run in each situation: first what is other there, then the mend.
func (o *Option) mends(at func(int, phrase.Text, ...any), i *Item, change *yaml.Node) {
	for _, s := range i.Situations {
		if s.ID == o.ID {
			at(o.line, "option %s: a situation has this id", o.ID)
		}
		base, err := raw(s.Scenario)
		if err == nil {
			var in *scenario.Scenario
			in, err = changed(base, change)
			o.in = append(o.in, in)
		}
		if err != nil {
			at(cmpLine(change.Line, o.line), "option %s: in the situation %s: %v", o.ID, s.ID, err)
		}
	}
}

// Situation finds a situation by its id, nil where there is none.
func (i *Item) Situation(id string) *Situation {
	for _, s := range i.Situations {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// makeRank plays each mend in each situation. Each situation goes wrong without a mend, and
// no two mends save as many.
func (i *Item) makeRank(ctx context.Context, m *Made) error {
	r := &Ranking{Situations: i.Situations}
	for _, s := range i.Situations {
		run, err := play(ctx, s.Scenario)
		if err != nil {
			return i.wrong(s.line, "situation %s: %v", s.ID, err)
		}
		if _, ok := i.goal.find(run.Events); !ok {
			return i.wrong(s.line, "situation %s: nothing is to be saved, its run never comes to %q", s.ID, i.goal)
		}
		r.Wrong = append(r.Wrong, run)
	}
	by := map[int]string{}
	for n, o := range i.Options {
		saves := Saves{}
		for k, sc := range o.in {
			run, err := play(ctx, sc)
			if err != nil {
				return i.wrong(o.line, "option %s: in the situation %s: %v", o.ID, i.Situations[k].ID, err)
			}
			one := Saved{Run: run, Shown: len(run.Events)}
			if shown, comes := i.goal.stand(run.Events); comes {
				one.Shown = shown
			} else {
				one.OK = true
				saves.Count++
			}
			saves.In = append(saves.In, one)
		}
		if other := by[saves.Count]; other != "" {
			return i.wrong(o.line, "options %s and %s save as many situations, %d: no order of them is right", other, o.ID, saves.Count)
		}
		by[saves.Count] = o.ID
		r.Saves, r.Best = append(r.Saves, saves), append(r.Best, n)
		m.Answers = append(m.Answers, &Answer{Option: o, Run: saves.In[0].Run, Shown: saves.In[0].Shown})
	}
	slices.SortFunc(r.Best, func(a, b int) int { return r.Saves[b].Count - r.Saves[a].Count })
	m.Ranking = r
	return nil
}

// Ranked is what came of an order that somebody has put mends in.
type Ranked struct {
	Solved bool
	Pairs  [][2]int // places, from 1, of which the first rightly comes before the second
}

// Rank judges an order of an item's answers, from 0, the best first. Each must be there once.
// It fails with ErrNotRanked.
func (i *Item) Rank(order []int) (Ranked, error) {
	if i.Kind != Rank {
		return Ranked{}, ErrNotRanked
	}
	m, err := i.Made()
	if err != nil {
		return Ranked{}, err
	}
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, slices.Sorted(slices.Values(m.Ranking.Best))) {
		return Ranked{}, ErrNotRanked
	}
	out := Ranked{Solved: slices.Equal(order, m.Ranking.Best)}
	for a := range order {
		for b := a + 1; b < len(order); b++ {
			if m.Ranking.Saves[order[a]].Count > m.Ranking.Saves[order[b]].Count {
				out.Pairs = append(out.Pairs, [2]int{a + 1, b + 1})
			}
		}
	}
	return out, nil
}
