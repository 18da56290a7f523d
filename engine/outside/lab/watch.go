package lab

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"relock/engine/check"
	"relock/engine/outside/infer"
	"relock/engine/phrase"
	"relock/engine/trace"
)

// Watching shows what clients do when they connect by themselves: it holds no command,
// and every command is a row. Its methods are safe for concurrent use.
type Watching struct {
	g    *Gate
	b    nodes
	rows chan Row
	stop chan struct{}
	once sync.Once
}

// Row is a command, or what it has led to, as a line.
type Row struct {
	Says phrase.Wording
	Bad  bool // it tells of a broken rule
}

// Watch opens a port for each thread. It fails if the options do not go together, or
// if it cannot listen. The caller must close the watching and read its Rows.
func Watch(o Options) (*Watching, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	b, err := o.backends()
	if err != nil {
		return nil, err
	}
	g, err := listen(o.host(), o.Threads, b)
	if err != nil {
		b.close()
		return nil, err
	}
	w := &Watching{g: g, b: b, rows: make(chan Row, 64), stop: make(chan struct{})}
	s := &search{o: o, g: g, roles: infer.Roles{}, names: threadNames(o.Threads), found: &Found{}}
	var j infer.Fold
	var marks bool // of what it is a reading
	var of string
	g.mu.Lock()
	g.live, g.watched, g.key, g.also, g.resource = true, true, o.Key, o.Also, o.Resource
	g.onRecord = func(r infer.Record) {
		if g.key == "" {
			if g.key = s.lockKey(r); g.key != "" {
				r.After = g.state(max(r.Node-1, 0))
			}
		}
		s.marks = s.marks || r.Mark != ""
		if j == nil || marks != s.marks || of != g.key {
			marks, of = s.marks, g.key
			j = o.fold(g.key, s.marks, s.roles)
			j.Forget()
		}
		seen := len(j.Broken())
		if j.Stands() && !r.Before.Exists() && r.Thread != "" {
			w.say(Row{Says: phrase.Say("the lease has ended: %s is gone", g.key)})
		}
		j.See(r)
		for _, row := range append(rows(r, g.key), broken(o.Kind, j.Broken()[seen:])...) {
			w.say(row)
		}
	}
	g.mu.Unlock()
	return w, nil
}

// Addresses returns the addresses of each thread's ports, one for each node.
func (w *Watching) Addresses() [][]string { return w.g.Ports() }

// Rows returns the commands as they arrive. A client waits while nobody reads.
func (w *Watching) Rows() <-chan Row { return w.rows }

// Close ends all connections.
func (w *Watching) Close() {
	w.once.Do(func() {
		close(w.stop)
		w.g.Close()
		w.b.close()
	})
}

func (w *Watching) say(r Row) {
	select {
	case w.rows <- r:
	case <-w.stop:
	}
}

// rows are a command, and each one of its script, with the key right after it.
func rows(r infer.Record, key string) []Row {
	head := fmt.Sprintf("%9.3f ms  %s  ", float64(r.At.Microseconds())/1000, r.Thread)
	if r.Node > 0 {
		head += fmt.Sprintf("%d  ", r.Node)
	}
	if r.Args == nil { // what happened to Redis
		return []Row{{Says: phrase.Plain(head + r.Do + after(key, r.After))}}
	}
	text := head + strings.Join(brief(r.Args), " ") + " → " + told(r.Reply, r.Err) + after(key, r.After)
	if r.Do != "" {
		text += "   (" + r.Do + ")"
	}
	list := []Row{{Says: phrase.Plain(text)}}
	for _, e := range r.Inner {
		state := ""
		if keys := infer.Touches(r.Args).Keys; len(keys) > 0 && keys[0] == key {
			state = after(key, e.Key)
		}
		list = append(list, Row{Says: phrase.Plain(fmt.Sprintf("%s  %4d: %s → %s%s", strings.Repeat(" ", len(head)-2), e.Line, strings.Join(brief(e.Args), " "), told(e.Reply, e.Err), state))})
	}
	return list
}

// broken are rows that tell of broken rules.
func broken(kind check.Kind, found []check.Finding) (list []Row) {
	for _, f := range found {
		list = append(list, Row{phrase.Say("%s: %s", kind.Title(f.Rule), f.Says), true})
	}
	return list
}

func told(reply any, failed string) string {
	switch v := reply.(type) {
	case nil:
		if failed != "" {
			return failed
		}
		return "nil"
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = told(one, "")
		}
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return strings.Join(brief([]string{fmt.Sprint(v)}), " ")
	}
}

func after(key string, k trace.KeyState) string {
	if key == "" {
		return ""
	}
	text := "no key"
	switch {
	case k.Value != nil:
		text = strings.Join(brief([]string{*k.Value}), " ")
	case k.Exists():
		var fields []string
		for f, v := range k.Fields {
			fields = append(fields, strings.Join(brief([]string{f}), " ")+": "+v)
		}
		slices.Sort(fields)
		text = "{" + strings.Join(fields, ", ") + "}"
	}
	if k.PTTL >= 0 {
		text += fmt.Sprintf(", %d ms", k.PTTL)
	}
	return "   [" + text + "]"
}
