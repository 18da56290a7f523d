package box_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"relock/engine/clock"
	"relock/engine/outside/box"
	"relock/engine/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open returns a pool that ends with the test.
func open(tb testing.TB, o box.Options) *box.Pool {
	tb.Helper()
	p, err := box.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = p.Close() })
	return p
}

var now = clock.Epoch.Add(time.Hour)

func TestAQuestionIsAnsweredInItsState(t *testing.T) {
	p := open(t, box.Options{})
	q := box.Question{
		Script: "local n = redis.call('HINCRBY', KEYS[1], ARGV[1], 2)\nredis.call('PEXPIRE', KEYS[1], 5000)\nreturn {n, redis.call('PUBLISH', 'c', 'x'), redis.call('TIME')[1], false}",
		Keys:   []string{"k"}, Args: []string{"me"}, Now: now, Channels: []string{"c", "c", "d"},
		Items: []store.Item{{Name: "a", Type: "list", List: []string{"1", "2"}}, {Name: "k", Type: "hash", Hash: map[string]string{"me": "1"}, TTL: time.Second}, {Name: "z", Type: "zset", Set: []store.Scored{{Member: "m", Score: 1.5}}}},
	}
	for range 2 { // nothing stays
		a, err := p.Ask(t.Context(), "me", q)
		if err != nil {
			t.Fatal(err)
		}
		want := box.Answer{Reply: []any{int64(3), int64(2), "1577840400", nil}, Items: []store.Item{
			q.Items[0], {Name: "k", Type: "hash", Hash: map[string]string{"me": "3"}, TTL: 5 * time.Second}, q.Items[2],
		}}
		want.Reply.([]any)[2] = a.Reply.([]any)[2]
		if diff := cmp.Diff(want, a); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMistakesAreTold(t *testing.T) {
	p := open(t, box.Options{Limit: time.Minute}) // on a busy machine what has its own time ends late
	for script, want := range map[string]struct {
		kind error
		line int
	}{
		"\nreturn (": {box.ErrSyntax, 2}, "\n\nx = = 1": {box.ErrSyntax, 3}, "for i = 1, 2 do\n goto done end ::done::": {box.ErrSyntax, 2},
		"local i = 0\nwhile true do\ni = i + 1 end": {box.ErrEndless, 3},
	} {
		_, err := p.Ask(t.Context(), "me", box.Question{Script: script, Now: now})
		var fault *box.Fault
		if !errors.As(err, &fault) || !errors.Is(err, want.kind) || fault.Lines.Below(0) != want.line && fault.Lines.Below(0) != want.line-1 {
			t.Errorf("%q: %v, want line %d", script, err, want.line)
		}
	}
}

// Without the kernel's walls the same Lua answers, and is ended as well.
func TestUnwalled(t *testing.T) {
	p := open(t, box.Options{Unwalled: true, Children: 1})
	if a, err := p.Ask(t.Context(), "me", quiet); err != nil || a.Err != "" || reply(a.Reply) != "ab,OK,1" {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := p.Ask(t.Context(), "me", box.Question{Script: "while true do end", Now: now}); !errors.Is(err, box.ErrEndless) {
		t.Errorf("%v, want endless", err)
	}
	if a, err := p.Ask(t.Context(), "me", box.Question{Script: "return os.getenv('HOME')", Now: now}); err != nil || a.Err == "" {
		t.Errorf("%+v, %v: Lua has no os", a, err)
	}
}

func TestOptionsThatABoxRefuses(t *testing.T) {
	for _, o := range []box.Options{{Children: 5}, {Children: -1}, {Limit: -1}} {
		if p, err := box.New(o); err == nil {
			_ = p.Close()
			t.Errorf("%+v is taken", o)
		}
	}
	p := open(t, box.Options{})
	if _, err := p.Ask(t.Context(), "me", box.Question{Script: strings.Repeat(" ", 2<<20), Now: now}); !errors.Is(err, box.ErrQuestion) {
		t.Errorf("%v, want too large", err)
	}
}
