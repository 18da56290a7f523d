package export_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"relock/engine/bound"
	"relock/engine/fault"
	"relock/engine/lock"
	"relock/engine/outside/logs"
	"relock/engine/pause"
	"relock/engine/scenario"
	"relock/engine/trace"
	"relock/web/export"
	"relock/web/runs"
	"relock/web/words"
)

// counted is a log of MONITOR whose hold is as many levels deep as its number says.
func counted(levels string) string {
	return `1700000000.000000 [0 127.0.0.1:5000] "HINCRBY" "k" "A" "` + levels + `"
1700000000.000100 [0 127.0.0.1:5000] "PEXPIRE" "k" "30000"
1700000000.010000 [0 127.0.0.1:5000] "HINCRBY" "k" "A" "-` + levels + `"
1700000000.010100 [0 127.0.0.1:5000] "DEL" "k"
`
}

// imported is a log as a run.
func imported(text string) (export.Run, error) {
	log, err := logs.Read(context.Background(), strings.NewReader(text))
	if err != nil {
		return export.Run{}, err
	}
	found, err := log.Trace(context.Background(), logs.Options{NoScripts: true})
	if err != nil {
		return export.Run{}, err
	}
	return export.Run{Header: found.Header, Events: found.Events, Scenario: found.Scenario, Language: words.English, Style: style}, nil
}

// allocated renders r, and returns how many bytes that has allocated.
func allocated(r export.Run, f export.Format) (text []byte, bytes uint64, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text, err = export.Render(context.Background(), f, r)
	runtime.ReadMemStats(&after)
	return text, after.TotalAlloc - before.TotalAlloc, err
}

func TestANumberMakesNoFileLonger(t *testing.T) {
	of := func(levels string) map[export.Format]int {
		r, err := imported(counted(levels))
		if err != nil {
			t.Fatal(err)
		}
		sizes := map[export.Format]int{}
		for _, f := range export.Formats() {
			text, bytes, err := allocated(r, f)
			if err != nil {
				t.Fatalf("%s of %s levels: %v", f, levels, err)
			}
			most := uint64(8 << 20)
			if f == export.HTML { // it has the film in each language, and packs them
				most = 64 << 20
			}
			if bytes > most {
				t.Errorf("%s of %s levels allocates %d bytes", f, levels, bytes)
			}
			sizes[f] = len(text)
		}
		return sizes
	}
	few := of("20")
	for _, levels := range []string{"200000", "3000000", "9000000000000"} {
		for f, n := range of(levels) {
			if n > few[f]+2<<10 {
				t.Errorf("%s has %d bytes for %s levels, and %d for 20", f, n, levels, few[f])
			}
		}
	}
}

// shop is a scenario with all that a trace can list: users, waiters, several threads.
const shop = `lock: {protocol: reentrant-fair, lease: 300ms, watchdog: 100ms, retry: {times: 5, interval: 80ms}}
resource: {kind: purchases, limit: 2}
threads: [{name: A}, {name: B, start: 1ms}, {name: C, start: 2ms}]
defaults: {user: 7, work: 10ms}
`

// long is a run of n events that does the same again and again.
func long(r export.Run, n int) export.Run {
	one := r.Events
	last := one[len(one)-1]
	r.Events = make([]trace.Event, n)
	for i := range r.Events {
		e, round := one[i%len(one)], i/len(one)
		e.Seq, e.Step, e.At = i+1, e.Step+round*last.Step, e.At+trace.Millis(round)*(last.At+1)
		r.Events[i] = e
	}
	return r
}

