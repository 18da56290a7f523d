package own_test

import (
	"net/http"
	"runtime"
	"testing"

	"relock/web/webtest"
)

// BenchmarkViewOfALongTrace reports what it costs to take a log of 1 MB, to look at
// its trace, and to look again: seconds of processor time, and MB that are
// allocated.
func BenchmarkViewOfALongTrace(b *testing.B) {
	for b.Loop() {
		s, at := webtest.Open(b, nil), ""
		cost := func(what string, do func()) float64 {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			began := webtest.CPU(b)
			do()
			took := (webtest.CPU(b) - began).Seconds()
			runtime.ReadMemStats(&after)
			b.ReportMetric(took, what+"-cpu-s")
			b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/(1<<20), what+"-MB")
			return took
		}
		view := func() {
			if res, body := s.Do(b, http.MethodGet, at, nil, "Accept-Encoding", "gzip"); res.StatusCode != http.StatusOK {
				b.Fatalf("%d: %.300s", res.StatusCode, body)
			}
		}
		cost("take", func() {
			res, body := s.Send(b, "/edit/file", "monitor.log", webtest.LongLog())
			if at = res.Header.Get("Location"); at == "" {
				b.Fatalf("%d: %.300s", res.StatusCode, body)
			}
		})
		first := cost("first", view)
		b.ReportMetric(cost("second", view)/first, "second/first")
	}
}
