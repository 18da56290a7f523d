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
)

// Object is a JSON Schema, or a part of one.
type Object = map[string]any

// Dialect is the dialect of the schemas. Editors' YAML servers read it and older ones.
const Dialect = "http://json-schema.org/draft-07/schema#"

// Schema returns the JSON Schema of a scenario: draft-07, made of what Parse reads
// with, without references. Only Parse refuses mistakes that depend on other parts (which
// faults a lock can have, names of threads, how long a time may be); and it takes numbers
// in quotes. The result is the caller's own.
func Schema() Object {
	s := part(scenarioKeys, Object{
		"title":    Described(text(MaxTitle, ""), "what it is called: a line"),
		"kind":     Described(words(KindLock, KindHeartbeat), "lock: threads make a business call under a lock; heartbeat: the first is a device that keeps its key alive, the others check it"),
		"lock":     lockSchema(),
		"locks":    Described(Object{"type": "array", "minItems": 2, "maxItems": MaxLocks, "uniqueItems": true, "items": text(MaxKey, `^[^\s{}]+$`)}, "the keys of several locks, each like lock, which then names none"),
		"resource": resourceSchema(),
		"threads": Object{
			"type": "array", "minItems": 1, "maxItems": MaxThreads, "description": "who asks for the lock",
			"items": Required(part(append([]string{"name"}, threadKeys...), threadSchema()), "name"),
		},
		"defaults": Described(part(threadKeys, threadSchema()), "what a thread has that says nothing else"),
		"faults":   Object{"type": "array", "maxItems": MaxFaults, "items": faultSchema(), "description": "what goes wrong, and where"},
		"seed":     Object{"type": "integer", "minimum": 0, "maximum": MaxSeed, "default": defaultSeed, "description": "of what is drawn: work, jitter, the random policy"},
		"policy":   Described(words(PolicyInOrder, PolicyRandom), "who moves where several can"),
		"schedule": Object{
			"type": "array", "maxItems": MaxDecisions, "description": "moves that are made before the policy chooses",
			"items": Object{"anyOf": []any{
				Described(number(0, MaxChoice), "which of those that can move does; 0 has been ready longest"),
				Required(part([]string{untilKey}, Object{untilKey: Described(aTime(), "time passes to this instant, and nobody moves")}), untilKey),
				struckSchema(),
			}},
		},
		"expect": expectSchema(),
	})
	s["$schema"], s["title"], s["description"] = Dialect, "Relock scenario", "Which threads make which business call under which lock, what goes wrong, and what must come of it."
	return Required(s, "threads")
}

// part is a map with these keys, and no others. A key without a schema can be
// anything; a test holds that each has one.
func part(keys []string, of Object) Object {
	properties := Object{}
	for _, k := range keys {
		properties[k] = Object{}
		if one, ok := of[k]; ok {
			properties[k] = one
		}
	}
	return MapOf(properties)
}

// MapOf is the schema of a map with these keys and no others.
func MapOf(properties Object) Object {
	return Object{"type": "object", "additionalProperties": false, "properties": properties}
}

// Required is a part of a schema that requires these keys.
func Required(s Object, keys ...string) Object { return with(s, "required", keys) }

// Described is a part of a schema with the text that an editor shows.
func Described(s Object, description string) Object { return with(s, "description", description) }

// with leaves s as it is: several keys may share it.
func with(s Object, key string, value any) Object {
	s = maps.Clone(s)
	s[key] = value
	return s
}

// words are some words, each once.
func words(list ...string) Object {
	var enum []string
	for _, one := range list {
		if !slices.Contains(enum, one) {
			enum = append(enum, one)
		}
	}
	return Object{"enum": enum}
}

func number(low, high int) Object { return Object{"type": "integer", "minimum": low, "maximum": high} }

// text is a text of at most so many characters, or what YAML takes for a number.
func text(most int, pattern string) Object {
	s := Object{"type": []string{"string", "number"}, "maxLength": most}
	if pattern != "" {
		s["pattern"] = pattern
	}
	return s
}

// nameOf is a thread's name for readers that know no classes of Unicode: nothing of
// ASCII but letters, digits, - and _.
const nameOf = "[^\\s!-,./:-@\\[-^`{-~]+"

func name() Object { return Described(text(MaxName, "^"+nameOf+"$"), "letters, digits, - or _") }

