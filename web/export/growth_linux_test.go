package export_test

import (
	"errors"
	"testing"

	"relock/engine/bound"
	"relock/engine/bound/boundtest"
)

// The work for a run grows with its events, whatever they are: of the same kind again
// and again, with another name each, all in one step.
func TestGrowthOfWriting(t *testing.T) {
	for shape, of := range shapes(t) {
		for name, write := range writers() {
			t.Run(shape+", "+name, func(t *testing.T) {
				boundtest.Linear(t, func(times int) func() {
					r := of(512 * times)
					return func() {
						if err := write(t.Context(), r); err != nil && !errors.Is(err, bound.ErrWritten) {
							t.Error(err)
						}
					}
				})
			})
		}
	}
}
