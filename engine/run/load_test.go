package run_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"relock/engine/racetest"
	"relock/engine/run"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/lessons"
)

// underLoad are bundled scenarios of every kind of lock and waiting, with
// faults on the client's side, on the way and in Redis.
var underLoad = []string{
	"two-threads", "lost-replies", "late-unlock", "crash", "fair", "fair-dead-waiter", "fair-message-lost", "notify", "notify-message-lost",
	"fenced-fail-over", "redlock", "redlock-restart-without-data", "redsync-split-vote", "mutex-lost-reply", "clock-jump", "heartbeat",
}

// A machine that is too busy is slow, and not different: the same scenario gives
// the same bytes whatever else it has to do.
func TestTheSameBytesUnderLoad(t *testing.T) {
	racetest.Skip(t)
	var texts []string
	for _, name := range underLoad {
		text, err := fs.ReadFile(lessons.Scenarios(), name+".yaml")
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for i, text := range correct {
		texts = append(texts, fmt.Sprintf("%s\npolicy: random\nseed: %d\n", text, i+1))
	}
	want := make([]string, len(texts))
	for i, text := range texts {
		want[i] = written(t, text)
	}
	several := []int{1, 2, 8}
	if testing.Short() {
		several = []int{2} // it takes all that there is while it goes on
	}
	for _, procs := range several {
		t.Run(fmt.Sprintf("on %d", procs), func(t *testing.T) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			var done atomic.Bool
			var burning, playing sync.WaitGroup
			defer burning.Wait()
			defer done.Store(true)
			for range procs + 1 {
				burning.Go(func() {
					for n := 0; !done.Load(); n++ {
					}
				})
			}
			for i, text := range texts {
				playing.Go(func() {
					for range 2 {
						if got := written(t, text); got != want[i] {
							t.Errorf("%s\n%s", strings.SplitN(text, "\n", 2)[0], firstDifference(got, want[i]))
						}
					}
				})
			}
			playing.Wait()
		})
	}
}

// written is a scenario's trace.
func written(t *testing.T, text string) string {
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		t.Error(err)
		return ""
	}
	r, err := run.New(sc, run.Options{})
	if err != nil {
		t.Error(err)
		return ""
	}
	ended := r.Execute(t.Context())
	events, _ := r.Log().Since(0)
	var b bytes.Buffer
	if err := trace.Write(&b, r.Header(), events); err != nil {
		t.Error(err)
	}
	return b.String() + fmt.Sprint(ended)
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is\n%s\nwant\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
