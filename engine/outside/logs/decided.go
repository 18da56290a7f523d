package logs

import (
	"context"
	"slices"

	"relock/engine/outside/infer"
	"relock/engine/pause"
)

// turn is a command of a client with its answer, and what the client did next.
type turn struct {
	said  []infer.Said
	other bool // a key that it names was there, and another client had made it
}

// mostTurns is how many turns of a command are compared, of either kind.
const mostTurns = 64

// asks takes that a client comes to another's key: with locks that it has made itself, it waits
// for one more.
func (l *Log) asks(client, key string, makers map[string]string) {
	if l.keys[key].taken == 0 {
		return
	}
	for own, maker := range makers {
		if maker == client && own != key && l.keys[own].taken > 0 {
			if l.keys[own].next == nil {
				l.keys[own].next = map[string]bool{}
			}
			l.keys[own].next[key] = true
		}
	}
}

// circle returns the keys that are taken in a circle with this one, the likeliest first: whoever
// has one of them comes to another.
func (l *Log) circle(key string) []string {
	leads := func(from, to string) bool {
		seen, todo := map[string]bool{}, []string{from}
		for len(todo) > 0 {
			at := todo[0]
			todo = todo[1:]
			for next := range l.keys[at].next {
				if next == to {
					return true
				}
				if !seen[next] {
					seen[next] = true
					todo = append(todo, next)
				}
			}
		}
		return false
	}
	var list []string
	for _, one := range l.locks {
		if one.Key != key && leads(key, one.Key) && leads(one.Key, key) {
			list = append(list, one.Key)
		}
	}
	return list
}

// decided returns the key whose state decided the answer to a client other than the one
// that had made it, and what that client then did; "" if there is none. A lab asks the
// same of its rounds: here it compares each command with commands of the same name that
// found no other's key. It runs the commands of all keys again.
func (l *Log) decided(ctx context.Context, o Options) (string, error) {
	p := newPlayer(l, "", o)
	defer p.close()
	makers := map[string]string{} // clients, by key
	last := map[string]*turn{}    // by client
	turns := map[string][]*turn{} // by command
	for i := range l.Entries[:min(len(l.Entries), MostCommands)] {
		if err := pause.Here(ctx); err != nil {
			return "", err
		}
		e := l.Entries[i]
		if infer.Mark(e.Args) != "" {
			continue
		}
		e.own = false // it is of any key
		p.reach(&e)
		t := &turn{}
		for _, key := range e.keys {
			if !p.e.Key(key).Exists() {
				delete(makers, key)
			}
			if makers[key] != "" && makers[key] != e.Client {
				t.other, l.keys[key].met = true, true
				l.asks(e.Client, key, makers)
			}
		}
		r, ran := p.run(ctx, &e)
		switch {
		case ctx.Err() != nil: // in mid-script
			return "", context.Cause(ctx)
		case p.hung:
			return "", wrong(e.Line, "its script does not end when it runs again")
		case e.Reply != nil:
			r.Reply, r.Err = e.Reply.Value, e.Reply.Err
		}
		for _, key := range e.keys {
			if makers[key] == "" && p.e.Key(key).Exists() {
				makers[key] = e.Client
			}
		}
		one := infer.SaidOf(r)
		one.Keys = e.keys // those of a script's own commands, too
		if was := last[e.Client]; was != nil {
			was.said = append(was.said, one)
			delete(last, e.Client)
		}
		if !ran || len(e.keys) == 0 {
			continue
		}
		t.said = []infer.Said{one}
		turns[one.Command], last[e.Client] = append(turns[one.Command], t), t
	}
	not := l.lasting(p, o)
	for _, ends := range []bool{false, true} { // nobody knows what the client did after the last
		if key := l.likeliest(turns, ends, not); key != "" {
			return key, nil
		}
	}
	return "", nil
}

// lasting returns the keys that are there at the end, without an expiry, and that nobody
// ever gives back.
func (l *Log) lasting(p *player, o Options) []string {
	not := []string{o.Resource}
	for key, c := range l.keys {
		if p.e == nil || c.freed {
			continue
		}
		if k := p.e.Key(key); k.Exists() && k.PTTL < 0 {
			not = append(not, key)
		}
	}
	return not
}

// likeliest returns that key of those which decided that is likeliest the lock; with ends,
// also where nothing follows.
func (l *Log) likeliest(turns map[string][]*turn, ends bool, not []string) string {
	var list []*candidate
	for _, all := range turns {
		var alone, now []*turn
		for _, t := range all {
			switch {
			case !ends && len(t.said) < 2:
			case t.other && len(now) < mostTurns:
				now = append(now, t)
			case !t.other && len(alone) < mostTurns:
				alone = append(alone, t)
			}
		}
		for _, a := range alone {
			for _, b := range now {
				if key := infer.Decided(a.said, b.said, not); key != "" {
					list = append(list, l.keys[key])
				}
			}
		}
	}
	if len(list) == 0 {
		return ""
	}
	return slices.MinFunc(list, likelier).key
}
