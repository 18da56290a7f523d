package logs

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"relock/engine/bound"
	"relock/engine/journal"
	"relock/engine/outside/infer"
	"relock/engine/outside/resp"
	"relock/engine/pause"
	"relock/engine/store"
	"relock/engine/trace"
)

// scriptFor is how long a script may take that is run again.
const scriptFor = 2 * time.Second

// near is how close to the end of a lease nobody can say which was first.
const near = 2 * time.Millisecond

// Limits of the scripts that a trace has.
const (
	mostScripts = 16
	longScript  = 64 << 10 // bytes
)

// played is what became of an entry, or of the lease.
type played struct {
	infer.Record

	line   int
	client string
	who    string   // the owner id that it names, or ""
	held   []string // of the lease's end: whose it was
}

// player runs a log's commands again.
type player struct {
	log           *Log
	key, resource string
	also          []string // keys of further locks
	plain         bool     // no script is run
	held          int      // bytes of what was played, as its events will take
	e             *store.Embedded
	s             *store.Conn
	base          time.Time
	from, at      time.Duration // of the log: the first instant, and now
	hung          bool
	texts         map[string]string // of scripts, by digest
	played        []played
	named         int
	marks, hash   bool
	marking       map[string]bool // connections that say when they are inside: all their keys may be of the lock
	same          bool            // on several servers, all threads write one value
	lease         int64           // the longest, in ms
	scripts       map[string]string
	most, servers int       // limits of one of several nodes
	nodes         []*player // of several servers
	paths         map[string]*path
	asked         map[situation]infer.Record
	notes         map[string]*trace.LogNote
	waiting       []*Entry // for a token of the lock's list, the longest first
}

func newPlayer(l *Log, key string, o Options) *player {
	p := &player{most: MostCommands, servers: 1, log: l, key: key, also: o.Also, resource: o.Resource, plain: o.NoScripts, texts: map[string]string{}, scripts: map[string]string{}, paths: map[string]*path{}, asked: map[situation]infer.Record{}, notes: map[string]*trace.LogNote{}, marking: map[string]bool{}}
	for _, e := range l.Entries {
		switch verb := infer.Verb(e.Args); {
		case (verb == "EVAL" || verb == "EVAL_RO") && len(e.Args) > 2:
			p.texts[infer.Digest(e.Args[1])] = e.Args[1]
		case verb == "SCRIPT" && len(e.Args) == 3 && strings.EqualFold(e.Args[1], "LOAD"):
			p.texts[infer.Digest(e.Args[2])] = e.Args[2]
		}
	}
	return p
}

func (p *player) close() {
	for _, node := range p.nodes {
		node.close()
	}
	if p.e != nil {
		_ = p.e.Close()
	}
}

func (p *player) note(what string, line int) {
	n := p.notes[what]
	if n == nil {
		n = &trace.LogNote{What: what, Line: line}
		p.notes[what] = n
	}
	n.Count++
}

// state is the lock's key now.
func (p *player) state() trace.KeyState {
	if p.nodes != nil {
		return trace.Majority(p.states())
	}
	if p.e == nil {
		return trace.Absent()
	}
	return p.e.Key(p.key)
}

// keys are the locks' keys.
func (p *player) keys() []string { return append([]string{p.key}, p.also...) }

// opens are the further locks' keys before something.
func (p *player) opens() []infer.Change {
	var list []infer.Change
	for _, key := range p.also {
		list = append(list, infer.Change{Before: p.e.Key(key)})
	}
	return list
}

// closes are they after it.
func (p *player) closes(list []infer.Change) []infer.Change {
	for i, key := range p.also {
		list[i].After = p.e.Key(key)
	}
	return list
}

// first is the key of the lock that a command is of: of several the first that it names.
func (p *player) first(args []string) string {
	for _, key := range infer.Touches(args).Keys {
		if slices.Contains(p.also, key) {
			return key
		}
		if key == p.key {
			break
		}
	}
	return p.key
}

// of is the state of the lock's key that a command is of.
func (p *player) of(args []string) trace.KeyState {
	if len(p.also) == 0 {
		return p.state()
	}
	return p.e.Key(p.first(args))
}

