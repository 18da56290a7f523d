package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"relock/engine/clock/clocktest"
	"relock/engine/lock"
	"relock/engine/store/storetest"
	"relock/web/board"
	"relock/web/board/stream"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const code = "K7M4XW"

// A test's lease and beat: short, as some wait for their end, and longer than a busy
// machine stands still.
const (
	lease = 4 * time.Second
	beat  = 200 * time.Millisecond
)

func open(t testing.TB, addr string) *stream.Journal {
	t.Helper()
	return leased(t, addr, lease)
}

// leased opens a journal whose terms last longer than those of a test's others.
func leased(t testing.TB, addr string, lease time.Duration) *stream.Journal {
	t.Helper()
	client := storetest.Client(addr)
	j, err := stream.New(client, stream.Options{Lease: lease, Beat: beat})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		j.Close()
		_ = client.Close()
	})
	return j
}

func whole(seq int64) board.Entry {
	return board.Entry{Seq: seq, Whole: &board.State{Code: code, People: map[string]*board.Member{}}}
}

func entry(seq int64, what string) board.Entry { return board.Entry{Seq: seq, Do: what} }

func create(t testing.TB, j *stream.Journal) {
	t.Helper()
	if err := j.Create(t.Context(), code, whole(1)); err != nil {
		t.Fatal(err)
	}
}

