package course

import (
	"cmp"
	"context"
	"reflect"
	"slices"
	"strings"

	"relock/engine/trace"
)

// diagnoseKind are incidents to be explained by their logs.
var diagnoseKind = kind{
	name: Diagnose, needs: []string{"log"}, least: 3, most: 5, options: "three to five options",
	minutes: 1, checked: true, labelled: true, task: func() task { return new(Diagnosis) },
	stray: func(r *itemReader) {
		if len(r.y.Log)+len(r.y.Next) > 0 {
			r.at(0, "log and next are for items of the kind diagnose")
		}
	},
}

type diagnoseYAML struct {
	Log  []placed `yaml:"log"`
	Next []placed `yaml:"next"`
}

// Diagnosis is an incident as people meet it at work: the logs, and the questions they
// can ask Redis next.
type Diagnosis struct {
	Logs    []Log        // of the item's own run, which are those of its cause
	Asked   trace.Millis // when Redis is asked
	Rival   *Answer      // the wrong cause whose logs are like these for longest; of several one
	Queries []Query      // as they are shown

	logs []Log   // what is seen, without its lines
	next []query // and what can be asked
}

// Query is a command that can be asked of Redis next, and what it answers.
type Query struct {
	Here  trace.Command // in the item's own run
	There trace.Command // in the rival's
	Right bool          // they differ
}

// Parting is where the logs of a wrong cause begin to differ from the incident's.
type Parting struct {
	At          trace.Millis
	Log         int    // which of the incident's
	Line        int    // of it, from 1
	Here, There string // the line there in each; "" if there is none
	Logs        []Log  // the cause's own
}

// read reads what is seen of an item, and what can be asked.
func (d *Diagnosis) read(r *itemReader) {
	for _, p := range r.y.Log {
		g, err := parseLog(p.Text, r.i.Scenario)
		if err != nil {
			r.at(p.Line, "%s: %s", "log", err)
		}
		d.logs = append(d.logs, g)
	}
	for _, p := range r.y.Next {
		q, err := parseQuery(p.Text, r.i.Scenario)
		if err != nil {
			r.at(p.Line, "%s: %s", "next", err)
		}
		d.next = append(d.next, q)
	}
	slices.SortStableFunc(d.next, func(a, b query) int {
		return cmp.Compare(weight(r.i.ID+"/"+a.text), weight(r.i.ID+"/"+b.text))
	})
}

func (d *Diagnosis) option(r *itemReader, o *Option, y *optionYAML) {
	if y.Until.Text != "" || y.Helps.Kind != 0 {
		r.at(o.line, "option %s: a cause has no until or helps: its logs are shown for as long as the item's", o.ID)
	}
}

// parting compares the logs of two runs, which are of the same kinds; nil where they are
// the same.
func parting(here, there []Log) *Parting {
	var out *Parting
	for n, log := range here {
		a, b := log.Lines, there[n].Lines
		line := 0
		for line < len(a) && line < len(b) && a[line].Text == b[line].Text {
			line++
		}
		if line == len(a) && line == len(b) {
			continue
		}
		one := &Parting{Log: n, Line: line + 1, Logs: there}
		switch {
		case line == len(a):
			one.At, one.There = b[line].At, b[line].Text
		case line == len(b):
			one.At, one.Here = a[line].At, a[line].Text
		default:
			one.At, one.Here, one.There = min(a[line].At, b[line].At), a[line].Text, b[line].Text
		}
		if out == nil || one.At < out.At {
			out = one
		}
	}
	return out
}

// seen are the logs of a run, up to an instant.
func (d *Diagnosis) seen(r *Run, to trace.Millis) []Log {
	list := make([]Log, len(d.logs))
	for n, g := range d.logs {
		list[n] = g.of(r, to)
	}
	return list
}

// instant is when a moment comes in a run: its end, where there is no moment.
func instant(m Moment, events []trace.Event) (at trace.Millis, ok bool) {
	n, ok := len(events), true
	if !m.Zero() {
		n, ok = m.stand(events)
	}
	if !ok || n == 0 {
		return 0, ok
	}
	return events[n-1].At, true
}

// make plays the causes. Right is the one whose run writes the logs of the
// item's own.
func (d *Diagnosis) make(ctx context.Context, i *Item, m *Made) error {
	end, ok := instant(i.until, m.Run.Events)
	if !ok {
		return i.wrong(0, "until: the run never comes to %q", i.until)
	}
	d.Logs, d.Asked = d.seen(m.Run, end), end
	if i.at.edge != "start" {
		d.Asked, _ = instant(i.at, m.Run.Events) // it was found
	}
	if d.Asked > end {
		return i.wrong(0, "at: %q is after what is seen", i.at)
	}
	var right, nearest []string
	for _, o := range i.Options {
		run, err := o.play(ctx)
		if err != nil {
			return i.wrong(o.line, "option %s: %s", o.ID, err)
		}
		a := &Answer{Option: o, Run: run, Shown: until(run.Events, end), Parts: parting(d.Logs, d.seen(run, end))}
		m.Answers = append(m.Answers, a)
		switch {
		case a.Parts == nil:
			a.Right = true
			right = append(right, o.ID)
		case d.Rival == nil || a.Parts.At > d.Rival.Parts.At:
			d.Rival, nearest = a, []string{o.ID}
		case a.Parts.At == d.Rival.Parts.At:
			nearest = append(nearest, o.ID)
		}
	}
	if len(right) != 1 {
		return i.wrong(0, "exactly one cause is to write these logs; these do: %s", strings.Join(right, ", "))
	}
	if len(d.next) == 0 { // the cause alone is asked
		return nil
	}
	if len(nearest) != 1 {
		return i.wrong(0, "it is open which wrong cause is the likeliest: the logs of these part from the item's at the same instant: %s", strings.Join(nearest, ", "))
	}
	return d.ask(i, m.Run)
}

// ask asks Redis in both runs. Right is the one command whose answers differ.
func (d *Diagnosis) ask(i *Item, run *Run) error {
	var right []string
	for _, one := range d.next {
		here, there := one.answer(run, d.Asked), one.answer(d.Rival.Run, d.Asked)
		q := Query{Here: here, There: there, Right: here.Error != there.Error || !reflect.DeepEqual(here.Reply, there.Reply)}
		if q.Right {
			right = append(right, one.text)
		}
		d.Queries = append(d.Queries, q)
	}
	if len(right) != 1 {
		return i.wrong(0, "next: exactly one command is to tell the cause from %s; these do: %s", d.Rival.Option.ID, strings.Join(right, ", "))
	}
	return nil
}
