// Package metric counts what a server does, and writes it in Prometheus'
// format: counters, gauges and histograms with one label at most, and what Go
// and the system know of this process. Prometheus' own client would bring
// protocol buffers, a tenth of the program. Source: the text format 0.0.4,
// https://prometheus.io/docs/instrumenting/exposition_formats.
package metric

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ContentType is that of what Set.Write writes.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Set is the metrics of a server. Those who read it need them grouped by name;
// the order is that in which they were added. The zero value is empty. It is
// safe for concurrent use.
type Set struct {
	mu      sync.Mutex
	writers []func(*page)
}

func (s *Set) add(write func(*page)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writers = append(s.writers, write)
}

// Write writes all metrics. It fails with w's error.
func (s *Set) Write(w io.Writer) error {
	s.mu.Lock()
	writers := slices.Clone(s.writers)
	s.mu.Unlock()
	p := page{bufio.NewWriter(w)}
	for _, write := range writers {
		write(&p)
	}
	if err := p.Flush(); err != nil {
		return fmt.Errorf("metric: %w", err)
	}
	return nil
}

// Func adds a gauge whose value is asked for as the metrics are written.
func (s *Set) Func(name, help string, value func() float64) {
	s.add(func(p *page) { p.one(name, help, isGauge, value()) })
}

// Counters adds counters, which only grow, by the value of a label: "" for one
// without a label. Those of the given values are written from the start, others
// once they were asked for.
func (s *Set) Counters(name, help, label string, values ...string) *Vector[*Number] {
	return newVector(s, name, help, isCounter, label, values, func() *Number { return &Number{} })
}

// Gauges adds gauges, which also shrink, as Counters does.
func (s *Set) Gauges(name, help, label string, values ...string) *Vector[*Number] {
	return newVector(s, name, help, isGauge, label, values, func() *Number { return &Number{} })
}

// Histograms adds histograms, as Counters does. Bounds are the largest value in
// each bucket, ascending; what is larger than all is only counted.
func (s *Set) Histograms(name, help string, bounds []float64, label string, values ...string) *Vector[*Histogram] {
	return newVector(s, name, help, isHistogram, label, values, func() *Histogram {
		return &Histogram{bounds: bounds, buckets: make([]int64, len(bounds))}
	})
}

// metric is one of a Vector.
type metric interface {
	write(p *page, name, labels string)
}

// Vector is the metrics of one name, by the value of their label. It is safe for
// concurrent use.
type Vector[M metric] struct {
	made func() M

	mu sync.Mutex
	by map[string]M
}

func newVector[M metric](s *Set, name, help, kind, label string, values []string, made func() M) *Vector[M] {
	v := &Vector[M]{made: made, by: map[string]M{}}
	for _, value := range values {
		v.WithLabelValues(value)
	}
	s.add(func(p *page) {
		v.mu.Lock()
		all := maps.Clone(v.by)
		v.mu.Unlock()
		if len(all) > 0 {
			p.head(name, help, kind)
		}
		for _, value := range slices.Sorted(maps.Keys(all)) {
			labels := ""
			if label != "" {
				labels = label + `="` + escaped.Replace(value) + `"`
			}
			all[value].write(p, name, labels)
		}
	})
	return v
}

// WithLabelValues returns the metric of a label's value. Each is kept for good, so
// that nothing a visitor sends may become one.
func (v *Vector[M]) WithLabelValues(value string) M {
	v.mu.Lock()
	defer v.mu.Unlock()
	one, ok := v.by[value]
	if !ok {
		one = v.made()
		v.by[value] = one
	}
	return one
}

// Number is a counter or a gauge. It is safe for concurrent use.
type Number struct {
	mu sync.Mutex
	n  float64
}

// Inc adds 1.
func (n *Number) Inc() { n.Add(1) }

// Dec subtracts 1, from a gauge.
func (n *Number) Dec() { n.Add(-1) }

// Add adds so much.
func (n *Number) Add(much float64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.n += much
}

func (n *Number) write(p *page, name, labels string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p.sample(name, labels, n.n)
}

// Histogram says how many of the values observed were how large. It is safe for
// concurrent use.
type Histogram struct {
	bounds []float64

	mu      sync.Mutex
	buckets []int64 // of each bound alone; the format wants sums
	count   int64
	sum     float64
}

// Observe adds a value.
func (h *Histogram) Observe(value float64) {
	at, _ := slices.BinarySearch(h.bounds, value)
	h.mu.Lock()
	defer h.mu.Unlock()
	if at < len(h.buckets) {
		h.buckets[at]++
	}
	h.count++
	h.sum += value
}

func (h *Histogram) write(p *page, name, labels string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	more := labels
	if more != "" {
		more += ","
	}
	below := int64(0)
	for i, bound := range h.bounds {
		below += h.buckets[i]
		p.sample(name+"_bucket", more+`le="`+number(bound)+`"`, float64(below))
	}
	p.sample(name+"_bucket", more+`le="+Inf"`, float64(h.count))
	p.sample(name+"_sum", labels, h.sum)
	p.sample(name+"_count", labels, float64(h.count))
}

// Types of metrics.
const (
	isCounter   = "counter"
	isGauge     = "gauge"
	isHistogram = "histogram"
	isSummary   = "summary"
)

// page is what is written. Its errors wait for Flush.
type page struct{ *bufio.Writer }

// head writes what a metric is.
func (p *page) head(name, help, kind string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, helped.Replace(help), name, kind)
}

// one writes a metric without a label.
func (p *page) one(name, help, kind string, value float64) {
	p.head(name, help, kind)
	p.sample(name, "", value)
}

// sample writes a line.
func (p *page) sample(name, labels string, value float64) {
	if labels != "" {
		labels = "{" + labels + "}"
	}
	fmt.Fprintf(p, "%s%s %s\n", name, labels, number(value))
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// How a label's value and a help are written.
var (
	escaped = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	helped  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
)
