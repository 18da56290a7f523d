package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"relock/engine/store"
	"relock/lessons"
	"relock/web"
	"relock/web/session"
)

const serveSynopsis = `playground [serve] [flags]

Serves the playground page. Each flag can be set by the environment variable
beside it; a flag beats its variable.`

// defaultAddr is this machine alone.
const defaultAddr = "127.0.0.1:8080"

// Times of the server.
const (
	headerLimit = 5 * time.Second  // to send the head of a request
	readLimit   = 15 * time.Second // to send a form
	idleLimit   = 2 * time.Minute  // between two requests
	grace       = 10 * time.Second // for requests under way at shutdown
)

type serveFlags struct {
	addr, redis string
	links       string
	public      string
	proxies     string
	cert, key   string // of TLS
	dev         bool
	metrics     bool
	level       slog.Level
	limits      session.Limits
}

func newServeFlags(f *serveFlags) *flag.FlagSet {
	f.limits = session.DefaultLimits()
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	fs.StringVar(&f.addr, "addr", defaultAddr, "`address` to listen on; :8080 for every interface")
	fs.StringVar(&f.public, "public-url", "", "`address` under which visitors reach it, such as https://relock.example.org: for links, QR codes and embeds")
	fs.StringVar(&f.proxies, "trusted-proxies", "", "`addresses` and ranges of proxies whose X-Forwarded-For and Forwarded say who asks, such as 127.0.0.1,10.0.0.0/8")
	fs.StringVar(&f.cert, "tls-cert", "", "serve HTTPS with the certificate in this `file` (PEM, with its chain); a newer one is taken within a minute")
	fs.StringVar(&f.key, "tls-key", "", "and its key in this `file`")
	fs.StringVar(&f.redis, "redis", "", "also offer runs on the Redis at this `URL`")
	fs.TextVar(&f.level, "log-level", slog.LevelInfo, "`level` of what is logged: debug, info, warn, error")
	fs.IntVar(&f.limits.Running, "max-running", f.limits.Running, "`number` of scenarios running at once")
	fs.IntVar(&f.limits.RunningPerAddress, "max-running-per-address", f.limits.RunningPerAddress, "`number` of scenarios running at once from one address")
	fs.IntVar(&f.limits.StartsPerMinute, "max-starts", f.limits.StartsPerMinute, "`number` of runs started in a minute from one address")
	fs.IntVar(&f.limits.Kept, "max-kept", f.limits.Kept, "`number` of runs kept to be looked at")
	fs.IntVar(&f.limits.Stepping, "max-stepping", f.limits.Stepping, "`number` of scenarios stepped through at once")
	fs.IntVar(&f.limits.SteppingAddress, "max-stepping-per-address", f.limits.SteppingAddress, "`number` of scenarios stepped through at once from one address")
	fs.StringVar(&f.links, "links", "", "`folder` that keeps short links; without one they are kept in memory, until the server ends")
	fs.DurationVar(&f.limits.Idle, "idle", f.limits.Idle, "`time` after which a run is forgotten that nobody looks at")
	fs.BoolVar(&f.metrics, "metrics", true, "serve /metrics, as Prometheus reads it")
	fs.BoolVar(&f.dev, "dev", false, "also serve /storybook: each component of the page in its states")
	fs.VisitAll(func(fl *flag.Flag) { fl.Usage += " ($" + variable(fl.Name) + ")" })
	return fs
}

func variable(name string) string {
	return "PLAYGROUND_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func printServeFlags(env environment) {
	var f serveFlags
	fs := newServeFlags(&f)
	fs.SetOutput(env.out)
	fs.PrintDefaults()
}

// fromEnvironment sets flags from their variables.
func fromEnvironment(fs *flag.FlagSet, getenv func(string) string) error {
	var errs []error
	fs.VisitAll(func(fl *flag.Flag) {
		if v := getenv(variable(fl.Name)); v != "" {
			if err := fl.Value.Set(v); err != nil {
				errs = append(errs, fmt.Errorf("invalid value %q for $%s: %w", v, variable(fl.Name), err))
			}
		}
	})
	return errors.Join(errs...)
}

