package scenario

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/strict"
)

// Words that stand for a value.
const (
	off       = "off"
	unlimited = "unlimited"
)

// untilKey is the only key of a move in which time passes.
const untilKey = "until"

// The values of several keys.
var (
	nameSchema  = strict.AText(MaxName, "^"+nameOf+"$")
	aName       = aText(strict.Say("1 to %s letters, digits, - or _", MaxName), nameSchema, isName)
	aKey        = strict.AText(MaxKey, `^[^\s{}]+$`)
	instants    = strict.Times{Low: 0, High: MaxDuration, Unit: time.Microsecond}
	lengths     = strict.Times{Low: time.Millisecond, High: MaxDuration, Unit: time.Microsecond}
	wholeMillis = strict.Times{Low: time.Millisecond, High: MaxDuration, Unit: time.Millisecond}
	listOfRules = fixed(strict.Object{"type": "array", "maxItems": len(check.Names()), "items": strict.OneWord(slices.Concat(check.Names(), check.Older())...)})
)

// nameOf is a thread's name for readers that know no classes of Unicode: nothing of
// ASCII but letters, digits, - and _.
const nameOf = "[^\\s!-,./:-@\\[-^`{-~]+"

// Where a form offers a key.
func nowhere(*Scenario) bool         { return false }
func withOneLock(s *Scenario) bool   { return s.Locks == nil }
func withLocks(s *Scenario) bool     { return s.Locks != nil }
func withWatchdog(s *Scenario) bool  { return s.Lock.Implementation().HasWatchdog() }
func withPurchases(s *Scenario) bool { return s.Resource != nil && s.Resource.Kind == KindPurchases }
func withEffect(s *Scenario) bool    { return s.Resource != nil && s.Resource.Kind == KindEffect }

var scenarioKeys = Keys{
	{
		Name: "title", Says: "what it is called: a line", Label: "Title", Wide: true,
		Values: aText(strict.Say("a line of at most %s characters", MaxTitle), strict.AText(MaxTitle, ""), func(t string) bool {
			return printable(t) && utf8.RuneCountInString(t) <= MaxTitle
		}),
	},
	{
		Name: "kind", Says: "lock: threads make a business call under a lock; heartbeat: the first is a device that keeps its key alive, the others check it",
		Label: "What the threads do", Wide: true, Values: oneOf(
			Word{KindLock, "work under a lock"},
			Word{KindHeartbeat, "heartbeat: the first thread keeps its key alive, the others look"}),
	},
	{Name: "lock", Says: "the lock that the threads contend for", Values: aMap(lockKeys, lockSchema())},
	{
		Name: "locks", Says: "the keys of several locks, each like lock, which then names none", Label: "Several locks: their keys",
		Hint: "With spaces between. Each thread says in which order it takes them.", Wide: true, Where: withLocks,
		Values: listed(strict.Object{"type": "array", "minItems": 2, "maxItems": MaxLocks, "uniqueItems": true, "items": aKey}),
	},
	{Name: "resource", Says: "what the lock protects: work reads it as it begins and writes it as it ends", Values: aMap(resourceKeys, resourceSchema())},
	{Name: "threads", Says: "who asks for the lock", Values: entries(threadKeys,
		strict.AList(1, MaxThreads, strict.Required(threadKeys.schema(), "name")))},
	{Name: "defaults", Says: "what a thread has that says nothing else", Values: aMap(defaultsKeys, defaultsKeys.schema())},
	{Name: "faults", Says: "what goes wrong, and where", Values: entries(faultKeys, strict.AList(0, MaxFaults, faultSchema()))},
	{
		Name: "seed", Usual: uint64(1), Says: "of what is drawn: work, jitter, the random policy", Label: "Seed",
		Hint: "Settles every random choice: the same seed gives the same run.", Wide: true,
		Values: aSeed(),
	},
	{Name: "policy", Says: "who moves where several can", Label: "Who moves when several can", Wide: true, Values: oneOf(
		Word{PolicyInOrder, "in-order: the thread that has been ready longest"},
		Word{PolicyRandom, "random: drawn by the seed"})},
	{Name: "schedule", Says: "moves that are made before the policy chooses", Values: fixed(strict.AList(0, MaxDecisions, moveSchema()))},
	{Name: "expect", Says: "what must come of it", Values: aMap(expectKeys, expectKeys.schema())},
}

