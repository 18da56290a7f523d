package story

import (
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"relock/engine/check"
	"relock/engine/explore/card"
	"relock/engine/fault"
	"relock/engine/phrase"
	"relock/engine/verdict"
	"relock/web/export"
	"relock/web/film"
	"relock/web/page"
	"relock/web/templates"
)

// threads is how many threads have their own mark and colour.
const threads = 8

func (m *maker) marks() []Story {
	l := m.l
	one := (&verdict.Evidence{Key: true, Inside: 1, Advice: verdict.Advice{One: verdict.Help{Says: phrase.Say("Add a second thread.")}}}).Judge()
	more := one
	more.Verdict = verdict.Broken
	list := []Story{
		{Name: "Verdict: good", Component: templates.Verdict(l.Say("no rule was broken"), film.Good)},
		{Name: "Verdict: bad", Component: templates.Verdict(l.Say("a rule was broken %d times", 2), film.Bad)},
		{Name: "Verdict: of a late machine", Component: templates.RunVerdict(l.Say("a rule was broken %d times", 2), film.Bad, nil, film.Lateness(l, 80*time.Millisecond))},
		{Name: "Verdict: cannot be judged", Component: templates.RunVerdict(l.Say("no rule was broken, but this cannot be judged"), film.Quiet, film.Unjudged(l, one), "")},
		{Name: "Verdict: broken, and what else is not known", Component: templates.RunVerdict(l.Say("1 rule was broken"), film.Bad, film.Unjudged(l, more), "")},
		{Name: "Verdict: quiet", Component: templates.Verdict(l.Say("running"), film.Quiet)},
		{Name: "Report card: two locks", Component: templates.ReportCard(m.reportCard())},
		{Name: "Libraries: two of them", Component: templates.Libraries(m.libraries())},
		{Name: "LibrariesBeside: two of them", Component: templates.LibrariesBeside(m.librariesBeside())},
		{Name: "Ending: with a cure", Component: templates.Ending(page.Ending{Cure: &page.Onward{Name: "fenced", Title: l.Say("stock")}, Next: &page.Onward{Name: "crash", Title: l.Say("counter")}})},
		{Name: "Verdict: plain", Component: templates.Verdict(l.Say("running"), film.Plain)},
	}
	for n := range threads {
		list = append(list, Story{Name: "Shape: " + strconv.Itoa(n), Component: shape(n)})
	}
	few, many, apart := m.scenario(2), m.scenario(threads), m.scenario(2)
	apart.Threads[0].Of, apart.Threads[1].Of, apart.Threads[1].Endless = l.Say("process %s", "web-1"), l.Say("user %s", "7"), true
	return append(
		list,
		Story{Name: "Head: to be read", Component: table(few, "Head: to be read", nil)},
		Story{Name: "Head: what threads belong to", Component: table(apart, "Head: what threads belong to", nil)},
		Story{Name: "Head: eight threads", Component: table(many, "Head: eight threads", nil)},
	)
}

// reportCard returns a report card with each verdict, of two locks.
func (m *maker) reportCard() page.CardTable {
	places := func(fault string, verdict card.Verdict, list ...card.Place) []*card.Cell {
		var cells []*card.Cell
		for _, p := range list {
			cells = append(cells, &card.Cell{Fault: fault, Place: p, Verdict: verdict, LaterMS: 62.5})
		}
		return cells
	}
	all := card.Places(1)
	one := &card.Card{Protocol: "mutex", Delays: 1, Depth: 1, Without: &card.Cell{Verdict: card.Survived}}
	one.Cells = slices.Concat(places(fault.Pause, card.Late, all[:2]...), places(fault.Crash, card.Survived, all...), places(fault.Evict, card.Unfinished, card.Place{}))
	two := &card.Card{Protocol: "value", Delays: 1, Depth: 1, Without: &card.Cell{Verdict: card.Unfinished}}
	two.Cells = slices.Concat(places(fault.Pause, card.Broken, all...), places(fault.Crash, card.Unfinished, all[1:]...), places(fault.Evict, card.Broken, card.Place{}))
	for _, c := range two.Cells {
		if c.Verdict == card.Broken {
			c.Rules = []card.Rule{{Name: check.MutualExclusion}, {Name: check.ShutOut}}
		}
		c.Same, c.Partly = c.Verdict == card.Unfinished, c.Fault == fault.Evict
	}
	return page.NewCardTable(m.l, one, two)
}

