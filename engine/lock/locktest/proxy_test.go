package locktest

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"relock/engine/store/storetest"
)

func TestMain(m *testing.M) {
	redis.SetLogger(quiet{})
	code := m.Run()
	if err := leaks(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leaks are the goroutines that go on. It waits for a minute: what a call
// whose caller has gone still has to say to Redis has a limit.
func leaks(ignored ...goleak.Option) error {
	limit := time.Now().Add(time.Minute)
	err := goleak.Find(ignored...)
	for err != nil && time.Now().Before(limit) {
		err = goleak.Find(ignored...)
	}
	return err
}

// quiet keeps go-redis from reporting on standard error what is done to it.
type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// listen is a proxy to a Redis, a client behind it and one beside it.
func listen(t *testing.T, plan Plan, version int) (*Proxy, *redis.Client, *redis.Client) {
	t.Helper()
	direct := storetest.Redis(t)
	p, err := Listen(direct.Options().Addr, plan)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	first := storetest.Client(p.Addr())
	o := *first.Options()
	_ = first.Close()
	o.Protocol, o.MaxRetries = version, -1
	c := redis.NewClient(&o)
	t.Cleanup(func() { _ = c.Close() })
	return p, c, direct
}

// strikes is a plan for the nth request with a command, counted from 1.
func strikes(command string, nth int, f Fate) Plan {
	seen := 0
	return func(given string) Fate {
		if given != command {
			return Fate{}
		}
		if seen++; seen != nth {
			return Fate{}
		}
		return f
	}
}

func TestRedirect(t *testing.T) {
	p, c, _ := listen(t, nil, 3)
	other := storetest.Redis(t)
	if err := other.Set(t.Context(), "who", "other", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if got := c.Get(t.Context(), "who").Val(); got != "" {
		t.Errorf("the first says %q", got)
	}
	p.Redirect(other.Options().Addr)
	for c.Ping(t.Context()).Err() != nil { // connections of before
		if t.Context().Err() != nil {
			t.Fatal("it does not connect again")
		}
	}
	if got := c.Get(t.Context(), "who").Val(); got != "other" {
		t.Errorf("the other says %q", got)
	}
}

func TestFates(t *testing.T) {
	const soon, much = 30 * time.Millisecond, time.Minute
	for _, c := range []struct {
		name  string
		fate  Fate
		limit time.Duration // of the client's patience
		fails bool
		ran   int64 // when the client has its answer
		in    int64 // when everything has settled
		lasts time.Duration
		cuts  int
		late  int
	}{
		{"pass", Fate{}, much, false, 1, 1, 0, 0, 0},
		{"delayed", Fate{Delay: soon}, much, false, 1, 1, soon, 0, 0},
		{"request lost", Fate{Kind: LoseRequest}, much, true, 0, 0, 0, 1, 0},
		{"reply lost", Fate{Kind: LoseReply}, much, true, 1, 1, 0, 1, 0},
		{"reply torn", Fate{Kind: TearReply}, much, true, 1, 1, 0, 1, 0},
		{"withheld", Fate{Kind: Withhold, After: 10 * soon}, much, true, 0, 1, 0, 1, 1},
		{"stalled", Fate{Kind: Stall, After: 10 * soon}, soon, true, 0, 1, soon, 1, 1},
		{"twice", Fate{Kind: Twice, After: 10 * soon}, much, false, 1, 2, 0, 0, 1},
	} {
		for _, version := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s, RESP%d", c.name, version), func(t *testing.T) {
				p, client, direct := listen(t, nil, version)
				if err := client.Ping(t.Context()).Err(); err != nil { // and the connection is there
					t.Fatal(err)
				}
				before := p.Figures()
				p.SetPlan(strikes("INCR", 1, c.fate))
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				err := client.Incr(ctx, "n").Err()
				if took := time.Since(began); (err != nil) != c.fails || took < c.lasts {
					t.Errorf("after %v: %v", took, err)
				}
				if got, _ := direct.Get(t.Context(), "n").Int64(); got != c.ran {
					t.Errorf("Redis has run it %d times, want %d", got, c.ran)
				}
				if err := p.Settle(t.Context()); err != nil {
					t.Fatal(err)
				}
				waitFor(t, "Redis has not run it", func() bool {
					got, _ := direct.Get(t.Context(), "n").Int64()
					return got == c.in
				})
				if err := client.Set(t.Context(), "m", "v", 0).Err(); err != nil {
					t.Errorf("the next command: %v", err)
				}
				if got := p.Figures(); got.Cuts-before.Cuts != c.cuts || got.Late-before.Late != c.late || got.Requests <= before.Requests {
					t.Errorf("figures: %+v after %+v, want %d cuts and %d late", got, before, c.cuts, c.late)
				}
			})
		}
	}
}

// waitFor asks again and again, at most for a minute.
func waitFor(t testing.TB, complaint string, done func() bool) {
	t.Helper()
	limit := time.After(time.Minute)
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-limit:
			t.Fatal(complaint)
		}
	}
}

