package locktest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"relock/engine/lock"
	"relock/engine/store/storetest"
)

var (
	chaosFor = flag.Duration("chaos", 0, "how long TestChaos torments each lock; 0 is a short run of all at once")
	seed     = flag.Uint64("seed", 1, "of TestChaos' faults")
)

// condition is a lock, and what it has to bear.
type condition struct {
	protocol lock.Protocol
	nodes    int  // Redises; 1 if 0
	flat     bool // the lock is not reentrant
	fresh    bool // a new owner for each first acquisition; else each worker has one for good
	late     bool // Redis gets requests late: withheld, stalled, twice
	breaks   bool // it is known not to bear that: its figures are told, and may be anything
}

// conditions is the table to add a protocol to.
var conditions = []condition{
	{protocol: lock.Sequenced, late: true},
	{protocol: lock.Reentrant},
	{protocol: lock.Reentrant, late: true, breaks: true}, // its documentation says so
	{protocol: lock.ReentrantNotify, late: true},
	{protocol: lock.ReentrantFair, late: true},
	{protocol: lock.Fenced, late: true},
	{protocol: lock.Redlock, nodes: 3, flat: true, fresh: true},
	{protocol: lock.Redlock, nodes: 5, flat: true, fresh: true},
}

func (c condition) String() string {
	name := c.protocol.Name
	if c.nodes > 1 {
		name += fmt.Sprintf(", %d nodes", c.nodes)
	}
	if c.late {
		name += ", late copies"
	}
	return name
}

// The size of a run, and its pace.
const (
	workers = 30
	lockers = 6
	keys    = 2
	deepest = 3

	patience = 20 * time.Second // of most calls of Lock
	interval = 20 * time.Millisecond
	jitter   = 30 * time.Millisecond
	spread   = 30 * jitter // where several nodes elect, which lasts longer the slower the machine is
)

// options are those of one Locker.
func (r *run) options(clients []*redis.Client) lock.Options {
	o := lock.Options{
		Protocol: r.protocol, Lease: r.lease, Messenger: lock.PubSub(clients[0]),
		Retries:  1 << 20, // until the context ends
		Interval: interval, JitterMax: jitter,
	}
	for _, c := range clients[1:] {
		o.Nodes = append(o.Nodes, c)
		o.JitterMax = spread
	}
	return o
}

func keyName(key int) string { return fmt.Sprintf("chaos:%d", key) }

// run is one run of a condition.
type run struct {
	condition
	lease    time.Duration
	lasts    time.Duration
	atLeast  int64 // first acquisitions; it goes on until there were so many
	began    time.Time
	servers  []*storetest.Server
	proxies  [][]*Proxy // by locker and node
	workers  []*worker
	acquired atomic.Int64
	cells    [keys]atomic.Pointer[visit] // who came last
	problems sync.Map                    // what must not be, as sentences

	kills, stalls int
	settled       time.Duration // until no lock was left
	leftOver      []string      // locks
	companions    []string      // all keys
}

func (r *run) now() moment { return time.Since(r.began) }

func (r *run) problem(format string, args ...any) {
	r.problems.Store(fmt.Sprintf(format, args...), true)
}

// visit is who is in the critical section of a key.
type visit struct {
	tenure *tenure
	lived  atomic.Bool // its context was asked, and lived, after it had come in
}

// belief is a hold whose context is looked at again and again.
type belief struct {
	ctx   context.Context
	level int
	from  moment
	till  atomic.Int64 // the last moment before its context was found alive
}

// look asks the context. The state before the question is certain: a context that has
// ended never lives again.
func (b *belief) look(r *run) bool {
	at := r.now()
	if b.ctx.Err() != nil {
		return false
	}
	for {
		had := b.till.Load()
		if had >= int64(at) || b.till.CompareAndSwap(had, int64(at)) {
			return true
		}
	}
}

// worker is one goroutine that enters and leaves.
type worker struct {
	*run
	n       int
	locker  *lock.Locker
	random  *rand.Rand
	owner   lock.Owner
	beliefs [deepest]atomic.Pointer[belief] // by level, looked at by the watcher too

	tenures []*tenure
	gaveUp  int
	longest time.Duration // of the Locks that succeeded
	overran time.Duration // longest time that a Lock went on after its context had ended
	unlock  time.Duration // longest Unlock
	denied  int           // losses that cannot be
	results map[string]int
}

