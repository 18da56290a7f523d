package ownlock_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"relock/engine/explore"
	"relock/engine/outside/ownlock"
	"relock/engine/outside/ownlock/ownlocktest"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/engine/verdict"
)

const (
	compares = "if redis.call('get', KEYS[1]) == ARGV[1] then\n  return redis.call('del', KEYS[1])\nelse\n  return 0\nend"
	setsNX   = "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end\nreturn 0"
)

// pasted is a lock from an article whose file has its scripts alone, and what is wrong with it.
type pasted struct {
	name    string
	scripts map[string]string
	depth   int
	lines   string   // how it is called
	noted   string   // of what it does, where it is right
	asked   string   // part of what is asked of one that cannot be judged
	fault   string   // that breaks it
	broken  []string // the rules, not by standing still alone
}

// pastes are such locks in words of our own. The lease is given or made in every way, the owner
// is found or not, and each wrong one is wrong in another way.
var pastes = []pasted{
	{name: "the lease first, as in a Go client", lines: `args: {lock: [lease-ms, owner], renew: [lease-ms, owner]}`, scripts: map[string]string{
		"lock":   "if redis.call('SET', KEYS[1], ARGV[2], 'NX', 'PX', ARGV[1]) then\n  return 1\nelse\n  return 0\nend",
		"unlock": compares,
		"renew":  "if redis.call('get', KEYS[1]) == ARGV[2] then\n  return redis.call('expire', KEYS[1], math.floor(ARGV[1] / 1000))\nelse\n  return 0\nend",
	}},
	{name: "SETEX after a look, in seconds", lines: `args: {lock: [owner, lease-s], renew: [owner, lease-s]}; replies: {lock: {entered: 1, refused: nil}, unlock: {released: 1, refused: nil}, renew: {renewed: 1, refused: nil}}`, scripts: map[string]string{
		"lock":   "local key = KEYS[1]\nlocal id = ARGV[1]\nlocal ttl = ARGV[2]\nif redis.call('exists', key) == 1 then\n  return false\nend\nredis.call('setex', key, ttl, id)\nreturn true",
		"unlock": "if redis.call('get', KEYS[1]) == ARGV[1] then\n  redis.call('del', KEYS[1])\n  return true\nelse\n  return false\nend",
		"renew":  "if redis.call('get', KEYS[1]) == ARGV[1] then\n  redis.call('expire', KEYS[1], ARGV[2])\n  return true\nend\nreturn false",
	}},
	{name: "who has it may ask again, one release for all", lines: `args: {lock: [owner, lease-ms]}; replies: {lock: {entered: 1, refused: nil}, unlock: {released: 1, refused: nil}}`, scripts: map[string]string{
		"lock":   "local lockClientId = redis.call('GET', KEYS[1])\nif lockClientId == ARGV[1] then\n  redis.call('PEXPIRE', KEYS[1], ARGV[2])\n  return true\nelseif not lockClientId then\n  redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])\n  return true\nend\nreturn false",
		"unlock": "local lockClientId = redis.call('GET', KEYS[1])\nif lockClientId == ARGV[1] then\n  redis.call('DEL', KEYS[1])\n  redis.call('PUBLISH', ARGV[2], KEYS[1])\n  return true\nend\nreturn false",
	}},
	{name: "a client and its thread make the field", depth: 2, lines: `args: {lock: [owner, "1", lease-ms], unlock: [owner, "1"], renew: [owner, "1", lease-ms]}; replies: {lock: {entered: nil, refused: pttl}, unlock: {released: 1, entered: 0, refused: nil}}`, scripts: map[string]string{
		"lock":   "local field = ARGV[1] .. ':' .. ARGV[2]\nif redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], field) == 1 then\n  redis.call('hincrby', KEYS[1], field, 1)\n  redis.call('pexpire', KEYS[1], ARGV[3])\n  return nil\nend\nreturn redis.call('pttl', KEYS[1])",
		"unlock": "local field = ARGV[1] .. ':' .. ARGV[2]\nif redis.call('hexists', KEYS[1], field) == 0 then\n  return nil\nend\nif redis.call('hincrby', KEYS[1], field, -1) > 0 then\n  return 0\nend\nredis.call('del', KEYS[1])\nredis.call('publish', 'unlock:' .. KEYS[1], '1')\nreturn 1",
		"renew":  "local field = ARGV[1] .. ':' .. ARGV[2]\nif redis.call('hexists', KEYS[1], field) == 1 then\n  redis.call('pexpire', KEYS[1], ARGV[3])\n  return 1\nend\nreturn 0",
	}},
	{name: "extend to, or by", lines: `args: {lock: [owner, lease-ms]}`, scripts: map[string]string{
		"lock":   setsNX,
		"unlock": "local token = redis.call('get', KEYS[1])\nif not token or token ~= ARGV[1] then\n  return 0\nend\nredis.call('del', KEYS[1])\nreturn 1",
		"renew":  "local token = redis.call('get', KEYS[1])\nif not token or token ~= ARGV[1] then\n  return 0\nend\nlocal expiration = redis.call('pttl', KEYS[1])\nif not expiration then\n  expiration = 0\nend\nif expiration < 0 then\n  return 0\nend\nlocal newttl = ARGV[2]\nif ARGV[3] == '0' then\n  newttl = ARGV[2] + expiration\nend\nredis.call('pexpire', KEYS[1], newttl)\nreturn 1",
	}},
	{name: "0 is done, and a signal wakes the next", lines: `args: {lock: [owner, lease-s], renew: [owner, lease-s]}; keys: ["{key}", "{key}:2"]; replies: {lock: {entered: 0, refused: 1}, unlock: {released: 0, refused: 1}, renew: {renewed: 0, refused: 1}}`, scripts: map[string]string{
		"lock":   "if redis.call('set', KEYS[1], ARGV[1], 'nx', 'ex', ARGV[2]) then return 0 end\nreturn 1",
		"unlock": "if redis.call('get', KEYS[1]) ~= ARGV[1] then\n  return 1\nelse\n  redis.call('del', KEYS[2])\n  redis.call('lpush', KEYS[2], 1)\n  redis.call('pexpire', KEYS[2], ARGV[2])\n  redis.call('del', KEYS[1])\n  return 0\nend",
		"renew":  "if redis.call('get', KEYS[1]) ~= ARGV[1] then\n  return 1\nelseif redis.call('ttl', KEYS[1]) < 0 then\n  return 2\nelse\n  redis.call('expire', KEYS[1], ARGV[2])\n  return 0\nend",
	}},
	{name: "pcall，出错就返回", lines: `args: {lock: [owner, lease-s]}; replies: {lock: {entered: "OK", refused: nil}}`, scripts: map[string]string{
		"lock":   "-- 加锁\nlocal ok = redis.pcall('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2])\nif type(ok) == 'table' and ok.err then\n  return ok\nend\nif ok then\n  return 'OK'\nend\nreturn nil",
		"unlock": "local v = redis.pcall('GET', KEYS[1])\nif type(v) == 'table' and v.err then\n  return 0\nend\nif v == ARGV[1] then\n  return redis.pcall('DEL', KEYS[1])\nend\nreturn 0",
	}},
	{name: "a function of its own", depth: 2, lines: `args: {lock: [owner, lease-ms]}; replies: {lock: {refused: -1}, unlock: {released: 0, entered: 1, refused: -1}}`, scripts: map[string]string{
		"lock":   "local function mine(key, id)\n  local by = redis.call('HGET', key, 'owner')\n  return not by or by == id\nend\nif not mine(KEYS[1], ARGV[1]) then\n  return -1\nend\nredis.call('HSET', KEYS[1], 'owner', ARGV[1])\nlocal n = redis.call('HINCRBY', KEYS[1], 'count', 1)\nredis.call('PEXPIRE', KEYS[1], ARGV[2])\nreturn n",
		"unlock": "local function mine(key, id)\n  return redis.call('HGET', key, 'owner') == id\nend\nif not mine(KEYS[1], ARGV[1]) then\n  return -1\nend\nlocal n = redis.call('HINCRBY', KEYS[1], 'count', -1)\nif n <= 0 then\n  redis.call('DEL', KEYS[1])\nend\nreturn n",
	}},
	{name: "锁的名字在脚本里拼", lines: `key: "EXAMPLE_LOCK:lock"; args: {lock: [owner, lease-ms]}; keys: ["EXAMPLE_LOCK"]`, scripts: map[string]string{
		"lock":   "local lockKey = KEYS[1] .. ':lock'\nif redis.call('setnx', lockKey, ARGV[1]) == 1 then\n  redis.call('pexpire', lockKey, ARGV[2])\n  return 1\nend\nreturn 0",
		"unlock": "local lockKey = KEYS[1] .. ':lock'\nif redis.call('get', lockKey) == ARGV[1] then\n  redis.call('del', lockKey)\n  return 1\nend\nreturn 0",
	}},
	{name: "a number for each hold", lines: `args: {lock: [owner, lease-s]}; keys: ["{key}", "{key}:2"]; replies: {lock: {refused: 0}}`, scripts: map[string]string{
		"lock":   "if redis.call('set', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) then\n  return redis.call('incr', KEYS[2])\nend\nreturn 0",
		"unlock": compares,
	}},
	{name: "the count goes below zero", fault: "pause", broken: []string{"count-mismatch", "mutual-exclusion", "shut-out"}, lines: `args: {lock: [owner, lease-s]}`, scripts: map[string]string{
		"lock":   "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n  redis.call('hincrby', KEYS[1], ARGV[1], 1)\n  redis.call('expire', KEYS[1], ARGV[2])\n  return 1\nend\nreturn 0",
		"unlock": "local n = redis.call('hincrby', KEYS[1], ARGV[1], -1)\nif n == 0 then\n  redis.call('del', KEYS[1])\nend\nreturn 1",
	}},
	{name: "续期不看是谁的锁", fault: "delay", broken: []string{"foreign-renewal"}, lines: `args: {lock: [owner, lease-ms], renew: [lease-s]}`, scripts: map[string]string{
		"lock":   setsNX,
		"unlock": compares,
		"renew":  "-- 看门狗\nif redis.call('exists', KEYS[1]) == 1 then\n  redis.call('expire', KEYS[1], ARGV[1])\n  return 1\nend\nreturn 0",
	}},
	{name: "a look, and a DEL whoever's it is", fault: "pause", broken: []string{"foreign-release", "mutual-exclusion"}, lines: `args: {lock: [owner, lease-s]}`, scripts: map[string]string{
		"lock":   "local v = redis.call('get', KEYS[1])\nif v then\n  return 0\nend\nredis.call('set', KEYS[1], ARGV[1], 'EX', ARGV[2])\nreturn 1",
		"unlock": "if redis.call('get', KEYS[1]) then\n  return redis.call('del', KEYS[1])\nend\nreturn 0",
	}},
	{name: "SETNX 没有过期时间", fault: "crash", broken: []string{"shut-out"}, noted: "The key never expires, where the file says 2s: the script gives it no time.", scripts: map[string]string{
		"lock":   "return redis.call('setnx', KEYS[1], ARGV[1])",
		"unlock": compares,
	}},
	{name: "SET is compared with a text", lines: `args: {lock: [owner, lease-ms]}`, asked: "returns 0 to who takes the key, as to who is refused", scripts: map[string]string{
		"lock":   "local r = redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])\nif r == 'OK' then\n  return 1\nend\nreturn 0",
		"unlock": compares,
	}},
	{name: "unpacked", lines: `args: {lock: [owner, lease-ms]}`, scripts: map[string]string{
		"lock":   "local key = KEYS[1]\nlocal id, ttl = unpack(ARGV)\nif redis.call('set', key, id, 'NX', 'PX', ttl) then return 1 end return 0",
		"unlock": compares,
	}},
	{name: "the client's clock", asked: "Say what ARGV[1] to ARGV[2] are", scripts: map[string]string{
		"lock":   "local now = tonumber(ARGV[1])\nlocal expires = redis.call('get', KEYS[1])\nif expires and tonumber(expires) > now then return 0 end\nredis.call('set', KEYS[1], now + ARGV[2])\nreturn 1",
		"unlock": "return redis.call('del', KEYS[1])",
	}},
	{name: "a lease that the script has", lines: `replies: {lock: {entered: "OK", refused: nil}}`, noted: "The key lives 30s, where the file says 2s: line 1 says 30.", scripts: map[string]string{
		"lock":   "return redis.call('set', KEYS[1], ARGV[1], 'NX', 'EX', 30)",
		"unlock": compares,
	}},
}

