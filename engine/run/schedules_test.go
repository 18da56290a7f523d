package run_test

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"

	"relock/engine/racetest"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
)

// correct are scenarios in which the lock keeps its word no matter who moves when:
// no fault beyond crashes, and pauses shorter than the lease.
var correct = []string{
	`
lock: {lease: 100ms, watchdog: 30ms, retry: {times: 3, interval: 9ms, jitter: 0-6ms}}
threads: [{name: A}, {name: B}, {name: C, start: 4ms, depth: 1}]
defaults: {depth: 2, work: 5ms-20ms}
`, `
lock: {lease: 60ms, watchdog: 20ms, retry: {times: 4, interval: 13ms}}
threads: [{name: A, depth: 2}, {name: B}]
defaults: {work: 3ms-9ms}
faults: [{thread: A, at: work, level: 2, do: crash}]
`, `
lock: {lease: 80ms, watchdog: 20ms, retry: {times: 4, interval: 13ms}}
threads: [{name: A, depth: 2}, {name: B, start: 1ms}]
defaults: {work: 3ms-9ms}
faults: [{thread: A, at: work, do: pause, for: 40ms}, {thread: B, at: unlock, do: crash}]
`, `
lock: {protocol: reentrant-fair, lease: 90ms, watchdog: 20ms, retry: {times: 5, interval: 20ms}}
threads: [{name: A, depth: 2}, {name: B, start: 1ms}, {name: C, start: 2ms}]
resource: {kind: counter}
defaults: {work: 3ms-9ms}
faults: [{thread: B, at: work, do: crash}]
`, `
lock: {protocol: redlock, nodes: 3, lease: 90ms, watchdog: 30ms, retry: {times: 2, interval: 20ms}}
threads: [{name: A}, {name: B, start: 1ms}]
resource: {kind: counter}
defaults: {work: 3ms-9ms}
`, `
lock: {lease: 50ms, watchdog: off, retry: {times: 3, interval: 10ms}}
threads: [{name: A, work: 10ms}, {name: B, work: 20ms, depth: 2}, {name: C, work: 5ms, repeat: 2}]
`,
}

func TestRandomSchedulesRaiseNoFalseAlarm(t *testing.T) {
	racetest.Skip(t)
	// Each of miniredis' scripts leaves a Lua state behind: garbage is most of the work.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	schedules := int64(4_000)
	if testing.Short() {
		schedules /= 8
	}
	var next, events atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for n := next.Add(1); n <= schedules && !t.Failed(); n = next.Add(1) {
				text := fmt.Sprintf("%s\npolicy: random\nseed: %d\n", correct[n%int64(len(correct))], n)
				found, err := alarms(t.Context(), text)
				if err != nil || len(found) > 0 {
					t.Errorf("seed %d: %v, %v\n%s", n, found, err, text)
				}
				events.Add(1)
			}
		})
	}
	wg.Wait()
	if events.Load() != schedules {
		t.Errorf("%d schedules were run, want %d", events.Load(), schedules)
	}
}

func alarms(ctx context.Context, text string) ([]trace.Violation, error) {
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		return nil, err
	}
	r, err := run.New(sc, run.Options{})
	if err != nil {
		return nil, err
	}
	if err := r.Execute(ctx); err != nil {
		return nil, err
	}
	var found []trace.Violation
	events, _ := r.Log().Since(0)
	for _, e := range events {
		if v, ok := e.Body.(trace.Violation); ok {
			found = append(found, v)
		}
	}
	return found, nil
}
