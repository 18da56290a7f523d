package lab_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"testing"

	"relock/engine/bound/boundtest"
	"relock/engine/outside/lab"
	"relock/engine/racetest"
)

// long opens a lab with a client whose round has so many commands: it takes the lock, with
// another token each time, and gives it back.
func long(t *testing.T, commands int) *lab.Steering {
	t.Helper()
	o := options(t, "")
	o.Command, o.Threads = nil, 1
	s, err := lab.Steer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	client := &rounder{}
	for n := range (commands + 1) / 2 {
		client.commands = append(client.commands, fmt.Sprintf("SET k %d NX PX 2000", n), "DEL k")
	}
	var works sync.WaitGroup
	works.Go(func() { client.play(ctx, t, s.Look().Threads[0].Address) })
	t.Cleanup(works.Wait)
	t.Cleanup(stop)
	t.Cleanup(s.Close)
	until(t, s, func(l lab.Look) bool { return l.Rounds == 1 && len(free(l)) == 1 })
	return s
}

// The work for a round grows with its decisions: each reads what is new. A round has no more than
// 2,000, so several are measured at once.
func TestGrowthOfARound(t *testing.T) {
	racetest.Skip(t)
	boundtest.Linear(t, func(times int) func() {
		var labs []*lab.Steering
		for range 8 {
			labs = append(labs, long(t, 50*times))
		}
		return func() {
			for _, s := range labs {
				for n := range 50 * times {
					on(t, s, "A", "")
					track, err := s.Track("test")
					if err != nil || len(track.After) != n+2 {
						t.Fatalf("after %d decisions there are the places %v, %v", n+1, track.After, err)
					}
				}
			}
		}
	})
}

// Only news comes over the pipe: no event comes twice, once the lock and its lease are known.
func TestNewsAreNew(t *testing.T) {
	racetest.Skip(t)
	const decisions = 100
	s := long(t, decisions+10)
	in, commands := io.Pipe()
	lines, out := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- lab.Serve(t.Context(), s, "test", in, out); _ = out.Close() }()
	said := bufio.NewScanner(lines)
	said.Buffer(nil, 1<<20)
	told, orders := 0, 0
	ask := func(id int, text string) {
		t.Helper()
		go func() { _, _ = fmt.Fprintf(commands, `{"id":%d,%s}`+"\n", id, text) }()
		for said.Scan() {
			var line struct {
				Re    int
				Done  bool
				Look  struct{ Order []lab.Decision }
				Track struct{ Events []json.RawMessage }
			}
			if err := json.Unmarshal(said.Bytes(), &line); err != nil {
				t.Fatal(err)
			}
			told, orders = told+len(line.Track.Events), orders+len(line.Look.Order)
			if line.Re == id {
				if !line.Done {
					t.Fatalf("it answers %s", said.Text())
				}
				return
			}
		}
		t.Fatal("it has ended")
	}
	ask(1, `"do":"news"`)
	for n := range decisions {
		until(t, s, func(l lab.Look) bool { return len(free(l)) == 1 })
		ask(2+n, `"do":"decide","decision":{"thread":"A"}`)
	}
	track, err := s.Track("test")
	if err != nil {
		t.Fatal(err)
	}
	if all := len(track.Events); orders != decisions || told < all || told > all+10 {
		t.Errorf("of %d decisions and %d events %d and %d were told", decisions, all, orders, told)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }()
	_ = commands.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
