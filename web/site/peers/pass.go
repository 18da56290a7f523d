package peers

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"
)

// header of a request that a server hands on: what it says of it, signed. Of an
// answer: the name of who gave it.
const header = "Relock-Passed-On"

// Limits of a request that is handed on.
const (
	dialLimit   = 2 * time.Second
	answerLimit = 15 * time.Second // until the answer begins, or goes on
	probeLimit  = 2 * time.Second  // the same, of a server that may have ended
	idleLimit   = time.Minute      // of a connection, for the next request
	idleEach    = 32               // such connections, to one server
	signedLimit = 30 * time.Second // from when it was signed, and before: somebody who has read one on its way can send it again for that long
)

// Visitor is who sent a request, as the server saw it that got it first.
type Visitor struct {
	Address string `json:"address"` // by which limits count
	Host    string `json:"host"`    // that was asked for
	Secure  bool   `json:"secure"`  // the request came encrypted
}

// passed is what servers tell each other about a request.
type passed struct {
	Visitor

	To  string `json:"to"` // the server's name
	URI string `json:"uri"`
	At  int64  `json:"at"` // when it was signed, in Unix milliseconds
}

// Errors that only the log gets.
var (
	errStranger = errors.New("something else answers at its address: is -advertise right?")
	errRefused  = errors.New("peers: a request that no server of this site has handed on to this one")
)

// sign returns the header's value.
func sign(secret string, what passed) (string, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return "", fmt.Errorf("peers: %w", err)
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	return body + "." + mac(secret, body), nil
}

func mac(secret, body string) string {
	h := hmac.New(sha256.New, []byte(secret))
	h.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// Accept reads who sent a request that another server hands on, and marks the
// answer as this server's. It reports false for a request that comes from a
// visitor, and fails for one that pretends to be handed on, and after Close.
func (p *Peers) Accept(w http.ResponseWriter, r *http.Request) (v Visitor, ok bool, err error) {
	text := r.Header.Get(header)
	if p == nil || text == "" {
		return Visitor{}, false, nil
	}
	r.Header.Del(header)
	body, signature, _ := strings.Cut(text, ".")
	secret := p.shared()
	if p.ctx.Err() != nil || secret == "" || !hmac.Equal([]byte(signature), []byte(mac(secret, body))) {
		return Visitor{}, false, errRefused
	}
	data, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil {
		return Visitor{}, false, errRefused
	}
	var what passed
	if json.Unmarshal(data, &what) != nil || what.To != p.name || what.URI != r.URL.RequestURI() || p.now().Sub(time.UnixMilli(what.At)).Abs() > signedLimit {
		return Visitor{}, false, errRefused
	}
	w.Header().Set(header, p.name)
	return what.Visitor, true, nil
}

// Pass hands a request on to the server of a name, a websocket too, and answers
// with what that answers. It fails with ErrUnknown, ErrGone, ErrSilent or
// ErrAway; nothing is answered then. It panics as httputil.ReverseProxy does
// where an answer breaks off.
func (p *Peers) Pass(w http.ResponseWriter, r *http.Request, name string, v Visitor) error {
	at, err := p.find(r.Context(), name)
	if err != nil {
		return err
	}
	target, err := url.Parse(at.Address)
	if err != nil {
		return fmt.Errorf("peers: the address of %s: %w", name, err)
	}
	signed, err := sign(p.shared(), passed{Visitor: v, To: name, URI: r.URL.RequestURI(), At: p.now().UnixMilli()})
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(r.Context())
	defer end()
	one := &passing{to: name, socket: r.Header.Get("Upgrade") != "", end: end}
	if !p.begin(one) {
		return ErrSilent // this server shuts down: the visitor comes back to another one
	}
	defer p.done(one)
	patience := answerLimit
	if !at.alive { // it may merely not reach Redis
		patience = probeLimit
	}
	begins := time.AfterFunc(patience, end)
	defer begins.Stop()
	var failed error
	proxy := &httputil.ReverseProxy{
		Transport: p.passes,
		ErrorLog:  slog.NewLogLogger(p.config.Log.Handler(), slog.LevelDebug),
		Rewrite: func(out *httputil.ProxyRequest) {
			out.SetURL(target)
			out.Out.Header.Set(header, signed)
		},
		ModifyResponse: func(res *http.Response) error {
			begins.Stop()
			if res.StatusCode == http.StatusSwitchingProtocols {
				return nil
			}
			if res.Header.Get(header) != name {
				return errStranger
			}
			res.Body = impatient{res.Body, end}
			res.Header.Del(header)
			for key := range res.Header {
				w.Header().Del(key) // what the other server says of it counts
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, err error) { failed = err },
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
	if failed == nil {
		return nil
	}
	if r.Context().Err() != nil { // the visitor has left
		return fmt.Errorf("peers: %w", context.Cause(r.Context()))
	}
	p.forget(name)
	if now, err := p.find(r.Context(), name); errors.Is(err, ErrGone) || err == nil && !now.alive && p.certain() {
		return ErrGone
	}
	p.config.Log.WarnContext(r.Context(), "server not reached", slog.String("server", name), slog.String("address", at.Address), slog.String("error", failed.Error()))
	return ErrSilent
}

// impatient is the body of an answer that ends where the next piece of it does
// not come within answerLimit.
type impatient struct {
	io.ReadCloser

	end func()
}

func (b impatient) Read(to []byte) (int, error) {
	defer time.AfterFunc(answerLimit, b.end).Stop()
	return b.ReadCloser.Read(to)
}

// passing is a request that is being handed on.
type passing struct {
	to     string // the server's name
	socket bool   // it goes on until somebody leaves
	end    func()
}

// begin notes a request that is handed on, until done. It reports false after
// Close.
func (p *Peers) begin(one *passing) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.passing[one] = struct{}{}
	if one.socket {
		p.going.Add(1)
	}
	return true
}

func (p *Peers) done(one *passing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.passing, one)
	if one.socket {
		p.going.Done()
	}
}

// leave ends what is handed on to servers that have ended: a machine that was
// switched off closes no connection. A server that merely does not reach Redis
// still answers.
func (p *Peers) leave(ctx context.Context) {
	gone := map[string]bool{}
	for _, one := range p.under() {
		if _, asked := gone[one.to]; !asked {
			at, err := p.find(ctx, one.to)
			gone[one.to] = errors.Is(err, ErrGone) || err == nil && !at.alive && p.certain() && !p.answers(ctx, at.Address)
		}
		if gone[one.to] && ctx.Err() == nil {
			one.end()
		}
	}
}

// probe is a path that every server answers at once.
const probe = "/healthz"

// answers reports whether there is a server at an address.
func (p *Peers) answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+probe, nil)
	if err != nil {
		return false
	}
	res, err := p.passes.RoundTrip(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return true
}

