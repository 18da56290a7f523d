package course

import "context"

// mendKind are questions after every change that mends a run.
var mendKind = kind{
	name: Mend, needs: []string{"goal"}, least: 2, most: manyOptions, options: "two options or more",
	minutes: 0.5, recorded: true, labelled: true, mended: true, task: func() task { return mending{} },
}

type mending struct{}

func (mending) read(r *itemReader) {
	if r.i.lab == nil {
		r.search(true)
		r.lacks(!r.i.searches(), "within")
	}
}

func (mending) make(ctx context.Context, i *Item, m *Made) error {
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
	m.Solved = run
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

// scene is how the run ends under a right change.
func (mending) scene(_ *Item, m *Made) (Scene, bool) {
	for _, a := range m.Answers {
		if a.Right {
			asked := SceneOf(a.Run, a.Shown)
			asked.Broken = nil // a rule that the item is not about is not asked for
			return asked, true
		}
	}
	return Scene{}, false
}
