package ownlock_test

import (
	"context"
	"testing"

	"relock/engine/explore"
	"relock/engine/outside/ownlock"
	"relock/engine/outside/ownlock/ownlocktest"
	"relock/engine/scenario"
	"relock/engine/verdict"
)

// How a lock from an article is called is found by trying: it is judged as if its file said
// it. Of one whose file says it nothing is asked.
func TestALockFromAnArticleIsTried(t *testing.T) {
	ctx := ownlocktest.Boxed(t)
	for _, a := range articles {
		t.Run(a.name, func(t *testing.T) {
			said, pasted := a.scenario(t, a.says), a.scenario(t, "{}")
			fit, err := ownlock.Try(ctx, said)
			if err != nil || !fit.IsZero() {
				t.Errorf("as its file says: %+v, %v", fit, err)
			}
			if fit, err = ownlock.Try(ctx, pasted); err != nil || fit.IsZero() {
				t.Fatalf("%+v, %v", fit, err)
			}
			if fit.Asks().IsZero() {
				t.Error("nothing is asked")
			}
			pasted.Lock.Convention = fit.Convention()
			if again, err := ownlock.Try(ctx, pasted); err != nil || !again.IsZero() {
				t.Errorf("once more: %+v, %v", again, err)
			}
			var counts [2][3]string
			for i, sc := range []*explore.Space{explored(t, ctx, said), explored(t, ctx, pasted)} {
				counts[i] = [3]string{sc.Schedules().String(), sc.Broken().String(), sc.ByStandingStill().String()}
			}
			if counts[0] != counts[1] {
				t.Errorf("%v schedules, broken, by standing still; as its file says %v", counts[1], counts[0])
			}
		})
	}
}

