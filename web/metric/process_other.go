//go:build !linux

package metric

// writeProcess writes what is known of the process everywhere.
func writeProcess(p *page) {
	p.one("process_start_time_seconds", "When the process began, in seconds since 1970.", isGauge, float64(began.UnixMilli())/1000)
}