// one is a time as scenarios have it, without what is around it.
const one = `([0-9]+(\.[0-9]+)?(us|µs|ms|s|m|h))+`

func aTime() Object { return Object{"type": "string", "maxLength": 32, "pattern": "^" + one + "$"} }

// span is a time, or two with a dash between them; the first may leave its unit out.
func span() Object {
	return Object{"type": "string", "pattern": "^" + one + "$|^(" + one + "|[0-9]+(\\.[0-9]+)?)-" + one + "$"}
}

func usually(s Object, value any) Object { return with(s, "default", value) }

func usuallyTime(s Object, d time.Duration) Object { return usually(s, phrase.Duration(d)) }

func retrySchema() Object {
	return Described(part(retryKeys, Object{
		"times":     Described(usually(Object{"anyOf": []any{number(0, MaxRetries), words(unlimited)}}, defaultRetries), "how often a refused acquisition asks again"),
		"interval":  Described(usuallyTime(aTime(), defaultInterval), "between two attempts, to "+phrase.Duration(MaxInterval)),
		"wait":      Described(words(WaitPoll, WaitNotify), "ask again after an interval, or wait for a message: what the lock does"),
		"jitter":    Described(span(), "drawn and added to the interval"),
		"give-back": Described(usually(Object{"enum": []any{true, false, "true", "false"}}, false), "of several locks: who is refused another than its first releases what it has, waits, and begins again"),
	}), "how a refused acquisition is tried again")
}

func lockSchema() Object {
	calls := Object{}
	script := Object{"type": "string", "minLength": 1, "maxLength": MaxScript, "pattern": `\S`}
	for _, call := range ownCalls {
		calls[call] = Described(script, "Lua, run as one step by Redis")
	}
	s := part(lockKeys, Object{
		"protocol":     Described(usually(words(append(exhibit.Names(), protocol.Own)...), defaultLock().Protocol), "which lock: playground protocols lists them"),
		"key":          Described(usually(text(MaxKey, `^[^\s{}]+$`), defaultKey), "the lock's key in Redis"),
		"lease":        Described(usuallyTime(aTime(), defaultLease), "how long Redis keeps the key: whole milliseconds, to "+phrase.Duration(MaxDuration)),
		"watchdog":     Described(Object{"anyOf": []any{words("off"), Object{"const": false}, aTime()}}, "how often a lease is renewed, or off; a third of the lease if left out"),
		"max-hold":     Described(aTime(), "how long leases are renewed at most"),
		"keep":         Described(aTime(), "how long the last release leaves the key, in whole milliseconds: a tick that is done once in this time"),
		"wait":         Described(Object{"type": "string", "pattern": "^(1 of [1-5]|2 of [2-5]|3 of [3-5]|4 of [45]|5 of 5) in " + one + "$"}, "how many replicas must have acknowledged a lock or a renewal, of how many, and how soon"),
		"min-replicas": Described(Object{"type": "string", "pattern": "^[1-5] in " + one + "$"}, "how many replicas a master must have heard from, how lately, to take writes"),
		"kind":         Described(Object{"type": "string", "pattern": "^(exclusive|readers|permits=[1-9][0-9]{0,3})$"}, "who may be inside at once: one thread, readers or one writer, or as many as there are permits"),
		"retry":        retrySchema(),
		"nodes":        Described(number(1, MaxNodes), "how many Redis a lock of a majority has"),
		"args":         Described(argsSchema(), "of a lock of one's own: what each script gets as ARGV"),
		"keys":         Described(Object{"type": "array", "minItems": 1, "maxItems": MaxKeys, "uniqueItems": true, "items": Object{"type": "string", "maxLength": MaxKey, "pattern": `^[^\s{}]*\{key\}[^\s{}]*$`}}, "of a lock of one's own: what its scripts get as KEYS, with {key} for the lock's key, which is the first"),
		"replies":      Described(repliesSchema(), "of a lock of one's own: what each script returns"),
		"release":      Described(words(releaseOnce), "of a lock of one's own: its client does not send a release again that got no answer"),
		"like":         Described(words(Writable()...), "the lock that one of your own is like: what scripts leave out is its"),
		"scripts":      Described(with(MapOf(calls), "minProperties", 1), "with protocol: own, Lua for lock, unlock, and renew where leases are renewed"),
	})
	s["if"] = Required(Object{"properties": Object{"protocol": Object{"const": protocol.Own}}}, "protocol")
	s["then"] = Required(Object{}, "scripts")
	onlyOwn := Object{}
	for _, k := range ownKeys {
		onlyOwn[k] = false
	}
	s["else"] = Object{"properties": onlyOwn}
	s["dependencies"] = Object{"keep": Required(Object{"properties": Object{"protocol": words(Keeping()...)}}, "protocol")}
	return Described(s, "the lock that the threads contend for")
}

