package page

import (
	"relock/engine"
	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/run"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/words"
)

// Aligned is one scenario on several locks, thread by thread and each by its
// own progress.
type Aligned struct {
	Title   string
	Columns []LockColumn
	Threads []LockThread
}

// LockColumn is a lock and its result.
type LockColumn struct {
	Protocol string
	Broken   []string     // rules, in the order in which they were first broken
	Note     string       // what else there is to know
	Lanes    film.Picture // on the time axis of all columns
}

// LockThread is a thread on all locks.
type LockThread struct {
	Name    string
	Ordinal int
	Rows    []LockRow
}

// LockRow is one thing that a thread did, or did not.
type LockRow struct {
	What    string
	Cells   []LockCell // one for each column
	Differs bool
	First   bool // the earliest difference of all
}

// LockCell is the result with one lock. Text is "" if it was not done.
type LockCell struct {
	Text string
	At   string
	Tone film.Tone

	at  trace.Millis
	seq int // of its event
}

// progress is one thing that a thread did.
type progress struct {
	what string // the same with every lock
	cell LockCell
}

// AlignLocks puts the same scenario on several locks side by side, in l.
func AlignLocks(l words.Language, played []engine.Played) Aligned {
	first := played[0].Scenario
	a := Aligned{Title: first.Title}
	var runs []*film.Lanes
	var prefixes []string
	for _, p := range played {
		a.Columns = append(a.Columns, column(l, p))
		run := film.LanesOf(p.Scenario, p.Header.Owners)
		for _, e := range p.Events {
			run.Add(e)
		}
		runs, prefixes = append(runs, run), append(prefixes, "lock-"+p.Protocol)
	}
	for i, p := range film.Together(l, runs, prefixes) {
		a.Columns[i].Lanes = p
	}
	a.Threads = alignThreads(l, played)
	return a
}

// alignThreads puts what each thread did side by side.
func alignThreads(l words.Language, played []engine.Played) []LockThread {
	var threads []LockThread
	for i, t := range played[0].Scenario.Threads {
		lists := make([][]progress, len(played))
		for n, p := range played {
			lists[n] = progressOf(l, p.Events, t.Name)
		}
		threads = append(threads, LockThread{Name: t.Name, Ordinal: i, Rows: lockRows(lists)})
	}
	markFirst(threads)
	return threads
}

func column(l words.Language, p engine.Played) LockColumn {
	c := LockColumn{Protocol: p.Protocol, Broken: engine.Broken(p.Events)}
	var failed []film.Failure
	for _, e := range p.Events {
		if f, ok := film.FailureOf(e); ok {
			failed = append(failed, f)
		}
	}
	if len(c.Broken) == 0 {
		c.Note = film.OnlyFailed(l, failed)
	}
	if p.Fitted < p.Own {
		c.Note = l.Say("your moves fit until %s; after that the policy moved", l.Duration(p.Parted))
	}
	if p.Err != nil {
		c.Note = film.EndOfRun(l, run.CauseOf(p.Err), p.Err.Error())
	}
	return c
}

// progressOf returns what a thread did, each thing with a unique name.
func progressOf(l words.Language, events []trace.Event, thread string) []progress {
	var list []progress
	times := map[string]int{}
	add := func(e trace.Event, what, text string, tone film.Tone) {
		times[what]++
		if n := times[what]; n > 1 {
			what = l.Say("%[1]s, no. %[2]d", what, n)
		}
		list = append(list, progress{what, LockCell{Text: text, At: l.Duration(e.At.Duration()), Tone: tone, at: e.At, seq: e.Seq}})
	}
	arrived := 0 // the step in which a late copy arrived
	for _, e := range events {
		if e.Thread != thread {
			continue
		}
		switch b := e.Body.(type) {
		case trace.Command:
			if b.Late && e.Step != arrived {
				arrived = e.Step
				add(e, film.LateCopy(l, b.Call, b.Level), l.Say("arrives"), film.Bad)
			}
		case trace.Outcome:
			what := l.Say("%s, level %d", b.Call, b.Level)
			if b.Call == "renew" {
				what = b.Call
			}
			if b.GivesBack {
				what = l.Say("give back, level %d", b.Level)
			}
			_, tone := film.Outcome(l, b)
			add(e, what, film.Result(l, b.Result), tone)
		case trace.Work:
			if b.State != trace.WorkEnd {
				break
			}
			what, came := l.Say("work, level %d", b.Level), l.Say("done")
			if b.After {
				what = l.Say("work after the inner call, level %d", b.Level)
			}
			if b.Cancelled {
				came = l.Say("stopped")
			}
			add(e, what, came, film.Plain)
		case trace.Resource:
			tone := film.Plain
			if b.Refused {
				tone = film.Bad
			}
			what := l.Say("write")
			if b.Op == trace.OpRead {
				what = l.Say("read")
			}
			add(e, what, film.Resource(l, b), tone)
		case trace.Fault:
			add(e, l.Clause(phrase.Say("fault: %s", fault.Word(b.Do))), l.Say("struck"), film.Bad)
		case trace.End:
			tone := film.Good
			if b.Result != trace.Done {
				tone = film.Bad
			}
			add(e, l.Say("end"), film.Result(l, b.Result), tone)
		}
	}
	return list
}

// lockRows merges the lists. The same name makes one row, and each list keeps its
// order.
func lockRows(lists [][]progress) []LockRow {
	var order []string
	places := make([]map[string]int, len(lists)) // of each name in its list
	for n, list := range lists {
		names := make([]string, len(list))
		places[n] = make(map[string]int, len(list))
		for i, p := range list {
			names[i] = p.what
			places[n][p.what] = i
		}
		order = merge(order, names)
	}
	out := make([]LockRow, 0, len(order))
	for _, what := range order {
		row := LockRow{What: what}
		for n, list := range lists {
			i, ok := places[n][what]
			if !ok {
				row.Cells = append(row.Cells, LockCell{Tone: film.Quiet})
				continue
			}
			row.Cells = append(row.Cells, list[i].cell)
		}
		for _, c := range row.Cells[1:] {
			row.Differs = row.Differs || c.Text != row.Cells[0].Text
		}
		out = append(out, row)
	}
	return out
}

// merge puts b into a. Names of both keep a's order; each other name of b
// comes right after the one that precedes it in b.
func merge(a, b []string) []string {
	place := make(map[string]int, len(a))
	for i, name := range a {
		place[name] = i
	}
	after := make([][]string, len(a)+1) // names only in b, before each of a
	at := 0
	for _, name := range b {
		if i, ok := place[name]; ok {
			at = max(at, i+1)
			continue
		}
		after[at] = append(after[at], name)
	}
	out := make([]string, 0, len(a)+len(b))
	for i, name := range a {
		out = append(append(out, after[i]...), name)
	}
	return append(out, after[len(a)]...)
}

// markFirst finds the earliest difference.
func markFirst(threads []LockThread) {
	var first *LockRow
	var at trace.Millis
	for t := range threads {
		for r := range threads[t].Rows {
			row := &threads[t].Rows[r]
			if !row.Differs {
				continue
			}
			when, found := trace.Millis(0), false
			for _, c := range row.Cells {
				if c.Text != "" && (!found || c.at < when) {
					when, found = c.at, true
				}
			}
			if first == nil || when < at {
				first, at = row, when
			}
		}
	}
	if first != nil {
		first.First = true
	}
}
