package web_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"relock/engine"
	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/web/film"
	"relock/web/words"
)

// heap is what is held, after what nobody holds has gone: pools and finalizers
// of earlier tests need several collections, so it collects until three in a
// row free nothing more.
func heap() int64 {
	var m runtime.MemStats
	least, same := int64(math.MaxInt64), 0
	for range 40 {
		runtime.GC()
		runtime.ReadMemStats(&m)
		held := int64(m.HeapAlloc)
		if held < least-4<<10 {
			same = 0
		} else if same++; same == 3 {
			return held
		}
		least = min(least, held)
	}
	return least
}

func parsed(tb testing.TB, text string) *scenario.Scenario {
	tb.Helper()
	sc, err := scenario.Parse([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return sc
}

// stepped steps through a scenario until it has so many events, with a page.
func stepped(tb testing.TB, sc *scenario.Scenario, events int) (*engine.Session, *film.Film) {
	tb.Helper()
	s, err := engine.Open(tb.Context(), sc)
	if err != nil {
		tb.Fatal(err)
	}
	b := s.Branches()[0]
	reel, told := film.New(words.English, sc, b.Header.Owners), 0
	for len(b.Events) < events && !b.Positions[len(b.Positions)-1].Over {
		if _, err := s.Step(tb.Context(), 0); err != nil {
			tb.Log(err)
			break
		}
		for _, e := range b.Events[told:] {
			reel.Add(e)
		}
		told = len(b.Events)
	}
	reel.Rows()
	return s, reel
}

// dear are scenarios of which each event takes much, in several ways.
func dear() map[string]string {
	return map[string]string{
		"two threads": twoText, "sixteen": crowd(dearestSteps), "armed": crowd(dearestSteps) + armedFaults(), "redlock": crowd(dearestRedlock),
		"three nodes": "lock: {protocol: redlock, nodes: 3, lease: 30ms, watchdog: 1ms}\ndefaults: {repeat: 100}\nthreads: [{name: A}, {name: B}, {name: C}]",
		"deep":        crowd("lock: {protocol: reentrant-fair, lease: 3ms, watchdog: 1ms}\ndefaults: {repeat: 100, work: 1ms, depth: 16}\n"),
	}
}

// holding is what a session of sc takes with its page and without, in bytes of
// the heap.
func holding(tb testing.TB, sc *scenario.Scenario, events int) (s *engine.Session, with, without int64) {
	tb.Helper()
	warm, _ := stepped(tb, sc, 10)
	warm.Close()
	before := heap()
	s, reel := stepped(tb, sc, events)
	with = heap() - before
	runtime.KeepAlive(reel)
	without = heap() - before
	runtime.KeepAlive(s)
	return s, with, without
}

// Limits count what is there.
func TestASessionIsAsLargeAsItSays(t *testing.T) {
	racetest.Skip(t)
	for name, text := range dear() {
		sc := parsed(t, text)
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

// notHeld says where a session of sc takes another space than it says, "" where it
// does not.
func notHeld(tb testing.TB, sc *scenario.Scenario) string {
	tb.Helper()
	s, with, without := holding(tb, sc, 1500)
	defer s.Close()
	all := s.Size() + len(s.Branches()[0].Events)*film.EventSize(sc)
	switch part, paged := float64(s.Size())/float64(without), float64(all)/float64(with); {
	case part < .5 || part > 2:
		return fmt.Sprintf("it says %d KB and takes %d", s.Size()>>10, without>>10)
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
				s, with, without := holding(b, parsed(b, text), 4000)
				one := s.Branches()[0]
				n := float64(len(one.Events))
				b.ReportMetric(float64(with)/n, "B/event")
				b.ReportMetric(float64(without)/n, "B/event-without-page")
				b.ReportMetric(n/float64(len(one.Moves)+1), "events/move")
				b.ReportMetric(float64(s.Size())/float64(without), "size/heap")
				s.Close()
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
