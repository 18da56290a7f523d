package course

import (
	"context"
	"strings"

	"relock/engine/phrase"
	"relock/engine/scenario"
)

// whyKind are questions after what would prevent what a run comes to.
var whyKind = kind{
	name: Why, needs: []string{"goal"}, least: 2, most: 5, options: "two to five options",
	minutes: 0.5, recorded: true, checked: true, earlier: true, labelled: true, task: func() task { return why{} },
}

type why struct{ unread }

func (why) make(ctx context.Context, i *Item, m *Made) error {
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
