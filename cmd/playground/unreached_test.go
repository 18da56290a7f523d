package main

import (
	"strings"
	"testing"

	"relock/engine/racetest"
)

// Without a lost reply nobody takes a first level twice.
func TestExploreNamesLinesThatNoOrderCameBy(t *testing.T) {
	racetest.Skip(t)
	for _, c := range []struct {
		args []string
		want bool
	}{
		{[]string{"explore", "-delays", "0", good}, true},
		{[]string{"explore", "-delays", "0", "-faults", "lose-reply", "-max-faults", "1", good}, false},
	} {
		got := playground(t, "", c.args...)
		if got.code != exitOK {
			t.Fatalf("%v: exit code %d: %s", c.args, got.code, got.err)
		}
		if named := strings.Contains(got.out, "\n  lock.lua:34  redis.call('PEXPIRE', KEYS[1], ARGV[3])\n"); named != c.want {
			t.Errorf("%v: names line 34: %v, want %v:\n%s", c.args, named, c.want, got.out)
		}
	}
}
