package scenario

import (
	"maps"
	"slices"
	"strings"
	"time"

	"relock/engine/check"
	"relock/engine/fault"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/strict"
)

// Schema returns the JSON Schema of a scenario: draft-07, made of what Parse reads
// with, without references. Only Parse refuses mistakes that depend on other parts (which
// faults a lock can have, names of threads, how long a time may be); and it takes numbers
// in quotes. The result is the caller's own.
func Schema() strict.Object {
	s := part(scenarioKeys, strict.Object{
		"title":    strict.Described(strict.AText(MaxTitle, ""), "what it is called: a line"),
		"kind":     strict.Described(strict.OneWord(KindLock, KindHeartbeat), "lock: threads make a business call under a lock; heartbeat: the first is a device that keeps its key alive, the others check it"),
		"lock":     lockSchema(),
		"locks":    strict.Described(strict.Object{"type": "array", "minItems": 2, "maxItems": MaxLocks, "uniqueItems": true, "items": strict.AText(MaxKey, `^[^\s{}]+$`)}, "the keys of several locks, each like lock, which then names none"),
		"resource": resourceSchema(),
		"threads": strict.Object{
			"type": "array", "minItems": 1, "maxItems": MaxThreads, "description": "who asks for the lock",
			"items": strict.Required(part(append([]string{"name"}, threadKeys...), threadSchema()), "name"),
		},
		"defaults": strict.Described(part(threadKeys, threadSchema()), "what a thread has that says nothing else"),
		"faults":   strict.Object{"type": "array", "maxItems": MaxFaults, "items": faultSchema(), "description": "what goes wrong, and where"},
		"seed":     strict.Object{"type": "integer", "minimum": 0, "maximum": MaxSeed, "default": defaultSeed, "description": "of what is drawn: work, jitter, the random policy"},
		"policy":   strict.Described(strict.OneWord(PolicyInOrder, PolicyRandom), "who moves where several can"),
		"schedule": strict.Object{
			"type": "array", "maxItems": MaxDecisions, "description": "moves that are made before the policy chooses",
			"items": strict.Object{"anyOf": []any{
				strict.Described(strict.ANumber(0, MaxChoice), "which of those that can move does; 0 has been ready longest"),
				strict.Required(part([]string{untilKey}, strict.Object{untilKey: strict.Described(strict.ATime(), "time passes to this instant, and nobody moves")}), untilKey),
				struckSchema(),
			}},
		},
		"expect": expectSchema(),
	})
	s["$schema"], s["title"], s["description"] = strict.Dialect, "Relock scenario", "Which threads make which business call under which lock, what goes wrong, and what must come of it."
	return strict.Required(s, "threads")
}

// part is a map with these keys, and no others. A key without a schema can be
// anything; a test holds that each has one.
func part(keys []string, of strict.Object) strict.Object {
	properties := strict.Object{}
	for _, k := range keys {
		properties[k] = strict.Object{}
		if one, ok := of[k]; ok {
			properties[k] = one
		}
	}
	return strict.MapOf(properties)
}

// nameOf is a thread's name for readers that know no classes of Unicode: nothing of
// ASCII but letters, digits, - and _.
const nameOf = "[^\\s!-,./:-@\\[-^`{-~]+"

func name() strict.Object {
	return strict.Described(strict.AText(MaxName, "^"+nameOf+"$"), "letters, digits, - or _")
}

func usually(s strict.Object, value any) strict.Object { return strict.With(s, "default", value) }

func usuallyTime(s strict.Object, d time.Duration) strict.Object {
	return usually(s, phrase.Duration(d))
}