// foreign is a handwritten trace of n events, in which whatever has a name or a number
// has another one each time.
func foreign(r export.Run, n int, step func(i int) int) export.Run {
	r.Events = make([]trace.Event, n)
	queue := r.Scenario.Lock.Implementation().Waiters(r.Scenario.Lock.Key)
	for i := range r.Events {
		name, thread := fmt.Sprintf("name-%08d", i), r.Scenario.Threads[i%2].Name
		bodies := []trace.Body{
			trace.Outcome{Call: lock.CallLock, Result: trace.Acquired, Level: 1, Attempt: 1},
			trace.Fault{Do: fault.Delay, At: lock.CallLock, ForMS: trace.Millis(i)},
			trace.Command{Call: lock.CallLock, Attempt: i + 1, Level: 1, Script: "lock.lua", Line: i, Args: []string{"HEXISTS", name, name}, Reply: name, Node: i},
			trace.Command{Call: lock.CallLock, Attempt: 1, Level: 1, Script: "lock.lua", Line: 7, Args: []string{"RPUSH", queue, name}, Reply: int64(1)},
			trace.Command{Call: lock.CallUnlock, Attempt: 1, Level: 1, Args: []string{"GET", name}, Reply: []any{name, []any{name}}},
			trace.Work{State: trace.WorkBegin, Level: i},
			trace.Work{State: trace.WorkEnd, Level: -i},
			trace.Resource{Op: trace.OpWrite, User: name, Limit: 2, Value: 9, Version: i},
			trace.Violation{Rule: name, Threads: []string{thread}, Detail: name},
			trace.Fault{Do: fault.Down, Node: i, Thread: name},
			trace.Outcome{Call: lock.CallUnlock, Result: trace.NotHeld, Level: i, Attempt: i},
			trace.End{Result: trace.Failed, Error: name},
			trace.End{Result: trace.Done},
		}
		body := bodies[i%len(bodies)]
		switch i / 64 { // lists are soon as long as they are shown
		case 0:
			body = bodies[7]
		case 1:
			body = bodies[3]
		}
		e := trace.Event{
			Seq: i + 1, Step: step(i), At: trace.Millis(i * i), Thread: thread, Body: body,
			Key:    trace.KeyState{Type: trace.TypeHash, Fields: map[string]string{name: "1"}, PTTL: int64(i)},
			Belief: map[string]int{thread: i % 40, name: i}, Leaving: []string{name, thread},
		}
		switch b := e.Body.(type) {
		case trace.Violation:
			e.Thread = ""
		case trace.Fault:
			if b.Do == fault.Down {
				e.Thread = ""
			}
		case trace.End:
			if b.Result == trace.Done {
				e.Thread = ""
			}
		}
		r.Events[i] = e
	}
	return r
}

// shapes are runs of any length.
func shapes(tb testing.TB) map[string]func(n int) export.Run {
	tb.Helper()
	sc, err := scenario.Parse([]byte(shop))
	if err != nil {
		tb.Fatal(err)
	}
	played := run(tb, sc)
	return map[string]func(n int) export.Run{
		"long":       func(n int) export.Run { return long(played, n) },
		"many names": func(n int) export.Run { return foreign(played, n, func(i int) int { return i + 1 }) },
		"one step":   func(n int) export.Run { return foreign(played, n, func(int) int { return 1 }) },
	}
}

// writers are all that make something of a run: the formats, the film of a page, and
// its lanes.
func writers() map[string]func(ctx context.Context, r export.Run) error {
	list := map[string]func(ctx context.Context, r export.Run) error{
		"film": func(ctx context.Context, r export.Run) error {
			made := &runs.Recording{Scenario: r.Scenario, Header: r.Header, Events: r.Events}
			_, err := runs.NewFootage(ctx, r.Language, made, true, nil, false)
			return err
		},
		"lanes": func(ctx context.Context, r export.Run) error {
			made := &runs.Recording{Scenario: r.Scenario, Header: r.Header, Events: r.Events}
			lanes, err := made.Lanes(ctx)
			if err == nil {
				runs.LanesAround(r.Language, lanes, lanes.Len())
			}
			return err
		},
	}
	for _, f := range export.Formats() {
		list[string(f)] = func(ctx context.Context, r export.Run) error {
			_, err := export.Render(ctx, f, r)
			return err
		}
	}
	return list
}

// leaving is a Yielder whose visitor leaves at the third pause.
type leaving struct {
	pauses int
	leave  func()
}

func (l *leaving) Pause(context.Context) error {
	if l.pauses++; l.pauses == 3 {
		l.leave()
	}
	return nil
}

func (l *leaving) Away(_ context.Context, wait func()) { wait() }

func (*leaving) Whose() string { return "" }

