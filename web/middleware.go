package web

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"relock/web/static"
)

// policy lets a page use what this server sends, and nothing inline except the
// style sheet with the given hash.
const policy = "default-src 'none'; script-src 'self'; style-src %s; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors %s"

// secured sets the headers of every answer. Other sites may frame only embeds,
// and load only those and what they need. Slides opened as a file are allowed
// by name, because "*" stands for network addresses only.
func (s *Server) secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		ancestors, resource := "'self'", "same-origin"
		switch {
		case strings.HasPrefix(r.URL.Path, "/embed/"):
			ancestors, resource = "* file:", "cross-origin"
			h.Set("Cross-Origin-Embedder-Policy", "require-corp") // an isolated page requires it of its frames
		case strings.HasPrefix(r.URL.Path, static.Prefix):
			resource = "cross-origin"
		default:
			h.Set("Cross-Origin-Opener-Policy", "same-origin")
		}
		h.Set("Content-Security-Policy", fmt.Sprintf(policy, s.static.StyleHashes(), ancestors))
		h.Set("Cross-Origin-Resource-Policy", resource)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		next.ServeHTTP(w, r)
	})
}

// compressed sends answers as gzip if that makes them smaller. A websocket
// takes over its connection and is left alone.
func compressed(next http.Handler) http.Handler {
	smaller := gzhttp.GzipHandler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "" {
			next.ServeHTTP(w, r)
			return
		}
		smaller.ServeHTTP(w, r)
	})
}

// logged writes one line per request.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		rec := &recorder{ResponseWriter: w, status: http.StatusOK, patience: s.patience}
		next.ServeHTTP(rec, s.seated(rec, r))
		s.meter.requests.WithLabelValues(strconv.Itoa(rec.status)).Inc()
		s.log.InfoContext(r.Context(), "request",
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", rec.status),
			slog.Int64("bytes", rec.bytes), slog.Float64("took_ms", float64(time.Since(began).Microseconds())/1000), slog.String("from", address(r)))
	})
}

// How long a visitor may take to read an answer: the server's patience, and
// more for a long one.
const (
	usualPatience = 20 * time.Second
	slowest       = 32 << 10 // bytes a second
)

// recorder notes what was answered, and ends the connection if the visitor does
// not read it.
type recorder struct {
	http.ResponseWriter

	status   int
	bytes    int64
	patience time.Duration
	away     func(write func()) // without the visitor's turn
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	until := time.Now().Add(r.patience + time.Duration(len(b))*time.Second/slowest)
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(until) // a test's recorder has none
	var n int
	var err error
	r.away(func() { n, err = r.ResponseWriter.Write(b) })
	r.bytes += int64(n)
	return n, err
}

// Unwrap is for http.ResponseController.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// Hijack lets a websocket take over the connection.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	r.status = http.StatusSwitchingProtocols
	c, rw, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, fmt.Errorf("web: take over the connection: %w", err)
	}
	return c, rw, nil
}
