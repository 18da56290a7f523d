package infer

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
	a, b := ask("A", "y", false), ask("B", "x", false)
	lost := a
	lost.Do = "lose-reply"
	idle := func(asking ...string) Record { return Record{Do: "lease-ends", Asking: asking} }
	for name, c := range map[string]struct {
		records []Record
		want    string // of the last record
	}{
		"each asks again for what the other has": {[]Record{ax, by, a, b, a, b}, "B has y and waits for x; A has x and waits for y"},
		"each in a row":                          {[]Record{ax, by, a, a, b, b}, "B has y and waits for x; A has x and waits for y"},
		"each was refused once":                  {[]Record{ax, by, a, b}, ""}, // it may give back what it has
		"one was":                                {[]Record{ax, by, a, b, a}, ""},
		"asked once more":                        {[]Record{ax, by, a, b, a, b, a}, ""}, // told already
		"looks in between":                       {[]Record{ax, by, a, b, {Thread: "A", Args: []string{"GET", "x"}}, a, b}, "B has y and waits for x; A has x and waits for y"},
		"nobody can move":                        {[]Record{ax, by, a, b, idle("A", "B")}, "A has x and waits for y; B has y and waits for x"},
		"one of them could":                      {[]Record{ax, by, a, b, idle("A")}, ""},
		"time passes":                            {[]Record{ax, by, a, b, idle()}, ""},
		"in the same order":                      {[]Record{ax, b, ask("A", "y", true), b, b}, ""},
		"one gives up":                           {[]Record{ax, by, a, a, del("A", "x"), b, b}, ""},
		"each gives back, and begins again": {
			[]Record{ax, by, a, b, del("A", "x"), del("B", "y"), ax, by, a, b, del("A", "x"), del("B", "y"), ax, by, a, b}, "",
		},
		"one has ended":     {[]Record{ax, by, a, a, {Thread: "A", Ended: trace.Done}, b, b}, ""},
		"a key has expired": {[]Record{ax, by, a, a, {Gone: []string{"y"}}, b, b}, ""},
		"it was not told":   {[]Record{ax, by, a, lost, b, b}, ""},
		"its own key":       {[]Record{ax, ask("A", "x", false), ask("A", "x", false)}, ""},
		"three": {
			[]Record{ax, by, ask("C", "z", true), a, ask("B", "z", false), ask("C", "x", false), a, ask("B", "z", false), ask("C", "x", false)},
			"C has z and waits for x; A has x and waits for y; B has y and waits for z",
		},
		"beside a circle": {[]Record{ax, by, a, b, a, b, ask("C", "x", false), ask("C", "x", false)}, ""},
	} {
		var all circle
		var got []string
		for i, r := range c.records {
			waits := all.stand(r.Asking)
			if after := all.see(r); waits == nil {
				waits = after
			}
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
