package scenario

import (
	"slices"
	"strings"
	"unicode/utf8"

	"relock/engine/strict"

	"relock/engine/fault"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
)

// MaxLocks is how many locks a scenario may have: as many cards as fit on a stage. A
// circle of threads needs two.
const MaxLocks = 8

// Takes are the keys of the locks that a thread takes, the first one first, with spaces
// between; "" where the scenario has one lock, which has no name but its own.
type Takes string

// Keys returns the keys, the first one first.
func (t Takes) Keys() []string { return strings.Fields(string(t)) }

// Key returns the key of a level, from 1; of a scenario with one lock "".
func (t Takes) Key(level int) string {
	keys := t.Keys()
	if level < 1 || level > len(keys) {
		return ""
	}
	return keys[level-1]
}

// Level returns at which level a thread takes a lock, from 1; 0: it does not.
func (t Takes) Level(key string) int { return slices.Index(t.Keys(), key) + 1 }

func takesOf(keys []string) Takes { return Takes(strings.Join(keys, " ")) }

// Keys returns the keys of the locks, in the order of the scenario: of one lock its own.
func (s *Scenario) Keys() []string {
	if s.Locks == nil {
		return []string{s.Lock.Key}
	}
	return s.Locks
}

// Several returns the names of the locks of which a scenario can have several: each of
// their keys is a separate lock, and nothing else in Redis is theirs.
func Several() []string {
	var names []string
	for _, p := range exhibit.All() {
		if canBeSeveral(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// canBeSeveral reports whether a scenario can have several locks of a protocol. Waiters that
// get messages hear of one key, an exhibit's locker has one, and a lock in memory has none.
func canBeSeveral(p *protocol.Protocol) bool {
	_, strange := exhibit.HabitsOf(p)
	return !strange && p.Guard == protocol.InRedis && p.Base == nil && p.Nodes == 0 && p.Leave == nil && p.Companions == nil
}

// onlySeveral says of which locks there can be several, and why not of one.
func onlySeveral(l Lock) phrase.Wording {
	p, names := l.Implementation(), strings.Join(Several(), ", ")
	switch {
	case l.Own():
		return strict.Say("with locks only %s: scripts of your own are given one key", names)
	case p.Guard != protocol.InRedis:
		return strict.Say("with locks only %s: this one is not in Redis", names)
	case p.Nodes > 0:
		return strict.Say("with locks only %s: this one has a key on each of several nodes", names)
	case p.Token != nil:
		return strict.Say("with locks only %s: this one counts its tokens for one key", names)
	case p.Waiters != nil || p.Leave != nil || p.Companions != nil:
		return strict.Say("with locks only %s: this one tells its waiters by messages about one key", names)
	default:
		return strict.Say("with locks only %s: the client of this one knows one key", names)
	}
}

// keyForm reports whether a text can be the key of a lock.
func keyForm(s string) bool {
	return s != "" && utf8.RuneCountInString(s) <= MaxKey && printable(s) && !strings.ContainsAny(s, " {}")
}

// locks reads the keys of several locks, after the lock that they are like.
func (p *parser) locks(m strict.Map, s *Scenario) {
	v, ok := m["locks"]
	if !ok {
		return
	}
	if s.Kind != KindLock {
		p.Wrong(v, strict.TheKey("locks"), strict.Say("locks only with kind: %s", KindLock))
	}
	keys := p.namedKeys(v, "a list of 2 to %s keys", strict.Say("1 to %s printable characters without spaces, { and }, each key once", MaxKey), keyForm)
	switch {
	case keys == nil:
		return
	case len(keys) < 2:
		given := strict.Say("an empty list")
		if len(keys) == 1 {
			given = strict.Say("1 key")
		}
		p.Wrong(v, given, strict.Say("a list of 2 to %s keys", MaxLocks))
		return
	}
	s.Locks, s.Lock.Key = keys, keys[0]
	if p.judges() && !canBeSeveral(s.Lock.Implementation()) {
		at := v
		if l, ok := m["lock"]; ok {
			if named, ok := (&parser{}).Fields(l, lockKeys.Names()...)["protocol"]; ok { // its mistakes are known
				at = named
			}
		}
		p.Wrong(at, phrase.Plain(strict.Quote(s.Lock.Protocol)), onlySeveral(s.Lock))
	}
	p.alone(m, "resource")
	if l, ok := m["lock"]; ok && s.Lock.Protocol != protocol.Own {
		f := (&parser{}).Fields(l, lockKeys.Names()...) // its mistakes are known
		for _, key := range []string{"key", "kind", "wait", "min-replicas", "keep"} {
			p.alone(f, key)
		}
	}
}

// alone refuses a key that only a scenario with one lock has.
func (p *parser) alone(m strict.Map, key string) {
	p.only(m, key, !p.several, strict.Say("%s only with one lock, without locks", key))
}

// namedKeys reads a list of different keys, each one that is ok, or nil.
func (p *parser) namedKeys(v strict.Value, allowed phrase.Text, each phrase.Wording, ok func(string) bool) []string {
	list := p.List(v, MaxLocks, allowed, "%s keys")
	keys := make([]string, 0, len(list))
	for _, one := range list {
		key := ""
		if !p.Text(one, &key, each, func(key string) bool { return ok(key) && !slices.Contains(keys, key) }) {
			return nil
		}
		keys = append(keys, key)
	}
	if list == nil {
		return nil
	}
	return keys
}

// takes reads which locks a thread takes, and in which order: each is a level.
func (p *parser) takes(f strict.Map, s *Scenario, t *Thread) {
	p.only(f, "takes", p.several, strict.Say("takes only with locks: it says in which order they are taken"))
	if !p.several || s.Locks == nil {
		return
	}
	p.alone(f, "depth")
	p.alone(f, "after")
	if v, ok := f["takes"]; ok {
		theirs := strict.Say("keys of locks, each once: %s", strings.Join(s.Locks, ", "))
		keys := p.namedKeys(v, "a list of at most %s keys", theirs, func(key string) bool { return slices.Contains(s.Locks, key) })
		if keys != nil && len(keys) == 0 {
			p.Wrong(v, strict.Say("an empty list"), theirs)
		}
		if len(keys) == 0 {
			return
		}
		t.Takes = takesOf(keys)
	}
	t.Depth = len(t.Takes.Keys())
}

// ofOneKey reports whether a kind of fault is about the one key of a scenario.
func ofOneKey(k fault.Kind) bool { return k.Name == fault.Evict || k.Name == fault.TwoMasters }
