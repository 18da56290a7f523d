package web

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/redis/go-redis/v9" //nolint:depguard // the client tells its times to a hook

	"relock/web/metric"
	"relock/web/runs"
	"relock/web/site"
)

// meter counts what a server's operator wants to know. Its labels have few
// values: nothing sent by a visitor becomes one. It is safe for concurrent use.
type meter struct {
	all metric.Set

	started  *metric.Vector[*metric.Number]    // runs, by store
	sockets  *metric.Vector[*metric.Number]    // by what they are for
	frames   *metric.Number                    // sent on sockets
	refusals *metric.Vector[*metric.Number]    // by limit
	requests *metric.Vector[*metric.Number]    // by status
	commands *metric.Vector[*metric.Histogram] // while stepping, by command: seconds
	redis    *metric.Histogram                 // commands to the operator's Redis: seconds
	failures *metric.Vector[*metric.Number]    // of these, by what went wrong
	passed   *metric.Vector[*metric.Number]    // requests handed on to other servers, by outcome
	panics   *metric.Vector[*metric.Number]    // of this program, by what they ended
}

// What a socket is for.
const (
	forRun    = "run"
	forPlay   = "play"
	forRoom   = "room"
	forLab    = "lab"
	forPassed = site.PassedSocket
)

func newMeter(sessions *runs.Registry, films *runs.Films, at *site.Site) *meter {
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
	m := &meter{}
	m.started = m.all.Counters("relock_runs_started_total", "Runs started, by their store.", "store")
	m.sockets = m.all.Gauges("relock_sockets", "Websockets open now, by what they are for.", "for", forRun, forPlay, forRoom, forLab, forPassed)
	m.frames = m.all.Counters("relock_frames_sent_total", "Frames sent on websockets, pings too.", "", "").WithLabelValues("")
	m.refusals = m.all.Counters("relock_refusals_total", "Requests and sockets that were refused, by the limit that was met.", "limit")
	m.requests = m.all.Counters("relock_requests_total", "Requests answered, by status; 101 is a websocket that has ended.", "status")
	m.commands = m.all.Histograms("relock_command_seconds", "From when a command for stepping was read to its last frame, by command.", seconds, "do")
	m.redis = m.all.Histograms("relock_redis_seconds", "Commands to the operator's Redis, a pipeline as one.", seconds, "", "").WithLabelValues("")
	m.failures = m.all.Counters("relock_redis_errors_total", "Commands to the operator's Redis that failed: reply is an error that it answered, network none that it did.", "kind", "reply", "network")
	m.passed = m.all.Counters("relock_passed_total", "Requests for a run that were handed on to the server that has it, by what came of it: answered, gone or silent.", "outcome", site.PassAnswered, site.PassGone, site.PassSilent)
	m.panics = m.all.Counters("relock_panics_total", "Panics of this program, by what they ended: page, play, run, watch or room. Each is in the log with its stack.", "ended", site.OfPage, site.OfPlay, site.OfRun, site.OfWatch, site.OfRoom)
	gauge := func(name, help string, value func(runs.Count) int) {
		m.all.Func(name, help, func() float64 { return float64(value(sessions.Count())) })
	}
	gauge("relock_runs_running", "Runs going on now.", func(c runs.Count) int { return c.Running })
	gauge("relock_runs_kept", "Runs kept to be looked at, those going on too.", func(c runs.Count) int { return c.Kept })
	gauge("relock_steppers", "Scenarios stepped through now.", func(c runs.Count) int { return c.Stepping })
	m.all.Func("relock_films_bytes", "Bytes of the rows that are kept for the pages of long runs and of traces.", func() float64 { return float64(films.Bytes()) })
	m.all.Func("relock_waiting_bytes", "Bytes that wait for slow lines: bodies that are coming, and answers that are not read, each with its connection.", func() float64 { return float64(at.Waiting.Held()) })
	m.all.Func("relock_turns_stalled_seconds", "For how long nobody has got a turn to work while somebody waits for one. From 5 on /healthz and /readyz say 503.", func() float64 {
		since, _ := at.Turns.Stalled()
		return since.Seconds()
	})
	m.all.Process()
	return m
}

// ServeHTTP answers in the format of Prometheus.
func (m *meter) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", metric.ContentType)
	_ = m.all.Write(w) // the one who asked has left: nobody to tell
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
