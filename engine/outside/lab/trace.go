package lab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"relock/engine/fault"
	"relock/engine/journal"
	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// scenario is the frame that a lab's trace has instead of a scenario: the threads, the
// lock's key, and the longest lease seen. It says nothing about the workers' work.
func (o *Order) scenario(key string, opts Options, title string) (json.RawMessage, error) {
	if o.marks {
		opts.Also = nil
	}
	lease := o.lease
	if opts.Clock == ClockWall || opts.External != nil { // a moment of it has passed when it is seen
		lease = (lease + 9) / 10 * 10
	}
	sc, err := infer.Frame{Title: title, Hash: o.hash, Key: key, Also: opts.Also, Kind: opts.Kind, Nodes: opts.Nodes, Lease: time.Duration(lease) * time.Millisecond, Threads: threadNames(opts.Threads), Seed: opts.Seed}.Scenario()
	if err != nil {
		return nil, fmt.Errorf("lab: scenario: %w", err)
	}
	text, err := json.Marshal(sc)
	if err != nil {
		return nil, fmt.Errorf("lab: scenario: %w", err)
	}
	return text, nil
}

// Trace is an order as a trace. Its commands run again on an embedded Redis, at their
// instants, so that scripts report their own commands; if that Redis cannot, the
// scripts stay whole. It fails if the frame of the trace cannot be written.
func (o *Order) Trace(f *Found, opts Options, title string) (trace.Header, []trace.Event, error) {
	t := o.telling(f, opts, title)
	defer t.close()
	if err := t.goOn(f.Key, o.marks); err != nil {
		return trace.Header{}, nil, err
	}
	t.finish()
	h, err := Ordered(t.header, o.Decisions)
	return h, t.reading.Events(), err
}

// telling begins to tell the order, with what all orders have shown. The caller closes it.
func (o *Order) telling(f *Found, opts Options, title string) *telling {
	known := infer.Roles{}
	maps.Copy(known, f.roles)
	t := &telling{o: o, opts: opts, title: title, store: f.Store, unknown: !f.Evidence.Kind.IsZero()}
	t.harms = t.unknown
	t.begin(f.Key, o.marks, known)
	return t
}

// Rows are an order as the lines of a table: each command with its answer and the lock's key right
// after it, the commands of its script below it, and the rules that it breaks.
func (o *Order) Rows(f *Found, opts Options) []Row {
	t := o.telling(f, opts, "")
	defer t.close()
	var list []Row
	for _, r := range o.records {
		r.Inner = t.again(r)
		seen := len(t.reading.Broken())
		t.reading.See(r)
		if r.Args != nil || r.Do != "" {
			list = append(list, rows(r, f.Key)...)
		}
		list = append(list, broken(opts.Kind, t.reading.Broken()[seen:])...)
	}
	seen := len(t.reading.Broken())
	t.finish()
	return append(list, broken(opts.Kind, t.reading.Broken()[seen:])...)
}

// Ordered returns a header with the order that it is the trace of.
func Ordered(h trace.Header, order []Decision) (trace.Header, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return h, fmt.Errorf("lab: order: %w", err)
	}
	of := *h.Lab
	of.Order, h.Lab = text, &of
	return h, nil
}

// telling is an order as a trace that grows with it. If a record shows that those before
// it were something else, it begins again. It is not safe for concurrent use.
type telling struct {
	o     *Order
	opts  Options
	title string
	store string
	times int // grows when an earlier report changes, apart from owners that join

	key      string
	marks    bool
	known    infer.Roles
	redis    nodes             // on which the commands run again
	sessions map[place]session // of threads, by their names
	reading  infer.Fold
	read     int             // records
	after    []int           // so many events before the first of them, and after each
	words    map[string]bool // of the commands
	unknown  bool            // the lock's kind is not, as other orders have shown
	harms    bool            // only rules about what it protects count, because its kind is unknown so far
	header   trace.Header    // without the order; readers share its maps, so they are never written
	lease    int64           // and hash: that the header's frame has
	hash     bool
	over     bool
}

func (t *telling) close() {
	if t.redis != nil {
		t.redis.close()
	}
}

// begin begins again, with what commands are known to do.
func (t *telling) begin(key string, marks bool, known infer.Roles) {
	t.close()
	t.key, t.marks, t.known = key, marks, known
	t.redis, t.sessions = nil, map[place]session{}
	for range max(t.opts.Nodes, 1) {
		b := newEmbedded(false, scriptFor)
		if !t.o.began.IsZero() { // a client may have sent instants by its own clock
			b.from(t.o.began)
		}
		t.redis = append(t.redis, b)
	}
	t.reading = t.opts.fold(key, marks, known)
	t.reading.SetStart(t.o.began)
	if t.harms {
		t.reading.OnlyHarms()
	}
	t.read, t.after, t.words, t.over = 0, []int{0}, map[string]bool{}, false
	by := trace.ByEffects
	if marks {
		by = trace.ByMarks
	}
	t.header = trace.Header{
		Relock: trace.Version, Seed: t.opts.Seed, Store: trace.StoreLab, Clock: trace.ClockVirtual,
		Lab: &trace.Lab{Command: t.opts.Command, By: by, Redis: t.store},
	}
	if t.opts.Clock == ClockWall || t.opts.External != nil {
		t.header.Clock = trace.ClockWall
	}
	t.times++
}

