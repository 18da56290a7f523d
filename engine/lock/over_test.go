package lock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/lock"
	"relock/engine/lock/protocol"
	"relock/engine/store/storetest"
)

// overKey has the calls that are over: {owner/locker: "number until"}.
var overKey = protocol.Companion(key, "over")

// lateFor is how long a copy of a call can be late.
const lateFor = 15 * time.Minute

// overOf returns the number that is noted for the calls of an owner through the
// Locker named ID, 0 if none is. It wants it to be kept for lateFor.
func overOf(t *testing.T, c redis.UniversalClient, owner lock.Owner) int64 {
	t.Helper()
	said := c.HGet(t.Context(), overKey, string(owner)+"/ID").Val()
	if said == "" {
		return 0
	}
	first, second, _ := strings.Cut(said, " ")
	number, err1 := strconv.ParseInt(first, 10, 64)
	until, err2 := strconv.ParseInt(second, 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		t.Error(err)
	}
	for what, left := range map[string]time.Duration{
		"the note": time.UnixMilli(until).Sub(c.Time(t.Context()).Val()),
		"its key":  c.PTTL(t.Context(), overKey).Val(),
	} {
		if left <= lateFor-time.Minute || left > lateFor {
			t.Errorf("%s %q is kept for %v, want %v", what, said, left, lateFor)
		}
	}
	return number
}

// A call is noted as over when a first acquisition went unanswered and its hold, if there
// was one, has ended: not before, and not otherwise.
func TestWhenItIsNotedThatCallsAreOver(t *testing.T) {
	for name, row := range map[string]struct {
		silent map[int64]bool // calls that get no answer
		depth  int
		noted  bool
	}{
		"all answered":                     {nil, 2, false},
		"the first acquisition":            {map[int64]bool{1: true}, 1, true},
		"the first, and its release":       {map[int64]bool{1: true, 3: true}, 1, true},
		"the first of two levels":          {map[int64]bool{1: true}, 2, true},
		"an inner level":                   {map[int64]bool{2: true}, 2, false},
		"the release":                      {map[int64]bool{2: true}, 1, false},
		"all acquisitions; it is given up": {map[int64]bool{1: true, 2: true, 3: true}, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			onNumbered(t, func(t *testing.T, p *postman, l *lock.Locker) {
				p.loses = func(call int64) bool { return row.silent[call] }
				owner := lock.NewOwner()
				err := nested(l, owner, row.depth, func(int) {
					if n := p.Exists(t.Context(), overKey).Val(); n != 0 {
						t.Error("noted while it is held")
					}
				})
				if given := len(row.silent) == 3; given != errors.Is(err, lock.ErrUnknown) || !given && err != nil {
					t.Errorf("nested: %v", err)
				}
				var want int64
				if row.noted {
					want = p.number(t, len(p.sent)-1) // of the last release
				}
				if got := overOf(t, p, owner); got != want {
					t.Errorf("noted: %d, want %d", got, want)
				}
				if n := p.HLen(t.Context(), overKey).Val(); (n == 1) != row.noted {
					t.Errorf("%d notes", n)
				}
			})
		})
	}
}

// An acquisition that took longer than the first 100 ms is sent again in
// another way, and so may have left a copy.
func TestSlowAcquisitionIsNotedToo(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		l := locker(t, c, lock.Options{ID: "ID"})
		slow := &stalled{loses: func(call int64) bool { return call == 1 }}
		c.AddHook(slow)
		owner := lock.NewOwner()
		h := acquire(t, l, owner)
		unlock(t, h)
		if overOf(t, c, owner) == 0 {
			t.Error("not noted")
		}
	})
}

// A release that comes late does not put its number in the place of a larger
// one, of calls that came after it.
func TestLateReleaseLowersNoNumber(t *testing.T) {
	onNumbered(t, func(t *testing.T, p *postman, l *lock.Locker) {
		owner := lock.NewOwner()
		var noted int64
		for round := range 2 {
			p.sent, p.silent = p.sent[:min(len(p.sent), 3)], 1
			h, err := l.Lock(context.Background(), key, owner)
			if err != nil {
				t.Fatal(err)
			}
			unlock(t, h)
			now := overOf(t, p, owner)
			if now <= noted {
				t.Errorf("round %d: noted %d after %d", round, now, noted)
			}
			noted = now
		}
		p.again(t, 2) // the first round's release
		if got := overOf(t, p, owner); got != noted {
			t.Errorf("a late release changed %d to %d", noted, got)
		}
	})
}

