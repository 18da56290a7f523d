// Package web serves the playground: its pages, runs and traces, and the
// websockets that bring rows.
package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"

	"relock/engine/course"
	"relock/engine/panics"
	"relock/engine/phrase"
	"relock/engine/scenario"
	"relock/engine/store"
	"relock/web/keep"
	"relock/web/link"
	"relock/web/page"
	"relock/web/peers"
	"relock/web/room"
	"relock/web/session"
	"relock/web/static"
	"relock/web/templates"
	"relock/web/turn"
	"relock/web/wire"
	"relock/web/words"
)

// MaxForm is how many bytes of a form are read: the YAML, the YAML its form was
// made from, and the form itself, with each character encoded as up to three.
const MaxForm = 8 * scenario.MaxBytes

// Config configures a Server.
type Config struct {
	Log       *slog.Logger
	Limits    session.Limits
	External  *store.External  // the operator's Redis, nil without one
	Listening net.Addr         // where it listens, nil if unknown
	Secure    *tls.Config      // with which it serves HTTPS, nil for HTTP
	Advertise *url.URL         // where others that share External reach it; nil to find out; see ParseAdvertise
	Proxies   []netip.Prefix   // their X-Forwarded-For and Forwarded are believed; see ParseProxies
	Scenarios fs.FS            // the examples, *.yaml at its top
	Course    fs.FS            // the chapters; nil for the built-in ones
	Languages *words.Languages // to choose from; nil for the built-in ones
	Links     string           // the folder that keeps links; "" keeps them on External, or in memory without one
	PublicURL *url.URL         // how visitors reach it; nil if only their requests say so; see ParsePublicURL
	Rooms     room.Journal     // keeps the rooms; nil for one in memory
	Dev       bool             // also serve /storybook
	NoMetrics bool             // do not serve /metrics
}

// Server answers requests. It is safe for concurrent use; Close ends its runs.
type Server struct {
	log       *slog.Logger
	sessions  *session.Registry
	external  *store.External
	peers     *peers.Peers // nil without an external Redis
	public    *url.URL     // nil without one
	proxies   []netip.Prefix
	listening net.Addr // nil if unknown
	tls       bool     // it serves HTTPS itself
	upgrader  *wire.Upgrader
	patience  time.Duration // with visitors reading an answer
	pace      pace          // of bodies that come
	meter     *meter
	refusals  *refusalLog
	languages *words.Languages
	static    *static.Files
	links     *link.Shelf
	traces    keep.Shelf
	films     *shelf[filmKey, footage]
	same      *shelf[readyKey, readyAnswer] // for all
	turns     *turn.Turns                   // to work on a request, a command or a run
	large     *turn.Turns                   // to have something large in memory
	coming    *turn.Turns                   // to send what it is made of
	searches  *turn.Turns                   // to have a search under way
	ledger    *session.Ledger
	spaces    *session.Ledger // what searches hold
	waiting   *session.Ledger // what waits for slow lines
	examples  []example
	gallery   map[string]func() picture
	course    func() *course.Course
	rooms     *room.House
	guesses   guesses
	visits    sync.WaitGroup // of rooms
	handler   http.Handler
	routes    []string // the patterns it answers

	front     sync.Mutex
	frontFilm *recording // what the front page shows, from its first request on
}

type example struct {
	name string
	text string                    // of the file
	sc   func() *scenario.Scenario // read once, when somebody first asks
}

// firstExample is what the editor opens with.
const firstExample = "two-threads"