func explored(t *testing.T, ctx context.Context, sc *scenario.Scenario) *explore.Space {
	t.Helper()
	space, err := explore.Search(ctx, sc, explore.Bounds{MaxStates: 100_000}, explore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return space
}

// What is asked of a lock that is called otherwise than it works, and that it is not judged.
func TestWhatIsCalledOtherwiseIsAsked(t *testing.T) {
	const (
		takes   = "if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 1 end return 0"
		deletes = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
	)
	ctx := ownlocktest.Boxed(t)
	for name, c := range map[string]struct {
		lock, unlock, renew, says string
		want                      string
	}{
		"as it is printed": {takes, deletes, "", `{}`, "Arguments? The scripts do not work as they are called here. They do with this under lock: args: {lock: [owner, lease-ms]}."},
		"as it says":       {takes, deletes, "", `{"args": {"lock": ["token", "lease-ms"]}}`, ""},
		"the wrong place":  {takes, deletes, "", `{"args": {"lock": ["lease-ms", "owner"]}}`, "Arguments? The scripts do not work as they are called here. They do with this under lock: args: {lock: [owner, lease-ms]}."},
		"its own unit":     {takes, deletes, "return redis.call('EXPIRE', KEYS[1], ARGV[1])", `{"args": {"lock": ["owner", "lease-ms"], "renew": ["lease-ms"]}}`, ""},
		"nobody says a unit": {
			takes, deletes, "return redis.call('EXPIRE', KEYS[1], ARGV[2])", `{"args": {"lock": ["owner", "lease-ms"]}}`,
			"Arguments? The scripts do not work as they are called here. They do with this under lock: args: {lock: [owner, lease-ms], renew: [owner, lease-s]}.",
		},
		"never found": {
			takes, "if redis.call('GET', KEYS[1]) == ARGV[2] then return redis.call('DEL', KEYS[1]) end return 0", "", `{"args": {"lock": ["owner", "lease-ms"]}}`,
			"Arguments? The scripts do not work as they are called here. They do with this under lock: args: {lock: [owner, lease-ms], unlock: [lease-ms, owner]}.",
		},
		"the owner is a key": {
			"if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], KEYS[2]) == 1 then redis.call('HINCRBY', KEYS[1], KEYS[2], 1) redis.call('PEXPIRE', KEYS[1], ARGV[1]) return 1 end return 0",
			"if redis.call('HEXISTS', KEYS[1], KEYS[2]) == 0 then return -1 end if redis.call('HINCRBY', KEYS[1], KEYS[2], -1) > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) return 1 end redis.call('DEL', KEYS[1]) return 0", "", `{}`,
			"Arguments? The scripts do not work as they are called here. They do with this under lock: args: {lock: [lease-ms], unlock: [lease-ms]}; keys: [\"{key}\", \"{owner}\"]; replies: {unlock: {released: 0, entered: 1, refused: -1}}.",
		},
		"a latch of each": {
			"if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2]) redis.call('DEL', KEYS[2]) return 1",
			"if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end redis.call('RPUSH', KEYS[2], 1) redis.call('PEXPIRE', KEYS[2], 1000) return redis.call('DEL', KEYS[1])", "",
			`{"args": {"lock": ["owner", "lease-ms"]}, "keys": ["{key}", "{key}:{owner}"]}`, "",
		},
		"a latch of each request": {
			"if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then redis.call('hincrby', KEYS[1], ARGV[2], 1) redis.call('pexpire', KEYS[1], ARGV[1]) return nil end return redis.call('pttl', KEYS[1])",
			"local val = redis.call('get', KEYS[3]) if val ~= false then return tonumber(val) end if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end local counter = redis.call('hincrby', KEYS[1], ARGV[3], -1) if counter > 0 then redis.call('pexpire', KEYS[1], ARGV[2]) redis.call('set', KEYS[3], 0, 'px', ARGV[5]) return 0 else redis.call('del', KEYS[1]) redis.call(ARGV[4], KEYS[2], ARGV[1]) redis.call('set', KEYS[3], 1, 'px', ARGV[5]) return 1 end", "", `{}`,
			"Arguments? The scripts do not work as they are called here. They do with this under lock: args: {lock: [lease-ms, owner], unlock: [\"1\", lease-ms, owner, \"PUBLISH\", \"1\"]}; keys: [\"{key}\", \"{key}:2\", \"{key}:{request}\"]; replies: {lock: {entered: nil, refused: pttl}, unlock: {released: 1, entered: 0, refused: nil}}.",
		},
		"what no arguments mend": {"redis.call('SET', KEYS[1], ARGV[1]) return 1", "return redis.call('DEL', KEYS[1])", "", `{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a := article{depth: 1, scripts: map[string]string{"lock": c.lock, "unlock": c.unlock}}
			if c.renew != "" {
				a.scripts["renew"] = c.renew
			}
			sc := a.scenario(t, c.says)
			fit, err := ownlock.Try(ctx, sc)
			if err != nil {
				t.Fatal(err)
			}
			if got := fit.Asks().String(); got != c.want {
				t.Errorf("%q\nwant %q", got, c.want)
			}
			space := explored(t, ctx, sc)
			j := space.Judgement(nil)
			if asked := len(j.Unjudged) > 0 && j.Unjudged[0].Reason == verdict.Arguments; asked != (c.want != "") || asked && (j.Verdict != verdict.Unjudged || len(space.Rules()) > 0) {
				t.Errorf("%s, %v, %v", j.Verdict, j.Unjudged, space.Rules())
			}
			if c.want == "" || name == "nobody says a unit" {
				return
			}
			sc.Lock.Convention = fit.Convention()
			if j := explored(t, ctx, sc).Judgement(nil); j.Verdict != verdict.Unbroken {
				t.Errorf("called as it works: %s, %v", j.Verdict, j.Unjudged)
			}
		})
	}
}

// A search of a lock's own scripts that is stopped at once has seen nothing, and that is no error.
func TestStoppedWhileItIsTried(t *testing.T) {
	ctx, stop := context.WithCancel(ownlocktest.Boxed(t))
	stop()
	if space := explored(t, ctx, articles[0].scenario(t, "{}")); space.Ending() != explore.Stopped || space.Schedules().Sign() != 0 {
		t.Errorf("%s, %v schedules", space.Ending(), space.Schedules())
	}
}
