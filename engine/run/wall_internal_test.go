package run

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"relock/engine/clock"
	"relock/engine/journal"
	"relock/engine/lock"
	"relock/engine/panics"
	"relock/engine/run/order"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/trace"
)

// It says that a key is left over if Redis says so, and not while nobody has heard yet
// that it is gone.
func TestNoKeyIsLeftOverThatRedisHasDropped(t *testing.T) {
	sc, err := scenario.Parse([]byte("threads: [{name: A}]\nlock: {lease: 1ms, key: K}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		stands bool
		want   []trace.Kind
	}{
		{"dropped", false, []trace.Kind{trace.KindExpired}},
		{"left over", true, []trace.Kind{trace.KindViolation}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := New(sc, Options{Wall: true})
			if err != nil {
				t.Fatal(err)
			}
			redis := store.NewEmbedded(time.Time{})
			t.Cleanup(func() { _ = redis.Close() })
			w := &wall{r: r, out: r.newChecked(), client: redis.Client(), start: time.Now().Add(-time.Second)}
			w.key = trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{string(r.threads[0].owner): "1"}, PTTL: 1}
			if c.stands {
				if err := w.client.HSet(t.Context(), "K", string(r.threads[0].owner), 1).Err(); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.ask(t.Context()); err != nil {
				t.Fatal(err)
			}
			events, _ := r.Log().Since(0)
			var got []trace.Kind
			for _, e := range events {
				got = append(got, e.Kind())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A script's first read says whether the key was there before it. A first write cannot.
func TestAReadTellsWhetherTheKeyWasGone(t *testing.T) {
	held := trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{"a": "1", "#A": "1"}, PTTL: 1}
	for _, c := range []struct {
		verb string
		key  trace.KeyState
		want order.Key
	}{
		{"HMGET", held, order.Stood},
		{"HMGET", trace.Absent(), order.Gone},
		{"EXISTS", held, order.Stood},
		{"HEXISTS", trace.Absent(), order.Gone},
		{"TIME", held, order.Stood},
		{"PTTL", trace.Absent(), order.Gone},
		{"GET", held, order.Stood},
		{"SET", held, order.Unknown},
		{"HINCRBY", held, order.Unknown},
	} {
		first := trace.Event{Key: c.key, Body: trace.Command{Args: []string{c.verb, "KEY"}}}
		if got := found([]trace.Event{first}); got != c.want {
			t.Errorf("%s that leaves %+v: %v, want %v", c.verb, c.key, got, c.want)
		}
	}
}

// Redis' clock and the client's are set against each other with one round trip:
// what was sent a moment later may bear an earlier time.
func TestWhatWasJustSentMayHaveRunBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc, err := scenario.Parse([]byte("threads: [{name: A}, {name: B}]"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(sc, Options{Wall: true})
		if err != nil {
			t.Fatal(err)
		}
		w := newWall(r)
		w.start = time.Now()
		time.Sleep(10 * time.Millisecond)
		ran := func(ms time.Duration) []sent {
			return []sent{{passage: passage{delayed: true, late: true}, rec: journal.Record{Time: ms * time.Millisecond, Entries: []journal.Entry{{Args: []string{"GET", "K"}, Key: trace.Absent()}}}}}
		}
		first, second := w.sending(), w.sending()
		first(r.threads[0], ran(9))
		second(r.threads[1], ran(8))
		events, _ := r.Log().Since(0)
		if len(events) != 2 || events[0].Thread != "B" || events[1].Thread != "A" {
			t.Errorf("%+v, want B's command before A's", events)
		}
	})
}

// Of those that start at one moment, each waits until the one before it, as the
// scenario has them, has had its first answer. A thread that starts later waits for
// nobody.
func TestThoseWhoStartTogetherAskInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sc, err := scenario.Parse([]byte("threads: [{name: LATE, start: 5ms}, {name: A}, {name: B}, {name: C}]"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := New(sc, Options{Wall: true})
		if err != nil {
			t.Fatal(err)
		}
		w := newWall(r)
		r.machine, r.rec, w.start = w, w, time.Now()
		processes := clock.NewWall(func(p *panics.Error) { t.Error(p) })
		w.guarding = processes.Guard
		process := w.processOf(processes)
		asked, answer := make(chan string, len(r.threads)), make(chan struct{})
		for _, th := range r.threads {
			th.process, th.redis = clock.NewDrifting(process(th.spec.Name), 0), &wire{sent: map[string]count{}}
			th.locker = locker{close: func() {}, lock: func(context.Context, string, lock.Owner) (hold, error) {
				asked <- th.spec.Name
				<-answer
				return nil, lock.ErrHeld
			}}
		}
		w.spawn()
		soFar := func() string {
			synctest.Wait()
			var names []string
			for len(asked) > 0 {
				names = append(names, <-asked)
			}
			return strings.Join(names, " ")
		}
		if got := soFar(); got != "A" {
			t.Errorf("%q have asked, want A alone", got)
		}
		for _, next := range []string{"A", "B"} { // who is answered
			w.hasAsked(r.thread(next))
			if got, want := soFar(), map[string]string{"A": "B", "B": "C"}[next]; got != want {
				t.Errorf("after %s was answered %q ask, want %s", next, got, want)
			}
		}
		time.Sleep(5 * time.Millisecond)
		if got := soFar(); got != "LATE" {
			t.Errorf("5 ms later %q ask, want LATE", got)
		}
		close(answer)
		processes.Wait()
	})
}