// all runs what names the key, and what else scripts need that do.
func (p *player) all(ctx context.Context, db int) error {
	related := map[string]bool{}
	for _, key := range p.keys() {
		related[key] = true
	}
	relevant := make([]bool, len(p.log.Entries))
	for i := range p.log.Entries {
		if err := pause.Here(ctx); err != nil {
			return err
		}
		e := &p.log.Entries[i]
		if !slices.ContainsFunc(p.keys(), e.names) && (p.resource == "" || !e.names(p.resource)) {
			continue
		}
		if e.DB != db {
			p.note(trace.NoteDatabases, e.Line)
			continue
		}
		relevant[i] = true
		for _, k := range e.keys {
			related[k] = true
		}
	}
	ours := p.marked(relevant)
	for i, is := range ours {
		if is {
			p.marking[p.log.Entries[i].Client] = true
		}
	}
	for i := range p.log.Entries {
		e := &p.log.Entries[i]
		mark := infer.Mark(e.Args)
		aside := false
		switch {
		case relevant[i], ours[i]:
		case e.DB == db && mark == "" && (p.marking[e.Client] && len(e.keys) > 0 || slices.ContainsFunc(e.keys, func(k string) bool { return related[k] })):
			aside = true
		default:
			continue
		}
		if p.named >= p.most {
			p.note(trace.NoteLeftOut, e.Line)
			continue
		}
		if err := pause.Here(ctx); err != nil {
			return err
		}
		if e.part && !aside && p.who(e.Args) == "" {
			p.note(trace.NoteCallers, e.Line)
		}
		if err := p.step(ctx, e, mark, aside); err != nil {
			return err
		}
		if p.held > bound.Held {
			return bound.ErrHeld
		}
		if ctx.Err() != nil { // in mid-script
			return context.Cause(ctx)
		}
		if p.hung {
			return wrong(e.Line, "its script does not end when it runs again")
		}
	}
	return nil
}

// marked tells which marks are of the lock. A mark belongs to the lock that its connection used last, or, without one, to
// the lock that it uses next; a mark to leave belongs to the lock that was entered.
func (p *player) marked(relevant []bool) []bool {
	locks := map[string]bool{}
	for _, key := range p.keys() {
		locks[key] = true
	}
	for _, k := range p.log.locks {
		locks[k.Key] = true
	}
	ours := make([]bool, len(p.log.Entries))
	near, early, inside := map[string]bool{}, map[string][]int{}, map[string][]bool{}
	for i := range p.log.Entries {
		e := &p.log.Entries[i]
		is, known := near[e.Client]
		mark := infer.Mark(e.Args)
		open := inside[e.Client]
		switch {
		case (mark == infer.MarkEnter || mark == infer.MarkLeave) && infer.NamesLock(e.Args): // it says itself of which it is
			ours[i] = true
		case mark == infer.MarkLeave && len(open) > 0:
			ours[i], inside[e.Client] = open[len(open)-1], open[:len(open)-1]
		case mark == infer.MarkEnter && known:
			ours[i], inside[e.Client] = is, append(open, is)
		case mark == infer.MarkLeave && known:
			ours[i] = is
		case mark == infer.MarkEnter, mark == infer.MarkLeave:
			early[e.Client] = append(early[e.Client], i)
		case slices.ContainsFunc(e.keys, func(k string) bool { return locks[k] }):
			near[e.Client] = relevant[i]
			for _, n := range early[e.Client] {
				ours[n] = relevant[i]
			}
			delete(early, e.Client)
		}
	}
	return ours
}

// reach lets time go on to an entry; the first one begins it.
func (p *player) reach(e *Entry) {
	if p.e == nil {
		p.from, p.at = e.At, e.At
		p.base = time.Unix(0, int64(e.At)).Truncate(time.Millisecond)
		if !p.log.Timed {
			p.base = time.Unix(1_000_000_000, 0)
		}
		p.e = store.NewEmbedded(p.base)
		p.s = p.e.NewConn()
	}
	if p.log.Timed {
		if e.At < p.at {
			if p.at-e.At > time.Millisecond {
				p.note(trace.NoteBackwards, e.Line)
			}
		} else {
			p.advance(e.At, e.Line)
		}
	}
}

