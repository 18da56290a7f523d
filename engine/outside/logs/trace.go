package logs

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/outside/infer"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
)

// The ways to tell threads.
const (
	ByOwner      = "owner"      // each owner id in the lock's hash
	ByValue      = "value"      // each value of the lock's string
	ByConnection = "connection" // each connection
)

// Threads returns the ways to tell threads apart.
func Threads() []string { return []string{ByOwner, ByValue, ByConnection} }

// MostCommands is the limit of commands for the chosen key; later ones are left
// out.
const MostCommands = 50_000

// Options say how to read a log. With the zero value Trace finds everything out
// itself.
type Options struct {
	Key      string     // the lock's; "": the one that most commands name
	Kind     check.Kind // of the lock: how many may be inside at once, as check.Inside has it
	Also     []string   // keys of further locks, each exclusive
	Threads  string     // ByOwner, ByValue or ByConnection; "": what the key says, or else connections
	Resource string     // the key of what the lock protects: its GETs and SETs are reads and writes
	Title    string     // of the trace; "": the key

	Nodes int // how many servers the lock is on, of which each log is one's; 0: as many as there are logs

	NoScripts bool // no Lua is run: of scripts only the commands that the log tells
}

// Imported is a log as a trace.
type Imported struct {
	Header   trace.Header
	Events   []trace.Event
	Scenario *scenario.Scenario // the frame
	Broken   []string           // rules, each once
	Lines    []int              // of the file, by step: Lines[0] is of step 1; 0 where it is of none

	Judgement verdict.Judgement
}