// New returns a server. That the examples are scenarios is for their tests to
// know: it reads none of them.
func New(c Config) (*Server, error) {
	files, err := static.New()
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	links, traces, err := shelvesOf(c)
	if err != nil {
		return nil, err
	}
	s := &Server{
		log: c.Log, patience: usualPatience, pace: usualPace, external: c.External, public: c.PublicURL, proxies: c.Proxies, listening: c.Listening, tls: c.Secure != nil,
		languages: cmp.Or(c.Languages, words.BuiltIn()), static: files, links: links, traces: traces, films: newFilms(), same: newReady(),
		turns: newTurns(), large: turn.New(largeAtOnce, largeOfAddress), coming: newComing(), searches: turn.New(searchesAtOnce, 1),
		ledger: session.NewLedger(session.BytesOfAddress, session.BytesOfAll), spaces: session.NewLedger(searchBytesOfAddress, searchBytesOfAll),
		waiting: session.NewWaiting(waitingOfAddress, waitingOfAll),
	}
	s.upgrader = wire.NewUpgrader(s.sameOrigin, s.noSocket, s.sent)
	if s.examples, err = readExamples(c.Scenarios); err != nil {
		return nil, err
	}
	s.gallery = map[string]func() picture{}
	for _, e := range s.examples {
		s.gallery[e.name] = pictured(e)
	}
	if s.course, err = taught(c); err != nil {
		return nil, err
	}
	s.sessions = session.NewRegistry(c.Limits)
	if err := s.openHouse(c.Rooms); err != nil {
		return nil, err
	}
	s.sessions.Panicked = func(p *panics.Error) { s.panicked(context.Background(), ofRun, p) }
	s.sessions.TakeTurns(s.turns)
	s.sessions.OnHeld(func(from string) { s.turnedAway(context.Background(), from, "max-kept-bytes") })
	s.meter, s.refusals = newMeter(s.sessions, s.films, s.waiting), newRefusalLog(c.Log)
	if c.External != nil {
		c.External.Client().AddHook(redisMeter{s.meter})
	}
	mux := http.NewServeMux()
	handle := func(pattern string, h http.Handler) {
		s.routes = append(s.routes, pattern)
		mux.Handle(pattern, h)
	}
	handle("GET /{$}", s.forAll(s.home))
	handle("GET /scenarios", s.forAll(s.scenarios))
	handle("GET /about", s.forAll(s.about))
	handle("GET /glossary", s.forAll(s.glossary))
	handle("GET /api", s.forAll(s.api))
	handle("GET /edit", s.ofRun(inQuery, s.page(s.edit)))
	handle("POST /edit", s.page(s.reedit))
	handle("POST /edit/scenario", s.page(s.convert))
	handle("POST /edit/file", s.page(s.largely(s.openFile)))
	handle("POST /traces", s.page(s.largely(s.keepTrace)))
	handle("GET /traces/{id}", s.page(s.largely(s.showTrace)))
	handle("GET /traces/{id}/trace", s.page(s.keptTrace))
	handle("GET /traces/{id}/lanes", s.page(s.largely(s.traceLanes)))
	handle("GET /traces/{id}/rows", s.page(s.largely(s.traceRows)))
	handle("GET /traces/{id}/export", s.page(s.largely(s.exportTrace)))
	handle("POST /runs", s.page(s.start))
	handle("GET /runs/{id}", s.ofRun(inPath, s.page(s.show)))
	handle("GET /runs/{id}/trace", s.ofRun(inPath, s.page(s.trace)))
	handle("GET /runs/{id}/socket", s.ofRun(inPath, s.live(s.socket)))
	handle("GET /runs/{id}/lanes", s.ofRun(inPath, s.page(s.runLanes)))
	handle("GET /runs/{id}/rows", s.ofRun(inPath, s.page(s.runRows)))
	handle("GET /runs/{id}/export", s.ofRun(inPath, s.page(s.largely(s.exportRun))))
	handle("POST /export", s.page(s.largely(s.exportLink)))
	handle("GET /qr", s.page(s.qr))
	handle("GET /locks", s.forAll(s.locks))
	handle("GET /locks/{lock}/{cell}", s.page(s.cell))
	handle("GET /learn", s.forAll(s.learn))
	handle("GET /learn/class", s.forAll(s.class))
	handle("GET /learn/check", s.page(s.checked))
	handle("GET /learn/made", s.page(s.made))
	handle("GET /learn/made.yaml", s.page(s.madeYAML))
	handle("POST /learn/made/judge", s.page(s.judgeMade))
	handle("GET /learn/{chapter}/{item}", s.page(s.lesson))
	handle("POST /learn/{chapter}/{item}/judge", s.page(s.judge))
	handle("GET /play", s.page(s.play))
	handle("GET /play/{example}", s.page(s.play))
	handle("GET /play/socket", s.live(s.playSocket))
	handle("GET /embed/play", s.page(s.embed))
	handle("GET /embed/play/{example}", s.page(s.embed))
	handle("GET /embed/s/{id}", s.page(s.embed))
	handle("GET /oembed", s.page(s.oembed))
	handle("POST /rooms", s.page(s.makeRoom))
	handle("GET /room", s.forAll(s.roomDoor))
	handle("GET /room/new", s.page(s.newRoom))
	handle("GET /room/{code}", s.page(s.roomPhone))
	handle("GET /room/{code}/host", s.page(s.roomHost))
	handle("GET /room/{code}/stage", s.page(s.roomStage))
	handle("GET /room/{code}/socket", s.live(s.roomSocket))
	handle("GET /room/{code}/log", s.page(s.roomLog))
	handle("GET /room/{code}/votes.csv", s.page(s.roomVotes))
	handle("GET /room/{code}/branches", s.page(s.roomBranches))
	handle("POST /replay", s.page(s.largely(s.replay)))
	handle("POST /s", s.page(s.keep))
	handle("GET /s/{id}", s.page(s.kept))
	if c.Dev {
		handle("GET /storybook", s.page(s.storybook))
	}
	handle("GET /healthz", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") }))
	handle("GET /readyz", http.HandlerFunc(s.ready))
	if !c.NoMetrics {
		handle("GET /metrics", s.meter)
	}
	handle("GET "+static.Prefix, s.fileForAll(files))
	handle("/", s.page(func(w http.ResponseWriter, r *http.Request) error { return noRoute(w, r, mux) }))
	answer, err := s.protected(mux)
	if err != nil {
		return nil, err
	}
	s.handler = s.accepted(s.located(s.logged(compressed(s.secured(s.named(answer))))))
	s.join(c)
	return s, nil
}

// taught is the course. The built-in one is read when somebody first asks for it;
// of another one New says what is wrong with it.
func taught(c Config) (func() *course.Course, error) {
	if c.Course == nil {
		return sync.OnceValue(func() *course.Course {
			one, err := course.BuiltIn(words.All())
			if err != nil {
				panic(err) // it is embedded
			}
			return one
		}), nil
	}
	one, err := course.ReadCourse(words.All(), c.Course, c.Scenarios)
	if err != nil {
		return nil, fmt.Errorf("web: the course: %w", err)
	}
	return func() *course.Course { return one }, nil
}

// shelvesOf returns where links and traces from elsewhere are kept.
func shelvesOf(c Config) (*link.Shelf, keep.Shelf, error) {
	links, traces := link.NewShelf(keep.InMemory(link.MemoryLimits)), keep.InMemory(traceLimits)
	if c.External != nil {
		client := c.External.Client()
		links, traces = link.NewShelf(keep.OnRedis(client, "link", link.RedisLimits)), keep.OnRedis(client, "trace", traceLimits)
	}
	if c.Links == "" {
		return links, traces, nil
	}
	links, err := link.InFolder(c.Links)
	if err != nil {
		return nil, nil, fmt.Errorf("web: %w", err)
	}
	return links, traces, nil
}

func readExamples(fsys fs.FS) ([]example, error) {
	names, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("web: examples: %w", err)
	}
	if at := slices.Index(names, firstExample+".yaml"); at >= 0 {
		names = slices.Insert(slices.Delete(names, at, at+1), 0, firstExample+".yaml")
	}
	var list []example
	for _, name := range names {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("web: examples: %w", err)
		}
		list = append(list, example{strings.TrimSuffix(name, path.Ext(name)), string(data), sync.OnceValue(func() *scenario.Scenario {
			sc, err := scenario.Parse(data)
			if err != nil {
				panic(fmt.Errorf("web: example %s: %w", name, err)) // it is embedded
			}
			return sc
		})})
	}
	if len(list) == 0 {
		return nil, errors.New("web: no examples")
	}
	return list, nil
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// ready says whether new visitors should be sent here. They should even if the
// external Redis does not answer: everything but the runs on it works.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if s.sessions.Closed() {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ready")
}

