package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"relock/engine/phrase"
)

const healthcheckSynopsis phrase.Text = `playground healthcheck [flags]

Asks the server on this machine whether it is ready, for containers without any
other program. Flags and variables are those of serve; -addr and -tls-cert say
where and how to ask, the others change nothing.

Exit codes: 0 it is ready, 1 it is not, 2 bad flags or variables.`

// healthLimit is how long the server may take to answer.
const healthLimit = 3 * time.Second

// healthBytes is how much is read of what the server says: a sentence.
const healthBytes = 512

func healthcheck(ctx context.Context, args []string, env environment) int {
	var f serveFlags
	fs := newServeFlags("healthcheck", env, &f)
	if err := fromEnvironment(fs, env); err != nil {
		return env.refuseWhy(err)
	}
	if code, done := parse(fs, args, env, env.say(healthcheckSynopsis)); done {
		return code
	}
	if fs.NArg() > 0 {
		return env.refuse("%s takes no arguments, given %q", fs.Name(), fs.Args())
	}
	if err := askReady(ctx, f.addr, f.cert != ""); err != nil {
		env.tell("not ready: %s", err)
		return exitUnexpected
	}
	fmt.Fprintln(env.out, env.say("ready"))
	return exitOK
}

// askReady asks the server listening on addr.
func askReady(ctx context.Context, addr string, secure bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // a container may have no /etc/hosts with localhost in it
	}
	scheme := "http://"
	if secure {
		scheme = "https://"
	}
	ctx, cancel := context.WithTimeout(ctx, healthLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	// The certificate is for the visitors' host names, and the request gives
	// nothing away.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true} //nolint:gosec // see above
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		return err
	}
	why, _ := io.ReadAll(io.LimitReader(res.Body, healthBytes)) // the status counts
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("it answers %s: %s", res.Status, bytes.TrimSpace(why))
	}
	return nil
}
