package film_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"relock/engine"
	"relock/engine/fault"
	"relock/engine/lock/exhibit"
	"relock/engine/lock/protocol"
	"relock/engine/scenario"
	"relock/lessons/lessonstest"
)

// ownLocks are locks with scripts of somebody's own, right and wrong: what a person
// writes who follows an article, or repairs an unlock in the course.
var ownLocks = []map[string]any{
	{"scripts": map[string]any{ // its unlock deletes nothing, and says that all is well
		"lock":   "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end\nredis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])\nreturn 1",
		"unlock": "return 1",
	}},
	{"scripts": map[string]any{
		"lock":   "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return 1 end\nreturn 0",
		"unlock": "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end\nreturn 0",
		"renew":  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end\nreturn 0",
	}},
	{"scripts": map[string]any{ // a hash with a count, whose renewal asks nobody
		"lock":   "if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then\nlocal n = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)\nredis.call('PEXPIRE', KEYS[1], ARGV[3])\nreturn {1, n}\nend\nreturn {0, 0}",
		"unlock": "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {-1, 0} end\nlocal n = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)\nif n <= 0 then redis.call('DEL', KEYS[1]) n = 0 end\nreturn {1, n}",
		"renew":  "return redis.call('PEXPIRE', KEYS[1], ARGV[2])",
	}},
	{"scripts": map[string]any{ // never an expiry, and a release that asks nobody
		"lock":   "return redis.call('SETNX', KEYS[1], ARGV[1])",
		"unlock": "redis.call('DEL', KEYS[1])\nreturn 1",
	}},
	{"scripts": map[string]any{ // the deadline is the value: who comes after it takes the key
		"lock":   "local t = redis.call('TIME')\nlocal now = t[1] * 1000 + math.floor(t[2] / 1000)\nlocal v = redis.call('GET', KEYS[1])\nif v and tonumber(v) > now then return 0 end\nredis.call('GETSET', KEYS[1], now + ARGV[3])\nreturn 1",
		"unlock": "redis.call('DEL', KEYS[1])\nreturn 1",
	}},
	{"scripts": map[string]any{ // whole seconds
		"lock":   "if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('SETEX', KEYS[1], 1, ARGV[1]) return 1 end\nif redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('EXPIRE', KEYS[1], 2) return 1 end\nreturn 0",
		"unlock": "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('PEXPIRE', KEYS[1], 5) return 1 end\nreturn 0",
	}},
	{"scripts": map[string]any{ // whoever comes last has it
		"lock":   "redis.call('SET', KEYS[1], ARGV[1])\nredis.call('PEXPIRE', KEYS[1], ARGV[3])\nreturn {1, 1}",
		"unlock": "local gone = redis.call('DEL', KEYS[1])\nif gone == 0 then return {-1, 0} end\nreturn {1, 0}",
	}},
	{"scripts": map[string]any{ // a value that names nobody
		"lock":   "if redis.call('SET', KEYS[1], 'taken', 'NX', 'PX', ARGV[3]) then return 1 end\nreturn 0",
		"unlock": "redis.call('DEL', KEYS[1])\nreturn 1",
	}},
	{"kind": "permits=2", "scripts": map[string]any{ // a sorted set, each member with its own deadline
		"lock":   "local t = redis.call('TIME')\nlocal now = t[1] * 1000 + math.floor(t[2] / 1000)\nredis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)\nif redis.call('ZCARD', KEYS[1]) >= 2 then return 0 end\nredis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])\nredis.call('PEXPIRE', KEYS[1], ARGV[3])\nreturn 1",
		"unlock": "return redis.call('ZREM', KEYS[1], ARGV[1])",
	}},
	{"kind": "permits=3", "scripts": map[string]any{ // a sorted set, into which one more goes than there are permits
		"lock":   "if redis.call('ZCARD', KEYS[1]) > 3 then return 0 end\nredis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])\nredis.call('PEXPIRE', KEYS[1], ARGV[3])\nreturn 1",
		"unlock": "return redis.call('ZREM', KEYS[1], ARGV[1])",
		"renew":  "if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end\nreturn 0",
	}},
	{"scripts": map[string]any{ // a sorted set of which nobody says how many it lets in
		"lock":   "redis.call('ZADD', KEYS[1], 1, ARGV[1])\nreturn 1",
		"unlock": "return redis.call('ZREM', KEYS[1], ARGV[1])",
	}},
	{"kind": "readers", "scripts": map[string]any{ // who reads, and who writes, is in the owner's id
		"lock":   "local want = 'read'\nif string.byte(ARGV[1]) % 2 == 0 then want = 'write' end\nlocal mode = redis.call('HGET', KEYS[1], 'mode')\nif mode and not (mode == 'read' and want == 'read') then return 0 end\nredis.call('HSET', KEYS[1], 'mode', want)\nredis.call('HINCRBY', KEYS[1], ARGV[1], 1)\nredis.call('PEXPIRE', KEYS[1], ARGV[3])\nreturn 1",
		"unlock": "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end\nredis.call('HDEL', KEYS[1], ARGV[1])\nif redis.call('HLEN', KEYS[1]) == 1 then redis.call('DEL', KEYS[1]) end\nreturn 1",
	}},
	{"like": protocol.Reentrant.Name, "scripts": map[string]any{"unlock": "redis.call('DEL', KEYS[1])\nreturn 1"}},
	{"like": protocol.Reentrant.Name, "scripts": map[string]any{"unlock": "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return {-1, 0} end\nredis.call('HINCRBY', KEYS[1], ARGV[1], -1)\nreturn {1, ARGV[2] - 1}"}},
	{"like": "mutex", "scripts": map[string]any{"unlock": "return redis.call('DEL', KEYS[1])"}},
	{"like": "mutex", "scripts": map[string]any{"lock": "if redis.call('SETNX', KEYS[1], ARGV[1]) == 0 then return 0 end\nredis.call('PEXPIRE', KEYS[1], ARGV[2])\nreturn 1"}},
	{"like": "fenced", "scripts": map[string]any{"renew": "return 1"}},
	{"like": protocol.Fair.Name, "scripts": map[string]any{"renew": "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 1 end\nreturn 0"}},
}

