package run

import (
	"fmt"
	"strings"
	"testing"

	"relock/engine/scenario"
	"relock/engine/trace"
)

// What a resource takes, from whom, and what it is then: an order a word. "A" is
// a read and a write without a token, "A5" with one; "A" alone reads for the user
// A, and is not granted what is marked with "-".
func TestWhatAResourceTakes(t *testing.T) {
	counter := scenario.Resource{Kind: scenario.KindCounter}
	guarded := scenario.Resource{Kind: scenario.KindCounter, Checks: scenario.ChecksToken}
	stock := scenario.Resource{Kind: scenario.KindStock, Size: 1}
	purchases := scenario.Resource{Kind: scenario.KindPurchases, Limit: 2}
	for _, c := range []struct {
		name     string
		resource scenario.Resource
		orders   string
		want     string // of each write: the value, "refused", or "-" where the read granted none
	}{
		{"a counter takes whatever comes", counter, "A5 A3 A5", "1 2 3"},
		{"an older token is refused", guarded, "A5 A3 A6", "1 refused 2"},
		{"the same token writes again", guarded, "A5 A5 A5", "1 2 3"},
		{"what was refused is no newer token", guarded, "A5 A3 A4 A5", "1 refused refused 2"},
		{"the last one is sold, and no more", stock, "A A", "0 -"},
		{"each user buys up to the limit", purchases, "A A A B B B", "1 2 - 1 2 -"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newResource(&c.resource)
			var got []string
			for _, order := range strings.Fields(c.orders) {
				token := int64(0)
				_, _ = fmt.Sscan(order[1:], &token)
				seen := r.read(order[:1], func(trace.Body) {})
				if !r.grants(seen) {
					got = append(got, "-")
					continue
				}
				r.write(seen, token, func(b trace.Body) {
					w := b.(trace.Resource)
					if w.Refused {
						got = append(got, "refused")
						return
					}
					got = append(got, fmt.Sprint(w.Value))
				})
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: %s, want %s", c.orders, strings.Join(got, " "), c.want)
			}
		})
	}
}

// Two have read before either writes: what becomes of the second write.
func TestAWriteThatComesLate(t *testing.T) {
	for _, c := range []struct {
		resource scenario.Resource
		want     string
	}{
		{scenario.Resource{Kind: scenario.KindCounter}, "1 1"},
		{scenario.Resource{Kind: scenario.KindCounter, Checks: scenario.ChecksVersion}, "1 refused: version"},
		{scenario.Resource{Kind: scenario.KindStock, Size: 1, Checks: scenario.ChecksVersion}, "0 refused: version"},
		{scenario.Resource{Kind: scenario.KindPurchases, Limit: 1, Checks: scenario.ChecksVersion}, "1 refused: version"},
		{scenario.Resource{Kind: scenario.KindEffect}, "1 2"},
		{scenario.Resource{Kind: scenario.KindEffect, Checks: scenario.ChecksKey}, "1 refused: key"},
	} {
		r := newResource(&c.resource)
		first, second := r.read("A", func(trace.Body) {}), r.read("A", func(trace.Body) {})
		var got []string
		for _, seen := range []trace.Resource{first, second} {
			if !r.grants(seen) {
				t.Fatalf("%+v grants nothing to one that has read %+v", c.resource, seen)
			}
			r.write(seen, 0, func(b trace.Body) {
				w := b.(trace.Resource)
				one := fmt.Sprint(w.Value)
				if w.Refused {
					one = "refused: " + w.Check
				}
				got = append(got, one)
			})
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%+v: %s, want %s", c.resource, text, c.want)
		}
	}
	r := newResource(&scenario.Resource{Kind: scenario.KindEffect})
	seen := r.read("A", func(trace.Body) {})
	r.write(seen, 0, func(trace.Body) {})
	if r.grants(r.read("A", func(trace.Body) {})) {
		t.Error("one that finds it done does it again")
	}
}
