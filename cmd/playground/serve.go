package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"relock/engine/course"
	"relock/engine/outside/box"
	"relock/engine/outside/lab"
	"relock/engine/phrase"
	"relock/engine/store"
	"relock/lessons"
	"relock/web"
	"relock/web/board"
	"relock/web/board/stream"
	"relock/web/labs"
	"relock/web/runs"
	"relock/web/site"
	"relock/web/words"
)

const serveSynopsis phrase.Text = `playground [serve] [flags]

Serves the playground page. The environment variable beside a flag sets it, too;
the flag wins.

Exit codes: 0 after SIGINT or SIGTERM, which takes up to 10 s; 1 it cannot
serve, because the address is taken or a folder is not writable; 2 bad flags or
variables, or mistakes in the course; 3 the Redis of -redis does not answer.`

// defaultAddr is reachable from this machine only.
const defaultAddr = "127.0.0.1:8080"

// maxHeader is how many bytes a request's header may have: a link in the
// address, twice, and what browsers send.
const maxHeader = 64 << 10

// Times of the server.
const (
	headerLimit = 5 * time.Second  // to send a request's header
	readLimit   = 15 * time.Second // to send a body that no handler has begun to read
	idleLimit   = 2 * time.Minute  // between two requests
	stuckLimit  = 20 * time.Second // for an HTTP/2 connection to take another byte
	grace       = 10 * time.Second // for requests in flight at shutdown
)

type serveFlags struct {
	addr, redis string
	links       string
	rooms       string
	course      string
	public      string
	advertise   string
	proxies     string
	cert, key   string // of TLS
	dev         bool
	metrics     bool
	labs        labs.Limits
	labAnyone   bool
	level       logLevel
	limits      runs.Limits
}

// logLevel is a slog.Level by one of its four names.
type logLevel struct{ slog.Level }

var errLevel = errors.New("allowed: debug, info, warn, error")

// UnmarshalText implements encoding.TextUnmarshaler. It fails with errLevel.
func (l *logLevel) UnmarshalText(text []byte) error {
	if l.Level.UnmarshalText(text) != nil {
		return errLevel
	}
	return nil
}

// newServeFlags returns the flags of serve for the command of that name.
func newServeFlags(command string, env environment, f *serveFlags) *flag.FlagSet {
	f.limits, f.labs = runs.DefaultLimits(), labs.DefaultLimits()
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	fs.StringVar(&f.addr, "addr", defaultAddr, env.say("`address` to listen on; :8080 for every interface"))
	fs.StringVar(&f.public, "public-url", "", env.say("`address` at which visitors reach it, such as https://relock.example.org: for links, QR codes and embeds"))
	fs.StringVar(&f.proxies, "trusted-proxies", "", env.say("`addresses` and ranges of proxies whose X-Forwarded-For and Forwarded headers count, such as 127.0.0.1,10.0.0.0/8"))
	fs.StringVar(&f.cert, "tls-cert", "", env.say("serve HTTPS with the certificate in this `file` (PEM, with its chain); the server loads a newer one within a minute"))
	fs.StringVar(&f.key, "tls-key", "", env.say("and its key in this `file`"))
	fs.StringVar(&f.redis, "redis", "", env.say("also offer runs on the Redis at this `URL`, and share with all servers that use the same one: short links (unless -links is set), rooms (unless -rooms is), traces, and the way to each other's runs"))
	fs.StringVar(&f.advertise, "advertise", "", env.say("`address` at which the servers that share -redis reach this one, such as 10.0.0.5:8080; by default the address where it listens or, if that is every interface, the address from which it reaches Redis"))
	fs.TextVar(&f.level, "log-level", logLevel{slog.LevelInfo}, env.say("log `level`: debug, info, warn, error"))
	fs.IntVar(&f.limits.Running, "max-running", f.limits.Running, env.say("`number` of scenarios running at once"))
	fs.IntVar(&f.limits.RunningPerAddress, "max-running-per-address", f.limits.RunningPerAddress, env.say("`number` of scenarios running at once from one address"))
	fs.IntVar(&f.limits.StartsPerMinute, "max-starts", f.limits.StartsPerMinute, env.say("`number` of new runs, steppers, files and short links in a minute from one address"))
	fs.IntVar(&f.limits.Kept, "max-kept", f.limits.Kept, env.say("`number` of runs kept for viewing"))
	fs.IntVar(&f.limits.Stepping, "max-stepping", f.limits.Stepping, env.say("`number` of scenarios stepped through at once"))
	fs.IntVar(&f.limits.SteppingAddress, "max-stepping-per-address", f.limits.SteppingAddress, env.say("`number` of scenarios stepped through at once from one address"))
	fs.StringVar(&f.course, "course", "", env.say("`folder` of a course to teach instead of the built-in one; \"go doc relock/engine/course\" says how to write one"))
	fs.StringVar(&f.links, "links", "", env.say("`folder` that keeps short links, for this server alone, even with -redis; by default they are on -redis, or in memory until the server ends"))
	fs.StringVar(&f.rooms, "rooms", "", env.say("`folder` that keeps rooms, for this server alone, even with -redis; by default they are on -redis, or in memory until the server ends"))
	fs.DurationVar(&f.limits.Idle, "idle", f.limits.Idle, env.say("`time` after which the server forgets a run that nobody looks at"))
	fs.IntVar(&f.labs.Open, "max-labs", f.labs.Open, env.say("`number` of labs open at once, each a process; 0 for none"))
	fs.BoolVar(&f.labAnyone, "lab-anyone", false, env.say("let visitors on other machines open labs, and their programs connect to them"))
	fs.BoolVar(&f.metrics, "metrics", true, env.say("serve /metrics, as Prometheus reads it"))
	fs.BoolVar(&f.dev, "dev", false, env.say("also serve /storybook: each component of the page in its states"))
	fs.VisitAll(func(fl *flag.Flag) { fl.Usage += " ($" + variable(fl.Name) + ")" })
	return fs
}

