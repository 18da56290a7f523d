package lab

import "testing"

func TestTheLockIsTheKeyThatDecided(t *testing.T) {
	get := func(reply string) said { return said{command: "GET k", reply: reply, keys: []string{"k"}} }
	set := said{command: "SETEX k", reply: "OK", keys: []string{"k"}}
	probe := said{command: "SET probe", reply: "OK", keys: []string{"probe"}}
	count := func(reply string) said { return said{command: "INCR n", reply: reply, keys: []string{"n"}} }
	for name, c := range map[string]struct {
		alone, now []said
		not        []string
		want       string
	}{
		"refused":                    {[]said{probe, get("nil"), set}, []said{probe, get("A")}, nil, "k"},
		"asked again":                {[]said{get("nil"), set}, []said{get("A"), get("A")}, nil, "k"},
		"told the same":              {[]said{get("nil"), set}, []said{get("nil"), set}, nil, ""},
		"told other, did the same":   {[]said{count("1"), set}, []said{count("2"), set}, nil, ""},
		"a count that lasts":         {[]said{count("1"), set}, []said{count("2")}, []string{"n"}, ""},
		"it began in another way":    {[]said{probe, set}, []said{get("A")}, nil, ""},
		"a count decides before it ": {[]said{count("1"), get("nil"), set}, []said{count("2"), get("A")}, []string{"n"}, "k"},
	} {
		if got := decided(c.alone, c.now, c.not); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
