package lab_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"relock/engine/outside/lab"
	"relock/engine/racetest"
)

// A command that a client sends just before it closes its connection reaches Redis all
// the same.
func TestWhoSendsAndLeavesIsNotLost(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "")
	o.Command, o.Key = nil, "k"
	s, err := lab.Steer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	c, err := net.Dial("tcp", s.Look().Threads[0].Address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "SET k a NX\r\nSET k b XX\r\nBLPOP q 0\r\n"); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	waits := func(n int) {
		until(t, s, func(l lab.Look) bool {
			list := slices.DeleteFunc(slices.Clone(l.Choices), func(c lab.Choice) bool { return c.Do != "" })
			return len(list) == n && l.Threads[0].Clients == 0
		})
	}
	for left := 2; left > 0; left-- {
		waits(left)
		if err := s.Decide(t.Context(), lab.Decision{Thread: "A"}); err != nil {
			t.Fatal(err)
		}
	}
	waits(0)
	track, err := s.Track("test")
	if err != nil || len(track.Events) == 0 {
		t.Fatal(err)
	}
	if last := track.Events[len(track.Events)-1]; last.Key.Value == nil || *last.Key.Value != "b" {
		t.Errorf("the key is %+v", last.Key)
	}
}

// A client that takes no answers holds nobody else, for no moment: another is answered while it
// has not taken what is its.
func TestWhoTakesNoAnswersHoldsNobody(t *testing.T) {
	racetest.Skip(t)
	o := options(t, "")
	o.Command, o.Key, o.Clock = nil, "k", lab.ClockWall
	w := watch(t, o)
	var works sync.WaitGroup
	t.Cleanup(works.Wait)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	works.Go(func() { // a row for each command
		for {
			select {
			case <-w.Rows():
			case <-ctx.Done():
				return
			}
		}
	})
	big := strings.Repeat("x", 500<<10)
	deaf, err := net.Dial("tcp", w.Addresses()[0][0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = deaf.Close() })
	go func() {
		fmt.Fprintf(deaf, "*3\r\n$3\r\nSET\r\n$1\r\nv\r\n$%d\r\n%s\r\n", len(big), big)
		_, _ = io.WriteString(deaf, strings.Repeat("GET v\r\n", 40)+"SET done 1\r\n") // 20 MB of answers: more than two sockets hold
	}()
	c := redis.NewClient(&redis.Options{Addr: w.Addresses()[1][0], ReadTimeout: -1})
	t.Cleanup(func() { _ = c.Close() })
	for late := time.Now().Add(time.Minute); c.Exists(t.Context(), "done").Val() == 0; {
		if time.Now().After(late) {
			t.Fatal("its commands do not come")
		}
	}
	// It was not ended meanwhile: all of its answers come once it takes them.
	want := int64(2*len("+OK\r\n")) + 40*int64(len(fmt.Sprintf("$%d\r\n%s\r\n", len(big), big)))
	if n, err := io.CopyN(io.Discard, deaf, want); err != nil {
		t.Errorf("%d of %d bytes: %v", n, want, err)
	}
}