// Close stops all runs, closes all websockets, its own with 1001, and returns when
// everything has ended.
func (s *Server) Close() {
	var apart sync.WaitGroup
	apart.Go(s.peers.Close) // a Redis that does not answer holds nobody up
	s.rooms.Close()
	s.sessions.Close()
	s.visits.Wait()
	apart.Wait()
}

func (s *Server) externalName() string {
	if s.external == nil {
		return ""
	}
	return s.external.Name()
}

// statusError is an error with a page of its own.
type statusError struct {
	status int
	head   phrase.Text
	text   func(words.Language) string
	limit  string        // the limit that was met, "" for none
	after  time.Duration // when it makes sense to ask again, 0 for whenever
}

func (e *statusError) Error() string { return string(e.head) }

// refuse returns the statusError of a page with a head and a text.
func refuse(status int, head, text phrase.Text, args ...any) *statusError {
	return &statusError{status: status, head: head, text: func(l words.Language) string { return l.Say(text, args...) }}
}

// explained returns the statusError of a page with a head, and a text that why
// says.
func explained(status int, head phrase.Text, why phrase.Speaker) *statusError {
	e := &statusError{
		status: status, head: head, text: func(l words.Language) string { return l.Sentence(why.Says()) }, limit: limitName(why),
	}
	if later, ok := why.(interface{ After() time.Duration }); ok {
		e.after = later.After()
	}
	return e
}

