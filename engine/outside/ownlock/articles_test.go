package ownlock_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"relock/engine/explore"
	"relock/engine/lock/exhibit"
	"relock/engine/outside/ownlock"
	"relock/engine/outside/ownlock/ownlocktest"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// article is a lock as people print it, and what a file says of it.
type article struct {
	name    string
	says    string // JSON of lock:, beside its scripts
	depth   int
	scripts map[string]string
}

// articles are the shapes in which locks are printed: what differs is the order of the
// arguments, the unit of the lease, and what is returned.
var articles = []article{
	{"a string, compare and delete", `{"args": {"lock": ["token", "lease-ms"], "unlock": ["token"]}}`, 1, map[string]string{
		"lock":   "if redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then\n  return 1\nelse\n  return 0\nend",
		"unlock": "if redis.call('get', KEYS[1]) == ARGV[1] then\n  return redis.call('del', KEYS[1])\nelse\n  return 0\nend",
	}},
	{"the reply of SET", `{"args": {"lock": ["token", "lease-s"], "unlock": ["token"]}, "replies": {"lock": {"entered": "OK", "refused": "nil"}}}`, 1, map[string]string{
		"lock":   "return redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2], 'NX')",
		"unlock": "if redis.call(\"GET\", KEYS[1]) == ARGV[1] then return redis.call(\"DEL\", KEYS[1]) end return 0",
	}},
	{"SETNX and EXPIRE", `{"args": {"lock": ["token", "lease-s"], "unlock": ["token"], "renew": ["token", "lease-s"]}}`, 1, map[string]string{
		"lock":   "local got = redis.call('SETNX', KEYS[1], ARGV[1])\nif got == 1 then redis.call('EXPIRE', KEYS[1], tonumber(ARGV[2])) end\nreturn got",
		"unlock": "local holder = redis.call('GET', KEYS[1])\nif holder ~= ARGV[1] then return 0 end\nredis.call('DEL', KEYS[1])\nreturn 1",
		"renew":  "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('EXPIRE', KEYS[1], ARGV[2]) end\nreturn 0",
	}},
	{"a hash with a count, in seconds", `{"args": {"lock": ["owner", "lease-s"], "unlock": ["owner"]}}`, 2, map[string]string{
		"lock":   "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[1]) == 1 then\n  redis.call('hincrby', KEYS[1], ARGV[1], 1)\n  redis.call('expire', KEYS[1], ARGV[2])\n  return 1\nend\nreturn 0",
		"unlock": "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end\nif redis.call('hincrby', KEYS[1], ARGV[1], -1) == 0 then redis.call('del', KEYS[1]) end\nreturn 1",
	}},
	{"可重入锁，nil 表示不是自己的锁", `{"args": {"lock": ["lease-ms", "owner"], "unlock": ["owner"]}, "replies": {"unlock": {"released": 1, "entered": 0, "refused": "nil"}}}`, 2, map[string]string{
		"lock":   "-- 锁不存在，或者就是当前线程持有\nlocal ttl, me = ARGV[1], ARGV[2]\nif redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], me) == 0 then\n  return 0; -- 被其他线程占用\nend;\nredis.call('HINCRBY', KEYS[1], me, 1);\nredis.call('PEXPIRE', KEYS[1], ttl);\nreturn 1;",
		"unlock": "-- 不是自己的锁\nif (redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0) then\n  return nil;\nend;\n-- 重入次数减一\nlocal left = redis.call('HINCRBY', KEYS[1], ARGV[1], -1);\nif (left > 0) then return 0; end;\nredis.call('DEL', KEYS[1]);\nreturn 1;",
	}},
	{"释放失败返回文字", `{"args": {"lock": ["owner", "lease-s"], "unlock": ["owner"]}, "replies": {"lock": {"entered": "success", "refused": "fail"}, "unlock": {"released": "success", "refused": "fail"}}}`, 1, map[string]string{
		"lock":   "-- 加锁并设置过期时间（秒）\nif redis.call('setnx', KEYS[1], ARGV[1]) == 1 then\n  redis.call('expire', KEYS[1], ARGV[2])\n  return 'success'\nend\nreturn 'fail'",
		"unlock": "-- 只删除自己的锁\nif redis.call('get', KEYS[1]) == ARGV[1] then\n  redis.call('del', KEYS[1])\n  return 'success'\nend\nreturn 'fail'",
	}},
	{"nil is yes, a number how long not", `{"args": {"lock": ["lease-ms", "owner"], "unlock": ["0", "lease-ms", "owner"]}, "keys": ["{key}", "channel:{key}"], "replies": {"lock": {"entered": "nil", "refused": "pttl"}, "unlock": {"released": 1, "entered": 0}}}`, 2, map[string]string{
		"lock":   "if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; return redis.call('pttl', KEYS[1]);",
		"unlock": "if (redis.call('hexists', KEYS[1], ARGV[3]) == 0) then return nil; end;\nlocal counter = redis.call('hincrby', KEYS[1], ARGV[3], -1);\nif (counter > 0) then redis.call('pexpire', KEYS[1], ARGV[2]); return 0;\nelse redis.call('del', KEYS[1]); redis.call('publish', KEYS[2], ARGV[1]); return 1; end; return nil;",
	}},
	{"the owner here, the count there", `{"args": {"lock": ["owner", "lease-ms"], "unlock": ["owner"]}, "keys": ["{key}", "{key}:count"]}`, 2, map[string]string{
		"lock":   "local holder = redis.call('GET', KEYS[1])\nif holder and holder ~= ARGV[1] then return 0 end\nredis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])\nredis.call('INCR', KEYS[2])\nredis.call('PEXPIRE', KEYS[2], ARGV[2])\nreturn 1",
		"unlock": "if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end\nif redis.call('DECR', KEYS[2]) < 1 then redis.call('DEL', KEYS[1], KEYS[2]) end\nreturn 1",
	}},
	{"true and false", `{"args": {"lock": ["token", "lease-ms"], "unlock": ["token"]}, "replies": {"lock": {"entered": 1}, "unlock": {"released": 1}}}`, 1, map[string]string{
		"lock":   "if redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2], 'NX') then return true end\nreturn false",
		"unlock": "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) return true end\nreturn false",
	}},
	{"a deadline in the value", `{"args": {"lock": ["owner", "deadline-ms", "lease-ms"], "unlock": ["owner"]}}`, 1, map[string]string{
		"lock":   "local now = redis.call('TIME')\nlocal ms = now[1] * 1000 + math.floor(now[2] / 1000)\nlocal held = redis.call('HGET', KEYS[1], 'until')\nif held and tonumber(held) > ms then return 0 end\nredis.call('DEL', KEYS[1])\nredis.call('HSET', KEYS[1], 'until', ARGV[2], 'by', ARGV[1])\nredis.call('PEXPIRE', KEYS[1], ARGV[3])\nreturn 1",
		"unlock": "if redis.call('HGET', KEYS[1], 'by') == ARGV[1] then return redis.call('DEL', KEYS[1]) end\nreturn 0",
	}},
	{"the count is returned", `{"args": {"lock": ["owner", "1", "lease-ms"], "unlock": ["owner", "-1"]}, "replies": {"lock": {"refused": -1}, "unlock": {"released": 0, "refused": -1}}}`, 2, map[string]string{
		"lock":   "if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return -1 end\nlocal n = redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])\nredis.call('PEXPIRE', KEYS[1], ARGV[3])\nreturn n",
		"unlock": "if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return -1 end\nlocal n = redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])\nif n <= 0 then redis.call('DEL', KEYS[1]) return 0 end\nreturn n",
	}},
	{"the value is JSON", `{"args": {"lock": ["token", "lease-s"], "unlock": ["token"]}}`, 1, map[string]string{
		"lock":   "local v = cjson.encode({id = ARGV[1], ttl = tonumber(ARGV[2])})\nif redis.call('SET', KEYS[1], v, 'NX', 'PX', ARGV[2] * 1000) then return 1 end\nreturn 0",
		"unlock": "local v = redis.call('GET', KEYS[1])\nif v and cjson.decode(v).id == ARGV[1] then return redis.call('DEL', KEYS[1]) end\nreturn 0",
	}},
}