func retrySchema() strict.Object {
	return strict.Described(part(retryKeys, strict.Object{
		"times":     strict.Described(usually(strict.Object{"anyOf": []any{strict.ANumber(0, MaxRetries), strict.OneWord(unlimited)}}, defaultRetries), "how often a refused acquisition asks again"),
		"interval":  strict.Described(usuallyTime(strict.ATime(), defaultInterval), "between two attempts, to "+phrase.Duration(MaxInterval)),
		"wait":      strict.Described(strict.OneWord(WaitPoll, WaitNotify), "ask again after an interval, or wait for a message: what the lock does"),
		"jitter":    strict.Described(strict.ASpan(), "drawn and added to the interval"),
		"give-back": strict.Described(usually(strict.Object{"enum": []any{true, false, "true", "false"}}, false), "of several locks: who is refused another than its first releases what it has, waits, and begins again"),
	}), "how a refused acquisition is tried again")
}

func lockSchema() strict.Object {
	calls := strict.Object{}
	script := strict.Object{"type": "string", "minLength": 1, "maxLength": MaxScript, "pattern": `\S`}
	for _, call := range ownCalls {
		calls[call] = strict.Described(script, "Lua, run as one step by Redis")
	}
	s := part(lockKeys, strict.Object{
		"protocol":     strict.Described(usually(strict.OneWord(append(exhibit.Names(), protocol.Own)...), defaultLock().Protocol), "which lock: playground protocols lists them"),
		"key":          strict.Described(usually(strict.AText(MaxKey, `^[^\s{}]+$`), defaultKey), "the lock's key in Redis"),
		"lease":        strict.Described(usuallyTime(strict.ATime(), defaultLease), "how long Redis keeps the key: whole milliseconds, to "+phrase.Duration(MaxDuration)),
		"watchdog":     strict.Described(strict.Object{"anyOf": []any{strict.OneWord("off"), strict.Object{"const": false}, strict.ATime()}}, "how often a lease is renewed, or off; a third of the lease if left out"),
		"max-hold":     strict.Described(strict.ATime(), "how long leases are renewed at most"),
		"keep":         strict.Described(strict.ATime(), "how long the last release leaves the key, in whole milliseconds: a tick that is done once in this time"),
		"wait":         strict.Described(strict.Object{"type": "string", "pattern": "^(1 of [1-5]|2 of [2-5]|3 of [3-5]|4 of [45]|5 of 5) in " + strict.TimePattern + "$"}, "how many replicas must have acknowledged a lock or a renewal, of how many, and how soon"),
		"min-replicas": strict.Described(strict.Object{"type": "string", "pattern": "^[1-5] in " + strict.TimePattern + "$"}, "how many replicas a master must have heard from, how lately, to take writes"),
		"kind":         strict.Described(strict.Object{"type": "string", "pattern": "^(exclusive|readers|permits=[1-9][0-9]{0,3})$"}, "who may be inside at once: one thread, readers or one writer, or as many as there are permits"),
		"retry":        retrySchema(),
		"nodes":        strict.Described(strict.ANumber(1, MaxNodes), "how many Redis a lock of a majority has"),
		"args":         strict.Described(argsSchema(), "of a lock of one's own: what each script gets as ARGV"),
		"keys":         strict.Described(strict.Object{"type": "array", "minItems": 1, "maxItems": MaxKeys, "uniqueItems": true, "items": strict.Object{"type": "string", "maxLength": MaxKey, "pattern": `^[^\s{}]*\{key\}[^\s{}]*$`}}, "of a lock of one's own: what its scripts get as KEYS, with {key} for the lock's key, which is the first"),
		"replies":      strict.Described(repliesSchema(), "of a lock of one's own: what each script returns"),
		"release":      strict.Described(strict.OneWord(releaseOnce), "of a lock of one's own: its client does not send a release again that got no answer"),
		"like":         strict.Described(strict.OneWord(Writable()...), "the lock that one of your own is like: what scripts leave out is its"),
		"scripts":      strict.Described(strict.With(strict.MapOf(calls), "minProperties", 1), "with protocol: own, Lua for lock, unlock, and renew where leases are renewed"),
	})
	s["if"] = strict.Required(strict.Object{"properties": strict.Object{"protocol": strict.Object{"const": protocol.Own}}}, "protocol")
	s["then"] = strict.Required(strict.Object{}, "scripts")
	onlyOwn := strict.Object{}
	for _, k := range ownKeys {
		onlyOwn[k] = false
	}
	s["else"] = strict.Object{"properties": onlyOwn}
	s["dependencies"] = strict.Object{"keep": strict.Required(strict.Object{"properties": strict.Object{"protocol": strict.OneWord(Keeping()...)}}, "protocol")}
	return strict.Described(s, "the lock that the threads contend for")
}

