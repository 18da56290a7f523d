package effects

import (
	"fmt"
	"strings"
	"testing"

	"relock/engine/trace"
)

func TestThreadsThatWaitForOneAnother(t *testing.T) {
	ask := func(thread, key string, got bool) Record {
		r := Record{Thread: thread, Args: []string{"SET", key, thread, "NX"}}
		if got {
			r.Reply = "OK"
		}
		return r
	}
	del := func(thread, key string) Record {
		return Record{Thread: thread, Args: []string{"DEL", key}, Reply: int64(1)}
	}
	ax, by := ask("A", "x", true), ask("B", "y", true)
	lost := ask("A", "y", false)
	lost.Do = "lose-reply"
	for name, c := range map[string]struct {
		records []Record
		want    string // of the last record
	}{
		"each has what the other wants": {[]Record{ax, by, ask("A", "y", false), ask("B", "x", false)}, "B has y and waits for x; A has x and waits for y"},
		"asked again":                   {[]Record{ax, by, ask("A", "y", false), ask("B", "x", false), ask("A", "y", false)}, ""},
		"in the same order":             {[]Record{ax, ask("B", "x", false), ask("A", "y", true), ask("B", "x", false)}, ""},
		"one gives up":                  {[]Record{ax, by, ask("A", "y", false), del("A", "x"), ask("B", "x", false)}, ""},
		"one does something else":       {[]Record{ax, by, ask("A", "y", false), {Thread: "A", Args: []string{"GET", "x"}}, ask("B", "x", false)}, ""},
		"one has ended":                 {[]Record{ax, by, ask("A", "y", false), {Thread: "A", Ended: trace.Done}, ask("B", "x", false)}, ""},
		"a key has expired":             {[]Record{ax, by, ask("A", "y", false), {Gone: []string{"y"}}, ask("B", "x", false)}, ""},
		"it was not told":               {[]Record{ax, by, lost, ask("B", "x", false)}, ""},
		"its own key":                   {[]Record{ax, ask("A", "x", false)}, ""},
		"three": {
			[]Record{ax, by, ask("C", "z", true), ask("A", "y", false), ask("B", "z", false), ask("C", "x", false)},
			"C has z and waits for x; A has x and waits for y; B has y and waits for z",
		},
		"beside a circle": {[]Record{ax, by, ask("A", "y", false), ask("B", "x", false), ask("C", "x", false)}, ""},
	} {
		var all circle
		var got []string
		for i, r := range c.records {
			waits := all.see(r)
			if i == len(c.records)-1 {
				for _, w := range waits {
					got = append(got, fmt.Sprintf("%s has %s and waits for %s", w.Thread, w.Has, w.For))
				}
			}
		}
		if text := strings.Join(got, "; "); text != c.want {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}
