package store_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"
	"time"

	"relock/engine/outside/resp"
	"relock/engine/store"
	"relock/engine/trace"
)

// newer has commands of a later Redis, and what it answers.
//
//go:embed testdata/newer.txt
var newer string

// The embedded Redis answers commands of a later one as that does.
func TestCommandsOfALaterRedis(t *testing.T) {
	t.Parallel()
	lines := 0
	for line := range strings.Lines(newer) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		commands, want, _ := strings.Cut(line, " => ")
		e := store.NewEmbedded(today)
		conn := e.NewConn()
		var got []string
		for _, command := range split(commands) {
			v, failed := resp.Value(conn.Do(command))
			if failed != "" {
				failed = "error: " + failed
			} else {
				failed = answered(v, nil)
			}
			got = append(got, failed)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if said := strings.Join(got, " ; "); said != want {
			t.Errorf("%s\nis answered %s\n       want %s", commands, said, want)
		}
	}
	if lines < 40 {
		t.Errorf("%d lines", lines)
	}
}

// A field goes with its time, and its key with the last one; without one that stays, that
// is how long the key is left.
func TestFieldsExpire(t *testing.T) {
	t.Parallel()
	e := store.NewEmbedded(today)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	conn := e.NewConn()
	do := func(line string) {
		t.Helper()
		for _, command := range split(line) {
			if _, failed := resp.Value(conn.Do(command)); failed != "" {
				t.Fatalf("%s: %s", command, failed)
			}
		}
	}
	at := func(ms int, fields string, pttl int64, next time.Duration) {
		t.Helper()
		e.SetTime(today.Add(time.Duration(ms) * time.Millisecond))
		k := e.Key("k")
		left, _ := e.NextExpiry()
		if got := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(k.Fields), "map["), "]"); got != fields || k.PTTL != pttl || left != next {
			t.Errorf("at %d ms: %q, left %d ms, the next goes in %s; want %q, %d, %s", ms, got, k.PTTL, left, fields, pttl, next)
		}
	}
	do("HSET k a 1 b 2 ; HPEXPIRE k 100 FIELDS 1 a")
	at(40, "a:1 b:2", trace.NoExpiry, 60*time.Millisecond)
	do("HPEXPIRE k 200 FIELDS 1 b")
	at(50, "a:1 b:2", 190, 50*time.Millisecond)
	at(100, "b:2", 140, 140*time.Millisecond)
	do("PEXPIRE k 30")
	at(110, "b:2", 20, 20*time.Millisecond)
	do("PERSIST k ; HSETNX k a 1")
	at(120, "a:1 b:2", trace.NoExpiry, 120*time.Millisecond)
	at(240, "a:1", trace.NoExpiry, 0)
	do("HPEXPIRE k 10 FIELDS 1 a")
	items, err := e.Contents()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Put([]string{"k"}, items); err != nil {
		t.Fatal(err)
	}
	at(245, "a:1", 5, 5*time.Millisecond)
	at(250, "", trace.NoKey, 0)
}
