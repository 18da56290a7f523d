package lab

import (
	"testing"

	"relock/engine/outside/infer"
)

// What may change places, where the footprints do not meet.
func TestWhatCommutes(t *testing.T) {
	on := func(node int) infer.Footprint { return infer.Footprint{Node: node, All: true} }
	mark := infer.Footprint{Keys: []string{infer.Channel(infer.MarkEnter)}}
	did := func(change func(*effect)) *effect {
		e := &effect{done: true}
		change(e)
		return e
	}
	nothing := did(func(*effect) {})
	believes := did(func(e *effect) { e.believes = true })
	changes := did(func(e *effect) { e.changes = true })
	for _, c := range []struct {
		name   string
		f, g   infer.Footprint
		z, did *effect
		may    bool
	}{
		{"on two nodes", on(1), on(2), nothing, nothing, true},
		{"one changes a belief", on(1), on(2), believes, nothing, true},
		{"both change a belief", on(1), on(2), believes, believes, false},
		{"one is not known", on(1), on(2), &effect{}, nothing, false},
		{"a mark, and nothing changes", mark, on(1), nothing, nothing, true},
		{"a mark, and a key changes", mark, on(1), nothing, changes, false},
		{"a key changes, and a mark", on(1), mark, changes, nothing, false},
	} {
		s := &search{g: &Gate{key: "k"}}
		z := sleeper{d: Decision{Thread: "A"}, f: c.f, did: c.z}
		if may := s.commute(z, &choice{d: Decision{Thread: "B"}, f: c.g, did: c.did}); may != c.may {
			t.Errorf("%s: they commute: %v", c.name, may)
		}
	}
}

// Of orders that are equally small the first one stays.
func TestASmallerOrderIsSmaller(t *testing.T) {
	order := func(faults, decisions int) *Order {
		return &Order{Faults: faults, Decisions: make([]Decision, decisions)}
	}
	for _, c := range []struct {
		one, than *Order
		smaller   bool
	}{
		{order(0, 9), order(1, 3), true},
		{order(1, 3), order(0, 9), false},
		{order(1, 3), order(1, 4), true},
		{order(1, 3), order(1, 3), false},
	} {
		if is := c.one.smaller(c.than); is != c.smaller {
			t.Errorf("%d faults and %d decisions, than %d and %d: smaller is %v", c.one.Faults, len(c.one.Decisions), c.than.Faults, len(c.than.Decisions), is)
		}
	}
}
