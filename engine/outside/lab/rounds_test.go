package lab_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"relock/engine/outside/infer"
	"relock/engine/outside/lab"
	"relock/engine/racetest"
	"relock/engine/trace"
)

// rounder is a client of a thread that sends one command after the other, whatever it is answered;
// where its connection is gone, it makes another one.
type rounder struct {
	commands []string
	mu       sync.Mutex
	replies  []string
}

// play sends its commands in each round, until ctx ends.
func (c *rounder) play(ctx context.Context, t *testing.T, address string) {
	var conn net.Conn
	var r *bufio.Reader
	send := func(command string) string {
		if conn == nil {
			made, err := net.Dial("tcp", address)
			if err != nil {
				return "gone"
			}
			context.AfterFunc(ctx, func() { _ = made.Close() })
			conn, r = made, bufio.NewReader(made)
		}
		_, _ = io.WriteString(conn, command+"\r\n")
		if _, err := r.Peek(1); err != nil {
			_ = conn.Close()
			conn = nil
			return "gone"
		}
		return strings.TrimSpace(fmt.Sprint(answer(t, r)))
	}
	for ctx.Err() == nil {
		if send("ECHO "+infer.MarkRound) == "gone" {
			continue
		}
		for _, command := range c.commands {
			reply := send(command)
			c.mu.Lock()
			verb, _, _ := strings.Cut(command, " ")
			c.replies = append(c.replies, verb+" → "+reply)
			c.mu.Unlock()
		}
	}
}

// seenLine is an event of a round: instant, thread, what it is, and the key after it.
func seenLine(e trace.Event) string {
	text := ""
	switch b := e.Body.(type) {
	case trace.Command:
		text = fmt.Sprintf("%s → %s", strings.Join(b.Args, " "), strings.ReplaceAll(fmt.Sprint(b.Reply, b.Error), "<nil>", "nil"))
		if b.Late {
			text = "late " + text
		}
	case trace.Outcome:
		text = fmt.Sprintf("%s %s", b.Call, b.Result)
	case trace.Fault:
		text = "fault " + b.Do
	case trace.Violation:
		text = "violation " + b.Rule
	case trace.Resource:
		text = fmt.Sprintf("%s %d", b.Op, b.Value)
	default:
		text = string(e.Kind())
	}
	who := e.Thread
	if who == "" {
		who = "*"
	}
	key := "-"
	if e.Key.Value != nil {
		key = fmt.Sprint(*e.Key.Value, " ", e.Key.PTTL)
	}
	return fmt.Sprintf("%d %s %s · %s", int(e.At), who, text, key)
}

// Each file of testdata/rounds is a round, written by hand: the commands of A and B, a line each,
// what is decided ("A", "A lose-reply", "* lease-ends"; "A#1" is the later of two of A's), what the clients are answered, and what
// has happened on Redis, but for the ends of the threads' rounds.
func TestRounds(t *testing.T) {
	racetest.Skip(t)
	files, err := filepath.Glob("testdata/rounds/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no rounds:", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			parts := map[string][]string{}
			for _, part := range archive.Files {
				for line := range strings.Lines(string(part.Data)) {
					parts[part.Name] = append(parts[part.Name], strings.TrimSpace(line))
				}
			}
			o := options(t, "")
			o.Command, o.Key, o.Resource = nil, "k", "stock"
			s, err := lab.Steer(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			ctx, stop := context.WithCancel(t.Context())
			clients := map[string]*rounder{}
			var works sync.WaitGroup
			t.Cleanup(works.Wait)
			t.Cleanup(stop)
			for _, one := range s.Look().Threads {
				c := &rounder{commands: parts[one.Name]}
				clients[one.Name] = c
				works.Go(func() { c.play(ctx, t, one.Address) })
			}
			for _, line := range parts["way"] {
				thread, do, _ := strings.Cut(line, " ")
				thread, later, _ := strings.Cut(strings.Trim(thread, "*"), "#")
				d := lab.Decision{Thread: thread, Nth: len(later), Do: do}
				until(t, s, func(l lab.Look) bool {
					if l.Rounds == 0 {
						return false
					}
					for _, one := range l.Threads {
						if one.State != lab.Waits && one.State != lab.AtRound && one.State != lab.Held {
							return false
						}
					}
					return slices.ContainsFunc(l.Choices, func(c lab.Choice) bool { return c.Thread == thread && c.Nth == d.Nth && c.Do == do })
				})
				if err := s.Decide(t.Context(), d); err != nil {
					t.Fatalf("%s: %v; there is %+v", line, err, s.Look())
				}
			}
			until(t, s, func(l lab.Look) bool { return l.Over })
			track, err := s.Track("test")
			if err != nil {
				t.Fatal(err)
			}
			var events, replies []string
			for _, e := range track.Events {
				if e.Kind() != trace.KindEnd {
					events = append(events, seenLine(e))
				}
			}
			for _, thread := range []string{"A", "B"} {
				clients[thread].mu.Lock()
				for _, one := range clients[thread].replies {
					replies = append(replies, thread+" "+one)
				}
				clients[thread].mu.Unlock()
			}
			if diff := cmp.Diff(parts["events"], events); diff != "" {
				t.Errorf("events: %s", diff)
			}
			if diff := cmp.Diff(parts["replies"], replies); diff != "" {
				t.Errorf("replies: %s", diff)
			}
		})
	}
}