// scenario is two threads with the lock; says is what its file says of it.
func (a article) scenario(t *testing.T, says string) *scenario.Scenario {
	t.Helper()
	lock := map[string]any{}
	if err := json.Unmarshal([]byte(says), &lock); err != nil {
		t.Fatal(err)
	}
	lock["protocol"], lock["lease"], lock["watchdog"], lock["scripts"] = "own", "2s", "600ms", a.scripts
	lock["retry"] = map[string]any{"times": 10, "interval": "500ms"}
	text, err := json.Marshal(map[string]any{"lock": lock, "threads": []any{
		map[string]any{"name": "A", "depth": a.depth, "work": "500ms"}, map[string]any{"name": "B", "start": "50ms", "depth": a.depth, "work": "500ms"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	sc, err := scenario.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// Each is pasted as it is printed: both threads do their work, nothing is broken, and
// nothing is to be noted.
func TestALockFromAnArticleRunsAsItIsPrinted(t *testing.T) {
	ctx := ownlocktest.Boxed(t)
	for _, a := range articles {
		t.Run(a.name, func(t *testing.T) {
			sc := a.scenario(t, a.says)
			r, err := run.New(sc, run.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Execute(ctx); err != nil {
				t.Fatal(err)
			}
			events, _ := r.Log().Since(0)
			seen, done := ownlock.NewSeen(sc, ownlock.Fit{}), 0
			for _, e := range events {
				seen.See(e)
				switch b := e.Body.(type) {
				case trace.Violation:
					t.Errorf("%s: %s", b.Rule, b.Detail)
				case trace.End:
					if b.Result == trace.Done && e.Thread != "" {
						done++
					}
				}
			}
			if done != 2 {
				t.Errorf("%d threads are done", done)
			}
			for _, n := range seen.Notes() {
				t.Errorf("%s: %s", n.Call, n.What)
			}
			space, err := explore.Search(ctx, sc, explore.Bounds{MaxStates: 100_000}, explore.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if space.Ending() != explore.Exhausted || space.Broken().Cmp(space.ByStandingStill()) != 0 || len(space.Notes()) > 0 {
				t.Errorf("%v, %v of %v broken, %v", space.Ending(), space.Broken(), space.Schedules(), space.Notes())
			}
		})
	}
	if len(articles) != 12 {
		t.Errorf("%d articles", len(articles))
	}
}

// If a script is pasted without its arguments, Relock says with which the key would live as
// long as the file says.
func TestArgumentsThatMakeTheLease(t *testing.T) {
	for name, c := range map[string]struct {
		lock, unlock, want string
	}{
		"the level as seconds": {
			"if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', ARGV[2]) then return 1 end return 0", "return redis.call('DEL', KEYS[1])",
			"The key lives 1s, where the file says 30s: args: {lock: [owner, lease-s]} would make it so.",
		},
		"by a name": {
			"local key, ttl = KEYS[1], tonumber(ARGV[2])\nif redis.call('SETNX', key, ARGV[1]) == 0 then return 0 end\nredis.call('expire', key, ttl)\nreturn 1", "return redis.call('DEL', KEYS[1])",
			"The key lives 1s, where the file says 30s: args: {lock: [owner, lease-s]} would make it so.",
		},
		"in milliseconds": {
			"if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end redis.call('PSETEX', KEYS[1], ARGV[2], ARGV[1]) return 1", "return redis.call('DEL', KEYS[1])",
			"The key lives 1ms, where the file says 30s: args: {lock: [owner, lease-ms]} would make it so.",
		},
		"a thousand times": {
			"if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2] * 1000) then return 1 end return 0", "return redis.call('DEL', KEYS[1])",
			"The key lives 1s, where the file says 30s: args: {lock: [owner, lease-s]} would make it so.",
		},
		"a number of its own": {
			"if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'EX', 10) then return 1 end return 0", "return redis.call('DEL', KEYS[1])",
			"The key lives 10s, where the file says 30s: line 1 says 10.",
		},
		"for ever": {
			"return redis.call('SETNX', KEYS[1], ARGV[1])", "return redis.call('DEL', KEYS[1])",
			"The key never expires, where the file says 30s: the script gives it no time.",
		},
		"what the file says": {
			"if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3] + 1000) then return 1 end return 0", "return redis.call('DEL', KEYS[1])",
			"The key lives 31s, where the file says 30s: line 1 says 31000.",
		},
		"as it should": {
			"if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return 1 end return 0", "return redis.call('DEL', KEYS[1])", "",
		},
		"another key": {
			"if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return redis.call('INCR', KEYS[1] .. ':n') > 0 end return 0", "return redis.call('DEL', KEYS[1])",
			"Line 1 asks for a key that is made of its KEYS and is none of them. A Redis alone runs that, a cluster may refuse it: name the key in keys:, if it has no owner in it.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(map[string]any{
				"lock":    map[string]any{"protocol": "own", "scripts": map[string]string{"lock": c.lock, "unlock": c.unlock}},
				"threads": []any{map[string]any{"name": "A", "work": "50ms"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			seen := seenIn(t, string(text))
			var got []string
			for _, n := range seen.Notes() {
				got = append(got, n.What.String())
			}
			if strings.Join(got, "\n") != c.want {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

func seenIn(t *testing.T, text string) *ownlock.Seen {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	fit, err := ownlock.Try(ownlocktest.Boxed(t), sc)
	if err != nil {
		t.Fatal(err)
	}
	seen := ownlock.NewSeen(sc, fit)
	for _, e := range played(t, text) {
		seen.See(e)
	}
	return seen
}

// A script whose file says what it returns returns nothing else, and one that is given
// no number for a time is asked about.
func TestWhatAFileSaysIsHeld(t *testing.T) {
	for name, c := range map[string]struct{ says, unlock, want string }{
		"a reply":        {`{"replies": {"unlock": {"released": 1, "entered": 0, "refused": "nil"}}}`, "return 7", "it returns 7, and its file says replies: released: 1, entered: 0, refused: nil"},
		"a list":         {`{"replies": {"unlock": {"released": 1}}}`, "return {1, 0}", "it returns {1, 0}, and its file says replies: released: 1"},
		"an argument":    {`{"args": {"unlock": ["owner"]}}`, "return redis.call('HDEL', KEYS[1], ARGV[2])", "its ARGV are owner, or what args: says"},
		"the owner":      {`{}`, "redis.call('PEXPIRE', KEYS[1], ARGV[1]) return redis.call('HDEL', KEYS[1], ARGV[2])", "as a time; its ARGV are owner, level, or what args: says"},
		"no usual reply": {`{}`, "return 'OK'", "or what replies: says"},
	} {
		t.Run(name, func(t *testing.T) {
			a := article{scripts: map[string]string{"lock": "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[3]) then return 1 end return 0", "unlock": c.unlock}, depth: 1}
			_, err := explore.Search(ownlocktest.Boxed(t), a.scenario(t, c.says), explore.Bounds{MaxStates: 1000}, explore.Options{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %q", err, c.want)
			}
		})
	}
}

// A script may be like another lock's, with its own arguments; its others stay.
func TestArgumentsOfALockLikeAnother(t *testing.T) {
	a := article{scripts: map[string]string{"unlock": "if redis.call('GET', KEYS[1]) == ARGV[2] then return redis.call('DEL', KEYS[1]) end return 0"}, depth: 1}
	sc := a.scenario(t, `{"like": "mutex", "args": {"unlock": ["level", "owner"]}}`)
	space, err := explore.Search(ownlocktest.Boxed(t), sc, explore.Bounds{MaxStates: 10_000}, explore.Options{})
	if err != nil || space.Broken().Sign() != 0 {
		t.Errorf("%v, %v", space, err)
	}
	if how := sc.Lock.Implementation(); how.Base != exhibit.Mutex || !slices.Contains(how.Calls(), "renew") {
		t.Errorf("%+v", how)
	}
}
