package explore_test

import (
	"fmt"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/racetest"
	"relock/engine/scenario"
)

const crosswise = `lock: {protocol: mutex, lease: 30s, retry: {times: 3, interval: 50ms}}
locks: [x, y]
threads:
  - {name: A, takes: [x, y], work: 50ms}
  - {name: B, takes: [y, x], work: 50ms}
`

// In opposite orders threads wait for one another, and that is found without a delay, for
// retries that end and for those that do not. With either cure no order is left.
func TestDeadlockIsFoundAndItsCuresHold(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		name, from, to string
		want           string
	}{
		{"crosswise", "", "", "deadlock, 0 delays, by [0 0 0 0]"},
		{"without end", "times: 3", "times: unlimited", "deadlock, 0 delays, by [0 0 0 0]"},
		{"in one order", "[y, x]", "[x, y]", ""},
		{"given back", "interval: 50ms", "interval: 50ms, jitter: 0ms-50ms, give-back: true", ""},
		{"given back by one", "{name: A,", "{name: A, retry: {give-back: true},", ""},
	} {
		sc, err := scenario.Parse([]byte(strings.Replace(crosswise, c.from, c.to, 1)))
		if err != nil {
			t.Fatal(err)
		}
		space, err := explore.Search(t.Context(), sc, explore.Bounds{Delays: 1}, explore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range space.Rules() {
			moves := make([]string, len(r.Schedule))
			for i, m := range r.Schedule {
				moves[i] = fmt.Sprint(m.Choice)
			}
			got = append(got, fmt.Sprintf("%s, %d delays, by [%s]", r.Name, r.Delays, strings.Join(moves, " ")))
		}
		if text := strings.Join(got, "; "); text != c.want || space.Ending() != explore.Exhausted {
			t.Errorf("%s: %q, ended as %v; want %q", c.name, text, space.Ending(), c.want)
		}
	}
}
