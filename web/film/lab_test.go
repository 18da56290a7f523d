package film_test

import (
	"strings"
	"testing"

	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/film"
	"relock/web/words"
)

// The film of a lab's trace has the clients' own scripts, with the line that a command
// is on, and knows nothing of what they do beside Redis.
func TestALabsScripts(t *testing.T) {
	sc, err := scenario.Parse([]byte(`{lock: {protocol: mutex, key: k, lease: 2s, watchdog: "off"}, threads: [{name: A}]}`))
	if err != nil {
		t.Fatal(err)
	}
	h := trace.Header{Store: trace.StoreLab, Lab: &trace.Lab{Scripts: map[string]string{"eval-0a.lua": "-- mine\nreturn redis.call('DEL', KEYS[1])"}}}
	f := film.Of(words.Match("en"), sc, h)
	f.Add(trace.Event{Seq: 1, Step: 1, Thread: "A", Key: trace.Absent(), Body: trace.Command{Call: "unlock", Script: "eval-0a.lua", Line: 2, Args: []string{"DEL", "k"}, Reply: int64(1), Level: 1, Attempt: 1}})
	f.Add(trace.Event{Seq: 2, Step: 1, Thread: "A", Key: trace.Absent(), Body: trace.Outcome{Call: "unlock", Result: trace.Released, Level: 1, Attempt: 1}})
	list := f.Scripts()
	if len(list) != 1 || list[0].Name != "eval-0a.lua" || len(list[0].Lines) != 2 || list[0].Lines[0].Text() != "-- mine" {
		t.Fatalf("its scripts are %+v", list)
	}
	row := f.Rows()[0]
	if row.Lua == nil || row.Lua.Script != "eval-0a.lua" || len(row.Lua.Ran) != 1 || row.Lua.Ran[0] != 2 {
		t.Errorf("its row is on %+v", row.Lua)
	}
	if b := row.Stage.Beliefs[0]; len(b.Calls) > 0 {
		t.Errorf("it tells of its calls: %+v", b)
	}
}

// On the stage of a lab or a log a lease over a day is pointed at, as is none at all, and none is said to be part of a
// lease that the frame does not know.
func TestALabsLongLeaseIsPointedAt(t *testing.T) {
	const day = 24 * 3_600_000
	for _, c := range []struct {
		lease     string
		pttl      int64
		left, odd string
		store     string
	}{
		{"2s", 1500, "1,500 of 2,000 ms", "", trace.StoreLab},
		{"1h", 1500, "1,500 ms", "", trace.StoreLab}, // nobody has seen one
		{"1h", 7_200_000, "2 h", "", trace.StoreLab},
		{"1h", day, "1 d", "", trace.StoreLab},
		{"1h", day + 1, "about 1 d", "over a day left", trace.StoreLab},
		{"2s", 3 * day, "3 d", "over a day left", trace.StoreLog},
		{"1h", 1 << 62, "over 292 years", "over a day left", trace.StoreLog},
		{"1h", trace.NoExpiry, "for ever", "no expiry", trace.StoreLog},
		{"2s", 3 * day, "3 d 0 h, where 2,000 ms were meant", "over a day left", ""}, // of a scenario it is known
	} {
		sc, err := scenario.Parse([]byte(`{lock: {protocol: mutex, key: k, lease: ` + c.lease + `, watchdog: "off"}, threads: [{name: A}]}`))
		if err != nil {
			t.Fatal(err)
		}
		value := "v"
		f := film.Of(words.Match("en"), sc, trace.Header{Store: c.store, Owners: map[string]string{value: "A"}})
		key := trace.KeyState{Type: trace.TypeString, Value: &value, PTTL: c.pttl}
		f.Add(trace.Event{Seq: 1, Step: 1, Thread: "A", Key: key, Belief: map[string]int{"A": 1}, Body: trace.Outcome{Call: "lock", Result: trace.Acquired, Level: 1, Attempt: 1}})
		if card := f.Rows()[0].Stage.Card; card.Left != c.left || card.Odd != c.odd || card.Wrong != (c.odd != "") {
			t.Errorf("%d ms of %s: %q, %q, %t", c.pttl, c.lease, card.Left, card.Odd, card.Wrong)
		}
	}
}

// What other people's programs write is told as it is: no number where there is none, and
// nothing of what they mean to do, or have added.
func TestWhatALabsWorkersWriteIsTold(t *testing.T) {
	sc, err := scenario.Parse([]byte(`{lock: {protocol: mutex, key: k, lease: 2s, watchdog: "off"}, threads: [{name: A}, {name: B}]}`))
	if err != nil {
		t.Fatal(err)
	}
	list := []struct {
		who        string
		b          trace.Resource
		row, says  string
		line, text string
	}{
		{"A", trace.Resource{Op: trace.OpRead, Text: `"ten"`}, `reads "ten"`, `A reads "ten".`, `"ten"`, ""},
		{"B", trace.Resource{Op: trace.OpRead, Value: 7}, "reads 7", "B reads 7.", "7", "B has read 7"},
		{"A", trace.Resource{Op: trace.OpWrite, Value: 5, Version: 1}, "writes 5", "A writes 5, over nothing newer than it has read.", "5", "B has read 7"},
		{"B", trace.Resource{Op: trace.OpWrite, Text: `"x"`, Version: 2}, `writes "x"`, `B writes "x" over newer writes: it has missed 1 since it read.`, `"x"`, ""},
	}
	l := words.Match("en")
	n := film.NarratorOf(l, sc, trace.Header{Store: trace.StoreLab, Lab: &trace.Lab{}})
	f := film.Of(l, sc, trace.Header{Store: trace.StoreLab, Lab: &trace.Lab{}})
	for i, c := range list {
		e := trace.Event{Seq: i + 1, Step: i + 1, Thread: c.who, Key: trace.Absent(), Body: c.b}
		if got := film.Resource(l, c.b); got != c.row {
			t.Errorf("row %d: %q, want %q", i+1, got, c.row)
		}
		if got := n.Tell(e); got != c.says {
			t.Errorf("row %d says %q, want %q", i+1, got, c.says)
		}
		f.Add(e)
		r := f.Rows()[i].Stage.Card.Resource
		if r == nil || r.Value != c.line || strings.Join(r.Texts, "; ") != c.text {
			t.Errorf("row %d's stage has %+v", i+1, r)
		}
	}
}
