package stepper_test

import (
	"fmt"
	"runtime"
	"testing"

	"relock/engine"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/web/film"
	"relock/web/webtest"
	"relock/web/words"
)

// stepped goes along a scenario until it has so many events, with a page.
func stepped(tb testing.TB, sc *scenario.Scenario, events int) (*engine.Paths, *engine.Path, *film.Film) {
	tb.Helper()
	p := engine.NewPaths(sc)
	b, err := p.Path(tb.Context(), nil)
	if err != nil {
		tb.Fatal(err)
	}
	reel, told := film.New(words.English, sc, b.Header.Owners), 0
	for len(b.Events) < events && !b.End().Over {
		next, err := p.Try(tb.Context(), b.Moves, engine.Wish{})
		if err != nil {
			tb.Log(err)
			break
		}
		b = next
		for _, e := range b.Events[told:] {
			reel.Add(e)
		}
		told = len(b.Events)
	}
	reel.Rows()
	return p, b, reel
}

// dear are scenarios of which each event takes much, in several ways.
func dear() map[string]string {
	return map[string]string{
		"two threads": webtest.TwoText, "sixteen": webtest.Crowd(webtest.DearestSteps), "armed": webtest.Crowd(webtest.DearestSteps) + armedFaults(), "redlock": webtest.Crowd(webtest.DearestRedlock),
		"three nodes": "lock: {protocol: redlock, nodes: 3, lease: 30ms, watchdog: 1ms}\ndefaults: {repeat: 100}\nthreads: [{name: A}, {name: B}, {name: C}]",
		"deep":        webtest.Crowd("lock: {protocol: reentrant-fair, lease: 3ms, watchdog: 1ms}\ndefaults: {repeat: 100, work: 1ms, depth: 16}\n"),
	}
}

// holding is what a path of sc takes with its page and without, in bytes of the heap.
func holding(tb testing.TB, sc *scenario.Scenario, events int) (p *engine.Paths, b *engine.Path, with, without int64) {
	tb.Helper()
	warm, _, _ := stepped(tb, sc, 10)
	warm.Close()
	before := webtest.Heap()
	p, b, reel := stepped(tb, sc, events)
	with = webtest.Heap() - before
	runtime.KeepAlive(reel)
	without = webtest.Heap() - before
	runtime.KeepAlive(p)
	return p, b, with, without
}

// Limits count what is there.
func TestASessionIsAsLargeAsItSays(t *testing.T) {
	racetest.Skip(t)
	for name, text := range dear() {
		sc := webtest.Parsed(t, text)
		var problem string
		for range 3 { // what earlier tests leave may go while it is measured
			if problem = notHeld(t, sc); problem == "" {
				break
			}
		}
		if problem != "" {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// notHeld says where a path of sc takes another space than it says, "" where it
// does not.
func notHeld(tb testing.TB, sc *scenario.Scenario) string {
	tb.Helper()
	p, b, with, without := holding(tb, sc, 1500)
	defer p.Close()
	all := p.Size() + len(b.Events)*film.EventSize(sc)
	switch part, paged := float64(p.Size())/float64(without), float64(all)/float64(with); {
	case part < .5 || part > 2:
		return fmt.Sprintf("it says %d KB and takes %d", p.Size()>>10, without>>10)
	case paged < .5 || paged > 2:
		return fmt.Sprintf("with its page: %d KB counted, it takes %d", all>>10, with>>10)
	default:
		return ""
	}
}

func BenchmarkHeldByASession(b *testing.B) {
	for name, text := range dear() {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				p, one, with, without := holding(b, webtest.Parsed(b, text), 4000)
				n := float64(len(one.Events))
				b.ReportMetric(float64(with)/n, "B/event")
				b.ReportMetric(float64(without)/n, "B/event-without-page")
				b.ReportMetric(n/float64(len(one.Moves)+1), "events/move")
				b.ReportMetric(float64(p.Size())/float64(without), "size/heap")
				p.Close()
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func armedFaults() string {
	text := "faults: ["
	for range 40 {
		text += "{thread: T0, at: work, level: 1, do: pause, for: 1h},"
	}
	return text + "]\n"
}
