package scenario_test

import (
	"fmt"
	"strings"
	"testing"

	"relock/engine/bound/boundtest"
	"relock/engine/scenario"
)

// Texts are as long as a scenario may be, and of kinds that could cost more than that.
func TestGrowthOfParsing(t *testing.T) {
	const size = scenario.MaxBytes / 8
	for name, part := range map[string]func(i int) string{
		"threads":      func(i int) string { return fmt.Sprintf("  - name: T%d\n    work: 5ms\n", i) },
		"unknown keys": func(i int) string { return fmt.Sprintf("  x%d: 1\n", i) },
		"lists":        func(int) string { return "[" },
		"maps":         func(int) string { return "{a: " },
		"mistakes":     func(i int) string { return fmt.Sprintf("  - {name: T%d, work: never}\n", i%10) },
		"moves":        func(i int) string { return fmt.Sprintf("  - {at: %dms}\n", i) },
		"anchors":      func(i int) string { return fmt.Sprintf("  - &a%d x\n  - *a%d\n", i, i) },
	} {
		t.Run(name, func(t *testing.T) {
			boundtest.Linear(t, func(times int) func() {
				var b strings.Builder
				b.WriteString("lock: {protocol: reentrant, key: k, lease: 30ms}\nthreads:\n")
				for i := 0; b.Len() < size*times-64; i++ {
					b.WriteString(part(i))
				}
				text := []byte(b.String())
				return func() { _, _ = scenario.Parse(text) }
			})
		})
	}
}