// asItIsSchema is a text that is given as it is.
func asItIsSchema() Object {
	return Object{"type": "string", "minLength": 1, "maxLength": MaxWord}
}

func argsSchema() Object {
	one := Object{"anyOf": []any{words(protocol.ArgWords...), Object{"type": "number"}, asItIsSchema()}}
	of := Object{}
	for _, call := range ownCalls {
		of[call] = Described(Object{"type": "array", "maxItems": MaxArgs, "items": one}, strings.Join(protocol.ArgWords, ", ")+", a number, or a text in quotes")
	}
	return part(ownCalls, of)
}

func repliesSchema() Object {
	of := Object{}
	var calls []string
	for _, call := range ownCalls {
		outcomes := protocol.Outcomes(call)
		if outcomes == nil {
			continue
		}
		calls = append(calls, call)
		named := Object{}
		for _, outcome := range outcomes {
			text := asItIsSchema()
			if call != protocol.CallLock || outcome != protocol.RefusedWord {
				text["not"] = words(protocol.PTTLWord)
			}
			named[outcome] = Described(Object{"anyOf": []any{Object{"type": "integer"}, text}}, "nil, a whole number, OK, or a text in quotes; of a refused lock also pttl: how many milliseconds it is still another's")
		}
		s := Described(part(outcomes, named), "what is not named is the refusal")
		s["minProperties"] = 1
		of[call] = s
	}
	return part(calls, of)
}

func resourceSchema() Object {
	s := part(resourceKeys, Object{
		"kind":     Described(words(resourceKinds()...), "what the lock protects"),
		"size":     Described(number(0, MaxSize), "its value before the run"),
		"limit":    Described(number(1, MaxSize), "of purchases: how many each user may buy"),
		"checks":   Described(words(ChecksOf("")...), "what it refuses"),
		"looks":    Described(usually(Object{"type": "boolean"}, true), "of an effect: work looks whether it was done, and then leaves it"),
		"once-per": Described(aTime(), "of an effect: how often it is due, once in this time; without it, once"),
	})
	var byKind []any
	for _, k := range resourceKinds() {
		then := Object{"checks": words(ChecksOf(k)...)}
		if k != KindPurchases {
			then["limit"] = false
		}
		if k != KindEffect {
			then["looks"], then["once-per"] = false, false
		}
		byKind = append(byKind, Object{"if": Required(Object{"properties": Object{"kind": Object{"const": k}}}, "kind"), "then": Object{"properties": then}})
	}
	s["allOf"] = byKind
	return Described(Required(s, "kind"), "what the lock protects: work reads it as it begins and writes it as it ends")
}

func threadSchema() Object {
	usual := defaultThread(Retry{})
	return Object{
		"name":           name(),
		"start":          Described(aTime(), "when it begins"),
		"takes":          Described(Object{"type": "array", "minItems": 1, "maxItems": MaxLocks, "uniqueItems": true, "items": text(MaxKey, `^[^\s{}]+$`)}, "which of several locks, in which order; all in theirs if left out"),
		"depth":          Described(usually(number(1, MaxDepth), usual.Depth), "how many levels it enters: a call that calls itself"),
		"work":           Described(usually(span(), usual.Work.String()), "of each level, drawn where it is a range"),
		"after":          Described(span(), "of each level but the innermost, when its nested call has returned"),
		"calls":          Described(Object{"type": []string{"string", "number"}, "pattern": "^(" + nameOf + "( " + nameOf + ")*)?$"}, "names of its functions, outermost first, with spaces between"),
		"repeat":         Described(usually(number(1, MaxRepeat), usual.Repeat), "rounds"),
		"on-lost":        Described(usually(words(OnLostIgnore, OnLostStop), usual.OnLost), "whether work ends as soon as the lease cannot be relied on"),
		"process":        Described(name(), "its server; threads of one share the memory of a spin lock"),
		"user":           Described(name(), "whom it buys for"),
		"drift":          Described(Object{"type": "string", "pattern": driftPercent.String() + "|" + driftPPM.String()}, "how much faster its clock runs: 5%, -0.5%, 200ppm"),
		"client-retries": Described(number(0, MaxResends), "how often its client sends a request by itself again that was not answered"),
		"retry":          retrySchema(),
	}
}

