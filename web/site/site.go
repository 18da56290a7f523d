// Package site is what any page needs: who may ask for it, how much of what all
// have it takes, and when it is its turn. It carries requests from the line to a
// handler and answers back, keeps what is made once for all, and hands requests on
// to the server that has what they ask for. It knows nothing of locks, and nothing
// of what a page shows.
package site

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"relock/engine/panics"
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
// takes, and when it is its turn. It is safe for concurrent use; what it counts
// with and writes error pages with must be set before the first request.
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

// New returns a site. Close ends it.
func New(c Config) *Site {
	s := &Site{
		config: c,
		Languages: c.Languages, Static: c.Static, Turns: newTurns(), Waiting: limit.NewWaiting(waitingOfAddress, waitingOfAll),
		Patience: usualPatience, Pace: usualPace,
		log: c.Log, public: c.PublicURL, proxies: c.Proxies, listening: c.Listening, tls: c.Secure != nil,
		refusals: newRefusalLog(c.Log), same: newReady(), large: turn.New(largeAtOnce, largeOfAddress), coming: newComing(),
	}
	s.Upgrader = wire.NewUpgrader(s.sameOrigin, s.noSocket, s.sent)
	return s
}

// Close tells the other servers of the site that this one has ended, and returns
// when nothing is handed on any more.
func (s *Site) Close() { s.peers.Close() }

// NewID returns the beginning of a run's id, by which other servers of the site
// find it here; "" for a server alone.
func (s *Site) NewID() string { return s.peers.NewID() }

// Public returns the site's public URL, nil without one.
func (s *Site) Public() *url.URL { return s.public }

// Made returns how many answers that are the same for all were made.
func (s *Site) Made() int { return s.same.Folded() }

// Around returns what answers requests by routes: it knows the visitor, sends
// what the routes answer, and lets nobody else in. From now on other servers of
// the site find this one.
func (s *Site) Around(routes http.Handler) (http.Handler, error) {
	answer, err := s.protected(routes)
	if err != nil {
		return nil, err
	}
	s.join(s.config)
	return s.accepted(s.located(s.logged(compressed(s.secured(s.named(answer)))))), nil
}

// Page is live in the visitor's turn.
func (s *Site) Page(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	answer := s.Live(h)
	return func(w http.ResponseWriter, r *http.Request) {
		d := deliveryOf(r)
		if d.count() != nil {
			return // deliver says why
		}
		seat := d.seat
		if seat.Take(r.Context()) != nil {
			return // the visitor has left
		}
		defer seat.Done()
		answer(w, r)
	}
}

// Live answers with what the handler writes, or with its error's page. It takes
// no turn: sockets take one for each command.
func (s *Site) Live(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		set := s.SettingsOf(r)
		s.keepSettings(w, r, set)
		w.Header().Add("Vary", "Accept-Language, Cookie")
		r = r.WithContext(words.With(r.Context(), set.Language))
		err := panics.Catch(func() error { return h(w, r) })
		if err == nil || errors.Is(err, context.Canceled) && r.Context().Err() != nil || deliveryOf(r).refused.Load() != nil {
			return // answered, or the visitor has left, or deliver says why not
		}
		var status *Error
		var panicked *panics.Error
		if !errors.As(err, &status) {
			if errors.As(err, &panicked) {
				s.Panicked(r.Context(), OfPage, panicked)
				err = errPanic
			}
			s.log.ErrorContext(r.Context(), "request failed", slog.String("path", r.URL.Path), slog.String("error", err.Error()))
			status = Refuse(http.StatusInternalServerError, "Something went wrong here", "It has been written down. Please try again.")
		}
		s.AnswerError(w, r, status)
	}
}

// AnswerError answers with an error, in the language of r's context: a page, or
// JSON for who asks for it.
func (s *Site) AnswerError(w http.ResponseWriter, r *http.Request, status *Error) {
	limit := s.refused(w, r, status)
	l := words.From(r.Context())
	head := l.Say(status.Head)
	if AsksForJSON(r) {
		AnswerJSON(w, status.Status, errorJSON{Error: l.Say("%s. %s", head, status.Text(l)), Limit: limit})
		return
	}
	if err := s.Message(w, r, Message{status.Status, head, status.Text(l)}); err != nil {
		s.log.ErrorContext(r.Context(), "error page failed", slog.String("error", err.Error()))
	}
}

// refused notes which limit was met, if there was one, and says when to ask
// again.
func (s *Site) refused(w http.ResponseWriter, r *http.Request, status *Error) (limit string) {
	limit = status.Limit
	if limit == "" && status.Status == http.StatusRequestEntityTooLarge {
		limit = "request-size"
	}
	if limit != "" {
		s.NoteRefusal(r.Context(), Address(r), limit)
	}
	if status.After > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.After.Seconds())))
	}
	return limit
}

// NoteRefusal notes that a visitor was refused because of a limit.
func (s *Site) NoteRefusal(ctx context.Context, from, limit string) {
	s.Count.Refusal(limit)
	s.refusals.add(ctx, from, limit)
}

// ReadTo counts the limit that ended the reading of a socket, if it was one.
func (s *Site) ReadTo(r *http.Request, end error) {
	if errors.Is(end, wire.ErrTooLong) {
		s.NoteRefusal(r.Context(), Address(r), "message-size")
	}
}

// sent counts frames, unless sending failed.
func (s *Site) sent(frames int, err error) {
	if err == nil {
		s.Count.Frames(frames)
	}
	if err != nil && !errors.Is(err, websocket.ErrCloseSent) {
		s.log.Debug("viewer gone", slog.String("error", err.Error()))
	}
}

// methods are those that some route has, in the order in which Allow names them.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost}

// NoRoute answers what no route of mux does: a method that its address does not
// have, or an address that there is not.
func NoRoute(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) error {
	var allowed []string
	for _, method := range methods {
		other := *r
		other.Method = method
		if _, pattern := mux.Handler(&other); pattern != "" && pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return ErrNoPage
	}
	list := strings.Join(append(allowed, http.MethodOptions), ", ")
	w.Header().Set("Allow", list)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return Refuse(http.StatusMethodNotAllowed, "That cannot be done at this address", "What can be asked for here: %s.", list)
}
