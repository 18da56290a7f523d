package patch_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/web/runs/patch"
)

func TestTags(t *testing.T) {
	for markup, want := range map[string][]string{
		"":                               nil,
		"text":                           {"text"},
		`<a x="1"></a><b>T1</b>`:         {`<a x="1"></a>`, `<b>T1</b>`},
		`<g><a></a><b></b></g> <c>↑ 2 s`: {`<g>`, `<a></a>`, `<b></b>`, `</g> `, `<c>↑ 2 s`},
	} {
		got := patch.Tags(markup)
		if diff := cmp.Diff(want, got); diff != "" || strings.Join(got, "") != markup {
			t.Errorf("%s:\n%s", markup, diff)
		}
	}
}

// applied does what a page does with edits.
func applied(t *testing.T, from []string, edits []patch.Edit) []string {
	t.Helper()
	at := 0
	to := slices.Clone(from)
	for _, e := range edits {
		at += e.Keep
		if e.Drop == 0 && len(e.Add) == 0 || at+e.Drop > len(to) {
			t.Fatalf("edit %+v at %d of %d", e, at, len(to))
		}
		to = slices.Replace(to, at, at+e.Drop, e.Add...)
		at += len(e.Add)
	}
	return to
}

func TestBetweenLeadsThere(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	tags := func(n int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = string(rune('a' + random.IntN(6)))
		}
		return list
	}
	lists := [][]string{nil, {"a"}, {"b"}, tags(700)}
	for range 200 {
		lists = append(lists, tags(random.IntN(30)))
	}
	for i := 1; i < len(lists); i++ {
		from, to := lists[i-1], lists[i]
		if diff := cmp.Diff(to, applied(t, from, patch.Between(from, to)), cmp.Transformer("none", func(l []string) string { return strings.Join(l, " ") })); diff != "" {
			t.Errorf("from %v:\n%s", from, diff)
		}
	}
}

func TestBetweenIsShort(t *testing.T) {
	from := strings.Fields("a b c d e f g h i j k l m")
	to := strings.Fields("b c d E e f g h i j L m n")
	want := []patch.Edit{{Drop: 1}, {Keep: 3, Add: []string{"E"}}, {Keep: 6, Drop: 2, Add: []string{"L"}}, {Keep: 1, Add: []string{"n"}}}
	to = slices.DeleteFunc(to, func(s string) bool { return s == "k" })
	got := patch.Between(from, to)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := patch.Between(from, from); got != nil {
		t.Errorf("from a list to itself: %v", got)
	}
}
