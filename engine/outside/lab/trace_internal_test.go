package lab

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"relock/engine/outside/infer"
	"relock/engine/racetest"
	"relock/engine/trace"
)

// A trace that has grown record by record is the one that is told at once: also where a script is
// seen to give the lock back that looked like one that takes it, or that does either, and where the key, or a
// mark, comes late.
func TestTellingGrows(t *testing.T) {
	racetest.Skip(t)
	const script = `if redis.call('get', KEYS[1]) == ARGV[1] then redis.call('set', 'x', '1') return redis.call('del', KEYS[1]) end return redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', '2000')`
	held := func(by string) trace.KeyState { return trace.KeyState{Type: trace.TypeString, Value: &by, PTTL: 2000} }
	none := trace.Absent()
	set := func(by string, reply any, before, after trace.KeyState) infer.Record {
		return infer.Record{Thread: by, Args: []string{"SET", "k", by + "-token", "NX", "PX", "2000"}, Reply: reply, Before: before, After: after}
	}
	run := func(by string, reply any, before, after trace.KeyState) infer.Record {
		return infer.Record{Thread: by, Args: []string{"EVAL", script, "1", "k", by + "-token"}, Script: script, Reply: reply, Before: before, After: after}
	}
	mark := infer.Record{Thread: "A", Args: []string{"ECHO", infer.MarkEnter}, Mark: infer.MarkEnter, Before: held("A-token"), After: held("A-token")}
	records := []infer.Record{
		set("A", "OK", none, held("A-token")),
		run("B", nil, held("A-token"), held("A-token")), // it looks like one that takes the lock
		run("A", int64(1), held("A-token"), none),       // and gives it back
		set("B", "OK", none, held("B-token")),
		run("B", int64(1), held("B-token"), none),
		run("A", "OK", none, held("A-token")), // this time it takes it
		mark,
		{Do: LeaseEnds, Before: held("A-token"), After: none, At: 2 * time.Second},
	}
	o := Options{Threads: 2, Clock: ClockGate}
	told := func(of *Order) *telling { return &telling{o: of, opts: o, title: "test", store: trace.StoreEmbedded} }
	growing := &Order{}
	grown := told(growing)
	t.Cleanup(func() { grown.close() })
	for i, r := range records {
		growing.note(r)
		key, marks := "k", i >= 6
		if i == 0 {
			key = ""
		}
		once := &Order{}
		for _, r := range records[:i+1] {
			once.note(r)
		}
		whole := told(once)
		for n, one := range []*telling{grown, whole, whole} {
			if n == 2 { // once more, with what the scripts have done by the end
				whole.begin(key, marks, whole.known)
			}
			if err := one.goOn(key, marks); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(whole.reading.Events(), grown.reading.Events()) + cmp.Diff(whole.header, grown.header) + cmp.Diff(whole.after, grown.after); diff != "" {
			t.Errorf("after %d records, at once and grown: %s", i+1, diff)
		}
		whole.close()
	}
}