func (m *maker) scripts() []Story {
	l := m.l
	token := func(class, text string) film.ScriptToken { return film.ScriptToken{Class: class, Text: text} }
	lines := []film.ScriptLine{
		{Number: 1, Tokens: []film.ScriptToken{token("c", "-- "+l.Say("acquired"))}},
		{Number: 2, Tokens: []film.ScriptToken{
			token("k", "if"), token("", " "), token("f", "redis.call"), token("", "("), token("r", "'EXISTS'"), token("", ", "),
			token("v", "KEYS[1]"), token("", ") == "), token("m", "0"), token("", " "), token("k", "then"),
		}},
		{Number: 3, Tokens: []film.ScriptToken{
			token("", "  "), token("f", "redis.call"), token("", "("), token("r", "'HINCRBY'"), token("", ", "), token("v", "KEYS[1]"), token("", ", "),
			token("v", "ARGV[2]"), token("", ", "), token("m", "1"), token("", ")"),
		}},
		{Number: 4, Tokens: []film.ScriptToken{token("", "  "), token("k", "return"), token("", " "), token("s", `"acquired"`)}},
		{Number: 5, Tokens: []film.ScriptToken{token("k", "end")}},
		{Number: 6, Tokens: []film.ScriptToken{token("k", "return"), token("", " "), token("f", "redis.call"), token("", "("), token("r", "'PTTL'"), token("", ", "), token("v", "KEYS[1]"), token("", ")")}},
	}
	pane := func(name string) templ.Component {
		return templates.LuaPane(film.Script{Name: name, Lines: lines}, false)
	}
	moment := func(name string, last int, ran []int, next int, untaken ...int) *film.ScriptMoment {
		return &film.ScriptMoment{Script: name, Line: last, Ran: ran, Next: next, Untaken: append([]int{}, untaken...)}
	}
	return []Story{
		{Name: "LuaPane: at rest", Component: pane("rest.lua")},
		{Name: "LuaPane: about to begin", Component: pane("begin.lua"), Moment: moment("begin.lua", 0, []int{}, 2)},
		{Name: "LuaPane: between two commands", Component: pane("between.lua"), Moment: moment("between.lua", 2, []int{2}, 3, 6)},
		{Name: "LuaPane: passed by a branch", Component: pane("passed.lua"), Moment: moment("passed.lua", 6, []int{2, 6}, 0, 3, 4)},
		{Name: "LuaPane: commands without a script", Component: templates.LuaPane(film.Script{
			Name: "lock", Plain: true, Note: l.Say("No script: the call is a single command."), Lines: lines[2:3],
		}, false)},
		{Name: "LuaPane: a lock that asks no Redis", Component: templates.LuaPane(film.Script{Name: "none", Note: l.Say("Without a lock Redis is not asked: there is no script to read.")}, false)},
	}
}

