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