// step runs one entry. A command aside changes only what scripts read.
func (p *player) step(ctx context.Context, e *Entry, mark string, aside bool) error {
	p.reach(e)
	if mark != "" {
		p.marks = true
		p.keep(played{Record: infer.Record{Args: e.Args, Mark: mark, Before: p.state(), After: p.state(), Also: p.closes(p.opens())}, line: e.Line, client: e.Client})
		return nil
	}
	if aside {
		p.besides(ctx, e)
		return nil
	}
	p.named++
	for _, what := range e.notes {
		p.note(what, e.Line)
	}
	if p.log.Timed {
		if left := p.of(e.Args).PTTL; left >= 0 && time.Duration(left)*time.Millisecond <= near {
			p.note(trace.NoteClose, e.Line)
		}
	}
	key := p.first(e.Args)
	wholes := p.wholes(e)
	before, also, stood := p.state(), p.opens(), p.e.Key(key)
	undo := p.undoes(e)
	r, ok := p.run(ctx, e)
	if !ok {
		return nil
	}
	if !e.agrees(r) {
		if undo != nil && stood.Exists() {
			again, ran, ended := p.withoutLease(ctx, e, key, stood, undo)
			if ran {
				r = again
			}
			if ended {
				if stood.PTTL >= 0 {
					stood.PTTL = 0
				}
				if before, also = p.lapsed(key, stood, before, also); p.log.Timed {
					p.note(trace.NoteOther, e.Line)
				}
				e = withoutReply(e)
			}
		}
		if e.Reply == nil && e.replies != nil {
			p.note(trace.NoteOther, e.Line)
		}
		if e.Reply != nil {
			p.note(trace.NoteOther, e.Line)
			if undo != nil && says(e.Reply) == "no" { // nothing was done
				undo()
				r.Inner = nil
			}
			r.Reply, r.Err = e.Reply.Value, e.Reply.Err
		}
	}
	r.Late = e.late
	r.Before, r.After, r.Also = before, p.state(), p.closes(also)
	r.Keys = infer.Changed(wholes, p.wholes(e))
	for i := range p.keys() {
		after := r.Of(i).After
		p.hash = p.hash || after.Type == trace.TypeHash
		p.lease = max(p.lease, after.PTTL)
	}
	for _, in := range r.Inner {
		p.lease = max(p.lease, in.Key.PTTL)
	}
	p.keep(played{Record: r, line: e.Line, client: e.Client})
	p.serve()
	return nil
}

// besides runs a command about other keys than the lock's. What it changes may still be of the lock
// of a thread that says when it is inside.
func (p *player) besides(ctx context.Context, e *Entry) {
	before := p.wholes(e)
	r, ok := p.run(ctx, e)
	if !ok || !p.marking[e.Client] {
		return
	}
	r.Aside, r.Before, r.After, r.Keys = true, p.state(), p.state(), infer.Changed(before, p.wholes(e))
	r.Also = p.closes(p.opens())
	p.keep(played{Record: r, line: e.Line, client: e.Client})
}

// wholes are the keys that an entry can change, where it matters what they hold.
func (p *player) wholes(e *Entry) map[string]infer.Whole {
	if len(p.marking) == 0 {
		return nil
	}
	all := map[string]infer.Whole{}
	for _, name := range p.touched(e) {
		if k := p.e.Key(name); k.Exists() {
			all[name] = infer.WholeOf(k, infer.Listed(k.Type, name, func(args []string) []byte { return p.s.Do(args) }))
		}
	}
	return all
}

// undoes returns what takes an entry's effects back; nil if what it can change has a type that
// cannot be saved.
func (p *player) undoes(e *Entry) func() {
	names := p.touched(e)
	saved, err := p.e.Items(names)
	if err != nil {
		return nil
	}
	return func() { _ = p.e.Put(names, saved) } // of types that were saved
}

// withoutLease runs an entry again as if the lease of its key had ended before, and reports
// whether it then does what the log tells. If not, it runs once more as it did at first.
func (p *player) withoutLease(ctx context.Context, e *Entry, key string, stood trace.KeyState, undo func()) (again infer.Record, ran, ended bool) {
	undo()
	at := p.at
	if stood.PTTL > 0 && !p.log.Timed {
		p.at += time.Duration(stood.PTTL) * time.Millisecond
		p.e.SetTime(p.base.Add(p.at - p.from))
	} else {
		_ = p.e.Put([]string{key}, nil)
	}
	if again, ran = p.run(ctx, e); ran && e.agrees(again) && (stood.PTTL > 0 || p.log.Timed) {
		return again, true, true
	}
	p.at = at
	p.e.SetTime(p.base.Add(p.at - p.from))
	undo()
	again, ran = p.run(ctx, e)
	return again, ran, false
}