// asItIsSchema is a text that is given as it is.
func asItIsSchema() strict.Object {
	return strict.Object{"type": "string", "minLength": 1, "maxLength": MaxWord}
}

func argsSchema() strict.Object {
	one := strict.Object{"anyOf": []any{strict.OneWord(protocol.ArgWords...), strict.Object{"type": "number"}, asItIsSchema()}}
	of := strict.Object{}
	for _, call := range ownCalls {
		of[call] = strict.Described(strict.Object{"type": "array", "maxItems": MaxArgs, "items": one}, strings.Join(protocol.ArgWords, ", ")+", a number, or a text in quotes")
	}
	return part(ownCalls, of)
}

func repliesSchema() strict.Object {
	of := strict.Object{}
	var calls []string
	for _, call := range ownCalls {
		outcomes := protocol.Outcomes(call)
		if outcomes == nil {
			continue
		}
		calls = append(calls, call)
		named := strict.Object{}
		for _, outcome := range outcomes {
			text := asItIsSchema()
			if call != protocol.CallLock || outcome != protocol.RefusedWord {
				text["not"] = strict.OneWord(protocol.PTTLWord)
			}
			named[outcome] = strict.Described(strict.Object{"anyOf": []any{strict.Object{"type": "integer"}, text}}, "nil, a whole number, OK, or a text in quotes; of a refused lock also pttl: how many milliseconds it is still another's")
		}
		s := strict.Described(part(outcomes, named), "what is not named is the refusal")
		s["minProperties"] = 1
		of[call] = s
	}
	return part(calls, of)
}

func resourceSchema() strict.Object {
	s := part(resourceKeys, strict.Object{
		"kind":     strict.Described(strict.OneWord(resourceKinds()...), "what the lock protects"),
		"size":     strict.Described(strict.ANumber(0, MaxSize), "its value before the run"),
		"limit":    strict.Described(strict.ANumber(1, MaxSize), "of purchases: how many each user may buy"),
		"checks":   strict.Described(strict.OneWord(ChecksOf("")...), "what it refuses"),
		"looks":    strict.Described(usually(strict.Object{"type": "boolean"}, true), "of an effect: work looks whether it was done, and then leaves it"),
		"once-per": strict.Described(strict.ATime(), "of an effect: how often it is due, once in this time; without it, once"),
	})
	var byKind []any
	for _, k := range resourceKinds() {
		then := strict.Object{"checks": strict.OneWord(ChecksOf(k)...)}
		if k != KindPurchases {
			then["limit"] = false
		}
		if k != KindEffect {
			then["looks"], then["once-per"] = false, false
		}
		byKind = append(byKind, strict.Object{"if": strict.Required(strict.Object{"properties": strict.Object{"kind": strict.Object{"const": k}}}, "kind"), "then": strict.Object{"properties": then}})
	}
	s["allOf"] = byKind
	return strict.Described(strict.Required(s, "kind"), "what the lock protects: work reads it as it begins and writes it as it ends")
}