// drawing draws scenarios.
type drawing struct{ *rand.Rand }

func (d drawing) chance(share float64) bool { return d.Float64() < share }

func one[T any](d drawing, of ...T) T { return of[d.IntN(len(of))] }

// ms is a length of time, some of them not in whole milliseconds.
func (d drawing) ms(low, high int) string {
	if d.chance(0.1) {
		return fmt.Sprintf("%dus", 1000*low+d.IntN(1000*(high-low)+1))
	}
	return fmt.Sprintf("%dms", low+d.IntN(high-low+1))
}

// scenario draws one that can be played.
func (d drawing) scenario(t *testing.T) *scenario.Scenario {
	t.Helper()
	for {
		text := d.without()
		if _, err := read(text); err != nil {
			continue
		}
		var faults []any
		for range d.IntN(5) {
			text["faults"] = append(faults, d.fault(text))
			if _, err := read(text); err == nil {
				faults, _ = text["faults"].([]any)
			}
		}
		if delete(text, "faults"); len(faults) > 0 {
			text["faults"] = faults
		}
		sc, err := read(text)
		if err != nil {
			t.Fatal(err)
		}
		return sc
	}
}

func read(text map[string]any) (*scenario.Scenario, error) {
	data, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	return scenario.Parse(data)
}

// without draws a scenario without faults. It need not be one that is allowed.
func (d drawing) without() map[string]any {
	lease := one(d, 40, 60, 100, 200, 200, 300, 1000)
	l := map[string]any{"lease": fmt.Sprintf("%dms", lease), "watchdog": "off", "retry": d.retry()}
	if d.chance(0.2) {
		own := one(d, ownLocks...)
		l["protocol"] = protocol.Own
		for k, v := range own {
			l[k] = v
		}
	} else {
		l["protocol"] = one(d, exhibit.Names()...)
	}
	if d.chance(0.5) {
		l["watchdog"] = fmt.Sprintf("%dms", one(d, lease/3, lease/2, lease/4, 20))
		if d.chance(0.3) {
			l["max-hold"] = d.ms(20, 200)
		}
	}
	switch l["protocol"] {
	case "redlock", "redsync":
		l["nodes"] = 1 + d.IntN(5)
	default:
		if l["protocol"] == exhibit.Mutex.Name && d.chance(0.5) {
			l["keep"] = d.ms(1, 300)
		}
		if d.chance(0.15) {
			l["wait"] = one(d, "1 of 2 in 20ms", "1 of 1 in 50ms", "2 of 2 in 5ms")
		}
		if d.chance(0.1) {
			l["min-replicas"] = "1 in 30ms"
		}
	}
	text := map[string]any{"lock": l, "seed": d.IntN(1000), "policy": one(d, scenario.PolicyInOrder, scenario.PolicyInOrder, scenario.PolicyRandom)}
	if d.chance(0.03) {
		text["kind"] = scenario.KindHeartbeat
	}
	if d.chance(0.4) {
		kind := one(d, scenario.KindCounter, scenario.KindStock, scenario.KindPurchases, scenario.KindEffect)
		r := map[string]any{"kind": kind}
		if kind == scenario.KindStock {
			r["size"] = d.IntN(3)
		}
		if d.chance(0.5) {
			r["checks"] = one(d, scenario.ChecksOf(kind)...)
		}
		text["resource"] = r
	}
	var threads []any
	for i := range 1 + d.IntN(4) {
		threads = append(threads, d.thread(string(rune('A'+i))))
	}
	text["threads"] = threads
	return text
}