var lockKeys = Keys{
	{
		Name: "protocol", Usual: exhibit.All()[0].Name, Says: "which lock: playground protocols lists them", Label: "Lock", Wide: true,
		Values: oneOf(append(words(exhibit.Names()...), Word{protocol.Own, "own: you write its scripts"})...),
	},
	{
		Name: "key", Usual: "EXAMPLE_LOCK", Says: "the lock's key in Redis", Label: "Key in Redis", Wide: true, Where: withOneLock,
		Values: aText(strict.Say("1 to %s printable characters without spaces, { and }", MaxKey), aKey, keyForm),
	},
	{
		Name: "kind", Says: "who may be inside at once: one thread, readers or one writer, or as many as there are permits",
		Label: "Who may be inside at once", Wide: true, Where: func(s *Scenario) bool { return s.Lock.Own() },
		Values: parsed(strict.Say("%s, N from 1 to %d", check.Kinds, check.MostPermits),
			aPattern("(exclusive|readers|permits=[1-9][0-9]{0,3})"), func(text string) (check.Kind, bool) {
				kind, err := check.ParseKind(text)
				return kind, err == nil
			}),
	},
	{Name: "lease", Usual: 30 * time.Second, Says: "how long Redis keeps the key: whole milliseconds, to " + phrase.Duration(MaxDuration), Label: "Lease", Values: aTime(wholeMillis)},
	{
		Name: "watchdog", Says: "how often a lease is renewed, or off; a third of the lease if left out", Label: "Watchdog, or off", Where: withWatchdog,
		Values: aTime(strict.Times{Low: minWatchdog, High: MaxDuration, Unit: time.Microsecond, Or: "%s, or off"}).
			or(off, time.Duration(0), strict.OneWord(off), strict.Object{"const": false}, strict.ATime()),
	},
	{
		Name: "max-hold", Says: "how long leases are renewed at most", Label: "Renews for at most", Wide: true, Where: withWatchdog, With: "watchdog",
		Hint: "Then the watchdog stops and the lease runs out: a hanging holder does not keep the lock for ever.", Values: aTime(lengths),
	},
	{Name: "retry", Says: "how a refused acquisition is tried again", Values: aMap(retryKeys, retryKeys.schema())},
	{
		Name: "nodes", Says: "how many Redis a lock of a majority has", Label: "Redis nodes",
		Where: func(s *Scenario) bool { return s.Lock.Nodes > 1 }, Values: aNumber(1, MaxNodes),
	},
	{
		Name: "wait", Says: "how many replicas must have acknowledged a lock or a renewal, of how many, and how soon", Label: "Waits for replicas", Wide: true,
		Hint:   "For example 1 of 2 in 50ms: the thread relies on a lock or a renewal once one of two replicas has acknowledged it.",
		Where:  func(s *Scenario) bool { return withOneLock(s) && s.Lock.Implementation().CanSync() },
		Values: replicas(ofSeveral, "(1 of [1-5]|2 of [2-5]|3 of [3-5]|4 of [45]|5 of 5) in "+strict.TimePattern),
	},
	{
		Name: "min-replicas", Says: "how many replicas a master must have heard from, how lately, to take writes", Label: "A master takes writes while it hears from",
		Wide: true, Where: nowhere, Values: replicas(Sync{Count: 1, Within: time.Second}, "[1-5] in "+strict.TimePattern),
	},
	{
		Name: "keep", Says: "how long the last release leaves the key, in whole milliseconds: a tick that is done once in this time",
		Label: "Keeps its key after the work for", Wide: true,
		Hint:  "A tick that is done once in this time, even by several servers: the last release leaves the key.",
		Where: func(s *Scenario) bool { return withOneLock(s) && s.Lock.Implementation().CanKeep() }, Values: aTime(wholeMillis),
	},
	{
		Name: "like", Says: "the lock that one of your own is like: what scripts leave out is its", Label: "Start from", Where: nowhere,
		Values: fixed(strict.OneWord(Writable()...)),
	},
	{
		Name: "scripts", Says: "with protocol: own, Lua for lock, unlock, and renew where leases are renewed",
		Values: aMap(scriptKeys, strict.With(scriptKeys.schema(), "minProperties", 1)),
	},
	{Name: "args", Says: "of a lock of one's own: what each script gets as ARGV", Values: aMap(argKeys, argKeys.schema())},
	{
		Name: "keys", Says: "of a lock of one's own: what its scripts get as KEYS, with {key} for the lock's key, which is the first, {owner} for who calls, and {request} for each call", Label: "KEYS of all scripts",
		Where: nowhere, Values: listed(strict.Object{"type": "array", "minItems": 1, "maxItems": MaxKeys, "uniqueItems": true, "items": strict.Object{"type": "string", "maxLength": MaxKey, "pattern": `^([^\s{}]|\{(key|owner|request)\})+$`}}),
	},
	{Name: "replies", Says: "of a lock of one's own: what each script returns", Values: fixed(repliesSchema())},
	{Name: "release", Says: "of a lock of one's own: its client does not send a release again that got no answer", Values: fixed(strict.OneWord(releaseOnce))},
}

