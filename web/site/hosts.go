package site

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"relock/engine/phrase"
	"relock/web/words"
)

// ErrPublicURL is returned for a public URL that is not just a scheme and a
// host.
var ErrPublicURL = phrase.New("it must be http:// or https:// and a host, with a port if need be, and nothing after that")

// ParsePublicURL reads the address under which visitors reach a server, say
// https://relock.example.org. It fails with ErrPublicURL.
func ParsePublicURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, errors.Join(ErrPublicURL, err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Path != "" && u.Path != "/" ||
		u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return nil, ErrPublicURL
	}
	return &url.URL{Scheme: u.Scheme, Host: strings.ToLower(u.Host)}, nil
}

// named refuses requests for a name that is not this server's. A foreign page
// whose name was made to point here (DNS rebinding) would have the same origin
// for its browser, and could read and start everything. Health checks are allowed under
// any name: monitoring uses its own names, and there is nothing to read.
func (s *Site) named(next http.Handler) http.Handler {
	refused := s.Page(func(_ http.ResponseWriter, r *http.Request) error {
		e := Refuse(http.StatusMisdirectedRequest, "This server has another name",
			"You asked for %s, which is not one of its names. Use its IP address or localhost. To add this name, its operator must start it with -public-url.", host(r))
		e.Limit = "host"
		return e
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, passed := passedOn(r) // another server answers to that name
		if passed || r.URL.Path == "/healthz" || r.URL.Path == "/readyz" || s.answersTo(r) {
			next.ServeHTTP(w, r)
			return
		}
		refused(w, r)
	})
}

// answersTo reports whether r asks for this server under one of its own names
// or addresses.
func (s *Site) answersTo(r *http.Request) bool {
	name := hostName(r)
	if s.public != nil && name == s.public.Hostname() {
		return true
	}
	if isLoopback(name) {
		return true
	}
	asked, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.AddrPort().Addr().Unmap().WithZone("") == asked.Unmap().WithZone("")
}

// isLoopback reports whether a name means this machine and no name server can
// make it mean another. Names below localhost are not among them: nothing here
// has one.
func isLoopback(name string) bool {
	if name == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.Unmap().IsLoopback()
}

// isPublicName reports whether r asks by the name that visitors know, if it is
// one, and not an address or this machine's own: browsers remember what they are
// told about a name for long, and for all its ports.
func (s *Site) isPublicName(r *http.Request) bool {
	if s.public == nil || !strings.EqualFold(host(r), s.public.Hostname()) {
		return false
	}
	_, err := netip.ParseAddr(s.public.Hostname())
	return err != nil && !isLoopback(s.public.Hostname())
}

// host returns the name under which r asks for this server, without the port.
func host(r *http.Request) string {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	return strings.Trim(name, "[]")
}

// hostName is host as names are compared: in small letters, and without the dot
// that may end it.
func hostName(r *http.Request) string { return strings.TrimSuffix(strings.ToLower(host(r)), ".") }

// Origin returns this site's origin as visitors reach it: its public URL if it
// has one, else what the visitor's browser says. Behind a proxy only the
// browser knows whether the connection is encrypted.
func (s *Site) Origin(r *http.Request) string {
	if s.public != nil {
		return s.public.String()
	}
	for _, header := range []string{"Origin", "Referer"} {
		u, err := url.Parse(r.Header.Get(header))
		if err == nil && u.Host == r.Host && (u.Scheme == "http" || u.Scheme == "https") {
			return u.Scheme + "://" + u.Host
		}
	}
	if encrypted(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

// Owns reports whether an origin, say https://relock.example.org, is this site's as r
// reaches it.
func (s *Site) Owns(r *http.Request, origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil &&
		(strings.EqualFold(u.Host, r.Host) || s.public != nil && strings.EqualFold(u.Host, s.public.Host))
}

// sameOrigin reports whether a websocket's handshake comes from this site. A
// proxy may have changed the Host that it passes on, so the public URL counts
// too.
func (s *Site) sameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" || s.public != nil && strings.EqualFold(origin, s.public.String()) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && strings.EqualFold(u.Host, r.Host)
}

// Secure reports whether the answer to r travels encrypted, so that cookies can
// require it.
func (s *Site) Secure(r *http.Request) bool {
	return encrypted(r) || s.public != nil && s.public.Scheme == "https" && strings.EqualFold(host(r), s.public.Hostname())
}

var errNoProtection = errors.New("site: the public URL is no origin")

// protected refuses requests that pages of other sites send.
func (s *Site) protected(next http.Handler) (http.Handler, error) {
	p := http.NewCrossOriginProtection()
	if s.public != nil {
		if err := p.AddTrustedOrigin(s.public.String()); err != nil {
			return nil, fmt.Errorf("%w: %w", errNoProtection, err)
		}
	}
	p.SetDenyHandler(s.Page(func(http.ResponseWriter, *http.Request) error { return errOtherSite }))
	return p.Handler(next), nil
}

var (
	errOtherSite = &Error{
		Status: http.StatusForbidden, Limit: "cross-origin", Head: "That came from another site",
		Text: func(l words.Language) string {
			return l.Say("A page of another site sent this, and only this site's own pages may. If this is the same site under another name, its operator must start it with -public-url.")
		},
	}
	errNoSocket = Refuse(http.StatusBadRequest, "That is not a page", "Only a websocket can be opened at this address.")
)

// noSocket answers a request that could not become a websocket.
func (s *Site) noSocket(w http.ResponseWriter, r *http.Request, status int) {
	if status == http.StatusForbidden {
		s.AnswerError(w, r, errOtherSite)
		return
	}
	refused := *errNoSocket
	refused.Status = status
	s.AnswerError(w, r, &refused)
}
