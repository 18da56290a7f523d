package story

import (
	"fmt"
	"strconv"
	"time"

	"relock/engine/trace"
	"relock/web/film"
	"relock/web/templates"
	"relock/web/words"
)

// maker makes view models in a language. Each row has another number, so that the ids of
// rows are unique on the page.
type maker struct {
	l    words.Language
	step int
}

// names returns a thread's name.
func names(ordinal int) string { return string(rune('A' + ordinal)) }

func (m *maker) scenario(threads int) film.Scenario {
	s := film.Scenario{Title: m.l.Say("Your scenario"), Protocol: "reentrant", Key: "EXAMPLE_LOCK", Lease: "200ms", LeaseMillis: 200, Watchdog: "66ms", Seed: "1"}
	for i := range threads {
		s.Threads = append(s.Threads, film.Thread{Name: names(i), Ordinal: i, Start: "0s", Depth: 2, Work: "50ms", Retries: 5, Interval: "50ms"})
	}
	return s
}

// ms formats a time as the page does.
func (m *maker) ms(n int) string { return m.l.Duration(time.Duration(n) * time.Millisecond) }

// row returns the next row, 10 ms after the previous one. Threads without a
// cell do nothing.
func (m *maker) row(key film.Key, cells ...film.Cell) film.Row {
	m.step++
	r := film.Row{Step: m.step, LastSeq: m.step, Time: "T" + strconv.Itoa(m.step), At: m.ms(10 * m.step), Key: key}
	for i := range 2 {
		if i < len(cells) {
			cells[i].Thread, cells[i].Ordinal = names(i), i
			r.Cells = append(r.Cells, cells[i])
			continue
		}
		r.Cells = append(r.Cells, film.Cell{Thread: names(i), Ordinal: i, Title: m.l.Say("not started"), Tone: film.Quiet})
	}
	return r
}

// acts returns the cell of the acting thread.
func acts(tone film.Tone, title string, lines ...film.Line) film.Cell {
	return film.Cell{Acting: true, Tone: tone, Title: title, Lines: lines}
}

// holds returns the cell of a thread that believes it holds so many levels.
func holds(c film.Cell, levels int) film.Cell {
	c.Inside = levels
	return c
}

// command returns a command on the lock's key.
func (m *maker) command(verb, args, reply string, line int, writes bool) film.Line {
	return film.Line{Verb: verb, Args: args, Reply: reply, Writes: writes, Source: "lock.lua:" + strconv.Itoa(line), Spoken: m.l.Say("%s gives %s", verb, reply)}
}

// owner returns a thread's id, shortened.
func owner(ordinal int) string { return fmt.Sprintf("%02d3f…a%02d", ordinal+1, ordinal+1) }

func field(ordinal, count int) film.HoldCount {
	return film.HoldCount{Thread: names(ordinal), Ordinal: ordinal, Owner: owner(ordinal), Count: strconv.Itoa(count)}
}

// hash returns the key while a thread holds it, with so much of 200 ms left.
func (m *maker) hash(left int, fields ...film.HoldCount) film.Key {
	return film.Key{Type: "hash", Holds: fields, Lease: m.ms(left), Fraction: left * 5}
}

// numbered returns the key of a lock whose calls are numbered.
func (m *maker) numbered(last int) film.Key {
	k := m.hash(151, field(0, 2))
	k.Calls = []film.LastCall{{Field: "#" + names(0), Thread: names(0), Number: strconv.Itoa(last)}}
	return k
}

// told returns a story of one row.
func (m *maker) told(state string, r film.Row) Story {
	name := "RowView: " + state
	return Story{Name: name, Component: table(m.scenario(2), name, templates.RowView(r))}
}