var scriptKeys = func() (keys Keys) {
	for _, call := range ownCalls {
		keys = append(keys, Key{
			Name: call, Says: "Lua, run as one step by Redis",
			Values: Values{Lua: true, schema: strict.Object{"type": "string", "minLength": 1, "maxLength": MaxScript, "pattern": `\S`}},
		})
	}
	return keys
}()

var argKeys = func() (keys Keys) {
	one := strict.Object{"anyOf": []any{strict.OneWord(protocol.ArgWords...), strict.Object{"type": "number"}, asItIsSchema()}}
	for _, call := range ownCalls {
		keys = append(keys, Key{
			Name: call, Says: strings.Join(protocol.ArgWords, ", ") + ", a number, or a text in quotes", Label: "Its ARGV, in order", Wide: true,
			Values: listed(strict.Object{"type": "array", "maxItems": MaxArgs, "items": one}),
		})
	}
	return keys
}()

var retryKeys = Keys{
	{
		Name: "times", Usual: 5, Says: "how often a refused acquisition asks again", Label: "Retries, or unlimited",
		Values: valuesOf(nil, func(r *strict.Reader, v strict.Value, into *int) bool {
			return r.NumberOr(v, into, 0, MaxRetries, "%s, or unlimited")
		}).
			or(unlimited, Unlimited, strict.ANumber(0, MaxRetries), strict.OneWord(unlimited)),
	},
	{
		Name: "interval", Usual: 50 * time.Millisecond, Says: "between two attempts, to " + phrase.Duration(MaxInterval), Label: "Retry every",
		Values: aTime(strict.Times{Low: time.Millisecond, High: MaxInterval, Unit: time.Microsecond}),
	},
	{
		Name: "wait", Says: "ask again after an interval, or wait for a message: what the lock does", Label: "How it waits", Where: nowhere,
		Values: oneOf(words(WaitPoll, WaitNotify)...),
	},
	{Name: "jitter", Says: "drawn and added to the interval", Label: "Jitter on top", Values: aSpan(MaxInterval)},
	{
		Name: "give-back", Usual: false, Says: "of several locks: who is refused another than its first releases what it has, waits, and begins again",
		Label: "Refused its second lock", Wide: true, Where: withLocks, Values: truth("true", trueOrFalse(),
			Word{"false", "it keeps the first, and asks again"}, Word{"true", "it gives the first back, and starts over"}),
	},
}

var threadKeys = append(Keys{
	// Which names are free is for the other threads to say.
	{Name: "name", Says: "letters, digits, - or _", Label: "Name", Values: fixed(nameSchema)},
}, defaultsKeys...)