func (m *maker) tables() []Story {
	l := m.l
	good := func(text, at string) page.LockCell {
		return page.LockCell{Text: text, At: at, Tone: film.Good}
	}
	bad := func(text, at string) page.LockCell {
		return page.LockCell{Text: text, At: at, Tone: film.Bad}
	}
	not := page.LockCell{Tone: film.Quiet}
	aligned := page.Aligned{
		Title: l.Say("Your scenario"),
		Columns: []page.LockColumn{
			{Protocol: "reentrant", Lanes: busy(2).Window(l, "story-first", 0, film.MaxLaneRows)},
			{Protocol: "setnx", Lanes: busy(2).Window(l, "story-second", 0, film.MaxLaneRows), Broken: []string{"foreign-release", "mutual-exclusion"}, Note: l.Say("your moves fit until %s; after that the policy moved", "60 ms")},
		},
		Threads: []page.LockThread{
			{Name: "A", Ordinal: 0, Rows: []page.LockRow{
				{What: l.Say("%s, level %d", "lock", 1), Cells: []page.LockCell{good(l.Say("acquired"), m.ms(0)), good(l.Say("acquired"), m.ms(0))}},
				{What: l.Say("%s, level %d", "lock", 2), Cells: []page.LockCell{good(l.Say("reentered"), m.ms(50)), bad(l.Say("refused"), m.ms(50))}, Differs: true, First: true},
			}},
			{Name: "B", Ordinal: 1, Rows: []page.LockRow{
				{What: l.Say("%s, level %d", "unlock", 1), Cells: []page.LockCell{good(l.Say("released"), m.ms(180)), not}, Differs: true},
			}},
		},
	}
	taken := m.row(m.hash(200, field(0, 1)), holds(acts(film.Good, l.Say("%s: acquired", "lock")), 1))
	refused := m.row(m.hash(190, field(0, 1)), film.Cell{Title: l.Say("working, level %d", 1), Tone: film.Quiet, Inside: 1}, acts(film.Bad, l.Say("%s: refused", "lock")))
	deeper := m.row(m.hash(200, field(0, 2)), holds(acts(film.Good, l.Say("%s: level %d entered", "lock", 2)), 2))
	expired := m.row(film.Key{}, film.Cell{Title: l.Say("working, level %d", 1), Tone: film.Quiet, Inside: 1, Parted: true})
	expired.Event, expired.EventTone = l.Say("The lease ran out: Redis dropped the key"), film.Bad
	compared := page.Branches(l, m.scenario(2),
		page.BranchSide{Name: page.BranchName(l, 0), Rows: []film.Row{taken, refused, deeper}},
		page.BranchSide{Name: page.BranchName(l, 1), Rows: []film.Row{taken, expired}, Over: true})
	return []Story{
		{Name: "Aligned: two locks", Component: templates.Aligned(aligned)},
		{Name: "Compared: two branches", Component: templates.Compared(compared)},
	}
}

func (m *maker) controls() []Story {
	l := m.l
	actions := func(pause, gate string, admits, ended bool) []page.ControlAction {
		return []page.ControlAction{
			{Do: "pause", Label: pause, Disabled: ended},
			{Do: "gate", Label: gate, Disabled: ended},
			{Do: "admit", Label: l.Say("Let one call pass"), Disabled: !admits || ended},
			{Do: "crash", Label: l.Say("Crash"), Disabled: ended},
		}
	}
	apart := m.scenario(2)
	apart.Threads[0].Of, apart.Threads[1].Endless = l.Say("process %s", "web-1"), true
	return []Story{
		{Name: "ExportMenu", Component: templates.ExportMenu("/runs/ID/export?format=", export.Files(l))},
		{Name: "Controls: goes, is paused, waits at the gate, has ended", Component: templates.Controls([]page.Control{
			{Thread: "A", Ordinal: 0, Actions: actions(l.Say("Pause"), l.Say("Gate its calls"), false, false)},
			{Thread: "B", Ordinal: 1, Actions: actions(l.Say("Resume"), l.Say("Gate its calls"), false, false), Note: l.Say("paused")},
			{Thread: "C", Ordinal: 2, Actions: actions(l.Say("Pause"), l.Say("Open the gate"), true, false), Note: l.Say("at the gate: %s", l.Say("%s, level %d", "unlock", 1))},
			{Thread: "D", Ordinal: 3, Actions: actions(l.Say("Pause"), l.Say("Gate its calls"), false, true), Note: l.Say("has ended")},
		})},
		{Name: "Rail: threads, time, Redis", Component: templates.Rail(apart)},
		{Name: "Console: the transport", Component: dialog("keys", l.Say("Keys"), templates.Console(page.Viewer{Steps: true}))},
		{Name: "Share, a dialog", Component: dialog("share", l.Say("Share, export"), templates.Share(page.Reach{Alone: true, Addresses: []string{"http://192.168.1.5:8080"}}, export.Files(l)))},
	}
}

