package lab_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"relock/engine/outside/infer"
	"relock/engine/outside/lab"
)

// TestMain plays a worker where it is told to: the tests start themselves.
func TestMain(m *testing.M) {
	if kind := os.Getenv("LAB_TEST_WORKER"); kind == "desk" {
		desk()
		return
	} else if kind != "" {
		redis.SetLogger(silent{})
		act(kind)
		return
	}
	os.Exit(m.Run())
}

// desk serves a lab on standard input and output.
func desk() {
	s, err := lab.Steer(context.Background(), lab.Options{Threads: 2, MaxOrders: 1, Clock: lab.ClockGate, Seed: 1, Timeout: time.Minute})
	if err == nil {
		err = lab.Serve(context.Background(), s, "test", os.Stdin, os.Stdout)
		s.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

const release = `if redis.call("GET", KEYS[1]) == ARGV[1] then
  return redis.call("DEL", KEYS[1])
end
return 0`

// takes tries to take a lock that no command makes for sure, on the key k, and returns
// what gives it back, or nil.
func takes(ctx context.Context, c *redis.Client, kind, me string) func() {
	free := func() { c.Del(ctx, "k") }
	switch kind {
	case "a marker beside":
		c.SetNX(ctx, "seen:"+me, 1, time.Second)
		defer c.Del(ctx, "seen:"+me)
		fallthrough
	case "looks, then sets":
		if c.Get(ctx, "k").Err() == nil {
			return nil
		}
		c.Set(ctx, "k", me, time.Second)
	case "looks at a hash":
		if len(c.HGetAll(ctx, "k").Val()) > 0 {
			return nil
		}
		c.HSet(ctx, "k", "owner", me)
	case "swaps":
		if c.Do(ctx, "GETSET", "k", "held").Err() == nil {
			return nil
		}
	case "swaps a deadline": // over that of who is in, too
		if was, err := c.Do(ctx, "GETSET", "k", fmt.Sprint(time.Now().Add(time.Minute+time.Duration(me[0])*time.Second).UnixMilli())).Int64(); err == nil && was > time.Now().UnixMilli() {
			return nil
		}
	case "takes over": // each deadline is over at once
		over := fmt.Sprint(time.Now().Add(-time.Minute).UnixMilli())
		if !c.SetNX(ctx, "k", over, 0).Val() {
			c.Do(ctx, "GETSET", "k", over+".5")
		}
	case "counts":
		if c.Incr(ctx, "k").Val() != 1 {
			return nil
		}
	case "queues in a list":
		if c.LPush(ctx, "k", me).Val() == 1 {
			return free
		}
		c.LRem(ctx, "k", 0, me)
		return nil
	case "takes a token":
		if me == "A" && c.LPush(ctx, "k", "token").Err() != nil || c.Do(ctx, "RPOPLPUSH", "k", "busy").Err() != nil {
			return nil
		}
		return func() { c.Do(ctx, "RPOPLPUSH", "busy", "k"); c.Get(ctx, "stock") }
	}
	return free
}

// enters tries to take a lock that only its marks tell of, and returns what gives it back, or nil.
func enters(ctx context.Context, c *redis.Client, kind, me string) func() {
	switch kind {
	case "one token":
		if c.SetNX(ctx, "made", 1, 0).Val() {
			c.RPush(ctx, "tokens", "t")
		}
		if c.LPop(ctx, "tokens").Err() != nil {
			return nil
		}
		return func() { c.RPush(ctx, "tokens", "t") }
	case "looks, then joins":
		if c.SCard(ctx, "in").Val() >= 2 {
			return nil
		}
		c.SAdd(ctx, "in", me)
		return func() { c.SRem(ctx, "in", me) }
	case "counts up and down":
		if c.Incr(ctx, "n").Val() > 1 {
			c.Decr(ctx, "n")
			return nil
		}
		return func() { c.Decr(ctx, "n") }
	case "a deadline of its own clock", "since when by its own clock":
		const lease = 3 * time.Second
		now, text := time.Now(), ""
		if kind == "a deadline of its own clock" {
			text = strconv.FormatInt(now.Add(lease).UnixMilli(), 10)
		} else {
			text = strconv.FormatInt(now.UnixMilli(), 10)
		}
		if !c.SetNX(ctx, "k", text, 0).Val() {
			return nil // nobody waits for so long here
		}
		return func() { c.Del(ctx, "k") }
	case "a line": // whoever is its head is in, also if it was there before
		c.SAdd(ctx, "seen", me)
		if c.LPos(ctx, "line", me, redis.LPosArgs{}).Err() != nil {
			c.RPush(ctx, "line", me)
		}
		if c.LIndex(ctx, "line", 0).Val() != me {
			c.LRem(ctx, "line", 0, me)
			return nil
		}
		return func() { c.LPop(ctx, "line") }
	}
	c.Incr(ctx, "calls") // stays, and shuts nobody out
	switch kind {
	case "sold out": // there is no work
		if c.Get(ctx, "sold").Val() == "1" {
			return nil
		}
	case "nothing is due":
		c.SetNX(ctx, "due", "a job", 0)
		if c.Get(ctx, "due").Val() == "" {
			return nil
		}
	case "dies":
		ok, err := c.SetNX(ctx, "k", me, 0).Result()
		switch {
		case err != nil:
			os.Exit(1)
		case !ok:
			return nil
		}
		return func() { c.Del(ctx, "k") }
	}
	if !c.SetNX(ctx, "k", me, 2*time.Second).Val() {
		return nil
	}
	return func() { c.Del(ctx, "k") }
}

// act is a worker of some kind.
func act(kind string) {
	ctx := context.Background()
	// It waits for as long as the gate holds it: on a busy machine that is seconds.
	c := redis.NewClient(&redis.Options{
		Addr: os.Getenv("REDIS_HOST") + ":" + os.Getenv("REDIS_PORT"), MaxRetries: -1, DialTimeout: time.Minute, ReadTimeout: -1, WriteTimeout: -1, PoolTimeout: time.Minute,
	})
	me := os.Getenv("RELOCK_THREAD")
	round := func() bool { return c.Echo(ctx, infer.MarkRound).Err() == nil }
	lease, err := time.ParseDuration(os.Getenv("LAB_TEST_LEASE"))
	if err != nil {
		lease = 2 * time.Second
	}
	n := 0
	token := func() string { n++; return fmt.Sprint(me, "-", os.Getpid(), "-", n) }
	lock := func(key string, tries int) string {
		t := token()
		for range tries {
			if c.SetNX(ctx, key, t, lease).Val() {
				return t
			}
		}
		return ""
	}
	unlock := func(key, t string) { c.Eval(ctx, release, []string{key}, t) }
	marked := func(f func()) { c.Echo(ctx, infer.MarkEnter); f(); c.Echo(ctx, infer.MarkLeave) }
	switch kind {
	case "lock":
		for round() {
			if t := lock("k", 2); t != "" {
				marked(func() {})
				unlock("k", t)
			}
		}
	case "alone": // rounds of "lock", so many, where nobody holds them
		rounds, _ := strconv.Atoi(os.Getenv("LAB_TEST_ROUNDS"))
		c.Echo(ctx, infer.MarkRound)
		began := time.Now()
		for range rounds {
			round()
			t := lock("k", 2)
			marked(func() {})
			unlock("k", t)
		}
		fmt.Println(time.Since(began).Nanoseconds())
	case "one token", "looks, then joins", "counts up and down", "a line", "a deadline of its own clock", "since when by its own clock", "nothing stays", "sold out", "nothing is due", "dies":
		for round() {
			if give := enters(ctx, c, kind, me); give != nil {
				marked(func() {
					switch kind {
					case "sold out":
						c.Set(ctx, "sold", 1, 0)
					case "nothing is due":
						c.Set(ctx, "due", "", 0)
					}
				})
				give()
			}
		}
	case "unmarked":
		for round() {
			if t := lock("k", 2); t != "" {
				unlock("k", t)
			}
		}
	case "own clock": // the lease is an instant
		const set = `return redis.call("SET", KEYS[1], ARGV[1], "NX", "PXAT", ARGV[2])`
		for round() {
			if c.Eval(ctx, set, []string{"k"}, me, time.Now().Add(lease).UnixMilli()).Err() == nil {
				unlock("k", me)
			}
		}
	case "a lease of the key", "a lease of the field": // in one script
		const set = `if redis.call("EXISTS", KEYS[1]) == 1 then
  return 0
end
redis.call("HINCRBY", KEYS[1], ARGV[1], 1)
`
		lease := `redis.call("PEXPIRE", KEYS[1], 2000) return 1`
		if kind == "a lease of the field" {
			lease = `redis.call("HPEXPIRE", KEYS[1], 2000, "FIELDS", 1, ARGV[1]) return 1`
		}
		for round() {
			if n, _ := c.Eval(ctx, set+lease, []string{"k"}, me).Int(); n == 1 {
				marked(func() {})
				c.HDel(ctx, "k", me)
			}
		}
	case "odd numbers": // that the embedded Redis does not add
		const odd = `redis.call("SET", "odd", "0x10") redis.pcall("INCRBYFLOAT", "odd", 1)
return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", 2000)`
		for round() {
			if c.Eval(ctx, odd, []string{"k"}, me).Err() == nil {
				marked(func() {})
				unlock("k", me)
			}
		}
	case "scripts", "functions": // of the server, which has the same under both names
		const take, give = `return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", 600000)`, release
		run := func(name, text string) any {
			if kind == "scripts" {
				return c.Eval(ctx, text, []string{"k"}, me).Val()
			}
			return c.FCall(ctx, name, []string{"k"}, me).Val()
		}
		for round() {
			if run("take", take) != nil {
				marked(func() {})
				run("give", give)
			}
		}
	case "locks nothing":
		for round() {
			marked(func() { c.Incr(ctx, "hits:"+me) })
		}
	case "asks what is not here":
		for round() {
			c.SetNX(ctx, "k", me, lease)
			if err := c.FunctionList(ctx, redis.FunctionListQuery{}).Err(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
	case "once": // without rounds: a process for each order
		if t := lock("k", 2); t != "" {
			unlock("k", t)
		}
	case "counter": // reads and writes what a lock should protect, and does not lock
		for round() {
			v, _ := c.Get(ctx, "stock").Int()
			c.Set(ctx, "stock", v+1, 0)
		}
	case "counter, in a script": // the same, and its script does not compare
		for round() {
			v, _ := c.Get(ctx, "stock").Int()
			c.Eval(ctx, `return redis.call('SET', KEYS[1], ARGV[1])`, []string{"stock"}, v+1)
		}
	case "two keys": // a lock on k, and keys that are nobody else's
		for round() {
			c.Incr(ctx, "hits:"+me)
			if t := lock("k", 1); t != "" {
				c.Incr(ctx, "hits:"+me)
				marked(func() { c.Get(ctx, "config") })
				unlock("k", t)
			}
		}
	case "key aside": // the same, shorter
		for round() {
			c.Incr(ctx, "hits:"+me)
			if t := lock("k", 1); t != "" {
				unlock("k", t)
			}
		}
	case "same value": // SET k 1 NX, and a DEL that asks nobody
		for round() {
			if c.SetNX(ctx, "k", "1", 2*time.Second).Val() {
				c.Del(ctx, "k")
			}
		}
	case "foreign": // deletes whatever lock there is
		for round() {
			if t := lock("k", 2); t != "" {
				c.Del(ctx, "k")
			}
		}
	case "queue": // A waits for what B pushes; without it, for ever
		for round() {
			if me == "A" {
				c.BLPop(ctx, 0, "q")
			} else {
				c.LPush(ctx, "q", "1")
			}
		}
	case "waits": // both wait for what nobody pushes
		for round() {
			c.BLPop(ctx, 0, "q")
		}
	case "transaction":
		for round() {
			c.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Set(ctx, "k", me, time.Second)
				p.Incr(ctx, "n")
				p.Del(ctx, "k")
				return nil
			})
		}
	case "pipeline":
		for round() {
			c.Pipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "n")
				p.Incr(ctx, "n")
				return nil
			})
		}
	case "subscriber": // A waits for B's message
		for round() {
			if me == "B" {
				c.Publish(ctx, "news", "1")
				continue
			}
			s := c.Subscribe(ctx, "news")
			s.Receive(ctx)
			s.ReceiveMessage(ctx)
			s.Close()
		}
	case "optimist": // adds one, unless somebody was faster
		for round() {
			for range 2 {
				if c.Watch(ctx, func(tx *redis.Tx) error {
					v, _ := tx.Get(ctx, "stock").Int()
					_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "stock", v+1, 0).Err() })
					return err
				}, "stock") == nil {
					break
				}
			}
		}
	case "watches": // A gives its lock back, unless B has raised a flag meanwhile
		for round() {
			if me == "B" {
				c.Set(ctx, "flag", 1, 0)
				continue
			}
			t := lock("k", 1)
			c.Watch(ctx, func(tx *redis.Tx) error {
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, "k").Err() })
				return err
			}, "flag")
			_ = t
		}
	case "listens late": // A looks at something, then listens for B's message: it may have come before
		for round() {
			if me == "B" {
				c.Publish(ctx, "news", "1")
				continue
			}
			c.Get(ctx, "aside")
			s := c.Subscribe(ctx, "news")
			s.Receive(ctx)
			s.ReceiveMessage(ctx)
			s.Close()
		}
	case "listens late, to a script": // the same, and B publishes from a script
		for round() {
			if me == "B" {
				c.Eval(ctx, "return redis.call('PUBLISH', 'news', '1')", []string{"nothing"})
				continue
			}
			c.Get(ctx, "aside")
			s := c.Subscribe(ctx, "news")
			s.Receive(ctx)
			s.ReceiveMessage(ctx)
			s.Close()
		}
	case "group", "late group": // A reads as a group what B adds, also what was added before
		from := map[string]string{"group": "0", "late group": "$"}[kind]
		for round() {
			if me == "B" {
				c.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: []string{"f", "v"}})
				continue
			}
			c.XGroupCreateMkStream(ctx, "s", "g", from)
			c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "g", Consumer: "me", Streams: []string{"s", ">"}, Block: 0})
		}
	case "two keys, crosswise": // each takes them in its own order, and asks until it has them
		keys := []string{"x", "y"}
		if me == "B" {
			keys = []string{"y", "x"}
		}
		for round() {
			for _, k := range keys {
				for !c.SetNX(ctx, k, me, 0).Val() {
				}
			}
			for _, k := range keys {
				c.Del(ctx, k)
			}
		}
	case "two locks", "two locks, one of which anybody deletes": // both in one order, twice
		for round() {
			x, y := "", ""
			if x = lock("x", 2); x != "" {
				if y = lock("y", 1); y != "" {
					unlock("y", y)
				}
				unlock("x", x)
			}
			if kind != "two locks" {
				c.Del(ctx, "y")
			}
			if y = lock("y", 1); y != "" {
				unlock("y", y)
			}
		}
	case "looks at a list": // until something comes, which nobody sends; A has the lock meanwhile
		for round() {
			if !c.SetNX(ctx, "k", me, 0).Val() {
				continue
			}
			c.RPush(ctx, "q", "first")
			for len(c.LRange(ctx, "q", 0, -1).Val()) < 2 {
			}
		}
	case "looks, then sets", "looks at a hash", "swaps", "swaps a deadline", "takes over", "counts", "queues in a list", "takes a token", "a marker beside":
		for round() {
			for range 2 {
				if took := takes(ctx, c, kind, me); took != nil {
					took()
					break
				}
			}
		}
	case "majority", "majority, unmarked", "majority in turn", "majority of one value", "majority, not waiting":
		majority(ctx, kind, me)
	case "forever": // asks until it has the lock
		for round() {
			t := lock("k", 1<<30)
			if t == "" {
				return
			}
			unlock("k", t)
		}

	// Bad ones.
	case "hangs at once":
		time.Sleep(time.Hour)
	case "hangs in its round":
		for round() {
			c.Set(ctx, "k", me, 0)
			fmt.Println("thinking")
			time.Sleep(time.Hour)
		}
	case "dies at once":
		fmt.Fprintln(os.Stderr, "ModuleNotFoundError: No module named 'redis'")
		os.Exit(1)
	case "dies in its round":
		round()
		c.Set(ctx, "k", me, 0)
		fmt.Fprintln(os.Stderr, "boom")
		os.Exit(7)
	case "ends after one round":
		round()
		c.Set(ctx, "k", me, 0)
	case "ends after some rounds":
		for range 6 {
			round()
			c.SetNX(ctx, "k", me, 0)
			c.Del(ctx, "k")
		}
	case "says nothing, and ends":
	case "talks to somebody else":
		net.Dial("tcp", "127.0.0.1:1")
		time.Sleep(time.Hour)
	case "forgets its round":
		round()
		for {
			if c.Incr(ctx, "k").Err() != nil {
				return
			}
		}
	case "talks nonsense":
		for {
			conn, err := net.Dial("tcp", os.Getenv("REDIS_HOST")+":"+os.Getenv("REDIS_PORT"))
			if err != nil {
				return
			}
			io.WriteString(conn, "*1\r\n*1\r\n$4\r\nPING\r\n")
			io.ReadAll(conn)
			conn.Close()
			time.Sleep(50 * time.Millisecond)
		}
	case "never ends its script":
		for round() {
			c.Eval(ctx, "while true do end", []string{"k"})
		}
	case "never ends its script, and asks":
		for round() {
			c.Eval(ctx, asksForEver, []string{"k"})
		}
	case "one of two dies":
		for round() {
			if me == "B" {
				panic("B is broken")
			}
			c.Set(ctx, "k", me, 0)
		}
	case "connects, and says nothing":
		net.Dial("tcp", os.Getenv("REDIS_HOST")+":"+os.Getenv("REDIS_PORT"))
		time.Sleep(time.Hour)
	}
}