// defaultsKeys are the keys of a thread that all threads can share.
var defaultsKeys = Keys{
	{Name: "start", Says: "when it begins", Label: "Starts at", Values: aTime(instants)},
	{
		Name: "takes", Says: "which of several locks, in which order; all in theirs if left out", Label: "Takes, in this order", Wide: true, Where: withLocks,
		Values: listed(strict.Object{"type": "array", "minItems": 1, "maxItems": MaxLocks, "uniqueItems": true, "items": aKey}),
	},
	{Name: "depth", Usual: 1, Says: "how many levels it enters: a call that calls itself", Label: "Depth", Where: withOneLock, Values: aNumber(1, MaxDepth)},
	{
		Name: "work", Usual: Range{50 * time.Millisecond, 100 * time.Millisecond}, Says: "of each level, drawn where it is a range", Label: "Work per level",
		Values: aSpan(MaxDuration),
	},
	{
		Name: "after", Says: "of each level but the innermost, when its nested call has returned", Label: "Work after the inner call", Wide: true, Where: withOneLock,
		Hint: "What each level but the innermost still does when its inner call has returned.", Values: aSpan(MaxDuration),
	},
	{
		Name: "calls", Says: "names of its functions, outermost first, with spaces between", Label: "Functions", Wide: true,
		Hint: "What the levels are called in the call stack, outermost first: order pay",
		Values: aText(strict.Say("names of up to %s functions, with spaces between", MaxDepth),
			strict.Object{"type": []string{"string", "number"}, "pattern": "^(" + nameOf + "( " + nameOf + ")*)?$"}, func(calls string) bool {
				names := strings.Fields(calls)
				return len(names) <= MaxDepth && strings.Join(names, " ") == calls && !slices.ContainsFunc(names, func(name string) bool { return !isName(name) })
			}),
	},
	{Name: "repeat", Usual: 1, Says: "rounds", Label: "Rounds", Values: aNumber(1, MaxRepeat)},
	{
		Name: "on-lost", Usual: OnLostIgnore, Says: "whether work ends as soon as the lease cannot be relied on", Label: "When it loses its lease", Wide: true,
		Values: oneOf(Word{OnLostIgnore, "ignore: it works on"}, Word{OnLostStop, "stop: it looks, and stops"}),
	},
	{
		Name: "process", Says: "its server; threads of one share the memory of a spin lock", Label: "Process", Wide: true,
		Hint: "A server, for instance: its threads share its memory.", Values: aName,
	},
	{Name: "user", Says: "whom it buys for", Label: "User", Wide: true, Hint: "Who buys: the limit is for each user.", Where: withPurchases, Values: aName},
	{
		Name: "drift", Says: "how much faster its clock runs: 5%, -0.5%, 200ppm", Label: "Drift of its clock", Wide: true,
		Hint: "How much faster its clock runs than the others; with a - slower: -5%.",
		Values: parsed(strict.Say("how much faster the clock runs, in percent or ppm, such as %s, or with a - slower, %s at most", "5%", MaxDrift.String()),
			strict.Object{"type": "string", "pattern": driftPercent.String() + "|" + driftPPM.String()}, ParseDrift),
	},
	{
		Name: "client-retries", Says: "how often its client sends a request by itself again that was not answered", Label: "Requests its client repeats", Wide: true,
		Hint: "How often the client library repeats a request by itself when it gets no answer. The lock does not know.", Values: aNumber(0, MaxResends),
	},
	{Name: "retry", Says: "how a refused acquisition is tried again", Values: aMap(retryKeys, retryKeys.schema())},
}

var resourceKeys = Keys{
	{Name: "kind", Says: "what the lock protects", Label: "What the lock protects", Wide: true, Values: oneOf(
		Word{KindCounter, "counter: work reads it, and writes one more"},
		Word{KindStock, "stock: work checks whether any is left, and takes one"},
		Word{KindPurchases, "purchases: work checks how often its user has bought, and buys within the limit"},
		Word{KindEffect, "effect: work checks whether it was done, and does it if not: a mail, an invoice"})},
	{Name: "size", Says: "its value before the run", Label: "It begins with", Values: aNumber(0, MaxSize)},
	{Name: "limit", Says: "of purchases: how many each user may buy", Label: "Allowed for each user", Where: withPurchases, Values: aNumber(1, MaxSize)},
	{Name: "checks", Says: "what it refuses", Label: "It takes", Wide: true, Values: checksOf("")},
	{
		Name: "looks", Usual: true, Says: "of an effect: work looks whether it was done, and then leaves it", Label: "Before it does it", Where: withEffect, With: "once-per",
		Values: truth("false", strict.Object{"type": "boolean"}, Word{"true", "it checks whether it was done"}, Word{"false", "it does not check"}),
	},
	{Name: "once-per", Says: "of an effect: how often it is due, once in this time; without it, once", Label: "Due once in", Where: withEffect, With: "looks", Values: aTime(lengths)},
}

