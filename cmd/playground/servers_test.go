package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"relock/engine/racetest"
	"relock/engine/scenario"
	"relock/engine/store/storetest"
	"relock/web/link"
)

// process is a server that is a separate process.
type process struct {
	*exec.Cmd

	at string // with a slash at its end
}

func serving(t *testing.T, args ...string) process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, append([]string{"serve", "-addr", "127.0.0.1:0", "-log-level", "error"}, args...)...)
	cmd.Env = append(os.Environ(), "RELOCK_TEST_AS_PROGRAM=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return process{cmd, startedAt.FindString(line)}
}

// ask asks for a path without a slash before it, and returns where the answer
// leads to or what it says.
func (p process) ask(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, p.at+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if path == "runs" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if to := res.Header.Get("Location"); to != "" {
		return res.StatusCode, strings.TrimPrefix(to, "/")
	}
	return res.StatusCode, string(text)
}

// The other two of three servers find whatever was made on one; a run, until its server
// is killed or hangs. Then they say so.
func TestThreeServersOnOneRedis(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	redis := storetest.URL(t)
	killed, still, asked := serving(t, "-redis", redis), serving(t, "-redis", redis), serving(t, "-redis", redis)
	const endless = `{title: Endless, lock: {lease: 1h, watchdog: off}, threads: [{name: A, work: 1h}]}`
	var runs []string
	for _, p := range []process{killed, still} {
		status, path := p.ask(t, http.MethodPost, "runs", url.Values{"yaml": {endless}, "store": {"wall"}}.Encode())
		if status != http.StatusSeeOther {
			t.Fatal(status, path)
		}
		runs = append(runs, path)
	}
	sc, err := scenario.Parse([]byte(endless))
	if err != nil {
		t.Fatal(err)
	}
	text, err := link.Encode(link.Contents{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	_, answer := killed.ask(t, http.MethodPost, "s", text)
	var short struct{ Path string }
	if err := json.Unmarshal([]byte(answer), &short); err != nil {
		t.Fatal(err, answer)
	}
	_, trace := killed.ask(t, http.MethodGet, runs[0]+"/trace", "")
	_, kept := killed.ask(t, http.MethodPost, "traces", trace)
	stays := []string{strings.TrimPrefix(short.Path, "/"), kept}
	for _, path := range append(stays, runs...) {
		if status, page := asked.ask(t, http.MethodGet, path, ""); status != http.StatusOK || !strings.Contains(page, "Endless") {
			t.Errorf("%s: %d", path, status)
		}
	}

	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := still.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	again := time.Tick(100 * time.Millisecond)
	for _, path := range runs {
		began := time.Now()
		status, page := asked.ask(t, http.MethodGet, path, "")
		for status == http.StatusBadGateway && strings.Contains(page, "does not answer right now") {
			<-again
			status, page = asked.ask(t, http.MethodGet, path, "")
		}
		if status != http.StatusGone || !strings.Contains(page, "That server has ended, and so has the run") {
			t.Errorf("%s: %d", path, status)
		}
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: it was known after %v", path, took)
		}
	}
	for _, path := range stays {
		if status, page := asked.ask(t, http.MethodGet, path, ""); status != http.StatusOK || !strings.Contains(page, "Endless") {
			t.Errorf("%s: %d after its server was killed", path, status)
		}
	}
	if err := still.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for status := 0; status != http.StatusOK; <-again { // a server that only stood still is back
		if status, _ = asked.ask(t, http.MethodGet, runs[1], ""); status != http.StatusOK && status != http.StatusGone {
			t.Fatal(status)
		}
	}
}