// goOn tells the records that are new. The end of a script shows what its beginning is
// for; the key, and whether there are marks, count from the start, too.
func (t *telling) goOn(key string, marks bool) error {
	if t.redis == nil || key != t.key || marks != t.marks {
		t.harms = t.unknown
		t.begin(key, marks, infer.Roles{})
	}
	t.readOn()
	if t.reading.Misread() {
		t.begin(key, marks, t.known)
		t.readOn()
	}
	says, helps := t.reading.Kind()
	if harms := t.unknown || !says.IsZero(); harms != t.harms {
		t.harms = harms
		t.begin(key, marks, t.known)
		t.readOn()
	}
	if !says.IsZero() {
		t.header.Unjudged = verdict.Judgement{Unjudged: []verdict.Lack{verdict.Unknown(says, helps)}}.Lacks()
	}
	if t.header.Scenario == nil || t.lease != t.o.lease || t.hash != t.o.hash {
		text, err := t.o.scenario(key, t.opts, t.title)
		if err != nil {
			return err
		}
		if !bytes.Equal(text, t.header.Scenario) {
			t.header.Scenario = text
			t.times++
		}
		t.lease, t.hash = t.o.lease, t.o.hash
	}
	return nil
}

func (t *telling) readOn() {
	named := len(t.reading.Named())
	for _, r := range t.o.records[t.read:] {
		r.Inner = t.again(r)
		before := len(t.reading.Named())
		t.reading.See(r)
		for _, id := range t.reading.Named()[before:] {
			if t.words[id] || t.reading.Owners()[id] == "" { // the reported events have that name
				t.times++
			}
		}
		for _, args := range append([][]string{r.Args}, r.Tx...) {
			for _, a := range args {
				t.words[a] = true
			}
		}
		t.keep(r.Script)
		t.after = append(t.after, len(t.reading.Events()))
	}
	t.read = len(t.o.records)
	if t.header.Owners == nil || len(t.reading.Named()) > named {
		t.header.Owners = maps.Clone(t.reading.Owners())
	}
}

// Limits of the scripts that a trace has.
const (
	mostScripts = 16
	longScript  = 64 << 10 // bytes
)

// keep keeps the text of a script that was run, by its name.
func (t *telling) keep(text string) {
	texts := t.header.Lab.Scripts
	if text == "" || len(text) > longScript || len(texts) == mostScripts {
		return
	}
	if name := infer.ScriptName(text); texts[name] == "" {
		of := *t.header.Lab
		of.Scripts = maps.Clone(texts)
		if of.Scripts == nil {
			of.Scripts = map[string]string{}
		}
		of.Scripts[name], t.header.Lab = text, &of
		t.times++
	}
}

// finish tells the end of the order.
func (t *telling) finish() {
	if !t.over {
		t.over = true
		t.reading.Finish(t.o.final)
	}
}

// again runs a record's command once more, and returns the commands of its script or
// transaction.
func (t *telling) again(r infer.Record) []journal.Entry {
	if d := r.At - t.redis.now(); d > 0 {
		t.redis.advance(d)
	}
	b := t.redis[max(r.Node-1, 0)]
	for i, key := range append([]string{t.key}, t.opts.Also...) {
		if one := r.Of(i); r.Do == Evict && one.Before.Exists() && !one.After.Exists() {
			b.evict(key)
		}
	}
	if r.Thread == "" || r.Args == nil || r.Mark != "" || r.Vain || fault.Withholds(r.Do) {
		return r.Inner
	}
	at := place{r.Node, r.Thread}
	s := t.sessions[at]
	if s == nil {
		s, _ = b.session()
		t.sessions[at] = s
	}
	switch infer.Verb(r.Args) {
	case "XREADGROUP", "WATCH":
		return r.Inner
	}
	if r.Tx != nil && r.Reply == nil { // what it watched had changed: nothing was run
		return r.Inner
	}
	for _, args := range r.Tx {
		raw, err := s.do(args)
		if err != nil {
			break
		}
		v, failed := resp.Value(raw)
		r.Inner = append(r.Inner, journal.Entry{Args: args, Reply: v, Err: failed, Key: b.key(t.key)})
	}
	if r.Tx != nil {
		return r.Inner
	}
	raw, inner, err := infer.Run(s.do, r.Args, r.Script, true)
	if _, failed := resp.Value(raw); err == nil && (failed == "") == (r.Err == "") {
		return inner
	}
	return r.Inner
}
