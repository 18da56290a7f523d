package metric

import (
	"bytes"
	"fmt"
	"os"
	"syscall"
	"time"
)

// writeProcess writes what Linux knows. What cannot be read is left out.
func writeProcess(p *page) {
	p.one("process_start_time_seconds", "When the process began, in seconds since 1970.", isGauge, float64(began.UnixMilli())/1000)
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) == nil {
		p.one("process_cpu_seconds_total", "CPU time, of the user and the system.", isCounter, seconds(used.Utime)+seconds(used.Stime))
	}
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		p.one("process_open_fds", "Open file descriptors.", isGauge, float64(len(list)-1)) // one reads this list
	}
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) == nil {
		p.one("process_max_fds", "File descriptors that may be open.", isGauge, float64(files.Cur))
	}
	text, err := os.ReadFile("/proc/self/statm")
	var virtual, resident int
	if err != nil {
		return
	}
	if _, err := fmt.Fscan(bytes.NewReader(text), &virtual, &resident); err == nil {
		page := os.Getpagesize()
		p.one("process_virtual_memory_bytes", "Virtual memory.", isGauge, float64(virtual*page))
		p.one("process_resident_memory_bytes", "Resident memory.", isGauge, float64(resident*page))
	}
}

func seconds(t syscall.Timeval) float64 { return time.Duration(syscall.TimevalToNsec(t)).Seconds() }
