package board

import (
	"testing"

	"relock/engine/trace"
	"relock/web/lesson"
)

// BenchmarkJumping is what it takes a person to go from branch to branch: each press is on
// another branch than the one before, or leaves one in the past.
func BenchmarkJumping(b *testing.B) {
	for _, example := range []string{"lease-expiry", "redlock"} {
		plan, err := plannedExample(b.Context(), lesson.Place{Example: example})
		if err != nil {
			b.Fatal(err)
		}
		open := func(lines ...Line) *Alone {
			a, err := OpenAlone(b.Context(), plan.Scenario, lines, func(trace.Event) bool { return false }, nil)
			if err != nil {
				b.Fatal(err)
			}
			return a
		}
		do := func(a *Alone, c Command) Entry {
			e, err := a.Do(b.Context(), c)
			for ; err == nil && a.Going(); e, err = a.GoOn(b.Context()) {
				continue
			}
			if err == nil && e.Stand != nil {
				_, err = a.Track(b.Context(), e.Stand.Branch)
			}
			if err != nil {
				b.Fatal(err)
			}
			return e
		}
		b.Run(example+"/between ends", func(b *testing.B) {
			for b.Loop() {
				a := open(Line{Parent: -1}, Line{Parent: 0}, Line{Parent: 0})
				for n := range 18 {
					do(a, Command{Do: "step", Branch: n % 3})
				}
				a.Close()
			}
		})
		b.Run(example+"/into the past", func(b *testing.B) {
			a := open(Line{Parent: -1})
			defer a.Close()
			do(a, Command{Do: "run", To: "end"})
			for b.Loop() {
				for at := 1; at < len(a.Branches()[0].Moves)-1; at += 3 {
					e := do(a, Command{Do: "time", To: "by", By: "1.7ms", At: &at})
					if e.Stand.Branch == 0 {
						b.Fatalf("it goes along, at %d", at)
					}
					do(a, Command{Do: "drop", Branch: e.Stand.Branch})
				}
			}
		})
	}
}
