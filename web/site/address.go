package site

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"relock/engine/phrase"
	"relock/web/site/peers"
)

// ErrProxies is returned for a malformed list of proxies.
var ErrProxies = phrase.New("it must be IP addresses or ranges such as 10.0.0.0/8, with commas between them")

// ParseProxies reads a list of proxies, "10.0.0.0/8, ::1". It fails with
// ErrProxies.
func ParseProxies(text string) ([]netip.Prefix, error) {
	var list []netip.Prefix
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		if ip, err := netip.ParseAddr(one); err == nil && ip.Zone() == "" {
			list = append(list, netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(one)
		if err != nil || prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("%q: %w", one, ErrProxies)
		}
		list = append(list, prefix.Masked())
	}
	return list, nil
}

type addressKey struct{}

// Address returns the IP address that limits count and logs name: the visitor's
// if a trusted proxy tells it, else the peer's.
func Address(r *http.Request) string {
	if found, ok := r.Context().Value(addressKey{}).(string); ok {
		return found
	}
	return counted(peer(r), r.RemoteAddr)
}

// located finds out the visitor's address, once for everybody who needs it. A
// server that hands a request on has done so.
func (s *Site) located(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, passed := passedOn(r); passed {
			next.ServeHTTP(w, r)
			return
		}
		found := counted(s.visitorAddress(r), r.RemoteAddr)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), addressKey{}, found)))
	})
}

// counted returns an address as limits count it. A single Internet connection
// has 2^64 IPv6 addresses, which count as one.
func counted(ip netip.Addr, otherwise string) string {
	switch {
	case !ip.IsValid():
		return otherwise
	case ip.Is6() && ip.IsGlobalUnicast() && !ip.IsPrivate():
		return netip.PrefixFrom(ip.WithZone(""), 64).Masked().String()
	default:
		return ip.String()
	}
}

// peer returns the other end of the connection, or the zero Addr if that has no
// IP address.
func peer(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// visitorAddress goes from the peer back through what proxies tell, as long as
// they are trusted. Anything left of that may have been written by the visitor.
func (s *Site) visitorAddress(r *http.Request) netip.Addr {
	from := peer(r)
	if !s.trusts(from) {
		return from
	}
	listed := r.Header.Values("X-Forwarded-For")
	standard := r.Header.Values("Forwarded")
	found := s.rightmost(from, strings.Split(strings.Join(listed, ","), ","))
	switch {
	case len(standard) == 0:
		return found
	case len(listed) == 0:
		return s.rightmost(from, forwardedFor(standard))
	}
	// A proxy writes one of the two and passes on the other as it came. Nobody can tell
	// which one is the proxy's, so neither is believed alone.
	if other := s.rightmost(from, forwardedFor(standard)); other != found {
		return from
	}
	return found
}

func (s *Site) trusts(ip netip.Addr) bool {
	for _, p := range s.proxies {
		if p.Contains(ip.WithZone("")) {
			return true
		}
	}
	return false
}

// rightmost returns the last address of a chain that is not a trusted proxy's,
// or the first if all are. The chain ends at anything that is not an address.
func (s *Site) rightmost(from netip.Addr, chain []string) netip.Addr {
	for i := len(chain) - 1; i >= 0 && s.trusts(from); i-- {
		ip, ok := parseNode(chain[i])
		if !ok {
			break
		}
		from = ip
	}
	return from
}

// parseNode reads an address as proxies write it: 192.0.2.1, 192.0.2.1:80,
// [2001:db8::1]:80, with or without quotes.
func parseNode(text string) (netip.Addr, bool) {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	if host, _, err := net.SplitHostPort(text); err == nil {
		text = host
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		return netip.Addr{}, false
	}
	return ip.Unmap().WithZone(""), true
}

// forwardedFor returns the for= values of the Forwarded headers (RFC 7239), one
// for each proxy; "" for a proxy that gives none.
func forwardedFor(headers []string) []string {
	var chain []string
	for element := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		node := ""
		for pair := range strings.SplitSeq(element, ";") {
			if name, value, ok := strings.Cut(pair, "="); ok && strings.EqualFold(strings.TrimSpace(name), "for") {
				node = value
			}
		}
		chain = append(chain, node)
	}
	return chain
}

// ofProxies are headers that a proxy adds and no browser sends, beside those that
// begin with X-Forwarded. The first line has standards, the others what proxies
// and networks of them call the visitor's address.
var ofProxies = []string{
	"Forwarded", "Via", "Cdn-Loop", "Max-Forwards",
	"X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "X-Original-Forwarded-For", "X-Original-Host", "X-Proxyuser-Ip", "X-Remote-Ip", "Client-Ip", "Forwarded-For",
	"True-Client-Ip", "Cf-Connecting-Ip", "Cf-Ray", "Fastly-Client-Ip", "Fly-Client-Ip", "X-Azure-Clientip", "X-Appengine-User-Ip", "X-Envoy-External-Address", "X-Amzn-Trace-Id",
}

// FromHere reports whether r comes from this machine, as far as the server can tell: over
// loopback, to a name of loopback, and without any sign of a proxy, no matter whom that
// serves. A proxy that changes nothing but the Host, and one that passes on connections,
// cannot be told from a browser here.
func FromHere(r *http.Request) bool {
	_, passed := passedOn(r) // by another server, which may be elsewhere
	return !passed && peer(r).IsLoopback() && isLoopback(hostName(r)) && !throughProxy(r)
}

// throughProxy reports whether r shows a sign of a proxy. Browsers speak HTTP/1.1 or
// later, keep their connections, and name the same host in Origin and Host; a proxy that
// was told nothing else speaks HTTP/1.0 or closes, and puts its own name for this server in Host.
func throughProxy(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) || r.Close {
		return true
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || !strings.EqualFold(u.Host, r.Host) {
			return true
		}
	}
	for name := range r.Header {
		if strings.HasPrefix(name, "X-Forwarded") || slices.Contains(ofProxies, name) {
			return true
		}
	}
	return false
}

type passedKey struct{}

// passedOn returns what another server says of who sent r, if that has handed r
// on.
func passedOn(r *http.Request) (peers.Visitor, bool) {
	v, ok := r.Context().Value(passedKey{}).(peers.Visitor)
	return v, ok
}

// encrypted reports whether the visitor's own connection is, as far as the
// servers can see.
func encrypted(r *http.Request) bool {
	v, ok := passedOn(r)
	return r.TLS != nil || ok && v.Secure
}