func (m *maker) rows() []Story {
	l := m.l
	exists := func() film.Line { return m.command("EXISTS", "", "0", 4, false) }
	incr := func(reply string) film.Line { return m.command("HINCRBY", owner(0)+" +1", reply, 5, true) }
	expire := m.command("PEXPIRE", "200", "1", 6, true)
	working := film.Cell{Title: l.Say("working, level %d", 1), Tone: film.Quiet, Inside: 1}
	held := m.hash(200, field(0, 1))
	list := []Story{
		m.told("nothing yet", m.row(film.Key{})),
		m.told("acquired", m.row(held, holds(acts(film.Good, l.Say("%s: acquired", "lock"), exists(), incr("1"), expire), 1))),
	}
	refused := acts(film.Bad, l.Say("%s: refused", "lock"), m.command("EXISTS", "", "1", 4, false), m.command("HEXISTS", owner(1), "0", 4, false))
	refused.Notes, refused.Doing = []film.Note{{Text: l.Say("waits %s", m.ms(50)), Tone: film.Plain}}, film.Waiting
	list = append(list, m.told("refused, and waits", m.row(held, working, refused)))
	for level := 2; level <= 5; level++ { // four are told apart
		cell := holds(acts(film.Good, l.Say("%s: level %d entered", "lock", level), incr(strconv.Itoa(level)), expire), level)
		list = append(list, m.told(fmt.Sprintf("entered to level %d", level), m.row(m.hash(200, field(0, level)), cell)))
	}
	waiting := film.Cell{Title: l.Say("waiting until %s", m.ms(150)), Tone: film.Quiet, Doing: film.Waiting}
	paused := film.Cell{Title: l.Say("paused until %s", m.ms(300)), Tone: film.Quiet, Doing: film.Paused}
	list = append(
		list,
		m.told("one waits, beside a renewal", m.row(held, holds(acts(film.Good, l.Say("%s: lease renewed", l.Say("watchdog")), m.command("PEXPIRE", "200", "1", 3, true)), 1), waiting)),
		m.told("one is paused", m.row(held, holds(acts(film.Plain, l.Say("work at level %d done", 1)), 1), paused)),
		m.told("is paused and holds", m.row(held, film.Cell{Title: l.Say("paused until %s", m.ms(300)), Tone: film.Quiet, Doing: film.Paused, Inside: 1})),
	)
	struck := acts(film.Good, l.Say("%s: acquired", "lock"))
	struck.Notes, struck.Inside = []film.Note{{Text: l.Say("fault: paused for %s", m.ms(300)), Tone: film.Bad}}, 1
	parted := film.Cell{Title: l.Say("working, level %d", 2), Tone: film.Quiet, Inside: 2, Parted: true}
	leaving := film.Cell{Tone: film.Quiet, Inside: 1, Leaving: true}
	list = append(
		list, m.told("a fault strikes", m.row(held, struck)),
		m.told("parted: Redis does not know the hold; the other is leaving", m.row(film.Key{}, parted, leaving)),
	)
	expired := m.row(film.Key{}, parted)
	expired.Event, expired.EventTone = l.Say("The lease ran out: Redis dropped the key"), film.Bad
	restart := m.row(film.Key{})
	restart.Event, restart.EventTone = l.Say("Fault: Redis restarts empty"), film.Bad
	list = append(list, m.told("the lease ran out", expired), m.told("a fault of Redis", restart))
	both := m.row(m.hash(200, field(1, 1)), parted, holds(acts(film.Good, l.Say("%s: acquired", l.Say("retry %d", 2)), exists(), m.command("HINCRBY", owner(1)+" +1", "1", 5, true)), 1))
	both.Violations = []film.Violation{{
		Rule:   "mutual-exclusion",
		Detail: l.Say("%s are in their critical sections at once; in Redis the lock is held by %s", l.Say("%s and %s", "A", "B"), "B"),
	}}
	orphan := m.row(m.hash(200, field(0, 1)))
	orphan.Event, orphan.EventTone = l.Say("The run has ended"), film.Quiet
	orphan.Violations = []film.Violation{{Rule: "shut-out", Detail: l.Say("nobody is inside, and nobody ever gets in: %s", l.Say("%s's key stays", "A"))}}
	failed := acts(film.Bad, l.Say("%s: error", "unlock"), film.Line{Verb: "HGET", Args: owner(0), Reply: "WRONGTYPE Operation against a key", Error: true})
	failed.Notes = []film.Note{{Text: l.Say("connection refused"), Tone: film.Plain}}
	ended := m.row(film.Key{}, film.Cell{Title: l.Say("ended: %s", l.Say("done")), Tone: film.Quiet})
	ended.Event, ended.EventTone, ended.Final = l.Say("The run has ended"), film.Quiet, true
	much := "RowTooLong: more than a page can show"
	return append(
		list,
		m.told("a broken rule", both),
		m.told("a broken rule, by nobody", orphan),
		m.told("a command fails", m.row(film.Key{Type: "string", Holds: []film.HoldCount{{Owner: "held"}}, Lease: l.Say("no expiry"), Fraction: 1000}, failed)),
		m.told("the end", ended),
		Story{Name: much, Component: table(m.scenario(2), much, templates.RowTooLong(m.row(held), film.TooMuch(l, 50_000, 2)))},
	)
}

