// Package site is what any page needs: who may ask for it, how much of the
// server it takes, and when its turn is. It carries requests from the line to a
// handler and answers back, keeps answers that are made once for all, and hands
// requests on to the server that has what they ask for. It knows nothing of
// locks, and nothing of what a page shows.
package site

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"relock/engine/store"
	"relock/web/site/limit"
	"relock/web/site/peers"
	"relock/web/site/turn"
	"relock/web/site/wire"
	"relock/web/static"
	"relock/web/words"
)

// Config configures a Site.
type Config struct {
	Log       *slog.Logger
	External  *store.External  // the operator's Redis, which servers of one site share; nil without one
	Listening net.Addr         // where it listens, nil if unknown
	Secure    *tls.Config      // with which it serves HTTPS, nil for HTTP
	Advertise *url.URL         // where others that share External reach it; nil to find out
	Proxies   []netip.Prefix   // their X-Forwarded-For and Forwarded are believed
	PublicURL *url.URL         // how visitors reach it; nil if only their requests say so
	Languages *words.Languages // to choose from
	Static    *static.Files
}

// Site is what any page needs: who may ask for it, how much of what all have it
// takes, and when it is its turn. It is safe for concurrent use. Count and Message
// must be set before the first request.
type Site struct {
	Count     Counter
	Message   func(w http.ResponseWriter, r *http.Request, m Message) error // answers with a page that says one thing
	Languages *words.Languages
	Static    *static.Files
	Upgrader  *wire.Upgrader
	Turns     *turn.Turns   // to work on a request, a command or a run
	Waiting   *limit.Ledger // what waits for slow lines
	Patience  time.Duration // with visitors reading an answer
	Pace      Pace          // of bodies that come

	config    Config
	log       *slog.Logger
	peers     *peers.Peers // nil without an external Redis, and before Around
	public    *url.URL     // nil without one
	proxies   []netip.Prefix
	listening net.Addr // nil if unknown
	tls       bool     // it serves HTTPS itself
	refusals  *refusalLog
	same      *Shelf[readyKey, readyAnswer] // for all
	large     *turn.Turns                   // to have something large in memory
	coming    *turn.Turns                   // to send what it is made of
}

// Message is what a page says that says one thing.
type Message struct {
	Status     int
	Head, Text string
}

// Counter counts what a site does, for its operator. It is safe for concurrent
// use.
type Counter interface {
	Request(status int)              // one was answered
	Refusal(limit string)            // of somebody who met a limit
	Panic(ended string)              // of this program: ofPage and the like
	PassedOn(outcome string)         // a request, to another server: passAnswered and the like
	Socket(what string) (end func()) // one is open until end is called
	Frames(n int)                    // that were sent on sockets
}

// NewID returns the beginning of a run's id, by which other servers of the site
// find it here; "" for a server alone.
func (s *Site) NewID() string { return s.peers.NewID() }

// Public returns the site's public URL, nil without one.
func (s *Site) Public() *url.URL { return s.public }

// Made returns how many answers that are the same for all were made.
func (s *Site) Made() int { return s.same.Folded() }