func (m *maker) editor() []Story {
	l := m.l
	one := func(state string, f page.Field) Story {
		return Story{Name: "EditorField: " + state, Component: templates.EditorField(f)}
	}
	setup := func(name, id, text string) Story {
		s := page.NewSettings(l, text)
		s.ID = id
		return Story{Name: name, Component: templates.Setup(s)}
	}
	wrong := l.Say("Given %s; allowed: %s.", `"200"`, "1ms … 10m")
	general := page.FormPart{Fields: []page.Field{{Name: "title", Label: l.Say("Title"), Value: l.Say("Your scenario"), Wide: true}}}
	lease := page.FormPart{Fields: []page.Field{{Name: "lock.lease", Label: l.Say("Lease"), Value: "200", Mistakes: []string{wrong}}}}
	filled := page.Form{
		Readable: true, General: general, Lock: lease,
		Threads: []page.FormThread{{
			Index: 0, Name: "A", Open: true,
			Main: page.FormPart{Fields: []page.Field{{Name: "threads[0].name", Label: l.Say("Name"), Value: "A", Late: true}}},
			More: page.FormPart{Fields: []page.Field{{Name: "threads[0].depth", Label: l.Say("Depth"), Default: "1", Numeric: true}}},
		}, {Index: 1}},
		Faults: []page.FormFault{
			{Index: 0, Thread: "A", Ordinal: 0, FormPart: page.FormPart{Fields: []page.Field{{Name: "faults[0].do", Label: l.Say("Name"), Value: "pause"}}}},
			{Index: 1, Ordinal: -1, FormPart: page.FormPart{Mistakes: []string{wrong}}},
		},
		Kept: []string{l.Say("Its schedule, with %d entries: who moves, decision by decision.", 8)}, NoThread: true,
	}
	mistakes := []page.Mistake{
		{Line: 3, Key: "lock.lease", Sentence: l.Say("Line %[1]s, %[2]s: given %[3]s; allowed: %[4]s.", "3", "lock.lease", `"200"`, "1ms … 10m"), Input: "f-lock-lease"},
		{Line: 7, Sentence: l.Say("Line %[1]s: given %[2]s; allowed: %[3]s.", "7", "]", "YAML")},
	}
	return []Story{
		one("empty, with a default", page.Field{Name: "story.empty", Label: l.Say("Depth"), Default: "1", Numeric: true}),
		one("with a hint", page.Field{Name: "story.hint", Label: l.Say("Lease"), Value: "200ms", Hint: l.Say("-1s turns the clock back.")}),
		one("with a mistake and a hint", page.Field{Name: "story.wrong", Label: l.Say("Lease"), Value: "200", Hint: l.Say("-1s turns the clock back."), Mistakes: []string{wrong}}),
		one("a choice", page.Field{Name: "story.choice", Label: l.Say("Lock"), Choices: []page.Choices{
			{List: []page.Choice{{Value: "reentrant", Label: "reentrant", Selected: true}}},
			{Label: l.Say("To Redis"), List: []page.Choice{{Value: "setnx", Label: "setnx"}}},
		}}),
		setup("Setup", "set", "lock: {lease: 200ms}\nthreads: [{name: A, depth: 2}, {name: B, work: 50ms, retry: {times: unlimited}}]\n"),
		setup("Setup: mistakes", "set-wrong", "lock: {lease: soon}\nthreads: [{name: A, depth: 33}]\nfaults: [{do: evict}]\n"),
		setup("Setup: a heartbeat", "set-heartbeat", "kind: heartbeat\nthreads: [{name: A}, {name: B}]\n"),
		{Name: "EditorMistakes", Component: templates.EditorMistakes(mistakes)},
		{Name: "EditorForm: it waits", Component: templates.EditorForm(page.Form{})},
		{Name: "EditorForm", Component: templates.EditorForm(filled)},
		one("a script, with a mistake", page.Field{Name: "lock.scripts.story", Label: "unlock", Value: "redis.call('DEL', KEYS[1])\nreturn 1\n", Code: true, Mistakes: []string{wrong}}),
		{Name: "OwnFrame", Component: templates.OwnFrame()},
	}
}

