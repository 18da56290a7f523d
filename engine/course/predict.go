package course

import (
	"context"
	"strings"

	"relock/engine/phrase"
)

// predictKind are questions after what is seen later in a run.
var predictKind = kind{
	name: Predict, needs: []string{"until", "ask"}, least: 2, most: 4, options: "two to four options",
	minutes: 0.5, recorded: true, earlier: true, task: func() task { return new(predicting) },
	stray: new(predicting).read,
}

type predictYAML struct {
	Ask []placed `yaml:"ask"`
}

// predicting is what is asked of a later moment.
type predicting struct{ ask []seeing }

func (t *predicting) read(r *itemReader) {
	for _, p := range r.y.Ask {
		one, err := parseSeeing(p.Text, r.i.Scenario)
		if err != nil {
			r.at(p.Line, "%s: %s", "ask", err)
		}
		if strings.HasPrefix(p.Text, "broken ") && r.i.lab == nil {
			r.at(p.Line, "ask: %q is asked of what a lab found: lab:", p.Text)
		}
		t.ask = append(t.ask, one)
	}
}

func (t *predicting) make(ctx context.Context, i *Item, m *Made) error {
	at, ok := i.until.find(m.Run.Events)
	if !ok {
		return i.wrong(0, "until: the run never comes to %q", i.until)
	}
	if at < m.Stand {
		return i.wrong(0, "until: %q is seen already where the stage stands", i.until)
	}
	shown := stepEnd(m.Run.Events, at)
	instant := m.Run.Events[at].At
	own := &Answer{Right: true, Says: see(t.ask, m.Run, shown, instant), Run: m.Run, Shown: shown}
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
		a.Says = see(t.ask, run, a.Shown, seenAt)
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
