package own_test

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"relock/web/webtest"
)

// crowdedLog is a log of MONITOR of 1.1 MB: eight clients want one lock, by Redis'
// own commands or, as Redisson, by scripts.
func crowdedLog(scripts bool) []byte {
	const clients, size = 8, 11 << 17
	var b bytes.Buffer
	n := 0
	line := func(client, rest string) {
		fmt.Fprintf(&b, "%d.%06d [0 %s] %s\n", 1700000000+n/1000, n%1000*1000, client, rest)
		n++
	}
	for i := 0; b.Len() < size; i++ {
		me := i % clients
		client := fmt.Sprintf("10.0.0.1:%d", 5000+me)
		if !scripts {
			line(client, fmt.Sprintf(`"SET" "lock" "v%d" "NX" "PX" "30000"`, me))
			line(fmt.Sprintf("10.0.0.1:%d", 5000+(me+1)%clients), fmt.Sprintf(`"SET" "lock" "v%d" "NX" "PX" "30000"`, (me+1)%clients))
			line(client, `"DEL" "lock"`)
			continue
		}
		line(client, fmt.Sprintf(`"EVALSHA" "0f5a3c8e" "1" "lock" "30000" "p:%d"`, me))
		line("lua", `"exists" "lock"`)
		line("lua", fmt.Sprintf(`"hincrby" "lock" "p:%d" "1"`, me))
		line("lua", `"pexpire" "lock" "30000"`)
		line(client, fmt.Sprintf(`"EVALSHA" "77ac3d9b" "1" "lock" "p:%d"`, me))
		line("lua", fmt.Sprintf(`"hexists" "lock" "p:%d"`, me))
		line("lua", `"del" "lock"`)
	}
	return b.Bytes()
}

// peak has the highest resident set of this process begin again, and returns what tells
// it since then, in MB.
func peak(b *testing.B) func() float64 {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
	return func() float64 {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			b.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "VmHWM:")
		kb, err := strconv.Atoi(strings.Fields(rest)[0])
		if err != nil {
			b.Fatal(err)
		}
		return float64(kb) / (1 << 10)
	}
}

// BenchmarkViewOfALongTrace reports what it costs to take a log of 1 MB, to look at
// its trace, and to look again: seconds of processor time, and MB that are
// allocated; and the most memory that the process has at once.
func BenchmarkViewOfALongTrace(b *testing.B) {
	for name, log := range map[string][]byte{"one": webtest.LongLog(), "crowd": crowdedLog(false), "scripts": crowdedLog(true)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, at := webtest.Open(b, nil), ""
				cost := func(what string, do func()) float64 {
					var before, after runtime.MemStats
					debug.FreeOSMemory()
					runtime.ReadMemStats(&before)
					began, most := webtest.CPU(b), peak(b)
					do()
					took := (webtest.CPU(b) - began).Seconds()
					runtime.ReadMemStats(&after)
					b.ReportMetric(took, what+"-cpu-s")
					b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/(1<<20), what+"-MB")
					b.ReportMetric(most(), what+"-peak-MB")
					return took
				}
				view := func() {
					if res, body := s.Do(b, http.MethodGet, at, nil, "Accept-Encoding", "gzip"); res.StatusCode != http.StatusOK {
						b.Fatalf("%d: %.300s", res.StatusCode, body)
					}
				}
				cost("take", func() {
					res, body := s.Send(b, "/edit/file", "monitor.log", log)
					if at = res.Header.Get("Location"); at == "" {
						b.Fatalf("%d: %.300s", res.StatusCode, body)
					}
				})
				first := cost("first", view)
				b.ReportMetric(cost("second", view)/first, "second/first")
			}
		})
	}
}
