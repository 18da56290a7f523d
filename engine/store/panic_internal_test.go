package store

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// A command at which miniredis fails with its lock held leaves a Redis that answers, and
// that can be closed.
func TestAFailureOfMiniredisIsAnAnswer(t *testing.T) {
	e := NewEmbedded(time.Unix(0, 0))
	fails := func(*server.Peer, string, []string) {
		e.server.Lock()
		panic("no such case")
	}
	if err := e.server.Server().Register("FAILS", fails); err != nil {
		t.Fatal(err)
	}
	s := e.NewConn()
	for range 2 {
		if raw := string(s.Do([]string{"fails", "k"})); raw != "-ERR the embedded Redis fails at FAILS: no such case\r\n" {
			t.Errorf("%q", raw)
		}
		if raw, err := s.DoWithin(t.Context(), time.Minute, []string{"EVAL", "return redis.pcall('SET', KEYS[1], 1)", "1", "k"}); err != nil || !strings.HasPrefix(string(raw), "+OK") {
			t.Errorf("%q, %v", raw, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
