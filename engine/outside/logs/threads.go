package logs

import (
	"context"
	"iter"
	"slices"
	"strings"

	"relock/engine/lock"
	"relock/engine/outside/infer"
	"relock/engine/pause"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// lane is a thread: one identity at a time.
type lane struct {
	name    string
	now     string         // the identity
	seen    int            // the record in which it was seen last
	on      map[int]string // its connection to each node; 0 where there is one
	owners  []string
	clients []string
	shared  bool
}

// weave is who is which thread.
type weave struct {
	by     string
	lanes  []*lane
	of     []string // the identity of each record
	last   map[string]int
	asOf   map[string]string // the identity that a value in the key is of
	steals int
	other  bool // it was asked for another way
}

// few lanes are made first, even if one would do for several.
const few = 8

// who returns the owner id that a command names: a value, or a field of the hash.
func (p *player) who(args []string) string {
	if len(args) < 3 || args[1] != p.key && !slices.Contains(p.also, args[1]) {
		return ""
	}
	switch infer.Verb(args) {
	case "SET", "SETNX", "GETSET":
		return args[2]
	case "SETEX", "PSETEX", "DELEX":
		if len(args) > 3 {
			return args[3]
		}
	case "HSET", "HSETNX", "HINCRBY", "HEXISTS", "HGET", "HDEL", "HMSET":
		if !trace.IsNumber(args[2]) && args[2] != "mode" {
			return args[2]
		}
	}
	return ""
}

// threads tells who gave each command, and names the threads.
func (p *player) threads(ctx context.Context, by string) (*weave, error) {
	w := &weave{last: map[string]int{}, asOf: map[string]string{}}
	p.nameOwners()
	w.by, w.other = p.tellBy(by)
	if err := p.identify(ctx, w); err != nil {
		return nil, err
	}
	for i := range p.played {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		one := &p.played[i]
		if one.Args == nil {
			for _, id := range lapsing(one.Record) {
				one.held = append(one.held, w.asOf[id])
			}
			continue
		}
		one.Thread = w.lane(p, i).name
		for _, id := range made(one.Record) {
			w.asOf[id] = w.of[i]
		}
	}
	return w, nil
}

// commands are what was played but for the ends of leases, each with its place.
func (p *player) commands() iter.Seq2[int, *played] {
	return func(yield func(int, *played) bool) {
		for i := range p.played {
			if p.played[i].Args != nil && !yield(i, &p.played[i]) {
				return
			}
		}
	}
}

// nameOwners says which owner id each command names. A script names one of those that other
// commands name; a script of that name, at the same place.
func (p *player) nameOwners() {
	known := map[string]bool{}
	for _, one := range p.commands() {
		one.who = p.who(one.Args)
		for _, in := range one.Inner {
			if id := p.who(in.Args); id != "" && one.who == "" {
				one.who = id
			}
		}
		if one.who != "" {
			known[one.who] = true
		}
	}
	place := map[string]int{} // of a script, the argument that names the owner
	for _, one := range p.commands() {
		if isScript(one.Args) && len(one.Args) > 3 {
			from := min(3+infer.KeyCount(one.Args), len(one.Args))
			for at, a := range one.Args[from:] {
				if known[a] && (one.who == "" || one.who == a) {
					one.who, place[infer.Shown(one.Args)] = a, from+at
					break
				}
			}
		}
	}
	for _, one := range p.commands() {
		if at, is := place[infer.Shown(one.Args)]; is && p.nodes != nil && one.who == "" && at < len(one.Args) { // it has a connection to each server
			one.who = one.Args[at]
		}
		one.Owner = one.who
	}
}

// tellBy says what tells threads apart, and whether another way was asked for.
func (p *player) tellBy(asked string) (by string, other bool) {
	clients, values := map[string]bool{}, map[string]bool{}
	for _, one := range p.commands() {
		clients[one.client] = true
		if one.who != "" {
			values[one.who] = true
		}
	}
	natural := ByValue
	if p.hash {
		natural = ByOwner
	}
	switch {
	case p.nodes != nil: // a connection is to one server
		writers := make([]string, len(p.nodes)+1) // of the one value
		for _, one := range p.commands() {
			if len(values) == 1 && one.who != "" && one.client != "" {
				p.same = p.same || writers[one.Node] != "" && writers[one.Node] != one.client
				writers[one.Node] = one.client
			}
		}
		return natural, asked != "" && asked != natural
	case asked == "" && len(clients) > 1 && p.apart():
		return ByConnection, false
	case asked == "" && (len(values) > 1 || p.hash && len(values) > 0 || len(clients) < 2):
		return natural, false
	case asked == "":
		return ByConnection, false
	case asked != ByConnection && asked != natural:
		return natural, true
	}
	return asked, false
}

// identify says whose each command is.
func (p *player) identify(ctx context.Context, w *weave) error {
	w.of = make([]string, len(p.played))
	lastOf := map[string]string{} // a connection's last identity
	maker := map[string]string{}  // of an owner id, the connection that has put it there
	for i, one := range p.commands() {
		if err := pause.Here(ctx); err != nil {
			return err
		}
		id := one.who
		if w.by == ByConnection || id == "" {
			id = "\x00" + one.client
			if was := lastOf[one.client]; was != "" && w.by != ByConnection {
				id = was
			}
			for _, held := range holders(one.Record) { // several may share a connection: it is who holds by it
				if client, ok := maker[held]; ok && client == one.client && w.by != ByConnection {
					id = held
				}
			}
		}
		for _, own := range made(one.Record) {
			maker[own] = one.client
		}
		lastOf[one.client] = id
		w.of[i], w.last[id] = id, i
	}
	if p.marks && w.by != ByConnection { // a mark before its connection's first command is of that one
		next := map[string]string{}
		for i := len(p.played) - 1; i >= 0; i-- {
			if one := &p.played[i]; one.Args != nil && one.Mark != "" && strings.HasPrefix(w.of[i], "\x00") && next[one.client] != "" {
				w.of[i] = next[one.client]
			} else if one.Args != nil {
				next[one.client] = w.of[i]
			}
		}
	}
	return nil
}

// apart reports whether each owner id is in the key of one of several locks alone: who holds
// two has two, and what tells threads apart is their connections.
func (p *player) apart() bool {
	of := map[string]string{} // keys, by owner id
	for i := range p.played {
		one := &p.played[i]
		if one.Args == nil || one.who == "" {
			continue
		}
		key := p.first(one.Args)
		if was, known := of[one.who]; known && was != key {
			return false
		}
		of[one.who] = key
	}
	return len(p.also) > 0 && len(of) > 0
}

// made are the owner ids that a record has put into the key.
func made(r infer.Record) []string {
	var ids []string
	for i := range len(r.Also) + 1 {
		r := r.Of(i)
		if r.After.Value != nil && (r.Before.Value == nil || *r.Before.Value != *r.After.Value) {
			ids = append(ids, *r.After.Value)
		}
		for f := range r.After.Fields {
			if _, had := r.Before.Fields[f]; !had {
				ids = append(ids, f)
			}
		}
	}
	return ids
}

// lane returns the lane of record i.
func (w *weave) lane(p *player, i int) *lane {
	id, one := w.of[i], &p.played[i]
	standing := map[string]bool{}
	for _, owner := range holders(one.Record) {
		standing[w.asOf[owner]] = true
	}
	free := func(l *lane) bool { return l.now != id && w.last[l.now] < i && !standing[l.now] }
	var found *lane
	take := func(ok func(*lane) bool) {
		for _, l := range w.lanes {
			if found == nil && ok(l) {
				found = l
			}
		}
	}
	take(func(l *lane) bool { return l.now == id })
	take(func(l *lane) bool { return l.on[one.Node] == one.client && one.client != "" && free(l) })
	if len(w.lanes) >= few {
		take(free)
	}
	if found == nil && len(w.lanes) < scenario.MaxThreads {
		found = &lane{name: string(rune('A' + len(w.lanes))), on: map[int]string{}}
		w.lanes = append(w.lanes, found)
	}
	take(free)
	if found == nil { // too many at once: who was silent longest
		for _, l := range w.lanes {
			if !standing[l.now] && (found == nil || l.seen < found.seen) {
				found = l
			}
		}
		if found == nil {
			found = w.lanes[0]
		}
		w.steals++
	}
	found.shared = found.shared || found.now != "" && found.now != id
	found.now, found.seen, found.on[one.Node] = id, i, one.client
	const most = 4
	if one.who != "" && !slices.Contains(found.owners, one.who) && len(found.owners) < most {
		found.owners = append(found.owners, one.who)
	}
	if one.client != "" && !slices.Contains(found.clients, one.client) && len(found.clients) < most {
		found.clients = append(found.clients, one.client)
	}
	return found
}

func (w *weave) names() []string {
	if len(w.lanes) == 0 {
		return []string{"A"}
	}
	list := make([]string, len(w.lanes))
	for i, l := range w.lanes {
		list[i] = l.name
	}
	return list
}

func (w *weave) told(names map[string]string) []trace.LogThread {
	const long = 80
	var list []trace.LogThread
	for _, l := range w.lanes {
		t := trace.LogThread{Name: l.name}
		for _, o := range l.owners {
			t.Owners = append(t.Owners, infer.Short(o, long))
		}
		for _, c := range l.clients {
			if slices.Contains(l.owners, c) { // spans tell of their owners alone
				continue
			}
			if n := names[c]; n != "" {
				c += " (" + n + ")"
			}
			t.Clients = append(t.Clients, infer.Short(c, long))
		}
		list = append(list, t)
	}
	return list
}

// silence says at each end of a lease of whom nothing more is known: nobody can say whether
// they still worked. A thread that comes back to release or renew what it held believed it
// until then.
func (p *player) silence(w *weave, roles infer.Roles) {
	next := map[string]int{} // of an identity, the next record of the lock
	lane, gone := map[string]string{}, map[string]bool{}
	after := make([]map[string]int, len(p.played))
	for i := len(p.played) - 1; i >= 0; i-- {
		one := &p.played[i]
		if one.Args == nil {
			after[i] = map[string]int{}
			for _, id := range one.held {
				if n, ok := next[id]; ok {
					after[i][id] = n
				}
			}
			continue
		}
		if one.Mark == "" {
			next[w.of[i]] = i
		}
	}
	for i := range p.played {
		one := &p.played[i]
		if one.Args != nil {
			lane[w.of[i]] = one.Thread
			continue
		}
		one.Silent = nil
		for _, id := range one.held {
			thread := lane[id]
			n, back := after[i][id]
			if back {
				r := &p.played[n]
				role := roles[infer.Shown(r.Args)]
				switch {
				case len(made(r.Record)) > 0, role == lock.CallLock, role == "" && infer.MakesLock(r.Args) && !isScript(r.Args):
					back = false // it asks for the lock: it no longer believes that it has it
				}
			}
			if !back && thread != "" && !slices.Contains(one.Silent, thread) {
				one.Silent = append(one.Silent, thread)
				if p.nodes == nil || !gone[id] { // a hold has a key on each server
					p.note(trace.NoteSilent, 0)
				}
				gone[id] = true
			}
		}
	}
}

// earlier notes the threads that release or renew the lock before they ask for it: they took
// it before the log began, and what was so until then nobody can say. Lines are the log's
// lines, by step. Of a thread without a connection and an owner id nobody can say even that.
func (p *player) earlier(w *weave, events []trace.Event, lines []int) {
	seen := map[string]bool{}
	for _, l := range w.lanes {
		seen[l.name] = len(l.owners)+len(l.clients) == 0 && p.notes[trace.NoteCallers] != nil
	}
	for _, e := range events {
		c, ok := e.Body.(trace.Command)
		if !ok || seen[e.Thread] || c.Call != lock.CallLock && c.Call != lock.CallUnlock && c.Call != lock.CallRenew {
			continue
		}
		seen[e.Thread] = true
		if c.Call != lock.CallLock && slices.ContainsFunc(p.keys(), infer.Touches(c.Args).Names) {
			p.note(trace.NoteEarlier, lines[e.Step-1])
		}
	}
}

// holders are the owner ids in the keys before a record.
func holders(r infer.Record) []string {
	var ids []string
	for i := range len(r.Also) + 1 {
		ids = append(ids, owners(r.Of(i).Before)...)
	}
	slices.Sort(ids)
	return ids
}

// lapsing are those in the key whose lease it ends.
func lapsing(r infer.Record) []string {
	var ids []string
	for i := range len(r.Also) + 1 {
		if one := r.Of(i); !one.After.Exists() {
			ids = append(ids, owners(one.Before)...)
		}
	}
	slices.Sort(ids)
	return ids
}

func owners(k trace.KeyState) []string {
	var ids []string
	if k.Value != nil {
		ids = append(ids, *k.Value)
	}
	for f := range k.Fields {
		if !trace.IsNumber(f) && f != "mode" {
			ids = append(ids, f)
		}
	}
	return ids
}

// told are the notes.
func (p *player) told(l *Log, w *weave, o Options, servers int) []trace.LogNote {
	note := func(what string, is bool, count int) {
		if is {
			p.notes[what] = &trace.LogNote{What: what, Count: count}
		}
	}
	absent := servers - len(l.nodes)
	shared := 0
	for _, one := range w.lanes {
		if one.shared {
			shared++
		}
	}
	note(trace.NoteClocks, servers > 1, servers)
	note(trace.NoteAbsent, servers > 1 && absent > 0, absent)
	note(trace.NoteEven, servers > 1 && absent == 0 && servers%2 == 0 && o.Nodes == 0, servers)
	note(trace.NoteSameValue, servers > 1 && p.same, 0)
	note(trace.NoteReplies, !slices.ContainsFunc(l.Entries, func(e Entry) bool { return e.Reply != nil }), 0)
	note(trace.NoteOrder, l.Format == Redisson, 0)
	note(trace.NoteWithin, l.Format == OTLP, 0)
	note(trace.NoteInstants, !l.Timed, 0)
	note(trace.NoteNames, len(l.names) == 0 && l.Format == Monitor, 0)
	note(trace.NoteBefore, true, 0)
	note(trace.NoteLanes, shared > 0 && w.by != ByConnection, shared)
	note(trace.NoteSameOwners, w.other, 0)
	note(trace.NoteBegun, l.Begun, 0)
	note(trace.NoteCut, l.Cut, 0)
	for _, m := range l.missing {
		if slices.Contains(p.keys(), m.key) || m.key == "" {
			p.note(m.what, m.line)
		}
	}
	for i := range l.notes {
		p.notes[l.notes[i].What] = &l.notes[i]
	}
	return trace.InOrder(p.notes)
}
