package run_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"relock/engine/racetest"
	"relock/engine/recall"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
)

// setBack is a run whose Redis has its clock set back to before it was started.
const setBack = `
lock: {protocol: fenced, lease: 100ms, watchdog: off, retry: {times: 30, interval: 10ms}}
threads: [{name: A, start: 20ms, work: 10ms, repeat: 2}, {name: B, start: 25ms, work: 10ms}]
faults: [{time: 10ms, do: clock-jump, by: -1s}, {thread: A, at: lock, do: lose-reply}, {thread: A, at: lock, do: lose-reply}, {thread: A, at: work, round: 2, do: crash}]
`

// anInstant is a run whose leases end at instants of a clock that jumps: before they begin, or then.
const anInstant = `lock: {protocol: mutex-pxat, lease: 200ms, watchdog: 50ms, retry: {times: 9, interval: 50ms}}
threads:
  - {name: A, start: %dms, work: 300ms, repeat: 2}
  - {name: B, start: %dms, work: 10ms}
faults:
  - {thread: A, at: %s, do: client-clock-jump, by: %dms}
`

// A run whose Redis answers from memory writes the same trace, byte for byte,
// as one on a miniredis: over every bundled scenario, with one memory for all.
func TestRecalledRunsAreTheRealOnes(t *testing.T) {
	racetest.Skip(t)
	memory := recall.NewMemory()
	defer func() { _ = memory.Close() }()
	names, err := fs.Glob(lessons.Scenarios(), "*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	texts := map[string][]byte{"set-back": []byte(setBack)}
	for _, name := range names {
		if texts[strings.TrimSuffix(name, ".yaml")], err = fs.ReadFile(lessons.Scenarios(), name); err != nil {
			t.Fatal(err)
		}
	}
	for _, start := range []int{0, 300} { // a lease that ends before it begins, at that instant, and after it
		for _, by := range []int{-500, -201, -200, -199, -100, 100} {
			for _, at := range []string{"start", "renew"} {
				texts[fmt.Sprintf("an instant, %d by %d at %s", start, by, at)] = fmt.Appendf(nil, anInstant, start, start+110, at, by)
			}
		}
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			sc, err := scenario.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			play := func(o run.Options) []byte {
				r, err := run.New(sc, o)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.Execute(t.Context()); err != nil {
					t.Fatal(err)
				}
				var b bytes.Buffer
				events, _ := r.Log().Since(0)
				if err := trace.Write(&b, r.Header(), events); err != nil {
					t.Fatal(err)
				}
				return b.Bytes()
			}
			real := play(run.Options{})
			for range 2 { // on a miss, and on a hit
				if recalled := play(run.Options{Memory: memory}); !bytes.Equal(real, recalled) {
					a, b := bytes.Split(real, []byte("\n")), bytes.Split(recalled, []byte("\n"))
					for i := range a {
						if i >= len(b) || !bytes.Equal(a[i], b[i]) {
							t.Fatalf("line %d:\n%s\nrecalled:\n%s", i+1, a[i], b[min(i, len(b)-1)])
						}
					}
					t.Fatal("the recalled trace is longer")
				}
			}
		})
	}
	if all, real := memory.Asked(); real == 0 || real > all/2 {
		t.Errorf("%d of %d scripts were really run", real, all)
	}
}
