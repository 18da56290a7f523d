package effects_test

import (
	"testing"

	"relock/engine/outside/effects"
)

func TestTheLockIsTheKeyThatDecided(t *testing.T) {
	get := func(reply string) effects.Said {
		return effects.Said{Command: "GET k", Reply: reply, Keys: []string{"k"}}
	}
	set := effects.Said{Command: "SETEX k", Reply: "OK", Keys: []string{"k"}}
	probe := effects.Said{Command: "SET probe", Reply: "OK", Keys: []string{"probe"}}
	count := func(reply string) effects.Said {
		return effects.Said{Command: "INCR n", Reply: reply, Keys: []string{"n"}}
	}
	for name, c := range map[string]struct {
		alone, now []effects.Said
		not        []string
		want       string
	}{
		"refused":                    {[]effects.Said{probe, get("nil"), set}, []effects.Said{probe, get("A")}, nil, "k"},
		"asked again":                {[]effects.Said{get("nil"), set}, []effects.Said{get("A"), get("A")}, nil, "k"},
		"told the same":              {[]effects.Said{get("nil"), set}, []effects.Said{get("nil"), set}, nil, ""},
		"told other, did the same":   {[]effects.Said{count("1"), set}, []effects.Said{count("2"), set}, nil, ""},
		"a count that lasts":         {[]effects.Said{count("1"), set}, []effects.Said{count("2")}, []string{"n"}, ""},
		"it began in another way":    {[]effects.Said{probe, set}, []effects.Said{get("A")}, nil, ""},
		"a count decides before it ": {[]effects.Said{count("1"), get("nil"), set}, []effects.Said{count("2"), get("A")}, []string{"n"}, "k"},
	} {
		if got := effects.Decided(c.alone, c.now, c.not); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