// majority is a worker whose lock is on more than half of its nodes: it asks all of them at
// once, or in turn, and waits for all answers, or for as many as decide.
func majority(ctx context.Context, kind, me string) {
	var nodes []*redis.Client
	for i := 1; os.Getenv(fmt.Sprint("REDIS_URL_", i)) != ""; i++ {
		o, err := redis.ParseURL(os.Getenv(fmt.Sprint("REDIS_URL_", i)))
		if err != nil {
			panic(err)
		}
		o.MaxRetries, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout, o.DialTimeout = -1, -1, -1, time.Minute, time.Minute
		nodes = append(nodes, redis.NewClient(o))
	}
	each := func(ask func(*redis.Client) bool) (yes int) {
		answers := make(chan bool, len(nodes))
		for _, c := range nodes {
			if kind == "majority in turn" {
				answers <- ask(c)
			} else {
				go func() { answers <- ask(c) }()
			}
		}
		no := 0
		for range nodes {
			if <-answers {
				yes++
			} else {
				no++
			}
			if kind == "majority, not waiting" && (yes > len(nodes)/2 || no >= (len(nodes)+1)/2) {
				break
			}
		}
		return yes
	}
	for n := 0; nodes[0].Echo(ctx, infer.MarkRound).Err() == nil; n++ {
		t := fmt.Sprint(me, "-", os.Getpid(), "-", n)
		if kind == "majority of one value" {
			t = "locked"
		}
		granted := each(func(c *redis.Client) bool { return c.SetNX(ctx, "k", t, 2*time.Second).Val() }) > len(nodes)/2
		if granted && kind == "majority" {
			nodes[0].Echo(ctx, infer.MarkEnter)
			nodes[0].Echo(ctx, infer.MarkLeave)
		}
		each(func(c *redis.Client) bool { return c.Eval(ctx, release, []string{"k"}, t).Err() == nil })
	}
}

