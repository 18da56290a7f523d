package draft_test

import (
	"net/url"
	"strings"
	"testing"

	"relock/engine/scenario"
	"relock/web/draft"
)

// A shape that is chosen is what the scenario has then; and a text that says something
// else is not changed by a form that was shown before.
func TestAShapeIsChosen(t *testing.T) {
	for _, scripts := range []string{"    lock: return 1\n    unlock: return 1\n", "    lock: return 1\n    unlock: return 1\n    renew: return 1\n"} {
		text := "# mine\nlock:\n  protocol: own\n  lease: 30s\n  scripts:\n" + scripts + "threads: [{name: A}]\n"
		was := ""
		for _, shape := range append(scenario.Shapes(), scenario.Shape{}) {
			merged, err := draft.Merge(text, text, "", url.Values{"lock.shape": {shape.Name}})
			if err != nil {
				t.Fatal(err)
			}
			sc, err := scenario.Parse([]byte(merged))
			if err != nil {
				t.Fatalf("%s: %v\n%s", shape.Name, err, merged)
			}
			if got := sc.Lock.Shape(); got != shape.Name || !strings.HasPrefix(merged, "# mine\n") {
				t.Errorf("%q, want %q\n%s", got, shape.Name, merged)
			}
			odd := strings.Replace(merged, "protocol: own", "protocol: own\n  keys: ['{key}']", 1)
			if again, err := draft.Merge(merged, odd, "", url.Values{"lock.shape": {shape.Name}}); err != nil || again != odd {
				t.Errorf("%v\n%s", err, again)
			}
			text, was = merged, shape.Name
		}
		if was != "" || strings.Contains(text, "args") || strings.Contains(text, "replies") {
			t.Errorf("Relock's own shape is said:\n%s", text)
		}
	}
}

// With scripts that nobody can enter twice, each thread enters once; a depth that comes
// with the shape is kept.
func TestWhoCannotEnterAgainEntersOnce(t *testing.T) {
	const text = "lock:\n  protocol: own\n  lease: 30s\n  scripts:\n    lock: return 1\n    unlock: return 1\ndefaults: {depth: 3}\nthreads: [{name: A, depth: 2}, {name: B}]\n"
	for _, shape := range scenario.Shapes() {
		for _, depth := range []string{"2", "4"} { // as it was, and another
			merged, err := draft.Merge(text, text, "", url.Values{"lock.shape": {shape.Name}, "threads[0].depth": {depth}})
			if err != nil {
				t.Fatal(err)
			}
			sc, err := scenario.Parse([]byte(merged))
			if err != nil {
				t.Fatalf("%s: %v\n%s", shape.Name, err, merged)
			}
			want := map[bool][2]int{true: {2, 3}, false: {1, 1}}[shape.Reentrant]
			if depth == "4" {
				want[0] = 4
			}
			if got := [2]int{sc.Threads[0].Depth, sc.Threads[1].Depth}; got != want {
				t.Errorf("%s, with %s: depths %v, want %v\n%s", shape.Name, depth, got, want, merged)
			}
		}
	}
}

// Other scripts, and another lock, have other arguments.
func TestOtherScriptsForgetTheShape(t *testing.T) {
	const text = "lock:\n  protocol: own\n  args: {lock: [owner]}\n  keys: ['{key}', '{key}:n']\n  replies: {lock: {entered: nil}}\n  release: once\n  scripts:\n    lock: return 1\n    unlock: return 1\nthreads: [{name: A}]\n"
	for key, value := range map[string]string{"lock.protocol": "mutex", "lock.like": "mutex"} {
		merged, err := draft.Merge(text, text, "", url.Values{key: {value}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := scenario.Parse([]byte(merged)); err != nil {
			t.Errorf("%v\n%s", err, merged)
		}
		for _, gone := range []string{"args", "keys", "replies"} {
			if strings.Contains(merged, gone) {
				t.Errorf("%s: %s is still there\n%s", key, gone, merged)
			}
		}
	}
}
