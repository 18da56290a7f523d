package site

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"relock/web/static"
)

// policy lets a page use what this server sends, and nothing inline.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors %s"

// secured sets the headers of every answer. Other sites may frame only embeds,
// and load only those and what they need. Slides opened as a file are allowed
// by name, because "*" stands for network addresses only.
func (s *Site) secured(next http.Handler) http.Handler {
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
		h.Set("Content-Security-Policy", fmt.Sprintf(policy, ancestors))
		h.Set("Cross-Origin-Resource-Policy", resource)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
		if s.tls && encrypted(r) && s.isPublicName(r) {
			h.Set("Strict-Transport-Security", "max-age="+strconv.Itoa(year))
		}
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

// logged delivers answers, and writes one line per request.
func (s *Site) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		d, r := s.begin(w, r)
		defer d.end()
		next.ServeHTTP(d, r)
		s.deliver(d, r)
		s.Count.Request(d.status)
		s.log.InfoContext(r.Context(), "request",
			slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", d.status),
			slog.Int64("bytes", d.sent), slog.Float64("took_ms", float64(time.Since(began).Microseconds())/1000), slog.String("from", Address(r)))
	})
}