// lead returns a term that has read its log.
func lead(t testing.TB, j *stream.Journal) board.Term {
	t.Helper()
	term, err := j.Lead(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(term.Resign)
	if _, _, err := term.Log(t.Context()); err != nil {
		t.Fatal(err)
	}
	return term
}

func appends(t testing.TB, term board.Term, list ...board.Entry) {
	t.Helper()
	if err := term.Append(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

// requests returns the next n requests.
func requests(t testing.TB, term board.Term, n int) (got []string) {
	t.Helper()
	for len(got) < n {
		list, err := term.Next(t.Context(), time.Now().Add(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if list == nil {
			t.Fatalf("%d requests came, want %d", len(got), n)
		}
		for _, o := range list {
			got = append(got, o.Conn)
		}
	}
	return got
}

func send(t testing.TB, j *stream.Journal, conns ...string) {
	t.Helper()
	for _, conn := range conns {
		if err := j.Send(t.Context(), code, board.Request{Conn: conn}); err != nil {
			t.Fatal(err)
		}
	}
}

// follower is what somebody who follows the room was given.
type follower struct {
	t   testing.TB
	err chan error

	mu   sync.Mutex
	seqs []int64
	does []string
}

func follow(t testing.TB, j *stream.Journal) *follower {
	t.Helper()
	f := &follower{t: t, err: make(chan error, 1)}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		f.err <- j.Follow(ctx, code, func(list []board.Entry) {
			f.mu.Lock()
			defer f.mu.Unlock()
			for _, e := range list {
				f.seqs = append(f.seqs, e.Seq)
				f.does = append(f.does, e.Do)
			}
		})
	}()
	t.Cleanup(func() {
		stop()
		<-over
	})
	return f
}

// reaches waits until the follower has an entry, and has all before it, once.
func (f *follower) reaches(seq int64) {
	f.t.Helper()
	until(f.t, fmt.Sprintf("the follower to have %d", seq), func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return slices.Contains(f.seqs, seq)
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, got := range f.seqs {
		if got != f.seqs[0]+int64(i) {
			f.t.Fatalf("it was given %v", f.seqs)
		}
	}
}

// ends waits until the following fails.
func (f *follower) ends(want error) {
	f.t.Helper()
	select {
	case err := <-f.err:
		if !errors.Is(err, want) {
			f.t.Fatalf("it ended with %v, want %v", err, want)
		}
	case <-time.After(time.Minute):
		f.t.Fatalf("it does not end, want %v", want)
	}
}

func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	limit := time.After(time.Minute)
	for !holds() {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestCodesAreTakenOnce(t *testing.T) {
	j := open(t, storetest.Start(t).Addr)
	if there, err := j.Exists(t.Context(), code); there || err != nil {
		t.Errorf("there is a room before it was made: %v, %v", there, err)
	}
	if err := j.Send(t.Context(), code, board.Request{}); !errors.Is(err, board.ErrNoRoom) {
		t.Errorf("a request to no room: %v", err)
	}
	create(t, j)
	if err := j.Create(t.Context(), code, whole(1)); !errors.Is(err, board.ErrTaken) {
		t.Errorf("made again: %v", err)
	}
	if there, err := j.Exists(t.Context(), code); !there || err != nil {
		t.Errorf("the room is not there: %v, %v", there, err)
	}
	f := follow(t, j)
	f.reaches(1)
	if err := j.Delete(t.Context(), code); err != nil {
		t.Fatal(err)
	}
	f.ends(board.ErrNoRoom)
	if _, err := j.Lead(t.Context(), code); !errors.Is(err, board.ErrNoRoom) {
		t.Errorf("led after its end: %v", err)
	}
}

// A server that stood still has decided something, and another leads by now.
func TestWhoStoodStillCannotWrite(t *testing.T) {
	t.Parallel()
	addr := storetest.Start(t).Addr
	a, b := open(t, addr), open(t, addr)
	create(t, a)
	old := lead(t, a)
	appends(t, old, entry(2, "a"))
	send(t, b, "x")
	requests(t, old, 1)
	forceFree(t, addr) // as if the lease had run out
	next := lead(t, b)
	if err := old.Append(t.Context(), []board.Entry{entry(3, "late")}); !errors.Is(err, board.ErrFenced) {
		t.Fatalf("it could write before the new leader did: %v", err)
	}
	if got := requests(t, next, 1); got[0] != "x" {
		t.Errorf("the request that was not answered: %v", got)
	}
	appends(t, next, entry(3, "b"))
	if err := old.Append(t.Context(), []board.Entry{entry(3, "late")}); !errors.Is(err, board.ErrFenced) {
		t.Fatalf("it could write after the new leader had: %v", err)
	}
	if _, err := old.Next(t.Context(), time.Time{}); !errors.Is(err, board.ErrFenced) {
		t.Errorf("its term goes on: %v", err)
	}
	f := follow(t, a)
	f.reaches(3)
	if f.does[2] != "b" {
		t.Errorf("the log has %v", f.does)
	}
}

// forceFree takes the lock from who holds it.
func forceFree(t testing.TB, addr string) {
	t.Helper()
	client := storetest.Client(addr)
	defer client.Close()
	locker, err := lock.New(client, lock.Options{Protocol: lock.Fenced})
	if err != nil {
		t.Fatal(err)
	}
	defer locker.Close()
	if err := locker.ForceUnlock(t.Context(), "relock:room:{"+code+"}:lead"); err != nil {
		t.Fatal(err)
	}
}

func TestAnOrderIsDecidedOnce(t *testing.T) {
	addr := storetest.Start(t).Addr
	a, b := open(t, addr), open(t, addr)
	create(t, a)
	send(t, a, "1", "2") // nobody leads yet
	term := lead(t, a)
	if got := requests(t, term, 2); !slices.Equal(got, []string{"1", "2"}) {
		t.Fatalf("requests %v", got)
	}
	send(t, b, "3")
	appends(t, term, entry(2, "1"), entry(3, "2")) // not what has come since
	if got := requests(t, term, 1); got[0] != "3" {
		t.Fatalf("requests %v", got)
	}
	term.Resign() // without an answer
	term = lead(t, b)
	if got := requests(t, term, 1); got[0] != "3" {
		t.Fatalf("requests %v", got)
	}
	appends(t, term) // it came to nothing
	send(t, a, "4")
	if got := requests(t, term, 1); got[0] != "4" {
		t.Fatalf("requests %v", got)
	}
	term.Resign()
	term = lead(t, a)
	if got := requests(t, term, 1); got[0] != "4" {
		t.Fatalf("requests %v", got)
	}
}

func TestFollowersMissNothing(t *testing.T) {
	addr := storetest.Start(t).Addr
	a, b := open(t, addr), open(t, addr)
	create(t, a)
	client := storetest.Client(addr)
	defer client.Close()
	term := lead(t, a)
	fa, fb := follow(t, a), follow(t, b)
	fa.reaches(1)
	fb.reaches(1)
	seq := int64(1)
	for round := range 40 {
		if round%10 == 5 { // all that listen lose their connection
			if err := client.Do(t.Context(), "CLIENT", "KILL", "TYPE", "pubsub").Err(); err != nil {
				t.Fatal(err)
			}
		}
		var list []board.Entry
		for range 1 + round%3 {
			seq++
			list = append(list, entry(seq, strings.Repeat("x", round*round*60))) // larger than a message in the end
		}
		appends(t, term, list...)
	}
	fa.reaches(seq)
	fb.reaches(seq)
	late := follow(t, b)
	late.reaches(seq)
	if late.seqs[0] != 1 {
		t.Errorf("who comes late was given %v", late.seqs)
	}
}

func TestTheLogIsTrimmed(t *testing.T) {
	addr := storetest.Start(t).Addr
	j := open(t, addr)
	create(t, j)
	term := lead(t, j)
	f := follow(t, j)
	seq := int64(1)
	for range 5 {
		var list []board.Entry
		for range 600 {
			seq++
			list = append(list, entry(seq, "x"))
		}
		seq++
		appends(t, term, append(list, whole(seq))...)
		f.reaches(seq)
	}
	client := storetest.Client(addr)
	defer client.Close()
	if n := client.XLen(t.Context(), "relock:room:{"+code+"}:log").Val(); n != board.Overlap+1 {
		t.Errorf("%d entries are kept, want %d", n, board.Overlap+1)
	}
	late := follow(t, j)
	late.reaches(seq)
	if len(late.seqs) != 1 {
		t.Errorf("who comes late was given %d entries", len(late.seqs))
	}
	term.Resign()
	next, err := j.Lead(t.Context(), code)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Resign()
	if list, lost, err := next.Log(t.Context()); err != nil || len(list) != 1 || lost {
		t.Errorf("the next term begins with %d entries, %v, %v", len(list), lost, err)
	}
}

// A fail-over to a replica that lags takes back what somebody has seen.
func TestWhatRedisLost(t *testing.T) {
	addr := storetest.Start(t).Addr
	a, b := open(t, addr), open(t, addr)
	create(t, a)
	term := lead(t, a)
	appends(t, term, entry(2, "kept"))
	client := storetest.Client(addr)
	defer client.Close()
	replica := dump(t, client)
	f := follow(t, b)
	appends(t, term, entry(3, "lost"), entry(4, "lost"))
	f.reaches(4)
	restore(t, client, replica)
	if err := term.Append(t.Context(), []board.Entry{entry(5, "after")}); !errors.Is(err, board.ErrBroken) {
		t.Fatalf("it goes on after what was lost: %v", err)
	}
	forceFree(t, addr) // nobody is told
	next := lead(t, a)
	appends(t, next, entry(3, "again"), entry(4, "again"), entry(5, "again"))
	f.ends(board.ErrBroken)
	late := follow(t, b)
	late.reaches(5)
	if !slices.Equal(late.does, []string{"", "kept", "again", "again", "again"}) {
		t.Errorf("the log is %v", late.does)
	}
}

// A Redis that does not say who it is may be another with each term.
func TestARedisWithoutAName(t *testing.T) {
	addr := storetest.Start(t).Addr
	client := storetest.Client(addr)
	defer client.Close()
	if err := client.Do(t.Context(), "ACL", "SETUSER", "default", "-info").Err(); err != nil {
		t.Fatal(err)
	}
	j := open(t, addr)
	create(t, j)
	for _, want := range []bool{false, true} {
		term, err := j.Lead(t.Context(), code)
		if err != nil {
			t.Fatal(err)
		}
		list, lost, err := term.Log(t.Context())
		if err != nil || lost != want {
			t.Errorf("it may have lost its end: %v, %v, want %v", lost, err, want)
		}
		appends(t, term, entry(list[len(list)-1].Seq+1, "next"))
		term.Resign()
	}
}

// A Redis that lost the end of its data, and whose clock is behind, gives a
// fencing token out twice.
func TestATokenGivenTwice(t *testing.T) {
	addr := storetest.Start(t).Addr
	a, b := open(t, addr), open(t, addr)
	create(t, a)
	client := storetest.Client(addr)
	defer client.Close()
	client.Set(t.Context(), "relock:room:{"+code+"}:lead:token", int64(4e15), redis.KeepTTL) // the year 2096
	replica := dump(t, client)
	old := lead(t, a)
	if err := client.Del(t.Context(), "relock:room:{"+code+"}:lead").Err(); err != nil {
		t.Fatal(err)
	}
	restore(t, client, replica)
	next := lead(t, b)
	if err := old.Append(t.Context(), []board.Entry{entry(2, "late")}); !errors.Is(err, board.ErrFenced) {
		t.Fatalf("two terms with one token can write: %v", err)
	}
	appends(t, next, entry(2, "b"))
}

func dump(t testing.TB, client *redis.Client) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range client.Keys(t.Context(), "relock:room:*").Val() {
		all[key] = client.Dump(t.Context(), key).Val()
	}
	return all
}

func restore(t testing.TB, client *redis.Client, all map[string]string) {
	t.Helper()
	for key, value := range all {
		if err := client.RestoreReplace(t.Context(), key, time.Hour, value).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// A Redis that was restarted may have lost the end, and says so; it goes on by
// itself.
func TestRedisIsAway(t *testing.T) {
	t.Parallel()
	server := storetest.Start(t, storetest.Durable...)
	j := open(t, server.Addr)
	create(t, j)
	f := follow(t, j)
	term := lead(t, j)
	appends(t, term, entry(2, "before"))
	f.reaches(2)
	server.Kill()
	if err := j.Send(t.Context(), code, board.Request{}); err == nil {
		t.Error("a request was sent to nobody")
	}
	if _, err := term.Next(t.Context(), time.Time{}); !errors.Is(err, board.ErrFenced) {
		t.Errorf("a term without Redis goes on: %v", err)
	}
	next := make(chan board.Term, 1)
	go func() {
		term, err := j.Lead(t.Context(), code)
		if err != nil {
			t.Error(err)
		}
		next <- term
	}()
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	term = <-next
	defer term.Resign()
	list, lost, err := term.Log(t.Context())
	if err != nil || !lost || len(list) != 2 {
		t.Fatalf("after the restart: %d entries, lost %v, %v", len(list), lost, err)
	}
	appends(t, term, board.Entry{Seq: 3, Epoch: "new"})
	f.reaches(3)
	send(t, j, "x")
	requests(t, term, 1)
	term.Resign()
	again := lead(t, j)
	if _, lost, _ := again.Log(t.Context()); lost {
		t.Error("a new epoch is asked for twice")
	}
}

// A term's end is told: who waits does not wait for the lease to run out.
func TestATermsEndIsTold(t *testing.T) {
	t.Parallel()
	const long = 5 * time.Minute
	addr := storetest.Start(t).Addr
	a, b := leased(t, addr, long), leased(t, addr, long)
	create(t, a)
	term := lead(t, a)
	next := waiting(t, b)
	client := storetest.Client(addr)
	defer client.Close()
	until(t, "the other to look", func() bool { return looks(t, client) >= 1 })
	select {
	case <-next:
		t.Fatal("two lead")
	default:
	}
	began := time.Now()
	term.Resign()
	(<-next).Resign()
	if took := time.Since(began); took > long/4 {
		t.Errorf("it took %v though the term's end was told", took)
	}
}

// Nobody hears of the leader again: nothing renews it.
func TestTimedWaiterLeadsWithinALease(t *testing.T) {
	const lease = 3 * time.Second
	clocktest.Punctual(t, lease, func(t testing.TB) {
		addr := storetest.Start(t).Addr
		b := leased(t, addr, lease)
		create(t, b)
		client := storetest.Client(addr)
		defer client.Close()
		dead, err := lock.New(client, lock.Options{Protocol: lock.Fenced, Lease: lease, Renew: lock.NoWatchdog})
		if err != nil {
			t.Fatal(err)
		}
		defer dead.Close()
		if _, err := dead.TryLock(t.Context(), "relock:room:{"+code+"}:lead", lock.NewOwner()); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		(<-waiting(t, b)).Resign()
		if took := time.Since(began); took > 2*lease {
			t.Errorf("it took %v after the last word of who led", took)
		}
	})
}

// waiting returns the term that a journal waits for.
func waiting(t testing.TB, j *stream.Journal) <-chan board.Term {
	t.Helper()
	next := make(chan board.Term, 1)
	go func() {
		defer close(next)
		term, err := j.Lead(t.Context(), code)
		if err != nil {
			t.Error(err)
			return
		}
		next <- term
	}()
	return next
}

// A waiter asks once or twice in a lease, however many rooms there are.
func TestTimedWaitingCostsLittle(t *testing.T) {
	const lease = time.Second
	clocktest.Punctual(t, lease, func(t testing.TB) {
		addr := storetest.Start(t).Addr
		a, b := leased(t, addr, lease), leased(t, addr, lease)
		create(t, a)
		lead(t, a)
		client := storetest.Client(addr)
		defer client.Close()
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			if term, err := b.Lead(ctx, code); err == nil {
				term.Resign()
				t.Error("two lead")
			}
		}()
		began := time.Now()
		until(t, "the other to look", func() bool { return looks(t, client) >= 8 })
		if took := time.Since(began); took < 3*lease {
			t.Errorf("it looked 8 times in %v, with a lease of %v", took, lease)
		}
		stop()
		<-over
	})
}

// looks returns how often it was asked who holds a lock.
func looks(t testing.TB, client *redis.Client) (n int) {
	t.Helper()
	for line := range strings.SplitSeq(client.Info(t.Context(), "commandstats").Val(), "\r\n") {
		if rest, ok := strings.CutPrefix(line, "cmdstat_hgetall:calls="); ok { // of inspect.lua
			_, _ = fmt.Sscanf(rest, "%d", &n)
		}
	}
	return n
}

func TestEverythingExpires(t *testing.T) {
	addr := storetest.Start(t).Addr
	j := open(t, addr)
	create(t, j)
	client := storetest.Client(addr)
	defer client.Close()
	check := func(when string) {
		t.Helper()
		keys := client.Keys(t.Context(), "*").Val()
		for _, key := range keys {
			if client.PTTL(t.Context(), key).Val() <= 0 {
				t.Errorf("%s: %s does not expire", when, key)
			}
		}
		if len(keys) < 2 {
			t.Errorf("%s: only %v", when, keys)
		}
	}
	check("made")
	term := lead(t, j)
	check("led")
	send(t, j, "x")
	requests(t, term, 1)
	check("asked")
	appends(t, term, entry(2, "x"))
	check("decided")
	token := client.PTTL(t.Context(), "relock:room:{"+code+"}:lead:token").Val()
	if head := client.PTTL(t.Context(), "relock:room:{"+code+"}:head").Val(); token <= head || head < board.HostsAbsent {
		t.Errorf("the head expires in %v, the token in %v", head, token)
	}
	if err := j.Delete(t.Context(), code); err != nil {
		t.Fatal(err)
	}
	term.Resign()
	check("deleted")
}

func TestAnInboxHasAnEnd(t *testing.T) {
	addr := storetest.Start(t).Addr
	j := open(t, addr)
	create(t, j)
	client := storetest.Client(addr)
	defer client.Close()
	pipe := client.Pipeline()
	for range 9_999 {
		pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: "relock:room:{" + code + "}:inbox", Values: []string{"o", `{"conn":"x"}`}})
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	send(t, j, "x")
	if err := j.Send(t.Context(), code, board.Request{}); !errors.Is(err, board.ErrBusy) {
		t.Fatalf("one more: %v", err)
	}
	term := lead(t, j)
	requests(t, term, 10_000)
	appends(t, term)
	send(t, j, "y")
	if got := requests(t, term, 1); got[0] != "y" {
		t.Errorf("then came %v", got)
	}
}

func TestWhichServersAreGone(t *testing.T) {
	addr := storetest.Start(t).Addr
	a, b := open(t, addr), open(t, addr)
	gone := func(id string) bool { return slices.Contains(a.Gone([]string{a.Server(), id}), id) }
	until(t, "a server that nobody has heard of to be gone", func() bool { return gone("nobody") })
	if gone(b.Server()) || gone(a.Server()) {
		t.Fatal("a server that is alive is gone")
	}
	b.Close()
	until(t, "a server that has ended to be gone", func() bool { return gone(b.Server()) })
}
