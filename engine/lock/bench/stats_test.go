package bench_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// quantile is the q-th quantile of values; there must be at least one.
func quantile[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// spread is "min/med/max" of values, "-" where there are none.
func spread(values []float64, format string) string {
	if len(values) == 0 {
		return "-"
	}
	return fmt.Sprintf(format+"/"+format+"/"+format, quantile(values, 0), quantile(values, 0.5), quantile(values, 1))
}

// jain is how equal shares are: 1 where all are, 1/n where one has everything.
func jain(shares []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, s := range shares {
		sum += s
		squares += s * s
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(shares)) * squares)
}
