package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"relock/engine/scenario"
	"relock/engine/store"
	"relock/engine/trace"
)

// A key is said to be left over where Redis says so, and not where nobody has
// heard yet that it is gone.
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
			if err := w.awaitLease(t.Context()); err != nil {
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

// Where a lease may have ended before a script ran, what the script read first
// says so. What it wrote first cannot.
func TestAReadTellsWhetherTheKeyWasGone(t *testing.T) {
	held := trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{"a": "1", "#A": "1"}, PTTL: 1}
	for _, c := range []struct {
		verb string
		key  trace.KeyState
		gone bool
	}{
		{"HMGET", held, false},
		{"HMGET", trace.Absent(), true},
		{"EXISTS", held, false},
		{"HEXISTS", trace.Absent(), true},
		{"TIME", held, false},
		{"GET", held, false},
		{"SET", held, true},
		{"HINCRBY", held, true},
	} {
		first := trace.Event{Key: c.key, Body: trace.Command{Args: []string{c.verb, "KEY"}}}
		if got := (&wall{}).goneBefore(item{events: []trace.Event{first}}, false); got != c.gone {
			t.Errorf("%s that leaves %+v: %v, want %v", c.verb, c.key, got, c.gone)
		}
	}
	if (&wall{}).goneBefore(item{}, false) || !(&wall{}).goneBefore(item{}, true) {
		t.Error("what is local waits until all is released")
	}
}
