package metric

import (
	"runtime"
	"runtime/debug"
	"time"
)

// began is when the process began, to within its first milliseconds.
var began = time.Now()

// Process adds what Go and the system know of this process, under the names
// that Prometheus' client gave them, so that dashboards stay.
func (s *Set) Process() {
	s.add(writeGo)
	s.add(writeProcess)
}

// writeGo writes what Go knows.
func writeGo(p *page) {
	p.head("go_info", "Information about the Go environment.", isGauge)
	p.sample("go_info", `version="`+escaped.Replace(runtime.Version())+`"`, 1)
	if b, ok := debug.ReadBuildInfo(); ok {
		p.head("go_build_info", "Build information about the main Go module.", isGauge)
		p.sample("go_build_info", `checksum="`+escaped.Replace(b.Main.Sum)+`",path="`+escaped.Replace(b.Main.Path)+`",version="`+escaped.Replace(b.Main.Version)+`"`, 1)
	}
	p.one("go_goroutines", "Number of goroutines that currently exist.", isGauge, float64(runtime.NumGoroutine()))
	threads, _ := runtime.ThreadCreateProfile(nil)
	p.one("go_threads", "Number of OS threads created.", isGauge, float64(threads))
	p.one("go_sched_gomaxprocs_threads", "The current runtime.GOMAXPROCS setting.", isGauge, float64(runtime.GOMAXPROCS(0)))

	pauses := debug.GCStats{PauseQuantiles: make([]time.Duration, len(quantiles))}
	debug.ReadGCStats(&pauses)
	const pause = "go_gc_duration_seconds"
	p.head(pause, "Pauses of garbage collections.", isSummary)
	for i, q := range quantiles {
		p.sample(pause, `quantile="`+q+`"`, pauses.PauseQuantiles[i].Seconds())
	}
	p.sample(pause+"_sum", "", pauses.PauseTotal.Seconds())
	p.sample(pause+"_count", "", float64(pauses.NumGC))

	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	for _, one := range []struct {
		name, help, kind string
		value            float64
	}{
		{"alloc_bytes", "Bytes in use on the heap, equals go_memstats_heap_alloc_bytes.", isGauge, float64(m.Alloc)},
		{"alloc_bytes_total", "Bytes allocated on the heap until now, freed ones too.", isCounter, float64(m.TotalAlloc)},
		{"sys_bytes", "Bytes obtained from the system.", isGauge, float64(m.Sys)},
		{"mallocs_total", "Heap objects allocated until now.", isCounter, float64(m.Mallocs)},
		{"frees_total", "Heap objects freed until now.", isCounter, float64(m.Frees)},
		{"heap_alloc_bytes", "Bytes in use on the heap.", isGauge, float64(m.HeapAlloc)},
		{"heap_sys_bytes", "Heap bytes obtained from the system.", isGauge, float64(m.HeapSys)},
		{"heap_idle_bytes", "Heap bytes waiting to be used.", isGauge, float64(m.HeapIdle)},
		{"heap_inuse_bytes", "Heap bytes in use, with what lies between objects.", isGauge, float64(m.HeapInuse)},
		{"heap_released_bytes", "Heap bytes given back to the system.", isGauge, float64(m.HeapReleased)},
		{"heap_objects", "Objects on the heap.", isGauge, float64(m.HeapObjects)},
		{"stack_inuse_bytes", "Bytes in use by stacks.", isGauge, float64(m.StackInuse)},
		{"stack_sys_bytes", "Bytes obtained from the system for stacks.", isGauge, float64(m.StackSys)},
		{"gc_sys_bytes", "Bytes used by the garbage collector for itself.", isGauge, float64(m.GCSys)},
		{"other_sys_bytes", "Bytes used for other things of the runtime.", isGauge, float64(m.OtherSys)},
		{"next_gc_bytes", "Heap bytes at which the next garbage collection takes place.", isGauge, float64(m.NextGC)},
		{"last_gc_time_seconds", "When the last garbage collection ended, in seconds since 1970.", isGauge, float64(m.LastGC) / 1e9},
	} {
		p.one("go_memstats_"+one.name, one.help, one.kind, one.value)
	}
}

// quantiles are those of the pauses that Go tells.
var quantiles = []string{"0", "0.25", "0.5", "0.75", "1"}
