package course_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/course"
	"relock/engine/outside/box"
	"relock/engine/outside/ownlock"
	"relock/engine/store"
	"relock/engine/store/storetest"
)

// judge judges a script as a learner's, in its own box.
func judge(t *testing.T, i *course.Item, script string) *course.Judged {
	t.Helper()
	b, err := box.New(box.Options{Children: 1, Unwalled: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.Close() }()
	j, err := task[*course.Writing](t, i).Judge(ownlock.WithBox(t.Context(), b), script)
	if err != nil {
		t.Fatalf("%q: %v", script, err)
	}
	return j
}

// wrote has what an item begins with judged, the bundled lock's script, the solution, and
// that without each of its commands: par is how many it needs.
func wrote(t *testing.T, i *course.Item) {
	t.Helper()
	made := task[*course.Writing](t, i)
	if j := judge(t, i, made.Start); j.Solved || j.Refused != nil || j.Run == nil || i.Rule() != "" && (j.Rule != i.Rule() || j.Found.None()) {
		t.Errorf("what it begins with: %+v", j)
	}
	if j := judge(t, i, made.Bundled); !j.Solved || j.Commands < made.Par {
		t.Errorf("the bundled lock's script: %s", j)
	}
	if j := judge(t, i, made.Solution); !j.Solved || j.Commands != made.Par || made.Par == 0 {
		t.Errorf("the solution, with %d commands: %s", made.Par, j)
	}
	for n := 1; n <= made.Par; n++ {
		if j := judge(t, i, without(n)+made.Solution); j.Solved {
			t.Errorf("it works without command %d of %d", n, made.Par)
		}
	}
	for _, nothing := range []string{"return {0, 0}", "return {1, tonumber(ARGV[2])}", "return {-1, 0}", "return 1"} {
		if j := judge(t, i, nothing); j.Solved {
			t.Errorf("%s: solved", nothing)
		}
	}
}

// without is the beginning of a script that leaves out its nth command.
func without(n int) string {
	return strings.ReplaceAll(`local sent, all = 0, redis
local redis = {}
function redis.call(...)
  sent = sent + 1
  if sent == NTH then return 0 end
  return all.call(...)
end
redis.pcall = redis.call
`, "NTH", string(rune('0'+n)))
}

// A script is judged by what it does, and what is wrong with it is told.
func TestAScriptIsJudged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, item, script, want string }{
		{"as bundled", "lock/mend-the-unlock", "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) return 1 end return 0", "solved 2"},
		{"with a command too many", "lock/mend-the-unlock", "redis.call('PTTL', KEYS[1])\nif redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) return 1 end return 0", "solved 3"},
		{"two commands, and the wrong way round", "lock/mend-the-unlock", "if redis.call('DEL', KEYS[1]) == 1 then return 1 end return 0", "rule foreign-release"},
		{"nothing is deleted", "lock/mend-the-unlock", "if redis.call('GET', KEYS[1]) == ARGV[1] then return 1 end return 0", "rule shut-out"},
		{"no token", "tokens/write-a-token", "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end redis.call('HSET', KEYS[1], ARGV[1], 1, '#' .. ARGV[4], ARGV[5]) redis.call('PEXPIRE', KEYS[1], ARGV[3]) return 1", "no token A"},
		{"no Lua", "lock/mend-the-unlock", "if redis.call(", "refused 1"},
		{"no end", "lock/mend-the-unlock", "\nwhile true do end", "refused"},
		{"nothing", "lock/mend-the-unlock", "  ", "refused 0"},
		{"nonsense", "lock/mend-the-unlock", "return 'deleted'", "refused"},
		{"another key", "lock/mend-the-unlock", "redis.call('DEL', 'LOCK2')\nreturn 1", "refused 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			i, ok := whole(t).Item(c.item)
			if !ok {
				t.Fatal("no such item")
			}
			if got := outcome(judge(t, i, c.script)); !strings.HasPrefix(got, c.want) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func outcome(j *course.Judged) string {
	digit := func(n int) string { return string(rune('0' + n)) }
	switch {
	case j.Solved:
		return "solved " + digit(j.Commands)
	case j.Refused != nil:
		return "refused " + digit(j.Line)
	case j.Rule != "":
		return "rule " + j.Rule
	case j.Tokenless != "":
		return "no token " + j.Tokenless
	case j.Endless:
		return "endless"
	default:
		return "thread " + j.Thread
	}
}

// The course's scripts do the same in a box and on a real Redis, in every state of the
// lock.
func TestTheCoursesScriptsOnARealRedis(t *testing.T) {
	t.Parallel()
	client := storetest.Client(storetest.Start(t).Addr)
	t.Cleanup(func() { _ = client.Close() })
	b, err := box.New(box.Options{Children: 1, Unwalled: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	keys := []string{"{l}", "{l}:over", "{l}:token"}
	found := []map[string]string{nil, {"A": "1", "#x": "1"}, {"A": "2", "#x": "1"}, {"B": "1", "#y": "1"}}
	for _, i := range whole(t).Items() {
		if i.Kind != course.Write {
			continue
		}
		made := task[*course.Writing](t, i)
		for _, script := range []string{made.Start, made.Solution} {
			for _, level := range []string{"1", "2"} {
				for _, hash := range found {
					if hash = maps.Clone(hash); i.Scenario.Lock.Like == "reentrant" { // it numbers no calls
						maps.DeleteFunc(hash, func(field, _ string) bool { return field[0] == '#' })
					}
					args := []string{"A", level, "5000", "x", "2"}
					if made.Call == "unlock" {
						args = []string{"A", level, "x", "2", "0"}
					}
					if err := client.FlushAll(t.Context()).Err(); err != nil {
						t.Fatal(err)
					}
					var items []store.Item
					if hash != nil {
						items = []store.Item{{Name: keys[0], Type: "hash", Hash: hash}}
						if err := client.HSet(t.Context(), keys[0], hash).Err(); err != nil {
							t.Fatal(err)
						}
						if owner := slices.Max(slices.Collect(maps.Keys(hash))); i.Scenario.Lock.Like == "mutex" {
							items = []store.Item{{Name: keys[0], Type: "string", Text: owner}}
							if err := client.Set(t.Context(), keys[0], owner, 0).Err(); err != nil {
								t.Fatal(err)
							}
						}
					}
					real, realErr := client.Eval(t.Context(), script, keys, args[0], args[1], args[2], args[3], args[4]).Result()
					boxed, err := b.Ask(t.Context(), t, box.Question{Script: script, Keys: keys, Args: args, Now: time.Now(), Items: items})
					if err != nil {
						t.Fatal(err)
					}
					what := fmt.Sprintf("%s, %q found %v", i.Path(), args, hash)
					if (realErr != nil) != (boxed.Err != "") || realErr == nil && fmt.Sprint(real) != fmt.Sprint(boxed.Reply) {
						t.Errorf("%s: Redis says %v, %v; the box %v, %s", what, real, realErr, boxed.Reply, boxed.Err)
					}
					left := "none"
					for _, item := range boxed.Items {
						if item.Name == keys[0] {
							left = item.Type + item.Text + fmt.Sprint(item.Hash)
						}
					}
					if kept := keptIn(t, client, keys[0]); kept != left {
						t.Errorf("%s: Redis has %s; the box %s", what, kept, left)
					}
				}
			}
		}
	}
}

// keptIn is what a Redis has under a key.
func keptIn(t *testing.T, client *redis.Client, key string) string {
	t.Helper()
	kind, err := client.Type(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	switch kind {
	case "string":
		return kind + client.Get(t.Context(), key).Val() + fmt.Sprint(map[string]string(nil))
	case "hash":
		return kind + fmt.Sprint(client.HGetAll(t.Context(), key).Val())
	default:
		return kind
	}
}