// TestChaos lets 30 goroutines on 6 Lockers enter and leave 2 locks, up to
// three levels deep, through proxies that lose, delay, cut and partition (and
// repeat, where the lock claims to bear it), on Redises that are killed with
// -9 and started again. It checks that no two owners' contexts ever lived at
// once, that the history is one of a reentrant lock, that fencing tokens grow,
// that nothing stays in Redis for longer than a lease, and that no goroutine
// is left.
//
//	go test -race ./engine/lock/locktest -run TestChaos -v -chaos 30s -seed 7
func TestChaos(t *testing.T) {
	var mu sync.Mutex
	lines := map[condition]string{}
	t.Run("on", func(t *testing.T) {
		for i, c := range conditions {
			t.Run(c.String(), func(t *testing.T) {
				r := &run{condition: c, lease: time.Second, lasts: *chaosFor, atLeast: 1}
				if *chaosFor == 0 {
					t.Parallel()
					if c.breaks {
						t.Skip("it is known to break: only the long run tells how")
					}
					r.lease, r.lasts, r.atLeast = 400*time.Millisecond, 1200*time.Millisecond, 20
					if c.nodes > 1 { // asking all of them takes long on a busy machine, and who has asked for a lease has nothing
						r.lease *= time.Duration(c.nodes)
						r.atLeast /= int64(c.nodes)
					}
				}
				line := r.torment(t, *seed+uint64(i)<<32)
				mu.Lock()
				defer mu.Unlock()
				lines[c] = line
			})
		}
	})
	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, heading)
	for _, c := range conditions {
		if line, ok := lines[c]; ok {
			_, _ = fmt.Fprintln(w, line)
		}
	}
	_ = w.Flush()
	t.Logf("%v each, seed %d\n%s", *chaosFor, *seed, table.String())
}

// torment runs, checks, and returns the line of the table.
func (r *run) torment(t *testing.T, seed uint64) string {
	if r.nodes == 0 {
		r.nodes = 1
	}
	already := goleak.IgnoreCurrent()
	random := rand.New(rand.NewPCG(seed, 1))
	for range r.nodes {
		r.servers = append(r.servers, storetest.Start(t, storetest.Durable...))
	}
	rates := Rates{LoseRequest: .015, LoseReply: .01, TearReply: .005, Delay: .1, MaxDelay: r.lease / 50}
	if r.late { // more than in any network, to see it soon
		rates.Withhold, rates.Stall, rates.Twice = .015, .005, .02
		rates.MaxLate = 2 * r.lease
	}
	var all []*lock.Locker
	var clients []*redis.Client
	for range lockers {
		var own []*redis.Client
		var through []*Proxy
		for _, s := range r.servers {
			p, err := Listen(s.Addr, Random(random.Uint64(), rates))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(p.Close)
			through = append(through, p)
			own = append(own, storetest.Client(p.Addr()))
		}
		clients = append(clients, own...)
		r.proxies = append(r.proxies, through)
		l, err := lock.New(own[0], r.options(own))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	for n := range workers {
		r.workers = append(r.workers, &worker{
			run: r, n: n, locker: all[n%lockers], random: rand.New(rand.NewPCG(seed, uint64(n)+2)), owner: lock.NewOwner(), results: map[string]int{},
		})
	}
	r.live(t, random)
	r.end(t)
	for _, l := range all {
		l.Close()
	}
	for _, c := range clients {
		_ = c.Close()
	}
	for _, own := range r.proxies {
		for _, p := range own {
			p.Close()
		}
	}
	if *chaosFor > 0 { // else others run beside it, and TestMain looks at the end
		if err := leaks(already); err != nil {
			t.Error(err)
		}
	}
	return r.verdict(t)
}

// live has the workers work until the time is over.
func (r *run) live(t *testing.T, random *rand.Rand) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	r.began = time.Now()
	var tasks, working sync.WaitGroup
	watching, unwatch := context.WithCancel(context.Background())
	tasks.Go(func() { r.watch(watching) })
	parting, killing := random.Uint64(), random.Uint64()
	tasks.Go(func() { r.part(ctx, rand.New(rand.NewPCG(parting, 0))) })
	tasks.Go(func() { r.kill(ctx, t, rand.New(rand.NewPCG(killing, 0))) })
	for _, w := range r.workers {
		working.Go(func() { w.work(ctx) })
	}
	sleep(ctx, r.lasts)
	for limit := 60 * time.Second; r.acquired.Load() < r.atLeast && limit > 0; limit -= 10 * time.Millisecond {
		sleep(ctx, 10*time.Millisecond)
	}
	stop()
	working.Wait()
	unwatch()
	tasks.Wait()
}