func options(t *testing.T, kind string) lab.Options {
	t.Helper()
	me, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return lab.Options{
		Command: []string{me}, Env: []string{"LAB_TEST_WORKER=" + kind}, Threads: 2, MaxOrders: 2000, Clock: lab.ClockGate, Seed: 1, Timeout: time.Minute,
	}
}

func search(t *testing.T, o lab.Options) *lab.Found {
	t.Helper()
	found, err := lab.Search(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if found.Failed != nil {
		t.Fatal(found.Failed)
	}
	return found
}

func rules(f *lab.Found) string {
	var list []string
	for _, r := range f.Rules {
		list = append(list, fmt.Sprintf("%s %d", r.Name, r.Orders))
	}
	return strings.Join(list, ", ")
}

// asksForEver is a script that never ends, whatever it is told.
const asksForEver = `while true do pcall(redis.call, "GET", KEYS[1]) end`

// A script that never ends is told of like any other worker that fails, and ends
// at its next command.
func TestScriptIsEnded(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	endless(t, "never ends its script, and asks")
}

// One that asks for nothing goes on in this process, so this is the last test.
func TestScriptThatNeverEnds(t *testing.T) { endless(t, "never ends its script") }

func endless(t *testing.T, kind string) {
	t.Helper()
	o := options(t, kind)
	o.Timeout = 4 * time.Second // in which its worker must have come
	found, err := lab.Search(t.Context(), o)
	if err != nil || found.Failed == nil || !strings.Contains(found.Failed.Why, "runs a script that does not end") {
		t.Errorf("%+v, %v", found, err)
	}
}
