package story

import (
	"relock/engine/check"
	"relock/web/film"
	"relock/web/page"
	"relock/web/templates"
)

// stage is each state of a belief and of the key once, then the other shapes.
func (m *maker) stage() []Story {
	l := m.l
	gone := film.Card{Says: l.Say("Redis says"), Key: "EXAMPLE_LOCK", Held: l.Say("nobody holds it"), Gone: true, Raw: l.Say("no key"), Left: "–"}
	owns := func(thread int, count, raw string) film.Card {
		return film.Card{
			Says: l.Say("Redis says"), Key: "EXAMPLE_LOCK", Owners: []film.Owner{{Thread: thread, Name: names(thread)}},
			Held: l.Say("holds it, ×%s", count), Raw: "HASH { " + raw + ": " + count + " }", Left: l.Say("%d of %d ms", 75, 100), Part: 750,
		}
	}
	as, bs := owns(0, "1", "0678…102"), owns(1, "1", "e137…47f")
	twice := owns(0, "2", "0678…102")
	wrong := func(c film.Card, odd string) film.Card {
		c.Odd, c.Wrong = odd, true
		return c
	}
	text := as
	text.Held, text.Raw = l.Say("is the owner"), `STRING "0678…102"`
	written := as
	written.Held, written.Odd = l.Say("is written there"), l.Say("nobody believes that it holds it")
	none := film.Card{Says: l.Say("There is no lock"), Held: l.Say("nobody is kept out"), Gone: true, Resource: &film.ResourceLine{Name: l.Say("stock"), Value: "1", Texts: []string{l.Say("%s has read %d", "A", 1)}}}
	queue := as
	queue.Queue = []film.Owner{{Thread: 1, Name: "B"}, {Thread: 2, Name: "C"}}
	queue.Resource = &film.ResourceLine{Name: l.Say("purchases"), Texts: []string{l.Say("user %s: %d of %d", "7", 1, 2)}, Wrong: l.Say("user %s: %d of %d", "8", 3, 2)}

	permits := func(held string, members int) film.Card {
		c := owns(0, "1", "")
		c.Owners, c.Held, c.Raw = nil, held, "SET { job-1, job-2, job-3 }"
		for i := range members {
			c.Owners = append(c.Owners, film.Owner{Thread: i, Name: names(i)})
		}
		if members == 2 {
			c.Raw = "SET { job-1, job-2 }"
		}
		return c
	}
	full := permits(l.Say("hold %d of %d permits", 3, 3), 3)
	full.Owners = []film.Owner{{Thread: 1, Name: names(1)}, {Thread: 2, Name: names(2)}, {Thread: 3, Name: names(3)}}
	free := gone
	free.Held = l.Say("all %d permits are free", 3)
	mode := func(held, raw string, threads ...int) film.Card {
		c := owns(0, "1", "")
		c.Owners, c.Held, c.Raw = nil, held, "HASH { mode: "+raw+" }"
		for _, i := range threads {
			c.Owners = append(c.Owners, film.Owner{Thread: i, Name: names(i)})
		}
		return c
	}
	readers := mode(l.Say("read it"), "read, 0678…102: 1, e137…47f: 1", 0, 1)
	others := mode(l.Say("read it"), "read, e137…47f: 1, 9ac0…e55: 1", 1, 2)
	writer := mode(l.Say("writes it"), "write, 0678…102: 1", 0)
	theirs := mode(l.Say("writes it"), "write, e137…47f: 1", 1)

	holds := l.Say("I hold the lock")
	works := l.Say("works until %s", m.ms(140))
	at := func(name string, b film.Belief, c film.Card, broken string) Story {
		s := m.scenario(1)
		return Story{Name: "Stage: " + name, Component: templates.StageStill(s, page.Standing{Stage: film.Stage{Beliefs: []film.Belief{b}, Card: c}, Broken: broken})}
	}
	list := []Story{
		at("outside", film.Belief{State: film.Outside, Says: l.Say("Outside"), Does: l.Say("comes at %s", m.ms(5)), Cord: film.NoCord}, gone, ""),
		at("asks", film.Belief{State: film.Asks, Says: l.Say("I ask"), Does: l.Say("for the lock"), Cord: film.Asking}, gone, ""),
		at("waits", film.Belief{State: film.Waits, Says: l.Say("I wait"), Does: l.Say("%s, again at %s", l.Say("refused %d times", 3), m.ms(65)), Cord: film.Kept, Tie: l.Say("refused")}, bs, ""),
		at("holds", film.Belief{State: film.Holds, Says: holds, Does: works, Cord: film.Agrees}, as, ""),
		at("holds twice", film.Belief{
			State: film.Holds, Says: l.Say("I hold it twice"), Does: works, Cord: film.Twice, Tie: l.Say("both say %s", "2"),
			Calls: []film.Call{{Name: "sell(2)", Text: l.Say("works at level %d", 2)}, {Name: "sell(1)", Text: l.Say("level %d", 1)}},
		}, twice, ""),
		at("counts differ", film.Belief{State: film.Holds, Says: holds, Does: works, Cord: film.Twice, Tie: l.Say("Redis: %s", "2"), Wrong: true}, wrong(twice, m.title(check.CountMismatch)), m.title(check.CountMismatch)),
		at("believes, and there is no key", film.Belief{State: film.Holds, Says: holds, Does: works, Odd: l.Say("nobody has told it"), Cord: film.Open, Tie: l.Say("not in Redis"), Wrong: true}, gone, ""),
		at("believes, and the key is another's", film.Belief{State: film.Holds, Paused: true, Says: holds, Does: l.Say("paused until %s", m.ms(200)), Odd: l.Say("it cannot know"), Cord: film.Parted, Tie: l.Say("not in Redis"), Wrong: true}, bs, m.title(check.MutualExclusion)),
		at("leaves", film.Belief{State: film.Leaves, Says: l.Say("I am leaving"), Does: l.Say("it only has to unlock"), Cord: film.Agrees}, as, ""),
		at("was told that it lost it", film.Belief{State: film.LostIt, Says: l.Say("I lost it"), Does: l.Say("told at its %s, at %s", "unlock", m.ms(240)), Cord: film.NoCord}, gone, ""),
		at("no answer", film.Belief{State: film.Unsure, Says: l.Say("I do not know"), Odd: l.Say("its call got no answer"), Cord: film.Loose, Tie: l.Say("was not told")}, as, ""),
		at("crashed", film.Belief{State: film.Crashed, Says: l.Say("Crashed"), Does: l.Say("believes nothing any more"), Cord: film.Loose, Tie: l.Say("its key is there")}, written, ""),
		at("gave up", film.Belief{State: film.GaveUp, Says: l.Say("I gave up"), Does: l.Say("at %s", m.ms(250)), Cord: film.NoCord}, bs, ""),
		at("failed", film.Belief{State: film.Failed, Says: l.Say("I failed"), Does: l.Say("at %s", m.ms(250)), Cord: film.NoCord}, gone, ""),
		at("done", film.Belief{State: film.Done, Says: l.Say("Done"), Does: l.Say("wrote %s, left at %s", "1", m.ms(125)), Cord: film.NoCord}, gone, ""),
		at("a string, without a count", film.Belief{State: film.Holds, Says: holds, Does: works, Cord: film.Agrees}, text, ""),
		at("no expiry", film.Belief{State: film.Holds, Says: holds, Does: works, Cord: film.Agrees}, endless(wrong(as, l.Say("no expiry")), l.Say("for ever")), ""),
		at("another released it", film.Belief{State: film.Holds, Says: holds, Does: works, Odd: l.Say("nobody has told it"), Cord: film.Open, Tie: l.Say("not in Redis"), Wrong: true}, wrong(gone, m.title(check.ForeignRelease)), m.title(check.ForeignRelease)),
		at("holds a permit", film.Belief{State: film.Holds, Says: l.Say("I hold a permit"), Does: works, Cord: film.Agrees}, permits(l.Say("hold %d of %d permits", 2, 3), 2), ""),
		at("asks for a permit", film.Belief{State: film.Asks, Says: l.Say("I ask"), Does: l.Say("for a permit"), Cord: film.Asking}, free, ""),
		at("all permits are taken", film.Belief{State: film.Waits, Says: l.Say("I wait"), Does: l.Say("refused once"), Cord: film.Kept, Tie: l.Say("all %d are taken", 3)}, full, ""),
		at("more inside than permits", film.Belief{State: film.Holds, Says: l.Say("I hold a permit"), Does: works, Cord: film.Agrees}, permits(l.Say("are %d for %d permits", 3, 2), 3), m.l.Clause(check.Kind{Permits: 2}.Title(check.MutualExclusion))),
		at("is still in the key", film.Belief{State: film.Crashed, Says: l.Say("Crashed"), Does: l.Say("believes nothing any more"), Cord: film.Loose, Tie: l.Say("is still in the key")}, permits(l.Say("hold %d of %d permits", 2, 3), 2), ""),
		at("reads", film.Belief{State: film.Holds, Says: l.Say("I read"), Does: works, Cord: film.Agrees}, readers, ""),
		at("waits for readers", film.Belief{State: film.Waits, Says: l.Say("I wait"), Does: l.Say("refused once"), Cord: film.Kept, Tie: l.Say("%s read", l.List([]string{"B", "C"}))}, others, ""),
		at("writes", film.Belief{State: film.Holds, Says: l.Say("I write"), Does: works, Cord: film.Agrees}, writer, ""),
		at("waits for a writer", film.Belief{State: film.Waits, Says: l.Say("I wait"), Does: l.Say("refused once"), Cord: film.Kept, Tie: l.Say("%s writes", "B")}, theirs, ""),
		at("no lock", film.Belief{State: film.Holds, Says: l.Say("I am inside"), Does: works, Cord: film.Agrees}, none, ""),
	}
	beliefs := []film.Belief{
		{State: film.Holds, Says: holds, Does: works, Cord: film.Agrees},
		{State: film.Waits, Says: l.Say("I wait"), Does: l.Say("for a message, until %s at most", m.ms(80)), Cord: film.Kept, Tie: l.Say("number %d", 1)},
		{State: film.Waits, Says: l.Say("I wait"), Does: l.Say("for a message, until %s at most", m.ms(81)), Cord: film.Kept, Tie: l.Say("number %d", 2)},
	}
	nodes := []film.NodeCard{
		{Name: l.Say("node %d", 1), Owner: film.Owner{Thread: 0, Name: "A"}, Left: m.ms(465), Part: 930},
		{Name: l.Say("node %d", 2), Owner: film.Owner{Thread: 1, Name: "B"}, Left: m.ms(500), Part: 1000, Clock: l.Say("its clock: %s", "+1s")},
		{Name: l.Say("node %d", 3), Left: l.Say("no key"), Odd: l.Say("down"), Down: true},
	}
	counted := []film.Belief{
		{State: film.Holds, Says: holds, Does: works, Odd: l.Say("nobody has told it"), Cord: film.Parted, Tie: l.Say("%d of %d", 1, 3), Need: l.Say("%d are needed", 2), Wrong: true},
		{State: film.Asks, Says: l.Say("I ask"), Does: l.Say("for the lock"), Cord: film.Loose, Tie: l.Say("%d of %d", 1, 3)},
	}
	wanted := func(thread int, key, by string) film.NodeCard {
		return film.NodeCard{Name: key, Owner: film.Owner{Thread: thread, Name: string(rune('A' + thread))}, Left: m.ms(29_950), Part: 998, Clock: l.Say("waited for by %s", by)}
	}
	circle := func(has, wants string) film.Belief {
		return film.Belief{State: film.Holds, Says: l.Say("I hold %s", has), Does: l.Say("waits for %s: %s", wants, l.Say("%s, again at %s", l.Say("refused once"), m.ms(100))), Cord: film.Agrees, Tie: l.Say("waits for %s", wants)}
	}
	shared := []film.Belief{
		{State: film.Holds, Says: l.Say("I read"), Does: works, Cord: film.Agrees},
		{State: film.Holds, Says: l.Say("I read"), Does: works, Cord: film.Agrees},
		{State: film.Waits, Says: l.Say("I wait"), Does: l.Say("refused once"), Cord: film.Kept, Tie: l.Say("%s read", l.List([]string{"A", "B"}))},
	}
	return append(
		list,
		Story{Name: "Stage: a pair", Component: templates.Stage(m.scenario(2), page.Standing{Stage: film.Stage{Beliefs: beliefs[:2], Card: as}})},
		Story{Name: "Stage: rows, with a queue", Component: templates.StageStill(m.scenario(3), page.Standing{Stage: film.Stage{Beliefs: beliefs, Card: queue}})},
		Story{Name: "Stage: rows, two of which read", Component: templates.StageStill(m.scenario(3), page.Standing{Stage: film.Stage{Beliefs: shared, Card: readers}})},
		Story{Name: "Stage: nodes", Component: templates.StageStill(m.scenario(2), page.Standing{Stage: film.Stage{Beliefs: counted, Card: gone, Nodes: nodes}})},
		Story{Name: "Stage: two locks, and a deadlock", Component: templates.StageStill(m.scenario(2), page.Standing{Broken: m.title(check.Deadlock), Stage: film.Stage{
			Beliefs: []film.Belief{circle("account-a", "account-b"), circle("account-b", "account-a")}, Card: gone, Nodes: []film.NodeCard{wanted(0, "account-a", "B"), wanted(1, "account-b", "A")},
		}})},
	)
}

// endless is a card whose key has no expiry.
func endless(c film.Card, left string) film.Card {
	c.Left, c.Part = left, 1000
	return c
}

// title is what a person calls a rule that is broken.
func (m *maker) title(rule string) string { return m.l.Clause(check.Title(rule)) }
