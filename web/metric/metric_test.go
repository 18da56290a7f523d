package metric_test

import (
	"errors"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"relock/web/metric"
)

// What is written is what the format asks for: a head for each name, labels
// escaped, buckets that count what is in the smaller ones, too.
func TestWhatIsWritten(t *testing.T) {
	var s metric.Set
	s.Counters("nobody_was_refused_total", "Refused.", "limit")
	requests := s.Counters("requests_total", "Requests.", "status", "200")
	requests.WithLabelValues("404").Inc()
	requests.WithLabelValues("a \"b\" \\\n").Add(1.5)
	sockets := s.Gauges("sockets", "Open.", "", "").WithLabelValues("")
	sockets.Inc()
	sockets.Inc()
	sockets.Dec()
	took := s.Histograms("took_seconds", "Took.", []float64{.001, .5, 10}, "do", "step")
	for _, v := range []float64{.001, .0011, .5, 11} {
		took.WithLabelValues("step").Observe(v)
	}
	s.Histograms("redis_seconds", "Redis.", []float64{1}, "", "").WithLabelValues("").Observe(2)
	s.Func("kept_bytes", "Kept in a \\ \"b\",\nor not.", func() float64 { return 1e7 })
	var got strings.Builder
	if err := s.Write(&got); err != nil {
		t.Fatal(err)
	}
	const want = `# HELP requests_total Requests.
# TYPE requests_total counter
requests_total{status="200"} 0
requests_total{status="404"} 1
requests_total{status="a \"b\" \\\n"} 1.5
# HELP sockets Open.
# TYPE sockets gauge
sockets 1
# HELP took_seconds Took.
# TYPE took_seconds histogram
took_seconds_bucket{do="step",le="0.001"} 1
took_seconds_bucket{do="step",le="0.5"} 3
took_seconds_bucket{do="step",le="10"} 3
took_seconds_bucket{do="step",le="+Inf"} 4
took_seconds_sum{do="step"} 11.5021
took_seconds_count{do="step"} 4
# HELP redis_seconds Redis.
# TYPE redis_seconds histogram
redis_seconds_bucket{le="1"} 0
redis_seconds_bucket{le="+Inf"} 1
redis_seconds_sum 2
redis_seconds_count 1
# HELP kept_bytes Kept in a \\ "b",\nor not.
# TYPE kept_bytes gauge
kept_bytes 1e+07
`
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got.String(), "\n")); diff != "" {
		t.Error(diff)
	}
}

// Counts from many goroutines all count.
func TestAllIsCounted(t *testing.T) {
	var s metric.Set
	counters, took := s.Counters("n_total", "N.", "of"), s.Histograms("took_seconds", "Took.", []float64{1}, "of")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				counters.WithLabelValues("x").Inc()
				took.WithLabelValues("x").Observe(1)
				_ = s.Write(&strings.Builder{})
			}
		})
	}
	all.Wait()
	var got strings.Builder
	if err := s.Write(&got); err != nil || !strings.Contains(got.String(), "\nn_total{of=\"x\"} 800\n") || !strings.Contains(got.String(), "\ntook_seconds_sum{of=\"x\"} 800\n") {
		t.Errorf("%v\n%s", err, &got)
	}
}

// Each line of what is known of the process can be read, and is about something.
func TestTheProcessIsTold(t *testing.T) {
	var s metric.Set
	s.Process()
	var got strings.Builder
	if err := s.Write(&got); err != nil {
		t.Fatal(err)
	}
	names := []string{"go_goroutines", "go_threads", "go_info", "go_gc_duration_seconds_count", "go_memstats_heap_inuse_bytes", "process_start_time_seconds"}
	if runtime.GOOS == "linux" {
		names = append(names, "process_cpu_seconds_total", "process_resident_memory_bytes", "process_open_fds", "process_max_fds", "process_virtual_memory_bytes")
	}
	for _, name := range names {
		if !regexp.MustCompile(`(?m)^` + name + `(\{[^}]*\})? [0-9.e+]+$`).MatchString(got.String()) {
			t.Errorf("no %s in\n%s", name, &got)
		}
	}
	for line := range strings.Lines(got.String()) {
		if !regexp.MustCompile(`^(# (HELP|TYPE) \w+ .+|\w+(\{\w+="[^"]*"(,\w+="[^"]*")*\})? -?[0-9.e+-]+)\n$`).MatchString(line) {
			t.Errorf("cannot be read: %q", line)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = errors.New("full")

func TestAWriterThatFails(t *testing.T) {
	var s metric.Set
	s.Func("n", "N.", func() float64 { return 1 })
	if err := s.Write(full{}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}
