package film_test

import (
	"os"
	"strings"
	"testing"

	"relock/web/film"
	"relock/web/words"
)

// filmOfLog is the film of a log whose first line says which lock it is.
func filmOfLog(t *testing.T, name string) *film.Film {
	t.Helper()
	file := "testdata/" + name + ".log"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := theirTrace(t, file, data)
	f := film.Of(words.English, p.Scenario, p.Header)
	for _, e := range p.Events {
		f.Add(e)
	}
	return f
}

// cardOf is a card in a line: "A, B hold 2 of 3 permits".
func cardOf(c film.Card) string {
	names := make([]string, len(c.Owners))
	for i, o := range c.Owners {
		names[i] = o.Name
	}
	return strings.TrimSpace(strings.Join(names, ", ") + " " + c.Held)
}

// Each holder of a permit, and each reader, has a cord of its own; Redis' card counts
// permits and tells readers from a writer; who is refused reads at its cord what keeps it out.
func TestKindsOfLocksOnTheStage(t *testing.T) {
	for _, c := range []struct {
		log     string
		step    int
		beliefs []string
		card    string
		raw     string
		why     string
	}{
		{
			"three-permits", 2,
			[]string{"I hold a permit, ok", "Outside, none", "Outside, none", "Outside, none"},
			"A holds 1 of 3 permits", "ZSET { job-1: 1700000000400 }", "A says that it is inside.",
		},
		{
			"three-permits", 8,
			[]string{"I hold a permit, ok", "I hold a permit, ok", "I hold a permit, ok", "Outside, none"},
			"A, B, C hold 3 of 3 permits", "ZSET { job-1: 1700000000400, job-2: 1700000000420, job-3: 1700000000430 }", "D's script runs ZCARD, which answers 3. All 3 permits are taken. The key has 370 ms left.",
		},
		{
			"three-permits", 10,
			[]string{"Outside, none", "I hold a permit, ok", "I hold a permit, ok", "Outside, none"},
			"B, C hold 2 of 3 permits", "ZSET { job-2: 1700000000420, job-3: 1700000000430 }", "A sends ZREM, and Redis answers 1. 2 of 3 permits are taken. The key has 340 ms left.",
		},
		{
			"three-permits", 18,
			[]string{"Outside, none", "Outside, none", "Outside, none", "Outside, none"},
			"all 3 permits are free", "no key", "D sends ZREM, and Redis answers 1. There is no key.",
		},
		{
			"a-set-of-permits", 8,
			[]string{"I hold a permit, ok", "I hold a permit, ok", "Outside, loose, was not told"},
			"A, B, C are 3 for 2 permits", "SET { job-1, job-2, job-3 }", "C sends SCARD, and Redis answers 3. 3 members for 2 permits. The key has no expiry.",
		},
		{
			"a-set-of-permits", 9,
			[]string{"I hold a permit, ok", "I hold a permit, ok", "Outside, none"},
			"A, B hold 2 of 2 permits", "SET { job-1, job-2 }", "C sends SREM, and Redis answers 1. Both permits are taken. The key has no expiry.",
		},
		{
			"more-than-two-permits", 6,
			[]string{"I hold a permit, ok", "I hold a permit, ok", "I hold a permit, ok"},
			"A, B, C are 3 for 2 permits", "ZSET { job-1: 1700000000400, job-2: 1700000000420, job-3: 1700000000440 }", "3 threads are inside at once, and the lock has 2 permits.",
		},
		{
			"permits-lost", 5,
			[]string{"I hold a permit, nobody has told it, open, not in Redis", "I hold a permit, nobody has told it, open, not in Redis", "Outside, none"},
			"both permits are free", "no key", "Redis drops the key of A and B: its lease of 100 ms is over.",
		},
		{
			"permits-lost", 7,
			[]string{"I hold a permit, nobody has told it, false, not in Redis", "I hold a permit, nobody has told it, false, not in Redis", "I hold a permit, ok"},
			"C holds 1 of 2 permits", "ZSET { job-3: 1700000000400 }", "",
		},
		{
			"readers-and-a-writer", 3,
			[]string{"I read, ok", "I read, ok", "I wait, refused once, no, A and B read"},
			"A, B read it", "HASH { mode: read, client-1: 1, client-2: 1 }", "C does not get the lock. A and B read. The key has 480 ms left.",
		},
		{
			"readers-and-a-writer", 4,
			[]string{"Outside, none", "I read, ok", "I wait, refused once, no, B reads"},
			"B reads it", "HASH { mode: read, client-2: 1 }", "A's unlock is done. B reads. The key has 440 ms left.",
		},
		{
			"readers-and-a-writer", 7,
			[]string{"I wait, refused once, no, C writes", "Outside, none", "I write, ok"},
			"C writes it", "HASH { mode: write, client-3: 1 }", "A does not get the lock. C writes. The key has 490 ms left.",
		},
		{
			"a-writer-beside-a-reader", 2,
			[]string{"I read, ok", "I write, ok"},
			"A, B hold it", "HASH { mode: write, client-1: 1, client-2: 1 }", "B is inside while A reads: only readers share the lock.",
		},
	} {
		row := filmOfLog(t, c.log).Rows()[c.step-1]
		for i, want := range c.beliefs {
			if got := told(row.Stage, i); got != want {
				t.Errorf("%s, T%d: %q, not %q", c.log, c.step, got, want)
			}
		}
		if card := cardOf(row.Stage.Card); card != c.card || row.Stage.Card.Raw != c.raw {
			t.Errorf("%s, T%d: %q, %q, not %q, %q", c.log, c.step, card, row.Stage.Card.Raw, c.card, c.raw)
		}
		if c.why != "" && row.Why != c.why {
			t.Errorf("%s, T%d: %q, not %q", c.log, c.step, row.Why, c.why)
		}
	}
}

