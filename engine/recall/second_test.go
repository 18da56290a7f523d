package recall

import (
	"errors"
	"testing"
	"time"

	"relock/engine/journal"
	"relock/engine/store"
)

// second starts a Redis that ends with the test, and an embedded one.
func second(t *testing.T) (*Second, *embedded) {
	t.Helper()
	s, err := NewSecond(t.Context())
	if errors.Is(err, store.ErrNoServer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	m := newEmbedded()
	t.Cleanup(func() { _ = m.Close() })
	return s, m
}

// A Redis that is held up while it is asked answers with other times, three times out of
// three. Of that nothing is said; of another value in the same answer it is.
func TestABusyRedisIsNoOther(t *testing.T) {
	s, m := second(t)
	text := journal.Wrap("redis.call('SET', KEYS[1], 'me', 'PX', 30000) for _ = 1, 3000000 do end return 1")
	sha, err := m.Load(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	call := Call{Script: sha, Keys: []string{"k"}, Now: time.UnixMilli(1_000_000)}
	out, err := m.Run(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	s.Compare(t.Context(), text, call, out)
	if same, differ := s.take(); same != 0 || differ != nil {
		t.Errorf("the loop takes Redis some ms: %d the same, %+v", same, differ)
	}
	out.Items[0].Text = "you"
	s.Compare(t.Context(), text, call, out)
	if _, differ := s.take(); differ == nil {
		t.Error("another value: no difference")
	}
}

// What a Redis of its own process answers is compared: the reply, what is left, and how
// long it lives.
func TestASecondRedisIsAsked(t *testing.T) {
	s, m := second(t)
	items := []store.Item{
		{Name: "h", Type: "hash", Hash: map[string]string{"me": "1", "you": "2"}, TTL: time.Minute},
		{Name: "k", Type: "string", Text: "me", TTL: 5 * time.Second},
		{Name: "l", Type: "list", List: []string{"b", "a"}},
		{Name: "z", Type: "zset", Set: []store.Scored{{Member: "m", Score: 1.5}}},
	}
	text := journal.Wrap("redis.call('PEXPIRE', KEYS[1], 30000) redis.call('HGETALL', 'h') return {redis.call('PTTL', 'h'), redis.call('GET', KEYS[1])}")
	sha, err := m.Load(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	call := Call{Script: sha, Keys: []string{"k"}, Args: []any{"x"}, Now: time.UnixMilli(1_000_000), Items: items}
	out, err := m.Run(t.Context(), call)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is known
		s.Compare(t.Context(), text, call, out)
	}
	if same, differ := s.take(); same != 1 || differ != nil {
		t.Errorf("%d the same, %+v", same, differ)
	}
	for name, change := range map[string]func(i *store.Item){
		"another value": func(i *store.Item) { i.Text = "you" },
		"lives longer":  func(i *store.Item) { i.TTL += time.Second },
		"lives on":      func(i *store.Item) { i.TTL = 0 },
	} {
		other := out
		other.Items = append([]store.Item(nil), out.Items...)
		change(&other.Items[1])
		s.Compare(t.Context(), text, call, other)
		if same, differ := s.take(); same != 0 || differ == nil {
			t.Errorf("%s: %d the same, no difference", name, same)
		}
	}
	fails := Outcome{Err: unknownScript{}, Items: out.Items}
	s.Compare(t.Context(), text, call, fails)
	if _, differ := s.take(); differ == nil || differ.State == "" || differ.Here == differ.Real {
		t.Errorf("an error: %+v", differ)
	}
}