// inside returns rows with the commands within them, which the page's script
// unfolds here.
func (m *maker) inside() []Story {
	l := m.l
	lines := []film.Line{m.command("EXISTS", "", "0", 4, false), m.command("HINCRBY", owner(0)+" +1", "1", 5, true), m.command("PEXPIRE", "200", "1", 6, true)}
	endless := film.Key{Type: "hash", Holds: []film.HoldCount{field(0, 1)}, Lease: l.Say("no expiry"), Fraction: 1000}
	keys := []film.Key{{}, {}, endless, m.hash(200, field(0, 1))}
	row := func(lines []film.Line, atomic bool) film.Row {
		r := m.row(keys[len(keys)-1], holds(acts(film.Good, l.Say("%s: acquired", "lock"), lines...), 1))
		for i, one := range lines {
			r.Inside = append(r.Inside, film.Inner{
				Time: r.Time + "." + strconv.Itoa(i+1), Line: one, Before: keys[i], After: keys[i+1], Atomic: atomic,
				Opens: i == 0 || !atomic, Closes: i == len(lines)-1 || !atomic,
			})
		}
		return r
	}
	alone := append([]film.Line(nil), lines...)
	for i := range alone {
		alone[i].Source = ""
	}
	numbers := m.row(m.numbered(3), holds(acts(film.Good, l.Say("%s: level %d entered", "lock", 2), m.command("HSET", "#A 3", "0", 47, true)), 2))
	for i, before := range []film.Key{m.hash(151, field(0, 2)), m.numbered(2), m.numbered(3)} {
		numbers.Inside = append(numbers.Inside, film.Inner{
			Time: numbers.Time + "." + strconv.Itoa(i+1), Line: numbers.Cells[0].Lines[0], Before: before, After: m.numbered(3), Atomic: true,
			Opens: i == 0, Closes: i == 2,
		})
	}
	return []Story{
		m.told("inner rows of one script, atomic", row(lines, true)), m.told("inner rows of commands alone", row(alone, false)),
		m.told("inner rows that change the number of the last call", numbers),
	}
}

func (m *maker) keys() []Story {
	l := m.l
	node := func(number, ordinal int) film.Node {
		if ordinal < 0 {
			return film.Node{Number: number}
		}
		return film.Node{Number: number, Thread: names(ordinal), Ordinal: ordinal}
	}
	text := film.Key{Type: "string", Holds: []film.HoldCount{{Thread: "B", Ordinal: 1, Owner: owner(1)}}, Lease: m.ms(120), Fraction: 600}
	majority := text
	majority.Nodes = []film.Node{node(1, 1), node(2, -1), node(3, 1), node(4, 0), node(5, 1)}
	readers := m.hash(120, field(0, 1), field(1, 1))
	readers.Mode = trace.ModeRead
	member := func(ordinal int, score string) film.HoldCount {
		return film.HoldCount{Thread: names(ordinal), Ordinal: ordinal, Owner: owner(ordinal), Count: score}
	}
	permits := film.Key{Type: trace.TypeSet, Holds: []film.HoldCount{member(0, ""), member(1, "")}, Taken: l.Say("%d of %d permits", 2, 3), Lease: m.ms(120), Fraction: 600}
	scores := film.Key{Type: trace.TypeZSet, Holds: []film.HoldCount{member(0, "1700000000400"), member(1, "1700000000420")}, Taken: l.Say("%d of %d permits", 2, 2), Lease: m.ms(120), Fraction: 600}
	list := []struct {
		state string
		key   film.Key
	}{
		{"none", film.Key{}},
		{"a string", text},
		{"a hash", m.hash(151, field(0, 2))},
		{"several holds", m.hash(90, field(0, 1), field(1, 3))},
		{"the number of the last call", m.numbered(3)},
		{"a large number of the last call", m.numbered(12_345)},
		{"of nobody here", m.hash(40, film.HoldCount{Owner: "other-program", Count: "1"})},
		{"no expiry", film.Key{Type: "hash", Holds: []film.HoldCount{field(0, 1)}, Lease: l.Say("no expiry"), Fraction: 1000}},
		{"almost over", m.hash(1, field(0, 1))},
		{"readers", readers},
		{"permits in a set", permits},
		{"permits in a sorted set", scores},
		{"nodes, a majority", majority},
		{"nodes that do not answer", film.Key{Nodes: []film.Node{node(1, 0), {Number: 2, Down: true}, {Number: 3, Down: true, Thread: names(1), Ordinal: 1}, {Number: 4, Cut: names(1)}, node(5, 0)}}},
		{"nodes, no majority", film.Key{Nodes: []film.Node{node(1, 0), node(2, 0), node(3, 1), node(4, 1), node(5, -1)}}},
	}
	out := make([]Story, 0, len(list))
	for _, one := range list {
		name := "the key's cell: " + one.state
		out = append(out, Story{Name: name, Component: table(m.scenario(2), name, templates.RowView(m.row(one.key)))})
	}
	return out
}