func threadSchema() strict.Object {
	usual := defaultThread(Retry{})
	return strict.Object{
		"name":           name(),
		"start":          strict.Described(strict.ATime(), "when it begins"),
		"takes":          strict.Described(strict.Object{"type": "array", "minItems": 1, "maxItems": MaxLocks, "uniqueItems": true, "items": strict.AText(MaxKey, `^[^\s{}]+$`)}, "which of several locks, in which order; all in theirs if left out"),
		"depth":          strict.Described(usually(strict.ANumber(1, MaxDepth), usual.Depth), "how many levels it enters: a call that calls itself"),
		"work":           strict.Described(usually(strict.ASpan(), usual.Work.String()), "of each level, drawn where it is a range"),
		"after":          strict.Described(strict.ASpan(), "of each level but the innermost, when its nested call has returned"),
		"calls":          strict.Described(strict.Object{"type": []string{"string", "number"}, "pattern": "^(" + nameOf + "( " + nameOf + ")*)?$"}, "names of its functions, outermost first, with spaces between"),
		"repeat":         strict.Described(usually(strict.ANumber(1, MaxRepeat), usual.Repeat), "rounds"),
		"on-lost":        strict.Described(usually(strict.OneWord(OnLostIgnore, OnLostStop), usual.OnLost), "whether work ends as soon as the lease cannot be relied on"),
		"process":        strict.Described(name(), "its server; threads of one share the memory of a spin lock"),
		"user":           strict.Described(name(), "whom it buys for"),
		"drift":          strict.Described(strict.Object{"type": "string", "pattern": driftPercent.String() + "|" + driftPPM.String()}, "how much faster its clock runs: 5%, -0.5%, 200ppm"),
		"client-retries": strict.Described(strict.ANumber(0, MaxResends), "how often its client sends a request by itself again that was not answered"),
		"retry":          retrySchema(),
	}
}

// faultFields are the keys that some faults have.
func faultFields() strict.Object {
	return strict.Object{
		"thread":  strict.Described(name(), "whom it strikes"),
		"at":      strict.Described(strict.OneWord(fault.Anywhere()...), "where in its call"),
		"level":   strict.Described(strict.ANumber(1, MaxDepth), "at which level"),
		"round":   strict.Described(strict.ANumber(1, MaxRepeat), "in which round"),
		"command": strict.Described(strict.ANumber(1, maxCommand), "which command of a call that has several"),
		"time":    strict.Described(strict.ATime(), "when, since the run began"),
		"do":      strict.Described(strict.OneWord(fault.Names()...), "what goes wrong"),
		"for":     strict.Described(strict.ATime(), "for how long"),
		"scope":   strict.Described(strict.OneWord(fault.ScopeAll, fault.ScopeWork), "of a pause: all, or the work alone while the watchdog goes on"),
		"by":      strict.Described(strict.Object{"type": "string", "pattern": `^[+-]?` + strict.TimePattern + `$`}, "how far a clock jumps, forward or with a - back"),
		"error":   strict.Described(strict.OneWord(fault.Codes()...), "what Redis answers, and does not run the command"),
		"lose":    strict.Described(strict.ATime(), "of a restart: what was written within so long is lost"),
		"behind":  strict.Described(strict.ANumber(0, maxBehind), "how many writes the replica lacks"),
		"replica": strict.Described(strict.ANumber(1, MaxReplicas), "which replica takes over, where the lock waits for some: the first have what was acknowledged"),
		"keep":    strict.Described(strict.Object{"enum": []any{true, false, "true", "false"}}, "with its data"),
		"node":    strict.Described(strict.ANumber(1, MaxNodes), "which of several"),
	}
}

// neededDetails are the keys of a fault that have no default. A kind says which of them
// it can do without.
var neededDetails = []string{"error", "for", "by"}

func faultSchema() strict.Object {
	return kindsOf(part(fault.Keys(), faultFields()), func(k fault.Kind) (allowed, needed []string) {
		if k.Places == nil {
			allowed, needed = []string{"time"}, []string{"time"}
			if k.Alone || k.One {
				allowed = append(allowed, "thread")
			}
			if k.One {
				needed = append(needed, "thread")
			}
		} else {
			allowed, needed = []string{"thread", "at", "level", "round", "command"}, []string{"thread", "at"}
		}
		return append(allowed, k.Fields...), needed
	})
}

