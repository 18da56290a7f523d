package logs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"relock/engine/bound"
	"relock/engine/outside/infer"
	"relock/engine/pause"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// A lock of a majority is on several servers: each has a log, and an embedded Redis on which
// its commands run again, at their instants by that server's clock. The commands of all are
// then put in the order of their instants.

// File is one of several logs that are read together.
type File struct {
	Name string
	io.Reader
}

// ReadFiles reads the logs of several servers as one. It fails as Read does, and if a file
// is not a log of MONITOR. The lines of all files are counted through.
func ReadFiles(ctx context.Context, files []File) (*Log, error) {
	if len(files) == 1 {
		return Read(ctx, files[0])
	}
	var all []*Log
	lines, left := 0, int64(MaxBytes)
	for _, f := range files {
		counted := &io.LimitedReader{R: f, N: left + 1}
		l, n, err := read(ctx, counted, lines)
		if err != nil {
			if why, ok := phrase.Of(err); ok {
				return nil, phrase.New("%s: %s", infer.Short(readableText(f.Name), 80), why)
			}
			return nil, err
		}
		if left = counted.N - 1; left < 0 {
			return nil, tooLarge()
		}
		if l.Format != Monitor {
			return nil, phrase.New("%s: it is not a log of redis-cli monitor; allowed: several files only if each is the log of redis-cli monitor on one of a lock's servers", infer.Short(readableText(f.Name), 80))
		}
		if l.nodes != nil {
			return nil, phrase.New("%s: it has the lines of %d servers already, by their prefixes; allowed: this file alone", infer.Short(readableText(f.Name), 80), len(l.nodes))
		}
		l.name, l.first = f.Name, lines+1
		lines += n
		all = append(all, l)
	}
	return together(all)
}

// alone returns the log of one of a lock's servers, the only one of which there is one.
func (l *Log) alone() (*Log, error) {
	if l.Format != Monitor {
		return nil, phrase.New("-nodes: allowed: only with logs of redis-cli monitor")
	}
	return together([]*Log{l})
}

// together returns logs of several servers as one.
func together(all []*Log) (*Log, error) {
	if len(all) > scenario.MaxNodes {
		return nil, phrase.New("the logs are of %d servers; allowed: at most %d", len(all), scenario.MaxNodes)
	}
	l := &Log{Format: Monitor, Timed: true, nodes: all}
	for n, node := range all {
		l.Inside, l.Cut, l.Begun = l.Inside || node.Inside, l.Cut || node.Cut, l.Begun || node.Begun
		for client, name := range node.names {
			if l.names == nil {
				l.names = map[string]string{}
			}
			l.names[onNode(n+1, client)] = name
		}
		for _, note := range node.notes {
			l.merge(note)
		}
	}
	return l, nil
}

// merge adds a note of one of several logs.
func (l *Log) merge(note trace.LogNote) {
	prefixed := note.What == trace.NotePrefix || note.What == trace.NotePrefixes
	for i := range l.notes {
		switch one := &l.notes[i]; {
		case prefixed && (one.What == trace.NotePrefix || one.What == trace.NotePrefixes):
			if one.What != note.What || one.Count != note.Count {
				one.What, one.Count = trace.NotePrefixes, max(one.Count, note.Count)
			}
			return
		case one.What == note.What:
			one.Count += note.Count
			return
		}
	}
	l.notes = append(l.notes, note)
}

// apart returns the logs of the servers that the prefixes in one name, in the order of their names. Its lines
// are counted from those before it.
func (l *Log) apart(ctx context.Context, before int) (*Log, error) {
	by := map[string]*Log{}
	var names []string
	for _, e := range l.Entries {
		if err := pause.Here(ctx); err != nil {
			return nil, err
		}
		one := by[e.server]
		if one == nil {
			if len(names) == scenario.MaxNodes {
				return nil, wrong(e.Line-before, "its prefix is yet another than those above; allowed: those of at most %d servers, so take the log of one lock's", scenario.MaxNodes)
			}
			one = &Log{Format: Monitor, Timed: true, Inside: l.Inside, name: infer.Short(readableText(e.server), 80)}
			by[e.server] = one
			names = append(names, e.server)
		}
		one.add(e)
	}
	if len(names) < 2 {
		return l, nil
	}
	slices.Sort(names)
	var all []*Log
	for _, name := range names {
		if err := by[name].index(ctx); err != nil {
			return nil, err
		}
		all = append(all, by[name])
	}
	all[0].Cut, all[0].Begun, all[0].notes = l.Cut, l.Begun, l.notes
	return together(all)
}

