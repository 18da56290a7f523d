package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"relock/engine/clock"
	"relock/engine/store"
	"relock/engine/store/storetest"
	"relock/engine/trace"
)

func TestKeysExpireAtTheExactMillisecond(t *testing.T) {
	e := store.NewEmbedded(clock.Epoch)
	defer func() { _ = e.Close() }()
	c, ctx := e.Client(), t.Context()
	c.HIncrBy(ctx, "k", "a", 2)
	if k := e.Key("k"); k.PTTL != trace.NoExpiry || k.Fields["a"] != "2" || k.Type != trace.TypeHash {
		t.Errorf("a hash without expiry: %+v", k)
	}
	e.SetTime(clock.Epoch.Add(10*time.Millisecond + 700*time.Microsecond)) // Redis counts whole ones
	c.PExpire(ctx, "k", 200*time.Millisecond)
	for _, s := range []struct {
		at   time.Duration
		want int64
	}{{10, 200}, {110, 100}, {209, 1}} {
		e.SetTime(clock.Epoch.Add(s.at * time.Millisecond))
		if k := e.Key("k"); k.PTTL != s.want {
			t.Errorf("at %d ms: PTTL %d, want %d", s.at, k.PTTL, s.want)
		}
		if got := c.PTTL(ctx, "k").Val().Milliseconds(); got != s.want {
			t.Errorf("at %d ms: PTTL command gives %d, want %d", s.at, got, s.want)
		}
	}
	e.SetTime(clock.Epoch.Add(210 * time.Millisecond))
	if k := e.Key("k"); k.Exists() || k.PTTL != trace.NoKey {
		t.Errorf("at 210 ms: %+v, want no key", k)
	}
	c.Set(ctx, "s", "v", 0)
	if k := e.Key("s"); k.Type != trace.TypeString || k.Value == nil || *k.Value != "v" {
		t.Errorf("a string: %+v", k)
	}
}

func TestWhatThereIsToLose(t *testing.T) {
	e := store.NewEmbedded(clock.Epoch)
	defer func() { _ = e.Close() }()
	c, ctx := e.Client(), t.Context()
	is := func(name string, empty, expiry bool) {
		t.Helper()
		if e.Empty() != empty || e.HasExpiry() != expiry {
			t.Errorf("%s: empty %t, with an expiry %t; want %t and %t", name, e.Empty(), e.HasExpiry(), empty, expiry)
		}
	}
	is("at first", true, false)
	c.Set(ctx, "k", "v", 100*time.Millisecond)
	is("a lease", false, true)
	e.SetTime(clock.Epoch.Add(100 * time.Millisecond))
	is("it has run out", true, false)
	c.Incr(ctx, "token")
	is("a counter", false, false)
	if has, err := e.HasScripts(ctx, nil); has || err != nil {
		t.Errorf("of no scripts: %t, %v", has, err)
	}
}

func TestConnect(t *testing.T) {
	for _, bad := range []string{"http://user:secret@host", "::secret", "redis://user:secret@host:notaport", "redis://user:1234/secret@localhost:6379"} {
		_, err := store.Connect(t.Context(), bad)
		if !errors.Is(err, store.ErrURL) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want ErrURL without the password", bad, err)
		}
	}
	_, err := store.Connect(t.Context(), "redis://user:secret@127.0.0.1:1")
	if !errors.Is(err, store.ErrUnreachable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("closed port: %v, want ErrUnreachable without the password", err)
	}
	url := storetest.URL(t)
	e, err := store.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Close() }()
	if want := strings.TrimPrefix(url, "redis://"); e.Name() != want {
		t.Errorf("name %q, want %q", e.Name(), want)
	}
}