// Notes whose time is over go when another is written, and so does what is no
// note. The others stay, and so does the release that writes.
func TestNotesGoWhenTheirTimeIsOver(t *testing.T) {
	onNumbered(t, func(t *testing.T, p *postman, l *lock.Locker) {
		now := p.Time(t.Context()).Val()
		notes := map[string]string{
			"late/x": fmt.Sprint("7 ", now.Add(time.Minute).UnixMilli()),
			"over/x": fmt.Sprint("7 ", now.Add(-time.Millisecond).UnixMilli()),
			"bare/x": "7",
			"none":   "no note",
		}
		if err := p.HSet(t.Context(), overKey, notes).Err(); err != nil {
			t.Fatal(err)
		}
		owner := lock.NewOwner()
		p.silent = 1
		h, err := l.Lock(context.Background(), key, owner)
		if err != nil {
			t.Fatal(err)
		}
		unlock(t, h)
		overOf(t, p, owner)
		left := slices.Sorted(maps.Keys(p.HGetAll(t.Context(), overKey).Val()))
		if want := slices.Sorted(slices.Values([]string{string(owner) + "/ID", "late/x"})); !slices.Equal(left, want) {
			t.Errorf("notes %q, want %q", left, want)
		}
	})
}

// A full Redis has no room for a note: what is given back is given back all the
// same.
func TestFullRedisNeedsNoNote(t *testing.T) {
	c := storetest.Redis(t)
	load(t, c)
	n := &network{UniversalClient: c, loseRequest: func(call int64) bool { return call == 1 }}
	var results []lock.Result
	l := locker(t, n, lock.Options{Observer: observer(func(a lock.Attempt) { results = append(results, a.Result) })})
	if err := c.ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := l.TryLock(context.Background(), key, lock.NewOwner())
	wantIs(t, err, lock.ErrUnknown)
	if want := []lock.Result{lock.Failed, lock.NotHeld}; !slices.Equal(results, want) {
		t.Errorf("the acquisition and its release were %v, want %v", results, want)
	}
}

// While a cluster moves the slot, Redis answers TRYAGAIN to several keys. The
// release and its note then go one by one.
func TestReleaseOfAMovingSlotGoesKeyByKey(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, proto := range []lock.Protocol{lock.Sequenced, lock.ReentrantNotify, lock.Fenced} {
			for _, late := range []bool{false, true} {
				loadAll(t, c, proto)
				moving := false
				n := &network{UniversalClient: c, loseReply: func(call int64) bool { return late && call == 1 }}
				n.says = func(_ int64, keys []string) answer {
					if moving && len(keys) > 1 {
						return "TRYAGAIN Multiple keys request during rehashing of slot"
					}
					return ""
				}
				l := locker(t, n, lock.Options{Protocol: proto, ID: "ID", Interval: time.Millisecond, Limit: time.Second, Messenger: lock.PubSub(c)})
				owner := lock.NewOwner()
				h, err := l.Lock(context.Background(), key, owner)
				if err != nil {
					t.Fatal(err)
				}
				moving = true
				inner := acquire(t, l, owner) // a held lock goes on
				unlock(t, inner)
				unlock(t, h)
				wantCount(t, c, owner, 0)
				if noted := overOf(t, c, owner) != 0; noted != late {
					t.Errorf("%s: noted %v, want %v", proto.Name, noted, late)
				}
				l.Close()
			}
		}
	})
}

// A Locker takes up the ID of one that left a note, as a program does that is
// started again and names itself: its numbers are larger.
func TestLockerWithTheIDOfAnEarlierOne(t *testing.T) {
	onNumbered(t, func(t *testing.T, p *postman, l *lock.Locker) {
		owner := lock.NewOwner()
		for range 2 {
			p.silent = 1
			h, err := l.Lock(t.Context(), key, owner)
			if err != nil {
				t.Fatal(err)
			}
			unlock(t, h)
		}
		proto := lock.Sequenced // the note is the same in all of them
		unlock(t, acquire(t, locker(t, p, lock.Options{Protocol: proto, ID: "ID"}), owner))
	})
}

// A name under which Redis keeps something of another lock is no lock's name, for any
// protocol and call: the other lock may delete it.
func TestANameOfAnotherLocksCompanionIsBad(t *testing.T) {
	onBoth(t, func(t *testing.T, c redis.UniversalClient) {
		for _, p := range append(counted(), lock.Redlock) {
			l := locker(t, c, lock.Options{Protocol: p})
			for _, of := range counted() {
				for _, name := range []string{"x", "u:{x}", "u:{x}:y"} {
					for _, bad := range of.Keys(name)[1:] {
						_, err := l.TryLock(t.Context(), bad, lock.NewOwner())
						wantIs(t, err, lock.ErrNotAcquired, lock.ErrKey)
						_, err = l.Inspect(t.Context(), bad)
						wantIs(t, err, lock.ErrKey)
						wantIs(t, l.ForceUnlock(t.Context(), bad), lock.ErrKey)
					}
				}
			}
			for _, good := range []string{"turn:over", "u:{x}:over:1", "u:{x}:mover", "queue", ":token"} { // nobody else's
				h, err := l.TryLock(t.Context(), good, lock.NewOwner())
				if err != nil {
					t.Fatal(err)
				}
				unlock(t, h)
			}
			l.Close()
		}
	})
}