// watch looks at all contexts, as often as it can.
func (r *run) watch(ctx context.Context) {
	for sleep(ctx, time.Millisecond) {
		for _, w := range r.workers {
			for level := range w.beliefs {
				if b := w.beliefs[level].Load(); b != nil {
					b.look(r)
				}
			}
		}
	}
}

// part cuts one client off from one Redis, or from all, now and then.
func (r *run) part(ctx context.Context, random *rand.Rand) {
	for sleep(ctx, time.Duration((0.3+0.9*random.Float64())*float64(r.lease))) {
		own := r.proxies[random.IntN(lockers)]
		if random.IntN(2) == 0 {
			n := random.IntN(len(own))
			own = own[n : n+1]
		}
		for _, p := range own {
			p.Partition()
		}
		sleep(ctx, time.Duration((0.2+1.5*random.Float64())*float64(r.lease)))
		for _, p := range own {
			p.Heal()
		}
	}
}

// kill kills a Redis and starts it again, twice in a short run. If requests may be late,
// it stalls one as well: the requests that came meanwhile run when their senders have
// gone.
func (r *run) kill(ctx context.Context, t *testing.T, random *rand.Rand) {
	some := func() time.Duration { return time.Duration(random.Float64() * float64(r.lease)) }
	for sleep(ctx, min(r.lasts/3, 5*r.lease)) && r.now() < r.lasts {
		s := r.servers[random.IntN(len(r.servers))]
		s.Kill()
		r.kills++
		sleep(ctx, some()/2)
		if err := s.Restart(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
			return
		}
		if !r.late || !sleep(ctx, some()) {
			continue
		}
		r.stalls++
		if err := s.Stall(); err != nil {
			t.Error(err)
		}
		sleep(ctx, 2*some())
		if err := s.Resume(); err != nil {
			t.Error(err)
		}
	}
}

// work enters and leaves until ctx ends.
func (w *worker) work(ctx context.Context) {
	for ctx.Err() == nil {
		owner := w.owner
		if w.fresh {
			owner = lock.NewOwner()
		}
		depth := 1 + w.random.IntN(deepest)
		if w.flat {
			depth = 1
		}
		t := &tenure{key: w.random.IntN(keys), worker: w.n}
		w.enter(ctx, t, owner, depth, time.Time{})
		w.pause(ctx, 5*time.Millisecond)
	}
}

// pause lets some time go by, at most d.
func (w *worker) pause(ctx context.Context, d time.Duration) {
	sleep(ctx, time.Duration(w.random.Float64()*float64(d)))
}