// In a pipeline the fate is one request's: those before it are answered, those
// behind it are lost with the connection.
func TestPipeline(t *testing.T) {
	for _, c := range []struct {
		kind     Kind
		ran      int64
		answered int
	}{
		{Pass, 5, 5},
		{LoseRequest, 2, 2},
		{LoseReply, 5, 2},
		{TearReply, 5, 2},
	} {
		p, client, direct := listen(t, strikes("INCR", 3, Fate{Kind: c.kind}), 3)
		cmds, _ := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for range 5 {
				pipe.Incr(t.Context(), "n")
			}
			return nil
		})
		var answered int
		for _, cmd := range cmds {
			if cmd.Err() == nil {
				answered++
			}
		}
		p.Close() // what it had sent has been run
		got, _ := direct.Get(t.Context(), "n").Int64()
		// Replies that were under way are lost with a connection that is cut.
		if got > c.ran || answered > c.answered || (c.kind == Pass && (got != 5 || answered != 5)) || (c.kind == LoseReply && got < 3) {
			t.Errorf("kind %d: %d run, %d answered, want %d and %d", c.kind, got, answered, c.ran, c.answered)
		}
	}
}

func TestPartition(t *testing.T) {
	p, client, direct := listen(t, nil, 3)
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	p.Partition()
	p.Partition() // one is enough
	short, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if err := client.Incr(short, "given up").Err(); err == nil {
		t.Error("a request passed")
	}
	waited := make(chan error, 1)
	go func() { waited <- client.Incr(t.Context(), "waited").Err() }()
	waitFor(t, "the request was not read", func() bool { return p.Figures().Requests >= 3 })
	if n := direct.Exists(t.Context(), "given up", "waited").Val(); n != 0 {
		t.Errorf("%d requests passed", n)
	}
	p.Heal()
	p.Heal()
	if err := <-waited; err != nil {
		t.Error(err)
	}
	if n := direct.Exists(t.Context(), "given up").Val(); n != 0 {
		t.Error("a request passed that its client had given up")
	}
}

// Messages pass on their own, and a client that listens is cut now and then
// and listens again.
func TestMessages(t *testing.T) {
	for _, version := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", version), func(t *testing.T) {
			p, client, direct := listen(t, nil, version)
			sub := client.Subscribe(t.Context(), "c")
			defer func() { _ = sub.Close() }()
			if _, err := sub.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			messages := sub.Channel()
			send := func(text string) {
				waitFor(t, "nobody listens", func() bool { return direct.Publish(t.Context(), "c", text).Val() > 0 })
			}
			send("1")
			if m := <-messages; m.Payload != "1" {
				t.Errorf("heard %v", m)
			}
			var lost atomic.Bool
			p.SetPlan(func(command string) Fate {
				if command == Message && !lost.Swap(true) {
					return Fate{Kind: LoseReply}
				}
				return Fate{}
			})
			send("2") // and with it the connection
			waitFor(t, "nothing was lost", lost.Load)
			waitFor(t, "it does not listen again", func() bool {
				direct.Publish(t.Context(), "c", "3")
				select {
				case m := <-messages:
					return m.Payload == "3"
				default:
					return false
				}
			})
		})
	}
}

// What Random draws is a function of its seed, and comes at its rates.
func TestRandom(t *testing.T) {
	rates := Rates{LoseRequest: .1, LoseReply: .1, TearReply: .1, Withhold: .1, Stall: .1, Twice: .1, Delay: .5, MaxDelay: time.Second, MaxLate: time.Second}
	const n = 10000
	draw := func(seed uint64, command string) (list []Fate) {
		plan := Random(seed, rates)
		for range n {
			list = append(list, plan(command))
		}
		return list
	}
	if a, b, c := fmt.Sprint(draw(1, "SET")), fmt.Sprint(draw(1, "SET")), fmt.Sprint(draw(2, "SET")); a != b || a == c {
		t.Error("the seed does not make the plan")
	}
	for command, want := range map[string][kinds]int{
		"SET":  {n * 4 / 10, n / 10, n / 10, n / 10, n / 10, n / 10, n / 10},
		"PING": {n * 7 / 10, n / 10, n / 10, n / 10, 0, 0, 0},
	} {
		var got [kinds]int
		delayed := 0
		for _, f := range draw(3, command) {
			got[f.Kind]++
			if f.Delay > 0 {
				delayed++
			}
			if f.Delay > rates.MaxDelay || f.After > rates.MaxLate || f.Delay < 0 || f.After < 0 {
				t.Errorf("%+v", f)
			}
		}
		for kind := range got {
			if d := got[kind] - want[kind]; d < -n/50 || d > n/50 {
				t.Errorf("%s: kind %d came %d times of %d, want %d", command, kind, got[kind], n, want[kind])
			}
		}
		if delayed < n*45/100 || delayed > n*55/100 {
			t.Errorf("%d delayed", delayed)
		}
	}
}

// Close ends clients that wait, and connections that say nothing.
func TestClose(t *testing.T) {
	p, client, _ := listen(t, strikes("INCR", 1, Fate{Kind: Stall}), 3)
	silent, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	waited := make(chan error, 1)
	go func() { waited <- client.Incr(context.Background(), "n").Err() }()
	waitFor(t, "the request was not read", func() bool { return p.Figures().Cuts > 0 })
	p.Close()
	if err := <-waited; err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("the request that stalled: %v", err)
	}
	p.Close()
}

// A Redis that was killed has what it had answered to when it starts again.
func TestKilledRedisLosesNothing(t *testing.T) {
	s := storetest.Start(t, storetest.Durable...)
	c := storetest.Client(s.Addr)
	defer func() { _ = c.Close() }()
	for i := range 100 {
		if err := c.Set(t.Context(), fmt.Sprint(i), i, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	s.Kill()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a killed Redis answers")
	}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := c.DBSize(t.Context()).Val(); n != 100 {
		t.Errorf("%d keys of 100", n)
	}
	if err := s.Restart(t.Context()); err == nil {
		t.Error("it started twice")
	}
}
