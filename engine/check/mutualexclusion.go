package check

import (
	"maps"
	"slices"
	"strings"
	"time"

	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/trace"
	"relock/engine/trace/facts"
)

// MutualExclusion is the rule that at most one thread is in its critical section: of a
// lock with permits, as many as it has; and readers share.
const MutualExclusion = "mutual-exclusion"

type mutualExclusion struct {
	guard    protocol.Guard
	kind     Kind
	together map[string][]string // threads reported inside together, by the name of the lock
}

func (m *mutualExclusion) clone() automaton {
	c := *m
	c.together = maps.Clone(m.together)
	return &c
}

func (m *mutualExclusion) append(b []byte, _ time.Duration, as naming) []byte {
	for _, name := range slices.Sorted(maps.Keys(m.together)) {
		together := make(map[string]bool, len(m.together[name]))
		for _, thread := range m.together[name] {
			together[thread] = true
		}
		b = appendSet(append(b, name...), together, as)
	}
	return append(b, ';')
}

func (m *mutualExclusion) observe(f *facts.Facts, e trace.Event) (Finding, bool) {
	rooms := f.Rooms()
	for name := range m.together {
		if !slices.Contains(rooms, name) {
			delete(m.together, name)
		}
	}
	for _, name := range rooms {
		if inside := f.InsideOf(name); m.news(f, name, inside) {
			one := m.finding(f, e, inside)
			if name != "" {
				one = one.Of(name)
				one.Lock = "" // it is a name of marks, and of no key
			}
			return one, true
		}
	}
	return Finding{}, false
}

// news takes who is inside a lock, and reports whether it is too many, with one more than
// were reported.
func (m *mutualExclusion) news(f *facts.Facts, name string, inside []string) bool {
	if m.kind.together(inside, func(thread string) bool { return f.SharesOf(thread, name) }) {
		delete(m.together, name)
		return false
	}
	news := slices.ContainsFunc(inside, func(t string) bool { return !slices.Contains(m.together[name], t) })
	if m.together == nil {
		m.together = map[string][]string{}
	}
	m.together[name] = inside
	return news
}

func (m *mutualExclusion) finding(f *facts.Facts, e trace.Event, inside []string) Finding {
	events := append(f.Entered.Of(inside...), e.Seq)
	for _, thread := range inside {
		if f.Lost[thread] > f.Entered[thread] {
			events = append(events, f.Lost[thread])
		}
	}
	one := found(MutualExclusion, inside, proof(events...), m.says(f, e, inside), m.why(f, e, inside))
	one.Detail = detail(f, e, inside)
	return one
}

// Inferred returns the finding with the threads that no answer has told of their loss:
// who is inside was read from what commands did to the key.
func (f Finding) Inferred(untold []string) Finding {
	say := func(says phrase.Wording) phrase.Wording {
		return phrase.Say("%[1]s; this is read from what their commands did to the key: no answer has told %[2]s of the loss", says, phrase.Names(untold))
	}
	f.Untold, f.Says, f.Detail = untold, say(f.Says), say(phrase.Plain(f.Detail)).String()
	return f
}

// detail returns the trace's text, which is the same for every guard.
func detail(f *facts.Facts, e trace.Event, inside phrase.Names) string {
	holders := "nobody holds the key in Redis"
	if e.Key.Exists() {
		holders = "the key in Redis names none of them"
	}
	if h := f.Held(); len(h) > 0 {
		holders = "in Redis the lock is " + strings.Join(h, "'s and ") + "'s"
	}
	return inside.String() + " are in their critical sections at once; " + holders
}

func (m *mutualExclusion) says(f *facts.Facts, e trace.Event, inside phrase.Names) phrase.Wording {
	holders := phrase.Names(f.Held())
	switch {
	case m.guard == protocol.Nothing:
		return phrase.Say("%s are in their critical sections at once; there is no lock between them", inside)
	case m.guard == protocol.InProcess:
		return phrase.Say("%s are in their critical sections at once; each process has its own spin lock", inside)
	case len(holders) > 0:
		return phrase.Say("%s are in their critical sections at once; in Redis the lock is held by %s", inside, holders)
	case len(e.Nodes) > 0:
		return phrase.Say("%s are in their critical sections at once; nobody has a majority of the nodes", inside)
	case e.Key.Exists():
		return phrase.Say("%s are in their critical sections at once; the key in Redis names none of them", inside)
	default:
		return phrase.Say("%s are in their critical sections at once; nobody holds the key in Redis", inside)
	}
}

func (m *mutualExclusion) why(f *facts.Facts, e trace.Event, inside phrase.Names) phrase.Wording {
	if m.kind.Permits > 0 {
		return phrase.Say("%d threads are inside at once, and the lock has %d permits.", len(inside), m.kind.Permits)
	}
	if len(inside) != 2 {
		return phrase.Say("%s is not alone in the critical section: %d threads are inside at once.", inside[0], len(inside))
	}
	holders := phrase.Names(f.Held())
	switch {
	case !m.kind.Exclusive && f.Shares(inside[0]) && !f.Shares(inside[1]):
		return phrase.Say("%s is inside while %s reads: only readers share the lock.", inside[1], inside[0])
	case !m.kind.Exclusive && f.Shares(inside[1]) && !f.Shares(inside[0]):
		return phrase.Say("%s is inside while %s reads: only readers share the lock.", inside[0], inside[1])
	case m.guard == protocol.Nothing:
		return phrase.Say("%s and %s are inside at once: there is no lock between them.", inside[0], inside[1])
	case m.guard == protocol.InProcess:
		return phrase.Say("%s and %s are inside at once: each has its own word of memory.", inside[0], inside[1])
	case f.Aside(inside[0]):
		return phrase.Say("%s and %s are inside at once: Redis has two masters, and %s asks the old one.", inside[0], inside[1], inside[0])
	case f.Aside(inside[1]):
		return phrase.Say("%s and %s are inside at once: Redis has two masters, and %s asks the old one.", inside[0], inside[1], inside[1])
	case len(holders) == 0 && len(e.Nodes) > 0:
		return phrase.Say("%s and %s are inside at once, and nobody has a majority of the nodes.", inside[0], inside[1])
	case len(holders) == 0 && e.Key.Exists():
		return phrase.Say("%s and %s are inside at once, and the key in Redis names neither.", inside[0], inside[1])
	case len(holders) == 0:
		return phrase.Say("%s and %s are inside at once, and in Redis the lock is nobody's.", inside[0], inside[1])
	}
	if len(holders) > 1 {
		return phrase.Say("%s and %s are inside at once, and in Redis the lock is held by %s.", inside[0], inside[1], holders)
	}
	for _, who := range inside {
		if at, ok := f.Dropped(who); ok && len(e.Nodes) == 0 && e.At > at && who != holders[0] {
			return phrase.Say("%s and %s are inside at once: Redis dropped %s's key %s ago.", inside[0], inside[1], who, (e.At - at).Duration())
		}
	}
	return phrase.Say("%s and %s are inside at once, and in Redis the lock is %s's.", inside[0], inside[1], holders[0])
}
