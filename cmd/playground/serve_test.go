package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"relock/lessons"
	"relock/web"
	"relock/web/runs"
)

// lines is a log that is read while others may still write to it.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) written() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.b.Bytes())
}

// A client that sends a request and never ends it holds up nothing but the grace, and the
// log says so.
func TestShutdownCutsARequestThatHangs(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	var log lines
	at := service{
		addr: "127.0.0.1:0", grace: 50 * time.Millisecond, limits: []any{slog.String("max_kept", "7")},
		config: web.Config{Log: slog.New(slog.NewJSONHandler(&log, nil)), Limits: runs.DefaultLimits(), Scenarios: lessons.Scenarios()},
	}
	done := make(chan error, 1)
	go func() { done <- at.listen(ctx, environment{out: in}) }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr := regexp.MustCompile(`127[0-9.:]+`).FindString(line)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	fmt.Fprintf(conn, "POST /edit HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n", addr)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("the form is not read: %q, %v", line, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("it ended with %v", err)
	}
	said := map[string]map[string]any{}
	for line := range bytes.Lines(log.written()) {
		var one map[string]any
		if err := json.Unmarshal(line, &one); err != nil {
			t.Fatal(err)
		}
		message, _ := one["msg"].(string)
		said[message] = one
	}
	if one := said["started"]; one["address"] != addr || one["version"] == nil || fmt.Sprint(one["limits"]) != "map[max_kept:7]" {
		t.Errorf("at its start: %v", one)
	}
	if one := said["requests cut at shutdown"]; one["level"] != "WARN" || one["requests"] != 1.0 {
		t.Errorf("of what was cut: %v", one)
	}
	if said["shutting down"] == nil || said["stopped"]["took_ms"] == nil {
		t.Errorf("of the end: %v", said)
	}
}

// A command line is read by every user of the machine: the log says where a password
// belongs, and never the password.
func TestAPasswordOnTheCommandLineIsToldAgainst(t *testing.T) {
	const secret = "s3same"
	nobody := "127.0.0.1/none" // refused before a dial: a database has a number
	for _, c := range []struct {
		name, flag, variable string
		told                 int
	}{
		{"as a flag", "redis://:" + secret + "@" + nobody, "", 1},
		{"as a flag, over the variable's", "redis://u:" + secret + "@" + nobody, "redis://" + nobody, 1},
		{"a master's, behind a sentinel", "redis://" + nobody + "?master_name=m&password=" + secret, "", 1},
		{"in the variable", "", "redis://:" + secret + "@" + nobody, 0},
		{"in the variable alone", "redis://" + nobody, "redis://:" + secret + "@" + nobody, 0},
		{"none", "redis://u@" + nobody, "", 0},
	} {
		var log bytes.Buffer
		var args []string
		if c.flag != "" {
			args = []string{"-redis", c.flag}
		}
		code := command(t.Context(), args, environment{
			getenv: func(k string) string { return map[string]string{"PLAYGROUND_REDIS": c.variable}[k] },
			out:    io.Discard, err: &log,
		})
		if code == 0 || strings.Contains(log.String(), secret) {
			t.Errorf("%s: exit code %d, and the log has %s", c.name, code, log.String())
		}
		told := 0
		for line := range strings.Lines(log.String()) {
			if strings.Contains(line, `"level":"WARN"`) && strings.Contains(line, "$PLAYGROUND_REDIS") {
				told++
			}
		}
		if told != c.told {
			t.Errorf("%s: told %d times, want %d: %s", c.name, told, c.told, log.String())
		}
	}
}