func serve(ctx context.Context, args []string, env environment) int {
	var f serveFlags
	fs := newServeFlags(&f)
	if err := fromEnvironment(fs, env.getenv); err != nil {
		fmt.Fprintf(env.err, "playground: %v\n", err)
		return exitUsage
	}
	if code, done := parse(fs, args, env, serveSynopsis); done {
		return code
	}
	if fs.NArg() > 0 {
		fmt.Fprintf(env.err, "playground: serve takes no arguments, given %q\n", fs.Args())
		return exitUsage
	}
	l := f.limits
	if l.Running < 1 || l.RunningPerAddress < 1 || l.StartsPerMinute < 1 || l.Kept < 1 || l.Idle <= 0 || l.Stepping < 1 || l.SteppingAddress < 1 {
		fmt.Fprintln(env.err, "playground: the limits of serve must be larger than 0")
		return exitUsage
	}
	config := web.Config{
		Log:       slog.New(slog.NewJSONHandler(env.err, &slog.HandlerOptions{Level: f.level})),
		Limits:    f.limits,
		Scenarios: lessons.Scenarios(),
		Links:     f.links,
		Dev:       f.dev,
		NoMetrics: !f.metrics,
	}
	if f.public != "" {
		public, err := web.ParsePublicURL(f.public)
		if err != nil {
			fmt.Fprintf(env.err, "playground: -public-url %q: %v\n", f.public, err)
			return exitUsage
		}
		config.PublicURL = public
	}
	proxies, err := web.ParseProxies(f.proxies)
	if err != nil {
		fmt.Fprintf(env.err, "playground: -trusted-proxies: %v\n", err)
		return exitUsage
	}
	config.Proxies = proxies
	var secure *tls.Config
	if f.cert != "" || f.key != "" {
		c, err := readCertificate(f.cert, f.key)
		if err != nil {
			fmt.Fprintf(env.err, "playground: %v\n", err)
			return exitUsage
		}
		secure = c.config()
	}
	if f.redis != "" {
		external, err := store.Connect(ctx, f.redis)
		if err != nil {
			return redisFailed(err, env)
		}
		defer func() { _ = external.Close() }()
		config.External = external
	}
	if err := listen(ctx, f.addr, secure, config, env); err != nil {
		fmt.Fprintf(env.err, "playground: %v\n", err)
		return exitUnexpected
	}
	return exitOK
}

// listen serves until ctx has ended, and then lets go in order. It serves HTTP
// where secure is nil.
func listen(ctx context.Context, addr string, secure *tls.Config, config web.Config, env environment) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s: %w; choose another address with -addr", addr, err)
	}
	config.Listening = l.Addr()
	server, err := web.New(config)
	if err != nil {
		_ = l.Close()
		return err
	}
	defer server.Close()
	fmt.Fprintf(env.out, "Relock is at %s (Ctrl-C ends it)\n", shownAddress(l.Addr(), secure != nil, config.PublicURL))
	srv := &http.Server{
		Handler:           server,
		ReadHeaderTimeout: headerLimit,
		ReadTimeout:       readLimit,
		IdleTimeout:       idleLimit,
		TLSConfig:         secure,
		ErrorLog:          slog.NewLogLogger(config.Log.Handler(), slog.LevelWarn),
	}
	failed := make(chan error, 1)
	go func() {
		if secure != nil {
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
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		server.Close() // Shutdown does not know of websockets
	}()
	err = srv.Shutdown(ctx)
	<-closed
	if err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}

// shownAddress is what a person opens: on this machine, and from elsewhere
// where that is known.
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

// visible is an address that a browser on this machine understands.
func visible(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if ok && tcp.IP.IsUnspecified() {
		return fmt.Sprintf("localhost:%d", tcp.Port)
	}
	return a.String()
}
