package lock_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/store/storetest"
)

// rules returns the rules in the doc comment of the package, a line each.
func rules(t *testing.T) [][]any {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var all [][]any
	for _, line := range regexp.MustCompile(`(?m)^//\tACL SETUSER app (.*)$`).FindAllStringSubmatch(string(doc), -1) {
		var rule []any
		for word := range strings.FieldsSeq(line[1]) {
			rule = append(rule, word)
		}
		all = append(all, rule)
	}
	if len(all) != 7 {
		t.Fatalf("doc.go has %d lines of rules, want 7", len(all))
	}
	return all
}

// restricted returns a client of a user who has the documented rights of those
// lines, and the operator's.
func restricted(t *testing.T, lines ...int) (c, operator redis.UniversalClient) {
	t.Helper()
	s := storetest.Start(t)
	operator = connect(t, s.Addr, redis.Options{})
	all := rules(t)
	setUser(t, operator, "reset", "on", ">secret")
	for _, line := range lines {
		setUser(t, operator, all[line]...)
	}
	return connect(t, s.Addr, redis.Options{Username: "app", Password: "secret", MaxRetries: -1}), operator
}

func setUser(t *testing.T, operator redis.UniversalClient, rules ...any) {
	t.Helper()
	if err := operator.Do(t.Context(), append([]any{"ACL", "SETUSER", "app"}, rules...)...).Err(); err != nil {
		t.Fatal(err)
	}
}

// The rights that doc.go names suffice for every protocol: also for calls that
// wait, are repeated, give back and remember.
func TestTheDocumentedRightsSuffice(t *testing.T) {
	const keys, numbers, tokens, channel, waiters, quorum, look = 0, 1, 2, 3, 4, 5, 6
	for _, of := range []struct {
		p     lock.Protocol
		lines []int
	}{
		{lock.Sequenced, []int{keys, numbers, look}},
		{lock.Reentrant, []int{keys, numbers, look}},
		{lock.Fenced, []int{keys, numbers, tokens, look}},
		{lock.ReentrantNotify, []int{keys, numbers, channel, waiters, look}},
		{lock.ReentrantFair, []int{keys, numbers, channel, waiters, look}},
		{lock.Redlock, []int{keys, quorum, look}},
	} {
		t.Run(of.p.Name, func(t *testing.T) {
			c, operator := restricted(t, of.lines...)
			const key = "invoice:7"
			n := &network{UniversalClient: c}
			o := lock.Options{Protocol: of.p, Renew: 5 * time.Millisecond, Interval: time.Millisecond, Lease: 5 * time.Second, Messenger: lock.PubSub(c)}
			renewed := make(chan struct{}, 1000)
			o.Observer = observer(func(a lock.Attempt) {
				if errors.Is(a.Err, lock.ErrRefused) {
					t.Errorf("%s: %v", a.Name, a.Err)
				}
				if a.Result == lock.Renewed {
					renewed <- struct{}{}
				}
			})
			l := locker(t, n, o)
			t.Cleanup(l.Close)
			enter := func(owner lock.Owner) *lock.Hold {
				h, err := l.Lock(t.Context(), key, owner)
				if err != nil {
					t.Fatal(err)
				}
				return h
			}
			load(t, operator)
			n.loseReply = func(call int64) bool { return call == 1 } // so that it is remembered, twice
			owner := lock.NewOwner()
			outer := enter(owner)
			<-renewed
			if of.p.Levels {
				unlock(t, enter(owner))
			}
			waits := make(chan *lock.Hold)
			go func() {
				h, err := l.Lock(t.Context(), key, lock.NewOwner())
				if err != nil {
					t.Error(err)
				}
				waits <- h
			}()
			if of.p.Waiters != nil {
				for s := (lock.State{}); s.Waiting == 0; {
					var err error
					if s, err = l.Inspect(t.Context(), key); err != nil {
						t.Fatal(err)
					}
				}
			}
			unlock(t, outer)
			if h := <-waits; h != nil {
				unlock(t, h)
			}
			enter(lock.NewOwner())
			if err := l.ForceUnlock(t.Context(), key); err != nil {
				t.Error(err)
			}
		})
	}
}

// A Lock without the right to listen, or to send the messages that wake others, says so.
func TestALockWithoutRightsToItsMessagesIsRefused(t *testing.T) {
	for _, p := range []lock.Protocol{lock.ReentrantNotify, lock.ReentrantFair} {
		for _, missing := range []string{"resetchannels", "-subscribe", "-publish"} {
			t.Run(p.Name+"/"+missing, func(t *testing.T) {
				c, operator := restricted(t, 0, 1, 3, 4)
				setUser(t, operator, missing)
				l := locker(t, c, lock.Options{Protocol: p})
				t.Cleanup(l.Close)
				_, err := l.Lock(t.Context(), "invoice:7", lock.NewOwner())
				wantIs(t, err, lock.ErrNotAcquired, lock.ErrRefused)
				if !strings.Contains(err.Error(), "NOPERM") {
					t.Error(err)
				}
			})
		}
	}
}

// overheard is a Messenger with which a test can speak, too.
type overheard struct {
	lock.Messenger

	receive func(message string)
}

func (o *overheard) Listen(ctx context.Context, channel string, receive func(string)) (func(), error) {
	o.receive = receive
	return o.Messenger.Listen(ctx, channel, receive)
}

// A right that is taken away later does not make a release an error, and
// nobody waits for ever: waiters ask by themselves, in their order.
func TestAReleaseWhoseMessageIsRefusedIsARelease(t *testing.T) {
	for _, p := range []lock.Protocol{lock.ReentrantNotify, lock.ReentrantFair} {
		t.Run(p.Name, func(t *testing.T) {
			c, operator := restricted(t, 0, 1, 3, 4, 6)
			const key = "invoice:7"
			told := make(chan error, 100)
			inbox := &overheard{Messenger: lock.PubSub(c)}
			l := locker(t, c, lock.Options{ // with a lease that no stall outlasts
				Protocol: p, Lease: 5 * time.Minute, Messenger: inbox,
				Observer: observer(func(a lock.Attempt) {
					if a.Result == lock.Released {
						told <- a.Err
					}
				}),
			})
			t.Cleanup(l.Close)
			h, err := l.Lock(t.Context(), key, lock.NewOwner())
			if err != nil {
				t.Fatal(err)
			}
			order := make(chan int, 3)
			var waiting sync.WaitGroup
			for i := range 3 {
				waiting.Go(func() {
					h, err := l.Lock(t.Context(), key, lock.NewOwner())
					if err != nil {
						t.Error(err)
					}
					order <- i
					if err := h.Unlock(t.Context()); err != nil {
						t.Error(err)
					}
				})
				for s := (lock.State{}); s.Waiting != i+1; {
					if s, err = l.Inspect(t.Context(), key); err != nil {
						t.Fatal(err)
					}
				}
			}
			setUser(t, operator, "-publish")
			if err := h.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
			if err := <-told; !errors.Is(err, lock.ErrRefused) || !strings.Contains(err.Error(), "run this command") {
				t.Error(err)
			}
			for len(order) < cap(order) { // they need not wait until it is time to ask
				inbox.receive(lock.Missed)
				time.Sleep(time.Millisecond)
			}
			for want := range 3 {
				if got := <-order; p == lock.ReentrantFair && got != want {
					t.Errorf("waiter %d came as number %d", got, want)
				}
			}
			waiting.Wait()
		})
	}
}