func variable(name string) string {
	return "PLAYGROUND_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// fromEnvironment sets flags from environment variables.
func fromEnvironment(fs *flag.FlagSet, env environment) error {
	var errs []error
	fs.VisitAll(func(fl *flag.Flag) {
		if v := env.getenv(variable(fl.Name)); v != "" {
			if err := fl.Value.Set(v); err != nil {
				errs = append(errs, errors.New(env.say("invalid value %q for $%s: %s", v, variable(fl.Name), err)))
			}
		}
	})
	return errors.Join(errs...)
}

// tellOfPassword warns of a password in a flag of the command line, which every user of
// the machine reads.
func tellOfPassword(ctx context.Context, fs *flag.FlagSet, log *slog.Logger) {
	fs.Visit(func(fl *flag.Flag) {
		u, err := url.Parse(fl.Value.String())
		if err != nil || fl.Name != "redis" {
			return
		}
		password, _ := u.User.Password()
		if cmp.Or(password, u.Query().Get("password")) != "" { // behind a sentinel the master's is in the query
			log.WarnContext(ctx, "a password on the command line: every user of this machine can read it; give the URL in $"+variable(fl.Name)+" instead of -"+fl.Name)
		}
	})
}

func serve(ctx context.Context, args []string, env environment) int {
	var f serveFlags
	fs := newServeFlags("serve", env, &f)
	if err := fromEnvironment(fs, env); err != nil {
		return env.refuseWhy(err)
	}
	if code, done := parse(fs, args, env, env.say(serveSynopsis)); done {
		return code
	}
	if fs.NArg() > 0 {
		return env.refuse("%s takes no arguments, given %q", fs.Name(), fs.Args())
	}
	l := f.limits
	if l.Running < 1 || l.RunningPerAddress < 1 || l.StartsPerMinute < 1 || l.Kept < 1 || l.Idle <= 0 || l.Stepping < 1 || l.SteppingAddress < 1 || f.labs.Open < 0 {
		return env.refuse("the limits of serve must be larger than 0")
	}
	config, ok := f.config(env)
	if !ok {
		return exitUsage
	}
	if f.redis != "" {
		tellOfPassword(ctx, fs, config.Log)
		external, err := store.Connect(ctx, f.redis)
		if err != nil {
			return redisFailed(err, env)
		}
		defer func() { _ = external.Close() }()
		config.External = external
	}
	for name, folder := range map[string]string{"links": f.links, "rooms": f.rooms} {
		if err := writable(folder); err != nil {
			env.tell("-%s %s: it cannot be written: %s", name, folder, err)
			return exitUnexpected
		}
	}
	rooms, end, err := f.openRooms(ctx, config.Log)
	switch {
	case errors.Is(err, store.ErrUnreachable):
		return redisFailed(err, env)
	case err != nil:
		env.tellWhy(err, "-rooms")
		return exitUnexpected
	}
	defer end()
	config.Rooms = rooms
	if config.Box, config.BoxErr = box.New(box.Options{}); config.Box != nil {
		defer func() { _ = config.Box.Close() }()
	}
	at := service{addr: f.addr, forgets: f.redis == "" && f.rooms == "", config: config, limits: changedLimits(fs), grace: grace}
	if err := at.listen(ctx, env); err != nil {
		env.tellWhy(err)
		return exitUnexpected
	}
	return exitOK
}

// config is what the flags say of the server, but for what it opens. It reports false once
// it has said what is wrong with them.
func (f *serveFlags) config(env environment) (config web.Config, ok bool) {
	config = web.Config{
		Log:       slog.New(slog.NewJSONHandler(env.err, &slog.HandlerOptions{Level: f.level.Level})),
		Limits:    f.limits,
		Scenarios: lessons.Scenarios(),
		Links:     f.links,
		Dev:       f.dev,
		NoMetrics: !f.metrics,
		Lab:       f.lab(),
	}
	if f.public != "" {
		public, err := site.ParsePublicURL(f.public)
		if err != nil {
			env.refuseWhy(err, "-public-url "+strconv.Quote(f.public))
			return config, false
		}
		config.PublicURL = public
	}
	if f.course != "" {
		if err := provenCourse(f.course); err != nil {
			env.refuse("-course %s: it has mistakes:\n%s", f.course, err)
			return config, false
		}
		config.Course = os.DirFS(f.course)
	}
	proxies, err := site.ParseProxies(f.proxies)
	if err != nil {
		env.refuseWhy(err, "-trusted-proxies")
		return config, false
	}
	config.Proxies = proxies
	if f.cert != "" || f.key != "" {
		c, err := readCertificate(f.cert, f.key)
		if err != nil {
			env.refuseWhy(err)
			return config, false
		}
		config.Secure = c.config()
	}
	if f.advertise != "" {
		if config.Advertise, err = site.ParseAdvertise(f.advertise, config.Secure != nil); err != nil {
			env.refuseWhy(err, "-advertise "+strconv.Quote(f.advertise))
			return config, false
		}
	}
	return config, true
}

// lab says whether the server has labs: each is a process of this program, which steers
// nobody's but the clients that connect to it.
func (f *serveFlags) lab() web.LabConfig {
	c := web.LabConfig{Limits: f.labs, Anyone: f.labAnyone}
	me, err := os.Executable()
	if f.labs.Open == 0 || err != nil {
		return c
	}
	c.Start = func(ctx context.Context, o lab.Options) (lab.Desk, error) {
		return lab.Start(ctx, exec.Command(me, labArguments(o, f.labAnyone)...)) //nolint:gosec,noctx // this program; Close ends it
	}
	return c
}

// labArguments are the arguments of the program for a lab with these options, which anyone
// or only this machine can reach.
func labArguments(o lab.Options, anyone bool) []string {
	args := []string{"lab", "-json", "-clock", lab.ClockGate, "-threads", strconv.Itoa(o.Threads), "-timeout", o.Timeout.String()}
	switch {
	case len(o.Also) > 0:
		args = append(args, "-lock", o.Lock().String())
	case o.Key != "":
		args = append(args, "-key", o.Key)
	}
	if o.Kind.Permits > 0 {
		args = append(args, "-inside", strconv.Itoa(o.Kind.Permits))
	}
	if o.Nodes > 1 {
		args = append(args, "-nodes", strconv.Itoa(o.Nodes))
	}
	if o.Resource != "" {
		args = append(args, "-resource", o.Resource)
	}
	if o.Once {
		args = append(args, "-once")
	}
	if anyone {
		args = append(args, "-listen", lab.ListenAll)
	}
	return args
}

// writable creates a folder, unless it is there or "", and fails if no file can be
// created in it.
func writable(folder string) error {
	if folder == "" {
		return nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, ".writable-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// openRooms returns what keeps the rooms, and what ends it.
func (f *serveFlags) openRooms(ctx context.Context, log *slog.Logger) (board.Journal, func(), error) {
	if f.redis == "" || f.rooms != "" {
		solo, err := board.NewSolo(f.rooms)
		if err != nil {
			return nil, nil, err
		}
		solo.Log = log
		return solo, solo.Close, nil
	}
	// Separate connections, so that no class waits for somebody's run.
	external, err := store.Connect(ctx, f.redis)
	if err != nil {
		return nil, nil, err
	}
	shared, err := stream.New(external.Client(), stream.Options{Log: log})
	if err != nil {
		return nil, nil, errors.Join(err, external.Close())
	}
	return shared, func() {
		shared.Close()
		_ = external.Close()
	}, nil
}

// provenCourse reads and plays the course in a folder, and fails with what is
// wrong with it.
func provenCourse(folder string) error {
	taught, err := course.ReadCourse(words.All(), os.DirFS(folder), lessons.Scenarios())
	if err == nil {
		err = taught.Prove()
	}
	if err != nil {
		return fmt.Errorf("%w", err)
	}
	return nil
}

// changedLimits are the limits that differ from their defaults.
func changedLimits(fs *flag.FlagSet) []any {
	var list []any
	fs.VisitAll(func(fl *flag.Flag) {
		if (strings.HasPrefix(fl.Name, "max-") || fl.Name == "idle") && fl.Value.String() != fl.DefValue {
			list = append(list, slog.String(fl.Name, fl.Value.String()))
		}
	})
	return list
}

// service is a server at an address.
type service struct {
	addr    string
	forgets bool // rooms, when it ends
	config  web.Config
	limits  []any         // attributes for the log's first line
	grace   time.Duration // for requests in flight at shutdown
	leads   string        // a path to open in the browser of this machine, or ""
}

// httpServer serves what handler answers, and counts the requests under way.
func (at service) httpServer(handler http.Handler, underWay *atomic.Int64) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			underWay.Add(1)
			defer underWay.Add(-1)
			handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerLimit,
		MaxHeaderBytes:    maxHeader,
		ReadTimeout:       readLimit,
		IdleTimeout:       idleLimit,
		HTTP2:             &http.HTTP2Config{WriteByteTimeout: stuckLimit},
		ConnContext:       site.Connected,
		TLSConfig:         at.config.Secure,
		ErrorLog:          slog.NewLogLogger(at.config.Log.Handler(), slog.LevelWarn),
	}
}

// listen serves until ctx ends, then shuts down gracefully. It serves HTTP if
// config.Secure is nil.
func (at service) listen(ctx context.Context, env environment) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", at.addr)
	if err != nil {
		return errors.New(env.say("cannot listen on %s: %s; choose another address with -addr", at.addr, err))
	}
	at.config.Listening = l.Addr()
	server, err := web.New(at.config)
	if err != nil {
		_ = l.Close()
		return err
	}
	defer server.Close()
	log := at.config.Log
	log.InfoContext(ctx, "started", slog.String("address", l.Addr().String()), slog.String("version", builtFrom()), slog.Group("limits", at.limits...))
	address := strings.TrimSuffix(shownAddress(l.Addr(), at.config.Secure != nil, at.config.PublicURL), "/") + cmp.Or(at.leads, "/")
	greeting := env.say("Relock is at %s (Ctrl-C ends it)", address) + "\n"
	if at.leads == "" {
		greeting += env.say("Pages on which you run, step and break a Redis lock; playground help lists the commands") + "\n"
	}
	if at.forgets {
		greeting += env.say("Rooms are in memory, and end with it (-rooms FOLDER keeps them)") + "\n"
	}
	fmt.Fprint(env.out, greeting)
	if at.leads != "" && env.terminal {
		browse(ctx, address)
	}
	var underWay atomic.Int64 // requests
	srv := at.httpServer(server, &underWay)
	var preparing sync.WaitGroup
	defer preparing.Wait()
	preparing.Go(func() { server.Prepare(ctx) })
	failed := make(chan error, 1)
	go func() {
		if at.config.Secure != nil {
			failed <- srv.ServeTLS(l, "", "")
			return
		}
		failed <- srv.Serve(l)
	}()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	began := time.Now()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), at.grace)
	defer cancel()
	log.InfoContext(ending, "shutting down", slog.Int64("requests", underWay.Load()))
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		server.Close() // Shutdown does not know of websockets
	}()
	err = srv.Shutdown(ending)
	<-closed
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		log.WarnContext(ending, "requests cut at shutdown", slog.Int64("requests", underWay.Load()))
		_ = srv.Close() // they had their time
	case err != nil:
		return fmt.Errorf("shut down: %w", err)
	}
	log.InfoContext(ending, "stopped", slog.Int64("took_ms", time.Since(began).Milliseconds()))
	return nil
}

// shownAddress returns what to open: on this machine and, if known, from
// elsewhere.
func shownAddress(a net.Addr, secure bool, public *url.URL) string {
	here := "http://" + visible(a) + "/"
	if secure {
		here = "https://" + visible(a) + "/"
	}
	if public != nil && public.String()+"/" != here {
		return fmt.Sprintf("%s, for visitors %s/", here, public)
	}
	return here
}

// visible returns an address that a browser on this machine can open.
func visible(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("localhost:%d", tcp.Port)
	}
	return a.String()
}