func TestWhoLeavesEndsTheWork(t *testing.T) {
	r := shapes(t)["long"](4000)
	total := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.TotalAlloc
	}
	for name, write := range writers() {
		ctx, cancel := context.WithCancel(t.Context())
		left := uint64(0)
		err := write(pause.With(ctx, &leaving{leave: func() { cancel(); left = total() }}), r)
		if n := total() - left; !errors.Is(err, context.Canceled) || n > 512<<10 {
			t.Errorf("%s: %v; after its visitor has left it allocates %d bytes", name, err, n)
		}
		cancel()
	}
}

func TestWorkHasAnEnd(t *testing.T) {
	r := shapes(t)["long"](400)
	for name, write := range writers() {
		ctx, done := pause.Within(t.Context(), 0, bound.ErrWork)
		if err := write(ctx, r); !errors.Is(err, bound.ErrWork) {
			t.Errorf("%s: %v", name, err)
		}
		done()
	}
}

// nested is a list within so many lists, each with a text beside it.
func nested(depth int) any {
	v := any([]any{})
	for range depth {
		v = []any{v, "beside"}
	}
	return v
}

func TestAFileHasAnEnd(t *testing.T) {
	r := shapes(t)["long"](1)
	args := []string{"GET", strings.Repeat("x", 1<<20)}
	r.Events = nil
	for i := range 70 {
		r.Events = append(r.Events, trace.Event{Seq: i + 1, Step: i + 1, Thread: "A", Key: trace.Absent(), Body: trace.Command{Call: lock.CallLock, Args: args}})
	}
	if _, err := export.Render(t.Context(), export.JSONL, r); !errors.Is(err, bound.ErrWritten) {
		t.Errorf("70 MB: %v", err)
	}
	// Lists within lists are indented in a transcript.
	r.Events = r.Events[:1]
	r.Events[0].Body = trace.Command{Call: lock.CallLock, Args: args[:1], Reply: nested(9000)}
	for _, f := range export.Formats() {
		text, bytes, err := allocated(r, f)
		if err != nil || len(text) > 1<<20 || bytes > 32<<20 {
			t.Errorf("%s of 9000 lists: %d bytes, %d allocated: %v", f, len(text), bytes, err)
		}
	}
}

// FuzzImportExport writes a log in every format. None may panic, take more bytes than
// its bound, or allocate far more than the log has.
func FuzzImportExport(f *testing.F) {
	for _, levels := range []string{"1", "17", "200000", "3000000", "9000000000000", "-9223372036854775808"} {
		f.Add(counted(levels))
	}
	f.Add(strings.Repeat(counted("3"), 20))
	f.Add(`1700000000.000000 [0 1:1] "SET" "k" "v" "NX" "PX" "9223372036854775807"` + "\n")
	f.Add(`1700000000.000000 [0 1:1] "SET" "k" "a" "NX" "PX" "1"` + "\n" + `99999999999.000000 [0 1:2] "SET" "k" "` + strings.Repeat("b", 5000) + `" "NX" "PX" "9000000000000"` + "\n")
	var hash strings.Builder
	for i := range 300 {
		fmt.Fprintf(&hash, "17000000%02d.%06d [0 127.0.0.1:%d] \"HINCRBY\" \"k\" \"owner-%d\" \"%d\"\n", i/100, i, 5000+i, i, 1+i*1_000_000_000)
	}
	f.Add(hash.String())
	// Words and style sheets are made once, by whoever is first.
	if first, err := imported(counted("1")); err == nil {
		for _, format := range export.Formats() {
			_, _, _ = allocated(first, format)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 64<<10 {
			return
		}
		r, err := imported(text)
		if err != nil {
			return
		}
		size := len(r.Header.Scenario)
		for _, e := range r.Events {
			size += e.Size()
		}
		for _, format := range export.Formats() {
			text, bytes, err := allocated(r, format)
			if err != nil && !errors.Is(err, bound.ErrWritten) {
				t.Errorf("%s: %v", format, err)
			}
			if len(text) > bound.Written {
				t.Errorf("%s has %d bytes", format, len(text))
			}
			if most := uint64(16<<20 + 400*size); bytes > most {
				t.Errorf("%s of a trace of %d bytes allocates %d", format, size, bytes)
			}
		}
	})
}
