package scenario

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// A change goes into a scenario key by key, into lists by name, and null takes
// something away.
func TestAChangeIsMerged(t *testing.T) {
	const base = "{lock: {lease: 1s, watchdog: off}, threads: [{name: A, depth: 2}, {name: B}], schedule: [0, 1]}"
	for _, c := range []struct{ change, want string }{
		{"{}", base},
		{"{lock: {lease: 2s}}", "{lock: {lease: 2s, watchdog: off}, threads: [{name: A, depth: 2}, {name: B}], schedule: [0, 1]}"},
		{"{lock: {watchdog: null}}", "{lock: {lease: 1s}, threads: [{name: A, depth: 2}, {name: B}], schedule: [0, 1]}"},
		{"{lock: null, schedule: null}", "{threads: [{name: A, depth: 2}, {name: B}]}"},
		{"{threads: [{name: B, depth: 3}]}", "{lock: {lease: 1s, watchdog: off}, threads: [{name: A, depth: 2}, {name: B, depth: 3}], schedule: [0, 1]}"},
		{"{threads: [{name: C}]}", "{lock: {lease: 1s, watchdog: off}, threads: [{name: A, depth: 2}, {name: B}, {name: C}], schedule: [0, 1]}"},
		{"{threads: [{name: A, absent: true}]}", "{lock: {lease: 1s, watchdog: off}, threads: [{name: B}], schedule: [0, 1]}"},
		{"{threads: [{name: A, absent: true, depth: 3}]}", "{lock: {lease: 1s, watchdog: off}, threads: [{name: A, depth: 3, absent: true}, {name: B}], schedule: [0, 1]}"},
		{"{schedule: [1]}", "{lock: {lease: 1s, watchdog: off}, threads: [{name: A, depth: 2}, {name: B}], schedule: [1]}"},
	} {
		got, want := tree(t, base), tree(t, c.want)
		text, _ := yaml.Marshal(merge(got, tree(t, c.change)))
		wanted, _ := yaml.Marshal(want)
		if string(text) != string(wanted) {
			t.Errorf("%s:\n%s\nwant\n%s", c.change, text, wanted)
		}
	}
}

func tree(t *testing.T, text string) any {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// A changed scenario is another one, without the old one's expectations; its key names a
// mistake.
func TestChange(t *testing.T) {
	sc, err := Parse([]byte("lock: {lease: 1s, watchdog: off}\nthreads: [{name: A}]\nexpect: {violations: []}"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := sc.Change(map[string]any{"lock": map[string]any{"lease": "2s", "watchdog": nil}})
	if err != nil || other.Lock.Lease != 2*sc.Lock.Lease || other.Lock.Watchdog == 0 || other.Expect != nil {
		t.Errorf("%+v, %v", other, err)
	}
	if sc.Lock.Watchdog != 0 || sc.Expect == nil {
		t.Error("the scenario itself was changed")
	}
	const want = `lock.protocol: given "zookeeper", allowed: `
	if _, err := sc.Change(map[string]any{"lock": map[string]any{"protocol": "zookeeper"}}); err == nil || err.Error()[:len(want)] != want {
		t.Errorf("%v, want %s…", err, want)
	}
}