// errPanic stands for a panic whose stack is already in the log.
var errPanic = errors.New("panic")

var (
	errNoPage = refuse(http.StatusNotFound, "There is no such page", "The address may be mistyped.")
	errNoRun  = refuse(http.StatusNotFound, "There is no such run",
		"Runs are forgotten when nobody has looked at them for a while, and when the server restarts. Run the scenario again: on the virtual clock the same seed gives the same run.")
)

// methods are those that some route has, in the order in which Allow names them.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost}

// noRoute answers what no route of mux does: a method that its address does not
// have, or an address that there is not.
func noRoute(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) error {
	var allowed []string
	for _, method := range methods {
		other := *r
		other.Method = method
		if _, pattern := mux.Handler(&other); pattern != "" && pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) == 0 {
		return errNoPage
	}
	list := strings.Join(append(allowed, http.MethodOptions), ", ")
	w.Header().Set("Allow", list)
	if r.Method == http.MethodOptions {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	return refuse(http.StatusMethodNotAllowed, "That cannot be done at this address", "What can be asked for here: %s.", list)
}

// page is live in the visitor's turn.
func (s *Server) page(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	answer := s.live(h)
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

// live answers with what the handler writes, or with its error's page. It takes
// no turn: sockets take one for each command.
func (s *Server) live(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		set := s.settingsOf(r)
		s.keepSettings(w, r, set)
		w.Header().Add("Vary", "Accept-Language, Cookie")
		r = r.WithContext(words.With(r.Context(), set.language))
		err := panics.Catch(func() error { return h(w, r) })
		if err == nil || errors.Is(err, context.Canceled) && r.Context().Err() != nil || deliveryOf(r).refused.Load() != nil {
			return // answered, or the visitor has left, or deliver says why not
		}
		var status *statusError
		var panicked *panics.Error
		if !errors.As(err, &status) {
			if errors.As(err, &panicked) {
				s.panicked(r.Context(), ofPage, panicked)
				err = errPanic
			}
			s.log.ErrorContext(r.Context(), "request failed", slog.String("path", r.URL.Path), slog.String("error", err.Error()))
			status = refuse(http.StatusInternalServerError, "Something went wrong here", "It has been written down. Please try again.")
		}
		s.turnDown(w, r, status)
	}
}

// turnDown answers with an error, in the language of r's context: a page, or
// JSON for who asks for it.
func (s *Server) turnDown(w http.ResponseWriter, r *http.Request, status *statusError) {
	limit := s.refused(w, r, status)
	l := words.From(r.Context())
	head := l.Say(status.head)
	if asksForJSON(r) {
		answerJSON(w, status.status, errorJSON{Error: l.Say("%s. %s", head, status.text(l)), Limit: limit})
		return
	}
	m := page.Message{Page: s.smallFrame(r, head), Status: status.status, Head: head, Text: status.text(l)}
	if err := render(r.Context(), w, status.status, templates.MessagePage(m)); err != nil {
		s.log.ErrorContext(r.Context(), "error page failed", slog.String("error", err.Error()))
	}
}

// refused notes which limit was met, if there was one, and says when to ask
// again.
func (s *Server) refused(w http.ResponseWriter, r *http.Request, status *statusError) (limit string) {
	limit = status.limit
	if limit == "" && status.status == http.StatusRequestEntityTooLarge {
		limit = "request-size"
	}
	if limit != "" {
		s.turnedAway(r.Context(), address(r), limit)
	}
	if status.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.after.Seconds())))
	}
	return limit
}

