package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"relock/engine/effects"
	"relock/engine/journal"
	"relock/engine/resp"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Scenario is the frame that a lab's trace has instead of a scenario: the threads, the
// lock's key, and the longest lease seen. It says nothing about the workers' work.
func (o *Order) Scenario(f *Found, opts Options, title string) (*scenario.Scenario, error) {
	lease, hash := o.longest()
	if opts.Clock == ClockWall || opts.External != nil { // a moment of it has passed when it is seen
		lease = (lease + 9) / 10 * 10
	}
	sc, err := effects.Frame{Title: title, Hash: hash, Key: f.Key, Lease: time.Duration(lease) * time.Millisecond, Threads: threadNames(opts.Threads), Seed: opts.Seed}.Scenario()
	if err != nil {
		return nil, fmt.Errorf("lab: scenario: %w", err)
	}
	return sc, nil
}

// longest returns the longest lease that was seen, in ms, and whether the lock is a hash.
func (o *Order) longest() (lease int64, hash bool) {
	lease, hash = o.lease, o.hash
	for _, r := range o.records {
		lease, hash = max(lease, r.After.PTTL), hash || r.After.Type == trace.TypeHash
	}
	return lease, hash
}

// Trace is an order as a trace. Its commands run again on an embedded Redis, at their
// instants, so that scripts report their own commands; if that Redis cannot, the
// scripts stay whole. It fails if the frame of the trace cannot be written.
func (o *Order) Trace(f *Found, opts Options, title string) (trace.Header, []trace.Event, error) {
	h, j, _, err := o.told(f, opts, title)
	if err != nil {
		return h, nil, err
	}
	j.Finish(o.final, o.asking, o.waiting)
	return h, j.Events(), nil
}

// told is the trace of an order without its end, and how many events there were after
// each record.
func (o *Order) told(f *Found, opts Options, title string) (trace.Header, *effects.Reading, []int, error) {
	sc, err := o.Scenario(f, opts, title)
	if err != nil {
		return trace.Header{}, nil, nil, err
	}
	text, err := json.Marshal(sc)
	if err != nil {
		return trace.Header{}, nil, nil, fmt.Errorf("lab: scenario: %w", err)
	}
	by := trace.ByEffects
	if o.marks {
		by = trace.ByMarks
	}
	h := trace.Header{
		Relock: trace.Version, Scenario: text, Seed: opts.Seed, Store: trace.StoreLab, Clock: trace.ClockVirtual,
		Lab: &trace.Lab{Command: opts.Command, By: by, Redis: f.Store},
	}
	if opts.Clock == ClockWall || opts.External != nil {
		h.Clock = trace.ClockWall
	}
	if h.Lab.Order, err = json.Marshal(o.Decisions); err != nil {
		return h, nil, nil, fmt.Errorf("lab: order: %w", err)
	}
	h.Lab.Scripts = o.scripts()
	records, known := o.again(f.Key), effects.Roles{}
	maps.Copy(known, f.roles)
	whole := effects.New(threadNames(opts.Threads), f.Key, opts.Resource, o.marks, known)
	whole.From(o.began)
	for _, r := range o.records { // what a script does at its end says what it is for at its beginning
		whole.See(r)
	}
	j := effects.New(threadNames(opts.Threads), f.Key, opts.Resource, o.marks, known)
	j.From(o.began)
	if says, _ := whole.Kind(); says.Text != "" || f.Evidence.Kind.Text != "" {
		j.OnlyHarms()
	}
	after := make([]int, len(records))
	for i, r := range records {
		j.See(r)
		after[i] = len(j.Events())
	}
	h.Owners = j.Owners()
	return h, j, after, nil
}

// Limits of the scripts that a trace has.
const (
	mostScripts = 16
	longScript  = 64 << 10 // bytes
)

// scripts returns the texts of the scripts that were run, by name.
func (o *Order) scripts() map[string]string {
	texts := map[string]string{}
	for _, r := range o.records {
		if r.Script != "" && len(r.Script) <= longScript && len(texts) < mostScripts {
			texts[effects.ScriptName(r.Script)] = r.Script
		}
	}
	return texts
}

// again runs an order's commands once more, and returns its records with the commands
// of its scripts and transactions.
func (o *Order) again(key string) []effects.Record {
	b := newEmbedded(false, scriptFor)
	defer b.close()
	if !o.began.IsZero() { // a client may have sent instants of its own clock
		b.from(o.began)
	}
	sessions := map[string]session{}
	records := make([]effects.Record, len(o.records))
	for i, r := range o.records {
		records[i] = r
		if d := r.At - b.at; d > 0 {
			b.advance(d)
		}
		if r.Do == Evict {
			b.evict(key)
		}
		if r.Thread == "" || r.Args == nil || r.Mark != "" || r.Vain || r.Do == LoseRequest || r.Do == LateCopy || r.Do == Crash || r.Do == Pause {
			continue
		}
		s := sessions[r.Thread]
		if s == nil {
			s, _ = b.session()
			sessions[r.Thread] = s
		}
		switch effects.Verb(r.Args) {
		case "XREADGROUP", "WATCH":
			continue
		}
		if r.Tx != nil && r.Reply == nil { // what it watched had changed: nothing was run
			continue
		}
		for _, args := range r.Tx {
			raw, err := s.do(args)
			if err != nil {
				break
			}
			v, failed := resp.Value(raw)
			records[i].Inner = append(records[i].Inner, journal.Entry{Args: args, Reply: v, Err: failed, Key: b.key(key)})
		}
		if r.Tx != nil {
			continue
		}
		raw, inner, err := effects.Run(s.do, r.Args, r.Script, true)
		if _, failed := resp.Value(raw); err == nil && (failed == "") == (r.Err == "") {
			records[i].Inner = inner
		}
	}
	return records
}
