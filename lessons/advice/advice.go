// Package advice answers "Which lock do I use?": four questions, and one lock, or
// none. All its functions are safe for concurrent use.
package advice

import (
	"embed"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"relock/engine/lock/protocol"
	"relock/engine/phrase"
)

// Question is one of the four.
type Question struct {
	Name    string // in an address
	Says    phrase.Text
	Answers []Answer
}

// Answer is what may be answered to a question.
type Answer struct {
	Name string // in an address
	Says phrase.Text
}

// The questions, and what may be answered to them.
const (
	nested = "nested"
	yes    = "yes"
	no     = "no"

	harm     = "harm"
	waste    = "waste"    // work is done twice, and that is all
	comparer = "compares" // the resource can compare a token
	oneWrite = "write"    // one statement of a database does it all
	outside  = "outside"  // nothing can be compared, or taken back

	servers = "redis"
	single  = "one"
	cluster = "cluster"
	several = "several" // that share nothing

	waiting = "wait"
	leave   = "leave"
	few     = "few"
	many    = "many"
	inOrder = "order"
)

var questions = []Question{
	{nested, "Does a function that has the lock call one that takes it, too?", []Answer{
		{no, "No"},
		{yes, "Yes, or I cannot rule it out"},
	}},
	{harm, "What if two are inside at once, for a moment?", []Answer{
		{waste, "Work is done twice: a waste, no harm"},
		{comparer, "Data gets corrupted. What I write to can compare a number: a row, a file with a version"},
		{oneWrite, "Data gets corrupted. One statement of my database could do it all"},
		{outside, "It cannot be taken back: a payment, a mail"},
	}},
	{servers, "Which Redis do you have?", []Answer{
		{single, "One, with or without a replica"},
		{cluster, "A cluster"},
		{several, "Three or more that share nothing"},
	}},
	{waiting, "Who waits while the lock is taken?", []Answer{
		{leave, "Nobody: a thread that finds it taken does something else"},
		{few, "A few, now and then"},
		{many, "Many, or they must be quick"},
		{inOrder, "They must be served in the order they asked"},
	}},
}

// Questions returns the four. The caller must not change them.
func Questions() []Question { return questions }

// Answers has an answer's name for each question's.
type Answers map[string]string

// Read takes the answers from the query of an address; what is no answer is left
// out.
func Read(query url.Values) Answers {
	given := Answers{}
	for _, q := range questions {
		name := query.Get(q.Name)
		if slices.ContainsFunc(q.Answers, func(a Answer) bool { return a.Name == name }) {
			given[q.Name] = name
		}
	}
	return given
}

// Complete reports whether all four are answered.
func (a Answers) Complete() bool { return len(a) == len(questions) }

// Advice is what to use.
type Advice struct {
	Protocol *protocol.Protocol // nil: no lock
	Nodes    int                // how many servers it asks
	Because  []phrase.Wording   // a sentence each
	file     string             // of package invoice
}

//go:embed invoice/*.go
var programs embed.FS

// Program returns Go code that uses what is advised.
func (a Advice) Program() string {
	text, err := programs.ReadFile("invoice/" + a.file + ".go")
	if err != nil {
		panic(fmt.Sprintf("advice: the program of %q: %v", a.file, err)) // a test reads each
	}
	return strings.TrimRight(string(text), "\n")
}

// Program returns Go code that uses a lock with a key, for a resource that checks what
// a scenario's resource can, or nothing. It is "" for locks that nobody should use.
func Program(lock, checks, key string) string {
	file := checked[checks]
	if file == "" {
		file = locked[lock]
	}
	if file == "" {
		return ""
	}
	return strings.NewReplacer(`"invoice:7"`, strconv.Quote(key), `"invoice-7"`, strconv.Quote(key)).Replace(Advice{file: file}.Program())
}

// The programs of package invoice by what the resource checks, and by the lock.
var (
	checked = map[string]string{"token": "fenced", "version": "version", "key": "key"}
	locked  = map[string]string{
		protocol.Sequenced.Name: "sequenced", protocol.Notify.Name: "notify", protocol.Fair.Name: "fair",
		protocol.Fenced.Name: "fenced", protocol.Redlock.Name: "redlock",
	}
)

// To returns what to use. The answers must be complete.
func To(given Answers) Advice {
	switch given[harm] {
	case oneWrite:
		return Advice{file: "version", Because: []phrase.Wording{
			phrase.Say("One statement that checks and writes is one step: the second to come changes no row, however late it is."),
			phrase.Say("A lock in front of it only saves tries that would fail. Add one if those are expensive, not for correctness."),
		}}
	case outside:
		return Advice{file: "key", Because: []phrase.Wording{
			phrase.Say("A holder can pause for longer than any lease and then go on: no lock keeps it from paying again."),
			phrase.Say("So let the receiver decide: send the same idempotency key with every try. If it takes none, record what you are about to do under a unique key, and have somebody check the entries that stay open."),
			phrase.Say("A lock makes doing it twice rare, not impossible. Answer “a waste, no harm” to see which."),
		}}
	case comparer:
		return fence(given)
	}
	return save(given)
}

