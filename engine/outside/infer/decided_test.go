package infer_test

import (
	"testing"

	"relock/engine/outside/infer"
)

func TestTheLockIsTheKeyThatDecided(t *testing.T) {
	get := func(reply string) infer.Said {
		return infer.Said{Command: "GET k", Reply: reply, Keys: []string{"k"}}
	}
	set := infer.Said{Command: "SETEX k", Reply: "OK", Keys: []string{"k"}}
	probe := infer.Said{Command: "SET probe", Reply: "OK", Keys: []string{"probe"}}
	count := func(reply string) infer.Said {
		return infer.Said{Command: "INCR n", Reply: reply, Keys: []string{"n"}}
	}
	for name, c := range map[string]struct {
		alone, now []infer.Said
		not        []string
		want       string
	}{
		"refused":                    {[]infer.Said{probe, get("nil"), set}, []infer.Said{probe, get("A")}, nil, "k"},
		"asked again":                {[]infer.Said{get("nil"), set}, []infer.Said{get("A"), get("A")}, nil, "k"},
		"told the same":              {[]infer.Said{get("nil"), set}, []infer.Said{get("nil"), set}, nil, ""},
		"told other, did the same":   {[]infer.Said{count("1"), set}, []infer.Said{count("2"), set}, nil, ""},
		"a count that lasts":         {[]infer.Said{count("1"), set}, []infer.Said{count("2")}, []string{"n"}, ""},
		"it began in another way":    {[]infer.Said{probe, set}, []infer.Said{get("A")}, nil, ""},
		"a count decides before it ": {[]infer.Said{count("1"), get("nil"), set}, []infer.Said{count("2"), get("A")}, []string{"n"}, "k"},
	} {
		if got := infer.Decided(c.alone, c.now, c.not); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
