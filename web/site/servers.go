package site

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"relock/engine/phrase"
	"relock/web/site/peers"
	"relock/web/site/wire"
	"relock/web/words"
)

// ErrAdvertise is returned for an address at which no other server can reach
// this one.
var ErrAdvertise = phrase.New("it must be a host and a port, 10.0.0.5:8080, or such a URL with http:// or https:// before it")

// ParseAdvertise reads the address at which other servers reach this one, for
// Config.Advertise. Without a scheme it has the one by which this server serves.
// It fails with ErrAdvertise.
func ParseAdvertise(text string, secure bool) (*url.URL, error) {
	if !strings.Contains(text, "://") {
		if host, port, err := net.SplitHostPort(text); err != nil || host == "" || port == "" {
			return nil, ErrAdvertise
		}
		text = schemeOf(secure) + "://" + text
	}
	u, err := ParsePublicURL(text)
	if err != nil {
		return nil, ErrAdvertise
	}
	return u, nil
}

func schemeOf(secure bool) string {
	if secure {
		return "https"
	}
	return "http"
}

// join makes this server find the others that share its Redis, and be found.
func (s *Site) join(c Config) {
	if c.External == nil {
		return
	}
	own := c.Advertise
	if own == nil {
		own = advertised(c.Listening, c.External.Name(), c.Secure != nil)
	}
	shared := peers.Config{Client: c.External.Client(), Log: c.Log}
	if own != nil {
		shared.Address = own.String()
	}
	if c.Secure != nil && own != nil && own.Scheme == "https" {
		shared.Pin = func() (string, error) { return pinned(c.Secure) }
	}
	s.peers = peers.Join(shared)
	c.Log.Info("shares its Redis with other servers", slog.String("found_at", shared.Address))
}

// advertised returns where other servers reach one that listens at an address;
// nil if that is unknown. One that listens everywhere is reached where it
// reaches its Redis from.
func advertised(listening net.Addr, redis string, secure bool) *url.URL {
	tcp, ok := listening.(*net.TCPAddr)
	if !ok {
		return nil
	}
	ip := tcp.AddrPort().Addr().Unmap()
	if ip.IsUnspecified() {
		if ip = outward(redis); !ip.IsValid() {
			ip = netip.AddrFrom4([4]byte{127, 0, 0, 1}) // its Redis is a socket of this machine
		}
	}
	return &url.URL{Scheme: schemeOf(secure), Host: net.JoinHostPort(ip.String(), strconv.Itoa(tcp.Port))}
}

// pinned returns the pin of the certificate that a server shows now.
func pinned(c *tls.Config) (string, error) {
	certificates := c.Certificates
	if c.GetCertificate != nil {
		one, err := c.GetCertificate(&tls.ClientHelloInfo{})
		if err != nil {
			return "", fmt.Errorf("site: the certificate: %w", err)
		}
		certificates = []tls.Certificate{*one}
	}
	if len(certificates) == 0 || len(certificates[0].Certificate) == 0 {
		return "", errors.New("site: there is no certificate")
	}
	return peers.Pin(certificates[0].Certificate[0]), nil
}

// accepted treats requests that other servers hand on as if their visitors had
// sent them here.
func (s *Site) accepted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, ok, err := s.peers.Accept(w, r)
		if err != nil {
			http.Error(w, "not handed on by a server of this site", http.StatusForbidden)
			return
		}
		if ok {
			r = r.WithContext(context.WithValue(context.WithValue(r.Context(), passedKey{}, v), addressKey{}, v.Address))
			r.Host = v.Host
		}
		next.ServeHTTP(w, r)
	})
}

// PassedSocket is what a Counter calls a socket that is handed on to another
// server.
const PassedSocket = "passed"

// Outcomes of handing a request on.
const (
	PassAnswered = "answered"
	PassGone     = "gone"
	PassSilent   = "silent"
)

var (
	errGone = Refuse(http.StatusGone, "The server of this run has ended",
		"It ran on another server of this site. That server has ended, and so has the run. Run the scenario again: on the virtual clock the same seed gives the same run.")
	errSilent = &Error{
		Status: http.StatusBadGateway, Head: "The server of this run does not answer", After: Soon,
		Text: func(l words.Language) string {
			return l.Say("It runs on another server of this site, which does not answer right now. Try again in a moment. If that server has ended, the run is gone.")
		},
	}
)

// OfRun hands a request on to the server that has the run which id names. One that
// was handed on already is answered here, whatever it asks for.
func (s *Site) OfRun(id func(*http.Request) string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, elsewhere := s.peers.Elsewhere(id(r))
		if _, passed := passedOn(r); passed || !elsewhere {
			next.ServeHTTP(w, r)
			return
		}
		set := s.SettingsOf(r)
		s.keepSettings(w, r, set)
		w.Header().Add("Vary", "Accept-Language, Cookie")
		r.Body, r.ContentLength = http.NoBody, 0 // such requests have none, and it would be read while this waits
		if status := s.pass(w, r, name); status != nil {
			r = r.WithContext(words.With(r.Context(), set.Language))
			s.AnswerError(w, r, status)
		}
	})
}

// InPath returns the id of the run that a request is about, for OfRun.
func InPath(r *http.Request) string { return r.PathValue("id") }

// InQuery is InPath for addresses that name the run after ?run=.
func InQuery(r *http.Request) string { return r.URL.Query().Get("run") }

// pass hands a request on to the server of a name. It returns the page to answer
// with, nil if the request was answered or its visitor has left.
func (s *Site) pass(w http.ResponseWriter, r *http.Request, name string) *Error {
	socket := r.Header.Get("Upgrade") != ""
	if socket {
		defer s.Count.Socket(PassedSocket)()
	}
	err := s.peers.Pass(w, r, name, peers.Visitor{Address: Address(r), Host: r.Host, Secure: encrypted(r)})
	switch {
	case err == nil:
		s.Count.PassedOn(PassAnswered)
		return nil
	case r.Context().Err() != nil:
		return nil
	case errors.Is(err, peers.ErrUnknown):
		return ErrNoRun
	case errors.Is(err, peers.ErrGone):
		s.Count.PassedOn(PassGone)
		if socket {
			s.sayGone(w, r)
			return nil
		}
		return errGone
	case errors.Is(err, peers.ErrAway):
		s.log.WarnContext(r.Context(), "servers not found", slog.String("error", err.Error()))
		away := Explained(http.StatusServiceUnavailable, "One moment, please", peers.ErrAway)
		away.After = Soon
		return away
	default:
		s.Count.PassedOn(PassSilent)
		return errSilent
	}
}

// sayGone tells the page of a run whose server has ended, on its socket: browsers
// hide from scripts why a handshake was refused.
func (s *Site) sayGone(w http.ResponseWriter, r *http.Request) {
	l := s.SettingsOf(r).Language
	r = r.WithContext(words.With(r.Context(), l))
	conn := &wire.Conn{}
	if err := s.Upgrader.Upgrade(conn, w, r); err != nil {
		return // Upgrade has answered
	}
	defer conn.Close()
	if conn.Goodbye(wire.CloseGone, wire.Notice{V: 1, Gone: true, Refused: errGone.Text(l)}) {
		conn.Part(nil)
	}
}