// fence is where the resource compares tokens.
func fence(given Answers) Advice {
	a := Advice{Protocol: protocol.Fenced, Nodes: 1, file: "fenced", Because: []phrase.Wording{
		phrase.Say("A holder can pause for longer than its lease. Its late write is refused if the resource has seen a newer token: show it at the reading, too, or compare a version."),
		phrase.Say("The check and the write must be one step, in the resource. Without that the token is only a number."),
	}}
	if given[servers] == several {
		a.add("Use one of your servers: Redlock has no tokens.")
	}
	switch given[waiting] {
	case leave:
		a.add("With Retries: lock.NoRetry, a taken lock gives lock.ErrHeld at once.")
	case many, inOrder:
		a.add("It has no queue: waiters ask again every 50 to 75 ms, and the first to ask gets in.")
	}
	return a.levels(given)
}

// save is where the lock only saves work.
func save(given Answers) Advice {
	if given[servers] == several && given[nested] == no && given[waiting] != inOrder {
		return majority(given)
	}
	a := Advice{Protocol: protocol.Sequenced, Nodes: 1, file: "sequenced", Because: []phrase.Wording{
		phrase.Say("If two at once are only a waste, a lock on one Redis is enough: it is cheap, and hardly ever lost."),
	}}
	switch given[waiting] {
	case leave:
		a.file = "leave"
	case many:
		a.Protocol, a.file = protocol.Notify, "notify"
		a.add("The releasing script wakes one waiter by a message. A lost message costs at most a tenth of the lease.")
	case inOrder:
		if given[servers] == cluster {
			a.Protocol, a.file = protocol.Notify, "notify"
			a.add("Serving waiters in order needs a single Redis: a cluster counts the listeners of one node only, and could let two in. Waking them by a message is the next best.")
			break
		}
		a.Protocol, a.file = protocol.Fair, "fair"
		a.add("The releasing script hands the lock to the head of the queue; a waiter that died is passed over.")
	}
	switch {
	case given[servers] != several:
	case given[waiting] == inOrder:
		a.add("Use one of your servers: Redlock has no queue.")
	default:
		a.add("Use one of your servers: Redlock is not reentrant, and a nested call would wait for itself.")
	}
	return a.levels(given)
}

// majority is where several servers can decide.
func majority(given Answers) Advice {
	a := Advice{Protocol: protocol.Redlock, Nodes: protocol.Redlock.Nodes, file: "redlock", Because: []phrase.Wording{
		phrase.Say("Redlock goes on while a majority of the servers answers. It does not help against a paused holder."),
	}}
	switch given[waiting] {
	case leave:
		a.add("With Retries: lock.NoRetry, a taken lock gives lock.ErrHeld at once.")
	case many:
		a.add("It wakes nobody when the lock is free: each try of each waiter asks every server.")
	}
	return a
}

// levels adds what a nested call does.
func (a Advice) levels(given Answers) Advice {
	if given[nested] == yes {
		a.add("A nested call with the holder's context enters level 2; only the outermost release gives the lock up.")
	} else {
		a.add("It is reentrant, too. That costs no extra command.")
	}
	return a
}

func (a *Advice) add(t phrase.Text) { a.Because = append(a.Because, phrase.Say(t)) }

// Price is what a lock costs: a heading, and what it is.
type Price struct {
	What phrase.Text
	Cost phrase.Wording
}

// Prices returns what the advised lock costs in commands, waiting, and what it
// needs of Redis; of no lock there are none.
func (a Advice) Prices() []Price {
	p := a.Protocol
	if p == nil {
		return nil
	}
	list := []Price{{"Commands", phrase.Say("At most %d to take it, %d to leave it, %d to renew it every third of the lease; a script counts as one.",
		p.Commands(protocol.CallLock, a.Nodes), p.Commands(protocol.CallUnlock, a.Nodes), p.Commands(protocol.CallRenew, a.Nodes))}}
	wait := phrase.Say("A waiter asks every 50 to 75 ms (Options.Interval). With one waiter the lock lies idle for about 30 ms after a release.")
	switch {
	case p.Granting:
		wait = phrase.Say("A waiter hears in about one round trip, and has the lock by then; each release sends a message.")
	case p.Leave != nil:
		wait = phrase.Say("A waiter hears in about one round trip, and then asks; each release sends a message.")
	case a.Nodes > 1:
		wait = phrase.Say("A waiter asks all %d servers every 50 to 75 ms (Options.Interval).", a.Nodes)
	}
	list = append(list, Price{"Waiting", wait})
	needs := phrase.Say("Redis 6 or newer: one server, with or without a replica, or a cluster. A failover to a lagging replica loses the lock.")
	switch {
	case a.Nodes > 1:
		needs = phrase.Say("%d servers of Redis 6 or newer that share nothing, none a replica of another.", a.Nodes)
	case p.OneRedis:
		needs = phrase.Say("Redis 6 or newer: one server, with or without a replica; no cluster. A failover to a lagging replica loses the lock.")
	}
	list = append(list, Price{"Redis", needs})
	if keys := p.Keys("invoice:7"); a.Nodes == 1 {
		list = append(list, Price{"Keys in Redis", phrase.Say("%s. A maxmemory-policy that evicts keys with an expiry takes locks, too.", phrase.Names(keys))})
	}
	return list
}