func struckSchema() strict.Object {
	return kindsOf(part(struckKeys(), faultFields()), func(k fault.Kind) (allowed, needed []string) {
		if k.Places != nil {
			needed = append(needed, "thread")
		}
		if k.AwaitsCall() {
			needed = append(needed, "at")
		}
		allowed = append(allowed, needed...)
		if k.Alone || k.One {
			allowed = append(allowed, "thread")
		}
		if k.One {
			needed = append(needed, "thread")
		}
		return append(allowed, k.ByHand()...), needed
	})
}

// kindsOf adds which keys a fault of each kind may have and must have.
func kindsOf(s strict.Object, of func(fault.Kind) (allowed, needed []string)) strict.Object {
	var all []fault.Kind
	for _, k := range fault.Kinds() {
		if all = append(all, k); k.Wide != nil { // without a place it is of Redis
			all = append(all, *k.Wide)
		}
	}
	byName := map[string][]any{}
	for _, k := range all {
		allowed, needed := of(k)
		allowed = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(allowed), "do"))))
		needed = append([]string{"do"}, needed...)
		for _, name := range neededDetails {
			if slices.Contains(k.Fields, name) && !slices.Contains(k.Optional, name) {
				needed = append(needed, name)
			}
		}
		then := strict.Required(strict.Object{"propertyNames": strict.OneWord(allowed...), "description": string(k.Label)}, needed...)
		if len(k.Places) > 0 {
			then["properties"] = strict.Object{"at": strict.OneWord(k.Places...)}
		}
		byName[k.Name] = append(byName[k.Name], then)
	}
	var rules []any
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		rules = append(rules, strict.Object{"if": strict.Required(strict.Object{"properties": strict.Object{"do": strict.Object{"const": name}}}, "do"), "then": anyOf(byName[name])})
	}
	s["allOf"] = rules
	s["not"] = strict.Required(strict.Object{"properties": strict.Object{"keep": strict.Object{"enum": []any{true, "true"}}}}, "keep", "lose")
	return strict.Required(s, "do")
}

func expectSchema() strict.Object {
	rules := func(description string) strict.Object {
		return strict.Object{"type": "array", "maxItems": len(check.Names()), "items": strict.OneWord(check.Names()...), "description": description}
	}
	claim := part(exploredKeys, strict.Object{
		"delays":     strict.Described(strict.ANumber(0, MaxDelays), "how often at most time passes although somebody could move"),
		"faults":     strict.Object{"type": "array", "maxItems": len(fault.Names()), "items": strict.OneWord(fault.Names()...), "description": "kinds that may strike"},
		"max-faults": strict.Described(strict.ANumber(0, MaxStruck), "how many strike at most; 1 where faults are named"),
		"violations": rules("the rules that some order breaks; all others, none does"),
	})
	claim["if"] = strict.Required(strict.Object{"properties": strict.Object{"max-faults": strict.Object{"minimum": 1}}}, "max-faults")
	claim["then"] = strict.Required(strict.Object{}, "faults")
	claim = strict.Required(claim, "violations")
	return strict.Described(part(expectKeys, strict.Object{
		"violations": rules("exactly these rules are broken"),
		"outcome":    strict.Object{"type": "object", "additionalProperties": strict.OneWord(ends()...), "maxProperties": MaxThreads, "description": "thread to how it ends"},
		"explore":    strict.Object{"anyOf": []any{claim, strict.Object{"type": "array", "maxItems": MaxExplored, "items": claim}}, "description": "what every order within bounds comes to"},
	}), "what must come of it")
}

// anyOf is one of some schemas.
func anyOf(list []any) any {
	if len(list) == 1 {
		return list[0]
	}
	return strict.Object{"anyOf": list}
}