// pops reports whether a command waits for an element of the lock's list, and of no other.
func (p *player) pops(args []string) bool {
	verb := infer.Verb(args)
	return (verb == "BLPOP" || verb == "BRPOP") && len(args) == 3 && args[1] == p.key
}

// pop takes an element for a command that waits for one; false while there is none.
func (p *player) pop(e *Entry) (infer.Record, bool) {
	r := infer.Record{Args: e.Args, Before: p.state(), Also: p.opens()}
	if r.Before.Type != trace.TypeList {
		return r, false
	}
	element, failed := resp.Value(p.s.Do([]string{infer.Verb(e.Args)[1:], p.key}))
	if failed != "" {
		return r, false
	}
	r.Reply, r.After, r.Also = []any{p.key, element}, p.state(), p.closes(r.Also)
	return r, true
}

// serve gives elements of the lock's list to those that wait for one: Redis serves first who
// has waited longest.
func (p *player) serve() {
	for len(p.waiting) > 0 {
		e := p.waiting[0]
		if until, err := strconv.ParseFloat(e.Args[2], 64); err == nil && until > 0 && p.log.Timed && p.at-e.At > time.Duration(until*float64(time.Second)) {
			p.waiting = p.waiting[1:] // in vain
			continue
		}
		r, ok := p.pop(e)
		if !ok {
			return
		}
		p.waiting = p.waiting[1:]
		p.keep(played{Record: r, line: e.Line, client: e.Client})
	}
}

// lapsed keeps the end of a lock's lease, and returns the keys as they are then, given those
// before it.
func (p *player) lapsed(key string, was, before trace.KeyState, also []infer.Change) (trace.KeyState, []infer.Change) {
	r := infer.Record{Before: before, After: before, Gone: []string{key}}
	next := slices.Clone(also)
	for i, one := range also {
		r.Also = append(r.Also, infer.Change{Before: one.Before, After: one.Before})
		if p.also[i] == key {
			r.Also[i] = infer.Change{Before: was, After: trace.Absent()}
			next[i].Before = trace.Absent()
		}
	}
	if key == p.key {
		r.Before, r.After = was, trace.Absent()
		before = trace.Absent()
	}
	p.keep(played{Record: r})
	return before, next
}

func withoutReply(e *Entry) *Entry {
	c := *e
	c.Reply, c.replies = nil, nil
	return &c
}

// keep appends what was played, at its instant.
func (p *player) keep(one played) {
	one.At = p.at - p.from
	p.played = append(p.played, one)
	nodes := make([]trace.KeyState, p.servers)
	p.held += trace.Event{Key: one.After, Nodes: nodes, Body: trace.Command{Args: one.Args, Reply: one.Reply}}.Size()
	for _, in := range one.Inner {
		p.held += trace.Event{Key: in.Key, Nodes: nodes, Body: trace.Command{Args: in.Args, Reply: in.Reply}}.Size()
	}
}

// advance lets time pass, and tells the end of the lease.
func (p *player) advance(to time.Duration, line int) {
	for _, key := range p.inOrder() {
		before := p.e.Key(key)
		left := time.Duration(before.PTTL) * time.Millisecond
		if before.PTTL < 0 || p.at+left > to {
			continue
		}
		// Redis counts whole milliseconds.
		end := p.base.Add(p.at-p.from).Truncate(time.Millisecond).Add(left).Sub(p.base) + p.from
		p.reaches(max(p.at, min(end, to)))
		if p.log.Timed && to-end <= near && line > 0 && !p.e.Key(key).Exists() {
			p.note(trace.NoteClose, line)
		}
	}
	p.reaches(to)
}

