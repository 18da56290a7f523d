package scenario

import (
	"maps"
	"slices"

	"relock/engine/fault"
	"relock/engine/lock/protocol"
	"relock/engine/phrase"
	"relock/engine/strict"
)

// Schema returns the JSON Schema of a scenario: draft-07, made of what Parse reads
// with, without references. Only Parse refuses mistakes that depend on other parts (which
// faults a lock can have, names of threads, how long a time may be); and it takes numbers
// in quotes. Its parts are shared: callers do not change them.
func Schema() strict.Object {
	s := scenarioKeys.schema()
	s["$schema"], s["title"], s["description"] = strict.Dialect, "Relock scenario", "Which threads make which business call under which lock, what goes wrong, and what must come of it."
	return strict.Required(s, "threads")
}

// moveSchema is the schema of an entry of a schedule.
func moveSchema() strict.Object {
	until := strict.MapOf(strict.Object{untilKey: strict.Described(strict.ATime(), "time passes to this instant, and nobody moves")})
	return strict.Object{"anyOf": []any{
		strict.Described(strict.ANumber(0, MaxChoice), "which of those that can move does; 0 has been ready longest"),
		strict.Required(until, untilKey),
		struckSchema(),
	}}
}

func lockSchema() strict.Object {
	s := lockKeys.schema()
	s["if"] = strict.Required(strict.Object{"properties": strict.Object{"protocol": strict.Object{"const": protocol.Own}}}, "protocol")
	s["then"] = strict.Required(strict.Object{}, "scripts")
	onlyOwn := strict.Object{}
	for _, k := range ownKeys {
		onlyOwn[k] = false
	}
	s["else"] = strict.Object{"properties": onlyOwn}
	s["dependencies"] = strict.Object{"keep": strict.Required(strict.Object{"properties": strict.Object{"protocol": strict.OneWord(Keeping()...)}}, "protocol")}
	return s
}

// asItIsSchema is a text that is given as it is.
func asItIsSchema() strict.Object {
	return strict.Object{"type": "string", "minLength": 1, "maxLength": MaxWord}
}

func repliesSchema() strict.Object {
	of := strict.Object{}
	for _, call := range ownCalls {
		outcomes := protocol.Outcomes(call)
		if outcomes == nil {
			continue
		}
		named := strict.Object{}
		for _, outcome := range outcomes {
			text := asItIsSchema()
			if call != protocol.CallLock || outcome != protocol.RefusedWord {
				text["not"] = strict.OneWord(protocol.PTTLWord)
			}
			named[outcome] = strict.Described(strict.Object{"anyOf": []any{strict.Object{"type": "integer"}, text}}, "nil, a whole number, OK, or a text in quotes; of a refused lock also pttl: how many milliseconds it is still another's")
		}
		s := strict.Described(strict.MapOf(named), "what is not named is the refusal")
		s["minProperties"] = 1
		of[call] = s
	}
	return strict.MapOf(of)
}

func resourceSchema() strict.Object {
	s := resourceKeys.schema()
	var byKind []any
	for _, k := range resourceKeys.Named("kind").Values.Names() {
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
	return strict.Required(s, "kind")
}

// neededDetails are the keys of a fault that have no default, and what they can be. A kind
// says which of them it can do without.
var neededDetails = map[string]phrase.Wording{"error": strict.Among(fault.Codes()...), "for": lengths.Allowed(), "by": jumps}

func faultSchema() strict.Object {
	return kindsOf(faultKeys.schema(), func(k fault.Kind) (allowed, needed []string) {
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
	return kindsOf(struckKeys().schema(), func(k fault.Kind) (allowed, needed []string) {
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
		for _, name := range k.Fields {
			if _, is := neededDetails[name]; is && !slices.Contains(k.Optional, name) {
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

// claimSchema is the schema of a claim about the schedules of a scenario.
func claimSchema() strict.Object {
	claim := exploredKeys.schema()
	claim["if"] = strict.Required(strict.Object{"properties": strict.Object{"max-faults": strict.Object{"minimum": 1}}}, "max-faults")
	claim["then"] = strict.Required(strict.Object{}, "faults")
	return strict.Required(claim, "violations")
}

// anyOf is one of some schemas.
func anyOf(list []any) any {
	if len(list) == 1 {
		return list[0]
	}
	return strict.Object{"anyOf": list}
}