func (m *maker) pages() []Story {
	l := m.l
	exhibit := page.Exhibit{Name: "lease-expiry", Title: l.Say("Your scenario"), Shows: l.Say("Nothing goes wrong."), Protocol: "reentrant"}
	broken := exhibit
	broken.Broken = []string{"mutual-exclusion"}
	broken.Picture = templates.LanesSmall(busy(2).Small(l, "story-card"))
	failed := exhibit
	failed.Failed = film.OnlyFailed(l, []film.Failure{{Thread: "A", Error: "WRONGTYPE Operation"}})
	return []Story{
		{Name: "ExhibitCard", Component: exhibitCard(exhibit)},
		{Name: "ExhibitCard: with a picture, breaks a rule", Component: exhibitCard(broken)},
		{Name: "ExhibitCard: a thread failed", Component: exhibitCard(failed)},
		{Name: "Message", Component: templates.Message(l.Say("There is no such page"), l.Say("The address may be mistyped."))},
	}
}

// libraries are two, of which one was not searched with all faults.
func (m *maker) libraries() page.Libraries {
	l := m.l
	return page.Libraries{
		Tally:  l.Say("Libraries: %d, faults: %d", 2, 1),
		Faults: []page.LibraryFault{{Name: "none", Label: l.Say("none: only the order is chosen")}, {Name: "lease-ends", Label: l.Say("lease-ends: the client is paused until its lease is over")}},
		Rows: []page.Library{
			{
				Name: "redis-lock", Home: "https://example.org/redis-lock", Version: "1.2.3", With: "redis-client 4.5", Date: "2026-11-23",
				Cells: []page.LibraryCell{
					{Verdict: verdict.Unbroken, Count: l.Say("%[1]s of %[2]s", "0", "40"), Says: l.Say("%s, %s: no rule broken in %s orders", "redis-lock", "none", "40"), Note: l.Say("%d replays diverged", 2)},
					{Verdict: verdict.Broken, Count: l.Say("%[1]s of %[2]s", "180", "620"), Share: .29, Trace: "redis-lock.lease-ends", Says: l.Say("%s, %s: %s in %s of %s orders; the smallest has %d steps", "redis-lock", "lease-ends", "mutual-exclusion", "180", "620", 9)},
				},
			},
			{
				Name: "relock", Date: "2026-11-23", Own: l.Say("lock.New of this program, otherwise with its defaults"),
				Cells: []page.LibraryCell{{Verdict: verdict.Unjudged, Count: l.Say("%[1]s of %[2]s", "0", "40"), Says: l.Say("%s, %s: no rule broken in %s orders; not judged since", "relock", "none", "40")}, {Says: l.Say("not searched: a real Redis ends a lease when it ends")}},
			},
		},
		Open:    l.Say("no rule was broken, but nobody noted whether two were inside: not judged since"),
		Retried: []page.LibraryBeside{{Name: "redis-lock 1.2.3", Cell: page.LibraryCell{Verdict: verdict.Unbroken, Count: l.Say("%[1]s of %[2]s", "0", "40"), Says: l.Say("%s, %s: no rule broken in %s orders", "redis-lock", "lose-reply-retried", "40")}}},
		Reasons: []page.LibraryReason{{Rule: "mutual-exclusion", Fault: "lease-ends", Says: l.Say("The client was paused for longer than its lease, the next one got the lock, and both are inside. No lease prevents that: what they protect must refuse the late write."), Learn: "/learn/tokens"}},
	}
}

func (m *maker) librariesBeside() page.LibrariesBeside {
	p := m.libraries()
	return page.LibrariesBeside{All: p.Tally, Open: p.Open, Rows: []page.LibraryBeside{{Name: "redis-lock 1.2.3", Cell: p.Rows[0].Cells[1]}, {Name: "relock", Cell: p.Rows[1].Cells[0]}}}
}
