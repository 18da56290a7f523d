package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9" //nolint:depguard // the client tells its times to a hook

	"relock/web/runs"
	"relock/web/shell"
	"relock/web/site"
)

// meter counts what a server's operator wants to know. Its labels have few
// values: nothing sent by a visitor becomes one. It is safe for concurrent use.
type meter struct {
	http.Handler // answers in the format of Prometheus

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

func newMeter(sessions *runs.Registry, films *runs.Films, at *site.Site) *meter {
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	all := prometheus.NewRegistry()
	all.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	with := promauto.With(all)
	counters := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := with.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
		for _, value := range values { // these are 0 from the start
			v.WithLabelValues(value)
		}
		return v
	}
	gauge := func(name, help string, value func() float64) {
		with.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	gauge("relock_runs_running", "Runs going on now.", func() float64 { return float64(sessions.Count().Running) })
	gauge("relock_runs_kept", "Runs kept to be looked at, those going on too.", func() float64 { return float64(sessions.Count().Kept) })
	gauge("relock_steppers", "Scenarios stepped through now.", func() float64 { return float64(sessions.Count().Stepping) })
	gauge("relock_viewers", "Pages that get the frames of runs now.", func() float64 { return float64(sessions.Viewers()) })
	gauge("relock_films_bytes", "Bytes of the rows that are kept for the pages of long runs and of traces.", func() float64 { return float64(films.Bytes()) })
	gauge("relock_waiting_bytes", "Bytes that wait for slow lines: bodies that are coming, and answers that are not read, each with its connection.", func() float64 { return float64(at.Waiting.Held()) })
	gauge("relock_turns_stalled_seconds", "For how long nobody has got a turn to work while somebody waits for one. From 5 on /healthz and /readyz say 503.", func() float64 {
		since, _ := at.Turns.Stalled()
		return since.Seconds()
	})
	sockets := with.NewGaugeVec(prometheus.GaugeOpts{Name: "relock_sockets", Help: "Websockets open now, by what they are for."}, []string{"for"})
	for _, what := range []string{shell.RunSocket, shell.PlaySocket, shell.RoomSocket, shell.LabSocket, site.PassedSocket} {
		sockets.WithLabelValues(what)
	}
	return &meter{
		Handler:  promhttp.HandlerFor(all, promhttp.HandlerOpts{DisableCompression: true}), // every answer is compressed where it is sent
		started:  counters("relock_runs_started_total", "Runs started, by their store.", "store"),
		sockets:  sockets,
		frames:   with.NewCounter(prometheus.CounterOpts{Name: "relock_frames_sent_total", Help: "Frames sent on websockets, pings too."}),
		refusals: counters("relock_refusals_total", "Requests and sockets that were refused, by the limit that was met.", "limit"),
		requests: counters("relock_requests_total", "Requests answered, by status; 101 is a websocket that has ended.", "status"),
		commands: with.NewHistogramVec(prometheus.HistogramOpts{
			Name: "relock_command_seconds", Help: "From when a command for stepping was read to its last frame, by command.", Buckets: seconds,
		}, []string{"do"}),
		redis: with.NewHistogram(prometheus.HistogramOpts{
			Name: "relock_redis_seconds", Help: "Commands to the operator's Redis, a pipeline as one.", Buckets: seconds,
		}),
		failures: counters("relock_redis_errors_total", "Commands to the operator's Redis that failed: reply is an error that it answered, network none that it did.", "kind", "reply", "network"),
		passed:   counters("relock_passed_total", "Requests for a run that were handed on to the server that has it, by what came of it: answered, gone or silent.", "outcome", site.PassAnswered, site.PassGone, site.PassSilent),
		panics:   counters("relock_panics_total", "Panics of this program, by what they ended: page, play, run, watch or room. Each is in the log with its stack.", "ended", site.OfPage, site.OfPlay, site.OfRun, site.OfWatch, site.OfRoom),
	}
}

// counter counts for a site and its pages what they do, in a meter.
type counter struct{ *meter }

// Request implements site.Counter.
func (c counter) Request(status int) { c.requests.WithLabelValues(strconv.Itoa(status)).Inc() }

// Refusal implements site.Counter.
func (c counter) Refusal(limit string) { c.refusals.WithLabelValues(limit).Inc() }

// Panic implements site.Counter.
func (c counter) Panic(ended string) { c.panics.WithLabelValues(ended).Inc() }

// PassedOn implements site.Counter.
func (c counter) PassedOn(outcome string) { c.passed.WithLabelValues(outcome).Inc() }

// Socket implements site.Counter.
func (c counter) Socket(what string) (end func()) {
	c.sockets.WithLabelValues(what).Inc()
	return c.sockets.WithLabelValues(what).Dec
}

// Frames implements site.Counter.
func (c counter) Frames(n int) { c.frames.Add(float64(n)) }

// Started implements operations.
func (c counter) Started(store string) { c.started.WithLabelValues(store).Inc() }

// Command implements operations.
func (c counter) Command(do string, within time.Duration) {
	c.commands.WithLabelValues(do).Observe(within.Seconds())
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