// reaches lets time pass, and keeps the ends of those leases that are over then.
func (p *player) reaches(at time.Duration) {
	before, also := p.state(), p.opens()
	stood := []trace.KeyState{before}
	for _, one := range also {
		stood = append(stood, one.Before)
	}
	p.at = at
	p.e.SetTime(p.base.Add(p.at - p.from))
	for i, key := range p.keys() {
		if stood[i].Exists() && !p.e.Key(key).Exists() {
			before, also = p.lapsed(key, stood[i], before, also)
		}
	}
}

// inOrder are the keys of the locks in the order in which their leases end.
func (p *player) inOrder() []string {
	keys := p.keys()
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(p.e.Key(a).PTTL, p.e.Key(b).PTTL) })
	return keys
}

// touched are the keys that an entry can change.
func (p *player) touched(e *Entry) []string {
	list := slices.Clip(e.keys)
	for _, key := range p.keys() {
		if !slices.Contains(e.keys, key) {
			list = append(list, key)
		}
	}
	return list
}

// do runs one command.
func (p *player) do(ctx context.Context, args []string) ([]byte, error) {
	if !isScript(args) {
		return p.s.Do(args), nil
	}
	raw, err := p.s.DoWithin(ctx, scriptFor, args)
	p.hung = p.hung || errors.Is(err, store.ErrEndless)
	return raw, err
}

// doer is do within ctx.
func (p *player) doer(ctx context.Context) func(args []string) ([]byte, error) {
	return func(args []string) ([]byte, error) { return p.do(ctx, args) }
}

// run runs an entry, and reports whether there was anything to run.
func (p *player) run(ctx context.Context, e *Entry) (infer.Record, bool) {
	if e.own {
		return p.ask(ctx, e)
	}
	r := infer.Record{Args: e.Args}
	if !isScript(e.Args) {
		switch verb := infer.Verb(e.Args); {
		case p.pops(e.Args):
			r, ok := p.pop(e)
			if !ok {
				p.note(trace.NoteWaits, e.Line)
				p.waiting = append(p.waiting, e)
			}
			return r, ok
		case quiet[verb], waits(e.Args):
			return r, false
		case !p.e.Knows(verb) || !safe(e.Args):
			p.note(trace.NoteUnknown, e.Line)
			return r, false
		}
		raw, err := p.do(ctx, e.Args)
		if err != nil {
			return r, false
		}
		r.Reply, r.Err = resp.Value(raw)
		return r, true
	}
	return p.runScript(ctx, e)
}

// runScript runs a script, and reports whether there was anything to run: its text, or else
// the commands that the log tells.
func (p *player) runScript(ctx context.Context, e *Entry) (infer.Record, bool) {
	r := infer.Record{Args: e.Args}
	text := p.text(e.Args)
	if e.exact {
		if text = ""; e.source != "" {
			p.keepScript(e.source)
			r.Script = e.source
		}
	}
	if p.plain {
		if len(e.Inner) == 0 && !p.log.Inside {
			p.note(trace.NoteScripts, e.Line)
			return r, false
		}
		text = ""
	}
	nothing := trace.NoteNothing
	if !p.log.Inside && p.log.Format != Monitor { // which tells what a script runs
		nothing = trace.NoteUntold
	}
	if len(e.Inner) == 0 && (p.log.Inside || text == "") {
		p.note(nothing, e.Line)
		return r, false
	}
	if text != "" {
		name := p.keepScript(text)
		r.Script = text
		path := p.path(name, e.Inner)
		if path != nil && path.sure() {
			return p.follow(ctx, e, r, path), true
		}
		if undo := p.undoes(e); undo != nil {
			raw, inner, failed := infer.Run(p.doer(ctx), e.Args, text, true)
			if failed == nil && (len(e.Inner) == 0 || same(inner, e.Inner)) {
				r.Inner = inner
				r.Reply, r.Err = resp.Value(raw)
				path.learn(r)
				return r, true
			}
			if p.hung {
				return r, false
			}
			undo()
		}
		if len(e.Inner) == 0 {
			p.note(nothing, e.Line)
			return r, false
		}
		p.note(trace.NoteInside, e.Line)
	}
	return p.runInner(ctx, e, r)
}

