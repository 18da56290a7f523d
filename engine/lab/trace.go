package lab

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"relock/engine/journal"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// Scenario is the frame that a lab's trace has in the place of a scenario: the threads,
// the lock's key, and the longest lease that was seen. It says nothing of what the
// workers do.
func (o *Order) Scenario(f *Found, opts Options, title string) (*scenario.Scenario, error) {
	name := exhibit.Mutex.Name
	lease := int64(0)
	for _, r := range o.records {
		lease = max(lease, r.After.PTTL)
		if r.After.Type == trace.TypeHash {
			name = protocol.Reentrant.Name
		}
	}
	if lease <= 0 {
		lease = scenario.MaxDuration.Milliseconds()
	}
	key := f.Key
	if key == "" {
		key = "none"
	}
	type thread struct {
		Name string `json:"name"`
	}
	form := struct {
		Title string `json:"title"`
		Lock  struct {
			Protocol string `json:"protocol"`
			Key      string `json:"key"`
			Lease    string `json:"lease"`
			Watchdog string `json:"watchdog"`
		} `json:"lock"`
		Threads []thread `json:"threads"`
		Seed    uint64   `json:"seed"`
	}{Title: short(title, scenario.MaxTitle), Seed: min(opts.Seed, scenario.MaxSeed)}
	form.Lock.Protocol, form.Lock.Key, form.Lock.Watchdog = name, short(key, scenario.MaxKey), "off"
	form.Lock.Lease = min(time.Duration(lease)*time.Millisecond, scenario.MaxDuration).String()
	for _, t := range threadNames(opts.Threads) {
		form.Threads = append(form.Threads, thread{t})
	}
	text, err := json.Marshal(form)
	if err != nil {
		return nil, fmt.Errorf("lab: scenario: %w", err)
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("lab: scenario: %w", err)
	}
	return sc, nil
}

// short cuts a text to n characters.
func short(s string, n int) string {
	r := []rune(strings.ToValidUTF8(s, "?"))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:n-1]) + "…"
}

// Trace is an order as a trace. Its commands are run again on an embedded Redis, at
// their instants, so that scripts report their own commands; where that Redis cannot,
// the scripts stay whole. Title is what is said of it. It fails where the frame of the
// trace cannot be written.
func (o *Order) Trace(f *Found, opts Options, title string) (trace.Header, []trace.Event, error) {
	sc, err := o.Scenario(f, opts, title)
	if err != nil {
		return trace.Header{}, nil, err
	}
	text, err := json.Marshal(sc)
	if err != nil {
		return trace.Header{}, nil, fmt.Errorf("lab: scenario: %w", err)
	}
	by := ByEffects
	if o.marks {
		by = ByMarks
	}
	h := trace.Header{
		Relock: trace.Version, Scenario: text, Seed: opts.Seed, Store: trace.StoreLab, Clock: trace.ClockVirtual,
		Lab: &trace.Lab{Command: opts.Command, By: by, Redis: f.Store},
	}
	if opts.Clock == ClockWall || opts.External != nil {
		h.Clock = trace.ClockWall
	}
	if h.Lab.Order, err = json.Marshal(o.Decisions); err != nil {
		return h, nil, fmt.Errorf("lab: order: %w", err)
	}
	records, known := o.again(f.Key), roles{}
	whole := newJudge(threadNames(opts.Threads), f.Key, opts.Resource, o.marks, known)
	for _, r := range o.records { // what a script does at its end says what it is for at its beginning
		whole.see(r)
	}
	j := newJudge(threadNames(opts.Threads), f.Key, opts.Resource, o.marks, known)
	for _, r := range records {
		j.see(r)
	}
	j.finish(o.final, o.asking, o.waiting)
	h.Owners = j.owners
	return h, j.events, nil
}

// again runs an order's commands once more, and returns its records with the commands
// of its scripts and transactions.
func (o *Order) again(key string) []Record {
	b := newEmbedded(false, scriptFor)
	defer b.close()
	sessions := map[string]session{}
	records := make([]Record, len(o.records))
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
		switch verb(r.Args) {
		case "XREADGROUP", "WATCH":
			continue
		}
		for _, args := range r.Tx {
			raw, err := s.do(args)
			if err != nil {
				break
			}
			v, failed := value(raw)
			records[i].Inner = append(records[i].Inner, journal.Entry{Args: args, Reply: v, Err: failed, Key: b.key(key)})
		}
		if r.Tx != nil {
			continue
		}
		raw, inner, err := run(s, r.Args, r.Script, true)
		if _, failed := value(raw); err == nil && (failed == "") == (r.Err == "") {
			records[i].Inner = inner
		}
	}
	return records
}