func (d drawing) retry() map[string]any {
	r := map[string]any{"times": d.IntN(7), "interval": d.ms(5, 60)}
	if d.chance(0.2) {
		r["jitter"] = "0-20ms"
	}
	return r
}

func (d drawing) thread(name string) map[string]any {
	t := map[string]any{"name": name, "start": d.ms(0, 60), "work": d.ms(0, 150), "depth": one(d, 1, 1, 1, 2, 3), "repeat": one(d, 1, 1, 1, 2)}
	if d.chance(0.2) {
		t["after"] = d.ms(1, 60)
	}
	if d.chance(0.3) {
		t["on-lost"] = scenario.OnLostStop
	}
	if d.chance(0.25) {
		t["drift"] = one(d, "50%", "-50%", "1%", "-10%", "20%")
	}
	if d.chance(0.2) {
		t["client-retries"] = 1 + d.IntN(3)
	}
	if d.chance(0.15) {
		t["retry"] = d.retry()
	}
	if d.chance(0.1) {
		t["process"] = "other"
	}
	return t
}

// fault draws one for a scenario. It need not be one that is allowed.
func (d drawing) fault(text map[string]any) map[string]any {
	threads, _ := text["threads"].([]any)
	name := string(rune('A' + d.IntN(len(threads))))
	kinds := fault.Kinds()
	k := one(d, kinds...)
	if d.chance(0.15) {
		k, _ = fault.Named(fault.AnswerError)
	}
	f := map[string]any{"do": k.Name}
	if k.Wide != nil && d.chance(0.4) {
		k = *k.Wide
	}
	if len(k.Places) > 0 {
		f["thread"], f["at"] = name, one(d, k.Places...)
		if d.chance(0.4) {
			f["level"] = 1 + d.IntN(3)
		}
		if d.chance(0.2) {
			f["round"] = 2
		}
		if d.chance(0.4) {
			f["command"] = 1 + d.IntN(4)
		}
	} else {
		f["time"] = d.ms(0, 250)
		if k.One || k.Alone && d.chance(0.5) {
			f["thread"] = name
		}
	}
	for _, field := range k.Fields {
		switch field {
		case "error":
			f["error"] = one(d, fault.Codes()...)
		case "for":
			if k.For > 0 || d.chance(0.6) {
				f["for"] = d.ms(1, 200)
			}
		case "scope":
			if d.chance(0.4) {
				f["scope"] = fault.ScopeWork
			}
		case "by":
			f["by"] = fmt.Sprintf("%s%dms", one(d, "", "-"), 1+d.IntN(400))
		case "behind":
			f["behind"] = d.IntN(4)
		case "keep":
			f["keep"] = d.chance(0.4)
		case "lose":
			if f["keep"] != true && d.chance(0.4) {
				f["lose"] = fmt.Sprintf("%dms", 1+d.IntN(300))
			}
		case "node":
			if d.chance(0.7) {
				f["node"] = 1 + d.IntN(5)
			}
		}
	}
	return f
}

// play plays a scenario to its end, or until it is cut.
func play(ctx context.Context, t *testing.T, sc *scenario.Scenario) lessonstest.Run {
	t.Helper()
	run, err := engine.Start(ctx, sc, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err != nil {
		text, _ := sc.MarshalJSON()
		t.Fatalf("%v: %s", err, text)
	}
	events, _ := run.Log().Since(0)
	return lessonstest.Run{Scenario: sc, Header: run.Header(), Owners: run.Header().Owners, Events: events}
}