// faultFields are the keys that some faults have.
func faultFields() Object {
	return Object{
		"thread":  Described(name(), "whom it strikes"),
		"at":      Described(words(fault.Anywhere()...), "where in its call"),
		"level":   Described(number(1, MaxDepth), "at which level"),
		"round":   Described(number(1, MaxRepeat), "in which round"),
		"command": Described(number(1, maxCommand), "which command of a call that has several"),
		"time":    Described(aTime(), "when, since the run began"),
		"do":      Described(words(fault.Names()...), "what goes wrong"),
		"for":     Described(aTime(), "for how long"),
		"scope":   Described(words(fault.ScopeAll, fault.ScopeWork), "of a pause: all, or the work alone while the watchdog goes on"),
		"by":      Described(Object{"type": "string", "pattern": `^[+-]?` + one + `$`}, "how far a clock jumps, forward or with a - back"),
		"error":   Described(words(fault.Codes()...), "what Redis answers, and does not run the command"),
		"lose":    Described(aTime(), "of a restart: what was written within so long is lost"),
		"behind":  Described(number(0, maxBehind), "how many writes the replica lacks"),
		"replica": Described(number(1, MaxReplicas), "which replica takes over, where the lock waits for some: the first have what was acknowledged"),
		"keep":    Described(Object{"enum": []any{true, false, "true", "false"}}, "with its data"),
		"node":    Described(number(1, MaxNodes), "which of several"),
	}
}

// neededDetails are the keys of a fault that have no default. A kind says which of them
// it can do without.
var neededDetails = []string{"error", "for", "by"}

func faultSchema() Object {
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

func struckSchema() Object {
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
func kindsOf(s Object, of func(fault.Kind) (allowed, needed []string)) Object {
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
		then := Required(Object{"propertyNames": words(allowed...), "description": string(k.Label)}, needed...)
		if len(k.Places) > 0 {
			then["properties"] = Object{"at": words(k.Places...)}
		}
		byName[k.Name] = append(byName[k.Name], then)
	}
	var rules []any
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		rules = append(rules, Object{"if": Required(Object{"properties": Object{"do": Object{"const": name}}}, "do"), "then": anyOf(byName[name])})
	}
	s["allOf"] = rules
	s["not"] = Required(Object{"properties": Object{"keep": Object{"enum": []any{true, "true"}}}}, "keep", "lose")
	return Required(s, "do")
}

func expectSchema() Object {
	rules := func(description string) Object {
		return Object{"type": "array", "maxItems": len(check.Names()), "items": words(check.Names()...), "description": description}
	}
	claim := part(exploredKeys, Object{
		"delays":     Described(number(0, MaxDelays), "how often at most time passes although somebody could move"),
		"faults":     Object{"type": "array", "maxItems": len(fault.Names()), "items": words(fault.Names()...), "description": "kinds that may strike"},
		"max-faults": Described(number(0, MaxStruck), "how many strike at most; 1 where faults are named"),
		"violations": rules("the rules that some order breaks; all others, none does"),
	})
	claim["if"] = Required(Object{"properties": Object{"max-faults": Object{"minimum": 1}}}, "max-faults")
	claim["then"] = Required(Object{}, "faults")
	claim = Required(claim, "violations")
	return Described(part(expectKeys, Object{
		"violations": rules("exactly these rules are broken"),
		"outcome":    Object{"type": "object", "additionalProperties": words(ends()...), "maxProperties": MaxThreads, "description": "thread to how it ends"},
		"explore":    Object{"anyOf": []any{claim, Object{"type": "array", "maxItems": MaxExplored, "items": claim}}, "description": "what every order within bounds comes to"},
	}), "what must come of it")
}

// anyOf is one of some schemas.
func anyOf(list []any) any {
	if len(list) == 1 {
		return list[0]
	}
	return Object{"anyOf": list}
}
