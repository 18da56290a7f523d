package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9" //nolint:depguard // the client tells its times to a hook

	"relock/web/runs"
	"relock/web/site"
	"relock/web/site/limit"
)

// meter counts what a server's operator wants to know. Its labels have few
// values: nothing sent by a visitor becomes one. It is safe for concurrent use.
type meter struct {
	registry *prometheus.Registry

	started  *prometheus.CounterVec   // runs, by store
	sockets  *prometheus.GaugeVec     // by what they are for
	frames   prometheus.Counter       // sent on sockets
	refusals *prometheus.CounterVec   // by limit
	requests *prometheus.CounterVec   // by status
	commands *prometheus.HistogramVec // while stepping, by command: seconds
	redis    prometheus.Histogram     // commands to the operator's Redis: seconds
	failures *prometheus.CounterVec   // of these, by what went wrong
	passed   *prometheus.CounterVec   // requests handed on to other servers, by outcome
	panics   *prometheus.CounterVec   // of this program, by what they ended
}

// What a socket is for.
const (
	forRun    = "run"
	forPlay   = "play"
	forRoom   = "room"
	forPassed = site.PassedSocket
)

func newMeter(sessions *runs.Registry, films *runs.Films, waiting *limit.Ledger) *meter {
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &meter{
		registry: prometheus.NewRegistry(),
		started:  counter("relock_runs_started_total", "Runs started, by their store.", "store"),
		sockets:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "relock_sockets", Help: "Websockets open now, by what they are for."}, []string{"for"}),
		frames:   prometheus.NewCounter(prometheus.CounterOpts{Name: "relock_frames_sent_total", Help: "Frames sent on websockets, pings too."}),
		refusals: counter("relock_refusals_total", "Requests and sockets that were refused, by the limit that was met.", "limit"),
		requests: counter("relock_requests_total", "Requests answered, by status; 101 is a websocket that has ended.", "status"),
		commands: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relock_command_seconds", Help: "From when a command for stepping was read to its last frame, by command.", Buckets: seconds,
		}, []string{"do"}),
		redis: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "relock_redis_seconds", Help: "Commands to the operator's Redis, a pipeline as one.", Buckets: seconds,
		}),
		failures: counter("relock_redis_errors_total", "Commands to the operator's Redis that failed: reply is an error that it answered, network none that it did.", "kind"),
	}
	m.passed = counter("relock_passed_total", "Requests for a run that were handed on to the server that has it, by what came of it: answered, gone or silent.", "outcome")
	m.panics = counter("relock_panics_total", "Panics of this program, by what they ended: page, play, run, watch or room. Each is in the log with its stack.", "ended")
	gauge := func(name, help string, value func(runs.Count) int) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return float64(value(sessions.Count())) })
	}
	m.registry.MustRegister(
		m.started, m.sockets, m.frames, m.refusals, m.requests, m.commands, m.redis, m.failures, m.passed, m.panics,
		gauge("relock_runs_running", "Runs going on now.", func(c runs.Count) int { return c.Running }),
		gauge("relock_runs_kept", "Runs kept to be looked at, those going on too.", func(c runs.Count) int { return c.Kept }),
		gauge("relock_steppers", "Scenarios stepped through now.", func(c runs.Count) int { return c.Stepping }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "relock_films_bytes", Help: "Bytes that the rows of long runs take which are kept for their pages."}, func() float64 { return float64(films.Bytes()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "relock_waiting_bytes", Help: "Bytes that wait for slow lines: bodies that are coming, and answers that are not read, each with its connection."}, func() float64 { return float64(waiting.Held()) }),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector(),
	)
	for _, what := range []string{forRun, forPlay, forRoom, forPassed} {
		m.sockets.WithLabelValues(what) // report 0 from the start
	}
	for _, kind := range []string{"reply", "network"} {
		m.failures.WithLabelValues(kind)
	}
	for _, outcome := range []string{site.PassAnswered, site.PassGone, site.PassSilent} {
		m.passed.WithLabelValues(outcome)
	}
	for _, of := range []string{site.OfPage, site.OfPlay, site.OfRun, site.OfWatch, site.OfRoom} {
		m.panics.WithLabelValues(of)
	}
	return m
}

// ServeHTTP answers in the format of Prometheus.
func (m *meter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{DisableCompression: true}).ServeHTTP(w, r)
}

// socket counts a websocket until the returned function is called.
func (m *meter) socket(what string) (end func()) {
	m.sockets.WithLabelValues(what).Inc()
	return m.sockets.WithLabelValues(what).Dec
}

// redisMeter is the hook through which the operator's Redis client feeds a
// meter.
type redisMeter struct{ *meter }

// DialHook implements redis.Hook.
func (m redisMeter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		m.failed(ctx, err)
		return conn, err
	}
}

// ProcessHook implements redis.Hook.
func (m redisMeter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmd)
		m.redis.Observe(time.Since(began).Seconds())
		m.failed(ctx, err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (m redisMeter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		began := time.Now()
		err := next(ctx, cmds)
		m.redis.Observe(time.Since(began).Seconds())
		m.failed(ctx, err)
		return err
	}
}

// failed counts an error. A missing value, a script that must be sent first,
// and a cancelled run do not count.
func (m redisMeter) failed(ctx context.Context, err error) {
	var reply redis.Error
	switch {
	case err == nil, errors.Is(err, redis.Nil), ctx.Err() != nil:
	case errors.As(err, &reply):
		if !strings.HasPrefix(reply.Error(), "NOSCRIPT") {
			m.failures.WithLabelValues("reply").Inc()
		}
	default:
		m.failures.WithLabelValues("network").Inc()
	}
}