// under returns what is being handed on.
func (p *Peers) under() []*passing {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.passing))
}

// forget has the next who asks for a server look where it is now.
func (p *Peers) forget(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if one, ok := p.known[name]; ok {
		one.asked = time.Time{}
		p.known[name] = one
	}
}

// transport returns the connections to other servers.
func (p *Peers) transport() *http.Transport {
	dialer := &net.Dialer{Timeout: dialLimit}
	return &http.Transport{
		DialContext: dialer.DialContext,
		DialTLSContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, 2*dialLimit)
			defer cancel()
			return (&tls.Dialer{NetDialer: dialer, Config: p.trust(addr)}).DialContext(ctx, network, addr)
		},
		IdleConnTimeout:     idleLimit,
		MaxIdleConnsPerHost: idleEach,
		DisableCompression:  true, // it is handed on as it comes
	}
}

var errPin = errors.New("it shows another certificate than it says")

// trust returns how to verify the server at an address: by the certificate that
// it says it has, if it does, since certificates are made out to the names that
// visitors use.
func (p *Peers) trust(addr string) *tls.Config {
	host, _, _ := net.SplitHostPort(addr)
	pins := p.pinsOf(addr)
	if len(pins) == 0 {
		return &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection does
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 || !slices.Contains(pins, Pin(state.PeerCertificates[0].Raw)) {
				return errPin
			}
			return nil
		},
	}
}

// Pin returns the SHA-256 of a certificate in DER, in hexadecimal.
func Pin(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

// pinsOf returns the pins of the servers that are, or were, at an address.
func (p *Peers) pinsOf(addr string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pins []string
	for _, one := range p.known {
		if u, err := url.Parse(one.Address); err == nil && one.Pin != "" && portOf(u) == addr {
			pins = append(pins, one.Pin)
		}
	}
	return pins
}

// portOf returns a URL's host and port.
func portOf(u *url.URL) string {
	if u.Port() == "" {
		return net.JoinHostPort(u.Hostname(), "443")
	}
	return u.Host
}
