package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// longLog is a transcript of redis-cli with some 31,000 commands, 1 MB.
func longLog() []byte {
	return []byte(strings.Repeat("127.0.0.1:6379> SET lock a NX PX 30000\nOK\n127.0.0.1:6379> DEL lock\n(integer) 1\n", 1<<20/84))
}

// BenchmarkViewOfALongTrace reports what the first view of a long trace costs, and
// a second one.
func BenchmarkViewOfALongTrace(b *testing.B) {
	for b.Loop() {
		s := open(b, nil)
		took := func(do func()) float64 {
			began := time.Now()
			do()
			return time.Since(began).Seconds()
		}
		at := ""
		b.ReportMetric(took(func() {
			res, body := s.send(b, "/edit/file", "redis-cli.txt", longLog())
			if at = res.Header.Get("Location"); at == "" {
				b.Fatalf("%d: %s", res.StatusCode, body)
			}
		}), "take-s")
		view := func() {
			if res, body := s.do(b, http.MethodGet, at, nil, "Accept-Encoding", "gzip"); res.StatusCode != http.StatusOK {
				b.Fatalf("%d: %.300s", res.StatusCode, body)
			}
		}
		first, second := took(view), took(view)
		b.ReportMetric(first, "first-s")
		b.ReportMetric(second, "second-s")
		b.ReportMetric(second/first, "second/first")
	}
}