// errorJSON is what programs get for an error's page.
type errorJSON struct {
	Error string `json:"error"` // sentences
	Limit string `json:"limit"` // its name in metrics and logs, "" where none was met
}

// asksForJSON reports whether r was sent by a program that does not want pages.
func asksForJSON(r *http.Request) bool {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/html")
}

// answerJSON answers with a value of plain fields, as it is now.
func answerJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the visitor has left: nobody to tell
}

// turnedAway notes that a visitor was refused because of a limit.
func (s *Server) turnedAway(ctx context.Context, from, limit string) {
	s.meter.refusals.WithLabelValues(limit).Inc()
	s.refusals.add(ctx, from, limit)
}

// render writes a whole page or none.
func render(ctx context.Context, w http.ResponseWriter, status int, c templ.Component) error {
	var b bytes.Buffer
	if err := c.Render(ctx, &b); err != nil {
		return fmt.Errorf("render: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the visitor has left: nobody to tell
	return nil
}

// longAddress is how many bytes of an address a small page repeats in its
// switches, which lead to the front page instead.
const longAddress = 1 << 10

// smallFrame is frame for a page that says one thing: its style sheet is short,
// and it needs no script.
func (s *Server) smallFrame(r *http.Request, title string) page.Page {
	if len(r.URL.RequestURI()) > longAddress {
		set := s.settingsOf(r)
		r = r.Clone(r.Context())
		r.URL = &url.URL{Path: "/", RawQuery: url.Values{"lang": {set.language.Code()}, "theme": {set.theme}}.Encode()}
	}
	p := s.frame(r, title)
	p.Style, p.Script, p.Preloads = s.static.Style(static.Message), "", nil
	return p
}

// frame returns what surrounds the page that r asks for.
func (s *Server) frame(r *http.Request, title string) page.Page {
	set := s.settingsOf(r)
	p := page.Page{
		Title: title, Style: s.static.Style(static.Pages), Script: static.Prefix + "js/app.js", Icon: s.static.Path("icons/favicon.svg"),
		Preloads: s.static.Scripts(), Theme: set.theme, Path: r.URL.Path,
	}
	for _, l := range s.languages.All() {
		p.Languages = append(p.Languages, page.Language{Name: l.Name(), Code: l.Code(), Address: switched(r, "lang", l.Code()), Current: l == set.language})
	}
	if s.public != nil {
		p.Site = s.public.String()
	}
	for _, t := range themes {
		p.Themes = append(p.Themes, page.Theme{Name: t, Address: switched(r, "theme", t), Current: t == set.theme})
	}
	return p
}
