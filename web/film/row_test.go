package film_test

import (
	"encoding/json"
	"testing"

	"relock/engine/trace"
	"relock/web/film"
)

func TestThreeCommandsAboutTheQueueAreFolded(t *testing.T) {
	q, k := film.Line{Queue: true}, film.Line{}
	for _, c := range []struct {
		name  string
		lines []film.Line
		want  string // the sizes of the groups, folded ones in brackets
	}{
		{"two", []film.Line{k, q, q}, "1 2 "},
		{"three", []film.Line{q, q, q, k}, "[3] 1 "},
		{"three that do not follow each other", []film.Line{q, q, k, q}, "2 1 1 "},
		{"three about the lock", []film.Line{k, k, k}, "3 "},
	} {
		got := ""
		for _, g := range (&film.Cell{Lines: c.lines}).Groups() {
			size := string(rune('0' + len(g.Lines)))
			if g.Folded {
				size = "[" + size + "]"
			}
			got += size + " "
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// What the page's script reads of a key: no lease and no key are -1, and of
// each node who has the key there.
func TestAKeyAsThePageReadsIt(t *testing.T) {
	for want, k := range map[string]film.Key{
		`{"type":"none","lease":-1,"left":0}`: {Type: trace.TypeNone, PTTL: trace.NoKey},
		`{"type":"hash","fields":[{"owner":"aaaa…222","thread":1,"count":"2"}],"lease":150,"left":750}`: {
			Type: trace.TypeHash, PTTL: 150, Fraction: 750, Lease: "150 ms",
			Holds: []film.HoldCount{{Thread: "B", Ordinal: 1, Owner: "aaaa…222", Count: "2"}},
		},
		`{"type":"string","fields":[{"owner":"x","thread":-1,"count":""}],"lease":-1,"left":1000,"nodes":[0,-1]}`: {
			Type: trace.TypeString, PTTL: trace.NoExpiry, Fraction: 1000, Holds: []film.HoldCount{{Ordinal: -1, Owner: "x"}},
			Nodes: []film.Node{{Number: 1, Thread: "A"}, {Number: 2}},
		},
	} {
		if got, err := json.Marshal(k); err != nil || string(got) != want {
			t.Errorf("%s, want %s: %v", got, want, err)
		}
	}
}