// faultKeys are the keys of a fault. Its kind says which of them it has: engine/fault.
var faultKeys = Keys{
	{Name: "time", Says: "when, since the run began", Label: "At the time", Values: aTime(instants)},
	{Name: "thread", Says: "whom it strikes", Label: "Thread", Values: fixed(nameSchema)},
	{Name: "at", Says: "where in its call", Label: "Where", Wide: true, Values: oneOf(
		Word{fault.AtStart, "start: before its first call"},
		Word{fault.AtLock, "lock: as it asks for the lock"},
		Word{fault.AtWork, "work: as its work begins"},
		Word{fault.AtUnlock, "unlock: as it leaves a level"},
		Word{fault.AtRenew, "renew: as its watchdog renews"})},
	{Name: "level", Says: "at which level", Label: "Level", Values: aNumber(1, MaxDepth)},
	{Name: "round", Says: "in which round", Label: "Round", Values: aNumber(1, MaxRepeat)},
	{Name: "command", Says: "which command of a call that has several", Label: "Command of the call", Values: aNumber(1, maxCommand)},
	{Name: "do", Says: "what goes wrong", Label: "What goes wrong", Wide: true, Values: oneOf(words(fault.Names()...)...)},
	{Name: "error", Says: "what Redis answers, and does not run the command", Label: "What Redis answers", Wide: true, Values: oneOf(words(fault.Codes()...)...)},
	{Name: "for", Says: "for how long", Label: "For how long", Values: aTime(lengths)},
	{Name: "scope", Says: "of a pause: all, or the work alone while the watchdog goes on", Label: "What is paused", Wide: true, Values: oneOf(
		Word{fault.ScopeAll, "all: the whole thread, its watchdog too"},
		Word{fault.ScopeWork, "work: the watchdog goes on"})},
	{Name: "by", Says: "how far a clock jumps, forward or with a - back", Label: "By", Hint: "-1s turns the clock back.", Values: aJump()},
	{Name: "behind", Says: "how many writes the replica lacks", Label: "Writes that the replica lacks", Values: aNumber(0, maxBehind)},
	{Name: "keep", Says: "with its data", Label: "It comes back", Values: truth("true", trueOrFalse(), Word{"false", "empty"}, Word{"true", "with its data"})},
	{
		Name: "lose", Says: "of a restart: what was written within so long is lost", Label: "Loses the writes of the last", Wide: true,
		Hint: "An append-only file synced every second loses 1s. Empty: all, unless it keeps its data.", Values: aTime(wholeMillis),
	},
	{Name: "node", Says: "which of several", Label: "Node", Values: aNumber(1, MaxNodes)},
	{
		Name: "replica", Says: "which replica takes over, where the lock waits for some: the first have what was acknowledged", Label: "Replica that takes over",
		Values: aNumber(1, MaxReplicas),
	},
}

var expectKeys = Keys{
	{Name: "violations", Says: "exactly these rules are broken", Values: listOfRules},
	{
		Name: "outcome", Says: "thread to how it ends",
		Values: fixed(strict.Object{"type": "object", "additionalProperties": strict.OneWord(ends()...), "maxProperties": MaxThreads}),
	},
	{Name: "explore", Says: "what every order within bounds comes to", Values: fixed(strict.Object{"anyOf": []any{claimSchema(), strict.AList(0, MaxExplored, claimSchema())}})},
}

var exploredKeys = Keys{
	{Name: "delays", Says: "how often at most time passes although somebody could move", Values: aNumber(0, MaxDelays)},
	{
		Name: "faults", Says: "kinds that may strike",
		Values: fixed(strict.Object{"type": "array", "maxItems": len(fault.Names()), "items": strict.OneWord(fault.Names()...)}),
	},
	{Name: "max-faults", Says: "how many strike at most; 1 where faults are named", Values: aNumber(0, MaxStruck)},
	{Name: "violations", Says: "the rules that some order breaks; all others, none does", Values: listOfRules},
}

// aSeed is a seed.
func aSeed() Values {
	values := parsed(strict.Whole[uint64](0, MaxSeed), strict.ANumber[uint64](0, MaxSeed), strict.ParseWhole)
	values.Numeric = true
	return values
}

// checksOf are the checks of a resource.
func checksOf(kind string) Values {
	var among []Word
	for _, name := range ChecksOf(kind) {
		among = append(among, Word{name, checksMean[name]})
	}
	return oneOf(among...)
}

// checksMean says what each check refuses.
var checksMean = map[string]phrase.Text{
	ChecksToken:   "token: refuses a write with an older fencing token",
	ChecksVersion: "version: refuses a write by a thread that read an older version",
	ChecksKey:     "key: once for each idempotency key",
}

// jumps says how far a clock can jump.
var jumps = strict.Say("a time with a unit, forward or with a - back, from 1ms to %s, in whole milliseconds", phrase.Duration(MaxDuration))

// aJump is how far a clock jumps, back with a -.
func aJump() Values {
	values := parsed(jumps, aPattern(`[+-]?`+strict.TimePattern), func(text string) (time.Duration, bool) {
		d, ok := strict.ParseTime(strings.TrimLeft(text, "+-"))
		ok = ok && wholeMillis.Has(d)
		if strings.HasPrefix(text, "-") {
			d = -d
		}
		return d, ok
	})
	values.Times = true
	return values
}

// ofSeveral is how many replicas a lock may wait for, for example.
var ofSeveral = Sync{1, 2, 50 * time.Millisecond}

// replicas are how many have heard of something, and how soon, as in an example.
func replicas(example Sync, pattern string) Values {
	allowed := strict.Say("replicas and a time, such as %s: at most %s, and no more than there are; whole milliseconds, to %s", example.String(), MaxReplicas, phrase.Duration(MaxDuration))
	return parsed(allowed, aPattern(pattern), func(text string) (Sync, bool) { return parseSync(text, example.Of > 0) })
}
