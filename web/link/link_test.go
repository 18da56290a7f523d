package link_test

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"relock/engine/scenario"
	"relock/web/link"
	"relock/web/site/keep"
)

func parse(t testing.TB, text string) *scenario.Scenario {
	t.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

const three = `
title: Three threads and what went wrong
lock: {key: ORDER_7, lease: 250ms, watchdog: 80ms, retry: {times: 6, interval: 40ms, jitter: 0-10ms}}
threads: [{name: A, depth: 3, work: 30ms-60ms, after: 5ms-7ms}, {name: B, start: 5ms}, {name: C, start: 9ms, repeat: 2, on-lost: stop}]
faults: [{thread: A, at: work, level: 2, do: pause, for: 300ms}, {time: 120ms, do: fail-over}]
seed: 42
schedule: [0, 1, 2, 0, 0, 1, 0, 2, 1, 0, {until: 137.5ms}, 0, 0, 1, {do: pause, thread: B, for: 90ms}, 2, 0, 0, 1, 1, 0, 2, 0, 0, 1, {do: evict}, 0, 1, 0, 0]
`

func TestALinkIsShortAndComesBackTheSame(t *testing.T) {
	want := link.Contents{Scenario: parse(t, three), At: 17}
	text, err := link.Encode(want)
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Scenario.Schedule) != 30 || len(text) >= 400 {
		t.Errorf("%d characters for %d decisions, want fewer than 400 for 30:\n%s", len(text), len(want.Scenario.Schedule), text)
	}
	got, err := link.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(scenario.Scenario{})); diff != "" {
		t.Error(diff)
	}
}

func packed(t testing.TB, plain string) string {
	t.Helper()
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(plain)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "v1.z." + base64.RawURLEncoding.EncodeToString(b.Bytes())
}

func TestLinksThatCannotBeRead(t *testing.T) {
	good := packed(t, `{"threads":[{"name":"A"}]}`)
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"nothing", "", link.ErrVersion},
		{"another version", "v2" + good[2:] + "~0", link.ErrVersion},
		{"cut short", good[:len(good)-4] + "~0", link.ErrBroken},
		{"cut before its position", good, link.ErrBroken},
		{"a position before the start", good + "~-1", link.ErrBroken},
		{"no base64", "v1.z.!!!~0", link.ErrBroken},
		{"a bomb", packed(t, strings.Repeat(" ", 10<<20)) + "~0", link.ErrTooLong},
		{"longer than any link", "v1.z." + strings.Repeat("A", link.MaxPacked) + "~0", link.ErrTooLong},
	} {
		if _, err := link.Decode(c.text); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	var mistakes scenario.Mistakes
	if _, err := link.Decode(packed(t, `{"threads":[{"name":"A","depth":99}]}`) + "~0"); !errors.As(err, &mistakes) {
		t.Errorf("a bad scenario: %v", err)
	}
	state, err := link.Decode(good + "~99")
	if err != nil || state.At != 0 {
		t.Errorf("a position beyond the moves: %d, %v; want the end, 0", state.At, err)
	}
}

func TestShelf(t *testing.T) {
	shelf := link.NewShelf(keep.InMemory(link.MemoryLimits))
	want := link.Contents{Scenario: parse(t, three), At: 3}
	id, err := shelf.Keep(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	again, err := shelf.Keep(t.Context(), want)
	if err != nil || again != id {
		t.Errorf("the same state has the ids %q and %q, %v", id, again, err)
	}
	if len(id) < 11 || strings.HasSuffix(id, "-") || strings.HasSuffix(id, "_") {
		t.Errorf("id %q", id)
	}
	text, err := shelf.Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	got, err := link.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(scenario.Scenario{})); diff != "" {
		t.Error(diff)
	}
	if _, err := shelf.Find(t.Context(), "AAAAAAAAAAA"); !errors.Is(err, keep.ErrNotKept) {
		t.Errorf("what was never kept: %v", err)
	}
}

func TestLinksInAFolderAreFoundAfterARestart(t *testing.T) {
	dir := t.TempDir()
	var id string
	for range 2 {
		shelf, err := link.InFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		if id == "" {
			if id, err = shelf.Keep(t.Context(), link.Contents{Scenario: parse(t, three)}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if _, err := shelf.Find(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	text, err := link.Encode(link.Contents{Scenario: parse(f, three), At: 2})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(packed(f, `{"threads":[{"name":"A"}],"schedule":[{"until":"1ms"}]}`) + "~1")
	f.Add("v1.z.~")
	f.Fuzz(func(t *testing.T, text string) {
		state, err := link.Decode(text)
		if err != nil {
			return
		}
		again, err := link.Encode(state)
		if err != nil {
			t.Fatal(err)
		}
		back, err := link.Decode(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(state, back, cmpopts.IgnoreUnexported(scenario.Scenario{})); diff != "" {
			t.Error(diff)
		}
	})
}
