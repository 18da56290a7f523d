package export_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"relock/engine/bound"
	"relock/engine/bound/boundtest"
)

// The work for a run grows with its events, whatever they are: of the same kind again
// and again, with another name each, all in one step.
func TestGrowthOfWriting(t *testing.T) {
	shapes, writers := shapes(t), writers()
	for i, shape := range slices.Sorted(maps.Keys(shapes)) {
		for j, name := range slices.Sorted(maps.Keys(writers)) {
			if testing.Short() && j%len(shapes) != i {
				continue // each writer on one shape
			}
			t.Run(shape+", "+name, func(t *testing.T) {
				boundtest.Linear(t, func(times int) func() {
					r := shapes[shape](512 * times)
					return func() {
						if err := writers[name](t.Context(), r); err != nil && !errors.Is(err, bound.ErrWritten) {
							t.Error(err)
						}
					}
				})
			})
		}
	}
}