// The key's cell has the mode first, and how many permits are taken; the mode is nobody's.
func TestKindsOfLocksInTheTable(t *testing.T) {
	for _, c := range []struct {
		log   string
		step  int
		short string
		taken string
		title string
	}{
		{"three-permits", 8, "{A: 1700000000400, B: 1700000000420, C: 1700000000430} 370 ms", "3 of 3 permits", ""},
		{"three-permits", 18, "∅", "", ""},
		{"a-set-of-permits", 8, "{A, B, C} no expiry", "3 members for 2 permits", ""},
		{"more-than-two-permits", 6, "{A: 1700000000400, B: 1700000000420, C: 1700000000440} 400 ms", "3 members for 2 permits", "more inside than permits"},
		{"readers-and-a-writer", 3, "{mode: read, A: 1, B: 1} 480 ms", "", ""},
		{"a-writer-beside-a-reader", 2, "{mode: write, A: 1, B: 1} 500 ms", "", "two inside at once"},
	} {
		row := filmOfLog(t, c.log).Rows()[c.step-1]
		if row.Key.Short() != c.short || row.Key.Taken != c.taken || row.Broken != c.title {
			t.Errorf("%s, T%d: %q, %q, %q", c.log, c.step, row.Key.Short(), row.Key.Taken, row.Broken)
		}
	}
}

// The key's lane is nobody's alone where several hold it: it has their names, or how many
// permits are taken, if there is room.
func TestKindsOfLocksInTheLanes(t *testing.T) {
	for log, want := range map[string]string{
		"three-permits":        "1 of 3|2 of 3|3 of 3||3 of 3|2 of 3|1 of 3",
		"readers-and-a-writer": "A 0|A, B|B 1|C 2|A 0",
	} {
		var got []string
		for _, a := range whole(filmOfLog(t, log).Lanes()).Key.Areas {
			text := a.Thread
			if a.Ordinal >= 0 {
				text += " " + string(rune('0'+a.Ordinal))
			}
			got = append(got, text)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, not %q", log, strings.Join(got, "|"), want)
		}
	}
}