// index finds the keys that entries name, and those that could be locks, the busiest first.
func (l *Log) index(ctx context.Context) error {
	known := map[string]*candidate{}
	of := func(key string) *candidate {
		c := known[key]
		if c == nil {
			c = &candidate{key: key}
			known[key] = c
		}
		return c
	}
	for i := range l.Entries {
		if err := pause.Here(ctx); err != nil {
			return err
		}
		e := &l.Entries[i]
		e.keys = e.named()
		for _, key := range e.keys {
			c := of(key)
			if c.commands++; c.commands == 1 {
				c.client = e.Client
			}
			c.several = c.several || c.client != e.Client
		}
		for _, args := range e.commands() {
			if key, px := expiry(args); px {
				of(key).expires = true
			}
			if key := frees(args); key != "" {
				of(key).freed = true
			}
		}
		for _, key := range e.makes() {
			if c := of(key); c.taken == 0 {
				c.taken = e.Line
			}
		}
	}
	l.keys = known
	var list []*candidate
	for _, c := range known {
		if c.taken > 0 && c.commands > 0 {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, likelier)
	for _, c := range list {
		l.locks = append(l.locks, trace.LogKey{Key: c.key, Commands: c.commands})
	}
	return nil
}

// candidate is a key that may be a lock.
type candidate struct {
	key            string
	commands       int // that name it
	taken          int // the line that first takes it as a lock; 0 for none
	expires, freed bool
	client         string // the first that names it
	several        bool   // others do, too
	met            bool   // it stood when another than who had made it came

	next map[string]bool // others' keys that whoever had made it came to meanwhile
}

// likelier puts the key before the others that is the lock rather than they.
func likelier(a, b *candidate) int {
	return cmp.Or(
		before(a.expires, b.expires), // a count is seldom a lock
		before(a.freed, b.freed),     // what nobody deletes is a limit, or a cache
		b.commands-a.commands, a.taken-b.taken, strings.Compare(a.key, b.key),
	)
}

// before puts what is so before what is not.
func before(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// commands are those that ran: of a script its own, as far as they are known.
func (e *Entry) commands() [][]string {
	if len(e.Inner) > 0 {
		return e.Inner
	}
	return [][]string{e.Args}
}

// expiry reports whether a command gives a key an expiry.
func expiry(args []string) (key string, px bool) {
	if len(args) < 2 {
		return "", false
	}
	switch infer.Verb(args) {
	case "EXPIRE", "PEXPIRE", "EXPIREAT", "PEXPIREAT", "SETEX", "PSETEX":
		return args[1], true
	case "SET":
		return args[1], slices.ContainsFunc(args[2:], func(a string) bool {
			up := strings.ToUpper(a)
			return up == "PX" || up == "EX" || up == "PXAT" || up == "EXAT"
		})
	case "EVAL": // the log does not have its commands
		keys := infer.Touches(args).Keys
		if len(keys) == 0 {
			return "", false
		}
		text := strings.ToLower(args[1])
		return keys[0], strings.Contains(text, "expire") || strings.Contains(text, "px") || strings.Contains(text, "ex'")
	}
	return "", false
}

// frees returns the key that a command deletes, or "".
func frees(args []string) string {
	keys := infer.Touches(args).Keys
	switch verb := infer.Verb(args); {
	case len(keys) == 0:
		return ""
	case verb == "DEL", verb == "UNLINK", verb == "GETDEL", verb == "DELEX", verb == "HDEL", verb == "ZREM", verb == "SREM", verb == "LREM", verb == "LPOP", verb == "RPOP", verb == "EVAL" && strings.Contains(strings.ToLower(args[1]), "del"): // the log does not have its commands
		return keys[0]
	}
	return ""
}

// makes returns the keys that an entry may take as a lock.
func (e *Entry) makes() []string {
	if len(e.Inner) > 0 {
		var list []string
		scripted := infer.Touches(e.Args).Keys
		for _, args := range e.Inner {
			keys := infer.Touches(args).Keys
			if len(keys) == 0 || keys[0] == "" {
				continue
			}
			verb := infer.Verb(args)
			own := len(scripted) > 0 && scripted[0] == keys[0] && (verb == "HSET" || verb == "SET")
			_, ends := expiry(args)
			if infer.MakesLock(args) && !isScript(args) || own || verb == "SET" && ends {
				list = append(list, keys[0])
			}
		}
		return list
	}
	if isScript(e.Args) {
		if infer.Verb(e.Args) != "EVAL" || len(e.Args) < 2 {
			return nil
		}
		text := strings.ToLower(e.Args[1])
		if keys := infer.Touches(e.Args).Keys; len(keys) > 0 && (strings.Contains(text, "set") || strings.Contains(text, "hincrby")) {
			return keys[:1]
		}
		return nil
	}
	if infer.MakesLock(e.Args) && len(e.Args) > 1 && e.Args[1] != "" {
		return e.Args[1:2]
	}
	return nil
}

// named returns the keys that an entry names, once each.
func (e *Entry) named() []string {
	var list []string
	seen := map[string]bool{}
	for _, args := range append([][]string{e.Args}, e.Inner...) {
		for _, key := range infer.Touches(args).Keys {
			if !strings.HasPrefix(key, "\x00") && !seen[key] {
				seen[key] = true
				list = append(list, key)
			}
		}
	}
	return list
}

// names reports whether an entry names a key, or empties the database.
func (e *Entry) names(key string) bool {
	for _, args := range append([][]string{e.Args}, e.Inner...) {
		f := infer.Touches(args)
		if f.Names(key) {
			return true
		}
		if f.All {
			if verb := infer.Verb(args); verb == "FLUSHALL" || verb == "FLUSHDB" || slices.Contains(args[1:], key) && !quiet[verb] {
				return true
			}
		}
	}
	return false
}

// quiet are commands that name something else than keys.
var quiet = map[string]bool{
	"SUBSCRIBE": true, "PSUBSCRIBE": true, "UNSUBSCRIBE": true, "PUNSUBSCRIBE": true, "SSUBSCRIBE": true, "SUNSUBSCRIBE": true, "PUBLISH": true, "SPUBLISH": true,
	"ECHO": true, "CLIENT": true, "AUTH": true, "HELLO": true, "CONFIG": true, "ACL": true, "SCRIPT": true, "FUNCTION": true, "COMMAND": true, "KEYS": true, "SCAN": true,
	"MULTI": true, "EXEC": true, "DISCARD": true, "UNWATCH": true, "PING": true, "SELECT": true, "DEBUG": true, "OBJECT": true, "MEMORY": true, "DUMP": true, "INFO": true,
}

// choose returns the lock's key, and the database in which most commands name it.
func (l *Log) choose(ctx context.Context, o Options) (key string, db int, others []trace.LogKey, err error) {
	others = slices.Clone(l.locks)
	if key = o.Key; key == "" {
		key = l.entered(o.Resource)
	}
	if key == "" {
		if key, err = l.decided(ctx, o); err != nil {
			return "", 0, nil, err
		}
		if len(others) == 1 && l.keys[others[0].Key].met {
			key = others[0].Key
		}
	}
	if key == "" {
		if len(others) == 0 {
			key = l.shared(o.Resource, false)
		}
		if key == "" && len(others) == 0 {
			return "", 0, nil, phrase.New("no command of the log takes a lock (SET … NX, SETNX, HINCRBY, or a script that writes its first key); name the lock's key with -key")
		}
		if key == "" && !l.keys[others[0].Key].met { // it has refused nobody
			if other := l.shared(o.Resource, true); other != "" && l.keys[other].commands > l.keys[others[0].Key].commands {
				key = other
			}
		}
		if key == "" {
			key = others[0].Key
		}
	}
	others = slices.DeleteFunc(others, func(k trace.LogKey) bool { return k.Key == key })
	count := map[int]int{}
	for i := range l.Entries {
		if e := &l.Entries[i]; slices.Contains(e.keys, key) {
			count[e.DB]++
		}
	}
	if len(count) == 0 {
		why := phrase.Names{}
		for _, k := range others[:min(len(others), 5)] {
			why = append(why, infer.Short(k.Key, 60))
		}
		if len(why) == 0 {
			return "", 0, nil, phrase.New("-key %.60q: no command of the log names it", key)
		}
		return "", 0, nil, phrase.New("-key %.60q: no command of the log names it; keys that could be locks: %s", key, why)
	}
	most := -1
	for n, c := range count {
		if most < 0 || c > count[most] || c == count[most] && n < most {
			most = n
		}
	}
	return key, most, others, nil
}

// marked reports whether a log has marks of critical sections.
func (l *Log) marked() bool {
	return slices.ContainsFunc(append([]*Log{l}, l.nodes...), func(one *Log) bool {
		return slices.ContainsFunc(one.Entries, func(e Entry) bool { return infer.Mark(e.Args) == infer.MarkEnter })
	})
}

// entered returns the first key that a connection may have written before it said that it is
// inside, "" if none has said so.
func (l *Log) entered(resource string) string {
	wrote := map[string]string{} // by connection, since its last mark
	for i := range l.Entries {
		e := &l.Entries[i]
		switch mark := infer.Mark(e.Args); {
		case mark == infer.MarkEnter && wrote[e.Client] != "":
			return wrote[e.Client]
		case mark != "":
			delete(wrote, e.Client)
		case wrote[e.Client] == "":
			for _, args := range e.commands() {
				if f := infer.Touches(args); f.Writes && !f.All && f.Keys[0] != resource && !strings.HasPrefix(f.Keys[0], infer.Channel("")) {
					wrote[e.Client] = f.Keys[0]
					break
				}
			}
		}
	}
	return ""
}

// shared returns the busiest key that several connections name, and that somebody gives back, or with
// met that stood when another came; "" if there is none. Whether it is a lock its kind cannot tell.
func (l *Log) shared(resource string, met bool) string {
	var list []*candidate
	for _, c := range l.keys {
		if (c.freed || met && c.met) && c.several && c.key != "" && c.key != resource {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return ""
	}
	return slices.MinFunc(list, likelier).key
}

// subject is what a log is read for.
type subject struct {
	of      infer.Lock
	servers int
	db      []int // by server
	others  []trace.LogKey
}

// subject says what a log is read for, and returns the log as it is read: of several servers,
// in parts.
func (l *Log) subject(ctx context.Context, o Options) (*Log, subject, error) {
	s := subject{of: infer.Lock{Key: o.Key, Kind: o.Kind, Also: o.Also}, db: []int{0}}
	if o.Threads != "" && !slices.Contains(Threads(), o.Threads) {
		return nil, s, phrase.New("-threads %.40q: allowed: %s", o.Threads, phrase.Names(Threads()))
	}
	if l.marked() { // which name the locks
		s.of.Also = nil
	}
	var err error
	if s.servers, err = o.of(l); err != nil {
		return nil, s, err
	}
	if err := infer.Judges(s.of, s.servers); err != nil {
		return nil, s, err
	}
	if s.servers > 1 && l.nodes == nil {
		if l, err = l.alone(); err != nil {
			return nil, s, err
		}
	}
	if s.servers > 1 {
		s.of.Key, s.db, s.others, err = l.chooseOf(ctx, o)
	} else {
		s.of.Key, s.db[0], s.others, err = l.choose(ctx, o)
	}
	if err == nil && o.Key == "" && len(o.Also) == 0 && !l.marked() && s.servers == 1 {
		s.of.Also = l.circle(s.of.Key)
		s.of.Also = s.of.Also[:min(len(s.of.Also), infer.MostLocks-1)]
	}
	for _, also := range o.Also {
		if err == nil {
			_, _, s.others, err = l.choose(ctx, Options{Key: also})
		}
	}
	if err != nil {
		return nil, s, err
	}
	s.others = slices.DeleteFunc(s.others, func(k trace.LogKey) bool { return slices.Contains(s.of.Keys(), k.Key) })
	if o.Resource != "" && slices.Contains(s.of.Keys(), o.Resource) {
		return nil, s, phrase.New("-key and -resource are both %.60q; the lock and what it protects are two keys", o.Resource)
	}
	return l, s, nil
}

// Trace runs the commands that name one key again, each at its instant, and reads their
// effects. It fails with one sentence if the options do not fit the log, with
// bound.ErrHeld, or with what pause.Here says.
func (l *Log) Trace(ctx context.Context, o Options) (*Imported, error) {
	l, s, err := l.subject(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.Key == "" {
		o.Also = s.of.Also
	}
	p := newPlayer(l, s.of.Key, o)
	defer p.close()
	if s.servers > 1 {
		err = p.playNodes(ctx, s.db)
	} else {
		err = p.all(ctx, s.db[0])
	}
	if err != nil {
		return nil, err
	}
	w, err := p.threads(ctx, o.Threads)
	if err != nil {
		return nil, err
	}
	roles := infer.Roles{}
	first, _, err := p.read(ctx, s, w, roles, true)
	if err != nil { // what a script does at its end says what it is for at its beginning
		return nil, err
	}
	kind, helps := first.Kind()
	p.silence(w, roles)
	r, lines, err := p.read(ctx, s, w, roles, kind.IsZero() && !p.same && p.notes[trace.NoteCallers] == nil)
	if err != nil {
		return nil, err
	}
	p.earlier(w, r.Events(), lines)
	over := infer.Over{Key: p.state(), At: p.ended()}
	for _, one := range p.closes(p.opens()) {
		over.Also = append(over.Also, one.After)
	}
	r.Finish(over)
	found := &Imported{Events: r.Events(), Broken: r.Rules(), Lines: lines}
	if found.Header, found.Scenario, err = p.header(l, s, o, w); err != nil {
		return nil, err
	}
	found.Header.Owners = r.Owners()
	if !kind.IsZero() {
		found.Header.Unjudged = verdict.Judgement{Unjudged: []verdict.Lack{verdict.Unknown(kind, helps)}}.Lacks()
	}
	found.Header, found.Judgement = verdict.Judged(found.Header, found.Scenario, found.Events)
	return found, nil
}

// read reads what was played, and says which line each step is of. Where it is not known what
// kind of lock it is, only rules about what it protects count.
func (p *player) read(ctx context.Context, s subject, w *weave, roles infer.Roles, known bool) (infer.Fold, []int, error) {
	r := infer.Fresh(s.servers, w.names(), s.of, p.resource, p.marks, roles)
	if r.SetStart(p.base); !known {
		r.OnlyHarms()
	}
	var lines []int
	for i := range p.played {
		if err := pause.Here(ctx); err != nil {
			return nil, nil, err
		}
		r.See(p.played[i].Record)
		for n := lastStep(r); len(lines) < n; {
			lines = append(lines, p.played[i].line)
		}
	}
	return r, lines, nil
}

// header is a trace's, but for its owners and its verdict, with its frame.
func (p *player) header(l *Log, s subject, o Options, w *weave) (trace.Header, *scenario.Scenario, error) {
	title := o.Title
	if title == "" {
		title = s.of.String()
	}
	sc, err := infer.Frame{Title: title, Key: s.of.Key, Also: s.of.Also, Kind: o.Kind, Hash: p.hash, Nodes: s.servers, Lease: time.Duration(p.lease) * time.Millisecond, Threads: w.names()}.Scenario()
	if err != nil {
		return trace.Header{}, nil, fmt.Errorf("logs: %w", err)
	}
	text, err := json.Marshal(sc)
	if err != nil {
		return trace.Header{}, nil, fmt.Errorf("logs: %w", err)
	}
	by := trace.ByEffects
	if p.marks {
		by = trace.ByMarks
	}
	named := infer.Short(s.of.Key, scenario.MaxKey)
	if len(s.of.Also) > 0 {
		named = strings.Join(infer.NamesOfLocks(s.of.Keys()), ",")
	}
	return trace.Header{Relock: trace.Version, Scenario: text, Store: trace.StoreLog, Clock: trace.ClockVirtual, Log: &trace.FromLog{
		Format: l.Format, By: by, ThreadsBy: w.by, Key: named, Hash: p.hash, Commands: p.named,
		Servers: l.servers(), Threads: w.told(l.names), Others: s.others[:min(len(s.others), 50)], Notes: p.told(l, w, o, s.servers), Scripts: p.scripts,
	}}, sc, nil
}

func lastStep(r infer.Fold) int {
	if list := r.Events(); len(list) > 0 {
		return list[len(list)-1].Step
	}
	return 0
}