// runInner runs the commands of a script that the log tells.
func (p *player) runInner(ctx context.Context, e *Entry, r infer.Record) (infer.Record, bool) {
	before := p.of(e.Args)
	for i, args := range e.Inner {
		if waits(args) || !p.e.Knows(infer.Verb(args)) || isScript(args) || !safe(args) {
			p.note(trace.NoteUnknown, e.Line)
			continue
		}
		raw, err := p.do(ctx, args)
		if err != nil {
			return r, false
		}
		one := journal.Entry{Args: args, Key: p.of(e.Args)}
		if i < len(e.lines) {
			one.Line = e.lines[i]
		}
		one.Reply, one.Err = resp.Value(raw)
		r.Inner = append(r.Inner, one)
	}
	if e.exact && e.Reply != nil {
		r.Reply, r.Err = e.Reply.Value, e.Reply.Err
	} else if !infer.Equal(before, p.of(e.Args)) { // the log does not have the script's answer, only that it did something
		r.Reply = int64(1)
	}
	return r, true
}

// keepScript keeps a script for the trace, as far as there is room, and names it.
func (p *player) keepScript(text string) string {
	name := infer.ScriptName(text)
	if _, known := p.scripts[name]; !known && len(text) <= longScript && len(p.scripts) < mostScripts {
		p.scripts[name] = text
	}
	return name
}

// path is one way through a script: the commands that it ran, by name. A log has the same way
// thousands of times, and a script takes longer to run than its commands.
type path struct {
	lines   []int // of the script
	times   int
	reply   any  // of the first time
	always  bool // it was the same each time
	likeEnd bool // it was what its last command answered
}

// enough times the same make sure how a way ends.
const enough = 100

func (w *path) sure() bool { return w.times >= enough && (w.always || w.likeEnd) }

// learn takes a run of it.
func (w *path) learn(r infer.Record) {
	if w == nil || r.Err != "" {
		return
	}
	last := reflect.DeepEqual(r.Reply, r.Inner[len(r.Inner)-1].Reply)
	if w.times++; w.times == 1 {
		w.reply, w.always, w.likeEnd = r.Reply, true, last
		for _, in := range r.Inner {
			w.lines = append(w.lines, in.Line)
		}
		return
	}
	w.always, w.likeEnd = w.always && reflect.DeepEqual(w.reply, r.Reply), w.likeEnd && last
	for i, in := range r.Inner {
		w.always, w.likeEnd = w.always && w.lines[i] == in.Line, w.likeEnd && w.lines[i] == in.Line
	}
}

// path returns the way of commands that a log tells, or nil.
func (p *player) path(script string, inner [][]string) *path {
	if len(inner) == 0 {
		return nil
	}
	name := script
	for _, args := range inner {
		name += " " + args[0]
	}
	if p.paths[name] == nil {
		p.paths[name] = &path{}
	}
	return p.paths[name]
}

// situation is all that a script of our reentrant lock goes by: in the same one it runs the same
// commands, and answers the same.
type situation struct {
	script, level string
	kind          string // of the key, or none
	mine          bool
	count         string
	short         bool // less of the lease is left than is asked for
}

// ask runs a script of our reentrant lock on the key, given the owner and what else it takes.
func (p *player) ask(ctx context.Context, e *Entry) (infer.Record, bool) {
	text, owner, level, lease := e.Args[1], e.Args[4], e.Args[5], e.Args[len(e.Args)-1]
	r := infer.Record{Args: e.Args, Script: text}
	p.keepScript(text)
	before := p.of(e.Args)
	count, mine := before.Fields[owner]
	ms, _ := strconv.ParseInt(lease, 10, 64) // of an unlock the level, by which nothing goes
	now := situation{text, level, before.Type, mine, count, before.PTTL < ms}
	if known, ok := p.asked[now]; ok {
		for _, one := range known.Inner {
			args := slices.Clone(one.Args)
			if len(args) > 1 && args[1] == known.Args[3] {
				args[1] = e.Args[3]
			}
			switch args[0] {
			case "HEXISTS", "HGET", "HINCRBY":
				args[2] = owner
			case "PEXPIRE":
				args[2] = lease
			}
			raw, err := p.do(ctx, args)
			if err != nil {
				return r, false
			}
			one.Args, one.Key = args, p.of(e.Args)
			one.Reply, one.Err = resp.Value(raw)
			r.Inner = append(r.Inner, one)
		}
		r.Reply = known.Reply
		return r, true
	}
	raw, inner, err := infer.Run(p.doer(ctx), e.Args, text, true)
	if err != nil {
		return r, false
	}
	r.Inner = inner
	if r.Reply, r.Err = resp.Value(raw); r.Err == "" {
		p.asked[now] = r
	}
	return r, true
}