// onNode is what a connection of one of several servers is called.
func onNode(n int, client string) string {
	if client == "" {
		return ""
	}
	return fmt.Sprintf("%s (node %d)", client, n)
}

// chooseOf is choose for several servers; db has the database for each.
func (l *Log) chooseOf(ctx context.Context, o Options) (key string, db []int, others []trace.LogKey, err error) {
	for _, node := range l.nodes { // the first in which a lock is taken
		if key, _, others, err = node.choose(ctx, o); err == nil {
			break
		}
		if ctx.Err() != nil {
			return "", nil, nil, err
		}
	}
	if err != nil {
		return "", nil, nil, err
	}
	db = make([]int, len(l.nodes))
	o.Key = key
	for i, node := range l.nodes {
		if _, n, _, err := node.choose(ctx, o); err == nil { // else it never names it
			db[i] = n
		}
	}
	return key, db, others, nil
}

// playNodes plays the logs of several servers, and puts what was played into one order.
func (p *player) playNodes(ctx context.Context, db []int) error {
	for i, log := range p.log.nodes {
		node := newPlayer(log, p.key, Options{Resource: p.resource, NoScripts: p.plain})
		node.most, node.servers = MostCommands/len(p.log.nodes), len(p.log.nodes)
		p.nodes = append(p.nodes, node)
		if err := node.all(ctx, db[i]); err != nil {
			return err
		}
		if p.held += node.held; p.held > bound.Held {
			return bound.ErrHeld
		}
		if node.e != nil && (p.base.IsZero() || node.from < p.from) {
			p.base, p.from = node.base, node.from
		}
		p.at = max(p.at, node.at)
	}
	for i, node := range p.nodes {
		if node.e == nil {
			continue
		}
		if err := pause.Here(ctx); err != nil {
			return err
		}
		node.advance(p.at, 0)
		for _, one := range node.played {
			one.At += node.from - p.from
			one.Node, one.client = i+1, onNode(i+1, one.client)
			p.played = append(p.played, one)
		}
		node.played = nil
		p.named += node.named
		p.marks, p.hash, p.lease = p.marks || node.marks, p.hash || node.hash, max(p.lease, node.lease)
		for name, text := range node.scripts {
			if len(p.scripts) < mostScripts {
				p.scripts[name] = text
			}
		}
		for what, n := range node.notes {
			if one := p.notes[what]; one != nil {
				one.Count += n.Count
			} else {
				p.notes[what] = n
			}
		}
	}
	slices.SortStableFunc(p.played, func(a, b played) int { return cmp.Compare(a.At, b.At) })
	return nil
}

// states are the keys of all servers at the end.
func (p *player) states() []trace.KeyState {
	var list []trace.KeyState
	for _, node := range p.nodes {
		list = append(list, node.state())
	}
	return list
}

// servers says which log is of which node.
func (l *Log) servers() []trace.LogServer {
	var list []trace.LogServer
	for _, node := range l.nodes {
		list = append(list, trace.LogServer{Name: infer.Short(readableText(node.name), 80), Line: node.first})
	}
	return list
}

// Where returns the line of a log that a step was read from, and with several files the
// file's name; 0 if it is from none.
func (f *Imported) Where(step int) (file string, line int) {
	if step > len(f.Lines) || f.Lines[step-1] == 0 {
		return "", 0
	}
	line = f.Lines[step-1]
	first := 0
	for _, s := range f.Header.Log.Servers {
		if s.Line > first && s.Line <= line {
			file, first = s.Name, s.Line
		}
	}
	if first > 0 {
		line -= first - 1
	}
	return file, line
}

// of returns how many servers the lock is on, as far as is known.
func (o Options) of(l *Log) (int, error) {
	n := max(len(l.nodes), 1)
	switch {
	case o.Nodes == 0:
		return n, nil
	case o.Nodes < n || o.Nodes > scenario.MaxNodes:
		return 0, phrase.New("-nodes %d: allowed: %d, as many as there are logs, to %d", o.Nodes, n, scenario.MaxNodes)
	}
	return o.Nodes, nil
}

// ended is how long after its first command a log ends.
func (p *player) ended() time.Duration { return p.at - p.from }
