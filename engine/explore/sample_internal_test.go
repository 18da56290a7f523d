package explore

import (
	"testing"

	"relock/engine/explore/pct"
	"relock/engine/fault"
	"relock/engine/racetest"
	"relock/engine/recall"
)

// At a decision that costs, the task that was to move falls below all others, as
// PCT wants it; at any other the highest priority moves, and all keep theirs.
func TestWhoWasToMoveFallsBehind(t *testing.T) {
	racetest.Skip(t)
	sc := parsed(t, "threads: [{name: A}, {name: B}, {name: C}]")
	b := Bounds{Delays: 1, Kinds: []string{fault.Pause}, MaxFaults: 1}
	w := &worker{s: &search{sc: sc, b: b, faults: b.faults(sc)}, memory: recall.NewMemory()}
	t.Cleanup(func() { _ = w.memory.Close() })
	for _, c := range []struct {
		name            string
		delays, strikes bool
		is              func(option) bool
		last            bool // the first is the last from then on
	}{
		{"a move", false, false, func(o option) bool { return o == 1 }, false},
		{"a delay", true, false, func(o option) bool { return o == delay || o == 1 }, true}, // where there is nothing to wait for, the move is made
		{"a fault", false, true, option.isFault, true},
		{"both", true, true, func(o option) bool { return o == delay || o.isFault() }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := w.open(t.Context(), false)
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close(nil)
			if n, err := st.Decide(t.Context()); err != nil || n != 3 {
				t.Fatal(n, err)
			}
			ready := st.Ready()
			d := draw{w: w, drawn: pct.New(1, 1), made: 7}
			d.drawn.Of = map[string]float64{ready[0]: 1.2, ready[1]: 1.9, ready[2]: 1.1}
			o, err := d.decide(t.Context(), st, c.delays, c.strikes)
			if err != nil || !c.is(o) {
				t.Errorf("decided %b, %v", o, err)
			}
			behind := d.drawn.Of[ready[1]] < d.drawn.Of[ready[0]] && d.drawn.Of[ready[1]] < d.drawn.Of[ready[2]]
			if behind != c.last || d.drawn.Of[ready[0]] != 1.2 || d.drawn.Of[ready[2]] != 1.1 {
				t.Errorf("priorities are %v", d.drawn.Of)
			}
		})
	}
}