// follow runs a script's commands as the log tells them.
func (p *player) follow(ctx context.Context, e *Entry, r infer.Record, w *path) infer.Record {
	for i, args := range e.Inner {
		one := journal.Entry{Line: w.lines[i], Args: args}
		if waits(args) || isScript(args) || !safe(args) {
			continue
		}
		if raw, err := p.do(ctx, args); err == nil {
			one.Reply, one.Err = resp.Value(raw)
		}
		one.Key = p.of(e.Args)
		r.Inner = append(r.Inner, one)
	}
	if r.Reply = w.reply; !w.always {
		r.Reply = r.Inner[len(r.Inner)-1].Reply
	}
	return r
}

// text is a script's, or "".
func (p *player) text(args []string) string {
	if len(args) < 3 {
		return ""
	}
	switch infer.Verb(args) {
	case "EVAL", "EVAL_RO":
		return args[1]
	case "EVALSHA", "EVALSHA_RO":
		return p.texts[strings.ToLower(args[1])]
	}
	return ""
}

// safe reports whether a command takes no more memory than it has bytes: among commands
// whose keys nobody knows, a few that only read.
func safe(args []string) bool {
	switch infer.Verb(args) {
	case "FLUSHALL", "FLUSHDB", "GETRANGE", "SUBSTR", "TIME", "PUBLISH", "HSTRLEN", "ZREVRANGE", "RENAME", "RENAMENX":
		return true
	}
	return !infer.Touches(args).All
}

// waits reports whether a command would wait, or listen.
func waits(args []string) bool {
	switch infer.Verb(args) {
	case "BLPOP", "BRPOP", "BLMOVE", "BRPOPLPUSH", "BZPOPMIN", "BZPOPMAX", "BLMPOP", "BZMPOP", "WAIT", "WAITAOF", "XREAD", "XREADGROUP", "MONITOR", "SYNC", "PSYNC",
		"SUBSCRIBE", "PSUBSCRIBE", "MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH", "SHUTDOWN", "SELECT", "HELLO", "AUTH", "SWAPDB", "MOVE", "QUIT":
		return true
	}
	return false
}

// same reports whether a script's commands are the same as in the log.
func same(inner []journal.Entry, told [][]string) bool {
	if len(inner) != len(told) {
		return false
	}
	for i, e := range inner {
		if len(e.Args) != len(told[i]) || !strings.EqualFold(e.Args[0], told[i][0]) || !slices.Equal(e.Args[1:], told[i][1:]) {
			return false
		}
	}
	return true
}

// agrees reports whether what the log tells was answered is what was recomputed.
func (e *Entry) agrees(r infer.Record) bool {
	if !e.exact {
		return e.Reply == nil || agrees(e.Reply, r)
	}
	if len(e.replies) != len(r.Inner) { // not all could be run
		return true
	}
	for i, told := range e.replies {
		if told != nil && !agrees(told, infer.Record{Reply: r.Inner[i].Reply, Err: r.Inner[i].Err}) {
			return false
		}
	}
	return true
}

// agrees reports whether an answer of the log is what was recomputed: how much is left of a
// lease may differ.
func agrees(told *Reply, r infer.Record) bool {
	if told.Err != "" || r.Err != "" {
		return (told.Err != "") == (r.Err != "")
	}
	a, isA := told.Value.(int64)
	b, isB := r.Reply.(int64)
	if list, is := r.Reply.([]any); is && isA && len(list) > 0 { // a span has only the code
		b, isB = list[0].(int64)
	}
	if isA && isB {
		return a == b || a > 1 && b > 1
	}
	return reflect.DeepEqual(told.Value, r.Reply)
}

// says is "no" of an answer that grants nothing.
func says(r *Reply) string {
	switch v := r.Value.(type) {
	case nil:
		return "no"
	case int64:
		if v != 1 {
			return "no"
		}
	}
	return ""
}
