package course

import (
	"context"
	"slices"

	"relock/engine/phrase"
	"relock/engine/scenario"

	"go.yaml.in/yaml/v3"
)

// rankKind are mends to be put in order.
var rankKind = kind{
	name: Rank, needs: []string{"goal", "situations"}, least: 3, most: 3, options: "three options",
	minutes: 1, checked: true, labelled: true, task: func() task { return new(Ranking) },
	stray: func(r *itemReader) {
		if len(r.y.Situations) > 0 {
			r.at(r.y.Situations[0].ID.Line, "situations are for items of the kind rank")
		}
	},
}

type (
	rankYAML struct {
		Situations []situationYAML `yaml:"situations"`
	}
	situationYAML struct {
		ID     placed    `yaml:"id"`
		Change yaml.Node `yaml:"change"`
	}
)

// ErrNotRanked is the error for what is no order of all mends.
var ErrNotRanked = phrase.New("this item has nothing to put in order")

// Situation is a run of an item in which something goes wrong, and of which it is asked
// which mends save it.
type Situation struct {
	ID       string
	Scenario *scenario.Scenario // without a mend
	Wrong    *Run               // of it

	line int
}

// Ranking is which mends save which situations, as their runs show.
type Ranking struct {
	Situations []*Situation
	Saves      []Saves // by answer, as they are shown
	Best       []int   // the answers in the right order: who saves the most comes first

	in map[*Option][]*scenario.Scenario // a mend's run in each situation
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

// read reads the situations, each a change of the item's run. Their IDs are headings of its
// text, as those of its options are.
func (t *Ranking) read(r *itemReader) {
	t.in = map[*Option][]*scenario.Scenario{}
	for _, y := range r.y.Situations {
		s := &Situation{ID: y.ID.Text, line: y.ID.Line}
		twice := slices.ContainsFunc(t.Situations, func(other *Situation) bool { return other.ID == s.ID })
		if !name.MatchString(s.ID) || slices.Contains(reserved, s.ID) || twice {
			r.at(y.ID.Line, "situation %q: allowed: an id of its own in small letters", s.ID)
			continue
		}
		var err error
		if s.Scenario, err = changed(r.base, &y.Change); err != nil {
			r.at(cmpLine(y.Change.Line, s.line), "situation %s: change: %v", s.ID, err)
			continue
		}
		t.Situations = append(t.Situations, s)
	}
	r.lacks(len(t.Situations) == 1 || len(t.Situations) > 3, "two or three situations")
}

// option reads an option's run in each situation: first what is other there, then the mend.
func (t *Ranking) option(r *itemReader, o *Option, y *optionYAML) {
	if y.Until.Text != "" || y.Helps.Kind != 0 || y.Scenario.Text != "" {
		r.at(o.line, "option %s: a mend is a change, and nothing else: it is played in each situation", o.ID)
	}
	for _, s := range t.Situations {
		if s.ID == o.ID {
			r.at(o.line, "option %s: a situation has this id", o.ID)
		}
		base, err := raw(s.Scenario)
		if err == nil {
			var in *scenario.Scenario
			in, err = changed(base, &y.Change)
			t.in[o] = append(t.in[o], in)
		}
		if err != nil {
			r.at(cmpLine(y.Change.Line, o.line), "option %s: in the situation %s: %v", o.ID, s.ID, err)
		}
	}
}

func (t *Ranking) headings() (labels, says []string) {
	for _, s := range t.Situations {
		labels = append(labels, s.ID)
	}
	return labels, nil
}

// runs are what goes wrong in each situation without a mend.
func (t *Ranking) runs(*Made) map[string]*Run {
	wrong := map[string]*Run{}
	for _, s := range t.Situations {
		wrong[s.ID] = s.Wrong
	}
	return wrong
}

// make plays each mend in each situation. Each situation goes wrong without a mend, and
// no two mends save as many.
func (t *Ranking) make(ctx context.Context, i *Item, m *Made) (err error) {
	for _, s := range t.Situations {
		if s.Wrong, err = play(ctx, s.Scenario); err != nil {
			return i.wrong(s.line, "situation %s: %v", s.ID, err)
		}
		if _, ok := i.goal.find(s.Wrong.Events); !ok {
			return i.wrong(s.line, "situation %s: nothing is to be saved, its run never comes to %q", s.ID, i.goal)
		}
	}
	by := map[int]string{}
	for n, o := range i.Options {
		saves := Saves{}
		for k, sc := range t.in[o] {
			run, err := play(ctx, sc)
			if err != nil {
				return i.wrong(o.line, "option %s: in the situation %s: %v", o.ID, t.Situations[k].ID, err)
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
		t.Saves, t.Best = append(t.Saves, saves), append(t.Best, n)
		m.Answers = append(m.Answers, &Answer{Option: o, Run: saves.In[0].Run, Shown: saves.In[0].Shown})
	}
	slices.SortFunc(t.Best, func(a, b int) int { return t.Saves[b].Count - t.Saves[a].Count })
	return nil
}

// Ranked is what came of an order that somebody has put mends in.
type Ranked struct {
	Solved bool
	Pairs  [][2]int // places, from 1, of which the first rightly comes before the second
}

// Rank judges an order of the item's answers, from 0, the best first. Each must be there once.
// It fails with ErrNotRanked.
func (t *Ranking) Rank(order []int) (Ranked, error) {
	if sorted := slices.Sorted(slices.Values(order)); !slices.Equal(sorted, slices.Sorted(slices.Values(t.Best))) {
		return Ranked{}, ErrNotRanked
	}
	out := Ranked{Solved: slices.Equal(order, t.Best)}
	for a := range order {
		for b := a + 1; b < len(order); b++ {
			if t.Saves[order[a]].Count > t.Saves[order[b]].Count {
				out.Pairs = append(out.Pairs, [2]int{a + 1, b + 1})
			}
		}
	}
	return out, nil
}
