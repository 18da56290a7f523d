package explore_test

import (
	"testing"

	"relock/engine/explore"
)

func BenchmarkSearch(b *testing.B) {
	sc := load(b, "two-threads")
	for b.Loop() {
		space, err := explore.Search(b.Context(), sc, explore.Bounds{Delays: 3}, explore.Options{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(space.States())/b.Elapsed().Seconds()*float64(b.N), "states/s")
	}
}