// enter is one level: in, look, one level deeper if there is one, look, out.
// Until then the outer level can be relied on.
func (w *worker) enter(ctx context.Context, t *tenure, owner lock.Owner, depth int, until time.Time) {
	level := 1 + len(t.steps) // there was no release yet
	called := w.now()
	within := patience
	if w.random.IntN(5) == 0 {
		within = w.lease / 5
	}
	// The hold's context descends from this one, so that it must not end when
	// Lock was in time.
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var ended atomic.Int64
	giveUp := func() {
		ended.CompareAndSwap(0, int64(w.now()))
		cancel()
	}
	timer := time.AfterFunc(within, giveUp)
	defer timer.Stop()
	atEnd := context.AfterFunc(ctx, giveUp)
	hold, err := w.lock(waiting, t.key, owner)
	returned := w.now()
	atEnd()
	timer.Stop()
	if at := moment(ended.Load()); at > 0 {
		w.overran = max(w.overran, returned-at)
	}
	w.results["lock: "+name(err)]++
	if err != nil {
		w.gaveUp++
		if !errors.Is(err, lock.ErrNotAcquired) && !errors.Is(err, lock.ErrLost) {
			w.problem("Lock: %v", err)
		}
		if hold != nil {
			w.problem("Lock returned a hold and %v", err)
		}
		w.deny(err, until)
		return
	}
	w.longest = max(w.longest, returned-called)
	t.steps = append(t.steps, step{level: level, called: called, ranout: returned})
	if level == 1 {
		w.tenures = append(w.tenures, t)
		w.acquired.Add(1)
		t.token = hold.Token()
	}
	if hold.Level() != level || hold.Owner() != owner || hold.Key() != keyName(t.key) || hold.Token() != t.token {
		w.problem("level %d of %s by %s with token %d: want level %d of %s by %s with token %d",
			hold.Level(), hold.Key(), hold.Owner(), hold.Token(), level, keyName(t.key), owner, t.token)
	}
	b := &belief{ctx: hold.Context(), level: level, from: returned}
	b.till.Store(-1)
	b.look(w.run)
	w.beliefs[level-1].Store(b)

	w.inside(ctx, t, b)
	if level < depth {
		w.enter(ctx, t, owner, depth, hold.Until())
		w.inside(ctx, t, b)
	}

	b.look(w.run)
	until = hold.Until()
	leaving := w.now()
	w.beliefs[level-1].Store(nil)
	if w.random.IntN(10) == 0 {
		cancel() // its caller has gone, and it is left all the same
	}
	err = hold.Unlock(context.Background())
	left := w.now()
	// The watcher may have found it alive while it was being left: then it
	// lived before as well.
	if till := min(moment(b.till.Load()), leaving); till >= b.from {
		t.spans = append(t.spans, span{level, b.from, till})
	}
	w.unlock = max(w.unlock, left-leaving)
	w.results["unlock: "+name(err)]++
	w.deny(err, until)
	if err == nil {
		t.steps = append(t.steps, step{release: true, level: level, called: leaving, ranout: left})
	}
	if level == 1 {
		t.left = left
		switch {
		case err == nil:
			t.end = released
		case errors.Is(err, lock.ErrLost):
			t.end = lost
		default:
			t.end = unknown
		}
	}
}

// lock is Lock, or for every third worker TryLock again and again.
func (w *worker) lock(ctx context.Context, key int, owner lock.Owner) (*lock.Hold, error) {
	if w.n%3 > 0 {
		return w.locker.Lock(ctx, keyName(key), owner)
	}
	for {
		hold, err := w.locker.TryLock(ctx, keyName(key), owner)
		if err == nil || ctx.Err() != nil || errors.Is(err, lock.ErrLost) {
			return hold, err
		}
		w.pause(ctx, interval+jitter)
	}
}

// deny counts a loss that cannot be: the lock's lease could be relied on until
// an instant that has not come yet.
func (w *worker) deny(err error, until time.Time) {
	if errors.Is(err, lock.ErrLost) && time.Now().Before(until) {
		w.denied++
	}
}

// inside is what the lock protects: who is in here is alone. Who came in
// last has left its name; to find another's is a breach if that one lived when
// it came, and oneself after one has looked.
func (w *worker) inside(ctx context.Context, t *tenure, b *belief) {
	if !b.look(w.run) {
		return
	}
	cell := &w.cells[t.key]
	me := &visit{tenure: t}
	cell.Store(me)
	if !b.look(w.run) {
		return
	}
	me.lived.Store(true)
	d := 3 * time.Millisecond
	if w.random.IntN(200) == 0 {
		d = 2 * w.lease // the watchdog has to work
	}
	w.pause(ctx, d)
	other := cell.Load()
	if other.tenure != t && other.lived.Load() && b.look(w.run) {
		w.problem("worker %d was alone with key %d, and then worker %d came", w.n, t.key, other.tenure.worker)
	}
}

// name sorts an error.
func name(err error) string {
	for _, one := range []struct {
		name string
		err  error
	}{
		{"lost", lock.ErrLost},
		{"unknown", lock.ErrUnknown},
		{"not held", lock.ErrNotHeld},
		{"inner held", lock.ErrInnerHeld},
		{"gave up", context.Canceled},
		{"held", lock.ErrHeld},
		{"not acquired", lock.ErrNotAcquired},
	} {
		if errors.Is(err, one.err) {
			return one.name
		}
	}
	if err != nil {
		return "other"
	}
	return "ok"
}