// How a lock from an article is called is found by trying, and then it is judged: what is right
// breaks nothing without a fault, and what is wrong breaks its rules with one.
func TestALockFromAnArticleIsJudged(t *testing.T) {
	ctx := ownlocktest.Boxed(t)
	for _, a := range pastes {
		t.Run(a.name, func(t *testing.T) {
			sc := article{depth: max(a.depth, 1), scripts: a.scripts}.scenario(t, "{}")
			for i := range sc.Threads { // longer than the watchdog sleeps
				sc.Threads[i].Work = scenario.Range{Min: time.Second, Max: time.Second}
			}
			fit, err := ownlock.Try(ctx, sc)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(fit.Lines(), "; "); got != a.lines {
				t.Errorf("called as %s\nwant %s", got, a.lines)
			}
			if sc.Lock.Convention = fit.Convention(); fit.Key != "" {
				sc.Lock.Key = fit.Key
			}
			if a.asked != "" {
				if j := explored(t, ctx, sc).Judgement(nil); j.Verdict != verdict.Unjudged || !strings.Contains(j.Unjudged[0].Says.String(), a.asked) || !j.Unjudged[0].Helps.IsZero() {
					t.Errorf("%s, %v", j.Verdict, j.Unjudged)
				}
				return
			}
			space := explored(t, ctx, sc)
			if j := space.Judgement(nil); j.Verdict != verdict.Unbroken || !slices.ContainsFunc(space.Ends(), func(e explore.End) bool { return e.Results[0] == trace.Done && e.Results[1] == trace.Done }) {
				t.Errorf("%s, %v, %v", j.Verdict, j.Unjudged, space.Ends())
			}
			var noted []string
			for _, n := range space.Notes() {
				noted = append(noted, n.What.String())
			}
			if got := strings.Join(noted, "; "); got != a.noted {
				t.Errorf("noted is %q, want %q", got, a.noted)
			}
			if a.fault == "" {
				return
			}
			space, err = explore.Search(ctx, sc, explore.Bounds{MaxStates: 100_000, Delays: 1, Kinds: []string{a.fault}, MaxFaults: 1}, explore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var broken []string
			for _, r := range space.Rules() {
				if r.Schedules.Cmp(r.ByStandingStill) > 0 {
					broken = append(broken, r.Name)
				}
			}
			if slices.Sort(broken); !slices.Equal(broken, a.broken) {
				t.Errorf("with %s it breaks %v, want %v", a.fault, broken, a.broken)
			}
		})
	}
}
