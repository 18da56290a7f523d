package film_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"relock/engine/trace"
	"relock/engine/verdict"
	"relock/lessons/lessonstest"
	"relock/web/film"
	"relock/web/words"
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
			if g.Closed {
				size = "[" + size + "]"
			}
			got += size + " "
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// The page's script reads these of a key: no lease and no key are -1, and for each node
// who has the key there.
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

// The last row of a run says what keeps it from being judged where something does, and
// nothing of that where nothing does.
func TestTheLastRowAsksForAVerdict(t *testing.T) {
	for name, want := range map[string]verdict.Verdict{
		"two-threads": verdict.Unbroken, "heartbeat": verdict.Unjudged, "mutex-lost-reply": verdict.Unjudged, "redlock-three-nodes-down": verdict.Unjudged,
		"two-masters-wait": verdict.Unjudged, "spin-one-process": verdict.Unjudged, "lease-expiry": verdict.Broken, "textbook": verdict.Unbroken,
	} {
		run := lessonstest.Play(t, name+".yaml")
		j := verdict.OfRun(run.Scenario, run.Events)
		if j.Verdict != want {
			t.Errorf("%s is %s, not %s", name, j.Verdict, want)
		}
		for _, l := range []words.Language{words.English, words.Match("zh")} {
			rows := filmed(run, l, false).Rows()
			last := rows[len(rows)-1]
			lacks := film.Unjudged(l, j)
			if !slices.Equal(last.Unjudged, lacks) {
				t.Errorf("%s: %q, want %q", name, last.Unjudged, lacks)
			}
			full := last.InFull(l)
			for _, lack := range lacks[min(1, len(lacks)):] {
				if told := strings.Contains(full, lack); told != (want == verdict.Unjudged) {
					t.Errorf("%s: what is missing is told: %t in %q", name, told, full)
				}
			}
			if judged := !strings.Contains(full, strings.TrimRight(l.Say("This cannot be judged:"), ":：")) && !strings.Contains(full, "this cannot be judged"); judged != (want != verdict.Unjudged) {
				t.Errorf("%s: %q", name, full)
			}
		}
	}
}

// A trace from elsewhere is judged as it was, whatever words its header has.
func TestATraceOfAnUnknownKindSaysSo(t *testing.T) {
	run := lessonstest.Play(t, "two-threads.yaml")
	for lack, want := range map[string]string{
		`{"reason":"kind-unknown","says":"The key holds a sorted set."}`: "The key holds a sorted set. Let the worker say when it is inside: ECHO relock:enter before its critical section, ECHO relock:leave after it.",
		`{"reason":"kind-unknown","says":"Buy now"}`:                     "The key holds no string and no hash. Let the worker say when it is inside: ECHO relock:enter before its critical section, ECHO relock:leave after it.",
		`{"reason":"nobody-inside","says":"Buy now"}`:                    "",
	} {
		h := trace.Header{Owners: run.Owners, Store: trace.StoreLog, Log: &trace.FromLog{}, Unjudged: []json.RawMessage{json.RawMessage(lack)}}
		reel := film.Of(words.English, run.Scenario, h)
		for _, e := range run.Events {
			reel.Add(e)
		}
		rows := reel.Rows()
		if got := strings.Join(rows[len(rows)-1].Unjudged, "|"); want == "" && got != "" || want != "" && got != "This cannot be judged:|"+want {
			t.Errorf("%s: %q", lack, got)
		}
	}
}
