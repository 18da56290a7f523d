package explore_test

import (
	"fmt"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/fault"
	"relock/engine/racetest"
)

// shown is the lines that were not reached, one a line.
func shown(list []explore.Unreached) string {
	var b strings.Builder
	for _, u := range list {
		for _, l := range u.Lines {
			fmt.Fprintf(&b, "%s:%d %s\n", u.Script, l.Number, l.Source)
		}
	}
	return b.String()
}

// Which lines they are was read in the script: nobody takes its first level again
// where no reply is lost.
func TestUnreachedLines(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		name string
		b    explore.Bounds
		want string
	}{
		{"two-threads", explore.Bounds{}, `
lock.lua:32 if level == 1 and redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then
lock.lua:34 redis.call('PEXPIRE', KEYS[1], ARGV[3])
`},
		{"two-threads", explore.Bounds{Kinds: []string{fault.LoseReply}, MaxFaults: 1}, "\n"},
		{"value", explore.Bounds{Delays: 1}, "\n"},
	} {
		for _, workers := range []int{1, 3} {
			if got := "\n" + shown(search(t, c.name, c.b, workers).Unreached()); got != c.want {
				t.Errorf("%s, %+v, %d workers: not reached:%swant:%s", c.name, c.b, workers, got, c.want)
			}
		}
	}
}