// end has the network be good, and waits until no lock is left.
func (r *run) end(t *testing.T) {
	for _, own := range r.proxies {
		for _, p := range own {
			p.SetPlan(nil)
			p.Heal()
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, own := range r.proxies {
		for _, p := range own {
			if err := p.Settle(ctx); err != nil {
				t.Error("late requests: ", err)
			}
		}
	}
	// A call without a caller takes two limits at most to settle, each a lease, and one
	// lease more for what it cannot undo.
	began := time.Now()
	for _, s := range r.servers {
		c := storetest.Client(s.Addr)
		defer func() { _ = c.Close() }()
		for {
			r.leftOver = r.remains(t, c)
			if len(r.leftOver) == 0 || time.Since(began) > 3*r.lease+time.Minute {
				break
			}
			sleep(t.Context(), 5*time.Millisecond)
		}
		r.companions = append(r.companions, c.Keys(t.Context(), "*").Val()...) // a Redis of our own
	}
	r.settled = time.Since(began)
}

// remains are the locks that are still there. None may stay for longer than a
// lease.
func (r *run) remains(t *testing.T, c *redis.Client) (list []string) {
	for key := range keys {
		left, err := c.PTTL(t.Context(), keyName(key)).Result()
		switch {
		case err != nil:
			t.Error(err)
		case left > r.lease || left == -1:
			t.Errorf("%s stays for %v", keyName(key), left)
		}
		if left != -2 {
			list = append(list, keyName(key))
		}
	}
	return list
}

const heading = "lock\tacquired\tper worker\toverlaps\thistory\ttokens\tbroken\tlost\tfalsely\tlongest Lock\toverran\tlongest Unlock\tkeys left\tsettled\trequests\tcut\tlate\tkills\tstalls"

// verdict checks what can be checked when all is over.
func (r *run) verdict(t *testing.T) string {
	var all []*tenure
	fewest, most, denied, losses, acquired := 1<<30, 0, 0, 0, 0
	var longest, overran, unlock time.Duration
	results := map[string]int{}
	for _, w := range r.workers {
		all = append(all, w.tenures...)
		fewest, most = min(fewest, len(w.tenures)), max(most, len(w.tenures))
		acquired += len(w.tenures)
		denied += w.denied
		longest, overran, unlock = max(longest, w.longest), max(overran, w.overran), max(unlock, w.unlock)
		for name, n := range w.results {
			results[name] += n
		}
	}
	for _, one := range all {
		if one.end == lost {
			losses++
		}
	}
	var problems []string
	r.problems.Range(func(text, _ any) bool {
		problems = append(problems, fmt.Sprint(text))
		return true
	})
	var figures Figures
	for _, own := range r.proxies {
		for _, p := range own {
			figures = figures.Add(p.Figures())
		}
	}
	both := overlaps(all)
	linear := linearizable(all, keys)
	var tokens []string
	if r.protocol == lock.Fenced {
		tokens = regressions(all)
	}
	for name := range results {
		if strings.HasSuffix(name, "inner held") || strings.HasSuffix(name, ": not held") {
			problems = append(problems, name)
		}
	}
	complain := t.Errorf
	if r.breaks {
		complain = t.Logf
	}
	for _, o := range both[:min(3, len(both))] {
		complain("%v", o)
	}
	for _, p := range problems[:min(3, len(problems))] {
		complain("%v", p)
	}
	for _, regression := range tokens[:min(3, len(tokens))] {
		complain("%v", regression)
	}
	if linear == porcupine.Illegal {
		complain("the history is none of a reentrant lock")
	}
	if denied > 0 {
		complain("%d times a lock was called lost that cannot have been", denied)
	}
	if len(r.leftOver) > 0 {
		complain("keys left: %v", r.leftOver)
	}
	if int64(acquired) < r.atLeast {
		complain("acquired %d times only", acquired)
	}
	var sorted []string
	for _, name := range slices.Sorted(maps.Keys(results)) {
		sorted = append(sorted, fmt.Sprintf("%s %d", name, results[name]))
	}
	t.Logf("%s; companions left: %v", strings.Join(sorted, ", "), r.companions)
	ms := time.Millisecond
	return fmt.Sprintf("%v\t%d\t%d/%d\t%d\t%s\t%d\t%d\t%d\t%d\t%v\t%v\t%v\t%d\t%v\t%d\t%d\t%d\t%d\t%d", r.condition, acquired, fewest, most,
		len(both), linear, len(tokens), len(problems), losses, denied, longest.Round(ms), overran.Round(ms), unlock.Round(ms),
		len(r.leftOver), r.settled.Round(ms), figures.Requests, figures.Cuts, figures.Late, r.kills, r.stalls)
}
